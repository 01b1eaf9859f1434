//! Numbers in columns.

/// Scientific notation with a sign and at least two digits in the exponent, so that columns line up: `1.25e-03`.
pub fn scientific(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let (sign, size) = exponent.strip_prefix('-').map_or(('+', exponent), |size| ('-', size));
            format!("{mantissa}e{sign}{size:0>2}")
        }
        // NaN and infinities have no exponent.
        None => text,
    }
}

/// Short and readable: as it is when of ordinary size, scientific otherwise; ten digits at most.
pub fn readable(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    if !(1e-3..1e7).contains(&size) {
        return scientific(value, 6);
    }
    let whole_digits = if size < 1.0 { 1 } else { size.log10() as usize + 1 };
    let text = format!("{value:.*}", 10 - whole_digits);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// `1e-6`, or two digits when it is not round; `0.5`, `2` and `50` as they are; `0`.
pub fn short(value: f64) -> String {
    if value == 0.0 {
        return "0".to_string();
    }
    let plain = format!("{value}");
    if (0.1..1e4).contains(&value.abs()) && plain.len() <= 5 {
        return plain;
    }
    let short = format!("{value:e}");
    if short.len() <= 6 { short } else { scientific(value, 2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_line_up() {
        let cases = [(1.25e-3, "1.25e-03"), (-2.0, "-2.00e+00"), (1e100, "1.00e+100"), (0.0, "0.00e+00"), (f64::NAN, "NaN")];
        for (value, expected) in cases {
            assert_eq!(scientific(value, 2), expected);
        }
        assert_eq!(scientific(f64::NEG_INFINITY, 2), "-inf");
    }

    #[test]
    fn short_numbers_are_short() {
        assert_eq!([0.0, 1e-6, 1.0 / 3.0, 1e4].map(short), ["0", "1e-6", "3.33e-01", "1e4"]);
        assert_eq!([0.5, 2.0, -0.25, 50.0, 9999.0].map(short), ["0.5", "2", "-0.25", "50", "9999"]);
    }

    #[test]
    fn ordinary_numbers_stay_ordinary() {
        let cases = [
            (17.014017289, "17.01401729"),
            (-2.0, "-2"),
            (0.5, "0.5"),
            (100.0, "100"),
            (9_999_999.0, "9999999"),
            (0.0, "0"),
            (-0.001, "-0.001"),
            (1e-9, "1.000000e-09"),
            (f64::INFINITY, "inf"),
        ];
        for (value, expected) in cases {
            assert_eq!(readable(value), expected);
        }
    }
}
