//! Names of columns in a list that commas separate.

/// The names in such a list, which was cut at each comma. Quotes keep a name together that has commas of its own, as they do in CSV:
/// `--drop 'age,"last, first"'`.
pub fn names(parts: &[String]) -> Vec<String> {
    let (mut names, mut open): (Vec<String>, Option<String>) = (Vec::new(), None);
    for part in parts {
        let text = match open.take() {
            Some(begun) => format!("{begun},{part}"),
            None => part.clone(),
        };
        match text.strip_prefix('"') {
            Some(inner) => match inner.strip_suffix('"') {
                Some(name) => names.push(name.replace("\"\"", "\"")),
                None => open = Some(text),
            },
            None => names.push(text),
        }
    }
    // A quote that nobody closes is a letter of the name.
    names.extend(open);
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_a_name_together() {
        let cases = [
            ("age,sex", &["age", "sex"][..]),
            ("age,\"last, first\",sex", &["age", "last, first", "sex"]),
            ("\"a,b,c\"", &["a,b,c"]),
            ("\"a \"\"b\"\"\"", &["a \"b\""]),
            ("\"a", &["\"a"]),
            ("5\" disk,b", &["5\" disk", "b"]),
        ];
        for (list, expected) in cases {
            let parts: Vec<String> = list.split(',').map(str::to_string).collect();
            assert_eq!(names(&parts), expected, "{list}");
        }
    }
}
