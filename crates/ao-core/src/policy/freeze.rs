//! Times in which nothing is merged: once, or every week in some time zone.
//!
//! The core has no time zone database. The reader of a policy supplies the offset changes of its zone for some years
//! ahead. Beyond them the local time is unknown, and an unknown time allows no merge.

use serde::{Deserialize, Serialize};

use super::Policy;
use crate::Timestamp;

/// Minutes in a week.
pub const WEEK: u16 = 7 * 24 * 60;

const MINUTE: i64 = 60_000;

/// A time in which nothing is merged; `until` is the first moment after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Freeze {
    pub from: Timestamp,
    pub until: Timestamp,
    pub why: String,
}

/// A freeze that repeats every week. Minutes count from Monday, 00:00; an end that is not after the beginning is in
/// the next week.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeeklyFreeze {
    pub from: u16,
    pub until: u16,
    pub zone: FreezeZone,
    pub why: String,
}

/// A time zone, as a list of offset changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreezeZone {
    pub name: String,
    /// Offsets in minutes ahead of UTC, each with the time it takes effect, the earliest first.
    pub offsets: Vec<(Timestamp, i32)>,
    /// The end of the time for which the offsets are known.
    pub until: Timestamp,
}

/// A freeze that is in effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frozen {
    pub(super) why: String,
    pub(super) until: Timestamp,
}

impl Policy {
    /// Returns the freeze that is in effect now; of several, the one that ends last.
    pub(super) fn frozen(&self, now: Timestamp) -> Option<Frozen> {
        let once = self.freeze.iter().filter(|freeze| freeze.from <= now && now < freeze.until);
        let once = once.map(|freeze| Frozen { why: freeze.why.clone(), until: freeze.until });
        once.chain(self.weekly.iter().filter_map(|weekly| weekly.frozen(now))).max_by_key(|on| on.until)
    }

    /// Returns whether a freeze is in effect.
    pub fn is_frozen(&self, now: Timestamp) -> bool {
        self.frozen(now).is_some()
    }

    /// Returns the first moment from now on without a freeze; now, if a freeze has no end.
    pub fn unfrozen_from(&self, now: Timestamp) -> Timestamp {
        // Freezes that touch each other end one after another.
        const MOST: usize = 1_000;
        let ends = std::iter::successors(Some(now), |at| self.frozen(*at).map(|on| on.until));
        ends.take(MOST).find(|at| !self.is_frozen(*at)).unwrap_or(now)
    }

    /// Returns the next moment at which a freeze may begin or end. A verdict about freezes stays valid until then.
    pub(crate) fn next_edge(&self, now: Timestamp) -> Option<Timestamp> {
        let once = self.freeze.iter().flat_map(|freeze| [freeze.from, freeze.until]);
        let weekly = self.weekly.iter().flat_map(|weekly| weekly.edges(now));
        once.chain(weekly).filter(|edge| *edge > now).min()
    }
}

impl WeeklyFreeze {
    fn frozen(&self, now: Timestamp) -> Option<Frozen> {
        let Some(minute) = self.zone.minute_of_week(now) else {
            let why = format!("{}; what time it is in {} is not known any more", self.why, self.zone.name);
            return Some(Frozen { why, until: Timestamp(i64::MAX) });
        };
        let (since, length) = (ahead(self.from, minute), ahead(self.from, self.until));
        // A freeze that begins and ends at the same minute lasts all week.
        let length = if length == 0 { WEEK } else { length };
        (since < length).then(|| Frozen {
            why: self.why.clone(),
            until: Timestamp(start_of_minute(now).0 + i64::from(length - since) * MINUTE),
        })
    }

    /// Returns the next moments at which it may begin or end. A change of the offset is one of them, because it moves
    /// all others.
    fn edges(&self, now: Timestamp) -> Vec<Timestamp> {
        let Some(minute) = self.zone.minute_of_week(now) else { return vec![] };
        let next = |edge: u16| {
            let ahead = match ahead(minute, edge) {
                0 => WEEK,
                ahead => ahead,
            };
            Timestamp(start_of_minute(now).0 + i64::from(ahead) * MINUTE)
        };
        let change = self.zone.offsets.iter().map(|(at, _)| *at).find(|at| *at > now);
        [next(self.from), next(self.until), self.zone.until].into_iter().chain(change).collect()
    }
}

