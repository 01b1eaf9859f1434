//! Damage: bytes, numbers, lines and brackets.

use crate::Random;

/// Numbers at which arithmetic, sizes and conversions go wrong.
const NUMBERS: [&str; 16] = [
    "0",
    "-1",
    "1",
    "4294967296",
    "18446744073709551615",
    "9223372036854775808",
    "1e308",
    "-1e999",
    "1e-320",
    "NaN",
    "null",
    "2147483648",
    "0.5",
    "1152921504606846976",
    "1D+300",
    "999999999999",
];

/// Pieces that mean something in one format or another.
const PIECES: [&[u8]; 14] =
    [b"\0", b"\xff\xfe", b"{", b"}", b"[", b"]", b",", b":", b"\"", b"\n", b"=", b"\x1b[2J", b" ", b"\xc3\xa9"];

/// A good input, damaged in a few places.
pub fn mutated(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    if random.below(60) == 0 {
        return (0..random.below(2000)).map(|_| random.number() as u8).collect();
    }
    for _ in 0..1 + random.below(4) {
        match random.below(8) {
            0 => flip(&mut bytes, random),
            1 => insert(&mut bytes, random),
            2 => remove(&mut bytes, random),
            3 | 4 => replace_number(&mut bytes, random),
            5 => move_lines(&mut bytes, random),
            6 => splice(&mut bytes, &seeds[random.below(seeds.len())], random),
            _ => nest(&mut bytes, random),
        }
    }
    bytes
}

fn flip(bytes: &mut [u8], random: &mut Random) {
    if !bytes.is_empty() {
        let at = random.below(bytes.len());
        bytes[at] ^= 1 << random.below(8);
    }
}

fn insert(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let piece = PIECES[random.below(PIECES.len())];
    bytes.splice(at..at, piece.iter().copied());
}

fn remove(bytes: &mut Vec<u8>, random: &mut Random) {
    let start = random.below(bytes.len());
    let length = if random.below(10) == 0 { bytes.len() } else { random.below(40) };
    let end = (start + length).min(bytes.len());
    bytes.drain(start..end);
}

/// Puts a dangerous number in the place of a number.
fn replace_number(bytes: &mut Vec<u8>, random: &mut Random) {
    let start = random.below(bytes.len());
    let belongs = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'-' | b'+');
    let Some(first) = bytes[start..].iter().position(u8::is_ascii_digit).map(|first| start + first) else { return };
    let end = bytes[first..].iter().position(|byte| !belongs(byte)).map_or(bytes.len(), |length| first + length);
    let number = NUMBERS[random.below(NUMBERS.len())];
    bytes.splice(first..end, number.bytes());
}

/// Repeats, removes or exchanges lines.
fn move_lines(bytes: &mut Vec<u8>, random: &mut Random) {
    let mut lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let (one, other) = (random.below(lines.len()), random.below(lines.len()));
    match random.below(4) {
        0 => drop(lines.remove(one)),
        1 => lines.insert(other, lines[one].clone()),
        2 => lines.truncate(one),
        _ => lines.swap(one, other),
    }
    *bytes = lines.join(&b'\n');
}

/// The beginning of one input and the end of another.
fn splice(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    bytes.truncate(random.below(bytes.len() + 1));
    bytes.extend_from_slice(&other[random.below(other.len() + 1)..]);
}

/// Many brackets, which cost a careless reader its stack.
fn nest(bytes: &mut Vec<u8>, random: &mut Random) {
    let (open, close): (&[u8], &[u8]) = match random.below(5) {
        0 => (b"[", b"]"),
        1 => (b"{\"a\":", b"}"),
        2 => (b"(", b")"),
        3 => (b"a.", b""),
        _ => (b"-", b""),
    };
    let depth = [3, 100, 20_000][random.below(3)];
    let at = random.below(bytes.len() + 1);
    let middle = [&open.repeat(depth)[..], b"1", &close.repeat(depth)].concat();
    bytes.splice(at..at, middle);
}
