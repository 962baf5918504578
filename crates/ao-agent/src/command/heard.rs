//! What is heard from an agent that runs for one turn, in the words of the line protocol where that has them.

use ao_core::evidence::Reading;
use ao_core::text::sanitise;
use ao_core::{ConversationId, Timestamp};
use regex::Regex;

use super::options::OutputOptions;
use super::patterns::{self, PatternError};
use crate::line::{Line, denials, parse_line};
use crate::text::cut;
use crate::turn::{TurnEvent, TurnFormat};

/// The most of an agent's last words that are kept.
const WORDS_MOST: usize = 200;

/// Something that an agent was heard to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Heard {
    /// What the line protocol has a word for.
    Line(Line),
    /// Its first own word: it has its prompt.
    Began,
    /// The conversation that it works in.
    Conversation(ConversationId),
    /// It does not know the conversation that it was to go on with.
    Gone,
    /// Plain text speaks of a limit. A model may have written that, so it counts only if the turn ends with it.
    LimitMentioned(Line),
    /// The turn fails, for the reason in its last words.
    Failed,
}

/// Reads the lines of an agent, whatever language it speaks.
#[derive(Debug)]
pub(super) struct Ear {
    format: TurnFormat,
    limit: Option<Regex>,
    gone: Option<Regex>,
    /// Its output is a turn's, not the line protocol's alone.
    one_turn: bool,
    /// It is started with a message, so its first word proves that it has that.
    launched: bool,
}

impl Ear {
    pub(super) fn new(options: &OutputOptions, one_turn: bool, launched: bool) -> Result<Ear, PatternError> {
        Ok(Ear {
            format: options.format,
            limit: patterns::compile("output.limit", &options.limit)?,
            gone: patterns::compile("output.gone", &options.gone)?,
            one_turn,
            launched,
        })
    }

    /// Tells whether a process that ended well has done its turn, also if it said nothing.
    pub(super) fn is_for_one_turn(&self) -> bool {
        self.one_turn
    }

    /// Reads one line. What it said last is put into `words`.
    pub(super) fn hear(&self, line: &str, now: Timestamp, words: &mut String) -> Vec<Heard> {
        if let Some(said) = parse_line(line) {
            return vec![Heard::Line(said)];
        }
        let mut heard: Vec<Heard> = denials(line).into_iter().map(Heard::Line).collect();
        if !self.one_turn {
            heard.extend((self.launched && !line.trim().is_empty()).then_some(Heard::Began));
            return heard;
        }
        for event in self.format.read(line) {
            heard.extend(self.event(event, now, words));
        }
        let plain = !line.trim_start().starts_with('{');
        if plain && self.format == TurnFormat::Text {
            let (gone, limits): (Vec<Heard>, Vec<Heard>) =
                self.warnings(line, now).into_iter().partition(|warning| *warning == Heard::Gone);
            // A conversation is unknown before the first word, and a limit is met after the last.
            heard.splice(0..0, gone);
            heard.extend(limits.into_iter().map(|limit| match limit {
                Heard::Line(limit) => Heard::LimitMentioned(limit),
                other => other,
            }));
        } else if plain {
            heard.extend(self.warnings(line, now));
            // Errors go to stderr as text, whatever the format. A terminal that is put in order is nothing that is said.
            let said = one_line(line);
            if !said.trim().is_empty() {
                *words = said;
            }
        }
        heard
    }

    fn event(&self, event: TurnEvent, now: Timestamp, words: &mut String) -> Vec<Heard> {
        let working = |doing: String| Heard::Line(Line::Working { doing });
        match event {
            TurnEvent::Began => vec![Heard::Began, working(String::new())],
            TurnEvent::Conversation(id) if id.is_empty() => vec![],
            TurnEvent::Conversation(id) => vec![Heard::Conversation(ConversationId::new(&id))],
            TurnEvent::Calls(call) => {
                words.clear();
                vec![working(call)]
            }
            TurnEvent::Answered(_) => vec![working(String::new())],
            TurnEvent::Said(said) => {
                *words = one_line(&said);
                vec![working(String::new())]
            }
            TurnEvent::SaidMore(more) => {
                *words = one_line(&format!("{words}{more}"));
                vec![working(String::new())]
            }
            TurnEvent::Failed(why) => {
                *words = one_line(&why);
                let warnings = self.warnings(&why, now);
                [Heard::Failed].into_iter().chain(warnings).collect()
            }
            TurnEvent::Limited { until } => {
                vec![Heard::Line(Line::Limited { until: until.map(|until| until.0) })]
            }
        }
    }

