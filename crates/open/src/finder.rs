use std::env;
use std::path::{Path, PathBuf};

use crate::{Error, FileKind, Parameters, Source};

/// The variable by which CUTEst users name their folder of SIF files.
pub const SIF_FOLDER: &str = "MASTSIF";

/// Where problems are looked for.
#[derive(Clone, Debug, Default)]
pub struct Finder {
    /// The folders of SIF files, if there are any; the first that has a file counts.
    pub sif_folders: Vec<PathBuf>,
}

impl Finder {
    /// Looks in this folder, or else in the one that the variable [`SIF_FOLDER`] names; it may name several, as `PATH` does.
    pub fn new(sif_folder: Option<PathBuf>) -> Self {
        let named = || env::var_os(SIF_FOLDER).map(|folders| env::split_paths(&folders).collect()).unwrap_or_default();
        Finder { sif_folders: sif_folder.map_or_else(named, |folder| vec![folder]) }
    }

    /// What a name or a path means. An embedded problem has no parameters: with some, only files are looked for.
    pub fn find(&self, name: &str, parameters: Parameters) -> Result<Source, Error> {
        let path = Path::new(name);
        let is_path = path.components().count() > 1;
        let embedded = if is_path { None } else { tangor_collection::find(name).ok() };
        if let (Some(entry), true) = (embedded, parameters.is_empty()) {
            return Ok(Source::Embedded(entry.name.to_string()));
        }
        if is_path || is_there(path) || FileKind::of(path).is_some() {
            return self.file(path, parameters);
        }
        match (self.in_folder(name), embedded) {
            (Some(path), _) => Source::file(path, parameters),
            (None, Some(entry)) => Err(Error::NoParameters(format!("the embedded problem {}", entry.name))),
            (None, None) if path.extension().is_some() => Err(Error::NoReader(path.to_owned())),
            (None, None) => Err(self.unknown(name)),
        }
    }

    /// The file that a name means in the folder of SIF files, in upper or lower case.
    pub fn in_folder(&self, name: &str) -> Option<PathBuf> {
        self.sif_folders.iter().find_map(|folder| tangor_sif::find(name, folder))
    }

    /// The file in the folder that has the name of an embedded problem, which the name alone does not mean.
    pub fn namesake(&self, source: &Source) -> Option<PathBuf> {
        match source {
            Source::Embedded(name) => self.in_folder(name),
            Source::File { .. } => None,
        }
    }

    /// The names of all SIF files in the folders, in order.
    fn names(&self) -> Vec<String> {
        let entries = self.sif_folders.iter().flat_map(std::fs::read_dir).flatten().flatten();
        let paths = entries.map(|entry| entry.path()).filter(|path| FileKind::of(path) == Some(FileKind::Sif));
        let mut names: Vec<String> = paths.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned())).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The folders in words; nothing when there are none.
    pub fn folders(&self) -> Option<String> {
        let names: Vec<String> = self.sif_folders.iter().map(|folder| folder.display().to_string()).collect();
        (!names.is_empty()).then(|| format!("the folder {}", names.join(" or ")))
    }

    // `HS71.SIF` is the file here or the one in the folder: so a file is chosen where an embedded problem has its name.
    fn file(&self, path: &Path, parameters: Parameters) -> Result<Source, Error> {
        let source = Source::file(path.to_owned(), parameters.clone())?;
        if is_there(path) {
            return Ok(source);
        }
        let bare = if path.components().count() == 1 { path.file_stem() } else { None };
        if let Some(found) = bare.and_then(|stem| self.in_folder(&stem.to_string_lossy())) {
            return Source::file(found, parameters);
        }
        let is_sif = bare.is_some() && FileKind::of(path) == Some(FileKind::Sif);
        let elsewhere = if is_sif {
            format!(" here, and {}", self.elsewhere(&path.with_extension("").to_string_lossy()))
        } else {
            String::new()
        };
        Err(Error::NoFile { path: path.to_owned(), elsewhere })
    }

    fn unknown(&self, name: &str) -> Error {
        match tangor_collection::find(name) {
            Err(unknown) => Error::Unknown { unknown, elsewhere: self.elsewhere(name) },
            Ok(entry) => Error::NoParameters(format!("the embedded problem {}", entry.name)),
        }
    }

    fn elsewhere(&self, name: &str) -> String {
        match self.folders() {
            Some(folders) => {
                let names = self.names();
                let nearest = tangor_collection::nearest(name, names.iter().map(String::as_str)).join(", ");
                let there = if nearest.is_empty() { String::new() } else { format!("; the nearest names there are {nearest}") };
                format!("{folders} has no SIF file of this name either{there}")
            }
            None => format!("no folder of SIF files is given (the variable {SIF_FOLDER}, as CUTEst has it)"),
        }
    }
}

