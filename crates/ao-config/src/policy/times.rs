//! Parses times in a policy and looks up the offsets of a time zone.

use ao_core::Timestamp;
use ao_core::policy::{Freeze, FreezeZone, WEEK, WeeklyFreeze};
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use crate::shape::{FreezeConfig, WeekDay};

/// Number of years from now for which the offsets of a zone are looked up.
const YEARS: i16 = 3;

/// Parses a single point in time, in UTC unless it has an offset.
pub fn at(text: &str) -> Result<Timestamp, String> {
    once(text, &TimeZone::UTC)
        .ok_or_else(|| format!("`{text}` is not a time: write `2026-12-24` or `2026-12-24 10:00`"))
}

/// A parsed freeze.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FreezeWindow {
    Once(Freeze),
    Weekly(Vec<WeeklyFreeze>),
}

/// A mistake in a freeze, and its key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadFreeze {
    pub(super) key: &'static str,
    pub(super) what: String,
}

pub(super) fn window(freeze: &FreezeConfig, now: Timestamp) -> Result<FreezeWindow, BadFreeze> {
    let bad = |key, what: String| BadFreeze { key, what };
    let name = freeze.timezone.as_deref().unwrap_or("UTC");
    let zone = TimeZone::get(name).map_err(|_| {
        let what =
            format!("`{name}` is not a time zone known to this computer; write one such as `Europe/Berlin`");
        bad("timezone", what)
    })?;
    let why = freeze.why.clone();
    if let (Some(from), Some(until)) = (once(&freeze.from, &zone), once(&freeze.until, &zone)) {
        if until <= from {
            return Err(bad("until", "it ends before it begins".into()));
        }
        if !freeze.days.is_empty() {
            return Err(bad("days", "`days` needs times of the day, such as `22:00`".into()));
        }
        return Ok(FreezeWindow::Once(Freeze { from, until, why }));
    }
    let shown = || clocks(name, &zone, now);
    if let (Some(from), Some(until)) = (of_week(&freeze.from), of_week(&freeze.until)) {
        if !freeze.days.is_empty() {
            return Err(bad("days", "`days` needs times of the day, such as `22:00`".into()));
        }
        return Ok(FreezeWindow::Weekly(vec![WeeklyFreeze { from, until, zone: shown(), why }]));
    }
    if let (Some(from), Some(until)) = (of_day(&freeze.from), of_day(&freeze.until)) {
        const ALL: [WeekDay; 7] = [
            WeekDay::Mon,
            WeekDay::Tue,
            WeekDay::Wed,
            WeekDay::Thu,
            WeekDay::Fri,
            WeekDay::Sat,
            WeekDay::Sun,
        ];
        let days = if freeze.days.is_empty() { &ALL[..] } else { &freeze.days };
        let next = if until > from { until } else { until + DAY };
        let on = |day: &WeekDay| {
            let start = *day as u16 * DAY;
            WeeklyFreeze { from: start + from, until: (start + next) % WEEK, zone: shown(), why: why.clone() }
        };
        return Ok(FreezeWindow::Weekly(days.iter().map(on).collect()));
    }
    let key = if is_time(&freeze.from) { "until" } else { "from" };
    let text = if key == "from" { &freeze.from } else { &freeze.until };
    let what = match is_time(text) {
        true => "`from` and `until` have to be of the same kind: both once, both with a day of the week, or both times of the day"
            .to_owned(),
        false => format!(
            "`{text}` is not a time: write `2026-12-20 18:00` for once, `fri 16:00` for every week, or `22:00` for every day"
        ),
    };
    Err(bad(key, what))
}

const DAY: u16 = 24 * 60;

fn is_time(text: &str) -> bool {
    once(text, &TimeZone::UTC).is_some() || of_week(text).is_some() || of_day(text).is_some()
}

fn once(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(stamp) = text.parse::<jiff::Timestamp>() {
        return Some(Timestamp(stamp.as_millisecond()));
    }
    let civil = match text.parse::<DateTime>() {
        Ok(civil) => civil,
        Err(_) => text.parse::<Date>().ok()?.to_datetime(jiff::civil::Time::midnight()),
    };
    let stamp = zone.to_ambiguous_timestamp(civil).compatible().ok()?;
    Some(Timestamp(stamp.as_millisecond()))
}

/// Parses `fri 16:00` to the minute of the week.
fn of_week(text: &str) -> Option<u16> {
    let (day, time) = text.trim().split_once(char::is_whitespace)?;
    let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let day = day.to_ascii_lowercase();
    // Full names of days are accepted too.
    let whole = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let day = days
        .iter()
        .position(|known| *known == day)
        .or_else(|| whole.iter().position(|known| *known == day))?;
    Some(day as u16 * DAY + of_day(time)?)
}

