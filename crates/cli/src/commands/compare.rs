use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use tangor_bench::compare::{Comparison, Measure};

use crate::error::Error;
use crate::screen::Color;
use crate::{exit, files, plain, width};

/// Compare result tables
///
/// Takes rows of `tangor bench run` (CSV or JSON lines), the paper's tables (columns problem, stationarity, feasibility and perhaps
/// complementarity) and lists of statuses (columns problem and status), and compares them on the problems that all of them have.
#[derive(Debug, Args)]
pub struct Compare {
    /// Two tables or more; each may hold several solvers
    #[arg(required = true)]
    tables: Vec<PathBuf>,

    /// Up to which residual a problem counts as solved
    #[arg(long, value_name = "EPS", default_value_t = 1e-6)]
    tolerance: f64,

    /// Write profiles as SVG and the side by side table as CSV into this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,

    /// Print one line for each problem
    #[arg(long)]
    table: bool,

    /// When to use colours
    #[arg(long, value_enum, default_value_t)]
    color: Color,
}

impl Compare {
    /// Carries out the command.
    pub fn run(self) -> Result<u8, Error> {
        let comparison = Comparison::of_files(&self.tables, self.tolerance)?;
        let mut out = self.color.screen();
        write!(out, "{}", width::fitted(&plain::lines(&comparison.summary())))?;
        if self.table {
            write!(out, "\n{}", width::fitted(&plain::lines(&comparison.side_by_side(width::of_screen()))))?;
        }
        if let Some(folder) = &self.out {
            std::fs::create_dir_all(folder).map_err(|cause| Error::Unwritable { path: folder.clone(), cause })?;
            for (name, text) in files(&comparison)? {
                let path = folder.join(name);
                files::write(&path, text.as_bytes())?;
                writeln!(out, "wrote {}", path.display())?;
            }
        }
        Ok(exit::SOLVED)
    }
}

/// Tables and pictures with their names.
fn files(comparison: &Comparison) -> Result<Vec<(String, String)>, Error> {
    let mut files = vec![("side-by-side.csv".to_string(), comparison.side_by_side_csv()?)];
    for measure in Measure::ALL {
        if let Some(figure) = comparison.performance_profile(measure) {
            files.push((format!("profile-{}.svg", measure.name()), figure.draw()));
        }
    }
    if let Some(figure) = comparison.data_profile() {
        files.push(("data-profile.svg".to_string(), figure.draw()));
    }
    Ok(files)
}
