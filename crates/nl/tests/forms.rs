//! A file with something of everything, by hand; and text against both binary forms.

mod common;

use common::binary::binary;
use common::{folders, models};
use tangor_nl::{NlProblem, Options, Target, parse};
use tangor_problem::{Problem, SecondOrder};

const EVERYTHING: &str = include_str!("everything.nl");

fn close(found: f64, wanted: f64) {
    assert!((found - wanted).abs() <= 1e-14 * (1.0 + wanted.abs()), "{found} is not {wanted}");
}

#[test]
fn a_file_with_something_of_everything_is_what_it_says() {
    let mut problem = parse(EVERYTHING.as_bytes(), "everything.nl", &Options::default()).unwrap();
    let meta = problem.meta().clone();
    assert_eq!((meta.n(), meta.m(), meta.jacobian_len()), (4, 4, 13));
    assert_eq!(meta.name, "everything");
    assert_eq!(meta.x0, [1.25, 0.0, -0.75, 0.5]);
    assert_eq!(problem.multipliers(), [0.5, 0.0, 0.0, -1.0]);
    let infinity = f64::INFINITY;
    assert_eq!(meta.x_lower, [-5.0, -3.0, -infinity, -infinity]);
    assert_eq!(meta.x_upper, [5.0, infinity, 9.0, infinity]);
    assert_eq!(meta.c_lower, [-1.0, -infinity, -infinity, 2.5]);
    assert_eq!(meta.c_upper, [8.0, 20.0, infinity, 2.5]);
    assert_eq!(meta.linear_rows, [false, false, false, true]);
    let names: Vec<_> = problem.suffixes().iter().map(|suffix| (suffix.target, suffix.name.as_str(), suffix.real)).collect();
    let wanted = [
        (Target::Variables, "priority", false),
        (Target::Constraints, "weight", true),
        (Target::Objectives, "target", true),
        (Target::Problem, "mark", false),
    ];
    assert_eq!(names, wanted);
    assert_eq!(problem.suffixes()[0].values, [(0, 3.0), (2, -1.0)]);

    let x: [f64; 4] = [1.25, 0.5, -0.75, 0.5];
    let [a, b, c, d] = x;
    let (v4, v6): (f64, f64) = (2.0 * a + (3.0 + b * b).ln(), d - 0.5 * b);
    let v5 = v4 * c.sin();
    let smooth = v4 * v5 + (-a).exp() + b / (2.0 + d.cos()) + a.atan2(4.0 + b) + (1.0 + c.powi(4)).sqrt() + 1.5 * d;
    // The slope of the piecewise-linear term is 0.5 between -2 and 3.
    let kinks = 0.5 * v6 + b.min(c.abs()) + (d - 0.25) + b.floor();
    let mut rows = [0.0; 4];
    problem.constraints(&x, &mut rows).unwrap();
    for (found, wanted) in rows.into_iter().zip([smooth, kinks, a.powf(1.5) + 2f64.powf(b), a - 2.0 * b + 3.0 * c + 1.5]) {
        close(found, wanted);
    }
    close(problem.objective(&x).unwrap(), a * v4 + d.atan());
    let mut g = [0.0; 4];
    problem.gradient(&x, &mut g).unwrap();
    for (found, wanted) in g.into_iter().zip([v4 + 2.0 * a, a * 2.0 * b / (3.0 + b * b), 0.0, 1.0 / (1.0 + d * d)]) {
        close(found, wanted);
    }
}

#[test]
fn pieces_have_the_slopes_that_they_are_given() {
    let mut problem = parse(EVERYTHING.as_bytes(), "everything.nl", &Options::default()).unwrap();
    // c1 with all but the piecewise-linear term constant: x1 = 0, x2 = 0, and x0 = 20 chooses the constant 5.
    let value = |problem: &mut NlProblem, v6: f64| {
        let mut c = [0.0; 4];
        problem.constraints(&[20.0, 0.0, 0.0, v6], &mut c).unwrap();
        c[1] - 5.0
    };
    for (at, wanted) in [(0.0, 0.0), (1.0, 0.5), (3.0, 1.5), (5.0, 1.5 + 8.0), (-2.0, -1.0), (-4.0, -1.0 + 2.0)] {
        close(value(&mut problem, at), wanted);
    }
}

