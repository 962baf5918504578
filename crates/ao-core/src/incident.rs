//! Problems that open and clear, and the ladder of what is done about them.
//!
//! ```text
//!              seen (again, or on a new revision)
//!                 ▼
//!  opened ─► the agent, at most `attempts` times ─► the orchestrator, once ─► a person, once ─► silence
//!     │
//!     └── not seen for `stable_clear` ─► closed
//! ```
//!
//! The count belongs to the problem and not to its state, so that flicker, restarts and new commits with the same
//! failure spend one budget. It starts anew only after the problem has truly gone.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::settings::Settings;
use crate::{ProjectId, PullId, SessionId, Timestamp};

/// What kind of problem it is; reactions are configured by this word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IncidentKind {
    CiFailed,
    ChangesRequested,
    BotComments,
    MergeConflicts,
    ApprovedAndGreen,
    LabelAdded,
    PrClosed,
    PrMerged,
    BaseRed,
    AgentStuck,
    AgentIdle,
    AgentNeedsInput,
    AgentExited,
    SetupFailed,
    BudgetExceeded,
    RateLimited,
    AllComplete,
}

/// Whom a problem concerns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The machine that we run on.
    Host,
    Project(ProjectId),
    Session(SessionId),
    Pull(PullId),
}

/// Which problem: the same key is the same problem, however often it flickers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct IncidentKey {
    pub subject: Subject,
    pub kind: IncidentKind,
    /// What tells it from others of its kind: check and failure signature, thread, base branch.
    pub problem: String,
}

/// A problem that exists now, as a pull request or a session shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub kind: IncidentKind,
    pub problem: String,
    /// What it was seen on: the head commit, the comment's revision. The same problem on a new revision is worth a
    /// new message, but spends the same budget.
    pub revision: String,
    /// What the agent needs to know to act on it.
    pub detail: String,
}

/// What is done about a kind of problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reaction {
    /// Whether anything is done without a person's word. If not, a person is told.
    pub auto: bool,
    pub action: Action,
    /// How often the action is taken for one problem.
    pub attempts: u32,
    /// How long each rung of the ladder has to help.
    pub escalate_after: Duration,
    /// What the agent is told ahead of the details; without it, the kind's own words.
    pub message: Option<String>,
}

/// What a reaction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    SendToAgent,
    Notify,
    Merge,
    /// It is enough to know.
    Record,
}

/// An open problem and what has been done about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    pub key: IncidentKey,
    pub opened: Timestamp,
    pub revision: String,
    pub detail: String,
    /// Since when it has not been seen.
    pub absent: Option<Timestamp>,
    /// How often the reaction has acted.
    pub acted: u32,
    /// The revision that the last act was about.
    pub acted_on: Option<String>,
    pub rung: Rung,
    /// When the present rung was reached or last acted on.
    pub since: Timestamp,
    /// When patience with the present rung ends.
    pub due: Option<Timestamp>,
}

/// Who has been asked to help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    Agent,
    Orchestrator,
    Person,
    /// Nobody needs to be: it was recorded, and that is all.
    Nobody,
}

/// What can come in for an incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IncidentInput {
    Seen(Problem),
    Absent,
    Due,
    /// News of it was taken back before the agent had it.
    Unsaid,
    /// What it is about is no more.
    Gone,
}

/// Who could help now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Helpers {
    /// There is an agent to tell, and it may take a turn.
    pub(crate) agent: bool,
    pub(crate) orchestrator: bool,
}

/// What happened to an incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IncidentEvent {
    Opened {
        revision: String,
        detail: String,
    },
    Revised {
        revision: String,
        detail: String,
    },
    Vanished {
        until: Timestamp,
    },
    Returned {
        due: Option<Timestamp>,
    },
    /// `told` is the revision that the agent already knows, so that it gets what is new since.
    Acted {
        action: Action,
        told: Option<String>,
        due: Timestamp,
    },
    Escalated {
        to: Rung,
        due: Option<Timestamp>,
        why: String,
    },
    Recorded {},
    Waiting {
        due: Timestamp,
    },
    /// The last act came to nothing, and does not count.
    Unsaid {},
    Closed {},
}

