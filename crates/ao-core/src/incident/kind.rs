//! What kinds of problems there are.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What kind of problem it is; reactions are configured by this word.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// The base branch, or what a repository is configured with, was changed and nobody of ours has done it.
    RepositoryChanged,
    AgentStuck,
    AgentIdle,
    AgentNeedsInput,
    AgentExited,
    SetupFailed,
    BudgetExceeded,
    RateLimited,
    AllComplete,
    /// An event of the user's own, by the name that they gave it.
    Custom(EventName),
}

/// The name of an event of the user's own: small letters, digits and `-`, beginning with a letter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventName(String);

/// Why a word cannot be the name of an event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a valid event name: use at most 40 lower-case letters, digits and `-`, starting with a letter"
)]
pub struct BadEventName(pub String);

/// Every kind that we raise ourselves, by its word, in the order in which they are listed for people.
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
    /// The kinds that we raise ourselves.
    pub fn ours() -> impl Iterator<Item = IncidentKind> {
        OURS.iter().map(|(_, kind)| kind.clone())
    }

    pub fn word(&self) -> &str {
        match self {
            IncidentKind::Custom(name) => &name.0,
            ours => OURS.iter().find(|(_, kind)| kind == ours).map_or("", |(word, _)| word),
        }
    }

    /// What an agent is told ahead of the details.
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

/// A word that is none of ours is the name of an event of the user's own.
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

impl Serialize for IncidentKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for IncidentKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<IncidentKind, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

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
