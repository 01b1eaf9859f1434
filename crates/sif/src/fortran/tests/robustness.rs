//! Whatever the input is: no panic, no hang, and errors that say where.

use super::*;

const PART: &str = "\
TEMPORARIES
 R  A
 R  G(3,2)
 I  N
 L  BIG
 F  FUN
 M  EXP
GLOBALS
 A  A                   SQRT( 2.0D+0 )
INDIVIDUALS
 T  T
 A  BIG                 X .GT. Y .OR. .NOT. P == 1.0
 A  N                   INT( 2.5 )
 I  BIG       A         EXP( X ) * ( Y - 1.0 )
 E  BIG       A         FUN( X, G ) + G( N, 1 )
 E+                      + 1.0 / 3
 F                      A ** 2 / MAX( X, Y )
 G  X                   G( 1, 2 )
 H  X         Y         - X ** ( - N )
 T  R
 R  U         V         1.0            W         -2.0
 F                      U * LOG( U )
ENDATA";

const REST: &str = "
      DOUBLE PRECISION FUNCTION FUN( X, G )
      INTEGER I, J
      DOUBLE PRECISION X, G( 3, 2 ), B( 4 )
      DATA B / 1.0, 2 * 2.0D0, -3.5 /, J / 2 /
      FUN = 0.0
      DO 10 I = 1, 3
         G( I, J ) = B( I ) * X
         IF ( X .LT. B( I + 1 ) ) THEN
            FUN = FUN + G( I, 2 ) ** I
         ELSE IF ( I .EQ. 2 ) THEN
            GO TO 20
         END IF
   10 CONTINUE
   20 G( 1 : 2, 1 ) = X
      END";

/// A generator of numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit.max(1)
    }
}

const LETTERS: &[u8] = b" ()*/+-=,.:<>$&!0123456789ABDEFGHINOPRTUXY\n";
const WORDS: [&str; 12] =
    ["\n", "**", ".AND.", "GOTO 10", "1.0D+0", "((((", "IF(", "DATA ", "DO 10 I=1,9", "END", "A(1:2)", "é"];

fn mutated(text: &str, numbers: &mut Numbers) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..1 + numbers.below(4) {
        let at = numbers.below(bytes.len());
        match numbers.below(5) {
            0 => bytes.truncate(at),
            1 => bytes[at.min(text.len() - 1)..].iter_mut().take(1).for_each(|byte| *byte = LETTERS[at % LETTERS.len()]),
            2 => drop(bytes.drain(at..(at + 1 + numbers.below(30)).min(bytes.len()))),
            3 => drop(bytes.splice(at..at, WORDS[numbers.below(WORDS.len())].bytes())),
            _ => {
                let from = numbers.below(bytes.len());
                let piece = bytes[from..(from + 40).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
        }
        if bytes.is_empty() {
            bytes.push(b' ');
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn mutated_parts_neither_panic_nor_hang() {
    let types = [declaration_xy(), declaration("R", &["V", "W"], &["U"], &[])];
    let mut numbers = Numbers(0x9E37_79B9_7F4A_7C15);
    let (mut right, mut wrong) = (0, 0);
    compile(PART, REST, &types, Derivatives::Coded).expect("what is mutated is right before");
    for round in 0..6000 {
        let part = if round % 3 == 0 { PART.into() } else { mutated(PART, &mut numbers) };
        let rest = if round % 3 == 1 { REST.into() } else { mutated(REST, &mut numbers) };
        let derivatives = if round % 2 == 0 { Derivatives::Coded } else { Derivatives::Automatic };
        match compile(&part, &rest, &types, derivatives) {
            Ok(compiled) => {
                right += 1;
                for (compiled, parameters) in compiled.iter().zip([1, 0]) {
                    let mut scratch = vec![0.0; compiled.scratch_len()];
                    let (mut gradient, mut hessian) = ([0.0; 2], [0.0; 3]);
                    let parameters = &[1.0][..parameters];
                    // Only a loop without an end would be slow, and there are few of these.
                    let _ = compiled.hessian(&[0.5, 1.5], parameters, &mut scratch, &mut gradient, &mut hessian);
                }
            }
            Err(error) => {
                wrong += 1;
                assert!(error.line > 0 && error.column > 0 && !error.message.is_empty(), "{error}");
            }
        }
    }
    assert!(right > 100 && wrong > 1000, "{right} were right and {wrong} wrong");
}

#[test]
fn nests_and_chains_without_end_are_refused() {
    for piece in ["(", "-", "SIN(", ".NOT.", "2**", "X**(", "X*(-", "A(1,"] {
        let text = format!("INDIVIDUALS\n T  T\n{}ENDATA", value_cards(&piece.repeat(5000)));
        assert!(compile(&text, "", &[declaration_xy()], Derivatives::Coded).is_err(), "{piece}");
    }
    let chain: String =
        (0..200).map(|i| format!("      FUNCTION F{i}( X )\n      F{i} = F{}( X )\n      END\n", i + 1)).collect::<String>()
            + "      FUNCTION F200( X )\n      END\n";
    let part = "TEMPORARIES\n F  F0\nINDIVIDUALS\n T  T\n F                      F0( X )\nENDATA";
    let error = compile(part, &chain, &[declaration_xy()], Derivatives::Coded).unwrap_err();
    assert_eq!(error.message, "calls are nested more than 32 levels deep");
}

#[test]
fn types_with_very_many_variables_stay_affordable() {
    let names: Vec<String> = (0..3000).map(|i| format!("V{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let terms =
        |count: usize| names[..count].iter().map(|name| format!(" A  S                   S+SIN({name})\n")).collect::<String>();
    let part = |count| {
        format!(
            "TEMPORARIES\n R  S\nINDIVIDUALS\n T  T\n A  S                   0.0\n{} F                      S\nENDATA",
            terms(count)
        )
    };
    for (count, curved) in [(300, true), (3000, false)] {
        let compiled = compile_one(&part(count), "", declaration("T", &names[..count], &[], &[]), Derivatives::Coded);
        let mut scratch = vec![0.0; compiled.scratch_len()];
        let mut gradient = vec![0.0; count];
        compiled.gradient(&vec![0.5; count], &[], &mut scratch, &mut gradient).expect("a gradient");
        assert!(gradient.iter().all(|&slope| slope == 0.5f64.cos()));
        let mut hessian = vec![1.0; count * (count + 1) / 2];
        let result = compiled.hessian(&vec![0.5; count], &[], &mut scratch, &mut gradient, &mut hessian);
        assert_eq!(result.is_ok(), curved);
        let message = "type T has too many variables for its second derivatives";
        assert!(result.map_or_else(|failure| failure.to_string() == message, |_| hessian[1] == 0.0));
    }
}
