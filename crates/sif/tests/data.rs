//! The data part: parameters, loops, groups, variables, bounds, starts, each on a small text.

use tangor_problem::Problem;
use tangor_sif::{Options, SifError, SifProblem, find, parse};

/// Reads a text whose head and end are always the same.
fn read(body: &str) -> SifProblem {
    read_with(body, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn read_with(body: &str, options: &Options) -> Result<SifProblem, SifError> {
    parse(&format!("NAME          TEST\n{body}ENDATA\n"), "TEST.SIF", options)
}

fn constraints(problem: &mut SifProblem, x: &[f64]) -> Vec<f64> {
    let mut c = vec![0.0; problem.meta().m()];
    problem.constraints(x, &mut c).expect("c has a value");
    c
}

fn gradient(problem: &mut SifProblem, x: &[f64]) -> Vec<f64> {
    let mut g = vec![0.0; problem.meta().n()];
    problem.gradient(x, &mut g).expect("g has a value");
    g
}

/// The start of one variable that a `Z` card takes from the parameter `P`.
fn parameter(cards: &str) -> f64 {
    read(&format!("{cards}VARIABLES\n    X\nSTART POINT\n Z  S         X                        P\n")).meta().x0[0]
}

#[test]
fn real_parameters() {
    let given = " RE A                   6.0D0\n RE B                   -4.\n IE I                   7\n";
    let cases = [
        (" RE P                   2.5", 2.5),
        (" RI P         I", 7.0),
        (" RA P         A         1.5", 7.5),
        (" RS P         A         1.5", -4.5),
        (" RM P         A         1.5", 9.0),
        (" RD P         A         1.5", 0.25),
        (" RF P         SQRT      16.0", 4.0),
        (" R= P         B", -4.0),
        (" R+ P         A                        B", 2.0),
        (" R- P         A                        B", 10.0),
        (" R* P         A                        B", -24.0),
        (" R/ P         A                        B", -1.5),
        (" R( P         ABS                      B", 4.0),
        (" RF P         LOG10     1000.0", 3.0),
        (" RF P         HYPCOS    0.0", 1.0),
        (" RF P         ARCTAN    0.0", 0.0),
        (" RF P         EXP       0.0", 1.0),
    ];
    for (card, value) in cases {
        assert_eq!(parameter(&format!("{given}{card}\n")), value, "{card}");
    }
    // Data have eleven significant digits.
    assert_eq!(parameter(" RF P         EXP       -2.0\n"), 0.13533528324);
}

#[test]
fn integer_parameters() {
    let given = " IE A                   7\n IE B                   -2\n RE R                   -3.9\n";
    let cases = [
        (" IE Q                   5", 5.0),
        (" IR Q         R", -3.0),
        (" IA Q         A         3", 10.0),
        (" IS Q         A         3", -4.0),
        (" IM Q         A         3", 21.0),
        (" ID Q         A         22", 3.0),
        (" I= Q         B", -2.0),
        (" I+ Q         A                        B", 5.0),
        (" I- Q         A                        B", 9.0),
        (" I* Q         A                        B", -14.0),
        (" I/ Q         A                        B", -3.0),
    ];
    for (card, value) in cases {
        assert_eq!(parameter(&format!("{given}{card}\n RI P         Q\n")), value, "{card}");
    }
}

#[test]
fn arrays_of_parameters() {
    let body = " IE I                   1
 IE J                   -2
 AE A(I)                3.0
 AI A(I,J)    J
 A= B(I)      A(I)
 AM B(I)      B(I)      2.0
 A+ C(I)      B(I)                     A(I,J)
 A( P         ABS                      C(I)
";
    assert_eq!(parameter(body), 4.0);
    // An array item and its expanded name are the same.
    assert_eq!(parameter(" IE I                   1\n AE A(I)                3.0\n R= P         A1\n"), 3.0);
}

#[test]
fn loops() {
    let problem = read(
        " IE 1                   1
 IE 2                   2
 IE 3                   3
 IE -2                  -2
VARIABLES
 DO I         1                        3
 X  X(I)
 DO J         1                        I
 X  Y(I,J)
 OD J
 OD I
 DO K         3                        1
 X  NEVER(K)
 ND
 DO K         3                        -2
 DI K         -2
 X  Z(K)
 ND
",
    );
    let expected = ["X1", "Y1,1", "X2", "Y2,1", "Y2,2", "X3", "Y3,1", "Y3,2", "Y3,3", "Z3", "Z1", "Z-1"];
    assert_eq!(problem.meta().variable_names, expected);
}

#[test]
fn groups_before_variables_with_scales_and_combinations() {
    let mut problem = read(
        "GROUPS
 N  OBJ       'SCALE'   4.0
 E  A
 G  B         'SCALE'   0.5
 DL C         A         2.0            B         -1.0
VARIABLES
    X         OBJ       1.0            A         3.0
    X         C         10.0
    Y         B         5.0
    Y         'SCALE'   2.0
",
    );
    let x = [8.0, 3.0];
    assert_eq!(problem.objective(&x).unwrap(), 2.0);
    assert_eq!(gradient(&mut problem, &x), [0.25, 0.0]);
    // C = 2 A - B + 10 X; the row B is doubled, and the scale of Y changes nothing.
    assert_eq!(constraints(&mut problem, &x), [24.0, 30.0, 128.0 - 15.0]);
    assert_eq!(problem.meta().linear_rows, [true; 3]);
}

#[test]
fn constants_and_ranges() {
    let mut problem = read(
        "VARIABLES
    X
GROUPS
 N  OBJ       X         1.0
 E  E         X         1.0
 G  G         X         1.0
 L  L         X         1.0
 G  H         X         1.0
 E  F         X         1.0
CONSTANTS
    C1        'DEFAULT' 1.0
    C1        G         2.0            L         3.0
    OTHER     G         99.0
RANGES
    R1        G         -4.0           L         -5.0
    R1        F         -6.0
",
    );
    assert_eq!(problem.objective(&[10.0]).unwrap(), 9.0);
    assert_eq!(constraints(&mut problem, &[10.0]), [9.0, 8.0, 7.0, 9.0, 9.0]);
    assert_eq!(problem.meta().c_lower, [0.0, 0.0, -5.0, 0.0, -6.0]);
    assert_eq!(problem.meta().c_upper, [0.0, 4.0, 0.0, f64::INFINITY, 0.0]);
}

#[test]
fn bounds_of_every_type() {
    const INF: f64 = f64::INFINITY;
    let names = ["LO", "UP", "FX", "FR", "MI", "PL", "UP0", "NEG", "XL", "ZU", "DEF"];
    let variables: String = names.iter().map(|name| format!("    {name}\n")).collect();
    let problem = read(&format!(
        " RE R                   7.0
VARIABLES
{variables}BOUNDS
 LO B         LO        1.0
 UP B         UP        2.0
 FX B         FX        3.0
 FR B         FR
 MI B         MI
 PL B         PL
 UP B         UP0       0.0
 UP B         NEG       -1.0
 XL B         XL        -2.0
 ZU B         ZU                       R
 LO SECOND    DEF       5.0
"
    ));
    let lower = [1.0, 0.0, 3.0, -INF, -INF, 0.0, -INF, -INF, -2.0, 0.0, 0.0];
    let upper = [INF, 2.0, 3.0, INF, 0.0, INF, 0.0, -1.0, INF, 7.0, INF];
    assert_eq!((problem.meta().x_lower.as_slice(), problem.meta().x_upper.as_slice()), (&lower[..], &upper[..]));

    let problem = read(
        "VARIABLES
    X
    Y
    Z
BOUNDS
 LO B         'DEFAULT' -1.0
 UP B         'DEFAULT' 1.0D+20
 MI B         Y
 UP B         Z         0.0
",
    );
    assert_eq!(problem.meta().x_lower, [-1.0, -INF, -1.0]);
    assert_eq!(problem.meta().x_upper, [INF, INF, 0.0]);
}

#[test]
fn starts_of_variables_and_multipliers() {
    let body = "VARIABLES
    X
    Y
GROUPS
 E  A         X         1.0
 E  B         Y         1.0
START POINT
";
    let both = read(&format!("{body}    S         'DEFAULT' 3.0\n    S         X         1.0            B         2.0\n"));
    assert_eq!((both.meta().x0.as_slice(), both.multipliers()), (&[1.0, 3.0][..], &[3.0, 2.0][..]));
    let apart = read(&format!("{body} V  S         'DEFAULT' 3.0\n M  S         A         4.0\n V  T         X         9.0\n"));
    assert_eq!((apart.meta().x0.as_slice(), apart.multipliers()), (&[3.0, 3.0][..], &[4.0, 0.0][..]));
}

#[test]
fn a_quadratic_objective() {
    // 1/2 (4 x^2 + 2 * 3 x y) + y
    let mut problem = read(
        "VARIABLES\n    X\n    Y\nGROUPS\n N  O         Y         1.0\nQUADRATIC\n    X         X         4.0            Y         3.0\n",
    );
    assert_eq!(problem.objective(&[2.0, 5.0]).unwrap(), 8.0 + 30.0 + 5.0);
    assert_eq!(gradient(&mut problem, &[2.0, 5.0]), [8.0 + 15.0, 6.0 + 1.0]);
}

#[test]
fn integers_are_counted() {
    let problem = read(
        "VARIABLES
    A         'INTEGER'
    B         'ZERO-ONE'
    MARK      'MARKER'                 'INTORG'
    C
    MARK      'MARKER'                 'INTEND'
    D
",
    );
    assert_eq!(problem.info().integers, 3);
    assert_eq!(problem.meta().variable_names, ["A", "B", "C", "D"]);
    assert_eq!((problem.meta().x_lower[1], problem.meta().x_upper[1]), (0.0, 1.0));
}

const SIZES: &str = " IE 1                   1
*IE N                   10             $-PARAMETER small
 IE N                   2              $-PARAMETER
 RE H                   0.5
VARIABLES
 DO I         1                        N
 X  X(I)
 ND
START POINT
 ZV S         'DEFAULT'                H
";

#[test]
fn parameters_can_be_replaced() {
    let problem = read_with(SIZES, &Options::default().parameter("N", 4.0).parameter("H", 0.25)).unwrap();
    assert_eq!(problem.meta().x0, [0.25; 4]);
    let parameters = &problem.info().parameters;
    let n = parameters.iter().find(|parameter| parameter.name == "N").expect("N is a parameter");
    assert_eq!((n.value, n.marked), (Some(2.0), true));
    assert_eq!(n.suggested, [(10.0, "small".to_string()), (2.0, String::new())]);

    let unknown = read_with(SIZES, &Options::default().parameter("M", 4.0)).unwrap_err();
    assert_eq!(unknown.to_string(), "TEST.SIF: there is no parameter 'M' to replace; the file offers: N");
    let broken = read_with(SIZES, &Options::default().parameter("N", 2.5)).unwrap_err();
    assert_eq!(broken.to_string(), "TEST.SIF:4:5: an integer was expected, not 2.5");
}

#[test]
fn parameters_of_loops_cannot_be_replaced() {
    let body = format!("{SIZES} DO I         1                        N\n RE P                   1.0\n ND\n");
    let refused = read_with(&body, &Options::default().parameter("P", 4.0)).unwrap_err();
    assert_eq!(refused.to_string(), "TEST.SIF: there is no parameter 'P' to replace; the file offers: N");
    let free = read_with("FREE FORMAT\nIE N _3\nVARIABLES;_X\n", &Options::default().parameter("N", 4.0));
    assert!(free.is_ok());
}

#[test]
fn free_format_is_the_same_problem() {
    let free = read("FREE FORMAT\nGROUPS;N OBJ;E C\nVARIABLES;_X OBJ 2.0 C 1.0;_Y C -1.5 $ a comment\nBOUNDS;FR B X\nENDATA\n");
    assert_eq!(free.meta().variable_names, ["X", "Y"]);
    assert_eq!(free.meta().x_lower, [f64::NEG_INFINITY, 0.0]);
    let mut free = free;
    assert_eq!(constraints(&mut free, &[3.0, 2.0]), [0.0]);
}

#[test]
fn information_in_words() {
    let text =
        format!("* classification LLR2-AN-V-V\nNAME          TEST\n{SIZES}GROUPS\n G  C         X1        1.0\nENDATA\n");
    let problem = parse(&text, "TEST.SIF", &Options::default()).unwrap();
    let expected = "\
TEST   classification LLR2-AN-V-V
variables   2: 0 fixed, 2 with lower bounds, 0 with upper bounds
rows        1: 0 equalities, 1 inequalities, 0 ranges; 1 linear
objective   no groups
functions   0 elements of 0 types, 0 group types
parameter   N = 2, suggested: 10, 2
";
    assert_eq!(problem.info().to_string(), expected);
    let json = serde_json::to_value(problem.info()).unwrap();
    assert_eq!((&json["classification"], &json["rows"]), (&"LLR2-AN-V-V".into(), &1.into()));
}

#[test]
fn problems_are_found_in_a_folder() {
    let folder = std::env::temp_dir().join(format!("tangor-sif-find-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("HS999.SIF"), "NAME\n").unwrap();
    assert_eq!(find("hs999", &folder), Some(folder.join("HS999.SIF")));
    assert_eq!(find("HS998", &folder), None);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_follows_a_bracket_says_nothing() {
    let mut problem = read(
        " IE 1                   1
 IE 2                   2
VARIABLES
 DO I         1                        2
 X  U(I)
 ND
GROUPS
 DO I         1                        2
 XE U(I)SQ    U(I)      1.0
 AE D(I)                6.0
 AE D(I)SQ/2            7.0
 ND
 ZE U(2)SQ    U1                       D(1)SQ/2
",
    );
    assert_eq!(problem.meta().row_names, ["U1", "U2"]);
    assert_eq!(constraints(&mut problem, &[2.0, 3.0]), [2.0, 17.0]);
}

#[test]
fn integers_become_real_in_single_precision() {
    // 2^24 + 1 has one digit too many.
    let mut problem = read(
        "   Remarks before the first section
 IE I                   16777217
 RI R         I
VARIABLES
    X
GROUPS
 ZN OBJ       X                        R
",
    );
    assert_eq!(problem.objective(&[1.0]).unwrap(), 16777216.0);
}
