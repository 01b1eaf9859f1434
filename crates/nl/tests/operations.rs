//! Every operation, by the number that files have for it, against the same function in Rust.

use tangor_nl::{Options, parse};
use tangor_problem::Problem;

/// A problem in `x0` and `x1` whose objective is the formula.
fn evaluate(formula: &str, x: [f64; 2]) -> (f64, [f64; 2]) {
    let header = "g3 0 1 0\n 2 0 1 0 0\n 0 1\n 0 0\n 0 2 0\n 0 0 0 1\n 0 0 0 0 0\n 0 2\n 0 0\n 0 0 0 0 0\n";
    let file = format!("{header}O0 0\n{}\nb\n3\n3\nG0 2\n0 0\n1 0\n", formula.replace(' ', "\n"));
    let mut problem =
        parse(file.as_bytes(), "formula.nl", &Options::default()).unwrap_or_else(|error| panic!("{formula}: {error}"));
    let mut g = [0.0; 2];
    problem.gradient(&x, &mut g).unwrap();
    (problem.objective(&x).unwrap(), g)
}

fn truth(value: bool) -> f64 {
    f64::from(u8::from(value))
}

type Function = fn(f64, f64) -> f64;

#[test]
fn smooth_operations_have_their_values_and_derivatives() {
    let table: [(&str, Function); 36] = [
        ("o0 v0 v1", |a, b| a + b),
        ("o1 v0 v1", |a, b| a - b),
        ("o2 v0 v1", |a, b| a * b),
        ("o3 v0 v1", |a, b| a / b),
        ("o5 v0 v1", |a, b| a.powf(b)),
        ("o5 v0 n3", |a, _| a.powi(3)),
        ("o5 v0 n-2", |a, _| a.powi(-2)),
        ("o5 v0 n1.7", |a, _| a.powf(1.7)),
        ("o5 n3 v1", |_, b| 3f64.powf(b)),
        ("o16 v1", |_, b| -b),
        ("o37 v0", |a, _| a.tanh()),
        ("o38 v0", |a, _| a.tan()),
        ("o39 v0", |a, _| a.sqrt()),
        ("o40 v0", |a, _| a.sinh()),
        ("o41 v0", |a, _| a.sin()),
        ("o42 v0", |a, _| a.log10()),
        ("o43 v0", |a, _| a.ln()),
        ("o44 v0", |a, _| a.exp()),
        ("o45 v0", |a, _| a.cosh()),
        ("o46 v0", |a, _| a.cos()),
        ("o47 v0", |a, _| a.atanh()),
        ("o48 v0 v1", |a, b| a.atan2(b)),
        ("o49 v0", |a, _| a.atan()),
        ("o50 v0", |a, _| a.asinh()),
        ("o51 v0", |a, _| a.asin()),
        ("o52 o0 n1 v0", |a, _| (1.0 + a).acosh()),
        ("o53 v0", |a, _| a.acos()),
        ("o54 3 v0 v1 n4", |a, b| a + b + 4.0),
        ("o76 v0 n2.5", |a, _| a.powf(2.5)),
        ("o77 v1", |_, b| b * b),
        ("o78 n2 v1", |_, b| 2f64.powf(b)),
        ("o79 v1", |_, b| 1.0 / (1.0 + (-b).exp())),
        ("o80 o16 v0 v1", |a, b| -a.powf(b)),
        ("o82 v1", |_, b| b * b),
        ("o85 o16 v1", |_, b| -b * b),
        ("o2 s3 o1 v0 l100000", |a, _| 3.0 * (a - 100_000.0)),
    ];
    for (formula, function) in table {
        for [a, b] in [[0.4, 1.3], [0.75, 2.5]] {
            let (value, g) = evaluate(formula, [a, b]);
            let wanted = function(a, b);
            assert!((value - wanted).abs() <= 1e-14 * (1.0 + wanted.abs()), "{formula}: {value} is not {wanted}");
            let h = 1e-6;
            let slopes =
                [(function(a + h, b) - function(a - h, b)) / (2.0 * h), (function(a, b + h) - function(a, b - h)) / (2.0 * h)];
            for (found, slope) in g.into_iter().zip(slopes) {
                // Values near 1e5 leave differences of 1e-5.
                let rounding = 1e-15 * wanted.abs() / h;
                assert!(
                    (found - slope).abs() <= 1e-8 * (1.0 + slope.abs()) + rounding,
                    "{formula}: slope {found}, by differences {slope}"
                );
            }
        }
    }
}