#[test]
fn objectives_are_chosen_by_their_number() {
    let with = |objective| parse(EVERYTHING.as_bytes(), "e.nl", &Options { objective, ..Options::default() });
    let second = with(2).unwrap();
    assert!(second.info().maximise && !with(1).unwrap().info().maximise);
    assert!(!with(0).unwrap().meta().has_objective);
    assert_eq!(with(3).unwrap_err().to_string(), "e.nl: objective 3 was asked for, but the last one is 2");
    let mut second = second;
    close(second.objective(&[1.0, 8.0, 2.0, 0.0]).unwrap(), 21f64.log10() - 4.0 + 1.0);
}

#[test]
fn functions_that_are_not_smooth_are_named() {
    let problem = parse(EVERYTHING.as_bytes(), "everything.nl", &Options::default()).unwrap();
    let warnings = problem.info().warnings.join("\n");
    for kind in ["piecewise-linear terms (once, in constraint C1)", "min (once", "abs (2 times", "if (", "less (", "floor ("] {
        assert!(warnings.contains(kind), "{warnings}");
    }
}

/// Five constraints `|x0| + x1 >= 0`, whose first term is a defined variable, and the objective `x1 + max(x0, 1)`.
const KINKS: &str = "g3 1 1 0\n 2 5 1 0 0\n 5 1\n 0 0\n 2 2 2\n 0 0 0 1\n 0 0 0 0 0\n 10 2\n 0 0\n 0 1 0 0 0\nV2 0 0\no15\nv0\n\
C0\nv2\nC1\nv2\nC2\nv2\nC3\nv2\nC4\nv2\nO0 0\no12\n2\nv0\nn1\nd5\n0 2\n1 0\n2 0\n3 0\n4 -1\nr\n2 0\n2 0\n2 0\n2 0\n2 0\n\
b\n3\n3\nk1\n5\nJ0 2\n0 0\n1 1\nJ1 2\n0 0\n1 1\nJ2 2\n0 0\n1 1\nJ3 2\n0 0\n1 1\nJ4 2\n0 0\n1 1\nG0 2\n0 0\n1 1\n";

