//! One complete look at a pull request, as a forge shows it. Plain data, into which every forge is translated.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::outside::{QuotedKind, bounded};
use crate::text::word_enum;
use crate::{Commit, Timestamp};

/// Bytes of one text from outside that are kept. The log of a failed check is a file; this is what a message can carry.
pub(crate) const TEXT_LIMIT: usize = 8 * 1024;

/// All facts about one pull request at one time.
///
/// A look is complete: what is missing from it is gone. An adapter that could not read all pages has no facts to
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullFacts {
    /// Time of the request to the forge, so that a response that was overtaken is seen and dropped.
    pub observed_at: Timestamp,
    pub title: String,
    pub url: String,
    pub head: Commit,
    pub head_branch: String,
    /// The fork that has the branch; `None` if it is in the repository of the base.
    pub head_repo: Option<String>,
    /// The email address of the head commit's author. Each session commits under one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_author: Option<String>,
    /// The first line of the head commit's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_title: Option<String>,
    pub base_branch: String,
    /// The name of the base's remote in a workspace; `None` if the base is a branch of the workspace's own
    /// repository.
    #[serde(default = "origin", skip_serializing_if = "is_origin")]
    pub base_remote: Option<String>,
    /// The tip of the base branch, not the merge base.
    pub base: Commit,
    pub draft: bool,
    pub state: PullState,
    pub author: AuthorFacts,
    pub labels: BTreeSet<String>,
    pub mergeable: Mergeable,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckFacts>,
    /// No check is configured for it, so none will ever report. Only a forge that runs checks itself knows this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_checks: bool,
    /// In the order they were given, because a later verdict replaces an earlier one of the same person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<ReviewFacts>,
    /// Review threads, and each top-level comment as a thread without a path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadFacts>,
    pub size: ChangeSize,
}

/// Returns the remote that most forges use.
pub(super) fn origin() -> Option<String> {
    Some("origin".to_owned())
}

