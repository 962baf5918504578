//! Converts pull requests to wire types. The core sums up checks and reviews, here and everywhere.

use std::collections::BTreeSet;

use ao_api::{AuthorRole, PullChecks, PullMergeability, PullReview, PullStatus, ReviewResult, ThreadSide};
use ao_core::policy::RuleVerdict;
use ao_core::pull::{
    AuthorFacts, AuthorStanding, ChecksVerdict, CommentFacts, Mergeable, Pull, PullState, ReviewFacts,
    ReviewVerdict, ThreadFacts,
};
use ao_core::{Commit, State, Timestamp};
use ao_ports::{DiffSide, PullDetail, PullRow, ThreadDetail};

use super::{check_run, time};

/// Converts a pull request of the engine.
pub(crate) fn pull(state: &State, pull: &Pull) -> ao_api::Pull {
    let facts = &pull.facts;
    ao_api::Pull {
        id: pull.id.to_string(),
        project_id: pull.id.project.to_string(),
        number: pull.id.number,
        title: facts.title.clone(),
        state: status(&facts.state),
        draft: facts.draft,
        head_branch: facts.head_branch.clone(),
        base_branch: facts.base_branch.clone(),
        head: facts.head.to_string(),
        author: author(&facts.author),
        labels: facts.labels.iter().cloned().collect(),
        checks: checks(pull),
        review: reviews(pull),
        mergeable: same_name!(facts.mergeable, Mergeable => PullMergeability: Unknown, Clean, Conflict),
        session: pull.owner.map(|owner| state.name_of(owner)),
        updated_at: time(pull.changed_at),
    }
}

/// Converts a row of a forge's list. If the engine knows the pull request, its state comes from there; otherwise it is
/// closed.
pub(crate) fn pull_row(state: &State, row: &PullRow) -> ao_api::Pull {
    let known = state.pulls.get(&row.pull);
    if let Some(known) = known.filter(|known| known.is_open() && row.state == PullState::Open) {
        return pull(state, known);
    }
    ao_api::Pull {
        id: row.pull.to_string(),
        project_id: row.pull.project.to_string(),
        number: row.pull.number,
        title: row.title.clone(),
        state: status(&row.state),
        draft: row.draft,
        head_branch: row.head_branch.clone(),
        base_branch: row.base_branch.clone(),
        head: row.head.to_string(),
        author: author(&row.author),
        labels: row.labels.iter().cloned().collect(),
        checks: PullChecks::None,
        review: PullReview::None,
        mergeable: PullMergeability::Unknown,
        session: known.and_then(|known| known.owner).map(|owner| state.name_of(owner)),
        updated_at: time(row.updated_at),
    }
}

/// Converts a pull request with all details.
pub(crate) fn pull_detail(state: &State, detail: &PullDetail, now: Timestamp) -> ao_api::PullDetail {
    let facts = &detail.facts;
    let mut seen = Pull::at_a_look(&detail.pull, facts);
    // A look shows neither its author nor the findings in its added lines.
    if let Some(known) = state.pulls.get(&detail.pull) {
        let Pull { facts, failures, runs, conflict, changed_at, .. } = seen;
        seen = Pull { facts, failures, runs, conflict, changed_at, ..(**known).clone() };
    }
    let blockers = state.blockers(&seen, &BTreeSet::new(), now);
    let summary = ao_api::Pull { updated_at: time(detail.updated_at), ..pull(state, &seen) };
    ao_api::PullDetail {
        body: detail.body.clone(),
        url: facts.url.clone(),
        base: facts.base.to_string(),
        created_at: time(detail.created_at),
        merged_as: match &facts.state {
            PullState::Merged { commit } => Some(commit.to_string()),
            PullState::Open | PullState::Closed => None,
        },
        merged_by: detail.merged_by.clone(),
        stacked_on: detail.stacked_on.as_ref().map(ToString::to_string),
        stacked: detail.stacked.iter().map(ToString::to_string).collect(),
        conflicts: match &facts.mergeable {
            Mergeable::Conflict { files } => files.clone(),
            Mergeable::Clean | Mergeable::Unknown => vec![],
        },
        files: facts.size.files.clone(),
        added: facts.size.added,
        removed: facts.size.removed,
        commits: detail
            .commits
            .iter()
            .map(|commit| ao_api::PullCommit {
                commit: commit.commit.to_string(),
                title: commit.title.clone(),
                author: commit.author.clone(),
                at: time(commit.at),
            })
            .collect(),
        check_runs: detail.checks.iter().map(check_run).collect(),
        reviews: facts.reviews.iter().map(|given| review(detail, &facts.head, given)).collect(),
        threads: facts.threads.iter().map(|it| thread(it, detail.threads.get(&it.id))).collect(),
        blockers: blockers.iter().map(RuleVerdict::blocker).collect(),
        pull: summary,
    }
}

