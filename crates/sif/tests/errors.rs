//! One bad text per error, with its exact message.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tangor_problem::{EndWanted, MemoryLimit, ReadingLimits};
use tangor_sif::{Limits, Options, parse};

fn message(text: &str, limits: Limits) -> String {
    let options = Options { limits, ..Options::default() };
    parse(text, "BAD.SIF", &options).expect_err("the text is bad").to_string()
}

/// Texts between NAME (line 1) and ENDATA.
#[test]
fn every_error_of_the_data_part_says_where_and_what() {
    let small = "VARIABLES\n    X\nGROUPS\n N  OBJ       X         1.0\n E  C         X         1.0\n";
    let types = "ELEMENT TYPE\n EV T         U\n EP T         P\nGROUP TYPE\n GV S         A\n GP S         P\n";
    let in_small = [
        ("CONSTANTS\n E  B         C         1.0\n", "8:2: field 1 of this section is blank, X or Z, not 'E'"),
        ("CONSTANTS\n    B         D         1.0\n", "8:15: there is no group 'D'"),
        ("CONSTANTS\n    B         C         one\n", "8:25: a number was expected, not 'one'"),
        ("RANGES\n Z  B         C                        P\n", "8:40: the real parameter 'P' has no value"),
        ("RANGES\n X  B         C(I)      1.0\n", "8:15: the index 'I' of 'C(I)' is an integer parameter without a value"),
        (
            "BOUNDS\n LX B         X         1.0\n",
            "8:2: field 1 of this section is LO, UP, FX, FR, MI, PL, or L, U, X, R, M, P after X, or L, U, X after Z, not 'LX'",
        ),
        ("BOUNDS\n UP B         Y         1.0\n", "8:15: there is no variable 'Y'"),
        ("BOUNDS\n UP B                   1.0\n", "8:15: a name was expected here, but the field is blank"),
        (
            "START POINT\n Q  B         X         1.0\n",
            "8:2: field 1 of this section is blank, V or M, or one of these after X or Z, not 'Q'",
        ),
        ("START POINT\n    B         D         1.0\n", "8:15: there is no variable and no group 'D'"),
        ("QUADRATIC\n    X         Y         1.0\n", "8:15: there is no variable 'Y'"),
        ("ELEMENT TYPE\n XX T         U\n", "8:2: field 1 of this section is EV, IV or EP, not 'XX'"),
        (
            "ELEMENT TYPE\n EV T         U                        U\n",
            "8:40: the type 'T' already has a variable or parameter 'U'",
        ),
        ("ELEMENT TYPE\n EV           U\n", "8:5: the name of a type was expected in field 2"),
        ("GROUP TYPE\n GV T         U\n GV T         V\n", "9:15: a group type has one variable only"),
        ("ELEMENT USES\n T  E         T\n", "8:15: there is no element type 'T'"),
        (
            "ELEMENT USES\n V  E         U                        X\n",
            "8:5: the element 'E' has no type, and there is no default type",
        ),
        ("ELEMENT USES\n Q  E         U\n", "8:2: field 1 of this section is T, V or P, alone or after X or Z, not 'Q'"),
        ("GROUP USES\n E  C         E\n", "8:15: there is no element 'E'"),
        ("GROUP USES\n T  C         S\n", "8:15: there is no group type 'S'"),
        (
            "GROUP TYPE\n GP S         P\nGROUP USES\n T  C         S\n P  C         P         1.0\n",
            "8:15: the group type 'S' has no variable; a GV card names it",
        ),
        ("GROUP USES\n P  C         S         1.0\n", "8:5: a group needs a type before it has parameters"),
        ("GROUP USES\n Q  C         S\n", "8:2: field 1 of this section is T, E or P, alone or after X or Z, not 'Q'"),
        ("OBJECT BOUND\n FX B                   1.0\n", "8:2: field 1 of this section is LO, UP, XL, XU, ZL or ZU, not 'FX'"),
        ("NONSENSE\n", "7:1: 'NONSENSE' is not the name of a section"),
        (" XE D         X         Y\n", "7:25: a number was expected, not 'Y'"),
        (" N  D         'SCALE'   0.0\n", "7:15: a scale factor must not be zero"),
        (" Q  D\n", "7:2: field 1 of this section is N, G, L or E, alone or after X, Z or D, not 'Q'"),
        (" DE D         C         1.0            F         1.0\n", "7:40: there is no group 'F'"),
        (
            " DE D         C         1.0            D         1.0\n",
            "7:40: the group 'D' must be defined before its combination",
        ),
    ];
    let in_types = [
        (
            "ELEMENT USES\n T  E         T\n V  E         W                        X\n",
            "15:15: the element type 'T' has no elemental variable 'W'",
        ),
        ("ELEMENT USES\n T  E         T\n P  E         W         1.0\n", "15:15: the element type 'T' has no parameter 'W'"),
        ("ELEMENT USES\n T  E         T\nGROUP USES\n E  C         E\n", "14:5: the element 'E' has no variable for 'U'"),
        (
            "ELEMENT USES\n T  E         T\n V  E         U                        X\nGROUP USES\n E  C         E\n",
            "14:5: the element 'E' has no value for its parameter 'P'",
        ),
        ("GROUP USES\n T  C         S\n P  C         W         1.0\n", "15:15: the group type 'S' has no parameter 'W'"),
        ("GROUP USES\n T  C         S\n", "6:5: the group 'C' has no value for its parameter 'P'"),
    ];
    let alone = [
        ("", ": the problem has no variables"),
        (" E  C\n", ":2:2: 'E' does not give a parameter its value, and no section has begun yet"),
        (" IE                     1\n", ":2:5: the name of a parameter was expected in field 2"),
        (" IE N                   1.5\n", ":2:25: an integer was expected, not 1.5"),
        (" IA N         M         1\n", ":2:15: the integer parameter 'M' has no value"),
        (
            " IE M                   0\n ID N         M         1\n",
            ":3:15: this integer arithmetic divides by zero or leaves the range of 64 bits",
        ),
        (" RF P         SQRT      -1.0\n", ":2:15: the value of the parameter 'P' would be NaN"),
        (
            " RF P         CUBE      1.0\n",
            ":2:15: 'CUBE' is not one of the functions ABS, SQRT, EXP, LOG, LOG10, SIN, COS, TAN, ARCSIN, ARCCOS, ARCTAN, HYPSIN, HYPCOS or HYPTAN",
        ),
        ("VARIABLES\n E  X\n", ":3:2: field 1 of this section is blank, X or Z, not 'E'"),
        ("VARIABLES\n    X         C         1.0\n", ":3:15: there is no group 'C'"),
        (
            "VARIABLES\n    X         'MARKER'                 'INTMID'\n",
            ":3:40: a 'MARKER' card has 'INTORG' or 'INTEND' in field 5, not \"'INTMID'\"",
        ),
        (
            " IE 1                   1\n DO I         1                        1\n",
            ":3:2: the loop over 'I' that begins here is not closed by OD or ND before ENDATA",
        ),
        (" OD I\n", ":2:2: there is no loop that this OD card could close"),
        (" ND\n", ":2:2: there is no loop that this ND card could close"),
        (" DI I         2\n", ":2:5: a loop over 'I' was expected before this DI card"),
        (" DO I         1                        2\n ND\n", ":2:15: the integer parameter '1' has no value"),
        (
            " IE 0                   0\n DO I         0                        0\n DI I         0\n ND\n",
            ":3:2: the increment of the loop over 'I' is zero",
        ),
    ];
    let cases = (in_small.iter().map(|(text, message)| (format!("{small}{text}"), format!(":{message}"))))
        .chain(in_types.iter().map(|(text, message)| (format!("{small}{types}{text}"), format!(":{message}"))))
        .chain(alone.iter().map(|(text, message)| (text.to_string(), message.to_string())));
    for (text, expected) in cases {
        let text = format!("NAME          BAD\n{text}ENDATA\n");
        assert_eq!(message(&text, Limits::default()), format!("BAD.SIF{expected}"), "{text}");
    }
}

