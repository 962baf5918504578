//! Remembers what was typed at one process across restarts, so that nothing is ever typed twice.
//!
//! A runtime that records its writes needs no help; others do. One line per action, written before the action: after a
//! crash it may not have happened, which is reported to a person; it never happens twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ao_core::{AskId, Attempt, SessionId, Timestamp};
use ao_ports::Cancelled;
use serde::{Deserialize, Serialize};

use super::drivers::protocol::ProtocolLaunch;

/// The actions on one process.
#[derive(Debug, Default)]
pub(super) struct TypedMemory {
    file: PathBuf,
    pasted: BTreeMap<u32, Timestamp>,
    answers: BTreeSet<u32>,
    /// The asks that were answered by their ids.
    asks: BTreeSet<AskId>,
    cancels: BTreeMap<u32, Cancelled>,
    /// The questions of its first launch that were answered.
    welcomed: BTreeSet<usize>,
    /// It has been idle or working, so its launch is over.
    settled: bool,
    /// The text it was started with, and when.
    launched: Option<(String, Timestamp)>,
    /// The launch of a process that is spoken to by the protocol of its maker.
    opened: Option<ProtocolLaunch>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum MemoryLine {
    /// A delivery was typed.
    Pasted { delivery: u32, at: Timestamp },
    /// An answer was given.
    Answered {
        number: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ask: Option<AskId>,
    },
    /// A cancellation has ended.
    Cancelled { number: u32, cancelled: Cancelled },
    /// A dialog of the first start was answered.
    Welcomed { place: usize },
    /// The agent is past its first dialogs.
    Settled {},
    /// The process was started with this text.
    Launched { with: String, at: Timestamp },
    /// The process is started to be spoken to by the protocol of its maker.
    Opened(ProtocolLaunch),
}

impl TypedMemory {
    /// Reads the actions that an earlier daemon has recorded.
    pub(super) fn open(state: &Path, session: SessionId, attempt: Attempt) -> io::Result<TypedMemory> {
        let folder = state.join("typed");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let mut memory = TypedMemory { file: folder.join(name(session, attempt)), ..TypedMemory::default() };
        let text = match fs::read_to_string(&memory.file) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => String::new(),
            text => text?,
        };
        // A line that was cut off by a crash was not yet acted on.
        for line in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            memory.learn(line);
        }
        Ok(memory)
    }

    /// Returns when a delivery was pasted, if it may have been.
    pub(super) fn pasted(&self, delivery: u32) -> Option<Timestamp> {
        self.pasted.get(&delivery).copied()
    }

    pub(super) fn answered(&self, number: u32) -> bool {
        self.answers.contains(&number)
    }

    pub(super) fn answered_asks(&self) -> &BTreeSet<AskId> {
        &self.asks
    }

    /// Returns the result of a cancellation, if it may have been made.
    pub(super) fn cancelled(&self, number: u32) -> Option<Cancelled> {
        self.cancels.get(&number).copied()
    }

    /// Returns when the process was started, if it was with this text.
    pub(super) fn launched_with(&self, text: &str) -> Option<Timestamp> {
        let (with, at) = self.launched.as_ref()?;
        with.split_whitespace().eq(text.split_whitespace()).then_some(*at)
    }

    pub(super) fn launch(&mut self, with: &str, at: Timestamp) -> io::Result<()> {
        // If it is repeated, the first time still counts.
        if self.launched.is_some() {
            return Ok(());
        }
        self.note(MemoryLine::Launched { with: with.to_owned(), at })
    }

    /// Returns the launch that its protocol begins with.
    pub(super) fn opened(&self) -> Option<&ProtocolLaunch> {
        self.opened.as_ref()
    }

    pub(super) fn open_with(&mut self, launch: ProtocolLaunch) -> io::Result<()> {
        match self.opened {
            // If it is repeated, the first time still counts.
            Some(_) => Ok(()),
            None => self.note(MemoryLine::Opened(launch)),
        }
    }

    pub(super) fn paste(&mut self, delivery: u32, at: Timestamp) -> io::Result<()> {
        self.note(MemoryLine::Pasted { delivery, at })
    }

    pub(super) fn answer(&mut self, number: u32, ask: Option<&AskId>) -> io::Result<()> {
        self.note(MemoryLine::Answered { number, ask: ask.cloned() })
    }

    pub(super) fn cancel(&mut self, number: u32, cancelled: Cancelled) -> io::Result<()> {
        self.note(MemoryLine::Cancelled { number, cancelled })
    }

    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }

    pub(super) fn settle(&mut self) -> io::Result<()> {
        if self.settled { Ok(()) } else { self.note(MemoryLine::Settled {}) }
    }

    pub(super) fn welcomed(&self, place: usize) -> bool {
        self.welcomed.contains(&place)
    }

    pub(super) fn welcome(&mut self, place: usize) -> io::Result<()> {
        self.note(MemoryLine::Welcomed { place })
    }

    fn note(&mut self, line: MemoryLine) -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.file)?;
        // Starts with a line break, in case the last one was cut off.
        let text = format!("\n{}\n", serde_json::to_string(&line)?);
        file.write_all(text.as_bytes())?;
        file.sync_data()?;
        self.learn(line);
        Ok(())
    }

    fn learn(&mut self, line: MemoryLine) {
        match line {
            MemoryLine::Pasted { delivery, at } => {
                self.pasted.entry(delivery).or_insert(at);
            }
            MemoryLine::Answered { number, ask } => {
                self.answers.insert(number);
                self.asks.extend(ask);
            }
            MemoryLine::Cancelled { number, cancelled } => {
                self.cancels.insert(number, cancelled);
            }
            MemoryLine::Welcomed { place } => {
                self.welcomed.insert(place);
            }
            MemoryLine::Settled {} => self.settled = true,
            MemoryLine::Launched { with, at } => self.launched = Some((with, at)),
            MemoryLine::Opened(launch) => self.opened = Some(launch),
        }
    }
}

