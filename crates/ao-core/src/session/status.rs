//! Status of a session for people: one word and the reason for it, both derived.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::{AfterStop, Delivery, DeliveryStage, HoldKind, Phase, Session, SessionOutcome, SessionRole};
use crate::Timestamp;
use crate::evidence::{AgentActivity, Reading, judge};
use crate::incident::{IncidentKind, ObservedProblem, ProblemId};
use crate::outside::one_line;
use crate::reaction::threshold;
use crate::state::State;
use crate::text::{beginning, word_enum};

/// Length of the last reply in a status.
const REPLY_SHOWN: usize = 200;

word_enum! {
    /// The state of a session.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    pub enum StatusWord {
        Queued = "queued",
        SettingUp = "setting_up",
        SetupFailed = "setup_failed",
        Starting = "starting",
        Working = "working",
        Idle = "idle",
        NeedsInput = "needs_input",
        Blocked = "blocked",
        RateLimited = "rate_limited",
        Unknown = "unknown",
        /// A budget is spent.
        Capped = "capped",
        Paused = "paused",
        Retrying = "retrying",
        Exited = "exited",
        Stopping = "stopping",
        Stopped = "stopped",
        Merged = "merged",
    }
}

/// Status of a session, and the reason for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusReport {
    pub word: StatusWord,
    pub reason: String,
    pub since: Timestamp,
}

impl Session {
    /// Derives the status at `now`.
    pub fn status(&self, now: Timestamp) -> StatusReport {
        let say = |word, reason: String, since| StatusReport { word, reason, since };
        let held = self.holds.iter().next();
        match &self.phase {
            Phase::Stopping { then, .. } => {
                let reason = match then {
                    AfterStop::End { outcome } => outcome.to_string(),
                    AfterStop::Retry { why, .. }
                    | AfterStop::Rest { why, .. }
                    | AfterStop::GiveWay { why } => why.clone(),
                };
                say(StatusWord::Stopping, reason, self.activity_since)
            }
            Phase::Ended { outcome, at } => {
                let word = match outcome {
                    SessionOutcome::Merged { .. } => StatusWord::Merged,
                    SessionOutcome::Stopped { .. } => StatusWord::Stopped,
                };
                say(word, outcome.to_string(), *at)
            }
            Phase::SetupFailed { why } => say(StatusWord::SetupFailed, why.clone(), self.activity_since),
            _ if let Some((kind, hold)) = held.filter(|_| !self.needs_more_than_time(now)) => {
                let word = match kind {
                    HoldKind::Person | HoldKind::Consent | HoldKind::Hook => StatusWord::Paused,
                    HoldKind::Account => StatusWord::RateLimited,
                    HoldKind::Budget
                    | HoldKind::TaskBudget
                    | HoldKind::ProjectBudget
                    | HoldKind::TotalBudget
                    | HoldKind::DailyBudget => StatusWord::Capped,
                };
                // Sessions of one account resume one after the other.
                let why = match (kind, self.resume.at) {
                    (HoldKind::Account, Some(at)) => {
                        format!("the provider's limit is over; it resumes in {} s", at.since(now).as_secs())
                    }
                    _ => hold.why.clone(),
                };
                say(word, why, hold.since)
            }
            Phase::Queued { since } => say(StatusWord::Queued, "waits for a free slot".into(), *since),
            Phase::Preparing { .. } if self.is_setting_up() => {
                say(StatusWord::SettingUp, "its set-up commands run".into(), self.activity_since)
            }
            Phase::Preparing { .. } => {
                say(StatusWord::SettingUp, "its workspace is being made".into(), self.activity_since)
            }
            Phase::Starting { tries: 0, .. } => {
                say(StatusWord::Starting, "its process is being started".into(), self.evidence.since)
            }
            Phase::Starting { tries, .. } => say(
                StatusWord::Starting,
                format!("its process is being started, try {}", tries + 1),
                self.evidence.since,
            ),
            Phase::Retrying { at, why } => say(
                StatusWord::Retrying,
                format!("{why}; starts again in {} s", at.since(now).as_secs()),
                self.activity_since,
            ),
            Phase::Exited { at, .. } if self.rests_after_turn() && self.outbox.is_empty() => {
                say(StatusWord::Idle, self.with_last_reply("its turn is over"), *at)
            }
            // Its exit was seen before its last output was read, which shows whether it had taken its message.
            Phase::Exited { at, .. } if self.rests_after_turn() && self.proof_is_due().is_some() => {
                say(StatusWord::Working, "its last output is being read".into(), *at)
            }
            Phase::Exited { at, why, .. } => {
                say(StatusWord::Exited, self.with_limit(self.with_last_reply(why)), *at)
            }
            Phase::Resting { why, .. } => say(StatusWord::Idle, why.clone(), self.activity_since),
            Phase::Running { .. } => {
                let judgement = judge(&self.evidence, now);
                if judgement.activity == AgentActivity::Idle
                    && let Some(status) = self.being_told(now)
                {
                    return status;
                }
                let word = match judgement.activity {
                    AgentActivity::Starting => StatusWord::Starting,
                    AgentActivity::Working => StatusWord::Working,
                    AgentActivity::Idle => StatusWord::Idle,
                    AgentActivity::NeedsInput => StatusWord::NeedsInput,
                    AgentActivity::Blocked => StatusWord::Blocked,
                    AgentActivity::RateLimited => StatusWord::RateLimited,
                    AgentActivity::Exited => StatusWord::Exited,
                    AgentActivity::Unknown => StatusWord::Unknown,
                };
                let reason = match judgement.detail.as_str() {
                    "" => judgement.rule.to_string(),
                    detail => format!("{}: {detail}", judgement.rule),
                };
                say(word, self.with_limit(self.with_drift(reason)), self.activity_since)
            }
        }
    }

