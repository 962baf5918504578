//! Durations on the command line.

use std::time::Duration;

use ao_config::shape::units::TimeSpan;

/// Parses `30s`, `2m` or `1h30m` as in the configuration; a bare number counts seconds.
pub(crate) fn parse(typed: &str) -> Result<Duration, String> {
    match typed.parse() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).map_err(|err| err.to_string()),
        Err(_) => typed.parse::<TimeSpan>().map(|time| time.0).map_err(|err| err.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_with_and_without_a_unit() {
        let parse = |typed| parse(typed).map(|time| time.as_millis());
        assert_eq!(parse("5"), Ok(5_000));
        assert_eq!(parse("0.5"), Ok(500));
        assert_eq!(parse("2m"), Ok(120_000));
        assert_eq!(parse("1h30m"), Ok(5_400_000));
        assert_eq!(parse("0"), Ok(0));
        for wrong in ["", "m", "-1", "5x", "1e999", "nan"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
