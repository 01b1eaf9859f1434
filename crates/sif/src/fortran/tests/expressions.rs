//! The value of expressions, worked out by hand.

use super::*;

/// The value of an expression at X = 3, Y = -2, P = 0.5.
fn value_of(expression: &str) -> f64 {
    let text = format!("INDIVIDUALS\n T  T\n{}ENDATA", value_cards(expression));
    evaluate(&compile_one(&text, "", declaration_xy(), Derivatives::Automatic), &[3.0, -2.0], &[0.5]).value
}

#[test]
fn arithmetic_means_what_it_means_in_fortran() {
    let cases = [
        ("1 / 2", 0.0),
        ("1 / 2 * X", 0.0),
        ("7 / 2 * 2.0", 6.0),
        ("(-7) / 2", -3.0),
        ("X * 7 / 2", 10.5),
        ("2 ** 3 ** 2", 512.0),
        ("- X ** 2", -9.0),
        ("2 ** (-1)", 0.0),
        ("X ** (-2)", 1.0 / 9.0),
        ("Y ** 3", -8.0),
        ("X ** 1.5", 3f64.powf(1.5)),
        ("X - Y - 1", 4.0),
        ("X / Y / 2", -0.75),
        ("2 * -X", -6.0),
        ("X * - Y ** 2", -12.0),
        ("1.5D+1 + .5E1 + 1.D-2", 20.01),
        ("1.0 D 0 + 2", 3.0),
        ("0.1", 0.1),
        ("0.1_wp + 1e-1", 0.2),
        ("x + p", 3.5),
        ("(((X)))", 3.0),
    ];
    for (expression, expected) in cases {
        assert_eq!(value_of(expression), expected, "{expression}");
    }
}

#[test]
fn functions_have_generic_and_specific_names() {
    let cases = [
        ("MOD(7, 3) + MOD(-7, 3) / 2", 1.0),
        ("MOD(-7.5, 2.0)", -1.5),
        ("MODULO(-7, 3)", 2.0),
        ("SIGN(X, Y) + DSIGN(Y, X) + ISIGN(4, -1)", -5.0),
        ("NINT(2.5) + IDNINT(-2.5D0)", 0.0),
        ("INT(-2.7) / 4 + IFIX(2.7)", 2.0),
        ("AINT(2.7) / 4", 0.5),
        ("ANINT(2.5)", 3.0),
        ("FLOOR(Y / 3) + CEILING(Y / 3)", -1.0),
        ("AMAX1(1.0, X, 2.5) + DMIN1(X, Y)", 1.0),
        ("MAX(3, 2) / 2 + MAX0(3, 2) / 2", 2.0),
        ("AMAX0(3, 2) / 2", 1.5),
        ("MAX1(3.7, 2.0) / 2", 1.0),
        ("DIM(X, Y) + DIM(Y, X)", 5.0),
        ("ABS(Y) + DABS(Y) + IABS(-3) / 2", 5.0),
        ("DBLE(1) / 2 + REAL(1) / 2 + FLOAT(1) / 2", 1.5),
        ("LOG10(1000.0) + ALOG10(10.0)", 4.0),
        ("DSQRT(X + 1) + EXP(0.0) - LOG(1.0)", 3.0),
        ("ATAN2(Y, X) - DATAN2(Y, X) + ATAN(0.0)", 0.0),
        ("HYPOT(X, 4.0)", 5.0),
        ("MERGE(1.0, 2.0, X > 1)", 1.0),
        ("HUGE(1) - 2147483646", 1.0),
        ("EPSILON(1.0D0)", f64::EPSILON),
    ];
    for (expression, expected) in cases {
        assert_eq!(value_of(expression), expected, "{expression}");
    }
}

