//! Interprets the output of an agent that runs for one turn, as lines of the line protocol where possible.

use ao_core::agent_report::{AgentReport, CallState, ToolCall, TurnEnd};
use ao_core::evidence::Reading;
use ao_core::text::sanitise;
use ao_core::{ConversationId, Timestamp};
use regex::Regex;

use super::terminal::patterns::{self, PatternError};
use crate::command::options::OutputOptions;
use crate::line::{ProtocolLine, denials, parse_line};
use crate::text::cut;
use crate::turn::{TurnEvent, TurnFormat};

/// Most characters of an agent's final text that are kept.
const WORDS_MOST: usize = 200;

/// Most bytes of a text that comes in pieces.
const PENDING_MOST: usize = 4000;

/// An item of an agent's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::command) enum OutputItem {
    /// A line of the line protocol.
    Line(ProtocolLine),
    /// The state that it is in.
    Reading(Reading),
    Report(AgentReport),
    /// Its first output: it has its prompt.
    Began,
    /// The conversation that it works in.
    Conversation(ConversationId),
    /// It does not know the conversation that it should resume.
    Gone,
    /// Plain text mentions a limit. A model may have written that, so it counts only if the turn ends with it.
    LimitMentioned(Reading),
    /// The turn fails, for this reason.
    Failed(String),
    /// The turn has ended, and left the agent in this state.
    Ended {
        end: TurnEnd,
        then: Reading,
    },
}

/// Interprets the lines of an agent, in any supported format.
#[derive(Debug)]
pub(in crate::command) struct OutputReader {
    format: TurnFormat,
    limit: Option<Regex>,
    gone: Option<Regex>,
    /// True if its output is that of a turn, and not only the line protocol.
    one_turn: bool,
    /// True if it is started with a message, so that its first output proves that it has that.
    launched: bool,
}

impl OutputReader {
    pub(in crate::command) fn new(
        options: &OutputOptions,
        one_turn: bool,
        launched: bool,
    ) -> Result<OutputReader, PatternError> {
        Ok(OutputReader {
            format: options.format,
            limit: patterns::compile("output.limit", &options.limit)?,
            gone: patterns::compile("output.gone", &options.gone)?,
            one_turn,
            launched,
        })
    }

    /// Returns true if a process that ended well has completed its turn, even without output.
    pub(in crate::command) fn is_for_one_turn(&self) -> bool {
        self.one_turn
    }

    /// Interprets one line, and updates the text that was not reported yet.
    pub(in crate::command) fn read_line(
        &self,
        line: &str,
        now: Timestamp,
        words: &mut String,
    ) -> Vec<OutputItem> {
        if let Some(parsed) = parse_line(line) {
            return vec![OutputItem::Line(parsed)];
        }
        let mut heard: Vec<OutputItem> = denials(line).into_iter().map(OutputItem::Line).collect();
        if !self.one_turn {
            heard.extend((self.launched && !line.trim().is_empty()).then_some(OutputItem::Began));
            return heard;
        }
        for event in self.format.read(line) {
            heard.extend(self.event(event, now, words));
        }
        let plain = !line.trim_start().starts_with('{');
        if plain && self.format == TurnFormat::Text {
            let (gone, limits): (Vec<OutputItem>, Vec<OutputItem>) =
                self.warnings(line, now).into_iter().partition(|warning| *warning == OutputItem::Gone);
            // An unknown conversation is reported before the first output, and a limit after the last.
            heard.splice(0..0, gone);
            heard.extend(limits.into_iter().map(|limit| match limit {
                OutputItem::Reading(limit) => OutputItem::LimitMentioned(limit),
                other => other,
            }));
        } else if plain {
            heard.extend(self.warnings(line, now));
            // Errors go to stderr as text, in any format. Terminal codes alone are no text.
            let text = one_line(line);
            if !text.trim().is_empty() {
                *words = text;
            }
        }
        heard
    }

    fn event(&self, event: TurnEvent, now: Timestamp, words: &mut String) -> Vec<OutputItem> {
        let working = || OutputItem::Reading(Reading::Working { doing: String::new() });
        let call = |id, tool, detail, state| {
            OutputItem::Report(AgentReport::ToolCall(ToolCall { id, tool, detail, state }))
        };
        let reply = |text: String| OutputItem::Report(AgentReport::Reply { text });
        match event {
            TurnEvent::Began => vec![OutputItem::Began, working()],
            TurnEvent::Conversation(id) if id.is_empty() => vec![],
            TurnEvent::Conversation(id) => vec![OutputItem::Conversation(ConversationId::new(&id))],
            TurnEvent::Calls { id, tool, detail } => {
                let before = Some(std::mem::take(words)).filter(|words| !words.trim().is_empty());
                before.map(reply).into_iter().chain([call(id, tool, detail, CallState::Running)]).collect()
            }
            TurnEvent::Answered { id, .. } => {
                vec![call(id, String::new(), String::new(), CallState::Ended)]
            }
            TurnEvent::Planned(steps) => vec![working(), OutputItem::Report(AgentReport::Plan { steps })],
            // Plain text has no end but that of the process.
            TurnEvent::Said(message) if self.format == TurnFormat::Text => {
                *words = one_line(&message);
                vec![working()]
            }
            TurnEvent::Said(message) => {
                words.clear();
                vec![working(), reply(message)]
            }
            TurnEvent::SaidMore(more) => {
                words.push_str(&more);
                words.truncate(words.floor_char_boundary(PENDING_MOST));
                vec![working()]
            }
            TurnEvent::Failed(why) => {
                words.clear();
                let warnings = self.warnings(&why, now);
                [OutputItem::Failed(one_line(&why).trim().to_owned())].into_iter().chain(warnings).collect()
            }
            TurnEvent::Limited { until } => vec![OutputItem::Reading(Reading::Limited { until })],
            TurnEvent::LoggedOut => vec![OutputItem::Reading(Reading::LoggedOut)],
        }
    }

