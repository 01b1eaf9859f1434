//! Small function parts, written for the purpose.

mod derivatives;
mod errors;
mod expressions;
mod robustness;
mod subprograms;

use super::{Compiled, Derivatives, TypeDeclaration, compile_elements};
use crate::{Line, SifError};

/// Lines numbered from 1.
fn lines(text: &str) -> Vec<Line> {
    text.lines().enumerate().map(|(i, text)| Line { number: i + 1, text: text.to_string() }).collect()
}

fn declaration(name: &str, variables: &[&str], internals: &[&str], parameters: &[&str]) -> TypeDeclaration {
    let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
    let (variables, internals, parameters) = (owned(variables), owned(internals), owned(parameters));
    TypeDeclaration { name: name.into(), line: 1, variables, internals, parameters }
}

/// A type in the variables X and Y with the parameter P.
fn declaration_xy() -> TypeDeclaration {
    declaration("T", &["X", "Y"], &[], &["P"])
}

fn compile(text: &str, rest: &str, types: &[TypeDeclaration], derivatives: Derivatives) -> Result<Vec<Compiled>, SifError> {
    compile_elements("test.SIF", &lines(text), &lines(rest), types, derivatives)
}

fn compile_one(text: &str, rest: &str, declaration: TypeDeclaration, derivatives: Derivatives) -> Compiled {
    compile(text, rest, &[declaration], derivatives).expect("the part is right").pop().expect("there is one type")
}

/// The F card of an expression, with its continuation cards.
fn value_cards(expression: &str) -> String {
    let letters: Vec<char> = expression.chars().collect();
    let card = |(k, piece): (usize, &[char])| {
        format!(" {:<23}{}\n", if k == 0 { "F" } else { "F+" }, piece.iter().collect::<String>())
    };
    letters.chunks(41).enumerate().map(card).collect()
}

/// What an evaluation gives.
#[derive(Debug, PartialEq)]
struct Found {
    value: f64,
    gradient: Vec<f64>,
    hessian: Vec<f64>,
}

/// Evaluates at every level and checks that the levels agree with each other to the last bit.
fn evaluate(compiled: &Compiled, variables: &[f64], parameters: &[f64]) -> Found {
    let n = variables.len();
    let mut scratch = vec![0.0; compiled.scratch_len()];
    let (mut first, mut gradient, mut hessian) = (vec![0.0; n], vec![0.0; n], vec![0.0; n * (n + 1) / 2]);
    let value = compiled.value(variables, parameters, &mut scratch).expect("a value");
    let again = compiled.gradient(variables, parameters, &mut scratch, &mut first).expect("a gradient");
    let last = compiled.hessian(variables, parameters, &mut scratch, &mut gradient, &mut hessian).expect("a Hessian");
    assert_eq!([value.to_bits(); 2], [again.to_bits(), last.to_bits()]);
    Found { value, gradient, hessian }
}

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1.0, |scale: f64, entry| scale.max(entry.abs()));
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= tolerance * scale, "{what}: found {found}, expected {expected}");
    }
}