pub(crate) fn decide(
    key: &IncidentKey,
    known: Option<&Incident>,
    settings: &Settings,
    now: Timestamp,
    helpers: Helpers,
    input: IncidentInput,
) -> Vec<IncidentEvent> {
    use IncidentEvent as E;
    let reaction = settings.reaction(key.kind);
    match (known, input) {
        (None, IncidentInput::Seen(problem)) => {
            let opened = Incident::opened(key, &problem.revision, &problem.detail, now);
            let mut events = vec![E::Opened { revision: problem.revision, detail: problem.detail }];
            events.extend(act(&opened, &reaction, now, helpers));
            events
        }
        (None, _) => vec![],
        (Some(incident), IncidentInput::Seen(problem)) => {
            let mut events = Vec::new();
            let mut now_known = incident.clone();
            if incident.absent.is_some() {
                // The ladder goes on where it stood, and with the patience it had; whoever was told is not told again.
                let due = matches!(incident.rung, Rung::Agent | Rung::Orchestrator)
                    .then(|| now.max(incident.since + reaction.escalate_after));
                events.push(E::Returned { due });
            }
            if problem.revision != incident.revision {
                events.push(E::Revised { revision: problem.revision, detail: problem.detail });
            }
            for event in &events {
                evolve(&mut now_known, event, now);
            }
            // Also when nothing is new: the agent may be within reach again.
            if now_known.acted_on.as_deref() != Some(now_known.revision.as_str()) {
                events.extend(act(&now_known, &reaction, now, helpers));
            }
            events
        }
        (Some(incident), IncidentInput::Absent) if incident.absent.is_none() => {
            vec![E::Vanished { until: now + settings.stable_clear }]
        }
        (Some(_), IncidentInput::Absent) => vec![],
        (Some(incident), IncidentInput::Due) if incident.due.is_none_or(|due| now < due) => vec![],
        (Some(incident), IncidentInput::Due) if incident.absent.is_some() => vec![E::Closed {}],
        (Some(incident), IncidentInput::Due) => act(incident, &reaction, now, helpers),
        (Some(incident), IncidentInput::Unsaid) if incident.acted > 0 && incident.rung == Rung::Agent => {
            vec![E::Unsaid {}]
        }
        (Some(_), IncidentInput::Unsaid) => vec![],
        (Some(_), IncidentInput::Gone) => vec![E::Closed {}],
    }
}

/// The next step on the ladder for a problem that is there.
fn act(incident: &Incident, reaction: &Reaction, now: Timestamp, helpers: Helpers) -> Vec<IncidentEvent> {
    use IncidentEvent as E;
    let due = now + reaction.escalate_after;
    let patience_ended = incident.due.is_some_and(|due| due <= now);
    let fresh = incident.acted_on.as_deref() != Some(incident.revision.as_str());
    let reachable = helpers.agent || reaction.action != Action::SendToAgent;
    match incident.rung {
        Rung::Person | Rung::Nobody => vec![],
        Rung::Agent if reaction.action == Action::Record => vec![E::Recorded {}],
        Rung::Agent if !reaction.auto || reaction.action == Action::Notify => {
            vec![E::Escalated { to: Rung::Person, due: None, why: "only a person can decide this".into() }]
        }
        // The agent cannot be told now: it is gone, or may not take a turn. Wait for it, but not for ever.
        Rung::Agent if !reachable && !patience_ended => {
            if incident.due.is_some() {
                vec![]
            } else {
                vec![E::Waiting { due }]
            }
        }
        Rung::Agent if incident.acted < reaction.attempts && reachable && (fresh || patience_ended) => {
            vec![E::Acted { action: reaction.action, told: incident.acted_on.clone(), due }]
        }
        Rung::Agent if (incident.acted >= reaction.attempts && fresh) || patience_ended => {
            let why = match incident.acted {
                0 => "no agent could be told".to_owned(),
                1 => "the agent was told once and it is still there".to_owned(),
                n => format!("the agent was told {n} times and it is still there"),
            };
            if helpers.orchestrator {
                vec![E::Escalated { to: Rung::Orchestrator, due: Some(due), why }]
            } else {
                vec![E::Escalated { to: Rung::Person, due: None, why }]
            }
        }
        Rung::Orchestrator if patience_ended => vec![E::Escalated {
            to: Rung::Person,
            due: None,
            why: "neither the agent nor the orchestrator could help".into(),
        }],
        Rung::Agent | Rung::Orchestrator => vec![],
    }
}

