//! Which problems: named sets, embedded problems, problems of the CUTEst collection, files, and lists of all of these.

use std::collections::HashSet;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tangor_open::{FileKind, Finder, Parameters, SIF_FOLDER, Source};
use tangor_problem::MemoryLimit;

use crate::{Error, large, paper};

/// A problem of a set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// What rows call it.
    pub name: String,
    /// Where it comes from.
    pub source: Source,
    /// The best objective that is known.
    pub best_known: Option<f64>,
}

/// The named sets.
pub const SETS: [(&str, &str); 8] = [
    ("embedded", "the problems that are part of the program"),
    ("paper-equality", "the 136 problems of the paper's first table, from the folder of SIF files"),
    ("paper-inequality", "the 170 problems of the paper's second table"),
    ("paper", "both tables"),
    ("large-1000", "60 problems of CUTEst with about 1,000 variables"),
    ("large-10000", "the same with 10,000"),
    ("large-100000", "the same with 100,000"),
    ("large", "all three sizes, to see how time and memory grow"),
];

/// Finds the problems of a set: a named one, a problem's name (with parameters, as in `DEGENQPC:N=10`), a file, a folder of files, a
/// text file with one of these in each line, or several of these with commas between them.
pub fn members(set: &str, finder: &Finder) -> Result<Vec<Member>, Error> {
    let mut found: Vec<Member> = Vec::new();
    for word in set.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        for member in of_word(word, finder)? {
            if !found.iter().any(|known| known.source == member.source) {
                found.push(member);
            }
        }
    }
    if found.is_empty() { Err(Error::Empty(format!("{set:?} names none"))) } else { Ok(named_apart(found)) }
}

/// Every member under a name that no other has, whatever their order: an embedded problem keeps its own, a file whose name is taken is
/// called by its ending, too, or by its path.
fn named_apart(mut members: Vec<Member>) -> Vec<Member> {
    let is_embedded = |member: &Member| matches!(member.source, Source::Embedded(_));
    let mut taken: HashSet<String> =
        members.iter().filter(|member| is_embedded(member)).map(|member| member.name.clone()).collect();
    for member in members.iter_mut().filter(|member| !is_embedded(member)) {
        let mut names = vec![member.name.clone()];
        if let Source::File { path, .. } = &member.source {
            let parameters = member.name.find(':').map_or("", |start| &member.name[start..]);
            names.extend(path.file_name().map(|name| format!("{}{parameters}", name.to_string_lossy())));
            names.push(format!("{}{parameters}", path.display()));
        }
        if let Some(free) = names.into_iter().find(|name| !taken.contains(name)) {
            member.name = free;
        }
        taken.insert(member.name.clone());
    }
    members
}

/// Keeps the named problems, in upper or lower case; a name that is not in the set is an error.
pub fn only(members: Vec<Member>, names: &[String]) -> Result<Vec<Member>, Error> {
    let is = |member: &Member, name: &str| member.name.eq_ignore_ascii_case(name);
    if let Some(missing) = names.iter().find(|name| !members.iter().any(|member| is(member, name))) {
        return Err(Error::UnknownProblem { name: missing.clone(), reason: "it is not in the chosen set either".into() });
    }
    Ok(members.into_iter().filter(|member| names.is_empty() || names.iter().any(|name| is(member, name))).collect())
}

fn of_word(word: &str, finder: &Finder) -> Result<Vec<Member>, Error> {
    let of_table = |rows: &[paper::PaperRow]| -> Result<Vec<Member>, Error> {
        rows.iter().map(|row| Ok(Member { name: row.problem.clone(), ..of_cutest(&row.source, finder)? })).collect()
    };
    let path = Path::new(word);
    match word {
        "embedded" => Ok(tangor_collection::entries().iter().map(embedded).collect()),
        "paper-equality" => of_table(paper::equality()),
        "paper-inequality" => of_table(paper::inequality()),
        "paper" => Ok([of_table(paper::equality())?, of_table(paper::inequality())?].concat()),
        "large" => Ok(large::SIZES.iter().map(|size| of_size(*size, finder)).collect::<Result<Vec<_>, _>>()?.concat()),
        _ if word.starts_with("large-") => match large::size(word) {
            Some(size) => of_size(size, finder),
            None => Err(Error::Empty(format!("{word:?} is not one of large-1000, large-10000 and large-100000"))),
        },
        _ if path.extension().is_some_and(|extension| extension == "txt") => {
            let text = MemoryLimit::of_this_machine().read_text(path).map_err(|cause| Error::unreadable(path, cause))?;
            let words = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
            words.map(|word| named(word, finder)).collect()
        }
        _ if path.is_dir() => of_folder(path),
        name => Ok(vec![named(name, finder)?]),
    }
}

fn embedded(entry: &tangor_collection::Entry) -> Member {
    let source = Source::Embedded(entry.name.to_string());
    Member { name: entry.name.to_string(), source, best_known: entry.known.objective }
}

// All files of a known kind, by name.
fn of_folder(folder: &Path) -> Result<Vec<Member>, Error> {
    let entries = std::fs::read_dir(folder).map_err(|cause| Error::unreadable(folder, cause))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(|path| FileKind::of(path).is_some()).collect();
    paths.sort();
    paths.into_iter().map(|path| Ok(member(Source::file(path, Parameters::new())?))).collect()
}

