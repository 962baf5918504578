//! The kinds of incidents.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::stored_as_text;

/// The kind of an incident; reactions are configured by its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum IncidentKind {
    CiFailed,
    ChangesRequested,
    BotComments,
    MergeConflicts,
    ReviewNeeded,
    ApprovedAndGreen,
    LabelAdded,
    PrClosed,
    PrMerged,
    BaseRed,
    /// The base branch, or the configuration of a repository, was changed by neither a person nor the queue.
    RepositoryChanged,
    AgentStuck,
    AgentIdle,
    AgentNeedsInput,
    AgentExited,
    SetupFailed,
    BudgetExceeded,
    RateLimited,
    AllComplete,
    /// A custom event, by the name that the user gave it.
    Custom(EventName),
}

/// The name of a custom event: lower-case letters, digits and `-`, beginning with a letter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventName(String);

/// A text that cannot be the name of an event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a valid event name: use at most 40 lower-case letters, digits and `-`, starting with a letter"
)]
pub struct BadEventName(pub String);

/// All built-in kinds by name, in the order in which they are listed for people.
const OURS: [(&str, IncidentKind); 19] = [
    ("ci-failed", IncidentKind::CiFailed),
    ("changes-requested", IncidentKind::ChangesRequested),
    ("bot-comments", IncidentKind::BotComments),
    ("merge-conflicts", IncidentKind::MergeConflicts),
    ("review-needed", IncidentKind::ReviewNeeded),
    ("approved-and-green", IncidentKind::ApprovedAndGreen),
    ("label-added", IncidentKind::LabelAdded),
    ("pr-closed", IncidentKind::PrClosed),
    ("pr-merged", IncidentKind::PrMerged),
    ("base-red", IncidentKind::BaseRed),
    ("repository-changed", IncidentKind::RepositoryChanged),
    ("agent-stuck", IncidentKind::AgentStuck),
    ("agent-idle", IncidentKind::AgentIdle),
    ("agent-needs-input", IncidentKind::AgentNeedsInput),
    ("agent-exited", IncidentKind::AgentExited),
    ("setup-failed", IncidentKind::SetupFailed),
    ("budget-exceeded", IncidentKind::BudgetExceeded),
    ("rate-limited", IncidentKind::RateLimited),
    ("all-complete", IncidentKind::AllComplete),
];

impl IncidentKind {
    /// Returns the built-in kinds.
    pub fn ours() -> impl Iterator<Item = IncidentKind> {
        OURS.iter().map(|(_, kind)| kind.clone())
    }

    pub fn word(&self) -> &str {
        match self {
            IncidentKind::Custom(name) => &name.0,
            ours => OURS.iter().find(|(_, kind)| kind == ours).map_or("", |(word, _)| word),
        }
    }

    /// Returns the text that precedes the details in a message to an agent.
    pub fn default_message(&self) -> &'static str {
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
            IncidentKind::AgentExited => "An agent exited and could not be restarted.",
            IncidentKind::SetupFailed => "A workspace could not be set up.",
            IncidentKind::BudgetExceeded => "A budget is spent.",
            IncidentKind::ReviewNeeded => "A pull request waits for you.",
            IncidentKind::ApprovedAndGreen => "A pull request is approved and green.",
            IncidentKind::PrClosed => "A pull request was closed without a merge.",
            IncidentKind::PrMerged => "A pull request was merged.",
            IncidentKind::LabelAdded => "A label was added.",
            IncidentKind::BaseRed => "The base branch itself fails.",
            IncidentKind::RepositoryChanged => "The repository was changed, and it is not known by whom.",
            IncidentKind::RateLimited => "A provider's limit is reached.",
            IncidentKind::AllComplete => "All work is done.",
            IncidentKind::Custom(_) => "Something happened that you should know of.",
        }
    }
}

impl EventName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IncidentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Parses a name. One that is not built in is a custom event.
impl FromStr for IncidentKind {
    type Err = BadEventName;

    fn from_str(word: &str) -> Result<IncidentKind, BadEventName> {
        if let Some((_, kind)) = OURS.iter().find(|(known, _)| *known == word) {
            return Ok(kind.clone());
        }
        let fits = word.len() <= 40
            && word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        match fits {
            true => Ok(IncidentKind::Custom(EventName(word.to_owned()))),
            false => Err(BadEventName(word.to_owned())),
        }
    }
}

stored_as_text!(IncidentKind);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_by_the_word_that_it_is_written_by() {
        for kind in IncidentKind::ours() {
            assert!(!kind.word().is_empty(), "{kind:?} has no word");
            assert_eq!(kind.word().parse(), Ok(kind.clone()));
            assert_eq!(
                serde_json::from_str::<IncidentKind>(&serde_json::to_string(&kind).unwrap()).unwrap(),
                kind
            );
        }
    }

    #[test]
    fn another_word_is_an_event_of_the_users_own() {
        assert_eq!("deploy-failed".parse::<IncidentKind>().unwrap().to_string(), "deploy-failed");
        for bad in ["", "Deploy", "1st", "a b", "-x", &"a".repeat(41)] {
            assert!(bad.parse::<IncidentKind>().is_err(), "{bad}");
        }
    }
}
