//! Budgets that several sessions share: one for a task, two for a project, one for a day. A session's own is its own.
//!
//! ```text
//!  a session spends ─► BudgetUsage::spend ─► Count ─┬─ 80 % ─► Marked     the agents are asked to commit and sum up
//!                                             ├─ 100 % ─► Capped    no further turn, message or start
//!                                             └─ 110 % ─► Overdrawn  also the turns that still run end
//!           a new limit, or a new day ─► Uncapped
//! ```

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{SpendLimits, UsageTotal};
use crate::id::stored_as_text;
use crate::incident::Subject;
use crate::refusal::Refusal;
use crate::session::HoldKind;
use crate::{BadId, ProjectId, TaskId, Timestamp};

/// The time in which a running turn may end by itself once its budget is spent, at any cost.
pub(crate) const GRACE: Duration = Duration::from_secs(30);

/// The scope of a budget.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum BudgetScope {
    /// All sessions of one task together, including ended ones.
    Task(TaskId),
    /// A project, without a time limit.
    Project(ProjectId),
    /// A project, for one day.
    ProjectDay(ProjectId),
    /// Everything, for one day.
    Day,
}

/// The usage of a budget, and its consequences.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BudgetUsage {
    /// The day that it applies to, if the budget is daily.
    pub day: Option<i64>,
    pub spent: UsageTotal,
    /// Some of it was spent by agents that do not report their cost.
    pub partly_unknown: bool,
    /// The limits that a person has set instead of the configured ones.
    pub raised: Option<SpendLimits>,
    /// The soft mark has been announced.
    pub marked: bool,
    pub cap: Option<BudgetCap>,
}

/// A spent budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetCap {
    pub why: String,
    pub since: Timestamp,
    /// The time at which it ends by itself, if it does.
    pub until: Option<Timestamp>,
    /// The turns that still ran were ended too.
    pub overdrawn: bool,
    /// The time at which running turns are judged again, if no report arrives before.
    pub judge_at: Option<Timestamp>,
}

/// An input for a budget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BudgetInput {
    /// Spending or limits have changed.
    Count,
    /// A person sets another limit.
    Raise { limits: SpendLimits },
    /// Running turns are to be judged again, or the day is over.
    Due,
}

/// An event of a budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BudgetEvent {
    /// The soft mark is reached.
    Marked { mark: String },
    /// It is spent.
    Capped {
        why: String,
        until: Option<Timestamp>,
        /// The time at which running turns are judged again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        judge_at: Option<Timestamp>,
    },
    /// It is exceeded so far that running turns end too.
    Overdrawn { why: String },
    /// The budget is not exceeded so far that running turns have to end.
    Spared {},
    /// A person has set another limit.
    Raised { limits: SpendLimits },
    /// It is no longer spent.
    Uncapped {},
}

pub(crate) fn decide(
    budget: &BudgetScope,
    configured: SpendLimits,
    usage: &BudgetUsage,
    now: Timestamp,
    input: BudgetInput,
) -> Result<Vec<BudgetEvent>, Refusal> {
    use BudgetEvent as E;
    let spent = usage.spent_at(now);
    match input {
        BudgetInput::Count => {
            let limits = usage.limits_at(now, configured);
            let Some(reached) = limits.reached(&spent) else {
                let over = usage.cap.is_some().then_some(E::Uncapped {});
                let marked = usage.marked && !usage.is_past(now);
                let mark = limits
                    .nearly_reached(&spent)
                    .filter(|_| !marked)
                    .map(|mark| E::Marked { mark: mark.to_string() });
                return Ok(over.into_iter().chain(mark).collect());
            };
            let why = format!("{budget:#} is spent: {reached}");
            Ok(match &usage.cap {
                None => {
                    let until = budget.is_daily().then(|| day_start(day_of(now) + 1));
                    vec![E::Capped { why, until, judge_at: Some(now + GRACE) }]
                }
                Some(cap)
                    if !cap.overdrawn && cap.since + GRACE <= now && limits.overdrawn(&spent).is_some() =>
                {
                    vec![E::Overdrawn { why }]
                }
                Some(_) => vec![],
            })
        }
        BudgetInput::Raise { limits } => match limits.reached(&spent) {
            Some(reached) => Err(Refusal::Invalid {
                what: format!("{budget:#} is spent beyond that already ({reached}); name a higher limit"),
            }),
            None => {
                let over = usage.cap.is_some().then_some(E::Uncapped {});
                Ok([E::Raised { limits }].into_iter().chain(over).collect())
            }
        },
        BudgetInput::Due => {
            let over = usage.cap.as_ref().and_then(|cap| cap.until).is_some_and(|until| until <= now);
            if over {
                return Ok(vec![E::Uncapped {}]);
            }
            // The last report may have come within the grace period, or the limit may be new.
            let judged = usage.cap.as_ref().filter(|cap| cap.judge_at.is_some_and(|at| at <= now));
            let limits = usage.limits_at(now, configured);
            Ok(judged.map_or(vec![], |cap| match limits.overdrawn(&spent) {
                Some(reached) if !cap.overdrawn => {
                    vec![E::Overdrawn { why: format!("{budget:#} is spent: {reached}") }]
                }
                _ => vec![E::Spared {}],
            }))
        }
    }
}