// The problems of CUTEst that grow, at one size.
fn of_size(size: u32, finder: &Finder) -> Result<Vec<Member>, Error> {
    large::GROWING.iter().map(|growing| of_cutest(&growing.at(size), finder)).collect()
}

fn member(source: Source) -> Member {
    Member { name: source.name(), source, best_known: None }
}

fn named(word: &str, finder: &Finder) -> Result<Member, Error> {
    let (name, parameters) = parted(word)?;
    match finder.find(name, parameters).map_err(|error| unknown(name, finder, error))? {
        Source::Embedded(name) => match tangor_collection::find(&name) {
            Ok(entry) => Ok(embedded(entry)),
            Err(unknown) => Err(Error::UnknownProblem { name, reason: unknown.to_string() }),
        },
        source => Ok(member(source)),
    }
}

// The problems of the paper and the large ones are those of CUTEst, even where an embedded one has the name.
fn of_cutest(word: &str, finder: &Finder) -> Result<Member, Error> {
    let (name, parameters) = parted(word)?;
    match finder.in_folder(name) {
        Some(path) => Ok(member(Source::file(path, parameters)?)),
        None => Err(Error::MissingFile { name: name.to_string(), reason: missing(name, finder) }),
    }
}

fn parted(word: &str) -> Result<(&str, Parameters), Error> {
    let mut parts = word.split(':');
    let name = parts.next().unwrap_or_default();
    Ok((name, parts.map(parameter).collect::<Result<_, _>>()?))
}

fn parameter(text: &str) -> Result<(String, f64), Error> {
    let parsed = text.split_once('=').and_then(|(name, value)| Some((name.to_string(), value.parse().ok()?)));
    parsed.ok_or_else(|| Error::Parameter(text.to_string()))
}

fn unknown(name: &str, finder: &Finder, error: tangor_open::Error) -> Error {
    match error {
        tangor_open::Error::Unknown { .. } => Error::UnknownProblem { name: name.to_string(), reason: missing(name, finder) },
        error => error.into(),
    }
}

fn missing(name: &str, finder: &Finder) -> String {
    match finder.folders() {
        Some(folders) => format!("{folders} has no {name}.SIF"),
        None => format!("no folder of SIF files is given (the variable {SIF_FOLDER}, as CUTEst has it)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_made_of_names_and_files_and_each_comes_once() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("TINY.SIF"), "").unwrap();
        let list = folder.path().join("list.txt");
        std::fs::write(&list, "# comment\nHS71\n\ntiny:N=10\n").unwrap();
        let set = format!("hs71, TINY,{}", list.display());
        let finder = Finder { sif_folders: vec![folder.path().to_owned()] };
        let found = members(&set, &finder).unwrap();
        let names: Vec<&str> = found.iter().map(|member| member.name.as_str()).collect();
        assert_eq!(names, ["HS71", "TINY", "TINY:N=10"]);
        assert_eq!(found[0].source, Source::Embedded("HS71".into()));
        assert!(found[0].best_known.is_some_and(|best| (best - 17.0140173).abs() < 1e-6));
        assert!(matches!(&found[2].source, Source::File { parameters, .. } if parameters["N"] == 10.0));

        let all = members(&folder.path().display().to_string(), &Finder::default()).unwrap();
        assert_eq!(all.iter().map(|member| member.name.as_str()).collect::<Vec<_>>(), ["TINY"]);

        let kept = only(found.clone(), &["tiny".to_string()]).unwrap();
        assert_eq!(kept.len(), 1);
        assert!(only(found, &["HS72".to_string()]).is_err());
    }

    #[test]
    fn a_file_with_the_name_of_another_problem_is_not_lost() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("other")).unwrap();
        let paths = ["HS71.SIF", "other/HS71.SIF"].map(|name| folder.path().join(name).display().to_string());
        paths.iter().for_each(|path| std::fs::write(path, "").unwrap());
        let set = format!("HS71,{0},{1},{1},{0}:N=5,HS71", paths[0], paths[1]);
        let names: Vec<String> = members(&set, &Finder::default()).unwrap().into_iter().map(|member| member.name).collect();
        assert_eq!(names, ["HS71", "HS71.SIF", &paths[1], "HS71:N=5"]);
        // Names do not hang on the order.
        let set = format!("{},HS71", paths[0]);
        let names: Vec<String> = members(&set, &Finder::default()).unwrap().into_iter().map(|member| member.name).collect();
        assert_eq!(names, ["HS71.SIF", "HS71"]);
    }

    #[test]
    fn the_embedded_set_has_every_embedded_problem() {
        assert_eq!(members("embedded", &Finder::default()).unwrap().len(), tangor_collection::entries().len());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let message = |set: &str| members(set, &Finder::default()).unwrap_err().to_string();
        assert_eq!(
            message("NOPE"),
            "NOPE is neither a set, nor an embedded problem, nor a file, and no folder of SIF files is given (the variable \
             MASTSIF, as CUTEst has it)"
        );
        assert_eq!(
            message("paper"),
            "the file AIRCRFTA.SIF is needed, and no folder of SIF files is given (the variable MASTSIF, as CUTEst has it)"
        );
        assert!(message("NOPE:N").starts_with("the parameter \"N\" of a problem is not understood"));
        assert_eq!(message(" , "), "no problem is left to run: \" , \" names none");
    }
}
