//! Threads that are answered in our own name after the fix.

use std::time::Duration;

use ao_core::evidence::{Reading, SignalSource};
use ao_core::job::{JobOrder, JobOutcome};
use ao_core::order::ThreadReply;
use ao_core::pull::{AuthorFacts, AuthorStanding, CheckState, CommentFacts, PullInput, ThreadFacts};
use ao_core::reaction::ReactionPatch;
use ao_core::{DaemonSettings, Input, SessionId};

use crate::desk::Desk;
use crate::incidents::{facts, listen, pull, with_pull};

fn comment(id: &str, standing: AuthorStanding) -> CommentFacts {
    CommentFacts {
        id: id.into(),
        author: AuthorFacts { login: format!("{standing}"), standing },
        body: format!("please change {id}"),
        url: format!("https://forge.invalid/7#{id}"),
        revision: "1".into(),
    }
}

fn look(desk: &mut Desk, head: &str, comments: Vec<CommentFacts>) -> Vec<JobOrder> {
    desk.now = desk.now + Duration::from_secs(1);
    let mut seen = facts(desk, head, CheckState::Pending);
    seen.head_title = Some(format!("work {head}"));
    let thread = ThreadFacts { id: "t1".into(), path: None, line: None, resolved: false, comments };
    seen.threads = vec![thread];
    desk.take(Input::Pull { pull: pull(), input: PullInput::Seen(Box::new(seen)) });
    desk.run_jobs(|_| Ok(JobOutcome::Done { said: String::new() }))
}

fn replies(orders: &[JobOrder]) -> Vec<(String, bool)> {
    let reply = |order: &JobOrder| match order {
        JobOrder::Reply(ThreadReply { thread, text, resolve, .. }) => {
            assert_eq!(thread, "t1");
            Some((text.clone(), *resolve))
        }
        _ => None,
    };
    orders.iter().filter_map(reply).collect()
}

fn desk(resolve: bool) -> (Desk, SessionId) {
    let patch = ReactionPatch { resolve: Some(resolve), ..ReactionPatch::default() };
    let reactions = [("changes-requested".parse().unwrap(), patch)].into();
    let mut desk = Desk::with(DaemonSettings { reactions, ..DaemonSettings::default() });
    let session = with_pull(&mut desk);
    (desk, session)
}

/// Lets the agent take what it is told and end its turn. Returns how much that was.
fn heard(desk: &mut Desk, session: SessionId) -> usize {
    let messages = listen(desk, session);
    desk.now = desk.now + Duration::from_secs(1);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    messages
}

/// acceptance: F6
#[test]
fn a_thread_is_answered_once_with_the_commit_that_addressed_it() {
    let (mut desk, session) = desk(false);
    let asked = || vec![comment("m1", AuthorStanding::Member)];
    assert_eq!(replies(&look(&mut desk, "c1", asked())), []);
    assert_eq!(heard(&mut desk, session), 1);
    assert_eq!(replies(&look(&mut desk, "c2", asked())), [("Addressed in c2: work c2".to_owned(), false)]);
    // Our own answer is no news, and later commits are no second answer.
    let ours = || vec![comment("m1", AuthorStanding::Member), comment("a1", AuthorStanding::Agent)];
    assert_eq!(replies(&look(&mut desk, "c2", ours())), []);
    assert_eq!(replies(&look(&mut desk, "c3", ours())), []);
    desk.wait(100_000);
    assert_eq!((listen(&mut desk, session), desk.told().len()), (0, 0), "now it is the reviewer's turn");
    // Who asks on is heard, and answered again.
    let more = || [ours(), vec![comment("m2", AuthorStanding::Member)]].concat();
    assert_eq!(replies(&look(&mut desk, "c3", more())), []);
    assert_eq!(heard(&mut desk, session), 1);
    assert_eq!(replies(&look(&mut desk, "c4", more())), [("Addressed in c4: work c4".to_owned(), false)]);
}

/// acceptance: F6
#[test]
fn where_the_agent_has_answered_itself_only_the_resolving_is_left() {
    for (resolve, expected) in [(false, vec![]), (true, vec![(String::new(), true)])] {
        let (mut desk, session) = desk(resolve);
        look(&mut desk, "c1", vec![comment("m1", AuthorStanding::Member)]);
        assert_eq!(heard(&mut desk, session), 1);
        let answered = || vec![comment("m1", AuthorStanding::Member), comment("a1", AuthorStanding::Agent)];
        assert_eq!(replies(&look(&mut desk, "c1", answered())), []);
        assert_eq!(listen(&mut desk, session), 0, "its own words do not wake it");
        assert_eq!(replies(&look(&mut desk, "c2", answered())), expected);
    }
}

#[test]
fn an_agent_that_is_at_it_is_left_to_answer_for_itself() {
    let (mut desk, session) = desk(false);
    let asked = || vec![comment("m1", AuthorStanding::Member)];
    look(&mut desk, "c1", asked());
    desk.now = desk.now + Duration::from_secs(1);
    assert_eq!(listen(&mut desk, session), 1);
    // It has taken the news, and what it did before that is all that is known of it.
    assert_eq!(replies(&look(&mut desk, "c2", asked())), []);
    desk.now = desk.now + Duration::from_secs(1);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    let orders = desk.run_jobs(|_| Ok(JobOutcome::Done { said: String::new() }));
    assert_eq!(replies(&orders), [("Addressed in c2: work c2".to_owned(), false)]);
}

#[test]
fn a_push_before_the_agent_has_heard_of_it_addresses_nothing() {
    let (mut desk, session) = desk(false);
    desk.sees(session, SignalSource::Hook, crate::desk::working());
    let asked = || vec![comment("m1", AuthorStanding::Member)];
    look(&mut desk, "c1", asked());
    assert_eq!(replies(&look(&mut desk, "c2", asked())), []);
    desk.now = desk.now + Duration::from_secs(1);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    assert_eq!(listen(&mut desk, session), 1);
    assert_eq!(replies(&look(&mut desk, "c3", asked())), [("Addressed in c3: work c3".to_owned(), false)]);
}

#[test]
fn an_answer_that_cannot_be_given_leaves_the_story_as_it_was() {
    let (mut desk, session) = desk(false);
    let asked = || vec![comment("m1", AuthorStanding::Member)];
    look(&mut desk, "c1", asked());
    listen(&mut desk, session);
    desk.now = desk.now + Duration::from_secs(1);
    let mut seen = facts(&desk, "c2", CheckState::Pending);
    seen.threads =
        vec![ThreadFacts { id: "t1".into(), path: None, line: None, resolved: false, comments: asked() }];
    desk.take(Input::Pull { pull: pull(), input: PullInput::Seen(Box::new(seen)) });
    desk.run_jobs(|order| {
        assert!(matches!(order, JobOrder::Reply(reply) if reply.text == "Addressed in c2."));
        Err("the forge is down".into())
    });
    desk.wait(2000);
    assert_eq!(listen(&mut desk, session), 1, "it is told once more");
}
