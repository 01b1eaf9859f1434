//! One bad file for each error, with its exact message.

mod common;

use common::binary::binary;
use tangor_nl::{Options, parse};

const HEADER: [&str; 10] =
    ["g3 1 1 0\t# problem bad", " 2 1 1 0 1", " 1 1", " 0 0", " 2 2 2", " 0 1 0 1", " 0 0 0 0 0", " 2 2", " 0 0", " 1 0 0 0 0"];
const BODY: [&str; 21] = [
    "F0 0 -1 gamma",
    "V2 0 0",
    "o43",
    "v0",
    "C0",
    "o2",
    "v2",
    "v1",
    "O0 0",
    "o44",
    "v0",
    "r",
    "4 1",
    "b",
    "3",
    "2 0",
    "k1",
    "1",
    "J0 2",
    "0 0",
    "1 0",
];

// Replaces lines (counted from 1) by others; an empty one is left out.
fn message(changes: &[(usize, &str)]) -> String {
    let mut lines: Vec<String> = HEADER.iter().chain(&BODY).map(|line| line.to_string()).collect();
    for &(line, text) in changes {
        lines[line - 1] = text.to_string();
    }
    let text: String = lines.iter().filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect();
    refused(text.as_bytes())
}

fn refused(bytes: &[u8]) -> String {
    parse(bytes, "bad.nl", &Options::default()).expect_err("it is wrong").to_string()
}

#[test]
fn the_file_without_changes_is_good() {
    let text: String = HEADER.iter().chain(&BODY).map(|line| format!("{line}\n")).collect();
    assert!(parse(text.as_bytes(), "good.nl", &Options::default()).is_ok());
}

#[test]
fn headers_are_refused_with_their_line() {
    let table: [(&[(usize, &str)], &str); 14] = [
        (&[(1, "x3 1 1 0")], "bad.nl:1: in the header: a .nl file begins with g (text) or b (binary)"),
        (&[(1, "g30 1 1 0")], "bad.nl:1: in the header: 30 options of AMPL are promised, but there are at most 9"),
        (&[(1, "g3 1 one 0")], "bad.nl:1: in the header: \"one\" was found among the options of AMPL, which are integers"),
        (
            &[(2, " 2 one 1")],
            "bad.nl:2: in the header: \"one\" was found where an integer was expected (variables, constraints, objectives, ranges, \
             equations)",
        ),
        (&[(2, " -2 1 1")], "bad.nl:2: in the header: -2 cannot be the number of anything"),
        (
            &[(3, " 1")],
            "bad.nl:3: in the header: 1 numbers were found where at least 2 were expected (nonlinear constraints and objectives)",
        ),
        (
            &[(2, " 1000000000000 1 1")],
            "bad.nl:1: in the header: 1000000000000 variables are promised, but the file has only 84 bytes more",
        ),
        (
            &[(10, " 9000000000000000000 9000000000000000000 0 0 0")],
            "bad.nl:1: in the header: 18000000000000000000 defined variables are promised, but the file has only 84 bytes more",
        ),
        (&[(7, " 0 1 0 0 0")], "bad.nl: variable x[1] must be an integer, and Tangor solves problems in real numbers"),
        (&[(7, " 0 0 2 0 0")], "bad.nl: 2 variables must be integers, x[0] first, and Tangor solves problems in real numbers"),
        (&[(2, " 0 1 1")], "bad.nl: there are no variables"),
        (&[(8, " 3 2")], "bad.nl: 3 entries of the Jacobian are promised and 2 are there: the file is not complete"),
        (&[(10, " 2 0 0 0 0")], "bad.nl: there is no segment V3: the file is not complete"),
        (
            &[(24, ""), (25, ""), (26, "")],
            "bad.nl: there is no segment b with the bounds of the variables: the file is not complete",
        ),
    ];
    for (changes, expected) in table {
        assert_eq!(message(changes), expected);
    }
    assert_eq!(refused(b"g3 1 1 0\n 1 0 1\n"), "bad.nl:3: in the header: the file ends before its tenth line");
    assert_eq!(refused(b""), "bad.nl:1: in the header: the file ends before its tenth line");
}