pub(crate) fn evolve(budget: &BudgetScope, usage: &mut BudgetUsage, event: &BudgetEvent, at: Timestamp) {
    if budget.is_daily() && !matches!(event, BudgetEvent::Uncapped {}) {
        usage.turn_to(day_of(at));
    }
    match event {
        BudgetEvent::Marked { .. } => usage.marked = true,
        BudgetEvent::Capped { why, until, judge_at } => {
            let (why, until, judge_at) = (why.clone(), *until, *judge_at);
            usage.cap = Some(BudgetCap { why, since: at, until, overdrawn: false, judge_at });
        }
        BudgetEvent::Overdrawn { .. } | BudgetEvent::Spared {} => {
            if let Some(cap) = &mut usage.cap {
                cap.overdrawn |= matches!(event, BudgetEvent::Overdrawn { .. });
                cap.judge_at = None;
            }
        }
        BudgetEvent::Raised { limits } => {
            usage.raised = Some(*limits);
            usage.marked = false;
        }
        BudgetEvent::Uncapped {} => usage.cap = None,
    }
}

impl BudgetScope {
    /// Returns whether the budget is daily.
    pub fn is_daily(&self) -> bool {
        matches!(self, BudgetScope::ProjectDay(_) | BudgetScope::Day)
    }

    pub fn project(&self) -> Option<&ProjectId> {
        match self {
            BudgetScope::Task(task) => Some(&task.project),
            BudgetScope::Project(project) | BudgetScope::ProjectDay(project) => Some(project),
            BudgetScope::Day => None,
        }
    }

    /// Returns the name of the scope in commands and the API, next to `session`.
    pub fn word(&self) -> &'static str {
        match self {
            BudgetScope::Task(_) => "task",
            BudgetScope::Project(_) => "project",
            BudgetScope::ProjectDay(_) => "project-day",
            BudgetScope::Day => "day",
        }
    }

    /// Returns the hold of sessions while it is spent.
    pub(crate) fn hold(&self) -> HoldKind {
        match self {
            BudgetScope::Task(_) => HoldKind::TaskBudget,
            BudgetScope::Project(_) => HoldKind::TotalBudget,
            BudgetScope::ProjectDay(_) => HoldKind::ProjectBudget,
            BudgetScope::Day => HoldKind::DailyBudget,
        }
    }

    /// Returns the subject of the incident when it is spent.
    pub(crate) fn subject(&self) -> Subject {
        self.project().map_or(Subject::Host, |project| Subject::Project(project.clone()))
    }
}

impl BudgetUsage {
    /// Returns the time at which a timer is due.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        let cap = self.cap.as_ref()?;
        cap.until.into_iter().chain(cap.judge_at).min()
    }

    /// Adds the growth of a session's spending.
    pub(crate) fn spend(
        &mut self,
        budget: &BudgetScope,
        at: Timestamp,
        before: UsageTotal,
        after: UsageTotal,
    ) {
        if budget.is_daily() {
            self.turn_to(day_of(at));
        }
        self.spent = self.spent.add_growth(before, after);
        self.partly_unknown |= after.micros.is_none() && after.turns > before.turns;
    }

    /// Returns the amount spent as of `now`; nothing, if it is another day.
    pub fn spent_at(&self, now: Timestamp) -> UsageTotal {
        if self.is_past(now) { UsageTotal::default() } else { self.spent }
    }

    /// Returns the limits in force. Limits that a person has set for one day do not apply to the next.
    pub fn limits_at(&self, now: Timestamp, configured: SpendLimits) -> SpendLimits {
        self.raised.filter(|_| !self.is_past(now)).unwrap_or(configured)
    }

    fn is_past(&self, now: Timestamp) -> bool {
        self.day.is_some_and(|day| day != day_of(now))
    }

    fn turn_to(&mut self, day: i64) {
        if self.day != Some(day) {
            // A cap ends at its own time, not with the first spending of the next day.
            *self = BudgetUsage { day: Some(day), cap: self.cap.take(), ..BudgetUsage::default() };
        }
    }
}

fn day_start(day: i64) -> Timestamp {
    Timestamp(day.saturating_mul(86_400_000))
}

/// Returns the day by UTC; only the configuration knows a person's own midnight.
pub(crate) fn day_of(at: Timestamp) -> i64 {
    at.0.div_euclid(86_400_000)
}

