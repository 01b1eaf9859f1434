//! Which problems: named sets, embedded problems, problems of the CUTEst collection, files, and lists of all of these.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tangor_problem::Problem;
use tangor_sif::{Options, SifProblem};

use crate::{Error, paper};

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

/// Where a problem comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A problem of the embedded collection.
    Embedded(String),
    /// A SIF file, with values for its parameters.
    Sif {
        /// The file.
        path: PathBuf,
        /// The values.
        parameters: BTreeMap<String, f64>,
    },
}

/// The named sets.
pub const SETS: [(&str, &str); 4] = [
    ("embedded", "the problems that are part of the program"),
    ("paper-equality", "the 136 problems of the paper's first table, from the folder of SIF files"),
    ("paper-inequality", "the 170 problems of the paper's second table"),
    ("paper", "both tables"),
];

/// Finds the problems of a set: a named one, a problem's name (with parameters, as in `DEGENQPC:N=10`), a SIF file, a text file
/// with one of these in each line, or several of these with commas between them. `sif_folder` is where SIF files are looked for.
pub fn members(set: &str, sif_folder: Option<&Path>) -> Result<Vec<Member>, Error> {
    let mut found: Vec<Member> = Vec::new();
    for word in set.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        for member in of_word(word, sif_folder)? {
            if !found.iter().any(|known| known.name == member.name) {
                found.push(member);
            }
        }
    }
    if found.is_empty() { Err(Error::Empty(format!("{set:?} names none"))) } else { Ok(found) }
}

/// Keeps the named problems, in upper or lower case; a name that is not in the set is an error.
pub fn only(members: Vec<Member>, names: &[String]) -> Result<Vec<Member>, Error> {
    let is = |member: &Member, name: &str| member.name.eq_ignore_ascii_case(name);
    if let Some(missing) = names.iter().find(|name| !members.iter().any(|member| is(member, name))) {
        return Err(Error::UnknownProblem { name: missing.clone(), reason: "it is not in the chosen set either".into() });
    }
    Ok(members.into_iter().filter(|member| names.is_empty() || names.iter().any(|name| is(member, name))).collect())
}

fn of_word(word: &str, sif_folder: Option<&Path>) -> Result<Vec<Member>, Error> {
    let of_table = |rows: &[paper::PaperRow]| -> Result<Vec<Member>, Error> {
        rows.iter().map(|row| Ok(Member { name: row.problem.clone(), ..named(&row.source, sif_folder, false)? })).collect()
    };
    match word {
        "embedded" => Ok(tangor_collection::entries().iter().map(embedded).collect()),
        "paper-equality" => of_table(paper::equality()),
        "paper-inequality" => of_table(paper::inequality()),
        "paper" => Ok([of_table(paper::equality())?, of_table(paper::inequality())?].concat()),
        list if Path::new(list).extension().is_some_and(|extension| extension == "txt") => {
            let path = Path::new(list);
            let text = std::fs::read_to_string(path).map_err(|cause| Error::unreadable(path, cause))?;
            let words = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
            words.map(|word| named(word, sif_folder, true)).collect()
        }
        name => Ok(vec![named(name, sif_folder, true)?]),
    }
}

fn embedded(entry: &tangor_collection::Entry) -> Member {
    let source = Source::Embedded(entry.name.to_string());
    Member { name: entry.name.to_string(), source, best_known: entry.known.objective }
}

fn named(word: &str, sif_folder: Option<&Path>, may_be_embedded: bool) -> Result<Member, Error> {
    let mut parts = word.split(':');
    let name = parts.next().unwrap_or_default();
    let parameters: BTreeMap<String, f64> = parts.map(parameter).collect::<Result<_, _>>()?;
    if may_be_embedded
        && parameters.is_empty()
        && let Ok(entry) = tangor_collection::find(name)
    {
        return Ok(embedded(entry));
    }
    let path = file(name, sif_folder)?;
    let stem = path.file_stem().map_or(name.into(), |stem| stem.to_string_lossy());
    let suffix = word.strip_prefix(name).unwrap_or_default();
    Ok(Member { name: format!("{stem}{suffix}"), source: Source::Sif { path, parameters }, best_known: None })
}

fn parameter(text: &str) -> Result<(String, f64), Error> {
    let parsed = text.split_once('=').and_then(|(name, value)| Some((name.to_string(), value.parse().ok()?)));
    parsed.ok_or_else(|| Error::Parameter(text.to_string()))
}

fn file(name: &str, sif_folder: Option<&Path>) -> Result<PathBuf, Error> {
    let path = Path::new(name);
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("sif")) && path.is_file() {
        return Ok(path.to_owned());
    }
    let reason = match sif_folder {
        Some(folder) => match tangor_sif::find(name, folder) {
            Some(path) => return Ok(path),
            None => format!("the folder {} has no {name}.SIF", folder.display()),
        },
        None => "no folder of SIF files is given (the variable MASTSIF, as CUTEst has it)".to_string(),
    };
    Err(Error::UnknownProblem { name: name.to_string(), reason })
}

impl Source {
    /// Opens the problem.
    pub fn open(&self) -> Result<Box<dyn Problem + Send>, Error> {
        match self {
            Source::Embedded(name) => match tangor_collection::find(name) {
                Ok(entry) => Ok((entry.build)()),
                Err(unknown) => Err(Error::UnknownProblem { name: name.clone(), reason: unknown.to_string() }),
            },
            Source::Sif { .. } => Ok(Box::new(self.open_sif()?)),
        }
    }

    /// Opens a SIF file, which also knows second derivatives.
    pub fn open_sif(&self) -> Result<SifProblem, Error> {
        match self {
            Source::Sif { path, parameters } => {
                Ok(tangor_sif::read(path, &Options { parameters: parameters.clone(), ..Options::default() })?)
            }
            Source::Embedded(name) => Err(Error::Refused(format!("{name} is an embedded problem, without second derivatives"))),
        }
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
        let found = members(&set, Some(folder.path())).unwrap();
        let names: Vec<&str> = found.iter().map(|member| member.name.as_str()).collect();
        assert_eq!(names, ["HS71", "TINY", "TINY:N=10"]);
        assert_eq!(found[0].source, Source::Embedded("HS71".into()));
        assert!(found[0].best_known.is_some_and(|best| (best - 17.0140173).abs() < 1e-6));
        assert!(matches!(&found[2].source, Source::Sif { parameters, .. } if parameters["N"] == 10.0));

        let kept = only(found.clone(), &["tiny".to_string()]).unwrap();
        assert_eq!(kept.len(), 1);
        assert!(only(found, &["HS72".to_string()]).is_err());
    }

    #[test]
    fn the_embedded_set_has_every_embedded_problem() {
        assert_eq!(members("embedded", None).unwrap().len(), tangor_collection::entries().len());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let message = |set: &str| members(set, None).unwrap_err().to_string();
        assert_eq!(
            message("NOPE"),
            "NOPE is neither a set, nor an embedded problem, nor a file, and no folder of SIF files is given (the variable \
             MASTSIF, as CUTEst has it)"
        );
        assert!(message("NOPE:N").starts_with("the parameter \"N\" of a problem is not understood"));
        assert_eq!(message(" , "), "no problem is left to run: \" , \" names none");
    }
}