/// Whether a path names something that can be read; a pipe can, too.
fn is_there(path: &Path) -> bool {
    path.exists() && !path.is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Finder) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("HS71.SIF"), "").unwrap();
        std::fs::write(folder.path().join("TINY.SIF"), "").unwrap();
        let finder = Finder { sif_folders: vec![folder.path().to_owned()] };
        (folder, finder)
    }

    #[test]
    fn a_name_means_one_thing() {
        let (folder, finder) = folder();
        let plain = |name: &str| finder.find(name, Parameters::new()).unwrap();
        let with = Parameters::from([("N".to_string(), 10.0)]);
        assert_eq!(plain("hs71"), Source::Embedded("HS71".into()));
        for name in ["HS71.SIF", "hs71.sif"] {
            assert_eq!(plain(name), Source::file(folder.path().join("HS71.SIF"), Parameters::new()).unwrap());
        }
        let tiny = finder.find("tiny", with.clone()).unwrap();
        assert_eq!(tiny.name(), "TINY:N=10");
        assert_eq!(tiny.to_string(), format!("the SIF file {} with N = 10", folder.path().join("TINY.SIF").display()));
        assert!(matches!(finder.find("HS71", with).unwrap(), Source::File { .. }));
        assert_eq!(finder.namesake(&plain("hs71")), Some(folder.path().join("HS71.SIF")));
        assert_eq!([finder.namesake(&plain("HS71.SIF")), finder.namesake(&plain("HS6"))], [None, None]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let (_folder, finder) = folder();
        let message = |finder: &Finder, name: &str, n: &[f64]| {
            let parameters = n.iter().map(|n| ("N".to_string(), *n)).collect();
            finder.find(name, parameters).unwrap_err().to_string()
        };
        for wrong in ["tinny", "TINI.SIF"] {
            let nearest = "has no SIF file of this name either; the nearest names there are TINY, HS71";
            assert!(message(&finder, wrong, &[]).ends_with(nearest), "{}", message(&finder, wrong, &[]));
        }
        let empty = tempfile::tempdir().unwrap();
        let bare = Finder { sif_folders: vec![empty.path().to_owned()] };
        assert!(message(&bare, "nope", &[]).ends_with("has no SIF file of this name either"));
        assert!(message(&Finder::default(), "nope", &[]).ends_with("(the variable MASTSIF, as CUTEst has it)"));
        let here = message(&finder, "nope.SIF", &[]);
        assert!(here.starts_with("there is no file nope.SIF here, and the folder "), "{here}");
        let nowhere =
            "there is no file nope.SIF here, and no folder of SIF files is given (the variable MASTSIF, as CUTEst has it)";
        assert_eq!(message(&Finder::default(), "nope.SIF", &[]), nowhere);
        assert_eq!(message(&finder, "no/such.SIF", &[]), "there is no file no/such.SIF");
        let reader = "the file a.txt cannot be opened: problems are read from files that end in .SIF or .nl";
        assert_eq!(message(&finder, "a.txt", &[]), reader);
        assert_eq!(
            message(&finder, "ROSENBROCK", &[2.0]),
            "the embedded problem ROSENBROCK has no parameters: only SIF files have them"
        );
    }
}
