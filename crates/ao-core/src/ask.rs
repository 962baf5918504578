//! Asks of an agent: permissions, choices and questions, each with an id and the options to answer it with.

use serde::{Deserialize, Serialize};

use crate::masking::FreeText as _;
use crate::text::beginning;
use crate::{AskId, Timestamp};

/// The longest title; a person has to be able to read all of it.
const TITLE_MOST: usize = 4000;
/// The longest text of a detail. A longer one is cut, and ends with a mark.
const DETAIL_MOST: usize = 16 * 1024;
/// The most details and options of one ask.
const PARTS_MOST: usize = 32;

/// A request of an agent to a person. Several may be open at once, for example of subagents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// The id by which the agent is answered.
    pub id: AskId,
    pub kind: AskKind,
    /// The request in one sentence, such as a question or the name of a tool call.
    pub title: String,
    /// The exact subject of a permission.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<AskDetail>,
    /// The possible answers, in the agent's order. Without any, the answer is a text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<AskOption>,
}

/// The kind of an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskKind {
    /// To be allowed something.
    Permission,
    /// To choose one of the options.
    Choice,
    /// To be given a text.
    #[default]
    Text,
}

/// A part of what is to be allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskDetail {
    Tool { name: String },
    Command { command: String },
    Path { path: String },
    Diff { path: String, diff: String },
}

/// A possible answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskOption {
    /// The agent's own id of the option.
    pub id: String,
    pub label: String,
    #[serde(default)]
    pub kind: OptionKind,
}

/// The meaning of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    AllowOnce,
    AllowAlways,
    RejectOnce,
    RejectAlways,
    #[default]
    Other,
}

/// An ask that waits for its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenAsk {
    /// Counts the questions of the session from 1. People answer by it.
    pub number: u32,
    pub since: Timestamp,
    pub ask: Ask,
}

impl Ask {
    /// Returns an ask for a text, without details.
    pub fn question(id: AskId, title: &str) -> Ask {
        Ask { id, kind: AskKind::Text, title: title.to_owned(), details: vec![], options: vec![] }
    }

    /// Returns the ask with texts of bounded length.
    pub(crate) fn bounded(mut self) -> Ask {
        self.title = beginning(&self.title, TITLE_MOST);
        self.details.truncate(PARTS_MOST);
        self.options.truncate(PARTS_MOST);
        self.each_text(&mut |text| *text = beginning(text, DETAIL_MOST));
        self
    }

    /// Returns the option that an answer means: by its number, id or label, or `yes` and `no` for what allows or rejects
    /// once.
    pub fn option(&self, answer: &str) -> Option<&AskOption> {
        let answer = answer.trim();
        let kind = match answer.to_lowercase().as_str() {
            "yes" | "y" => Some(OptionKind::AllowOnce),
            "no" | "n" => Some(OptionKind::RejectOnce),
            _ => None,
        };
        let named = |option: &&AskOption| {
            option.id == answer || option.label.trim().to_lowercase() == answer.to_lowercase()
        };
        let numbered = || self.options.get(answer.parse::<usize>().ok()?.checked_sub(1)?);
        let meant = || self.options.iter().find(|option| kind == Some(option.kind));
        self.options.iter().find(named).or_else(numbered).or_else(meant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(id: &str, label: &str, kind: OptionKind) -> AskOption {
        AskOption { id: id.into(), label: label.into(), kind }
    }

    #[test]
    fn an_answer_means_one_option_or_none() {
        let options = vec![
            option("always", "Yes, always", OptionKind::AllowAlways),
            option("once", "Yes", OptionKind::AllowOnce),
            option("2", "No", OptionKind::RejectOnce),
        ];
        let ask = Ask { options, ..Ask::question(AskId::new("a"), "Allow?") };
        for (answer, expected) in [
            ("once", Some("once")),
            ("yes", Some("once")),
            (" YES, ALWAYS ", Some("always")),
            ("n", Some("2")),
            ("1", Some("always")),
            // An id goes before a number.
            ("2", Some("2")),
            ("3", Some("2")),
            ("0", None),
            ("4", None),
            ("perhaps", None),
        ] {
            assert_eq!(ask.option(answer).map(|option| &*option.id), expected, "{answer}");
        }
        assert_eq!(Ask::question(AskId::new("a"), "Why?").option("yes"), None);
    }

    #[test]
    fn an_ask_has_a_bounded_length() {
        let diff = AskDetail::Diff { path: "a".into(), diff: "ü".repeat(DETAIL_MOST) };
        let ask = Ask { details: vec![diff; 100], ..Ask::question(AskId::new("a"), &"x".repeat(9000)) };
        let ask = ask.bounded();
        assert_eq!((ask.title.len(), ask.details.len()), (TITLE_MOST + '…'.len_utf8(), PARTS_MOST));
        assert!(format!("{ask:?}").len() < PARTS_MOST * (DETAIL_MOST + 300));
    }
}
