//! Sizes, bounds, values and derivatives against those of AMPL's own library.

mod common;

use std::collections::HashMap;

use common::{folders, models, number, numbers, reference};
use serde_json::Value;
use tangor_nl::{NlProblem, Options, read};
use tangor_problem::Problem;

const TOLERANCE: f64 = 1e-12;

#[test]
fn models_agree_with_the_values_of_ampl() {
    let Some((folder, values)) = folders() else { return };
    let (mut agreed, mut wrong) = (0, Vec::new());
    for path in models(&folder) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match read(&path, &Options::default()) {
            Ok(mut problem) => match compare(&mut problem, &reference(&values, &path)) {
                Ok(()) => agreed += 1,
                Err(difference) => wrong.push(format!("{name}: {difference}")),
            },
            Err(error) if name == "hs068" => {
                let message = error.to_string();
                let wanted =
                    "in segment C0: the function myerf of an external library is called here, and Tangor has no such libraries";
                assert!(message.ends_with(wanted), "{message}");
            }
            Err(error) => wrong.push(error.to_string()),
        }
    }
    println!("{agreed} models agree");
    assert!(wrong.is_empty(), "{} models differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(agreed > 300);
}

fn compare(problem: &mut NlProblem, expected: &Value) -> Result<(), String> {
    let meta = problem.meta().clone();
    let count = |key: &str| expected[key].as_u64().unwrap_or(u64::MAX) as usize;
    let same = |what: &str, found: usize, wanted: usize| {
        if found == wanted { Ok(()) } else { Err(format!("{what} is {found}, not {wanted}")) }
    };
    same("n", meta.n(), count("n"))?;
    same("m", meta.m(), count("m"))?;
    same("objectives", problem.header().objectives, count("objectives"))?;
    same("nonlinear constraints", problem.header().nonlinear_constraints, count("nlc"))?;
    same("nonlinear objectives", problem.header().nonlinear_objectives, count("nlo"))?;
    if expected["maximise"].as_bool() != Some(problem.info().maximise) {
        return Err("the sense of the objective differs".to_string());
    }
    for (key, bounds) in [("xl", &meta.x_lower), ("xu", &meta.x_upper), ("cl", &meta.c_lower), ("cu", &meta.c_upper)] {
        let wanted = numbers(&expected[key]).ok_or(format!("{key} is not there"))?;
        let differs = |k: &usize| bounds[*k] != wanted[*k];
        if let Some(k) = (0..wanted.len()).find(differs) {
            return Err(format!("{key}[{k}] is {}, not {}", bounds[k], wanted[k]));
        }
    }
    if numbers(&expected["start"]["x"]).as_ref() != Some(&meta.x0) {
        return Err("the start differs".to_string());
    }
    for point in ["start", "moved"] {
        at_point(problem, &expected[point]).map_err(|difference| format!("at {point}: {difference}"))?;
    }
    Ok(())
}

fn at_point(problem: &mut NlProblem, expected: &Value) -> Result<(), String> {
    let x = numbers(&expected["x"]).ok_or("there is no point")?;
    let meta = problem.meta().clone();
    // What AMPL's library could not compute must not be a number here either, or be the value of a limit.
    let close =
        |found: f64, wanted: f64, size: f64| wanted.is_nan() || found == wanted || (found - wanted).abs() <= TOLERANCE * size;
    let terms = |columns: &[(usize, f64)]| columns.iter().map(|&(j, a)| (a * x[j]).abs()).sum::<f64>();
    if !expected["f"].is_null() {
        let f = problem.objective(&x).map_err(|failure| failure.to_string())?;
        let mut g = vec![0.0; meta.n()];
        problem.gradient(&x, &mut g).map_err(|failure| failure.to_string())?;
        let own: Vec<_> = g.iter().copied().enumerate().collect();
        let wanted = number(&expected["f"]);
        if !close(f, wanted, 1f64.max(wanted.abs()).max(terms(&own))) {
            return Err(format!("f is {f}, not {wanted}"));
        }
        if let Some(wanted) = numbers(&expected["g"]) {
            let mut terms = vec![0.0; meta.n()];
            problem.gradient_sizes(&x, &mut terms);
            if let Some(j) = (0..g.len()).find(|&j| !close(g[j], wanted[j], 1f64.max(wanted[j].abs()).max(terms[j]))) {
                return Err(format!("g[{j}] is {}, not {}", g[j], wanted[j]));
            }
        }
    }
    if meta.m() == 0 {
        return Ok(());
    }
    let (mut c, mut jacobian) = (vec![0.0; meta.m()], vec![0.0; meta.jacobian_len()]);
    problem.constraints(&x, &mut c).map_err(|failure| failure.to_string())?;
    problem.jacobian(&x, &mut jacobian).map_err(|failure| failure.to_string())?;
    let mut rows = vec![Vec::new(); meta.m()];
    let mut entries = HashMap::new();
    for (k, &value) in jacobian.iter().enumerate() {
        let (i, j) = meta.jacobian.place(k, meta.n());
        rows[i].push((j, value));
        *entries.entry((i, j)).or_insert(0.0) += value;
    }
    if let Some(wanted) = numbers(&expected["c"]) {
        let size = |i: usize| 1f64.max(wanted[i].abs()).max(terms(&rows[i]));
        if let Some(i) = (0..c.len()).find(|&i| !close(c[i], wanted[i], size(i))) {
            return Err(format!("c[{i}] is {}, not {}", c[i], wanted[i]));
        }
    }
    let triplets = &expected["J"];
    let Some(wanted) = numbers(&triplets["val"]) else { return Ok(()) };
    let indices = |key: &str| numbers(&triplets[key]).unwrap_or_default();
    for ((&i, &j), &value) in indices("row").iter().zip(&indices("col")).zip(&wanted) {
        let found = entries.remove(&(i as usize, j as usize)).ok_or(format!("J[{i},{j}] is not there"))?;
        if !close(found, value, 1f64.max(value.abs())) {
            return Err(format!("J[{i},{j}] is {found}, not {value}"));
        }
    }
    match entries.iter().find(|(_, value)| **value != 0.0) {
        Some(((i, j), value)) => Err(format!("J[{i},{j}] is {value}, but AMPL has no such entry")),
        None => Ok(()),
    }
}