    /// What the patterns find in a line for people.
    fn warnings(&self, line: &str, now: Timestamp) -> Vec<Heard> {
        let mut heard = Vec::new();
        if self.gone.as_ref().is_some_and(|gone| gone.is_match(line)) {
            heard.push(Heard::Gone);
        }
        let found = self.limit.as_ref().and_then(|limit| limit.captures(line));
        if let Some(Reading::Limited { until }) = found.and_then(|found| patterns::limit(&found, now)) {
            heard.push(Heard::Line(Line::Limited { until: until.map(|until| until.0) }));
        }
        heard
    }
}

/// A text as one line of bounded length. A trailing space is kept, because more may follow it.
fn one_line(text: &str) -> String {
    let stripped = sanitise(text);
    let space = if stripped.ends_with(char::is_whitespace) { " " } else { "" };
    let line = stripped.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&format!("{line}{space}"), WORDS_MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ear(format: TurnFormat) -> Ear {
        let options = OutputOptions {
            format,
            limit: Some(r"hit your .*limit(?:.*(?:resets|again at) (?<time>[\d:]+ ?[apAP][mM]))?".into()),
            gone: Some("No conversation found".into()),
        };
        Ear::new(&options, true, true).unwrap()
    }

    fn hear(ear: &Ear, lines: &[&str]) -> (Vec<Heard>, String) {
        let mut words = String::new();
        let now = Timestamp(1_700_000_000_000);
        let heard = lines.iter().flat_map(|line| ear.hear(line, now, &mut words)).collect();
        (heard, words)
    }

    #[test]
    fn the_first_line_of_plain_text_is_a_first_word() {
        let (heard, words) =
            hear(&ear(TurnFormat::Text), &["", "I begin.", "\u{1b}[31mDone:\u{1b}[0m  all  of it."]);
        assert_eq!(heard[0], Heard::Began);
        assert_eq!(words, "Done: all of it.");
    }

    #[test]
    fn an_error_on_stderr_is_no_first_word_of_an_agent_that_reports_in_json() {
        let (heard, words) = hear(&ear(TurnFormat::Codex), &["Error: no rollout found", "\u{1b}[?25h"]);
        assert_eq!((heard, words.as_str()), (vec![], "Error: no rollout found"));
    }

    #[test]
    fn a_conversation_that_is_not_there_and_a_limit_are_heard_wherever_they_are_said() {
        let result = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found with session ID: 1"]}"#;
        let (heard, words) = hear(&ear(TurnFormat::Claude), &[result]);
        let gone = vec![Heard::Failed, Heard::Gone];
        assert_eq!((heard, words.as_str()), (gone, "No conversation found with session ID: 1"));
        let failed = r#"{"type":"turn.failed","error":{"message":"You've hit your usage limit."}}"#;
        let (heard, _) = hear(&ear(TurnFormat::Codex), &[failed]);
        assert_eq!(heard, vec![Heard::Failed, Heard::Line(Line::Limited { until: None })]);
    }

    #[test]
    fn plain_text_only_mentions_a_limit() {
        let (heard, _) = hear(&ear(TurnFormat::Text), &["You've hit your usage limit."]);
        let limit = Line::Limited { until: None };
        assert_eq!(heard.last(), Some(&Heard::LimitMentioned(limit)), "after the signs of work: {heard:?}");
        assert_eq!(hear(&ear(TurnFormat::Text), &["No conversation found"]).0[0], Heard::Gone);
    }

    #[test]
    fn words_that_come_in_pieces_are_put_together() {
        let piece = |text: &str| {
            format!(r#"{{"type":"message","role":"assistant","content":"{text}","delta":true}}"#)
        };
        let lines = [piece("DONE: "), piece("all "), piece("of it.")];
        let (_, words) = hear(&ear(TurnFormat::Gemini), &lines.each_ref().map(String::as_str));
        assert_eq!(words, "DONE: all of it.");
    }
}