/// Formats it as a key: `task my-app#42`, `project my-app`, `project-day my-app`, `day`; with `#`, for people.
impl fmt::Display for BudgetScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, f.alternate()) {
            (BudgetScope::Task(task), true) => write!(f, "the budget of {task}"),
            (BudgetScope::Project(project), true) => write!(f, "the whole budget of `{project}`"),
            (BudgetScope::ProjectDay(project), true) => write!(f, "today's budget of `{project}`"),
            (BudgetScope::Day, true) => f.write_str("today's budget of all projects"),
            (BudgetScope::Task(task), false) => write!(f, "task {task}"),
            (BudgetScope::Project(project), false) => write!(f, "project {project}"),
            (BudgetScope::ProjectDay(project), false) => write!(f, "project-day {project}"),
            (BudgetScope::Day, false) => f.write_str("day"),
        }
    }
}

impl FromStr for BudgetScope {
    type Err = BadId;

    fn from_str(text: &str) -> Result<BudgetScope, BadId> {
        match text.split_once(' ') {
            None if text == "day" => Ok(BudgetScope::Day),
            Some(("task", task)) => task.parse().map(BudgetScope::Task),
            Some(("project", project)) => Ok(BudgetScope::Project(ProjectId::new(project))),
            Some(("project-day", project)) => Ok(BudgetScope::ProjectDay(ProjectId::new(project))),
            _ => Err(BadId { text: text.into(), what: "a budget", example: "project my-app" }),
        }
    }
}

stored_as_text!(BudgetScope);

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(micros: u64) -> BudgetUsage {
        BudgetUsage {
            spent: UsageTotal { micros: Some(micros), ..UsageTotal::default() },
            ..BudgetUsage::default()
        }
    }

    fn count(usage: &BudgetUsage, seconds: i64) -> Vec<BudgetEvent> {
        let limits = SpendLimits { micros: Some(1_000_000), ..SpendLimits::default() };
        let budget = BudgetScope::Project(ProjectId::new("app"));
        decide(&budget, limits, usage, Timestamp(seconds * 1000), BudgetInput::Count).unwrap()
    }

    #[test]
    fn a_budget_is_read_by_the_words_that_it_is_written_by() {
        let task = TaskId { project: ProjectId::new("my-app"), key: "42".into() };
        let project = ProjectId::new("my-app");
        for budget in [
            BudgetScope::Task(task),
            BudgetScope::Project(project.clone()),
            BudgetScope::ProjectDay(project),
            BudgetScope::Day,
        ] {
            assert_eq!(budget.to_string().parse::<BudgetScope>().unwrap(), budget);
        }
        assert!("week".parse::<BudgetScope>().is_err());
    }

    #[test]
    fn a_shared_budget_is_marked_then_spent_then_overdrawn() {
        assert_eq!(count(&usage(799_999), 0), []);
        let mark = BudgetEvent::Marked { mark: "cost $0.80 of $1.00".into() };
        assert_eq!(count(&usage(800_000), 0), [mark]);
        assert_eq!(count(&BudgetUsage { marked: true, ..usage(900_000) }, 0), []);
        let why = || "the whole budget of `app` is spent: cost $1.00 of $1.00".to_owned();
        assert_eq!(
            count(&usage(1_000_000), 0),
            [BudgetEvent::Capped { why: why(), until: None, judge_at: Some(Timestamp(30_000)) }]
        );
        let cap = |overdrawn| {
            Some(BudgetCap { why: why(), since: Timestamp(0), until: None, overdrawn, judge_at: None })
        };
        assert_eq!(count(&BudgetUsage { cap: cap(false), ..usage(1_099_999) }, 60), []);
        assert_eq!(
            count(&BudgetUsage { cap: cap(false), ..usage(1_100_000) }, 29),
            [],
            "it may end by itself"
        );
        let over = count(&BudgetUsage { cap: cap(false), ..usage(1_100_000) }, 30);
        assert!(matches!(over.as_slice(), [BudgetEvent::Overdrawn { .. }]), "{over:?}");
        assert_eq!(count(&BudgetUsage { cap: cap(true), ..usage(2_000_000) }, 60), []);
        assert_eq!(count(&BudgetUsage { cap: cap(false), ..usage(10) }, 60), [BudgetEvent::Uncapped {}]);
    }

    #[test]
    fn what_was_spent_yesterday_is_not_spent_today() {
        let budget = BudgetScope::Day;
        let mut usage = BudgetUsage::default();
        let one = UsageTotal { micros: Some(10), turns: 1, ..UsageTotal::default() };
        usage.spend(&budget, Timestamp(0), UsageTotal::default(), one);
        usage.raised = Some(SpendLimits::default());
        assert_eq!(usage.spent_at(Timestamp(86_399_999)), one);
        assert_eq!(usage.spent_at(Timestamp(86_400_000)), UsageTotal::default());
        let configured = SpendLimits { turns: Some(3), ..SpendLimits::default() };
        assert_eq!(usage.limits_at(Timestamp(86_400_000), configured), configured);
        let two = UsageTotal { micros: None, turns: 2, ..UsageTotal::default() };
        usage.spend(&budget, Timestamp(86_400_000), one, two);
        assert_eq!((usage.spent.turns, usage.spent.micros, usage.partly_unknown), (1, None, true));
    }
}