pub(crate) fn author(author: &AuthorFacts) -> ao_api::Author {
    let standing = same_name!(
        author.standing, AuthorStanding => AuthorRole: Owner, Member, Collaborator, Bot, Agent, Outsider
    );
    ao_api::Author { login: author.login.clone(), standing }
}

fn review(detail: &PullDetail, head: &Commit, given: &ReviewFacts) -> ao_api::Review {
    ao_api::Review {
        id: given.id.clone(),
        author: author(&given.author),
        verdict: same_name!(given.verdict, ReviewVerdict => ReviewResult: Approved, ChangesRequested, Commented),
        commit: given.commit.to_string(),
        stale: given.commit != *head,
        body: given.body.clone(),
        at: detail.reviewed_at.get(&given.id).copied().map(time),
        edited_at: detail.reworded_at.get(&given.id).copied().map(time),
    }
}

fn thread(facts: &ThreadFacts, detail: Option<&ThreadDetail>) -> ao_api::Thread {
    let comment = |comment: &CommentFacts| ao_api::Comment {
        id: comment.id.clone(),
        author: author(&comment.author),
        body: comment.body.clone(),
        url: comment.url.clone(),
        at: detail.and_then(|detail| detail.at.get(&comment.id)).copied().map(time),
        edited_at: detail.and_then(|detail| detail.edited.get(&comment.id)).copied().map(time),
    };
    ao_api::Thread {
        id: facts.id.clone(),
        path: facts.path.clone(),
        line: facts.line,
        side: detail
            .map_or(ThreadSide::New, |detail| same_name!(detail.side, DiffSide => ThreadSide: Old, New)),
        resolved: facts.resolved,
        resolved_by: detail.and_then(|detail| detail.resolved_by.clone()),
        outdated: detail.is_some_and(|detail| detail.outdated),
        context: detail.and_then(|detail| detail.context.clone()),
        comments: facts.comments.iter().map(comment).collect(),
    }
}

fn status(state: &PullState) -> PullStatus {
    same_name!(state, PullState => PullStatus: Open, Merged, Closed)
}

fn checks(pull: &Pull) -> PullChecks {
    match pull.green() {
        ChecksVerdict::Yes => PullChecks::Passed,
        ChecksVerdict::Unchecked => PullChecks::None,
        ChecksVerdict::Red { .. } => PullChecks::Failed,
        ChecksVerdict::Waiting { .. } if pull.facts.checks.is_empty() => PullChecks::None,
        ChecksVerdict::Waiting { .. } if pull.checks_are_blocked() => PullChecks::Blocked,
        ChecksVerdict::Waiting { .. } => PullChecks::Pending,
    }
}

fn reviews(pull: &Pull) -> PullReview {
    if !pull.changes_requested().is_empty() {
        PullReview::ChangesRequested
    } else if !pull.approvals().is_empty() {
        PullReview::Approved
    } else if pull.facts.reviews.iter().any(|review| review.commit == pull.facts.head) {
        PullReview::Commented
    } else {
        PullReview::None
    }
}
