//! Counts in sentences.

/// A count with its noun: `1 run`, `2 runs`, `0 entries`. The noun is given in the singular.
pub fn count_of(count: impl TryInto<u64>, noun: &str) -> String {
    // A count that does not fit is certainly not one.
    let count = count.try_into().unwrap_or(u64::MAX);
    if count == 1 {
        return format!("1 {noun}");
    }
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o']) => format!("{count} {stem}ies"),
        _ => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::count_of;

    #[test]
    fn one_is_not_many() {
        let told = [0u64, 1, 2].map(|count| count_of(count, "iteration"));
        assert_eq!(told, ["0 iterations", "1 iteration", "2 iterations"]);
        assert_eq!([count_of(1usize, "entry"), count_of(3usize, "equality")], ["1 entry", "3 equalities"]);
        assert_eq!(count_of(2u64, "array"), "2 arrays");
    }
}
