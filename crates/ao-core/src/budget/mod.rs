//! Spending and its limits. Unknown is not zero.

mod usage;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use usage::{BudgetCap, BudgetEvent, BudgetInput, BudgetScope, BudgetUsage};
pub(crate) use usage::{GRACE, decide, evolve};

/// The amounts spent. `None` means unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UsageTotal {
    /// Millionths of a dollar.
    pub micros: Option<u64>,
    pub tokens: Option<u64>,
    /// Always known, because we count turns ourselves.
    pub turns: u64,
    /// Seconds of attempts; always known as well.
    pub seconds: u64,
}

/// Limits on spending. `None` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SpendLimits {
    pub micros: Option<u64>,
    pub tokens: Option<u64>,
    pub turns: Option<u64>,
    pub seconds: Option<u64>,
}

/// A limit and how much of it is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReachedLimit {
    pub what: &'static str,
    pub spent: u64,
    pub limit: u64,
}

/// The share of a limit at which the agent is asked to commit and summarize.
const SOFT_MARK_PERCENT: u64 = 80;
/// The share of a limit at which even a running turn is ended.
const OVERDRAWN_PERCENT: u64 = 110;

impl UsageTotal {
    /// Merges a later report of the same counters. Counters never run backwards: a report that lost its history, as
    /// after a resume, must not grant a fresh budget.
    pub fn later(self, report: UsageTotal) -> UsageTotal {
        UsageTotal {
            micros: self.micros.max(report.micros),
            tokens: self.tokens.max(report.tokens),
            turns: self.turns.max(report.turns),
            seconds: self.seconds.max(report.seconds),
        }
    }

    /// Formats the cost for people. `partly_unknown` means that some spending was not reported.
    pub fn cost(&self, partly_unknown: bool) -> String {
        match self.micros {
            Some(_) if partly_unknown => format!("at least {}", dollars(self.micros)),
            micros => dollars(micros),
        }
    }

    /// Returns the sum of both. An unknown amount counts as zero if the other is known.
    pub fn plus(self, other: UsageTotal) -> UsageTotal {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (known, None) | (None, known) => known,
        };
        UsageTotal {
            micros: sum(self.micros, other.micros),
            tokens: sum(self.tokens, other.tokens),
            turns: self.turns.saturating_add(other.turns),
            seconds: self.seconds.saturating_add(other.seconds),
        }
    }

    /// Adds the growth between two reports of one session to a wider budget.
    pub fn add_growth(self, before: UsageTotal, after: UsageTotal) -> UsageTotal {
        let grow = |total: Option<u64>, before: Option<u64>, after: Option<u64>| match after {
            Some(after) => Some(total.unwrap_or(0).saturating_add(after.saturating_sub(before.unwrap_or(0)))),
            None => total,
        };
        UsageTotal {
            micros: grow(self.micros, before.micros, after.micros),
            tokens: grow(self.tokens, before.tokens, after.tokens),
            turns: self.turns.saturating_add(after.turns.saturating_sub(before.turns)),
            seconds: self.seconds.saturating_add(after.seconds.saturating_sub(before.seconds)),
        }
    }
}

impl SpendLimits {
    /// Returns the first limit that is reached. An unknown cost reaches none; time and turns still count.
    pub fn reached(&self, spend: &UsageTotal) -> Option<ReachedLimit> {
        self.at_percent(spend, 100)
    }

    /// Returns the first limit whose soft mark is reached.
    pub fn nearly_reached(&self, spend: &UsageTotal) -> Option<ReachedLimit> {
        self.at_percent(spend, SOFT_MARK_PERCENT)
    }

    /// Returns the first limit that is exceeded so far that even a running turn has to end. Turns are excluded,
    /// because a turn is counted when it begins.
    pub fn overdrawn(&self, spend: &UsageTotal) -> Option<ReachedLimit> {
        SpendLimits { turns: None, ..*self }.at_percent(spend, OVERDRAWN_PERCENT)
    }

    /// Returns the seconds after which a running turn is ended.
    pub(crate) fn overdrawn_seconds(&self) -> Option<u64> {
        let hundredths = u128::from(self.seconds?) * u128::from(OVERDRAWN_PERCENT);
        Some(u64::try_from(hundredths.div_ceil(100)).unwrap_or(u64::MAX))
    }

    /// Returns whether there is no limit.
    pub fn is_empty(&self) -> bool {
        *self == SpendLimits::default()
    }

