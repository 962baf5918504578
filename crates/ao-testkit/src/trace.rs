//! The trace of a world, for debugging.
//!
//! Off while thousands of seeds run. A failing seed is replayed with it: the same seed gives the same world.

use std::collections::VecDeque;
use std::fmt;

use ao_core::{Input, SessionId, StampedEvent, codec};

use crate::faults::{Fault, PortCall};

/// One entry of the trace.
#[derive(Debug, Clone)]
pub(crate) enum TraceLine {
    /// The engine took an input, with these events as the result.
    Step(Box<Input>, Vec<StampedEvent>),
    Refused(Box<Input>, String),
    Fault(PortCall, Fault),
    /// Something in the world, as text.
    Note(String),
}

/// The last entries.
#[derive(Debug, Default)]
pub struct Trace {
    keep: usize,
    lines: VecDeque<(u64, TraceLine)>,
}

impl Trace {
    /// Keeps this many entries; none with 0.
    pub fn keeping(keep: usize) -> Trace {
        Trace { keep, lines: VecDeque::new() }
    }

    pub(crate) fn on(&self) -> bool {
        self.keep > 0
    }

    pub(crate) fn push(&mut self, at: u64, line: TraceLine) {
        // There is one every half minute for every runtime; skip those that changed nothing.
        if matches!(&line, TraceLine::Step(input, events) if matches!(**input, Input::Census { .. }) && events.is_empty())
        {
            return;
        }
        if self.lines.len() == self.keep {
            self.lines.pop_front();
        }
        self.lines.push_back((at, line));
    }

    /// Returns the last entries, as text.
    pub fn last(&self, lines: usize) -> String {
        let from = self.lines.len().saturating_sub(lines);
        self.lines
            .iter()
            .skip(from)
            .map(|(at, line)| format!("{:>10}.{:03}  {line}\n", at / 1000, at % 1000))
            .collect()
    }
}

impl fmt::Display for TraceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceLine::Step(input, events) => {
                write!(f, "input  {}", short(&shown(input)))?;
                for stamped in events {
                    // As in the log, with the names that people see.
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
            TraceLine::Refused(input, why) => {
                write!(f, "input  {}\n                 ─x {why}", short(&shown(input)))
            }
            TraceLine::Fault(call, fault) => write!(f, "fault  {call} {fault}"),
            TraceLine::Note(text) => write!(f, "world  {text}"),
        }
    }
}

/// Formats an input, with the names of sessions that the events have.
fn shown(input: &Input) -> String {
    const ID: &str = "SessionId(";
    let debug = format!("{input:?}");
    let mut parts = debug.split(ID);
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')').and_then(|(number, rest)| Some((number.parse().ok()?, rest))) {
            Some((number, rest)) => shown.push_str(&format!("{}{rest}", SessionId(number))),
            None => shown.push_str(&format!("{ID}{part}")),
        }
    }
    shown
}

/// Cuts a long text: a trace is read line by line.
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
    fn sessions_have_the_names_that_the_events_have() {
        let input = Input::Session { session: SessionId(0xc2d3), input: SessionInput::Restore };
        assert_eq!(shown(&input), "Session { session: ses_c2d3, input: Restore }");
    }
}
