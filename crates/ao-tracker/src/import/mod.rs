//! Imports issues from the lists of other tools: parses them into drafts, and creates issues from those.
//!
//! Parsing is pure and takes the text literally: it guesses no labels, and sends no requests.

mod create;
mod github;
mod markdown;

use std::collections::BTreeSet;

use ao_core::pull::AuthorFacts;
use ao_core::{ProjectId, TaskId};
use ao_ports::NewTask;

pub use self::create::{ImportResult, Outcome, bring_in};
pub use self::github::read as github;
pub(crate) use self::github::{number_named as github_number, number_of_key as github_number_of};
pub use self::markdown::read as markdown;

/// Most bytes of a list.
const MAX_TEXT: usize = 32 << 20;
/// Most issues of a list.
const MAX_DRAFTS: usize = 10_000;

/// An issue to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueDraft {
    /// The same whenever the same list is read.
    pub key: String,
    pub title: String,
    pub body: String,
    pub labels: BTreeSet<String>,
    pub assignee: Option<String>,
    pub closed: bool,
    /// The author at the source. If absent, the person who imports it counts as the author.
    pub author: Option<AuthorFacts>,
    /// The indexes of earlier drafts that have to be done first.
    pub blocked_by: Vec<usize>,
}

impl IssueDraft {
    /// Converts to a new task. `blocked_by` are the tasks created from the drafts that it refers to.
    pub fn task(&self, project: &ProjectId, by: &AuthorFacts, blocked_by: BTreeSet<TaskId>) -> NewTask {
        NewTask {
            project: project.clone(),
            title: self.title.clone(),
            body: self.body.clone(),
            labels: self.labels.clone(),
            priority: 0,
            blocked_by,
            assignee: self.assignee.clone(),
            by: self.author.as_ref().unwrap_or(by).clone(),
            key: Some(self.key.clone()),
            closed: self.closed,
        }
    }
}

/// The reason why a list cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    #[error("line {line}: {what}")]
    Line { line: usize, what: String },
    #[error("entry {entry}: {what}")]
    Entry { entry: usize, what: String },
    #[error(
        "this is not GitHub's JSON: {what}; it is made by `gh issue list --json number,title,body,labels,state,assignees,url`"
    )]
    NotGitHub { what: String },
    #[error("there are no tasks in this text; a task is a line such as `- [ ] what there is to do`")]
    Nothing,
    #[error("this list is too long: {what}; bring it in by parts")]
    TooLong { what: String },
}

fn bounded(text: &str) -> Result<(), ImportError> {
    match text.len() > MAX_TEXT {
        true => Err(ImportError::TooLong { what: format!("it has more than {} MB", MAX_TEXT >> 20) }),
        false => Ok(()),
    }
}

fn few_enough(drafts: &[IssueDraft]) -> Result<(), ImportError> {
    match drafts.len() > MAX_DRAFTS {
        true => Err(ImportError::TooLong { what: format!("it has more than {MAX_DRAFTS} issues") }),
        false => Ok(()),
    }
}
