//! Whose pull request it is, when nobody has said so.

use ao_core::pull::{
    AuthorFacts, AuthorStanding, CheckState, PullFacts, PullInput, ReviewFacts, ReviewVerdict,
};
use ao_core::session::{CheckedOut, SessionInput, SessionRole};
use ao_core::setup::Origin;
use ao_core::{Commit, Input, PullId, SessionId};

use crate::desk::{Desk, app};
use crate::incidents::facts;

fn pull(number: u64) -> PullId {
    PullId { project: app(), number }
}

impl Desk {
    fn sees_pull(&mut self, number: u64, change: impl FnOnce(&mut PullFacts)) {
        let mut facts = facts(self, "c0", CheckState::Passed);
        facts.head_branch = "somebodys".into();
        change(&mut facts);
        self.take(Input::Pull { pull: pull(number), input: PullInput::Seen(Box::new(facts)) });
    }

    fn stands(&mut self, session: SessionId, branch: &str, head: &str) {
        let stand = CheckedOut { branch: Some(branch.to_owned()), head: Some(Commit::new(head)) };
        self.tell(session, SessionInput::CheckedOut { checked_out: stand });
    }

    fn owner(&self, number: u64) -> Option<SessionId> {
        self.state.pulls[&pull(number)].owner
    }
}

/// acceptance: F8
#[test]
fn a_pull_request_is_its_sessions_by_the_branch_that_the_session_is_on() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    let branch = desk.session(session).spec.branch.clone();
    desk.sees_pull(1, |facts| facts.head_branch = branch);
    assert_eq!(desk.owner(1), Some(session));
    assert!(desk.session(session).pulls.contains(&pull(1)));
}

/// The agent gives its branch another name, and another pull request comes of it. acceptance: F8
#[test]
fn a_renamed_branch_and_a_second_pull_request_are_found() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    let branch = desk.session(session).spec.branch.clone();
    desk.stands(session, "better-name", "c1");
    desk.sees_pull(1, |facts| facts.head_branch = "better-name".into());
    assert_eq!(desk.owner(1), Some(session));
    // Its old name is free now, and whoever has it has nothing to do with the session.
    desk.sees_pull(2, |facts| facts.head_branch = branch);
    assert_eq!(desk.owner(2), None);
    // It goes on to another branch, on top of the first.
    desk.sees_pull(3, |facts| facts.head_branch = "part-two".into());
    assert_eq!(desk.owner(3), None);
    desk.stands(session, "part-two", "c2");
    assert_eq!(desk.owner(3), Some(session), "linked once it is seen there");
    assert_eq!(desk.owner(1), Some(session));
}

/// acceptance: F8
#[test]
fn in_a_fork_the_commits_count_and_not_the_name() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    let branch = desk.session(session).spec.branch.clone();
    desk.stands(session, &branch, "c1");
    let fork = |head: &'static str, author: Option<String>| {
        let branch = branch.clone();
        move |facts: &mut PullFacts| {
            facts.head_repo = Some("fork".into());
            facts.head_branch = branch;
            facts.head = Commit::new(head);
            facts.head_author = author;
        }
    };
    desk.sees_pull(1, fork("stranger", Some("somebody@example.com".into())));
    assert_eq!(desk.owner(1), None, "only its name is the same");
    desk.sees_pull(2, fork("c1", None));
    assert_eq!(desk.owner(2), Some(session), "it is the very commit that the session is on");
    desk.sees_pull(3, fork("earlier", Some(session.address())));
    assert_eq!(desk.owner(3), Some(session), "the session made that commit");
}

#[test]
fn a_session_on_the_default_branch_adopts_nothing() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.stands(session, "main", "c1");
    desk.sees_pull(1, |facts| {
        facts.head_branch = "main".into();
        facts.base_branch = "production".into();
        facts.head = Commit::new("c1");
        facts.head_author = Some(session.address());
    });
    desk.sees_pull(2, |facts| {
        facts.head_branch = "other".into();
        facts.head = Commit::new("c1");
    });
    assert_eq!((desk.owner(1), desk.owner(2)), (None, None));
}

