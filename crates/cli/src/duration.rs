//! Durations as people write them: `10s`, `1h30m`, `250ms`, or a bare number of seconds.

use std::time::Duration;

const UNITS: [(&str, f64); 5] = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86400.0)];

/// Reads a duration.
pub fn parse(text: &str) -> Result<Duration, String> {
    let mistake = || format!("{text:?} is not a duration; write for example 10s, 250ms, 1h30m, or 90 for seconds");
    let mut seconds = 0.0;
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(mistake());
    }
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, tail) = rest.split_at(number_end);
        let unit_end = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let size = match unit {
            "" if tail.is_empty() && rest.len() == text.trim().len() => 1.0,
            unit => UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(mistake)?.1,
        };
        seconds += number.parse::<f64>().map_err(|_| mistake())? * size;
        rest = tail;
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| mistake())
}

/// Seconds for people: `12.3 ms`, `4.56 s`, `2 min 5 s`, `1 h 2 min`.
pub fn readable(seconds: f64) -> String {
    if seconds < 1e-3 {
        format!("{:.0} µs", seconds * 1e6)
    } else if seconds < 1.0 {
        format!("{:.1} ms", seconds * 1e3)
    } else if seconds < 60.0 {
        format!("{seconds:.2} s")
    } else if seconds < 3600.0 {
        format!("{} min {} s", seconds as u64 / 60, seconds as u64 % 60)
    } else {
        format!("{} h {} min", seconds as u64 / 3600, seconds as u64 / 60 % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        for (text, seconds) in [("10s", 10.0), ("250ms", 0.25), ("1h30m", 5400.0), ("90", 90.0), ("1.5", 1.5), ("2d", 172800.0)]
        {
            assert_eq!(parse(text).map(|duration| duration.as_secs_f64()), Ok(seconds), "{text}");
        }
        for text in ["", "s", "10x", "-1s", "1h30", "1..2s", "nan", "1e3", "9".repeat(400).as_str(), "10 s µ"] {
            assert!(parse(text).is_err(), "{text} was taken for a duration");
        }
    }

    #[test]
    fn durations_are_shown() {
        let cases = [(2e-5, "20 µs"), (0.0123, "12.3 ms"), (4.56, "4.56 s"), (125.0, "2 min 5 s"), (3725.0, "1 h 2 min")];
        for (seconds, expected) in cases {
            assert_eq!(readable(seconds), expected);
        }
    }
}