    /// Adds the provider's limit that holds it to the reason.
    fn with_limit(&self, reason: String) -> String {
        match self.holds.get(&HoldKind::Account) {
            Some(hold) => format!("{reason}; besides, {}", hold.why),
            None => reason,
        }
    }

    /// Returns true if it waits for a person though a provider's limit holds it: it asks something, is blocked or has
    /// crashed. The end of the limit mends none of these, so the limit must not hide them.
    fn needs_more_than_time(&self, now: Timestamp) -> bool {
        let limited = self.holds.keys().next() == Some(&HoldKind::Account);
        let needs = match &self.phase {
            Phase::Running { .. } => {
                matches!(
                    judge(&self.evidence, now).activity,
                    AgentActivity::NeedsInput | AgentActivity::Blocked
                )
            }
            // Unless the limit itself ended its process.
            Phase::Exited { code, .. } => *code != Some(0) && !self.met_a_limit(),
            _ => false,
        };
        limited && needs
    }

    /// Returns true if its present attempt was refused more work by the provider.
    pub(super) fn met_a_limit(&self) -> bool {
        self.evidence.latest().any(|signal| matches!(signal.reading, Reading::Limited { .. }))
    }

    /// Returns the status of an agent at its prompt that is about to read a message: it does not count as idle, and
    /// the sender sees progress. A delivery that is postponed, because a person types or a dialog is open, does not
    /// count.
    fn being_told(&self, now: Timestamp) -> Option<StatusReport> {
        let on_its_way = |delivery: &&Delivery| match delivery.stage {
            DeliveryStage::Writing => delivery.pauses == 0,
            DeliveryStage::Written { proof_by: until } | DeliveryStage::Paused { until, counts: true } => {
                now <= until
            }
            DeliveryStage::Paused { counts: false, .. } => false,
        };
        let delivery = self.outbox.current.as_ref().filter(on_its_way)?;
        let since = delivery.messages.iter().map(|message| message.queued).max();
        let since = since.map_or(self.activity_since, |queued| queued.max(self.activity_since));
        let (word, reason) = match self.outbox.carries_task(delivery.no) {
            true => (StatusWord::Starting, "its task is being given to it"),
            false => (StatusWord::Working, "a message is being given to it"),
        };
        Some(StatusReport { word, reason: self.with_drift(reason.into()), since })
    }

    fn with_last_reply(&self, reason: &str) -> String {
        match &self.last_reply {
            Some(reply) => format!("{reason}: {}", beginning(&one_line(reply), REPLY_SHOWN)),
            None => reason.to_owned(),
        }
    }

    fn with_drift(&self, reason: String) -> String {
        match &self.watch.drift {
            Some(what) => format!("{reason}; {what}"),
            None => reason,
        }
    }

