//! `NaN`, `Infinity` and `-Infinity`: JSON has none of them, but common writers of it, such as Python's, write them all the same.

/// What stands in a line of JSON in place of them.
#[derive(Clone, Copy)]
pub enum Infinite {
    /// Nothing, as for a value that a function does not have.
    Null,
    /// Numbers that are as good as infinite, as for bounds. A bound that is NaN is a mistake, and stays what JSON does not have.
    Huge,
}

/// The line as JSON, if these words stand in it outside of strings.
pub fn without_literals(line: &[u8], infinite: Infinite) -> Option<Vec<u8>> {
    let words = match infinite {
        Infinite::Null => &[("NaN", "null"), ("-Infinity", "null"), ("Infinity", "null")][..],
        Infinite::Huge => &[("-Infinity", "-1e300"), ("Infinity", "1e300")],
    };
    let (mut out, mut rest) = (Vec::with_capacity(line.len()), line);
    let (mut in_string, mut found) = (false, false);
    while let [first, later @ ..] = rest {
        let word = words.iter().find(|(word, _)| !in_string && rest.starts_with(word.as_bytes()));
        if let Some((word, json)) = word {
            found = true;
            out.extend_from_slice(json.as_bytes());
            rest = &rest[word.len()..];
            continue;
        }
        out.push(*first);
        rest = later;
        match (in_string, first, later) {
            // What is escaped ends no string.
            (true, b'\\', [escaped, others @ ..]) => {
                out.push(*escaped);
                rest = others;
            }
            (_, b'"', _) => in_string = !in_string,
            _ => {}
        }
    }
    found.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_outside_of_strings_are_replaced() {
        let cases = [
            (r#"{"values": [1, NaN, -Infinity,Infinity]}"#, Some(r#"{"values": [1, null, null,null]}"#)),
            (r#"{"name": "NaN", "x": 1}"#, None),
            (r#"{"na\"NaN\\": NaN}"#, Some(r#"{"na\"NaN\\": null}"#)),
            (r#"["\"#, None),
            ("", None),
        ];
        for (line, expected) in cases {
            let found = without_literals(line.as_bytes(), Infinite::Null);
            assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{line}");
        }
        let bounds = without_literals(b"[-Infinity, Infinity, NaN]", Infinite::Huge);
        assert_eq!(bounds.as_deref(), Some(&b"[-1e300, 1e300, NaN]"[..]));
    }
}