/// Whoever begins at the tip of the default branch stands on it, and on whatever else has that tip.
#[test]
fn a_session_that_has_done_nothing_yet_adopts_nothing() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    let (branch, base) = {
        let session = desk.session(session);
        (session.spec.branch.clone(), session.workspace.tree.clone().unwrap().base)
    };
    desk.sees_pull(1, |facts| {
        (facts.head_branch, facts.base_branch) = ("promote".into(), "release".into());
        facts.head = Commit::new(&base);
    });
    desk.stands(session, &branch, &base);
    assert_eq!(desk.owner(1), None);
}

#[test]
fn a_strangers_pull_request_and_one_that_could_be_anybodys_are_nobodys() {
    let mut desk = Desk::new();
    let (one, two) = (desk.idle("1"), desk.idle("2"));
    let branch = desk.session(one).spec.branch.clone();
    desk.sees_pull(1, |facts| {
        facts.head_branch = branch;
        facts.author = AuthorFacts { login: "mallory".into(), standing: AuthorStanding::Outsider };
    });
    assert_eq!(desk.owner(1), None);
    desk.stands(one, "a", "c1");
    desk.stands(two, "b", "c1");
    desk.sees_pull(2, |facts| {
        facts.head_branch = "c".into();
        facts.head = Commit::new("c1");
    });
    assert_eq!(desk.owner(2), None, "two sessions stand on that commit");
}

/// Who gave it up does not get it back by its branch.
#[test]
fn a_released_pull_request_stays_released_until_somebody_says_otherwise() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    let branch = desk.session(session).spec.branch.clone();
    let seen = |title: &'static str, head: &'static str| {
        let branch = branch.clone();
        move |facts: &mut PullFacts| {
            (facts.title, facts.head_branch, facts.head) = (title.into(), branch, Commit::new(head));
        }
    };
    desk.sees_pull(1, seen("one", "c1"));
    desk.take(Input::Pull { pull: pull(1), input: PullInput::Release { session } });
    assert_eq!(desk.owner(1), None);
    assert!(!desk.session(session).pulls.contains(&pull(1)), "and the session knows");
    desk.wait(1);
    desk.sees_pull(1, seen("one", "c2"));
    desk.stands(session, &branch, "c2");
    assert_eq!(desk.owner(1), None);
    desk.take(Input::Pull { pull: pull(1), input: PullInput::Claim { session } });
    assert_eq!(desk.owner(1), Some(session));
}

/// A reviewer reads, says what it has found, and goes; what it read in goes with it.
#[test]
fn a_reviewer_ends_with_its_review() {
    let mut desk = Desk::new();
    let mut wish = crate::desk::request("review", crate::desk::TYPED);
    wish.task = None;
    wish.role = SessionRole::Reviewer;
    wish.name = Some("app-review-1".into());
    wish.origin = Origin::Read { commit: "c1".into(), pull: pull(1) };
    desk.take(Input::Spawn(Box::new(wish)));
    let reviewer = desk.state.session_named("app-review-1").unwrap().id;
    desk.make_ready(reviewer);
    desk.launch(reviewer);
    let review = ReviewFacts {
        id: "r1".into(),
        author: AuthorFacts { login: "app-review-1".into(), standing: AuthorStanding::Bot },
        verdict: ReviewVerdict::ChangesRequested,
        commit: Commit::new("c0"),
        body: "no tests".into(),
        revision: "1".into(),
    };
    desk.sees_pull(1, |facts| facts.head = Commit::new("c0"));
    assert_eq!(desk.owner(1), None, "it is not the reviewer's own, whatever it stands on");
    desk.wait(1);
    let other = review.clone();
    desk.sees_pull(2, |facts| {
        facts.head = Commit::new("c0");
        facts.reviews = vec![other];
    });
    assert!(!desk.status(reviewer).starts_with("stopping"), "what it says of another one does not end it");
    desk.sees_pull(1, |facts| {
        facts.head = Commit::new("c0");
        facts.reviews = vec![review];
    });
    assert!(desk.status(reviewer).starts_with("stopping"), "{}", desk.status(reviewer));
    desk.ended(reviewer);
    assert_eq!(desk.wants(reviewer).len(), 1, "its tree goes: {:?}", desk.wants(reviewer));
}