#[test]
fn operations_with_kinks_and_jumps_have_their_values() {
    let table: [(&str, Function); 36] = [
        ("o4 v0 v1", |a, b| a % b),
        ("o6 v0 v1", |a, b| (a - b).max(0.0)),
        ("o11 3 v0 v1 n1", |a, b| a.min(b).min(1.0)),
        ("o12 3 v0 v1 n1", |a, b| a.max(b).max(1.0)),
        ("o13 v0", |a, _| a.floor()),
        ("o14 v0", |a, _| a.ceil()),
        ("o15 v0", |a, _| a.abs()),
        ("o20 o22 v0 n0 o22 v1 n0", |a, b| truth(a < 0.0 || b < 0.0)),
        ("o21 o22 v0 n0 o22 v1 n0", |a, b| truth(a < 0.0 && b < 0.0)),
        ("o22 v0 v1", |a, b| truth(a < b)),
        ("o23 v0 v1", |a, b| truth(a <= b)),
        ("o24 v0 v1", |a, b| truth(a == b)),
        ("o28 v0 v1", |a, b| truth(a >= b)),
        ("o29 v0 v1", |a, b| truth(a > b)),
        ("o30 v0 v1", |a, b| truth(a != b)),
        ("o34 o22 v0 v1", |a, b| truth(a >= b)),
        ("o35 o22 v0 v1 o2 n2 v0 o16 v1", |a, b| if a < b { 2.0 * a } else { -b }),
        ("o55 v0 v1", |a, b| (a / b).trunc()),
        ("o56 v0 n2", |a, _| format!("{a:.1e}").parse().unwrap()),
        ("o57 v0 n1", |a, _| (a * 10.0).round() / 10.0),
        ("o58 v0 n1", |a, _| (a * 10.0).trunc() / 10.0),
        ("o59 3 o22 v0 n0 o22 v1 n0 o22 v0 v1", |a, b| truth(a < 0.0) + truth(b < 0.0) + truth(a < b)),
        ("o60 4 v0 v1 v0 n3", |a, b| truth(a == b) + 1.0 + truth(a == 3.0)),
        ("o62 n1 o59 2 o22 v0 n0 o22 v1 n0", |a, b| truth(a < 0.0 || b < 0.0)),
        ("o63 n1 o59 2 o22 v0 n0 o22 v1 n0", |a, b| truth(!(a < 0.0 && b < 0.0))),
        ("o66 n1 o59 2 o22 v0 n0 o22 v1 n0", |a, b| truth((a < 0.0) != (b < 0.0))),
        ("o67 n1 o59 2 o22 v0 n0 o22 v1 n0", |a, b| truth(!(a < 0.0 || b < 0.0))),
        ("o68 n1 o59 2 o22 v0 n0 o22 v1 n0", |a, b| truth(a < 0.0 && b < 0.0)),
        ("o69 n1 o59 2 o22 v0 n0 o22 v1 n0", |a, b| truth((a < 0.0) == (b < 0.0))),
        ("o70 3 o22 v0 n9 o22 v1 n9 o22 v0 v1", |a, b| truth(a < 9.0 && b < 9.0 && a < b)),
        ("o71 3 o22 v0 n0 o22 v1 n0 o22 v0 v1", |a, b| truth(a < 0.0 || b < 0.0 || a < b)),
        ("o72 o22 v0 n0 o22 v1 n0 o22 v0 v1", |a, b| if a < 0.0 { truth(b < 0.0) } else { truth(a < b) }),
        ("o73 o22 v0 n0 o22 v1 n0", |a, b| truth((a < 0.0) == (b < 0.0))),
        ("o74 3 v0 v1 n1", |a, b| truth(a != b && a != 1.0 && b != 1.0)),
        ("o75 3 v0 v1 n1", |a, b| truth(!(a != b && a != 1.0 && b != 1.0))),
        ("o64 2 n-1 n0 n2 v0", |a, _| if a < 0.0 { -a } else { 2.0 * a }),
    ];
    for (formula, function) in table {
        for [a, b] in [[0.44, 1.3], [-2.37, 1.3], [1.0, -0.7], [-0.31, -3.2], [5.26, 5.26], [0.0, 2.0]] {
            let (value, _) = evaluate(formula, [a, b]);
            let wanted = function(a, b);
            assert!((value - wanted).abs() <= 1e-14 * (1.0 + wanted.abs()), "{formula} at {a}, {b}: {value} is not {wanted}");
        }
    }
}

#[test]
fn a_formula_may_be_as_deep_as_it_is_long() {
    let depth = 200_000;
    let formula = format!("{}v0", "o0 n1 ".repeat(depth));
    let (value, g) = evaluate(&formula, [0.5, 0.0]);
    assert_eq!((value, g), (depth as f64 + 0.5, [1.0, 0.0]));
    let (value, _) = evaluate(&format!("{}v0", "o46 ".repeat(depth)), [0.5, 0.0]);
    assert!((value - 0.739_085_133_215_160_6).abs() < 1e-14);
}
