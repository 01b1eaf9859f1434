//! The convention by which AMPL, Pyomo, JuMP and others call a solver: `tangor FILE -AMPL [key=value ...]` reads `FILE.nl` and
//! writes `FILE.sol`.

mod answer;
mod keywords;
mod verify;

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};

use tangor_nl::{Header, NlProblem, Options, Solution};
use tangor_problem::{Exact, MemoryLimit, Problem, Samples};
use tangor_solver::{EndedBy, Report, Settings, Solver};

use crate::error::Error;
use crate::screen::{Color, Listener};
use crate::solution::Shown;
use crate::summary::Summary;
use crate::table::{Detail, Functions, Table};
use crate::watch::Watch;
use crate::{exit, files, interrupt, plain};
use keywords::Keywords;
pub use verify::verify;

/// The variable in which modelling languages pass options; it is read here and nowhere else.
const OPTIONS: &str = "tangor_options";

/// What AMPL's solvers say to `-v`; modelling languages look for a number of a version.
const VERSION: &str = concat!("Tangor ", env!("CARGO_PKG_VERSION"));

/// A call by this convention.
pub enum Call {
    /// `-v`: the version.
    Version,
    /// `-=`: the keywords.
    Keywords,
    /// A file that is to be solved.
    Solve {
        /// The file, with or without its extension.
        file: PathBuf,
        /// True when an answer is to be written whatever `wantsol` says.
        answer: bool,
        /// `key=value`, as it was typed.
        words: Vec<String>,
    },
}

impl Call {
    /// Recognises a call by the arguments of the program. The commands of Tangor come first.
    pub fn recognise(arguments: &[OsString]) -> Option<Self> {
        let (first, rest) = arguments.split_first()?;
        match first.to_str() {
            Some("-v") if rest.is_empty() => return Some(Call::Version),
            Some("-=") if rest.is_empty() => return Some(Call::Keywords),
            _ => {}
        }
        let file = PathBuf::from(first);
        let (flag, words) = match rest.split_first() {
            Some((flag, words)) if flag == OsStr::new("-AMPL") || flag == OsStr::new("-s") => (true, words),
            _ => (false, rest),
        };
        let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let is_model = || file.extension().is_some_and(|extension| extension == "nl") && file.is_file();
        let is_call = flag || (is_model() && words.iter().all(|word| word.contains('=')));
        is_call.then_some(Call::Solve { file, answer: flag, words })
    }

    /// Does what is asked for and gives the exit code: 0 whenever the run could be done, however it ended.
    pub fn run(self) -> Result<u8, Error> {
        let mut out = Color::Auto.screen();
        match self {
            Call::Version => writeln!(out, "{VERSION}")?,
            Call::Keywords => write!(out, "{}", Keywords::HELP)?,
            Call::Solve { file, answer, words } => return solve(&file, answer, &words),
        }
        Ok(exit::SOLVED)
    }
}

fn solve(file: &Path, answer: bool, words: &[String]) -> Result<u8, Error> {
    let from_environment = env::var(OPTIONS).unwrap_or_default();
    let keywords = Keywords::new(&from_environment, words);
    let answer = answer || keywords.as_ref().is_ok_and(Keywords::wants_file);
    let (path, file) = (with_extension(file, "sol"), with_extension(file, "nl"));
    let outcome = keywords.and_then(|keywords| run(&file, &keywords));
    match outcome {
        Ok((header, solution)) => {
            if answer {
                save(&solution, &header, &path)?;
            }
            Ok(exit::SOLVED)
        }
        Err(error) => {
            // Who waits for an answer gets one where the file allows it; the error itself goes the usual way.
            if let (true, Some(header)) = (answer, header_of(&file)) {
                let message = format!("{VERSION}: {error}");
                let solution = Solution { message, code: answer::FAILED, ..Solution::default() };
                save(&solution, &header, &path)?;
            }
            Err(error)
        }
    }
}

/// Writes an answer whole or not at all.
fn save(solution: &Solution, header: &Header, path: &Path) -> Result<(), Error> {
    let mut bytes = Vec::new();
    solution.write(header, &mut bytes).map_err(|cause| Error::Unwritable { path: path.to_owned(), cause })?;
    files::write(path, &bytes)
}

// `model` and `model.nl` mean the same files. A name may have dots in it.
fn with_extension(file: &Path, extension: &str) -> PathBuf {
    let mut name = match file.extension() {
        Some(given) if given == "nl" => file.with_extension("").into_os_string(),
        _ => file.as_os_str().to_owned(),
    };
    name.push(".");
    name.push(extension);
    PathBuf::from(name)
}

fn header_of(file: &Path) -> Option<Header> {
    Header::parse(&MemoryLimit::of_this_machine().read(file).ok()?, "").ok()
}

fn run(file: &Path, keywords: &Keywords) -> Result<(Header, Solution), Error> {
    let settings = keywords.settings.over(Settings::default())?;
    let options = Options { objective: keywords.objective, relax_integers: keywords.relax, ..Options::default() };
    let problem = tangor_nl::read(file, &options)?;
    let (header, info, meta) = (problem.header().clone(), problem.info().clone(), plain::meta(problem.meta()));
    let table = Table::new(keywords.detail(), settings.tolerance.clone(), Functions::Exact);
    let mut watch = Watch::new(Listener::new(Color::Auto.screen()), table, None, (None, None));
    if keywords.level > 0 {
        writeln!(watch.listener, "{}", format!("{VERSION}: {}", keywords.shown()).trim_end())?;
        info.warnings.iter().try_for_each(|warning| writeln!(watch.listener, "warning: {}", plain::name(warning)))?;
    }
    // Bounds that cross are not an error of the file: they make the problem infeasible, and that is an answer.
    let solution = match answer::crossed(&meta) {
        Some(message) => Solution { message: format!("{VERSION}: {message}"), code: answer::INFEASIBLE, ..Solution::default() },
        None => {
            let guess = problem.start_multipliers().filter(|_| keywords.dual_guess);
            let report = report(problem, guess, settings, &mut watch)?;
            if keywords.detail() != Detail::Quiet {
                let shown = Shown::default();
                let report = plain::report(&report);
                Summary { meta: &meta, report: &report, known: None, longest_list: 10, shown: &shown, spelt: keywords::spelt }
                    .print(&mut watch.listener)?;
            }
            answer::solution(VERSION, &report, &meta, &info)
        }
    };
    keywords.print(&mut watch.listener, &solution, &meta)?;
    watch.listener.flush()?;
    Ok((header, solution))
}

fn report(problem: NlProblem, guess: Option<Vec<f64>>, settings: Settings, watch: &mut Watch) -> Result<Report, Error> {
    let ended_by = EndedBy { flag: Some(interrupt::flag()?), ..EndedBy::default() };
    let mut solver = Solver::sampled_until(Exact(problem), settings, Samples::default(), ended_by)?;
    if let Some(multipliers) = guess {
        // The reader has seen to it that they fit.
        solver.begin_with(&multipliers);
    }
    loop {
        watch.prepare(&mut solver);
        if solver.advance(watch).is_some() {
            break;
        }
    }
    let report = solver.report();
    watch.finish(&mut solver, &report)?;
    Ok(report)
}
