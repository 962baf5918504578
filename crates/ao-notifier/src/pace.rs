//! Decides when people are notified: not in their quiet hours, and low levels together in a digest.
//!
//! Knows the calendar, so that the core need not. It only returns until when a notice is held; the core records that it
//! is held.

use std::collections::BTreeSet;
use std::time::Duration;

use ao_core::notice::{Notice, NoticeHold, NoticeLevel};
use jiff::civil::{Date, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// Adjacent quiet days form one quiet time, but not an endless one.
const DAYS_IN_A_ROW: usize = 8;

/// The times at which a channel accepts notices.
#[derive(Debug, Clone, Default)]
pub struct Pace {
    pub quiet: Option<QuietHours>,
    pub digest: Option<Digest>,
}

/// Hours in which only exceptions are sent.
#[derive(Debug, Clone)]
pub struct QuietHours {
    pub from: Time,
    /// If it is not after `from`, it is on the next day.
    pub to: Time,
    /// The days on which they begin.
    pub days: BTreeSet<i8>,
    pub zone: TimeZone,
    /// Levels that are sent all the same.
    pub except: BTreeSet<NoticeLevel>,
}

/// The notices that are sent together.
#[derive(Debug, Clone)]
pub struct Digest {
    pub levels: BTreeSet<NoticeLevel>,
    pub when: Every,
    pub zone: TimeZone,
}

/// The schedule of a digest.
#[derive(Debug, Clone)]
pub enum Every {
    /// At the full multiples of a period, so that all held notices wait for the same moment.
    Time(Duration),
    /// Every day at this time.
    Day(Time),
}

impl Pace {
    /// Returns until when a notice is held, and why, if it is.
    pub fn hold(&self, notice: &Notice, now: Timestamp) -> Option<(ao_core::Timestamp, NoticeHold)> {
        let digest = self.digest.as_ref().filter(|digest| {
            // A digest is not gathered again.
            notice.gathered == 0 && digest.levels.contains(&notice.level)
        });
        if let Some(digest) = digest {
            return Some((core(digest.next(now)), NoticeHold::Digest));
        }
        let quiet = self.quiet.as_ref().filter(|quiet| !quiet.except.contains(&notice.level))?;
        Some((core(quiet.until(now)?), NoticeHold::Quiet))
    }

    /// Returns when the quiet hours end, if it is quiet now.
    pub fn quiet_until(&self, now: Timestamp) -> Option<ao_core::Timestamp> {
        self.quiet.as_ref()?.until(now).map(core)
    }
}

impl QuietHours {
    /// Returns when they end, if they apply now.
    pub fn until(&self, now: Timestamp) -> Option<Timestamp> {
        let mut end = self.end_of_this(now)?;
        for _ in 0..DAYS_IN_A_ROW {
            match self.end_of_this(end) {
                Some(later) if later > end => end = later,
                _ => break,
            }
        }
        Some(end)
    }

    fn end_of_this(&self, now: Timestamp) -> Option<Timestamp> {
        let today = now.to_zoned(self.zone.clone()).date();
        let began = [Some(today), today.yesterday().ok()];
        began.into_iter().flatten().find_map(|day| {
            if !self.days.contains(&number(day.weekday())) {
                return None;
            }
            let next = self.to <= self.from;
            let last = if next { day.tomorrow().ok()? } else { day };
            let (from, to) = (self.moment(day, self.from)?, self.moment(last, self.to)?);
            (from <= now && now < to).then_some(to)
        })
    }

    /// Converts to a timestamp. A time that the clocks skip in spring moves by as much as they skip.
    fn moment(&self, day: Date, time: Time) -> Option<Timestamp> {
        Some(day.to_datetime(time).to_zoned(self.zone.clone()).ok()?.timestamp())
    }
}

impl Digest {
    /// Returns the time of the next digest, which is always later than now.
    pub fn next(&self, now: Timestamp) -> Timestamp {
        let next = match &self.when {
            Every::Time(period) => {
                let period = i64::try_from(period.as_millis()).unwrap_or(i64::MAX).max(1000);
                let millis = now.as_millisecond().div_euclid(period).saturating_add(1).saturating_mul(period);
                Timestamp::from_millisecond(millis).ok()
            }
            Every::Day(time) => {
                let today = now.to_zoned(self.zone.clone()).date();
                let at =
                    |day: Date| Some(day.to_datetime(*time).to_zoned(self.zone.clone()).ok()?.timestamp());
                [Some(today), today.tomorrow().ok()]
                    .into_iter()
                    .flatten()
                    .filter_map(at)
                    .find(|moment| *moment > now)
            }
        };
        next.or_else(|| now.checked_add(24.hours()).ok()).unwrap_or(now)
    }
}

/// Returns a sortable number for a day.
pub fn number(day: Weekday) -> i8 {
    day.to_monday_zero_offset()
}

fn core(moment: Timestamp) -> ao_core::Timestamp {
    ao_core::Timestamp(moment.as_millisecond())
}

#[cfg(test)]
mod tests {
    use ao_core::NoticeId;
    use ao_core::incident::Subject;
    use jiff::civil::time;
    use jiff::tz::{Offset, TimeZone};

    use super::*;

    /// Central European time by its own rules, independent of the machine's time zone data.
    fn berlin() -> TimeZone {
        TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn nights(days: &[Weekday]) -> QuietHours {
        QuietHours {
            from: time(22, 0, 0, 0),
            to: time(7, 0, 0, 0),
            days: days.iter().copied().map(number).collect(),
            zone: berlin(),
            except: [NoticeLevel::Urgent].into(),
        }
    }

    const WEEK: [Weekday; 7] = [
        Weekday::Monday,
        Weekday::Tuesday,
        Weekday::Wednesday,
        Weekday::Thursday,
        Weekday::Friday,
        Weekday::Saturday,
        Weekday::Sunday,
    ];

    #[test]
    fn a_night_goes_over_midnight() {
        let nights = nights(&WEEK);
        for (now, until) in [
            ("2026-01-14T20:59:59Z", None),
            ("2026-01-14T21:00:00Z", Some("2026-01-15T06:00:00Z")),
            ("2026-01-14T23:30:00Z", Some("2026-01-15T06:00:00Z")),
            ("2026-01-15T05:59:59Z", Some("2026-01-15T06:00:00Z")),
            ("2026-01-15T06:00:00Z", None),
            // In summer everything is an hour earlier in UTC.
            ("2026-07-14T20:00:00Z", Some("2026-07-15T05:00:00Z")),
            // In the night in which the clocks go forward, it is an hour shorter.
            ("2026-03-28T21:00:00Z", Some("2026-03-29T05:00:00Z")),
        ] {
            assert_eq!(nights.until(at(now)), until.map(at), "{now}");
        }
    }

    #[test]
    fn days_are_those_on_which_it_begins() {
        let weekend = nights(&[Weekday::Saturday, Weekday::Sunday]);
        // 2026-01-17 is a Saturday.
        assert_eq!(weekend.until(at("2026-01-16T23:00:00Z")), None, "the night of Friday");
        assert_eq!(weekend.until(at("2026-01-17T22:00:00Z")), Some(at("2026-01-18T06:00:00Z")));
        assert_eq!(weekend.until(at("2026-01-19T05:00:00Z")), Some(at("2026-01-19T06:00:00Z")));
        assert_eq!(weekend.until(at("2026-01-19T22:00:00Z")), None);
    }

    #[test]
    fn whole_days_that_adjoin_are_one_quiet_time() {
        let midnight = time(0, 0, 0, 0);
        let weekend =
            QuietHours { from: midnight, to: midnight, ..nights(&[Weekday::Saturday, Weekday::Sunday]) };
        assert_eq!(weekend.until(at("2026-01-17T12:00:00Z")), Some(at("2026-01-18T23:00:00Z")));
    }

    #[test]
    fn a_daytime_is_within_its_day() {
        let nap = QuietHours { from: time(12, 0, 0, 0), to: time(13, 30, 0, 0), ..nights(&WEEK) };
        assert_eq!(nap.until(at("2026-01-14T11:00:00Z")), Some(at("2026-01-14T12:30:00Z")));
        assert_eq!(nap.until(at("2026-01-14T12:30:00Z")), None);
    }

    #[test]
    fn a_digest_comes_at_the_same_moment_for_all_who_wait() {
        let hourly = Digest {
            levels: [NoticeLevel::Info].into(),
            when: Every::Time(Duration::from_secs(3600)),
            zone: TimeZone::UTC,
        };
        assert_eq!(hourly.next(at("2026-01-14T11:00:00Z")), at("2026-01-14T12:00:00Z"));
        assert_eq!(hourly.next(at("2026-01-14T11:59:59.999Z")), at("2026-01-14T12:00:00Z"));
        let daily = Digest { when: Every::Day(time(9, 0, 0, 0)), zone: berlin(), ..hourly };
        assert_eq!(daily.next(at("2026-01-14T07:00:00Z")), at("2026-01-14T08:00:00Z"));
        assert_eq!(daily.next(at("2026-01-14T08:00:00Z")), at("2026-01-15T08:00:00Z"));
    }

    #[test]
    fn urgent_notices_are_not_held_and_digests_are_not_gathered_again() {
        let fixed = TimeZone::fixed(Offset::UTC);
        let pace = Pace {
            quiet: Some(QuietHours { zone: fixed.clone(), ..nights(&WEEK) }),
            digest: Some(Digest {
                levels: [NoticeLevel::Info].into(),
                when: Every::Day(time(9, 0, 0, 0)),
                zone: fixed,
            }),
        };
        let night = at("2026-01-14T23:00:00Z");
        let hold = |level, gathered| {
            let notice = Notice { gathered, ..Notice::new(NoticeId(1), level, Subject::Host, "k", "t") };
            pace.hold(&notice, night)
                .map(|(until, hold)| (Timestamp::from_millisecond(until.0).unwrap(), hold))
        };
        assert_eq!(hold(NoticeLevel::Urgent, 0), None);
        assert_eq!(hold(NoticeLevel::Action, 0), Some((at("2026-01-15T07:00:00Z"), NoticeHold::Quiet)));
        assert_eq!(hold(NoticeLevel::Info, 0), Some((at("2026-01-15T09:00:00Z"), NoticeHold::Digest)));
        assert_eq!(hold(NoticeLevel::Info, 2), Some((at("2026-01-15T07:00:00Z"), NoticeHold::Quiet)));
    }
}