#[test]
fn every_error_of_the_whole_file_says_where_and_what() {
    let cases = [
        ("", ":1:1: the file is empty; a NAME card was expected"),
        ("* only\n\n", ":1:1: the file is empty; a NAME card was expected"),
        ("GROUPS\n", ":1:1: a file begins with a NAME card, which was not found here"),
        ("NAME\n\nVARIABLES\n", ":3:1: the file ends, but the part that begins on line 1 has no ENDATA card"),
        ("NAME\nENDATA\nGROUPS\nENDATA\nGROUPS\nENDATA\n", ":5:1: the file has a second GROUPS part"),
    ];
    for (text, expected) in cases {
        assert_eq!(message(text, Limits::default()), format!("BAD.SIF{expected}"), "{text}");
    }
    let missing = tangor_sif::read("no/such/FILE.SIF", &Options::default()).unwrap_err().to_string();
    assert!(missing.starts_with("no/such/FILE.SIF: the file could not be read: "), "{missing}");
}

#[test]
fn what_is_too_large_is_refused() {
    let head = "NAME          BAD\n IE 1                   1\n IE N                   1.0D+12\n IE M                   60\n";
    let limits = Limits { cards: 1000, items: 50, ..Limits::default() };
    let cases = [
        (
            " DO I         1                        N\n ND\n",
            ":5:2: the loop over 'I' has 1000000000000 values, and the limit is 1000",
        ),
        (
            " DO I         1                        M\n DO J         1                        M\n IA K         I         1\n ND\n",
            ":6:2: the loops of the file carry out more than 1000 cards, which is the limit",
        ),
        (
            "VARIABLES\n DO I         1                        M\n X  X(I)\n ND\n",
            ":7:1: the problem has more than 50 variables, groups, elements and coefficients, which is the limit",
        ),
        (&" DO I         1                        1\n".repeat(21), ":25:2: more than 20 loops are inside each other"),
    ];
    for (text, expected) in cases {
        assert_eq!(message(&format!("{head}{text}ENDATA\n"), limits), format!("BAD.SIF{expected}"), "{text}");
    }
    // The default limits refuse it as well, and at once.
    let monster = format!("{head} DO I         1                        N\n ND\nENDATA\n");
    assert!(message(&monster, Limits::default()).contains("1000000000000 values"));
}

