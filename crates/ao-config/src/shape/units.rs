//! Durations and sizes in human notation: `30m`, `1h30m`, `2GB`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A duration: a whole number with `ms`, `s`, `m`, `h`, `d` or `w`, or several of them, as in `1h30m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimeSpan(pub Duration);

/// An amount of memory or disk: a whole number with `B`, `KB`, `MB`, `GB` or `TB`, in powers of 1024.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByteSize(pub u64);

/// Reasons to refuse a duration or a size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    #[error("`{0}` is not a duration: write a number and a unit, such as `30s`, `15m`, `2h` or `7d`")]
    Time(String),
    #[error("`{0}` is not a size: write a number and a unit, such as `512MB` or `2GB`")]
    Size(String),
}

const TIME_UNITS: [(&str, u64); 6] =
    [("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

const SIZE_UNITS: [(&str, u64); 5] =
    [("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10), ("B", 1)];

impl TimeSpan {
    pub(crate) const PATTERN: &'static str = r"^([0-9]+ *(ms|s|m|h|d|w) *)+$";

    pub const fn from_secs(secs: u64) -> TimeSpan {
        TimeSpan(Duration::from_secs(secs))
    }
}

impl ByteSize {
    pub(crate) const PATTERN: &'static str = r"^[0-9]+ *([kKmMgGtT][iI]?)?[bB]?$";

    /// Returns the number of full megabytes.
    pub fn megabytes(self) -> u64 {
        self.0 >> 20
    }
}

impl FromStr for TimeSpan {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<TimeSpan, UnitError> {
        let bad = || UnitError::Time(text.to_owned());
        let mut rest = text.trim();
        let mut millis: u64 = 0;
        if rest.is_empty() {
            return Err(bad());
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
            let number: u64 = rest[..digits].parse().map_err(|_| bad())?;
            rest = rest[digits..].trim_start();
            let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
            let unit = TIME_UNITS.iter().find(|(unit, _)| *unit == &rest[..letters]).ok_or_else(bad)?;
            millis = number.checked_mul(unit.1).and_then(|part| millis.checked_add(part)).ok_or_else(bad)?;
            rest = rest[letters..].trim_start();
        }
        Ok(TimeSpan(Duration::from_millis(millis)))
    }
}

/// Formats the shortest notation of the same duration.
impl fmt::Display for TimeSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut millis = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        if millis == 0 {
            return f.write_str("0s");
        }
        for (unit, length) in TIME_UNITS.iter().skip(1) {
            if millis >= *length {
                write!(f, "{}{unit}", millis / length)?;
                millis %= length;
            }
        }
        Ok(())
    }
}

impl FromStr for ByteSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<ByteSize, UnitError> {
        let bad = || UnitError::Size(text.to_owned());
        let trimmed = text.trim();
        let digits = trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(trimmed.len());
        let number: u64 = trimmed[..digits].parse().map_err(|_| bad())?;
        let unit = trimmed[digits..].trim().to_ascii_uppercase().replace("IB", "B");
        let unit = if matches!(unit.as_str(), "K" | "M" | "G" | "T") { format!("{unit}B") } else { unit };
        let unit = if unit.is_empty() { "B" } else { &unit };
        let (_, bytes) = SIZE_UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(bad)?;
        number.checked_mul(*bytes).map(ByteSize).ok_or_else(bad)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |(_, bytes): &&(&str, u64)| self.0 >= *bytes && self.0.is_multiple_of(*bytes);
        let (unit, bytes) = SIZE_UNITS.iter().find(fits).unwrap_or(&("B", 1));
        write!(f, "{}{unit}", self.0 / bytes)
    }
}

/// Implements parsing, formatting and a schema as a string of that notation.
macro_rules! as_text {
    ($name:ident, $kind:literal) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $name::PATTERN, "x-kind": $kind })
            }
        }
    };
}

as_text!(TimeSpan, "time");
as_text!(ByteSize, "size");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written_as_people_write_them() {
        for (written, millis, canonical) in [
            ("30m", 1_800_000, "30m"),
            ("90s", 90_000, "1m30s"),
            ("1h30m", 5_400_000, "1h30m"),
            ("1h 30m", 5_400_000, "1h30m"),
            ("250ms", 250, "250ms"),
            ("2w", 1_209_600_000, "14d"),
            ("0s", 0, "0s"),
        ] {
            let time: TimeSpan = written.parse().unwrap();
            assert_eq!(time.0, Duration::from_millis(millis), "{written}");
            assert_eq!(time.to_string(), canonical);
            assert_eq!(canonical.parse::<TimeSpan>().unwrap(), time);
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for written in ["", "30", "m", "30 parsecs", "-5m", "5m!", "99999999999999999999h", "1.5h", "30mm"] {
            assert!(written.parse::<TimeSpan>().is_err(), "{written}");
        }
    }

    #[test]
    fn sizes_are_read_and_written_as_people_write_them() {
        for (written, bytes, canonical) in [
            ("2GB", 2 << 30, "2GB"),
            ("2 GiB", 2 << 30, "2GB"),
            ("512m", 512 << 20, "512MB"),
            ("1536MB", 1536 << 20, "1536MB"),
            ("10", 10, "10B"),
            ("0", 0, "0B"),
        ] {
            let size: ByteSize = written.parse().unwrap();
            assert_eq!(size.0, bytes, "{written}");
            assert_eq!(size.to_string(), canonical);
            assert_eq!(canonical.parse::<ByteSize>().unwrap(), size);
        }
        for written in ["", "GB", "2XB", "two GB", "99999999999TB"] {
            assert!(written.parse::<ByteSize>().is_err(), "{written}");
        }
    }
}
