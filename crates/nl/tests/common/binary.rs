//! Turns a text file into the binary form, for tests: line by line, by what each segment is made of.

#![allow(dead_code)]

/// The same model in binary form, in the given order of bytes.
pub fn binary(text: &str, big_endian: bool) -> Vec<u8> {
    let mut lines = text.lines();
    let mut out = Out { bytes: Vec::new(), big_endian };
    for (k, line) in lines.by_ref().take(10).enumerate() {
        let line = match k {
            0 => format!("b{}", &line[1..]),
            5 => arithmetic(line, big_endian),
            _ => line.to_string(),
        };
        out.bytes.extend_from_slice(line.as_bytes());
        out.bytes.push(b'\n');
    }
    let mut rows = Rows::None;
    for line in lines {
        let line = line.split('#').next().unwrap_or_default().trim_end();
        if line.is_empty() {
            continue;
        }
        rows = match rows {
            Rows::Bounds(0) | Rows::Pairs(0, _) | Rows::Integers(0) | Rows::None => out.letter(line),
            Rows::Bounds(count) => {
                out.bytes.push(line.as_bytes()[0]);
                line[1..].split_whitespace().for_each(|word| out.real(word));
                Rows::Bounds(count - 1)
            }
            Rows::Pairs(count, real) => {
                let (index, value) = line.split_once(' ').expect("a pair");
                out.integer(index);
                if real {
                    out.real(value)
                } else {
                    out.integer(value)
                }
                Rows::Pairs(count - 1, real)
            }
            Rows::Integers(count) => {
                out.integer(line);
                Rows::Integers(count - 1)
            }
        };
        if let Rows::Bounds(usize::MAX) = rows {
            let size = if line.starts_with('b') { 0 } else { 1 };
            let word = text.lines().nth(1).and_then(|line| line.split_whitespace().nth(size)).expect("a size");
            rows = Rows::Bounds(word.parse().expect("a size"));
        }
    }
    out.bytes
}

// The third number of the sixth line.
fn arithmetic(line: &str, big_endian: bool) -> String {
    let mut words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
    words.resize(4, "0");
    words[2] = if big_endian { "2" } else { "1" };
    format!(" {}", words.join(" "))
}

/// What the next lines are.
enum Rows {
    None,
    Bounds(usize),
    Pairs(usize, bool),
    Integers(usize),
}

struct Out {
    bytes: Vec<u8>,
    big_endian: bool,
}

impl Out {
    fn integer(&mut self, word: &str) {
        let value: i32 = word.trim().parse().unwrap_or_else(|_| panic!("{word:?} is an integer"));
        self.bytes.extend(if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    fn real(&mut self, word: &str) {
        let value: f64 = word.trim().parse().unwrap_or_else(|_| panic!("{word:?} is a number"));
        self.bytes.extend(if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    fn short(&mut self, word: &str) {
        let value: i16 = word.trim().parse().unwrap_or_else(|_| panic!("{word:?} is an integer"));
        self.bytes.extend(if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    fn string(&mut self, word: &str) {
        self.integer(&word.len().to_string());
        self.bytes.extend_from_slice(word.as_bytes());
    }

    // A line with a letter, or a lone integer (how many operands follow).
    fn letter(&mut self, line: &str) -> Rows {
        let words: Vec<&str> = line[1..].split_whitespace().collect();
        let letter = line.as_bytes()[0];
        if letter.is_ascii_digit() {
            self.integer(line);
            return Rows::None;
        }
        self.bytes.push(letter);
        let count = |k: usize| words[k].parse::<usize>().expect("a count");
        match letter {
            b'n' => self.real(words[0]),
            b's' => self.short(words[0]),
            b'F' | b'S' => {
                let (name, numbers) = words.split_last().expect("a name");
                numbers.iter().for_each(|word| self.integer(word));
                self.string(name);
                if letter == b'S' {
                    return Rows::Pairs(count(1), count(0) & 4 != 0);
                }
            }
            b'r' | b'b' => return Rows::Bounds(usize::MAX),
            _ => words.iter().for_each(|word| self.integer(word)),
        }
        match letter {
            b'x' | b'd' => Rows::Pairs(count(0), true),
            b'J' | b'G' | b'V' => Rows::Pairs(count(1), true),
            b'k' | b'K' => Rows::Integers(count(0)),
            _ => Rows::None,
        }
    }
}
