//! The operations of formulas, by the numbers that files have for them.

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opcode {
    Plus,
    Minus,
    Times,
    Divide,
    Remainder,
    Power,
    /// `max(a - b, 0)`
    Less,
    Minimum,
    Maximum,
    Floor,
    Ceiling,
    Absolute,
    Negative,
    Or,
    And,
    Below,
    AtMost,
    Equal,
    AtLeast,
    Above,
    NotEqual,
    Not,
    If,
    HyperbolicTangent,
    Tangent,
    SquareRoot,
    HyperbolicSine,
    Sine,
    Logarithm10,
    Logarithm,
    Exponential,
    HyperbolicCosine,
    Cosine,
    AreaTangent,
    ArcTangent2,
    ArcTangent,
    AreaSine,
    ArcSine,
    AreaCosine,
    ArcCosine,
    Sum,
    IntegerDivide,
    Precision,
    Round,
    Truncate,
    /// How many of the operands are true.
    Count,
    /// How many of the other operands equal the first.
    NumberOf,
    /// The first operand against a count.
    CountAtLeast,
    CountAtMost,
    CountExactly,
    CountNotAtLeast,
    CountNotAtMost,
    CountNotExactly,
    AllOf,
    AnyOf,
    Implication,
    Equivalent,
    AllDifferent,
    SomeSame,
    Logistic,
    /// `sign(a) |a|^b`
    SignPower,
    Square,
    SignSquare,
}

/// How many operands an operation has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arity {
    /// Always so many.
    Fixed(u32),
    /// The file says how many; at least one.
    Many,
}

/// What a number of an operation means.
pub(crate) enum Meaning {
    Operation(Opcode, Arity),
    /// Slopes and breakpoints follow.
    Piecewise,
    /// It works on strings.
    Symbolic,
    /// There is no such operation.
    Unknown,
}

impl Opcode {
    /// By the table of "Writing .nl files", with the operations that later versions of the library have added. The internal numbers
    /// of powers with a constant (76 to 78, later 81 to 83) are written by some programs.
    pub fn meaning(code: i64) -> Meaning {
        use Opcode::*;
        let (one, two, three) = (Arity::Fixed(1), Arity::Fixed(2), Arity::Fixed(3));
        let (opcode, arity) = match code {
            0 => (Plus, two),
            1 => (Minus, two),
            2 => (Times, two),
            3 => (Divide, two),
            4 => (Remainder, two),
            5 | 76 | 78 | 81 | 83 => (Power, two),
            6 => (Less, two),
            11 => (Minimum, Arity::Many),
            12 => (Maximum, Arity::Many),
            13 => (Floor, one),
            14 => (Ceiling, one),
            15 => (Absolute, one),
            16 => (Negative, one),
            20 => (Or, two),
            21 => (And, two),
            22 => (Below, two),
            23 => (AtMost, two),
            24 => (Equal, two),
            28 => (AtLeast, two),
            29 => (Above, two),
            30 => (NotEqual, two),
            34 => (Not, one),
            35 => (If, three),
            37 => (HyperbolicTangent, one),
            38 => (Tangent, one),
            39 => (SquareRoot, one),
            40 => (HyperbolicSine, one),
            41 => (Sine, one),
            42 => (Logarithm10, one),
            43 => (Logarithm, one),
            44 => (Exponential, one),
            45 => (HyperbolicCosine, one),
            46 => (Cosine, one),
            47 => (AreaTangent, one),
            48 => (ArcTangent2, two),
            49 => (ArcTangent, one),
            50 => (AreaSine, one),
            51 => (ArcSine, one),
            52 => (AreaCosine, one),
            53 => (ArcCosine, one),
            54 => (Sum, Arity::Many),
            55 => (IntegerDivide, two),
            56 => (Precision, two),
            57 => (Round, two),
            58 => (Truncate, two),
            59 => (Count, Arity::Many),
            60 => (NumberOf, Arity::Many),
            62 => (CountAtLeast, two),
            63 => (CountAtMost, two),
            64 => return Meaning::Piecewise,
            61 | 65 => return Meaning::Symbolic,
            66 => (CountExactly, two),
            67 => (CountNotAtLeast, two),
            68 => (CountNotAtMost, two),
            69 => (CountNotExactly, two),
            70 => (AllOf, Arity::Many),
            71 => (AnyOf, Arity::Many),
            72 => (Implication, three),
            73 => (Equivalent, two),
            74 => (AllDifferent, Arity::Many),
            75 => (SomeSame, Arity::Many),
            79 => (Logistic, one),
            80 | 84 | 86 => (SignPower, two),
            77 | 82 => (Square, one),
            85 => (SignSquare, one),
            _ => return Meaning::Unknown,
        };
        Meaning::Operation(opcode, arity)
    }

    /// What to call it in a warning, when it is not smooth.
    pub fn not_smooth(self) -> Option<&'static str> {
        use Opcode::*;
        Some(match self {
            Remainder => "mod",
            Less => "less",
            Minimum => "min",
            Maximum => "max",
            Floor => "floor",
            Ceiling => "ceil",
            Absolute => "abs",
            If => "if",
            IntegerDivide => "div",
            Precision => "precision",
            Round => "round",
            Truncate => "trunc",
            Or | And | Not | Below | AtMost | Equal | AtLeast | Above | NotEqual | Count | NumberOf | CountAtLeast
            | CountAtMost | CountExactly | CountNotAtLeast | CountNotAtMost | CountNotExactly | AllOf | AnyOf | Implication
            | Equivalent | AllDifferent | SomeSame => "logical operators",
            _ => return None,
        })
    }
}