    /// Matches the patterns against a line for people.
    fn warnings(&self, line: &str, now: Timestamp) -> Vec<OutputItem> {
        let mut heard = Vec::new();
        if self.gone.as_ref().is_some_and(|gone| gone.is_match(line)) {
            heard.push(OutputItem::Gone);
        }
        let found = self.limit.as_ref().and_then(|limit| limit.captures(line));
        let limit = found.and_then(|found| patterns::limit(&found, now));
        heard.extend(limit.filter(|limit| matches!(limit, Reading::Limited { .. })).map(OutputItem::Reading));
        heard
    }
}

/// Puts a text on one line of bounded length. A trailing space is kept, because more may follow it.
fn one_line(text: &str) -> String {
    let stripped = sanitise(text);
    let space = if stripped.ends_with(char::is_whitespace) { " " } else { "" };
    let line = stripped.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&format!("{line}{space}"), WORDS_MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(format: TurnFormat) -> OutputReader {
        let options = OutputOptions {
            format,
            limit: Some(r"hit your .*limit(?:.*(?:resets|again at) (?<time>[\d:]+ ?[apAP][mM]))?".into()),
            gone: Some("No conversation found".into()),
        };
        OutputReader::new(&options, true, true).unwrap()
    }

    fn hear(reader: &OutputReader, lines: &[&str]) -> (Vec<OutputItem>, String) {
        let mut words = String::new();
        let now = Timestamp(1_700_000_000_000);
        let heard = lines.iter().flat_map(|line| reader.read_line(line, now, &mut words)).collect();
        (heard, words)
    }

    #[test]
    fn the_first_line_of_plain_text_is_a_first_word() {
        let (heard, words) =
            hear(&reader(TurnFormat::Text), &["", "I begin.", "\u{1b}[31mDone:\u{1b}[0m  all  of it."]);
        assert_eq!(heard[0], OutputItem::Began);
        assert_eq!(words, "Done: all of it.");
    }

    #[test]
    fn an_error_on_stderr_is_no_first_word_of_an_agent_that_reports_in_json() {
        let (heard, words) = hear(&reader(TurnFormat::Codex), &["Error: no rollout found", "\u{1b}[?25h"]);
        assert_eq!((heard, words.as_str()), (vec![], "Error: no rollout found"));
    }

    #[test]
    fn a_conversation_that_is_not_there_and_a_limit_are_heard_wherever_they_are_said() {
        let result = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found with session ID: 1"]}"#;
        let (heard, words) = hear(&reader(TurnFormat::Claude), &[result]);
        let why = "No conversation found with session ID: 1".to_owned();
        assert_eq!((heard, words.as_str()), (vec![OutputItem::Failed(why), OutputItem::Gone], ""));
        let failed = r#"{"type":"turn.failed","error":{"message":"You've hit your usage limit."}}"#;
        let (heard, _) = hear(&reader(TurnFormat::Codex), &[failed]);
        let why = OutputItem::Failed("You've hit your usage limit.".into());
        assert_eq!(heard, vec![why, OutputItem::Reading(Reading::Limited { until: None })]);
    }

    #[test]
    fn plain_text_only_mentions_a_limit() {
        let (heard, _) = hear(&reader(TurnFormat::Text), &["You've hit your usage limit."]);
        let limit = Reading::Limited { until: None };
        assert_eq!(
            heard.last(),
            Some(&OutputItem::LimitMentioned(limit)),
            "after the signs of work: {heard:?}"
        );
        assert_eq!(hear(&reader(TurnFormat::Text), &["No conversation found"]).0[0], OutputItem::Gone);
    }

    #[test]
    fn words_that_come_in_pieces_are_put_together() {
        let piece = |text: &str| {
            format!(r#"{{"type":"message","role":"assistant","content":"{text}","delta":true}}"#)
        };
        let lines = [piece("DONE: "), piece("all "), piece("of it.")];
        let (_, words) = hear(&reader(TurnFormat::Gemini), &lines.each_ref().map(String::as_str));
        assert_eq!(words, "DONE: all of it.");
    }
}