pub(super) fn is_origin(remote: &Option<String>) -> bool {
    remote.as_deref() == Some("origin")
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullState {
    Open,
    Merged { commit: Commit },
    Closed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorFacts {
    pub login: String,
    pub standing: AuthorStanding,
}

word_enum! {
    /// The standing of an author. Judged by the adapter from permissions, never from how a login is spelled.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum AuthorStanding {
        Owner = "owner",
        Member = "member",
        Collaborator = "collaborator",
        /// Another program that was given access on purpose.
        Bot = "bot",
        /// One of our own agents, or the daemon. Its text must never come back to it as news.
        Agent = "agent",
        Outsider = "outsider",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mergeable {
    /// The forge is still computing, as it does whenever head or base has moved. Not an answer.
    Unknown,
    /// It can be merged.
    Clean,
    /// These files conflict with the base.
    Conflict { files: Vec<String> },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckFacts {
    pub name: String,
    pub commit: Commit,
    pub state: CheckState,
    pub required: bool,
    /// Id of the run; another run of the same commit has another one. None if the forge has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckState {
    /// It has not ended, or not begun.
    Pending,
    /// It passed.
    Passed,
    /// It failed.
    Failed {
        /// Signature of the failure among those of the same check: times, paths and numbers taken out.
        signature: String,
        /// The relevant lines.
        excerpt: String,
        url: String,
        /// Path of the whole log, for the agent to read.
        log: Option<String>,
        /// The files of the repository that the failure names.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<String>,
        /// Certainly not flaky: the error of a compiler or a linter.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        certain: bool,
    },
    /// It was not run.
    Skipped,
    /// It could not be run, for reasons unrelated to the change: a program is missing, the machine failed. No agent
    /// can fix that.
    Broken { why: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewFacts {
    pub id: String,
    pub author: AuthorFacts,
    pub verdict: ReviewVerdict,
    /// The head it was given on.
    pub commit: Commit,
    pub body: String,
    /// Changes when the body is edited.
    pub revision: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewVerdict {
    Approved,
    ChangesRequested,
    Commented,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ThreadFacts {
    pub id: String,
    pub path: Option<String>,
    pub line: Option<u32>,
    pub resolved: bool,
    pub comments: Vec<CommentFacts>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommentFacts {
    pub id: String,
    pub author: AuthorFacts,
    pub body: String,
    pub url: String,
    /// Changes when the comment is edited.
    pub revision: String,
}

/// Size of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChangeSize {
    /// All changed files, with both names of a renamed one: protected paths are looked for here, so a list cut short
    /// by a forge's page limit would let one slip through. Empty means unknown.
    pub files: Vec<String>,
    pub added: u64,
    pub removed: u64,
}

impl AuthorFacts {
    /// Compares logins without regard to case, as forges do, so that no approval counts twice.
    pub fn is(&self, login: &str) -> bool {
        self.login.eq_ignore_ascii_case(login)
    }
}

impl AuthorStanding {
    /// Returns whether it is a person with rights in this repository.
    pub fn is_trusted_person(self) -> bool {
        matches!(self, AuthorStanding::Owner | AuthorStanding::Member | AuthorStanding::Collaborator)
    }
}

impl PullFacts {
    /// Returns the part of a look that is stored: bounded, in a fixed order, without what can no longer matter.
    ///
    /// Looks with the same meaning are equal afterwards, so plain values can be compared.
    pub(super) fn tidied(&self) -> PullFacts {
        let mut facts = self.clone();
        facts.checks = worst_per_name(facts.checks.into_iter().filter(|check| check.commit == self.head));
        facts.reviews = once_per_id(facts.reviews, |review| &review.id);
        for review in &mut facts.reviews {
            // An approval or a stranger's review is only counted, never quoted.
            let quoted = review.verdict != ReviewVerdict::Approved && may_ask(&review.author);
            review.body =
                if quoted { bounded(QuotedKind::Review, &review.body, TEXT_LIMIT) } else { String::new() };
        }
        facts.threads = once_per_id(facts.threads, |thread| &thread.id);
        facts.threads.sort_by(|one, other| one.id.cmp(&other.id));
        facts.threads.retain_mut(|thread| !thread.resolved && tidy_comments(&mut thread.comments));
        if let Mergeable::Conflict { files } = &mut facts.mergeable {
            sort_once(files);
        }
        sort_once(&mut facts.size.files);
        facts
    }
}

/// Returns true if a comment of this author can become work for an agent.
pub(super) fn may_ask(author: &AuthorFacts) -> bool {
    author.standing.is_trusted_person() || author.standing == AuthorStanding::Bot
}

/// Keeps requests, and the fact of our own replies. An outsider's text is not even stored; our own needs no body.
fn tidy_comments(comments: &mut Vec<CommentFacts>) -> bool {
    comments.retain(|comment| comment.author.standing != AuthorStanding::Outsider);
    for comment in comments.iter_mut() {
        let quoted = may_ask(&comment.author);
        comment.body =
            if quoted { bounded(QuotedKind::Comment, &comment.body, TEXT_LIMIT) } else { String::new() };
    }
    *comments = once_per_id(std::mem::take(comments), |comment| &comment.id);
    !comments.is_empty()
}

/// Removes duplicates, because pages that shift while they are read show an item twice. Its first position and its
/// last content are right.
fn once_per_id<T>(items: Vec<T>, id: impl Fn(&T) -> &str) -> Vec<T> {
    let mut once: Vec<T> = Vec::with_capacity(items.len());
    for item in items {
        match once.iter_mut().find(|kept| id(kept) == id(&item)) {
            Some(kept) => *kept = item,
            None => once.push(item),
        }
    }
    once
}

/// Keeps the worst check of each name. Two workflows may both report a `build`, and the pull request is as good as
/// the worse of them.
fn worst_per_name(checks: impl Iterator<Item = CheckFacts>) -> Vec<CheckFacts> {
    let badness = |check: &CheckFacts| match check.state {
        CheckState::Skipped => 0,
        CheckState::Passed => 1,
        CheckState::Pending => 2,
        CheckState::Broken { .. } => 3,
        CheckState::Failed { .. } => 4,
    };
    let mut worst: BTreeMap<String, CheckFacts> = BTreeMap::new();
    for mut check in checks {
        if let CheckState::Failed { excerpt: text, .. } | CheckState::Broken { why: text } = &mut check.state
        {
            *text = bounded(QuotedKind::Log, text, TEXT_LIMIT);
        }
        let required = check.required || worst.get(&check.name).is_some_and(|known| known.required);
        if worst.get(&check.name).is_none_or(|known| badness(&check) > badness(known)) {
            worst.insert(check.name.clone(), check.clone());
        }
        if let Some(kept) = worst.get_mut(&check.name) {
            kept.required = required;
        }
    }
    worst.into_values().collect()
}

fn sort_once(files: &mut Vec<String>) {
    files.sort();
    files.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pull::fixture::{bot, check, comment, facts, failed, member, outsider, review, thread};

    #[test]
    fn two_checks_of_one_name_count_as_the_worse_of_them() {
        let mut seen = facts(1);
        seen.checks =
            vec![failed("build", "E1"), CheckFacts { required: true, ..check("build", CheckState::Passed) }];
        let kept = seen.tidied().checks;
        assert_eq!(kept, [CheckFacts { required: true, ..failed("build", "E1") }]);
    }

    #[test]
    fn a_check_of_an_old_head_is_not_kept() {
        let mut seen = facts(1);
        seen.checks = vec![CheckFacts { commit: Commit::new("before"), ..failed("build", "E1") }];
        assert_eq!(seen.tidied().checks, []);
    }

    #[test]
    fn a_thing_on_two_pages_is_kept_once_with_its_later_content() {
        let mut seen = facts(1);
        let (old, new) = (comment("c1", member("bob"), "1"), comment("c1", member("bob"), "2"));
        seen.threads = vec![thread("t1", vec![old, comment("c2", bot(), "1"), new.clone()])];
        assert_eq!(seen.tidied().threads[0].comments, [new, comment("c2", bot(), "1")]);
    }

    /// An outsider's text must not even reach the log. acceptance: X3
    #[test]
    fn what_an_outsider_writes_is_not_kept() {
        let mut seen = facts(1);
        seen.threads = vec![thread("t1", vec![comment("c1", outsider(), "1")])];
        seen.reviews = vec![review("r1", outsider(), ReviewVerdict::ChangesRequested, "run this")];
        let kept = seen.tidied();
        assert_eq!(kept.threads, []);
        assert_eq!(kept.reviews[0].body, "");
    }
}
