//! Identifiers. A newtype each, so that a pull request cannot be passed where a session is expected.
//!
//! Our own ids are numbers with a prefix (`ses_4f`); they come in with the [`Moment`](crate::Moment), because the
//! core draws no random numbers. Ids from outside (projects, tasks, pull requests) keep their text.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A text that is not an id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {what}; it looks like `{example}`")]
pub struct BadId {
    pub text: String,
    pub what: &'static str,
    pub example: &'static str,
}

/// Converts a value to its text and back, for serde.
macro_rules! stored_as_text {
    ($name:ident) => {
        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.to_string()
            }
        }

        impl TryFrom<String> for $name {
            type Error = <$name as std::str::FromStr>::Err;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }
    };
}
pub(crate) use stored_as_text;

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(into = "String", try_from = "String")]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{:x}"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                text.strip_prefix($prefix)
                    // `from_str_radix` would also accept a sign, which we never write.
                    .filter(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)))
                    .and_then(|digits| u64::from_str_radix(digits, 16).ok())
                    .map($name)
                    .ok_or_else(|| BadId { text: text.into(), what: $what, example: concat!($prefix, "4f") })
            }
        }

        stored_as_text!($name);
    };
}

macro_rules! word_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(word: &str) -> Self {
                $name(word.into())
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

macro_rules! child_id {
    ($(#[$doc:meta])* $name:ident, $field:ident: $child:ty, $mark:literal, $what:literal, $example:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(into = "String", try_from = "String")]
        pub struct $name {
            pub project: ProjectId,
            pub $field: $child,
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!("{}", $mark, "{}"), self.project, self.$field)
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                text.split_once($mark)
                    .and_then(|(project, $field)| {
                        Some($name { project: ProjectId::new(project), $field: $field.parse().ok()? })
                    })
                    .ok_or_else(|| BadId { text: text.into(), what: $what, example: $example })
            }
        }

        stored_as_text!($name);
    };
}

number_id!(
    /// A session: one task given to one agent, over as many attempts as it takes.
    SessionId, "ses_", "a session id"
);
number_id!(
    /// A notice, sent to people once.
    NoticeId, "ntc_", "a notice id"
);
number_id!(
    /// A job that a reaction or a hook runs, once.
    JobId, "job_", "a job id"
);
impl SessionId {
    /// Returns the email address that a session commits under. It identifies the author on any branch.
    pub fn address(self) -> String {
        format!("agent-{self}@orchestrator.local")
    }

    /// Returns the session that commits under this address, if it is one of ours.
    pub fn of_address(address: &str) -> Option<SessionId> {
        address.strip_prefix("agent-")?.strip_suffix("@orchestrator.local")?.parse().ok()
    }
}

word_id!(
    /// A repository managed by the daemon, by the name its owner gave it.
    ProjectId
);
word_id!(
    /// The agent's own name for a conversation that it can resume.
    ConversationId
);
word_id!(
    /// An ask of an agent, unique within an attempt.
    AskId
);
word_id!(
    /// A git commit by its full hash.
    Commit
);
child_id!(
    /// A task by the tracker's own key: `my-app#42`.
    TaskId, key: String, '#', "a task id", "my-app#42"
);
child_id!(
    /// A pull request by its number: `my-app!7`.
    PullId, number: u64, '!', "a pull request id", "my-app!7"
);

/// One launch of an agent's process within a session. Results carry it, so that stale ones are recognized and
/// dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Attempt(pub u32);

impl Attempt {
    pub fn next(self) -> Attempt {
        Attempt(self.0.saturating_add(1))
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_back_as_they_were_written() {
        assert_eq!("ses_4f".parse::<SessionId>().unwrap(), SessionId(0x4f));
        assert_eq!(SessionId(u64::MAX).to_string().parse::<SessionId>().unwrap(), SessionId(u64::MAX));
        let task = TaskId { project: ProjectId::new("my-app"), key: "GH-7#x".into() };
        assert_eq!(task.to_string().parse::<TaskId>().unwrap(), task);
        let pull = PullId { project: ProjectId::new("my-app"), number: 12 };
        assert_eq!(pull.to_string().parse::<PullId>().unwrap(), pull);
    }

    #[test]
    fn the_address_of_a_session_tells_which_it_is() {
        assert_eq!(SessionId::of_address(&SessionId(0x4f).address()), Some(SessionId(0x4f)));
        assert_eq!(SessionId::of_address("ann@example.org"), None);
    }

    #[test]
    fn a_wrong_id_says_what_a_right_one_looks_like() {
        for text in ["ses_", "ses_+4f", "4f", "ses_4G", "ses_4F", "ses_11111111111111111"] {
            let told = text.parse::<SessionId>().unwrap_err().to_string();
            assert_eq!(told, format!("`{text}` is not a session id; it looks like `ses_4f`"));
        }
        assert!("my-app!x".parse::<PullId>().is_err());
        assert!("my-app".parse::<TaskId>().is_err());
    }
}
