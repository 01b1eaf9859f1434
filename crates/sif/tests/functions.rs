//! Elements and groups put together: weights, types, internal variables, second derivatives, the check of derivatives.

use tangor_problem::{Pattern, Problem, SecondOrder};
use tangor_sif::{Limits, Options, check, parse};

/// Elements: PROD(u, v) = p u v, and DIFF(a, b) = (a - b)^2 through one internal variable.
const TEXT: &str = "\
NAME          PARTS
VARIABLES
    X
    Y
GROUPS
 N  SQUARED   Y         2.0
 N  PLAIN     'SCALE'   0.5
 E  ROW       X         1.0
CONSTANTS
    PARTS     SQUARED   3.0
ELEMENT TYPE
 EV PROD      U                        V
 EP PROD      P
 EV DIFF      A                        B
 IV DIFF      D
 EV UNUSED    W
ELEMENT USES
 T  'DEFAULT' PROD
 V  XY        U                        X
 V  XY        V                        Y
 P  XY        P         3.0
 V  XX        U                        X
 V  XX        V                        X
 P  XX        P         1.0
 T  XZ        DIFF
 V  XZ        A                        X
 V  XZ        B                        Z
GROUP TYPE
 GV HALF      G
 GP HALF      H
GROUP USES
 T  SQUARED   HALF
 E  SQUARED   XY
 P  SQUARED   H         0.5
 E  PLAIN     XX        2.0            XZ
 E  ROW       XZ        -1.0
ENDATA
ELEMENTS      PARTS
INDIVIDUALS
 T  PROD
 F                      P * U * V
 G  U                   P * V
 G  V                   P * U
 H  U         V         P
 T  DIFF
 R  D         A         1.0            B         -1.0
 F                      D * D
 G  D                   D + D
 H  D         D         2.0
ENDATA
GROUPS        PARTS
INDIVIDUALS
 T  HALF
 F                      H * G * G
 G                      2.0 * H * G
 H                      2.0 * H
ENDATA
";

/// f = 1/2 (3xy + 2y - 3)^2 + 2 (2 x^2 + (x - z)^2), c = x - (x - z)^2. Z appears in an element for the first time.
#[test]
fn values_and_first_derivatives() {
    let mut problem = parse(TEXT, "PARTS.SIF", &Options::default()).unwrap();
    assert_eq!(problem.meta().variable_names, ["X", "Y", "Z"]);
    let x = [2.0, 1.0, 5.0];
    let alpha = 6.0 + 2.0 - 3.0;
    assert_eq!(problem.objective(&x).unwrap(), 0.5 * alpha * alpha + 2.0 * (8.0 + 9.0));
    let mut g = [0.0; 3];
    problem.gradient(&x, &mut g).unwrap();
    assert_eq!(g, [alpha * 3.0 + 2.0 * (8.0 - 6.0), alpha * 8.0, 2.0 * 6.0]);
    let mut c = [0.0];
    problem.constraints(&x, &mut c).unwrap();
    assert_eq!(c, [2.0 - 9.0]);
    assert_eq!(problem.meta().jacobian, Pattern::sparse([(0, 0), (0, 2)]));
    let mut values = [0.0; 2];
    problem.jacobian(&x, &mut values).unwrap();
    assert_eq!(values, [1.0 + 6.0, -6.0]);
}

#[test]
fn second_derivatives() {
    let mut problem = parse(TEXT, "PARTS.SIF", &Options::default()).unwrap().with_hessian().unwrap();
    let x = [2.0, 1.0, 5.0];
    let alpha = 5.0;
    let mut values = vec![0.0; problem.hessian_pattern().len(3, 3)];
    problem.hessian(&x, 1.0, &[10.0], &mut values).unwrap();
    let Pattern::Sparse { rows, columns } = problem.hessian_pattern() else { panic!("the Hessian is sparse") };
    let found: Vec<_> = rows.iter().zip(columns).zip(values).map(|((&row, &column), value)| (row, column, value)).collect();
    // a = (3, 8) is the gradient of alpha; XX is x^2 with the same variable twice; (x - z)^2 comes with 2 - 10.
    let expected = [
        (0, 0, 9.0 + 8.0 + 2.0 * (2.0 - 10.0)),
        (1, 0, 24.0 + 3.0 * alpha),
        (1, 1, 64.0),
        (2, 0, -2.0 * (2.0 - 10.0)),
        (2, 2, 2.0 * (2.0 - 10.0)),
    ];
    assert_eq!(found, expected);

    let limits = Limits { hessian: 5, ..Limits::default() };
    let refused = parse(TEXT, "PARTS.SIF", &Options { limits, ..Options::default() }).unwrap().with_hessian().unwrap_err();
    assert_eq!(refused.to_string(), "PARTS: the Hessian of the Lagrangian has 15 entries, and the limit is 5");
}