/// A short text with a hundred million cards.
const ENDLESS: &str = "NAME          ENDLESS
 IE 1                   1
 IE N                   9999
VARIABLES
 DO I         1                        N
 DO J         1                        N
 X  X(I,J)
 ND
ENDATA
";

#[test]
fn reading_ends_when_it_takes_too_much_memory_or_nobody_waits() {
    let message = |reading| {
        let options = Options { reading, ..Options::default() };
        parse(ENDLESS, "ENDLESS.SIF", &options).expect_err("it has no end").to_string()
    };
    let memory = message(ReadingLimits { memory: MemoryLimit(1 << 20), end_wanted: None });
    assert!(memory.starts_with("ENDLESS.SIF:7:1: what the file describes up to here would need 1."), "{memory}");
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let third: EndWanted = Arc::new(move || count.fetch_add(1, Ordering::Relaxed) == 2);
    let ended = message(ReadingLimits { end_wanted: Some(third), ..ReadingLimits::default() });
    assert!(ended.starts_with("ENDLESS.SIF:") && ended.ends_with("reading was broken off here"), "{ended}");
    assert_eq!(asked.load(Ordering::Relaxed), 3);
}

/// Forty thousand variables: what is decoded fits into memory, but not together with the tables that are made of it.
#[test]
fn tables_that_do_not_fit_are_not_made() {
    let message = |bytes| {
        let options = Options { reading: ReadingLimits { memory: MemoryLimit(bytes), end_wanted: None }, ..Options::default() };
        let text = ENDLESS.replace("9999", "200");
        parse(&text, "MANY.SIF", &options).err().map(|error| error.to_string())
    };
    let refusal = message(4 << 20).expect("it does not fit");
    assert!(refusal.starts_with("MANY.SIF: what the file describes would need "), "{refusal}");
    assert!(refusal.ends_with(" more than the limit of 4.2 MB on memory (--memory-limit, limits.memory)"), "{refusal}");
    assert_eq!(message(64 << 20), None);
}
