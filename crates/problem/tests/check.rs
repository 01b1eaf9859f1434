//! The derivative checker: what it finds, what it lets pass, what it says.

use tangor_problem::{ClosureProblem, Counted, Evaluation, Failure, Function, Meta, Problem, check_derivatives};

/// Three variables, two rows; `slip` is added to one derivative after the other.
fn problem(slip: [f64; 8]) -> ClosureProblem {
    let meta = Meta::new("slip", vec![1.0, 2.0, 0.5]).equalities(&[0.0]).at_least(&[0.0]);
    let meta = meta.sparse([(0, 0), (0, 1), (1, 1), (1, 2), (1, 2)]).name_rows(["first", "second"]);
    ClosureProblem::builder(meta.name_variables(["a", "b", "c"]))
        .objective(|x| x[0].exp() * x[1] + x[2].powi(3))
        .gradient(move |x, g| {
            let e = x[0].exp();
            g.copy_from_slice(&[e * x[1] + slip[0], e + slip[1], 3.0 * x[2] * x[2] + slip[2]]);
        })
        .constraints(|x, c| c.copy_from_slice(&[x[0].sin() * x[1], 1e6 * x[1] * x[2]]))
        .jacobian(move |x, v| {
            let exact = [x[0].cos() * x[1], x[0].sin(), 1e6 * x[2], 0.25e6 * x[1], 0.75e6 * x[1]];
            v.iter_mut().zip(exact).zip(&slip[3..]).for_each(|((v, exact), slip)| *v = exact + slip);
        })
        .build()
        .unwrap()
}

const POINT: [f64; 3] = [1.0, 2.0, 0.5];

#[test]
fn right_derivatives_pass_and_each_wrong_one_is_named() {
    let right = check_derivatives(&mut problem([0.0; 8]), &POINT).unwrap();
    assert!(right.is_right(), "{right}");
    assert_eq!((right.compared, right.undecided), (7, 0));
    assert_eq!(right.to_string(), "All 7 derivatives agree with differences.");
    assert!(right.worst.unwrap().excess() < 1.0);

    let names =
        [("", "a"), ("", "b"), ("", "c"), ("first", "a"), ("first", "b"), ("second", "b"), ("second", "c"), ("second", "c")];
    let sizes = [5.0, 2.7, 0.75, 1.1, 0.84, 5e5, 2e6, 2e6];
    for (k, (row, column)) in names.into_iter().enumerate() {
        let mut slip = [0.0; 8];
        slip[k] = 1e-5 * sizes[k];
        let check = check_derivatives(&mut problem(slip), &POINT).unwrap();
        assert_eq!(check.wrong.len(), 1, "slip {k}: {check}");
        let wrong = &check.wrong[0];
        assert_eq!((wrong.row.as_ref().map_or("", |(_, name)| name), wrong.column.1.as_str()), (row, column));
        assert_eq!(wrong.function, if k < 3 { Function::Gradient } else { Function::Jacobian });
        assert!((wrong.given - wrong.estimated - slip[k]).abs() <= 1e-3 * slip[k], "slip {k}: {wrong}");
        assert_eq!(check.worst.as_ref(), Some(wrong));
    }
}

#[test]
fn an_entry_outside_of_the_pattern_is_found() {
    let meta = Meta::new("p", vec![1.0; 3]).equalities(&[0.0; 2]).sparse([(0, 0), (1, 1)]).no_objective();
    let mut problem = ClosureProblem::builder(meta)
        .constraints(|x, c| c.copy_from_slice(&[x[0] + x[2] * x[2], x[1]]))
        .jacobian(|_, v| v.fill(1.0))
        .build()
        .unwrap();
    let check = check_derivatives(&mut problem, &[1.0, 1.0, 2.0]).unwrap();
    assert_eq!(
        check.to_string(),
        "All 2 derivatives agree with differences.\nNot zero, but missing from the sparse pattern:\
         \n  Jacobian of the constraints, row c[0], column x[2]: given 0, differences give 4"
    );
    assert!(!check.is_right());
}

/// c_i = x_i^2 x_{i+1}; `stray` adds the last variable to row 7, `slip` to a derivative of row 50.
fn band(stray: f64, slip: f64) -> Counted<ClosureProblem> {
    let n = 200;
    let entries = (0..n - 1).flat_map(|i| [(i, i), (i, i + 1)]);
    let x0 = (0..n).map(|i| 1.5 + (i as f64).sin()).collect();
    let meta = Meta::new("band", x0).equalities(&vec![0.0; n - 1]).sparse(entries).no_objective();
    let problem = ClosureProblem::builder(meta)
        .constraints(move |x, c| {
            c.iter_mut().zip(x.windows(2)).for_each(|(c, x)| *c = x[0] * x[0] * x[1]);
            c[7] += stray * x[x.len() - 1];
        })
        .jacobian(move |x, v| {
            v.chunks_mut(2).zip(x.windows(2)).for_each(|(v, x)| v.copy_from_slice(&[2.0 * x[0] * x[1], x[0] * x[0]]));
            v[101] += slip;
        });
    Counted::new(problem.build().unwrap())
}