    fn at_percent(&self, spend: &UsageTotal, percent: u64) -> Option<ReachedLimit> {
        [
            ("cost", spend.micros, self.micros),
            ("tokens", spend.tokens, self.tokens),
            ("turns", Some(spend.turns), self.turns),
            ("time", Some(spend.seconds), self.seconds),
        ]
        .into_iter()
        .find_map(|(what, spent, limit)| {
            let (spent, limit) = (spent?, limit?);
            (u128::from(spent) * 100 >= u128::from(limit) * u128::from(percent)).then_some(ReachedLimit {
                what,
                spent,
                limit,
            })
        })
    }
}

impl ReachedLimit {
    /// Returns the option of `ao resume` that lets it continue: twice the present amount.
    pub fn option(&self) -> String {
        let twice = self.spent.max(self.limit).saturating_mul(2);
        match self.what {
            "cost" => format!("--usd {}", dollars(Some(twice)).trim_start_matches('$')),
            "time" => format!("--time {twice}s"),
            what => format!("--{what} {twice}"),
        }
    }
}

impl fmt::Display for ReachedLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            "cost" => write!(f, "cost {} of {}", dollars(Some(self.spent)), dollars(Some(self.limit))),
            "time" => write!(f, "time {} s of {} s", self.spent, self.limit),
            what => write!(f, "{what} {} of {}", self.spent, self.limit),
        }
    }
}

/// Formats money for people; an unknown amount is labelled as such.
pub fn dollars(micros: Option<u64>) -> String {
    match micros {
        Some(micros) => format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000),
        None => "unknown".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// acceptance: B3
    #[test]
    fn an_unknown_cost_is_unknown_and_never_zero() {
        let spend = UsageTotal { turns: 7, seconds: 60, ..UsageTotal::default() };
        assert_eq!(dollars(spend.micros), "unknown");
        let one_dollar = SpendLimits { micros: Some(1_000_000), ..SpendLimits::default() };
        assert_eq!(one_dollar.reached(&spend), None);
        let by_turns = SpendLimits { turns: Some(7), ..one_dollar };
        assert_eq!(by_turns.reached(&spend).unwrap().to_string(), "turns 7 of 7");
    }

    #[test]
    fn a_counter_that_starts_again_hands_out_no_fresh_budget() {
        let before = UsageTotal { micros: Some(900_000), turns: 5, ..UsageTotal::default() };
        let after = before.later(UsageTotal { micros: Some(100), turns: 1, ..UsageTotal::default() });
        assert_eq!(after, before);
    }

    #[test]
    fn the_soft_mark_comes_before_the_limit() {
        let limits = SpendLimits { micros: Some(1_000_000), ..SpendLimits::default() };
        let spend = |micros| UsageTotal { micros: Some(micros), ..UsageTotal::default() };
        assert_eq!(limits.nearly_reached(&spend(799_999)), None);
        assert_eq!(limits.nearly_reached(&spend(800_000)).unwrap().to_string(), "cost $0.80 of $1.00");
        assert_eq!(limits.reached(&spend(999_999)), None);
        assert!(limits.reached(&spend(1_000_000)).is_some());
    }

    #[test]
    fn a_turn_that_runs_is_let_be_until_a_limit_is_passed_by_a_tenth() {
        let limits = SpendLimits { micros: Some(1_000_000), turns: Some(3), seconds: Some(15), tokens: None };
        let spend = UsageTotal { micros: Some(1_099_999), turns: 9, seconds: 16, ..UsageTotal::default() };
        assert_eq!(limits.overdrawn(&spend), None);
        assert_eq!(limits.overdrawn_seconds(), Some(17));
        assert_eq!(limits.overdrawn(&UsageTotal { seconds: 17, ..spend }).unwrap().what, "time");
        assert_eq!(limits.overdrawn(&UsageTotal { micros: Some(1_100_000), ..spend }).unwrap().what, "cost");
    }

    #[test]
    fn what_to_type_for_more_is_said_in_full() {
        let reached = |what, spent, limit| ReachedLimit { what, spent, limit }.option();
        assert_eq!(reached("cost", 1_200_000, 1_000_000), "--usd 2.40");
        assert_eq!(reached("turns", 3, 3), "--turns 6");
        assert_eq!(reached("time", 60, 50), "--time 120s");
    }

    #[test]
    fn growth_counts_each_dollar_once() {
        let total = UsageTotal::default();
        let one = UsageTotal { micros: Some(10), turns: 1, ..UsageTotal::default() };
        let two = UsageTotal { micros: Some(30), turns: 2, ..UsageTotal::default() };
        let total = total.add_growth(UsageTotal::default(), one).add_growth(one, two);
        assert_eq!(total, two);
    }
}
