//! One bad input for each error, with its message.

use super::*;

fn message(text: &str, rest: &str) -> String {
    match compile(text, rest, &[declaration_xy()], Derivatives::Coded) {
        Ok(_) => "no error".into(),
        Err(error) => error.to_string(),
    }
}

fn expression_message(expression: &str) -> String {
    message(&format!("INDIVIDUALS\n T  T\n{}ENDATA", value_cards(expression)), "")
}

#[test]
fn expressions() {
    let cases = [
        ("X +", "test.SIF:3:28: expected an expression, but the text ends here"),
        ("X + )", "test.SIF:3:29: expected an expression, but found `)`"),
        ("(X", "test.SIF:3:27: expected `)`, but the text ends here"),
        ("X Y 2 &", "test.SIF:3:31: expected the end of the statement, but found `&`"),
        ("SIN(X,", "test.SIF:3:31: expected an expression, but the text ends here"),
        ("1.E400.E3", "test.SIF:3:31: expected the end of the statement, but found `.`"),
        ("Q + X", "test.SIF:3:25: Q is not a variable, a parameter or a temporary that has a value here"),
        ("X + LN(X)", "test.SIF:3:29: LN is neither an array, nor a function of the file, nor one that Fortran knows"),
        ("SIN(X, Y)", "test.SIF:3:25: SIN takes one argument, but has 2"),
        ("MAX(X)", "test.SIF:3:25: MAX takes at least two arguments, but has 1"),
        ("ABS(X > Y)", "test.SIF:3:25: an argument of ABS has the wrong kind"),
        ("X + (X > Y)", "test.SIF:3:27: expected a number, but this is a logical value"),
        ("X .AND. Y", "test.SIF:3:27: expected a logical value, but this is a number"),
        (".TRUE.", "test.SIF:3:25: expected a number, but this is a logical value"),
        ("SIN(1:2)", "test.SIF:3:25: SIN is not an array, and has no sections"),
        ("99999999999999999", "test.SIF:3:25: expected an integer below 9e15, but found `9`"),
    ];
    for (expression, expected) in cases {
        assert_eq!(expression_message(expression), expected, "{expression}");
    }
    let deep = format!("{}X{}", "(".repeat(70), ")".repeat(70));
    assert_eq!(expression_message(&deep), "test.SIF:4:45: the expression is nested more than 60 levels deep");
    let long = "X+".repeat(2100) + "X";
    assert!(expression_message(&long).ends_with("the statement has more than 2000 operations"));
}

