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

/// `1e-6`, or two digits when it is not round.
pub fn short(value: f64) -> String {
    let short = format!("{value:e}");
    if short.len() <= 6 { short } else { scientific(value, 2) }
}

/// `1 iteration`, `2 iterations`.
pub fn counted(count: u64, what: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {what}{ending}")
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

    #[test]
    fn one_is_not_many() {
        assert_eq!(counted(1, "iteration"), "1 iteration");
        assert_eq!(counted(0, "iteration"), "0 iterations");
    }
}