#[test]
fn columns_that_share_no_row_are_checked_together() {
    let mut right = band(0.0, 0.0);
    let x = right.meta().x0.clone();
    let check = check_derivatives(&mut right, &x).unwrap();
    assert!(check.is_right(), "{check}");
    assert_eq!(check.compared, 398);
    assert_eq!(right.counts().constraints, 1 + 8 * 2 + 1);

    let check = check_derivatives(&mut band(0.0, 0.125), &x).unwrap();
    assert_eq!((check.compared, check.wrong.len(), check.undeclared.len()), (398, 1, 0));
    assert!(check.to_string().contains("row c[50], column x[51]"), "{check}");

    let check = check_derivatives(&mut band(0.5, 0.0), &x).unwrap();
    assert_eq!((check.compared, check.wrong.len(), check.undeclared.len()), (398, 0, 1));
    assert!(check.to_string().ends_with("row c[7], column x[199]: given 0, differences give 0.5"), "{check}");
}

#[test]
fn a_function_that_gives_another_value_when_it_is_asked_again_is_named() {
    let meta = Meta::new("p", vec![1.0]).equalities(&[0.0]).name_rows(["load"]).no_objective();
    let mut calls = 0.0;
    let mut problem = ClosureProblem::builder(meta)
        .constraints(move |x, c| {
            calls += 1.0;
            c[0] = x[0] + 0.25 * calls;
        })
        .jacobian(|_, v| v.fill(1.0))
        .build()
        .unwrap();
    let check = check_derivatives(&mut problem, &[1.0]).unwrap();
    assert!(!check.is_right());
    assert_eq!(check.unsteady.len(), 1);
    let told =
        "Not the same when asked again at the same point, with the same draws:\n  constraints, row load: 1.25, and then 3.5";
    assert!(check.to_string().contains(told), "{check}");
}

#[test]
fn a_nan_is_wrong_and_a_function_without_values_is_undecided() {
    let meta = Meta::new("p", vec![1.0, 1.0]);
    let mut problem = ClosureProblem::builder(meta)
        .objective(|x| if x[1] == 1.0 { Ok(2.0 * x[0]) } else { Err(Failure::undefined("only x1 = 1 has a value")) })
        .gradient(|_, g| g.copy_from_slice(&[f64::NAN, 5.0]))
        .build()
        .unwrap();
    let check = check_derivatives(&mut problem, &[1.0, 1.0]).unwrap();
    assert_eq!((check.compared, check.undecided, check.wrong.len()), (1, 1, 1));
    assert_eq!(
        check.to_string(),
        "1 of 1 derivatives are wrong, the worst first:\
         \n  gradient of the objective, column x[0]: given NaN, differences give 2\
         \n1 could not be compared: the functions have no value nearby."
    );
}

#[test]
fn at_bounds_and_in_narrow_boxes_right_derivatives_pass() {
    let (lower, upper) = ([0.0, 1.0, -3.0, 2.0], [f64::INFINITY, 1.001, -3.0, 2.0000001]);
    let inside = move |x: &[f64]| (0..4).all(|i| lower[i] <= x[i] && x[i] <= upper[i]);
    let meta = Meta::new("box", vec![0.0, 1.0, -3.0, 2.0]).bounds(&lower, &upper);
    let mut problem = ClosureProblem::builder(meta)
        .objective(move |x| if inside(x) { (2.0 * x[0]).exp() + x[1].powi(7) + x[2] + x[3].powi(4) } else { f64::NAN })
        .gradient(|x, g| g.copy_from_slice(&[2.0 * (2.0 * x[0]).exp(), 7.0 * x[1].powi(6), 9.0, 4.0 * x[3].powi(3)]))
        .build()
        .unwrap();
    let check = check_derivatives(&mut problem, &[0.0, 1.0, -3.0, 2.0]).unwrap();
    assert!(check.is_right(), "{check}");
    assert_eq!((check.compared, check.undecided), (3, 0));
}

#[test]
fn a_broken_function_and_nonsense_come_back() {
    let mut broken = ClosureProblem::builder(Meta::new("p", vec![1.0]))
        .objective(|_| Err::<f64, _>("the simulator is gone"))
        .gradient(|_, g| g.fill(0.0))
        .build()
        .unwrap();
    assert_eq!(check_derivatives(&mut broken, &[1.0]).unwrap_err().to_string(), "the simulator is gone");
    let message = "the point to check has 2 entries, but the problem has 1 variables";
    assert_eq!(check_derivatives(&mut broken, &[1.0, 2.0]).unwrap_err().to_string(), message);
    let outside = Meta::new("p", vec![1.0]).equalities(&[0.0]).sparse([(0, 3)]);
    let mut outside = Raw(outside);
    let message = "entry 0 of the Jacobian is at row 0, column 3, but there are 1 rows and 1 columns";
    assert_eq!(check_derivatives(&mut outside, &[1.0]).unwrap_err().to_string(), message);
}

/// Data that nobody has looked at.
struct Raw(Meta);

impl Problem for Raw {
    fn meta(&self) -> &Meta {
        &self.0
    }
    fn objective(&mut self, _: &[f64]) -> Evaluation<f64> {
        Ok(0.0)
    }
    fn gradient(&mut self, _: &[f64], _: &mut [f64]) -> Evaluation {
        Ok(())
    }
    fn constraints(&mut self, _: &[f64], _: &mut [f64]) -> Evaluation {
        Ok(())
    }
    fn jacobian(&mut self, _: &[f64], _: &mut [f64]) -> Evaluation {
        Ok(())
    }
}