/// Parses `16:00` to the minute of the day.
fn of_day(text: &str) -> Option<u16> {
    let (hour, minute) = text.trim().split_once(':')?;
    let number = |text: &str, most: u16| -> Option<u16> {
        let plain = !text.is_empty() && text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|number| plain && *number <= most)
    };
    Some(number(hour, 23)? * 60 + number(minute, 59).filter(|_| minute.len() == 2)?)
}

/// Returns the offsets of a zone, starting with last year. They depend on the current year only, so that reading a
/// policy twice in a year gives the same result.
fn clocks(name: &str, zone: &TimeZone, now: Timestamp) -> FreezeZone {
    let now = jiff::Timestamp::from_millisecond(now.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    let year = now.to_zoned(TimeZone::UTC).year();
    let begin = |year: i16| {
        let date = Date::new(year, 1, 1).unwrap_or(Date::MAX).to_datetime(jiff::civil::Time::midnight());
        TimeZone::UTC.to_timestamp(date).unwrap_or(jiff::Timestamp::MAX)
    };
    let (first, last) = (begin(year.saturating_sub(1)), begin(year.saturating_add(YEARS)));
    let stamp = |at: jiff::Timestamp| Timestamp(at.as_millisecond());
    let minutes = |offset: jiff::tz::Offset| offset.seconds() / 60;
    let mut offsets = vec![(stamp(first), minutes(zone.to_offset(first)))];
    let changes = zone.following(first).take_while(|change| change.timestamp() < last);
    offsets.extend(changes.map(|change| (stamp(change.timestamp()), minutes(change.offset()))));
    FreezeZone { name: name.to_owned(), offsets, until: stamp(last) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_794_830_000_000);

    fn freeze(
        from: &str,
        until: &str,
        days: &[WeekDay],
        timezone: Option<&str>,
    ) -> Result<FreezeWindow, BadFreeze> {
        let freeze = FreezeConfig {
            from: from.into(),
            until: until.into(),
            days: days.to_vec(),
            timezone: timezone.map(Into::into),
            why: "x".into(),
        };
        window(&freeze, NOW)
    }

    fn weekly(from: &str, until: &str, days: &[WeekDay]) -> Vec<(u16, u16)> {
        match freeze(from, until, days, None) {
            Ok(FreezeWindow::Weekly(all)) => all.iter().map(|weekly| (weekly.from, weekly.until)).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_freeze_is_written_as_people_write_times() {
        assert_eq!(weekly("fri 16:00", "Monday 08:00", &[]), [(4 * DAY + 960, 480)]);
        assert_eq!(weekly("22:00", "6:00", &[WeekDay::Mon]), [(1320, DAY + 360)]);
        assert_eq!(weekly("22:00", "6:00", &[WeekDay::Sun]), [(6 * DAY + 1320, 360)]);
        assert_eq!(
            weekly("00:00", "00:00", &[WeekDay::Sat, WeekDay::Sun]),
            [(5 * DAY, 6 * DAY), (6 * DAY, 0)]
        );
        assert_eq!(weekly("12:00", "13:00", &[]).len(), 7);
        let Ok(FreezeWindow::Once(once)) =
            freeze("2026-12-24", "2026-12-27 08:00", &[], Some("Europe/Berlin"))
        else {
            panic!("once");
        };
        assert_eq!(once.from, at("2026-12-23 23:00").unwrap(), "Berlin is an hour ahead");
        assert_eq!(once.until, at("2026-12-27T07:00:00Z").unwrap());
    }

    #[test]
    fn what_is_no_time_is_told_at_its_key() {
        for (from, until, days, zone, key) in [
            ("soon", "22:00", &[][..], None, "from"),
            ("22:00", "later", &[][..], None, "until"),
            ("22:00", "fri 08:00", &[][..], None, "until"),
            ("2026-12-24", "2026-12-24", &[][..], None, "until"),
            ("2026-12-24", "2026-12-25", &[WeekDay::Mon][..], None, "days"),
            ("22:00", "06:00", &[][..], Some("Mars/Crater"), "timezone"),
            ("25:00", "06:00", &[][..], None, "from"),
        ] {
            assert_eq!(freeze(from, until, days, zone).unwrap_err().key, key, "{from} {until}");
        }
    }

    #[test]
    fn a_zone_brings_its_changes_along_for_some_years_and_is_the_same_all_year() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        let zone = clocks("Europe/Berlin", &berlin, NOW);
        assert_eq!(zone.offsets.len(), 1 + 2 * 4, "{zone:?}");
        assert!(zone.offsets.iter().all(|(_, minutes)| [60, 120].contains(minutes)));
        let later = Timestamp(NOW.0 + 30 * 86_400_000);
        assert_eq!(zone, clocks("Europe/Berlin", &berlin, later));
        assert_eq!(zone.until, at("2029-01-01").unwrap());
    }
}