#[test]
fn segments_are_refused_with_their_line() {
    let table: [(usize, &str, &str); 24] = [
        (11, "Q0", "bad.nl:11: in segment Q: no segment begins with 'Q'"),
        (12, "V1 0 0", "bad.nl:12: in segment V1: variable 1 cannot be defined: the first defined one is 2"),
        (12, "V3 0 0", "bad.nl:12: in segment V: defined variable 3 was found, but the last one is 2"),
        (13, "v2", "bad.nl:13: in segment V2: variable 2 is used before it is defined"),
        (13, "o99", "bad.nl:13: in segment V2: there is no operation 99"),
        (13, "o61", "bad.nl:13: in segment V2: operation 61 works on strings, which only functions of external libraries have"),
        (
            13,
            "f0 1",
            "bad.nl:13: in segment V2: the function gamma of an external library is called here, and Tangor has no such libraries",
        ),
        (13, "h3:abc", "bad.nl:13: in segment V2: a string was found where a number was expected"),
        (
            13,
            "C1",
            "bad.nl:13: in segment V2: 'C' was found where a formula was expected, which begins with n, v, o, f, s or l",
        ),
        (13, "o54\n900000", "bad.nl:14: in segment V2: the number of operands cannot be 900000: 66 bytes are left in the file"),
        (14, "v7", "bad.nl:14: in segment V2: variable 7 was found, but the last one is 2"),
        (14, "nabc", "bad.nl:14: in segment V2: \"abc\" was found where a number was expected"),
        (14, "v0 1", "bad.nl:14: in segment V2: \"1\" was found where the line should end"),
        (15, "C1", "bad.nl:15: in segment C: constraint 1 was found, but the last one is 0"),
        (15, "L0", "bad.nl:15: in segment L: logical constraint 0 was found, but there is none"),
        (
            19,
            "O0 2",
            "bad.nl:19: in segment O0: the sense of an objective (0 minimises, 1 maximises): 2 was found, but the last one is 1",
        ),
        (
            23,
            "5 1 2",
            "bad.nl:23: in segment r: constraint 0 is a complementarity condition, and Tangor solves problems without them",
        ),
        (25, "7", "bad.nl:25: in segment b: '7' was found where the kind of a bound was expected, 0 to 4"),
        (25, "5 1 1", "bad.nl:25: in segment b: '5' was found where the kind of a bound was expected, 0 to 4"),
        (26, "2", "bad.nl:26: in segment b: the end of the line was found where a lower bound was expected"),
        (29, "J0 2000", "bad.nl:29: in segment J0: the number of entries cannot be 2000: 14 bytes are left in the file"),
        (29, "J0 -1", "bad.nl:29: in segment J0: the number of entries cannot be -1: 12 bytes are left in the file"),
        (30, "2 0", "bad.nl:30: in segment J0: variable 2 was found, but the last one is 1"),
        (31, "1", "bad.nl:31: in segment J0: the end of the line was found where a coefficient was expected"),
    ];
    for (line, text, expected) in table {
        assert_eq!(message(&[(line, text)]), expected);
    }
    assert_eq!(message(&[(19, "C0")]), "bad.nl:19: in segment C0: the segment of constraint 0 comes a second time");
    let logical = message(&[(2, " 2 1 1 0 1 1"), (15, "L0")]);
    assert_eq!(
        logical,
        "bad.nl:15: in segment L0: this is a logical constraint, and Tangor solves problems with algebraic ones only"
    );
    let pieces = message(&[(13, "o64\n2\nn1\nv0\nn2")]);
    assert_eq!(pieces, "bad.nl:16: in segment V2: a slope or a breakpoint, which begins with n, s or l, was expected");
    let order = message(&[(13, "o64\n3\nn1\nn2\nn1\nn1\nn0")]);
    assert_eq!(order, "bad.nl:18: in segment V2: the breakpoint 1 is below the one before");
}

#[test]
fn binary_files_are_refused_with_their_byte() {
    let text: String = HEADER.iter().chain(&BODY).map(|line| format!("{line}\n")).collect();
    let good = binary(&text, false);
    let start = good.len() - binary(&text, true).len();
    assert_eq!(start, 0);
    let cut = refused(&good[..good.len() - 3]);
    let place = good.len() - 8;
    assert_eq!(cut, format!("byte {place} of bad.nl: in segment J0: the file ends where a coefficient was expected"));
    let other = String::from_utf8_lossy(&good[..60]).replace(" 0 1 1 1", " 0 1 5 1");
    let mut strange = other.into_bytes();
    strange.extend_from_slice(&good[60..]);
    let message = refused(&strange);
    assert!(message.ends_with("in the header: the arithmetic 5 is not known: 1 and 2 are, those of IEEE 754"), "{message}");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let message = tangor_nl::read("no/such/file.nl", &Options::default()).expect_err("it is not there").to_string();
    assert!(message.starts_with("no/such/file.nl: the file cannot be read: "), "{message}");
}