impl FreezeZone {
    /// Returns the local minute of the week, if the offset is known.
    fn minute_of_week(&self, now: Timestamp) -> Option<u16> {
        let known = self.offsets.iter().take_while(|(since, _)| *since <= now).last();
        let (_, offset) = known.filter(|_| now < self.until)?;
        // The first of January 1970 was a Thursday.
        let minutes = now.0.div_euclid(MINUTE) + i64::from(*offset) + 3 * 24 * 60;
        u16::try_from(minutes.rem_euclid(i64::from(WEEK))).ok()
    }
}

/// Returns the minutes from one minute of the week to another.
fn ahead(from: u16, to: u16) -> u16 {
    (to % WEEK + WEEK - from % WEEK) % WEEK
}

fn start_of_minute(now: Timestamp) -> Timestamp {
    Timestamp(now.0 - now.0.rem_euclid(MINUTE))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Monday, 16 November 2026, 00:00 UTC.
    const MONDAY: i64 = 1_794_787_200_000;
    const HOUR: i64 = 3_600_000;

    fn at(hours: i64) -> Timestamp {
        Timestamp(MONDAY + hours * HOUR)
    }

    fn weekly(from: u16, until: u16, offsets: &[(i64, i32)]) -> Policy {
        let offsets = offsets.iter().map(|(since, minutes)| (Timestamp(*since), *minutes)).collect();
        let zone = FreezeZone { name: "Here".into(), offsets, until: at(10_000) };
        Policy {
            weekly: vec![WeeklyFreeze { from, until, zone, why: "weekend".into() }],
            ..Policy::default()
        }
    }

    #[test]
    fn a_week_begins_on_monday_and_a_freeze_may_go_on_into_the_next_one() {
        let weekend = weekly(4 * 1440 + 16 * 60, 8 * 60, &[(0, 0)]);
        for (hours, frozen) in
            [(0, true), (7, true), (8, false), (4 * 24 + 15, false), (4 * 24 + 16, true), (6 * 24, true)]
        {
            assert_eq!(weekend.frozen(at(hours)).is_some(), frozen, "{hours}");
        }
        assert_eq!(weekend.frozen(at(4 * 24 + 16)).unwrap().until, at(7 * 24 + 8));
        assert_eq!(weekend.next_edge(at(9)), Some(at(4 * 24 + 16)));
    }

    #[test]
    fn the_clocks_of_the_place_count_and_when_they_are_changed() {
        let noon = weekly(12 * 60, 13 * 60, &[(0, 60), (at(24).0, 120)]);
        assert!(noon.frozen(at(11)).is_some() && noon.frozen(at(12)).is_none(), "an hour ahead");
        assert_eq!(noon.next_edge(at(13)), Some(at(24)), "when the clocks are changed");
        let all_day = weekly(0, 0, &[(0, 0)]);
        assert!(all_day.frozen(at(50)).is_some());
    }

    #[test]
    fn beyond_what_is_known_nothing_is_merged() {
        let noon = weekly(12 * 60, 13 * 60, &[(0, 0)]);
        assert!(noon.frozen(at(10_000)).unwrap().why.contains("not known any more"));
        assert_eq!(noon.next_edge(at(10_000)), None);
        assert!(weekly(12 * 60, 13 * 60, &[]).frozen(at(1)).is_some(), "no offset is known at all");
    }

    proptest! {
        /// A caller that wakes at every edge misses no change.
        #[test]
        fn nothing_begins_or_ends_between_two_edges(
            from in 0..WEEK, until in 0..WEEK, hour in 0..900_i64, change in 0..900_i64, probe in 0..100_u64,
        ) {
            let policy = weekly(from, until, &[(0, 0), (at(change).0, 60)]);
            let now = at(hour);
            let edge = policy.next_edge(now).unwrap();
            prop_assert!(edge > now);
            let between = Timestamp(now.0 + (edge.0 - 1 - now.0) / 100 * probe as i64);
            prop_assert_eq!(policy.frozen(now).is_some(), policy.frozen(between).is_some());
        }
    }
}
