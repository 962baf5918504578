//! What was typed at one process, remembered over restarts, so that nothing is ever typed twice.
//!
//! A runtime that knows which writes it has made needs no help; others, such as tmux, do. One line a thing, written down
//! before it is done: after a crash it may not have been done, which a person is told; it is never done twice.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ao_core::{Attempt, SessionId, Timestamp};
use serde::{Deserialize, Serialize};

/// What one process was given.
#[derive(Debug, Default)]
pub(super) struct Memory {
    file: PathBuf,
    pasted: BTreeMap<u32, Timestamp>,
    answers: BTreeSet<u32>,
    /// The questions of its first launch that were answered.
    welcomed: BTreeSet<usize>,
    /// It has been at its prompt or at work, so its launch is over.
    settled: bool,
    /// What it was started with, and when.
    launched: Option<(String, Timestamp)>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Pasted { delivery: u32, at: Timestamp },
    Answered { number: u32 },
    Welcomed { place: usize },
    Settled {},
    Launched { with: String, at: Timestamp },
}

impl Memory {
    /// Reads what an earlier life has written down.
    pub(super) fn open(state: &Path, session: SessionId, attempt: Attempt) -> io::Result<Memory> {
        let folder = state.join("typed");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let mut memory = Memory { file: folder.join(name(session, attempt)), ..Memory::default() };
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

    /// When a delivery was pasted, if it may have been.
    pub(super) fn pasted(&self, delivery: u32) -> Option<Timestamp> {
        self.pasted.get(&delivery).copied()
    }

    pub(super) fn answered(&self, number: u32) -> bool {
        self.answers.contains(&number)
    }

    /// When the process was started, if it was with this text.
    pub(super) fn launched_with(&self, text: &str) -> Option<Timestamp> {
        let (with, at) = self.launched.as_ref()?;
        with.split_whitespace().eq(text.split_whitespace()).then_some(*at)
    }

    pub(super) fn launch(&mut self, with: &str, at: Timestamp) -> io::Result<()> {
        // Said again, it is still the first time that counts.
        if self.launched.is_some() {
            return Ok(());
        }
        self.note(Line::Launched { with: with.to_owned(), at })
    }

    pub(super) fn paste(&mut self, delivery: u32, at: Timestamp) -> io::Result<()> {
        self.note(Line::Pasted { delivery, at })
    }

    pub(super) fn answer(&mut self, number: u32) -> io::Result<()> {
        self.note(Line::Answered { number })
    }

    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }

    pub(super) fn settle(&mut self) -> io::Result<()> {
        if self.settled { Ok(()) } else { self.note(Line::Settled {}) }
    }

    pub(super) fn welcomed(&self, place: usize) -> bool {
        self.welcomed.contains(&place)
    }

    pub(super) fn welcome(&mut self, place: usize) -> io::Result<()> {
        self.note(Line::Welcomed { place })
    }

    fn note(&mut self, line: Line) -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.file)?;
        // Begins with a line break, in case the last one was cut off.
        let text = format!("\n{}\n", serde_json::to_string(&line)?);
        file.write_all(text.as_bytes())?;
        file.sync_data()?;
        self.learn(line);
        Ok(())
    }

    fn learn(&mut self, line: Line) {
        match line {
            Line::Pasted { delivery, at } => {
                self.pasted.entry(delivery).or_insert(at);
            }
            Line::Answered { number } => {
                self.answers.insert(number);
            }
            Line::Welcomed { place } => {
                self.welcomed.insert(place);
            }
            Line::Settled {} => self.settled = true,
            Line::Launched { with, at } => self.launched = Some((with, at)),
        }
    }
}

/// Forgets what was typed at processes of a session that an attempt has replaced.
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
    fn what_was_typed_is_known_in_the_next_life() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Memory::open(folder.path(), SessionId(1), Attempt(2)).unwrap();
        let mut memory = open();
        memory.paste(3, Timestamp(5)).unwrap();
        fs::write(folder.path().join("typed/ses_1-2"), "{\"pasted\":{\"delivery\":3,\"at\":5}}\n{\"pas")
            .unwrap();
        memory.answer(1).unwrap();
        memory.launch("do\nit", Timestamp(4)).unwrap();
        memory.launch("again", Timestamp(6)).unwrap();
        let memory = open();
        assert_eq!(memory.pasted(3), Some(Timestamp(5)));
        assert_eq!(memory.pasted(4), None);
        assert!(memory.answered(1) && !memory.answered(2));
        assert_eq!(memory.launched_with("do it"), Some(Timestamp(4)));
        assert_eq!(memory.launched_with("again"), None);
        forget_before(folder.path(), SessionId(1), Attempt(3));
        assert_eq!(open().pasted(3), None);
    }
}