#[test]
fn cards() {
    let value = " F                      X\n";
    let cases = [
        ("ENDATA", "test.SIF:1:1: element type T is declared, but no T card of the INDIVIDUALS names it"),
        (
            "NONSENSE\nENDATA",
            "test.SIF:1:1: expected TEMPORARIES, GLOBALS, INDIVIDUALS or ENDATA, or a card that begins with a blank",
        ),
        (" R  A\nENDATA", "test.SIF:1:2: expected TEMPORARIES, GLOBALS or INDIVIDUALS before the first card, but found `R`"),
        (
            "TEMPORARIES\n X  A\n",
            "test.SIF:2:2: expected R, I, L, M or F in column 2 of a card of the TEMPORARIES, but found `X`",
        ),
        ("TEMPORARIES\n R  A(\n", "test.SIF:2:7: expected an expression, but the text ends here"),
        ("TEMPORARIES\n F\n", "test.SIF:2:5: expected a name, but the text ends here"),
        (
            "GLOBALS\n F                      X\n",
            "test.SIF:2:2: expected A, I or E in column 2 of a card of the GLOBALS, but found `F`",
        ),
        (
            "INDIVIDUALS\n Q  A\n",
            "test.SIF:2:2: expected T, R, A, I, E, F, G or H in column 2 of a card of the INDIVIDUALS, but found `Q`",
        ),
        ("INDIVIDUALS\n ZZ A\n", "test.SIF:2:2: expected a card of the section, but found `ZZ` in columns 2 and 3"),
        (
            "INDIVIDUALS\n T  T\n F+                     X\n",
            "test.SIF:3:2: there is no expression that the card F+ could continue",
        ),
        (
            "INDIVIDUALS\n F                      X\n",
            "test.SIF:2:2: expected a T card that names the type before its other cards",
        ),
        ("INDIVIDUALS\n T  T\n T  T\n", "test.SIF:3:2: type T has a second T card"),
        ("INDIVIDUALS\n T  T\n", "test.SIF:2:2: type T has no F card, which gives its value"),
        (
            "INDIVIDUALS\n T  T\n R  U         X         1.0\n",
            "test.SIF:3:5: U is not an internal variable of the type: it has none",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(message(text, ""), expected, "{text}");
    }
    let individual = |cards: &str| message(&format!("TEMPORARIES\n L  L\n R  R\nINDIVIDUALS\n T  T\n{cards}{value}"), "");
    let cases = [
        (" A  L                   1.0\n", "test.SIF:6:5: expected a logical value, but the expression is a number"),
        (" A  R                   .TRUE.\n", "test.SIF:6:5: expected a number, but the expression is a logical value"),
        (" A  R(1)                1.0\n", "test.SIF:6:5: R is not an array"),
        (" A  R +                 1.0\n", "test.SIF:6:7: expected the end of the statement, but found `+`"),
        (" I  X         R         1.0\n", "test.SIF:6:5: expected a logical value, but this is a number"),
        (
            " G  P                   1.0\n",
            "test.SIF:6:5: P is not a variable in which derivatives are taken of the type: expected one of X, Y",
        ),
        (" G                      1.0\n", "test.SIF:6:25: the card does not name the variables of its derivative"),
    ];
    for (cards, expected) in cases {
        assert_eq!(individual(cards), expected, "{cards}");
    }
}

#[test]
fn range_transformations() {
    let ranged = |cards: &str| {
        let text = format!("INDIVIDUALS\n T  T\n{cards} F                      U\nENDATA");
        let types = [declaration("T", &["X", "Y"], &["U"], &[])];
        compile(&text, "", &types, Derivatives::Coded).unwrap_err().to_string()
    };
    let cases = [
        ("", "test.SIF:2:2: type T has no R card for its internal variable U"),
        (" R  U         X         one\n", "test.SIF:3:25: expected a number, but found `one`"),
        (" R  U         Z         1.0\n", "test.SIF:3:15: Z is not an elemental variable of the type: expected one of X, Y"),
    ];
    for (cards, expected) in cases {
        assert_eq!(ranged(cards), expected, "{cards}");
    }
}

#[test]
fn subprograms() {
    let part = "TEMPORARIES\n F  FUN\nINDIVIDUALS\n T  T\n F                      FUN( X )\nENDATA";
    let body = |statements: &str| message(part, &format!("      FUNCTION FUN( X )\n{statements}      END\n"));
    let cases = [
        ("      OPEN( 6 )\n", "test.SIF:2:7: this Fortran statement is not supported"),
        ("      GOTO 10\n", "test.SIF:2:12: no statement has the label 10"),
        ("   10 FUN = 1\n   10 FUN = 2\n", "test.SIF:3:7: label 10 stands twice"),
        ("      IF ( X > 0 ) THEN\n", "test.SIF:1:16: an IF construct of the subprogram has no end"),
        ("      ENDIF\n", "test.SIF:2:7: an ENDIF without its IF"),
        ("      ELSE\n", "test.SIF:2:7: an ELSE without its IF"),
        ("      ENDDO\n", "test.SIF:2:7: the end of a DO without its beginning"),
        ("      EXIT\n", "test.SIF:2:7: a CYCLE or EXIT outside of every DO"),
        ("      FUN = FUN( X )\n", "test.SIF:2:13: FUN calls itself, which is not supported"),
        ("      CALL SUB( X )\n", "test.SIF:2:12: the file has no subprogram SUB"),
        ("      REAL A( 3 )\n      FUN = A( 4 )\n", "test.SIF:3:13: an index of array A lies outside of it"),
        ("      REAL A( 3 )\n      FUN = A( 1, 1 )\n", "test.SIF:3:13: array A has 1 dimensions"),
        ("      REAL A( 3 )\n      FUN = A\n", "test.SIF:3:13: expected one element of array A, not several"),
        (
            "      REAL A( 3 )\n      A( 2 : 3 ) = A( 1 : 2 )\n",
            "test.SIF:3:7: an array assignment whose right side uses the same array is not supported",
        ),
        ("      REAL A( 2000, 2000 )\n", "test.SIF:2:12: the arrays of the function need more than 1000000 numbers"),
        ("      REAL A( * )\n", "test.SIF:2:12: the size of array A is not known"),
        ("      PARAMETER ( N = X )\n", "test.SIF:2:19: expected an expression of constants"),
        ("      PARAMETER ( N = 1 )\n      N = 2\n", "test.SIF:3:7: N is a PARAMETER and cannot be assigned to"),
        ("      REAL A( 2 )\n      DATA A / 3 * 1.0 /\n", "test.SIF:3:12: the DATA statement gives 3 values to 2 places"),
        ("      F( Z ) = Z + 1\n", "test.SIF:2:7: F is not an array (statement functions are not supported)"),
    ];
    for (statements, expected) in cases {
        assert_eq!(body(statements), expected, "{statements}");
    }
    let cases = [
        ("", "test.SIF:5:25: FUN is neither an array, nor a function of the file, nor one that Fortran knows"),
        ("      FUNCTION FUN( X )\n", "test.SIF:1:16: subprogram FUN has no END statement"),
        ("      X = 1\n      END", "test.SIF:1:7: expected the FUNCTION or SUBROUTINE statement of an external function"),
        (
            "     + X = 1\n",
            "test.SIF:1:6: expected a statement before its continuation (a mark in column 6 continues a statement)",
        ),
        ("  X   FUNCTION FUN( X )\n      END", "test.SIF:1:1: expected a label in columns 1 to 5, but found `X`"),
        ("      FUNCTION FUN( X, Y )\n      END", "test.SIF:5:25: FUN takes 2 arguments, but has 1"),
        ("      SUBROUTINE FUN( X )\n      END", "test.SIF:5:25: FUN is a subroutine and has no value"),
    ];
    for (rest, expected) in cases {
        assert_eq!(message(part, rest), expected, "{rest}");
    }
}