#[test]
fn a_point_of_the_wrong_length_is_refused() {
    let mut problem = parse(TEXT, "PARTS.SIF", &Options::default()).unwrap();
    let failure = problem.gradient(&[1.0, 2.0], &mut [0.0; 3]).unwrap_err();
    assert!(failure.is_broken());
    let expected = "PARTS: a point of 2 numbers and a result of 3 were given, but 3 and 3 are needed";
    assert_eq!(failure.to_string(), expected);
}

#[test]
fn wrong_derivatives_are_named() {
    assert_eq!(check(TEXT, "PARTS.SIF", &Options::default(), None, 1e-12).unwrap(), []);
    let wrong = TEXT.replace("G  V                   P * U", "G  V                   P * V");
    let found = check(&wrong, "PARTS.SIF", &Options::default(), Some(&[2.0, 1.0, 5.0]), 1e-12).unwrap();
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found, ["element XY: derivative [2] is coded as 3, differentiation gives 6"]);
}

/// The result must not depend on the number of threads: a large problem in one thread and in several.
#[test]
fn threads_do_not_change_the_values() {
    let n = 20_000;
    let text = format!(
        "\
NAME          LARGE
 IE 1                   1
 IE N                   {n}
VARIABLES
 DO I         1                        N
 X  X(I)
 ND
GROUPS
 DO I         1                        N
 XN O(I)
 XE C(I)      X(I)      1.0
 ND
START POINT
    LARGE     'DEFAULT' 0.7
ELEMENT TYPE
 EV CUBE      U
ELEMENT USES
 T  'DEFAULT' CUBE
 DO I         1                        N
 ZV E(I)      U                        X(I)
 ND
GROUP USES
 DO I         1                        N
 XE O(I)      E(I)
 XE C(I)      E(I)      0.1
 ND
ENDATA
ELEMENTS      LARGE
INDIVIDUALS
 T  CUBE
 F                      U * U * U
 G  U                   3.0 * U * U
ENDATA
"
    );
    let evaluate = || {
        let mut problem = parse(&text, "LARGE.SIF", &Options::default()).unwrap();
        let x: Vec<f64> = (0..n).map(|i| 0.1 + i as f64 / 7.0).collect();
        let (mut g, mut c, mut values) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
        let f = problem.objective(&x).unwrap();
        problem.gradient(&x, &mut g).unwrap();
        problem.constraints(&x, &mut c).unwrap();
        problem.jacobian(&x, &mut values).unwrap();
        assert_eq!((g[7], c[0]), (3.0 * x[7] * x[7], x[0] + 0.1 * (x[0] * x[0] * x[0])));
        (f, g, c, values)
    };
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    assert_eq!(pool(1).install(evaluate), pool(3).install(evaluate));
}

/// A type that reads a temporary which only another type sets: elements are then evaluated in the order of the file, in which
/// types alternate.
#[test]
fn elements_that_share_state_keep_their_order() {
    let text = "\
NAME          STATE
 IE 1                   1
 IE N                   20
VARIABLES
 DO I         1                        N
 X  X(I)
 ND
GROUPS
 DO I         1                        N
 XE A(I)
 XE B(I)
 ND
ELEMENT TYPE
 EV SETS      U
 EV READS     U
ELEMENT USES
 DO I         1                        N
 XT S(I)      SETS
 ZV S(I)      U                        X(I)
 XT R(I)      READS
 ZV R(I)      U                        X(I)
 ND
GROUP USES
 DO I         1                        N
 XE A(I)      S(I)
 XE B(I)      R(I)
 ND
ENDATA
ELEMENTS      STATE
TEMPORARIES
 R  KEPT
INDIVIDUALS
 T  SETS
 A  KEPT                U * U
 F                      KEPT
 G  U                   U + U
 T  READS
 F                      U + KEPT
 G  U                   1.0
ENDATA
";
    let mut problem = parse(text, "STATE.SIF", &Options::default()).unwrap();
    let x: Vec<f64> = (1..=20).map(f64::from).collect();
    let mut c = vec![0.0; 40];
    problem.constraints(&x, &mut c).unwrap();
    let expected: Vec<f64> = x.iter().flat_map(|x| [x * x, x + x * x]).collect();
    assert_eq!(c, expected);
}
