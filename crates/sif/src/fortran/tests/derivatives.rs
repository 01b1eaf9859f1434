//! Derivatives: coded against automatic, the tape against the machine.

use super::*;

/// Expressions in X and Y, smooth near (0.7, 0.4), that use every function.
const SMOOTH: &[&str] = &[
    "X*Y + X/Y - 3*X",
    "EXP(X*Y)*LOG(X+Y)",
    "SQRT(X**2 + Y)",
    "SIN(X)*COS(Y) + TAN(X*Y)",
    "ASIN(X*Y) + ACOS(X-Y) + ATAN(X/Y)",
    "SINH(X)*COSH(Y) - TANH(X+Y)",
    "ASINH(X*Y) + ACOSH(X+1.5) + ATANH(X*Y)",
    "LOG10(X+Y**2)",
    "ERF(X)*ERFC(Y) + ERFC_SCALED(X*Y)",
    "X**Y + Y**2.5 + 2.0**X",
    "X**(-3) + Y**5",
    "ATAN2(X*Y, X-Y)",
    "HYPOT(X, Y)",
    "MOD(5.0*X, Y) + MODULO(X, 3.0*Y)",
    "SIGN(X**2, Y-1) + ABS(Y-X)**3",
    "MAX(X*Y, X-Y) + MIN(X, Y**2) + DIM(X, Y**2)",
    "MERGE(X**3, Y, X > Y)",
    "-X + (-Y)*INT(3.0*X)*NINT(Y)",
];

fn body(expression: &str) -> String {
    format!("INDIVIDUALS\n T  T\n{}ENDATA", value_cards(expression))
}

#[test]
fn automatic_derivatives_agree_with_differences() {
    let point = [0.7, 0.4];
    for expression in SMOOTH {
        let compiled = compile_one(&body(expression), "", declaration_xy(), Derivatives::Automatic);
        let at = |x: [f64; 2]| evaluate(&compiled, &x, &[1.0]);
        let found = at(point);
        // Central differences: of the value for the gradient, of the gradient for the Hessian.
        let step = 1e-5;
        let moved = |i: usize, by: f64| {
            let mut x = point;
            x[i] += by;
            at(x)
        };
        let (mut gradient, mut hessian) = (Vec::new(), Vec::new());
        for i in 0..2 {
            let (right, left) = (moved(i, step), moved(i, -step));
            gradient.push((right.value - left.value) / (2.0 * step));
            hessian.extend((0..=i).map(|j| (right.gradient[j] - left.gradient[j]) / (2.0 * step)));
        }
        assert_close(&found.gradient, &gradient, 1e-8, expression);
        assert_close(&found.hessian, &hessian, 1e-8, expression);
    }
}

#[test]
fn the_machine_differentiates_as_the_tape_does() {
    for expression in SMOOTH {
        let on_tape = compile_one(&body(expression), "", declaration_xy(), Derivatives::Automatic);
        let function = format!(
            "      DOUBLE PRECISION FUNCTION FUN( X, Y )\n      DOUBLE PRECISION X, Y\n      FUN = {expression}\n      END"
        );
        let part = "TEMPORARIES\n F  FUN\nINDIVIDUALS\n T  T\n F                      FUN( X, Y )\nENDATA";
        let on_machine = compile_one(part, &function, declaration_xy(), Derivatives::Automatic);
        for point in [[0.7, 0.4], [0.45, 0.9], [0.51, 0.5]] {
            let (tape, machine) = (evaluate(&on_tape, &point, &[1.0]), evaluate(&on_machine, &point, &[1.0]));
            assert_eq!(tape.value.to_bits(), machine.value.to_bits(), "{expression}");
            // The domain of ACOSH and the kinks are avoided, so that every derivative is finite.
            assert_close(&machine.gradient, &tape.gradient, 1e-13, expression);
            assert_close(&machine.hessian, &tape.hessian, 1e-13, expression);
        }
    }
}

const RANGED: &str = "\
TEMPORARIES
 R  SN
 R  CS
INDIVIDUALS
 T  R
 R  U         V1        2.0            V2        -1.0
 R  U         V3        0.5
 R  W         V3        3.0
 A  SN                  SIN( U )
 A  CS                  COS( U )
 F                      W**2 * SN
 G  U                   W**2 * CS
 G  W                   2.0 * W * SN
 H  U         U         - W**2 * SN
 H  W         U         2.0 * W * CS
 H  W         W         2.0 * SN
ENDATA";

#[test]
fn coded_and_automatic_derivatives_agree_through_a_range_transformation() {
    let types = declaration("R", &["V1", "V2", "V3"], &["U", "W"], &[]);
    let coded = evaluate(&compile_one(RANGED, "", types.clone(), Derivatives::Coded), &[0.3, 0.7, -0.4], &[]);
    let automatic = evaluate(&compile_one(RANGED, "", types, Derivatives::Automatic), &[0.3, 0.7, -0.4], &[]);
    // u = 2 v1 - v2 + v3/2 = -0.3, w = 3 v3 = -1.2
    let (u, w) = (-0.3f64, -1.2f64);
    assert_close(&[coded.value], &[w * w * u.sin()], 1e-15, "the value");
    let (fu, fw) = (w * w * u.cos(), 2.0 * w * u.sin());
    assert_close(&coded.gradient, &[2.0 * fu, -fu, 0.5 * fu + 3.0 * fw], 1e-15, "the gradient");
    assert_close(&automatic.gradient, &coded.gradient, 1e-15, "the automatic gradient");
    assert_close(&automatic.hessian, &coded.hessian, 1e-14, "the Hessian");
}

#[test]
fn what_the_file_codes_is_what_it_gets() {
    // Both derivatives are wrong, and so recognisable; what is not coded beside them is zero.
    let text =
        "INDIVIDUALS\n T  T\n F                      X*Y\n G  Y                   7.0\n H  Y         X         5.0\nENDATA";
    let coded = evaluate(&compile_one(text, "", declaration_xy(), Derivatives::Coded), &[2.0, 3.0], &[0.0]);
    assert_eq!(coded, Found { value: 6.0, gradient: vec![0.0, 7.0], hessian: vec![0.0, 5.0, 0.0] });
    let automatic = evaluate(&compile_one(text, "", declaration_xy(), Derivatives::Automatic), &[2.0, 3.0], &[0.0]);
    assert_eq!(automatic, Found { value: 6.0, gradient: vec![3.0, 2.0], hessian: vec![0.0, 1.0, 0.0] });
}

#[test]
fn derivatives_that_are_not_coded_are_automatic() {
    let text = "INDIVIDUALS\n T  T\n F                      X*X*Y\n G  X                   7.0\nENDATA";
    let found = evaluate(&compile_one(text, "", declaration_xy(), Derivatives::Coded), &[2.0, 3.0], &[0.0]);
    assert_eq!(found, Found { value: 12.0, gradient: vec![7.0, 0.0], hessian: vec![6.0, 4.0, 0.0] });
}

#[test]
fn a_branch_that_is_not_taken_leaves_no_nan() {
    let text = "INDIVIDUALS\n T  T\n F                      SQRT( MAX( X, 0.0 ) ) * Y\nENDATA";
    let compiled = compile_one(text, "", declaration_xy(), Derivatives::Automatic);
    let found = evaluate(&compiled, &[-1.0, 3.0], &[0.0]);
    assert_eq!(found, Found { value: 0.0, gradient: vec![0.0, 0.0], hessian: vec![0.0, 0.0, 0.0] });
}