#[test]
fn logical_operators_have_two_spellings() {
    let cases = [
        ("X.GT.1.AND.Y.LT.0", true),
        ("X > 1 .and. Y >= 0", false),
        ("X.EQ.3..OR..FALSE.", true),
        ("1.EQ.2", false),
        ("1.E0.EQ.1", true),
        (".NOT. X == 3 .OR. Y /= -2.0", false),
        (".NOT. (X <= 3 .AND. Y < 0)", false),
        ("X.NE.3 .EQV. Y.GE.0", true),
        (".TRUE. .NEQV. X.LE.3", false),
    ];
    for (condition, expected) in cases {
        assert_eq!(value_of(&format!("MERGE(1.0, 0.0, {condition})")), f64::from(u8::from(expected)), "{condition}");
    }
}

#[test]
fn integer_temporaries_cut_what_they_are_given() {
    let text = "\
TEMPORARIES
 I  N
 R  A
GLOBALS
 A  A                   7.0
INDIVIDUALS
 T  T
 A  N                   P * A
 F                      X ** N + N / 2
ENDATA";
    let found = evaluate(&compile_one(text, "", declaration_xy(), Derivatives::Automatic), &[2.0, 0.0], &[0.5]);
    // N = int(3.5) = 3
    assert_eq!(found, Found { value: 9.0, gradient: vec![12.0, 0.0], hessian: vec![12.0, 0.0, 0.0] });
}

#[test]
fn conditions_choose_assignments() {
    let text = "\
TEMPORARIES
 L  BIG
 L  SMALL
 R  A
INDIVIDUALS
 T  T
 A  BIG                 X .GE. 2.0
 A  SMALL               .NOT. BIG
 I  BIG       A         X * Y
 I+                     + 1.0
 E  BIG       A         LOG( X - 2.0 )
 I  SMALL     A         X ** 2
 F                      A
ENDATA";
    let compiled = compile_one(text, "", declaration_xy(), Derivatives::Automatic);
    let large = evaluate(&compiled, &[2.0, 5.0], &[0.0]);
    assert_eq!(large, Found { value: 11.0, gradient: vec![5.0, 2.0], hessian: vec![0.0, 1.0, 0.0] });
    // log(-1) belongs to a branch that another assignment replaces: it must not spoil the derivatives.
    let small = evaluate(&compiled, &[1.0, 5.0], &[0.0]);
    assert_eq!(small, Found { value: 1.0, gradient: vec![2.0, 0.0], hessian: vec![2.0, 0.0, 0.0] });
}

#[test]
fn a_group_does_not_name_its_variable() {
    let text = "INDIVIDUALS\n T  SQUARE\n F                      P * ALPHA**2\n G                      2.0*P*ALPHA\n H                      2.0*P\nENDATA";
    let types = [declaration("SQUARE", &["ALPHA"], &[], &["P"])];
    for derivatives in [Derivatives::Coded, Derivatives::Automatic] {
        let compiled = crate::fortran::compile_groups("test.SIF", &lines(text), &[], &types, derivatives).unwrap();
        let found = evaluate(&compiled[0], &[3.0], &[2.0]);
        assert_eq!(found, Found { value: 18.0, gradient: vec![12.0], hessian: vec![4.0] });
    }
}

#[test]
fn free_format_means_the_same() {
    let text = "FREE FORMAT\nTEMPORARIES;R A $ a comment\nINDIVIDUALS; T T;A A_X*P\nA+__+1.0;F__A*Y; G X_Y*P\nG Y_A\nENDATA";
    let found = evaluate(&compile_one(text, "", declaration_xy(), Derivatives::Coded), &[3.0, -2.0], &[0.5]);
    assert_eq!(found, Found { value: -5.0, gradient: vec![-1.0, 2.5], hessian: vec![0.0, 0.5, 0.0] });
}

#[test]
fn slices_of_the_wrong_length_are_refused() {
    let compiled =
        compile_one("INDIVIDUALS\n T  T\n F                      X\nENDATA", "", declaration_xy(), Derivatives::Coded);
    let mut scratch = vec![0.0; compiled.scratch_len()];
    let failure = compiled.value(&[1.0], &[], &mut scratch).unwrap_err();
    assert_eq!(failure.to_string(), "type T was given 1 variables instead of 2, 0 parameters instead of 1");
    assert!(compiled.gradient(&[1.0, 2.0], &[0.0], &mut scratch, &mut [0.0]).unwrap_err().is_broken());
}