    /// Returns the problems of this session.
    ///
    /// Idle alone is no problem: an orchestrator that a person drives is idle most of the time. For a worker whose
    /// work is not done it becomes one after some time.
    pub fn problems(&self, now: Timestamp, state: &State) -> Vec<ObservedProblem> {
        let settings = &state.settings;
        let mut problems = Vec::new();
        // Each dialog, each exit, each spent budget is a problem of its own, so each is reported once.
        let mut add = |kind, id: ProblemId, detail: &str| {
            problems.push(ObservedProblem {
                kind,
                id,
                revision: self.attempt.to_string(),
                detail: detail.to_owned(),
            });
        };
        let since = self.activity_since;
        let mut idle = None;
        match &self.phase {
            Phase::SetupFailed { why } => {
                add(IncidentKind::SetupFailed, ProblemId::Attempt(self.attempt), why);
            }
            // Many agents exit with code 0 when they are done, unless they have more messages. What a spent budget or
            // a provider's limit has ended waits for that, and is reported already.
            Phase::Exited { .. }
                if self.holds.keys().any(|kind| kind.is_budget())
                    || self.holds.contains_key(&HoldKind::Account) && self.met_a_limit() => {}
            Phase::Exited { why, code, .. } if *code != Some(0) || self.is_deaf(settings.restarts) => {
                let why = self.with_last_reply(why);
                add(IncidentKind::AgentExited, ProblemId::Attempt(self.attempt), &why);
            }
            Phase::Exited { .. } => idle = self.idles_without_result(since),
            Phase::Stopping { tries, .. } if *tries >= settings.setup_tries => {
                add(IncidentKind::AgentStuck, ProblemId::Unstoppable, "its process cannot be ended");
            }
            Phase::Running { .. } => match self.judgement.activity {
                // Not by its text: several sources report one dialog, each in its own way.
                AgentActivity::NeedsInput => {
                    for open in self.evidence.open_asks() {
                        add(IncidentKind::AgentNeedsInput, ProblemId::Ask(open.number), &open.ask.title);
                    }
                    if self.dialogs.open.is_some() {
                        // By the number that it keeps if the agent reports it by an id.
                        let id = ProblemId::Ask(self.dialogs.questions);
                        add(IncidentKind::AgentNeedsInput, id, &self.judgement.detail);
                    }
                }
                AgentActivity::Blocked => {
                    add(IncidentKind::AgentStuck, ProblemId::Blocked(since), &self.judgement.detail);
                }
                AgentActivity::Unknown if now.since(since) >= self.stuck_after(state) => {
                    add(IncidentKind::AgentStuck, ProblemId::Silent(since), &self.judgement.rule.to_string());
                }
                AgentActivity::Idle => idle = self.idles_without_result(since),
                _ => {}
            },
            // Giving up its slot does not finish its work.
            Phase::Stopping { then: AfterStop::GiveWay { .. }, .. } | Phase::Resting { .. } => {
                idle = self.idles_without_result(since);
            }
            _ => {}
        }
        if let Some(hold) = self.holds.get(&HoldKind::Budget) {
            add(IncidentKind::BudgetExceeded, ProblemId::Since(hold.since), &hold.why);
        }
        if let Some(detail) = idle {
            // One problem for as long as the work is not done, even with interruptions.
            problems.push(ObservedProblem {
                kind: IncidentKind::AgentIdle,
                id: ProblemId::NoPull,
                revision: since.to_string(),
                detail,
            });
        }
        problems
    }
}

impl Session {
    /// Returns true if its processes end one after the other without taking a message.
    fn is_deaf(&self, restarts: u32) -> bool {
        !self.outbox.is_empty() && self.launch.fruitless > restarts && self.proof_is_due().is_none()
    }

    /// Returns the reason why it counts as idle for too long without a result.
    fn idles_without_result(&self, since: Timestamp) -> Option<String> {
        let typed = self.evidence.human_typed.unwrap_or(since).max(since);
        (self.lingers == Some(since) && self.leaves_work())
            .then(|| format!("idle since {}, and there is no pull request", typed.utc()))
    }

    /// Returns how long it may be without evidence.
    fn stuck_after(&self, state: &State) -> Duration {
        let project = state.projects.get(&self.spec.project);
        let kind = IncidentKind::AgentStuck;
        threshold(&kind, &state.settings, project, &self.spec.agent).unwrap_or(state.settings.stuck_after)
    }

    /// Returns true if it is a worker that nothing keeps from working and that has no pull request yet. One with a pull
    /// request waits for others.
    pub(super) fn leaves_work(&self) -> bool {
        self.spec.role == SessionRole::Worker && self.pulls.is_empty() && self.holds.is_empty()
    }
}

impl fmt::Display for SessionOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionOutcome::Merged { pull } => write!(f, "its change was merged as {pull}"),
            SessionOutcome::Stopped { by, why } if why.is_empty() => write!(f, "stopped by {by}"),
            SessionOutcome::Stopped { by, why } => write!(f, "stopped by {by}: {why}"),
        }
    }
}
