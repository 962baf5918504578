//! Issues from lists that others have: what they say, as drafts, and the way of drafts into a tracker.
//!
//! Reading is pure and takes only what is written: no labels are guessed from words, and nothing is asked for anywhere.

mod bring;
mod github;
mod markdown;

use std::collections::BTreeSet;

use ao_core::pull::Author;
use ao_core::{ProjectId, TaskId};
use ao_ports::NewTask;

pub use self::bring::{Brought, Outcome, bring_in};
pub use self::github::read as github;
pub(crate) use self::github::{number_named as github_number, number_of_key as github_number_of};
pub use self::markdown::read as markdown;

/// No list may be longer than this, in bytes.
const MAX_TEXT: usize = 32 << 20;
/// No list may have more issues than this.
const MAX_DRAFTS: usize = 10_000;

/// An issue to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The same whenever the same list is read.
    pub key: String,
    pub title: String,
    pub body: String,
    pub labels: BTreeSet<String>,
    pub assignee: Option<String>,
    pub closed: bool,
    /// Who wrote it where it comes from. If that is not said, whoever brings it in answers for it.
    pub author: Option<Author>,
    /// Drafts in front of this one that have to be done first, by their places in the list.
    pub blocked_by: Vec<usize>,
}

impl Draft {
    /// What a tracker is told. `blocked_by` are the tasks that were made of the drafts of that name.
    pub fn task(&self, project: &ProjectId, by: &Author, blocked_by: BTreeSet<TaskId>) -> NewTask {
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

/// Why a list cannot be read.
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

fn few_enough(drafts: &[Draft]) -> Result<(), ImportError> {
    match drafts.len() > MAX_DRAFTS {
        true => Err(ImportError::TooLong { what: format!("it has more than {MAX_DRAFTS} issues") }),
        false => Ok(()),
    }
}