pub(crate) fn evolve(incident: &mut Incident, event: &IncidentEvent, at: Timestamp) {
    use IncidentEvent as E;
    match event {
        E::Opened { .. } | E::Closed {} => {}
        E::Revised { revision, detail } => {
            incident.revision.clone_from(revision);
            incident.detail.clone_from(detail);
        }
        E::Vanished { until } => {
            incident.absent = Some(at);
            incident.due = Some(*until);
        }
        E::Returned { due } => {
            incident.absent = None;
            incident.due = *due;
        }
        E::Acted { due, .. } => {
            incident.acted = incident.acted.saturating_add(1);
            incident.acted_on = Some(incident.revision.clone());
            incident.since = at;
            incident.due = Some(*due);
        }
        E::Escalated { to, due, .. } => {
            incident.rung = *to;
            incident.since = at;
            incident.due = *due;
        }
        E::Recorded {} => {
            incident.rung = Rung::Nobody;
            incident.due = None;
        }
        E::Waiting { due } => incident.due = Some(*due),
        E::Unsaid {} => {
            incident.acted = incident.acted.saturating_sub(1);
            incident.acted_on = None;
        }
    }
}

impl Incident {
    pub(crate) fn opened(key: &IncidentKey, revision: &str, detail: &str, at: Timestamp) -> Incident {
        Incident {
            key: key.clone(),
            opened: at,
            revision: revision.to_owned(),
            detail: detail.to_owned(),
            absent: None,
            acted: 0,
            acted_on: None,
            rung: Rung::Agent,
            since: at,
            due: None,
        }
    }
}

impl IncidentKind {
    /// What is done about it unless the configuration says otherwise.
    pub fn default_reaction(self) -> Reaction {
        let (auto, action, attempts, minutes) = match self {
            IncidentKind::CiFailed => (true, Action::SendToAgent, 3, 30),
            IncidentKind::ChangesRequested => (true, Action::SendToAgent, 3, 30),
            IncidentKind::BotComments => (true, Action::SendToAgent, 2, 30),
            IncidentKind::MergeConflicts => (true, Action::SendToAgent, 3, 15),
            IncidentKind::AgentIdle => (true, Action::SendToAgent, 2, 15),
            // Merging is off until somebody switches it on.
            IncidentKind::ApprovedAndGreen => (false, Action::Merge, 1, 30),
            IncidentKind::LabelAdded | IncidentKind::PrMerged | IncidentKind::RateLimited => {
                (true, Action::Record, 0, 30)
            }
            IncidentKind::PrClosed
            | IncidentKind::BaseRed
            | IncidentKind::AgentStuck
            | IncidentKind::AgentNeedsInput
            | IncidentKind::AgentExited
            | IncidentKind::SetupFailed
            | IncidentKind::BudgetExceeded
            | IncidentKind::AllComplete => (true, Action::Notify, 0, 30),
        };
        Reaction { auto, action, attempts, escalate_after: Duration::from_secs(minutes * 60), message: None }
    }

    /// What an agent is told ahead of the details.
    pub fn default_message(self) -> &'static str {
        match self {
            IncidentKind::CiFailed => "A check failed on your pull request. Fix the cause and push.",
            IncidentKind::ChangesRequested => "A reviewer asks for changes. Address each point and push.",
            IncidentKind::BotComments => "A review tool left remarks. Address those that are right and push.",
            IncidentKind::MergeConflicts => "Your branch conflicts with its base. Rebase it and push.",
            IncidentKind::AgentIdle => {
                "You have stopped. If you are done, commit, push and open a pull request."
            }
            IncidentKind::AgentStuck => "An agent is stuck.",
            IncidentKind::AgentNeedsInput => "An agent waits for an answer.",
            IncidentKind::AgentExited => "An agent ended and could not be brought back.",
            IncidentKind::SetupFailed => "A workspace could not be set up.",
            IncidentKind::BudgetExceeded => "A budget is spent.",
            IncidentKind::ApprovedAndGreen => "A pull request is approved and green.",
            IncidentKind::PrClosed => "A pull request was closed without a merge.",
            IncidentKind::PrMerged => "A pull request was merged.",
            IncidentKind::LabelAdded => "A label was added.",
            IncidentKind::BaseRed => "The base branch itself fails.",
            IncidentKind::RateLimited => "A provider's limit is reached.",
            IncidentKind::AllComplete => "All work is done.",
        }
    }
}

impl fmt::Display for IncidentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = serde_json::to_value(self).expect("a kind is a word");
        f.write_str(word.as_str().unwrap_or_default())
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Host => f.write_str("host"),
            Subject::Project(project) => write!(f, "{project}"),
            Subject::Session(session) => write!(f, "{session}"),
            Subject::Pull(pull) => write!(f, "{pull}"),
        }
    }
}

impl fmt::Display for IncidentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {} ({})", self.kind, self.subject, self.problem)
    }
}
