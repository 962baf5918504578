//! Spans of time as people type them.

use std::time::Duration;

/// Reads `5`, `5s`, `2m`, `1h` or `1d`; a bare number counts seconds.
pub(crate) fn parse(typed: &str) -> Result<Duration, String> {
    let wrong = || format!("`{typed}` is no span of time; write it as 30, 30s, 5m or 2h");
    let digits = typed.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &typed[digits.len()..] {
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err(wrong()),
    };
    let amount: f64 = digits.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(amount * unit).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_with_and_without_their_unit() {
        let read = |typed| parse(typed).map(|span| span.as_millis());
        assert_eq!(read("5"), Ok(5_000));
        assert_eq!(read("0.5s"), Ok(500));
        assert_eq!(read("2m"), Ok(120_000));
        assert_eq!(read("1h"), Ok(3_600_000));
        assert_eq!(read("0"), Ok(0));
        for wrong in ["", "m", "-1", "5x", "1e999", "5 m"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
