//! Sizes of memory as people write them: `500MB`, `4GB`, `2GiB`, or a bare number of bytes.

const UNITS: [(&str, f64); 9] = [
    ("kib", 1024.0),
    ("mib", 1_048_576.0),
    ("gib", 1_073_741_824.0),
    ("tib", 1_099_511_627_776.0),
    ("kb", 1e3),
    ("mb", 1e6),
    ("gb", 1e9),
    ("tb", 1e12),
    ("b", 1.0),
];

/// Reads a size in bytes.
pub fn parse(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_lowercase();
    let found = UNITS.iter().find_map(|(unit, factor)| Some((lower.strip_suffix(unit)?, *factor)));
    let (digits, factor) = found.unwrap_or((&lower, 1.0));
    match digits.trim().parse::<f64>() {
        Ok(number) if number > 0.0 && number * factor >= 1.0 && number * factor <= i64::MAX as f64 => {
            Ok((number * factor) as u64)
        }
        _ => Err(format!("{text:?} is not a size of memory; write for example 500MB or 4GB")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let read = ["500MB", "4GB", "2 GiB", "1.5kb", "1000", "7b"].map(|text| parse(text).unwrap());
        assert_eq!(read, [500_000_000, 4_000_000_000, 2 << 30, 1500, 1000, 7]);
        for wrong in ["", "GB", "-1GB", "0", "1e30TB", "4 GBs", "nan"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
