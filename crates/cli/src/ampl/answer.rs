//! The result of a run in AMPL's terms.

use tangor_nl::{Info, Solution, Suffix, Target};
use tangor_problem::{INFINITE, Meta, count_of};
use tangor_solver::{Point, Report, Stop};

/// `solve_result_num` where the constraints cannot be satisfied.
pub const INFEASIBLE: i64 = 200;
/// `solve_result_num` where no run could be done.
pub const FAILED: i64 = 505;

/// The answer that goes into the file.
pub fn solution(version: &str, report: &Report, meta: &Meta, info: &Info) -> Solution {
    let code = code(report);
    let objective = match meta.has_objective {
        true => format!("\nobjective {:?}", report.objective),
        false => String::new(),
    };
    let message = format!(
        "{version}: {} ({}){objective}\n{}, residuals: stationarity {:.1e}, feasibility {:.1e}, complementarity {:.1e}",
        words(code),
        report.message.trim_end_matches('.').replacen('S', "s", 1),
        count_of(report.iterations, "iteration"),
        report.stationarity,
        report.feasibility,
        report.complementarity
    );
    let is_finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
    // The slope of the optimal value by a right-hand side is minus the multiplier of the report.
    let multipliers: Vec<f64> = report.row_multipliers.iter().map(|y| if *y == 0.0 { 0.0 } else { -y }).collect();
    Solution {
        message,
        x: if is_finite(&report.x) { report.x.clone() } else { Vec::new() },
        multipliers: if is_finite(&multipliers) { multipliers } else { Vec::new() },
        objective: info.objective.unwrap_or(0),
        code,
        suffixes: if info.header.flags & 1 != 0 { suffixes(report, info.maximise) } else { Vec::new() },
    }
}

/// By the ranges of AMPL: solved, uncertain, infeasible, unbounded, limit, failure.
fn code(report: &Report) -> i64 {
    match (report.point, report.stop) {
        (Point::EpsKkt, _) => 0,
        (Point::EpsInfeasibleStationary, _) => INFEASIBLE,
        (Point::Unbounded, _) | (_, Stop::Unbounded) => 300,
        (_, Stop::NoiseFloor) => 100,
        (_, Stop::Iterations) => 400,
        (_, Stop::WallTime) => 401,
        (_, Stop::Evaluations) => 402,
        (_, Stop::Samples) => 403,
        (_, Stop::User) => 404,
        (_, Stop::StepTooSmall | Stop::Tolerance) => 500,
        (_, Stop::NumericalTrouble) => 502,
        (_, Stop::EvaluationFailed) => 503,
    }
}

fn words(code: i64) -> &'static str {
    match code {
        0..100 => "Solved",
        100..200 => "Solved as far as the noise allows",
        200..300 => "Infeasible",
        300..400 => "Unbounded",
        400..500 => "Stopped early",
        _ => "Failed",
    }
}

// Multipliers of the bounds as Ipopt gives them, under its names and our own, and their sum, the reduced cost. A bound that holds the
// objective back has a multiplier of the sign of its slope: at a lower bound it is positive in a minimisation.
fn suffixes(report: &Report, maximise: bool) -> Vec<Suffix> {
    let at_lower = |mu: f64| (mu > 0.0) != maximise;
    let values = |wanted: &dyn Fn(f64) -> bool| -> Vec<(usize, f64)> {
        let all = report.bound_multipliers.iter().copied().enumerate();
        all.filter(|&(_, mu)| mu != 0.0 && mu.is_finite() && wanted(mu)).collect()
    };
    let (lower, upper, both) = (values(&at_lower), values(&|mu| !at_lower(mu)), values(&|_| true));
    let named = [
        ("tangor_zL_out", &lower),
        ("tangor_zU_out", &upper),
        ("ipopt_zL_out", &lower),
        ("ipopt_zU_out", &upper),
        ("rc", &both),
    ];
    let suffix = |(name, values): (&str, &Vec<(usize, f64)>)| Suffix {
        target: Target::Variables,
        name: name.to_string(),
        real: true,
        values: values.clone(),
    };
    named.map(suffix).into()
}

/// A sentence about bounds that no point satisfies, if there are such.
pub fn crossed(meta: &Meta) -> Option<String> {
    let impossible = |lower: f64, upper: f64| lower > upper || lower >= INFINITE || upper <= -INFINITE;
    let sentence = |what: &str, name: String, lower: f64, upper: f64| {
        format!("no value satisfies the bounds of {what} {name}: its lower bound is {lower}, its upper bound {upper}")
    };
    let variable = (0..meta.n()).find(|&j| impossible(meta.x_lower[j], meta.x_upper[j]));
    let row = (0..meta.m()).find(|&i| impossible(meta.c_lower[i], meta.c_upper[i]));
    variable
        .map(|j| sentence("variable", meta.variable_name(j), meta.x_lower[j], meta.x_upper[j]))
        .or_else(|| row.map(|i| sentence("constraint", meta.row_name(i), meta.c_lower[i], meta.c_upper[i])))
}