/// Deletes the records of processes of a session that an attempt has replaced.
pub(super) fn forget_before(state: &Path, session: SessionId, attempt: Attempt) {
    let Ok(entries) = fs::read_dir(state.join("typed")) else { return };
    let is_earlier = |file: &str| {
        let number = file.strip_prefix(&session.to_string()).and_then(|rest| rest.strip_prefix('-'));
        number.and_then(|number| number.parse().ok()).is_some_and(|number: u32| number < attempt.0)
    };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_earlier)) {
        let _ = fs::remove_file(entry.path());
    }
}

pub(super) fn forget(state: &Path, session: SessionId, attempt: Attempt) {
    let _ = fs::remove_file(state.join("typed").join(name(session, attempt)));
}

fn name(session: SessionId, attempt: Attempt) -> String {
    format!("{session}-{attempt}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_text_is_remembered_across_restarts() {
        let folder = tempfile::tempdir().unwrap();
        let open = || TypedMemory::open(folder.path(), SessionId(1), Attempt(2)).unwrap();
        let mut memory = open();
        memory.paste(3, Timestamp(5)).unwrap();
        fs::write(folder.path().join("typed/ses_1-2"), "{\"pasted\":{\"delivery\":3,\"at\":5}}\n{\"pas")
            .unwrap();
        memory.answer(1, Some(&AskId::new("a"))).unwrap();
        memory.cancel(2, Cancelled::Cut).unwrap();
        memory.launch("do\nit", Timestamp(4)).unwrap();
        memory.launch("again", Timestamp(6)).unwrap();
        let memory = open();
        assert_eq!(memory.pasted(3), Some(Timestamp(5)));
        assert_eq!(memory.pasted(4), None);
        assert!(memory.answered(1) && !memory.answered(2));
        assert_eq!(memory.answered_asks(), &BTreeSet::from([AskId::new("a")]));
        assert_eq!((memory.cancelled(1), memory.cancelled(2)), (None, Some(Cancelled::Cut)));
        assert_eq!(memory.launched_with("do it"), Some(Timestamp(4)));
        assert_eq!(memory.launched_with("again"), None);
        forget_before(folder.path(), SessionId(1), Attempt(3));
        assert_eq!(open().pasted(3), None);
    }
}