#[test]
fn kinks_are_told_by_the_functions_that_have_them() {
    let warning = |kind: &str| format!("The formulas are not smooth: {kind}. Derivatives are those of one side.");
    let problem = parse(KINKS.as_bytes(), "kinks.nl", &Options::default()).unwrap();
    let named = "abs (once, in constraint C0, constraint C1, constraint C2 and 2 more)";
    assert_eq!(problem.info().warnings, [warning(named), warning("max (once, in objective O0)")]);
    let folder = std::env::temp_dir().join(format!("tangor-kinks-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("kinks.nl");
    std::fs::write(&path, KINKS).unwrap();
    std::fs::write(path.with_extension("row"), "mass\nheat\nflow[1]\nflow[2]\nflow[3]\ncost\n").unwrap();
    let problem = tangor_nl::read(&path, &Options { objective: 0, ..Options::default() });
    std::fs::remove_dir_all(&folder).unwrap();
    let named = "abs (once, in constraint mass, constraint heat, constraint flow[1] and 2 more)";
    assert_eq!(problem.unwrap().info().warnings, [warning(named)]);
}

#[test]
fn multipliers_to_begin_with_are_given_in_both_signs() {
    let read = |text: &str| parse(text.as_bytes(), "kinks.nl", &Options::default()).unwrap();
    let problem = read(KINKS);
    assert_eq!(problem.multipliers(), [2.0, 0.0, 0.0, 0.0, -1.0]);
    assert_eq!(problem.start_multipliers().unwrap(), [-2.0, 0.0, 0.0, 0.0, 1.0]);
    assert_eq!(read(&KINKS.replace("d5\n0 2\n", "d5\n0 inf\n")).start_multipliers(), None);
    assert_eq!(read(&KINKS.replace("d5\n0 2\n1 0\n2 0\n3 0\n4 -1\n", "")).start_multipliers(), None);
}

#[test]
fn text_and_both_binary_forms_are_the_same_problem() {
    let mut texts = vec![EVERYTHING.to_string()];
    if let Some((folder, _)) = folders() {
        let small = |path| String::from_utf8(std::fs::read(path).expect("a file can be read")).ok();
        let texts_of_models = models(&folder).into_iter().filter_map(small).filter(|text| text.starts_with('g'));
        texts.extend(texts_of_models.filter(|text| !text.contains("\nf0 ")).take(60));
    }
    for text in texts {
        let problem = parse(text.as_bytes(), "text", &Options::default()).unwrap();
        for big_endian in [false, true] {
            let other = parse(&binary(&text, big_endian), "binary", &Options::default()).unwrap();
            same(&problem, &other);
            let mut problem = parse(text.as_bytes(), "text", &Options::default()).unwrap();
            evaluates_the_same(&mut problem, other);
        }
    }
}

fn same(one: &NlProblem, other: &NlProblem) {
    assert_eq!(one.meta(), other.meta());
    assert_eq!(one.suffixes(), other.suffixes());
    assert_eq!(one.multipliers(), other.multipliers());
}

fn evaluates_the_same(one: &mut NlProblem, mut other: NlProblem) {
    let meta = one.meta().clone();
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    let mut results = [one, &mut other].map(|problem| {
        let mut jacobian = vec![0.0; meta.jacobian_len()];
        let mut c = vec![0.0; meta.m()];
        problem.constraints(&meta.x0, &mut c).unwrap();
        problem.jacobian(&meta.x0, &mut jacobian).unwrap();
        bits(&[c, jacobian].concat())
    });
    assert_eq!(std::mem::take(&mut results[0]), results[1]);
}

#[test]
fn second_derivatives_of_everything_agree_with_differences() {
    let mut problem = parse(EVERYTHING.as_bytes(), "everything.nl", &Options::default()).unwrap().with_hessian().unwrap();
    let (x, y) = ([1.25, 0.5, -0.75, 0.5], [1.0, -2.0, 0.5, 3.0]);
    let places = problem.hessian_pattern().clone();
    let mut hessian = vec![0.0; places.len(4, 4)];
    problem.hessian(&x, 2.0, &y, &mut hessian).unwrap();
    let mut full = [[0.0; 4]; 4];
    for (k, &value) in hessian.iter().enumerate() {
        let (i, j) = places.place(k, 4);
        (full[i][j], full[j][i]) = (value, value);
    }
    let h = 1e-5;
    for j in 0..4 {
        let mut slopes = [1.0, -1.0].map(|sign| {
            let mut moved = x;
            moved[j] += sign * h;
            let (mut g, mut jacobian) = ([0.0; 4], [0.0; 13]);
            problem.gradient(&moved, &mut g).unwrap();
            problem.jacobian(&moved, &mut jacobian).unwrap();
            g.iter_mut().for_each(|entry| *entry *= 2.0);
            for (k, value) in jacobian.iter().enumerate() {
                let (row, column) = problem.meta().jacobian.place(k, 4);
                g[column] += y[row] * value;
            }
            g
        });
        let minus = std::mem::take(&mut slopes[1]);
        for i in 0..4 {
            let difference = (slopes[0][i] - minus[i]) / (2.0 * h);
            assert!((difference - full[i][j]).abs() < 1e-7 * (1.0 + difference.abs()), "{i},{j}: {difference} {}", full[i][j]);
        }
    }
}
