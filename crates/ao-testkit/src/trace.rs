//! What happened in a world, for whoever has to find out why.
//!
//! Off while thousands of seeds run. A seed that fails is run once more with it: the same seed is the same world.

use std::collections::VecDeque;
use std::fmt;

use ao_core::{Input, SessionId, Stamped, codec};

use crate::faults::{Call, Fault};

/// One thing that happened.
#[derive(Debug, Clone)]
pub(crate) enum Line {
    /// The engine took an input, and this came of it.
    Step(Box<Input>, Vec<Stamped>),
    Refused(Box<Input>, String),
    Fault(Call, Fault),
    /// Something in the world, in words.
    Note(String),
}

/// The last things that happened.
#[derive(Debug, Default)]
pub struct Trace {
    keep: usize,
    lines: VecDeque<(u64, Line)>,
}

impl Trace {
    /// Keeps this many lines; none with 0.
    pub fn keeping(keep: usize) -> Trace {
        Trace { keep, lines: VecDeque::new() }
    }

    pub(crate) fn on(&self) -> bool {
        self.keep > 0
    }

    pub(crate) fn push(&mut self, at: u64, line: Line) {
        // Every half minute of every runtime; only those that told something new are worth a reader's time.
        if matches!(&line, Line::Step(input, events) if matches!(**input, Input::Census { .. }) && events.is_empty())
        {
            return;
        }
        if self.lines.len() == self.keep {
            self.lines.pop_front();
        }
        self.lines.push_back((at, line));
    }

    /// The last lines, as text.
    pub fn last(&self, lines: usize) -> String {
        let from = self.lines.len().saturating_sub(lines);
        self.lines
            .iter()
            .skip(from)
            .map(|(at, line)| format!("{:>10}.{:03}  {line}\n", at / 1000, at % 1000))
            .collect()
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Line::Step(input, events) => {
                write!(f, "input  {}", short(&told(input)))?;
                for stamped in events {
                    // As the log has it, with the names that people see.
                    let stored = codec::encode(&stamped.event);
                    write!(
                        f,
                        "\n                 ─► {} {} {}",
                        stored.scope,
                        stored.kind,
                        short(&stored.body)
                    )?;
                }
                Ok(())
            }
            Line::Refused(input, why) => {
                write!(f, "input  {}\n                 ─x {why}", short(&told(input)))
            }
            Line::Fault(call, fault) => write!(f, "fault  {call} {fault}"),
            Line::Note(text) => write!(f, "world  {text}"),
        }
    }
}

/// An input, with the names of sessions that people see and find in the events.
fn told(input: &Input) -> String {
    const ID: &str = "SessionId(";
    let debug = format!("{input:?}");
    let mut parts = debug.split(ID);
    let mut told = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')').and_then(|(number, rest)| Some((number.parse().ok()?, rest))) {
            Some((number, rest)) => told.push_str(&format!("{}{rest}", SessionId(number))),
            None => told.push_str(&format!("{ID}{part}")),
        }
    }
    told
}

/// The beginning of a long text: a trace is read line by line.
fn short(text: &str) -> String {
    const MOST: usize = 160;
    match text.char_indices().nth(MOST) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ao_core::session::SessionInput;

    #[test]
    fn sessions_are_told_by_the_names_that_the_events_have() {
        let input = Input::Session { session: SessionId(0xc2d3), input: SessionInput::Restore };
        assert_eq!(told(&input), "Session { session: ses_c2d3, input: Restore }");
    }
}
