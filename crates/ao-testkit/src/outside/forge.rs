//! Pull requests of the fake forge, and how they change.

use ao_core::pull::{
    AuthorFacts, AuthorStanding, ChangeSize, CheckFacts, CheckState, CommentFacts, Mergeable, PullFacts,
    PullState, ReviewFacts, ReviewVerdict, ThreadFacts,
};
use ao_core::{Commit, Timestamp};
use fastrand::Rng;

use super::CheckRerun;
use crate::universe::UniverseState;

/// Returns a pull request that was just opened.
pub(crate) fn fresh_pull(branch: &str, base: Commit, at: Timestamp) -> PullFacts {
    PullFacts {
        head_title: None,
        no_checks: false,
        observed_at: at,
        title: format!("Work on {branch}"),
        url: format!("https://forge/{branch}"),
        head: Commit::new(&format!("{branch}@1")),
        head_branch: branch.to_owned(),
        head_repo: None,
        head_author: None,
        base_remote: Some("origin".into()),
        base_branch: "main".into(),
        base,
        draft: false,
        state: PullState::Open,
        author: AuthorFacts { login: "ao-agent".into(), standing: AuthorStanding::Agent },
        labels: Default::default(),
        mergeable: Mergeable::Clean,
        checks: vec![],
        reviews: vec![],
        threads: vec![],
        size: ChangeSize { files: vec!["src/lib.rs".into()], added: 10, removed: 2 },
    }
}

/// A member approves its current head.
pub(crate) fn approve(facts: &mut PullFacts) {
    let author = AuthorFacts { login: "bob".into(), standing: AuthorStanding::Member };
    let (id, commit) = (format!("r{}", facts.reviews.len()), facts.head.clone());
    let (body, revision) = (String::new(), "1".to_owned());
    facts.reviews.push(ReviewFacts { id, author, verdict: ReviewVerdict::Approved, commit, body, revision });
}

/// Changes something about a pull request: a check, a review, a push, a conflict, its end.
pub(crate) fn change_randomly(rng: &mut Rng, facts: &mut PullFacts, at: Timestamp) {
    facts.observed_at = facts.observed_at.max(at);
    match rng.u8(..12) {
        0..=2 => check(facts, CheckState::Pending),
        3 | 4 => {
            let signature = format!("E{}", rng.u8(..2));
            let (excerpt, url) = (format!("error: {signature}"), "https://ci/build".into());
            check(
                facts,
                CheckState::Failed { certain: false, files: vec![], signature, excerpt, url, log: None },
            );
        }
        5 | 6 => check(facts, CheckState::Passed),
        7 => {
            facts.head = Commit::new(&format!("{}@{}", facts.head_branch, rng.u32(..)));
            facts.head_title = Some("another try".into());
            facts.checks.clear();
            facts.mergeable = Mergeable::Unknown;
        }
        8 => facts.mergeable = Mergeable::Conflict { files: vec!["src/lib.rs".into()] },
        9 => facts.mergeable = Mergeable::Clean,
        10 => {
            let author = AuthorFacts { login: "bob".into(), standing: AuthorStanding::Member };
            let (id, commit) = (format!("r{}", facts.reviews.len()), facts.head.clone());
            let verdict = if rng.bool() { ReviewVerdict::Approved } else { ReviewVerdict::ChangesRequested };
            let (body, revision) = ("please".to_owned(), "1".to_owned());
            facts.reviews.push(ReviewFacts { id, author, verdict, commit, body, revision });
        }
        _ => {
            let author = AuthorFacts { login: "lint-bot".into(), standing: AuthorStanding::Bot };
            let id = format!("c{}", rng.u8(..3));
            let (url, revision) = ("https://forge/c".to_owned(), rng.u8(..3).to_string());
            let comment = CommentFacts { id, author, body: "a remark".into(), url, revision };
            let resolved = rng.u8(..3) == 0;
            facts.threads = vec![ThreadFacts {
                id: "t1".into(),
                path: Some("src/lib.rs".into()),
                line: Some(1),
                resolved,
                comments: vec![comment],
            }];
        }
    }
}

/// Ends the rerun of a check: it passes by chance, unless the base fails it or the test decides otherwise. Returns
/// the new facts, if it is still the head.
pub(crate) fn ran(inner: &mut UniverseState, rerun: &CheckRerun) -> Option<PullFacts> {
    let red = {
        let tip = inner.outside.base(&rerun.pull.project);
        inner.outside.red.contains(&(rerun.pull.project.clone(), tip))
    };
    let chance = inner.faults.are_random() && inner.rng.bool();
    let passes = !red && inner.outside.passes_again.unwrap_or(chance);
    let at = inner.wall();
    let facts = inner.outside.pulls.get_mut(&rerun.pull)?;
    if facts.head != rerun.commit || facts.state != PullState::Open {
        return None;
    }
    let check = facts.checks.iter_mut().find(|check| check.name == rerun.check)?;
    check.run = Some(format!("again {}", rerun.number));
    if passes {
        check.state = CheckState::Passed;
    }
    facts.observed_at = facts.observed_at.max(at);
    Some(facts.clone())
}

/// Name of the one check of every simulated pull request. It has a blank, because the names of real checks do.
const CHECK: &str = "unit tests";

pub(crate) fn check(facts: &mut PullFacts, state: CheckState) {
    facts.checks =
        vec![CheckFacts { run: None, name: CHECK.into(), commit: facts.head.clone(), state, required: true }];
}
