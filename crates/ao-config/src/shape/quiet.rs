//! Quiet hours and digests of notices.

use jiff::civil::Time as ClockTime;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plugins::{Plugin, Priority};
use super::units::TimeSpan;

/// Hours in which notices that can wait are held back. They are sent at the end; as one notice if there are more than
/// three.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QuietHours {
    /// The time at which they start, such as `"22:00"`.
    pub from: String,
    /// The time at which they end, such as `"07:00"`; on the next day if that is not after `from`.
    pub to: String,
    /// The days on which they start: `mon`, `tue`, `wed`, `thu`, `fri`, `sat`, `sun`. By default every day.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub days: Vec<WeekDay>,
    /// The time zone, such as `Europe/Berlin`. By default that of the computer.
    pub timezone: Option<String>,
    /// Priorities that are sent all the same: `urgent`, `action`, `warning`, `info`.
    #[serde(default = "urgent")]
    pub except: Vec<Priority>,
}

/// Notices that are collected and sent as one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DigestConfig {
    /// The priorities that are collected: `info`, `warning`, `action`, `urgent`.
    #[serde(default = "info")]
    pub levels: Vec<Priority>,
    /// The interval at which it is sent: on the hour for `1h`, which is also the default without `at`.
    pub every: Option<TimeSpan>,
    /// The time of the day at which it is sent instead, such as `"09:00"`.
    pub at: Option<String>,
    /// The time zone of `at`. By default that of the computer.
    pub timezone: Option<String>,
}

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WeekDay {
    Mon,
    Tue,
    Wed,
    Thu,
    Fri,
    Sat,
    Sun,
}

/// A mistake in quiet hours or a digest, and its key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct BadHours {
    pub key: &'static str,
    pub what: String,
}

/// The setting of a single channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OfChannel<T> {
    /// Absent: the setting for all channels holds.
    AsAll,
    /// Explicitly none.
    None,
    Own(T),
}

impl QuietHours {
    /// Returns the times at which they start and end.
    pub fn times(&self) -> Result<(ClockTime, ClockTime), BadHours> {
        let (from, to) = (clock("from", &self.from)?, clock("to", &self.to)?);
        if from == to && (self.days.is_empty() || self.days.len() >= 7) {
            let what =
                "the quiet hours would never end: `from` and `to` are the same, on every day".to_owned();
            return Err(BadHours { key: "to", what });
        }
        Ok((from, to))
    }

    pub fn zone(&self) -> Result<TimeZone, BadHours> {
        zone(self.timezone.as_deref())
    }

    pub(crate) fn check(&self) -> Result<(), BadHours> {
        self.times()?;
        self.zone().map(drop)
    }
}

impl DigestConfig {
    /// Returns the time of the day, if one is set.
    pub fn time(&self) -> Result<Option<ClockTime>, BadHours> {
        if self.every.is_some() && self.at.is_some() {
            let what = "`every` and `at` cannot both be set: remove one".to_owned();
            return Err(BadHours { key: "at", what });
        }
        self.at.as_deref().map(|at| clock("at", at)).transpose()
    }

    /// Returns the interval; an hour by default.
    pub fn period(&self) -> TimeSpan {
        self.every.unwrap_or(TimeSpan::from_secs(3600))
    }

    pub fn zone(&self) -> Result<TimeZone, BadHours> {
        zone(self.timezone.as_deref())
    }

    pub(crate) fn check(&self) -> Result<(), BadHours> {
        self.time()?;
        if self.every.is_some_and(|every| every < TimeSpan::from_secs(1)) {
            return Err(BadHours {
                key: "every",
                what: "it cannot be more often than every second".to_owned(),
            });
        }
        self.zone().map(drop)
    }
}

impl Plugin {
    /// Returns the quiet hours of a channel. An error has the path inside of them.
    pub fn quiet_hours(&self) -> Result<OfChannel<QuietHours>, BadHours> {
        let own = self.own("quietHours")?;
        if let OfChannel::Own(hours) = &own {
            QuietHours::check(hours)?;
        }
        Ok(own)
    }

    /// Returns the digest of a channel.
    pub fn digest(&self) -> Result<OfChannel<DigestConfig>, BadHours> {
        let own = self.own("digest")?;
        if let OfChannel::Own(digest) = &own {
            DigestConfig::check(digest)?;
        }
        Ok(own)
    }

    fn own<T: for<'de> Deserialize<'de>>(&self, key: &'static str) -> Result<OfChannel<T>, BadHours> {
        match self.options.get(key) {
            None | Some(Value::Null) => Ok(OfChannel::AsAll),
            Some(Value::Bool(false)) => Ok(OfChannel::None),
            Some(said) => serde_json::from_value(said.clone()).map(OfChannel::Own).map_err(|err| BadHours {
                key,
                what: format!("`{key}` is invalid: {err}; write it as at the top, or `false` for none"),
            }),
        }
    }
}

fn clock(key: &'static str, text: &str) -> Result<ClockTime, BadHours> {
    let parsed = text.trim().split_once(':').and_then(|(hour, minute)| {
        let digits = |text: &str| {
            !text.is_empty() && text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        (digits(hour) && digits(minute) && minute.len() == 2)
            .then(|| ClockTime::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok())
            .flatten()
    });
    parsed.ok_or_else(|| BadHours {
        key,
        what: format!("`{text}` is not a time of the day: write hours and minutes, such as `\"22:00\"`"),
    })
}

fn zone(name: Option<&str>) -> Result<TimeZone, BadHours> {
    let Some(name) = name else { return Ok(TimeZone::system()) };
    TimeZone::get(name).map_err(|_| BadHours {
        key: "timezone",
        what: format!(
            "`{name}` is not a time zone known to this computer; write one such as `Europe/Berlin` or `UTC`"
        ),
    })
}

fn urgent() -> Vec<Priority> {
    vec![Priority::Urgent]
}

fn info() -> Vec<Priority> {
    vec![Priority::Info]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_the_day_are_read_as_people_write_them() {
        for (text, right) in [
            ("22:00", true),
            ("7:05", true),
            ("00:00", true),
            ("23:59", true),
            ("24:00", false),
            ("7:5", false),
            ("7", false),
            ("7:60", false),
            ("-1:00", false),
            ("noon", false),
            ("", false),
        ] {
            assert_eq!(clock("from", text).is_ok(), right, "{text}");
        }
    }

    #[test]
    fn a_channel_has_its_own_or_none_or_what_all_have() {
        let with = |said: Value| {
            let mut channel = Plugin::named("slack");
            channel.options.insert("quietHours".into(), said);
            channel.quiet_hours()
        };
        assert_eq!(Plugin::named("slack").quiet_hours(), Ok(OfChannel::AsAll));
        assert_eq!(with(false.into()), Ok(OfChannel::None));
        let own = with(serde_json::json!({ "from": "1:00", "to": "2:00", "timezone": "UTC" }));
        assert!(matches!(own, Ok(OfChannel::Own(QuietHours { except, .. })) if except == [Priority::Urgent]));
        assert!(with(serde_json::json!({ "from": "1:00" })).is_err());
        let endless = with(serde_json::json!({ "from": "1:00", "to": "1:00" }));
        assert!(endless.unwrap_err().what.contains("never end"));
    }
}
