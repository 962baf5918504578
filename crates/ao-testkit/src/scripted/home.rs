//! Files of the agent, for itself and for tests that check its input.
//!
//! ```text
//!  HOME/<conversation>.jsonl   one entry a line: user, assistant, tool, choice, enter, interrupted
//!  HOME/<conversation>.draft   the current content of the input box
//!  HOME/complaints             standard error of all tools
//!  HOME/starts                 one byte per start
//! ```

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

/// A folder with conversations of scripted agents.
#[derive(Debug, Clone)]
pub struct AgentHome {
    folder: PathBuf,
}

impl AgentHome {
    pub fn new(folder: impl Into<PathBuf>) -> AgentHome {
        AgentHome { folder: folder.into() }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn transcript(&self, conversation: &str) -> PathBuf {
        self.folder.join(format!("{conversation}.jsonl"))
    }

    /// Returns the standard error of all tools.
    pub fn complaints(&self) -> String {
        fs::read_to_string(self.folder.join("complaints")).unwrap_or_default()
    }

    /// Returns the file for a tool's standard error, in append mode.
    pub(super) fn error_log(&self) -> Stdio {
        let file = OpenOptions::new().create(true).append(true).open(self.folder.join("complaints"));
        file.map_or_else(|_| Stdio::null(), Stdio::from)
    }

    /// Returns the entries of a conversation; none if there is no such conversation.
    pub fn entries(&self, conversation: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.transcript(conversation)).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Returns the texts that the agent took as user's turns, exactly as received.
    pub fn turns(&self, conversation: &str) -> Vec<String> {
        self.texts(conversation, "user", "text")
    }

    /// Returns the choices in dialogs, as `question: choice`; choice 0 is Esc.
    pub fn choices(&self, conversation: &str) -> Vec<String> {
        let of = |entry: &Value| {
            let question = entry["question"].as_str()?;
            Some(format!("{question}: {}", entry["choice"]))
        };
        let entries = self.entries(conversation);
        entries.iter().filter(|entry| entry["type"] == "choice").filter_map(of).collect()
    }

    /// Returns the content of the input box.
    pub fn draft(&self, conversation: &str) -> String {
        fs::read_to_string(self.draft_file(conversation)).unwrap_or_default()
    }

    /// Returns one value for each press of Enter on a draft: true if it was swallowed.
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

    /// Replaces the draft atomically, so that a reader never sees half of one.
    pub(super) fn keep_draft(&self, conversation: &str, draft: &str) -> io::Result<()> {
        let new = self.folder.join(format!("{conversation}.draft.{}", std::process::id()));
        fs::write(&new, draft)?;
        fs::rename(new, self.draft_file(conversation))
    }

    /// Counts this start, and returns the number of earlier ones.
    pub(super) fn count_start(&self) -> io::Result<u64> {
        let mut file = OpenOptions::new().create(true).append(true).open(self.folder.join("starts"))?;
        let before = file.metadata()?.len();
        file.write_all(b".")?;
        Ok(before)
    }
}
