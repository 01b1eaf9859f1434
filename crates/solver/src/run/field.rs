//! Which field of a JSON text a place in it belongs to: a reader that refuses a value tells its line and column, a person looks for its name.

/// The path of the value that ends at a place, line and column counted from 1, as in `state.progress.iteration` or `best.x[3]`; empty outside of all fields.
pub fn field_at(text: &[u8], line: usize, column: usize) -> String {
    let before = text.split_inclusive(|byte| *byte == b'\n').take(line.saturating_sub(1)).map(<[u8]>::len).sum::<usize>();
    let end = (before + column).min(text.len());
    let mut open: Vec<Level> = Vec::new();
    let (mut k, mut last_string) = (0, (0, 0));
    while k < end {
        match text[k] {
            b'"' => {
                let start = k + 1;
                k = end_of_string(text, start);
                last_string = (start, k);
            }
            b'{' => open.push(Level::Key(None)),
            b'[' => open.push(Level::Index(0)),
            // What a bracket closes is named by what is outside of it, and a place at the very bracket lacks something inside.
            b'}' | b']' if k + 1 < end => {
                open.pop();
            }
            b':' => {
                if let Some(Level::Key(key)) = open.last_mut() {
                    *key = Some(last_string);
                }
            }
            b',' if k + 1 < end => {
                if let Some(Level::Index(index)) = open.last_mut() {
                    *index += 1;
                }
            }
            _ => {}
        }
        k += 1;
    }
    let mut path = String::new();
    for level in &open {
        match level {
            Level::Key(Some((from, to))) => {
                let dot = if path.is_empty() { "" } else { "." };
                path += &format!("{dot}{}", String::from_utf8_lossy(&text[*from..(*to).min(text.len())]));
            }
            Level::Key(None) => {}
            Level::Index(index) => path += &format!("[{index}]"),
        }
    }
    path.chars().filter(|letter| !letter.is_control()).collect()
}

/// An object with the place of its latest key, or an array with the number of its latest entry.
enum Level {
    Key(Option<(usize, usize)>),
    Index(usize),
}

/// Where the closing quote of a string is.
fn end_of_string(text: &[u8], mut k: usize) -> usize {
    while k < text.len() && text[k] != b'"' {
        k += if text[k] == b'\\' { 2 } else { 1 };
    }
    k
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_the_name_of_its_field() {
        let text = "{\"a\": 1,\n \"b\": {\"c{,\\\"\": [1, [2, true]], \"d\": -5},\n \"e\": 7}";
        let named = |part: &str| {
            let end = text.find(part).expect(part) + part.len();
            let line = text[..end].matches('\n').count() + 1;
            let column = end - text[..end].rfind('\n').map_or(0, |place| place + 1);
            field_at(text.as_bytes(), line, column)
        };
        assert_eq!([named(": 1"), named("true"), named("-5"), named(" 7")], ["a", "b.c{,\\\"[1][1]", "b.d", "e"]);
        assert_eq!(named("-5}"), "b.d", "what is missing is missing beside it");
        assert_eq!([field_at(b"", 1, 0), field_at(b"[]", 9, 9), field_at(b"5", 1, 1)], ["", "[0]", ""]);
    }
}
