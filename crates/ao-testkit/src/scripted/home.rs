//! What the agent keeps on disk, for itself and for tests that want to know what it got.
//!
//! ```text
//!  HOME/<conversation>.jsonl   one entry a line: user, assistant, tool, choice, enter, interrupted
//!  HOME/<conversation>.draft   what stands in the input box now
//!  HOME/complaints             what the tools of all of them have said on their standard error
//!  HOME/starts                 how often it was started
//! ```

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

/// A folder with conversations of scripted agents.
#[derive(Debug, Clone)]
pub struct Home {
    folder: PathBuf,
}

impl Home {
    pub fn new(folder: impl Into<PathBuf>) -> Home {
        Home { folder: folder.into() }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn transcript(&self, conversation: &str) -> PathBuf {
        self.folder.join(format!("{conversation}.jsonl"))
    }

    /// What the tools of all agents have complained of.
    pub fn complaints(&self) -> String {
        fs::read_to_string(self.folder.join("complaints")).unwrap_or_default()
    }

    /// Where a tool's standard error goes: to the end of the others'.
    pub(super) fn complaint_book(&self) -> Stdio {
        let book = OpenOptions::new().create(true).append(true).open(self.folder.join("complaints"));
        book.map_or_else(|_| Stdio::null(), Stdio::from)
    }

    /// The entries of a conversation; none if there is no such conversation.
    pub fn entries(&self, conversation: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.transcript(conversation)).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The texts that the agent took as turns of the user's, exactly as it got them.
    pub fn turns(&self, conversation: &str) -> Vec<String> {
        self.texts(conversation, "user", "text")
    }

    /// What was chosen in dialogs, as `question: choice`; choice 0 is Esc.
    pub fn choices(&self, conversation: &str) -> Vec<String> {
        let of = |entry: &Value| {
            let question = entry["question"].as_str()?;
            Some(format!("{question}: {}", entry["choice"]))
        };
        let entries = self.entries(conversation);
        entries.iter().filter(|entry| entry["type"] == "choice").filter_map(of).collect()
    }

    /// What stands in the input box.
    pub fn draft(&self, conversation: &str) -> String {
        fs::read_to_string(self.draft_file(conversation)).unwrap_or_default()
    }

    /// How often Enter was pressed on a draft, and whether each press was swallowed.
    pub fn enters(&self, conversation: &str) -> Vec<bool> {
        let entries = self.entries(conversation);
        let presses = entries.iter().filter(|entry| entry["type"] == "enter");
        presses.filter_map(|entry| entry["swallowed"].as_bool()).collect()
    }

    fn texts(&self, conversation: &str, kind: &str, key: &str) -> Vec<String> {
        let entries = self.entries(conversation);
        let texts = entries.iter().filter(|entry| entry["type"] == kind);
        texts.filter_map(|entry| Some(entry[key].as_str()?.to_owned())).collect()
    }

    fn draft_file(&self, conversation: &str) -> PathBuf {
        self.folder.join(format!("{conversation}.draft"))
    }

    pub(super) fn add(&self, conversation: &str, entry: &Value) -> io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(self.transcript(conversation))?;
        file.write_all(format!("{entry}\n").as_bytes())
    }

    /// Replaces the draft in one step, so that a reader never sees half of one.
    pub(super) fn keep_draft(&self, conversation: &str, draft: &str) -> io::Result<()> {
        let new = self.folder.join(format!("{conversation}.draft.{}", std::process::id()));
        fs::write(&new, draft)?;
        fs::rename(new, self.draft_file(conversation))
    }

    /// Counts this start, and returns how many there were before it.
    pub(super) fn count_start(&self) -> io::Result<u64> {
        let mut file = OpenOptions::new().create(true).append(true).open(self.folder.join("starts"))?;
        let before = file.metadata()?.len();
        file.write_all(b".")?;
        Ok(before)
    }
}
