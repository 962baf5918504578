//! When people are told things.

use jiff::civil::Time as ClockTime;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::tell::{Plugin, Priority};
use super::units::Time;

/// Hours in which nobody is told what can wait. It comes when they end; as one notice, if it is more than three.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QuietHours {
    /// When they begin, such as `"22:00"`.
    pub from: String,
    /// When they end, such as `"07:00"`; on the next day, if that is not after `from`.
    pub to: String,
    /// The days on which they begin: `mon`, `tue`, `wed`, `thu`, `fri`, `sat`, `sun`. Every day, if none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub days: Vec<Day>,
    /// The time zone, such as `Europe/Berlin`. That of the computer, if none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// What is told all the same: `urgent`, `action`, `warning`, `info`.
    #[serde(default = "urgent")]
    pub except: Vec<Priority>,
}

/// What is gathered and told as one notice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DigestConfig {
    /// What is gathered: `info`, `warning`, `action`, `urgent`.
    #[serde(default = "info")]
    pub levels: Vec<Priority>,
    /// How often it is told: at the full hours, for `1h`. That is how it is if neither this nor `at` is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Time>,
    /// The time of the day at which it is told instead, such as `"09:00"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The time zone of `at`. That of the computer, if none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
}

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Day {
    Mon,
    Tue,
    Wed,
    Thu,
    Fri,
    Sat,
    Sun,
}

/// What is wrong with one of them, and where in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct BadHours {
    pub key: &'static str,
    pub what: String,
}

/// What a channel says of its own hours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OfChannel<T> {
    /// Nothing: what is said for all holds.
    AsAll,
    /// That it has none.
    None,
    Own(T),
}

impl QuietHours {
    /// When they begin and end.
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
    /// The time of the day, if it is one.
    pub fn time(&self) -> Result<Option<ClockTime>, BadHours> {
        if self.every.is_some() && self.at.is_some() {
            let what = "`every` and `at` cannot both be said; leave one of them out".to_owned();
            return Err(BadHours { key: "at", what });
        }
        self.at.as_deref().map(|at| clock("at", at)).transpose()
    }

    /// Every hour, if nothing is said.
    pub fn period(&self) -> Time {
        self.every.unwrap_or(Time::from_secs(3600))
    }

    pub fn zone(&self) -> Result<TimeZone, BadHours> {
        zone(self.timezone.as_deref())
    }

    pub(crate) fn check(&self) -> Result<(), BadHours> {
        self.time()?;
        if self.every.is_some_and(|every| every < Time::from_secs(1)) {
            return Err(BadHours {
                key: "every",
                what: "it cannot be more often than every second".to_owned(),
            });
        }
        self.zone().map(drop)
    }
}

impl Plugin {
    /// The quiet hours of a channel. An error is told with the path inside of it.
    pub fn quiet_hours(&self) -> Result<OfChannel<QuietHours>, BadHours> {
        let own = self.own("quietHours")?;
        if let OfChannel::Own(hours) = &own {
            QuietHours::check(hours)?;
        }
        Ok(own)
    }

    /// What a channel gathers.
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
                what: format!("`{key}` makes no sense: {err}; write it as at the top, or `false` for none"),
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
        what: format!("`{text}` is no time of the day: write hours and minutes, such as `\"22:00\"`"),
    })
}

fn zone(name: Option<&str>) -> Result<TimeZone, BadHours> {
    let Some(name) = name else { return Ok(TimeZone::system()) };
    TimeZone::get(name).map_err(|_| BadHours {
        key: "timezone",
        what: format!(
            "`{name}` is no time zone that this computer knows; one is `Europe/Berlin`, and one `UTC`"
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
