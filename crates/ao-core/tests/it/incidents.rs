//! Problems on a pull request: told to the right agent, within bounds, and with an end.

use std::collections::BTreeSet;
use std::time::Duration;

use ao_core::evidence::{Reading, SignalSource};
use ao_core::incident::{EscalationLevel, IncidentKind};
use ao_core::pull::{
    AuthorFacts, AuthorStanding, ChangeSize, CheckFacts, CheckState, Mergeable, PullFacts, PullInput,
    PullState,
};
use ao_core::session::{Phase, SessionInput};
use ao_core::{Commit, Input, PullId, SessionId};

use crate::desk::{Desk, app};

pub(crate) fn pull() -> PullId {
    PullId { project: app(), number: 7 }
}

pub(crate) fn facts(desk: &Desk, head: &str, check: CheckState) -> PullFacts {
    PullFacts {
        head_title: None,
        no_checks: false,
        observed_at: desk.now,
        title: "Fix login".into(),
        url: "https://forge.invalid/7".into(),
        head: Commit::new(head),
        head_branch: "agent/app-1".into(),
        head_repo: None,
        head_author: None,
        base_remote: Some("origin".into()),
        base_branch: "main".into(),
        base: Commit::new("b0"),
        draft: false,
        state: PullState::Open,
        author: AuthorFacts { login: "agent".into(), standing: AuthorStanding::Agent },
        labels: BTreeSet::new(),
        mergeable: Mergeable::Clean,
        checks: vec![CheckFacts {
            run: None,
            name: "test".into(),
            commit: Commit::new(head),
            state: check,
            required: true,
        }],
        reviews: vec![],
        threads: vec![],
        size: ChangeSize::default(),
    }
}

pub(crate) fn red(signature: &str) -> CheckState {
    CheckState::Failed {
        certain: false,
        files: vec![],
        signature: signature.into(),
        excerpt: "assertion failed: login".into(),
        url: "https://forge.invalid/7/checks".into(),
        log: None,
    }
}

fn seen(desk: &mut Desk, head: &str, check: CheckState) {
    desk.now = desk.now + Duration::from_secs(1);
    let facts = facts(desk, head, check);
    desk.take(Input::Pull { pull: pull(), input: PullInput::Seen(Box::new(facts)) });
    // Here nothing can be run again, and no base can be asked.
    desk.run_jobs(|_| Err("there is no runner".into()));
}

pub(crate) fn with_pull(desk: &mut Desk) -> SessionId {
    let session = desk.idle("1");
    seen(desk, "c1", CheckState::Pending);
    desk.take(Input::Pull { pull: pull(), input: PullInput::Claim { session } });
    session
}

/// Lets the agent take whatever is on its way, and returns how many messages that were.
pub(crate) fn listen(desk: &mut Desk, session: SessionId) -> usize {
    let mut heard = 0;
    while let Some(current) = desk.session(session).outbox.current.clone() {
        desk.write(session);
        desk.prove(session, &current.text);
        heard += current.messages.len();
    }
    heard
}

#[test]
fn a_failed_check_reaches_its_agent_with_what_it_needs_to_know() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    seen(&mut desk, "c1", red("login"));
    let text = desk.session(session).outbox.current.clone().unwrap().text;
    for needed in ["A check failed on your pull request.", "test", "c1", "assertion failed: login"] {
        assert!(text.contains(needed), "{needed} is not in: {text}");
    }
}

/// acceptance: F2
#[test]
fn a_flickering_check_is_told_a_few_times_then_to_a_person_once_then_never() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    let mut heard = 0;
    for _ in 0..20 {
        seen(&mut desk, "c1", red("login"));
        heard += listen(&mut desk, session);
        desk.wait(1900);
        heard += listen(&mut desk, session);
        seen(&mut desk, "c1", CheckState::Pending);
        desk.wait(60);
    }
    assert_eq!(heard, 3, "as often as is configured");
    assert_eq!(desk.told().len(), 1, "{:?}", desk.told());
    // Stable green: the story is over, and a new failure begins a new one.
    seen(&mut desk, "c1", CheckState::Passed);
    desk.wait(400);
    assert_eq!(desk.open_problems(), 0);
    seen(&mut desk, "c1", red("login"));
    assert_eq!(listen(&mut desk, session), 1);
}

#[test]
fn a_short_green_does_not_hand_out_a_new_budget() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    let mut heard = 0;
    for round in 0..20 {
        seen(&mut desk, "c1", if round % 2 == 0 { red("login") } else { CheckState::Passed });
        desk.wait(120);
        heard += listen(&mut desk, session);
    }
    assert!(heard <= 3, "told {heard} times");
    assert_eq!(desk.open_problems(), 1);
}

#[test]
fn the_same_failure_on_a_new_commit_spends_the_same_budget() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    let mut heard = 0;
    for commit in 1..10 {
        seen(&mut desk, &format!("c{commit}"), red("login"));
        heard += listen(&mut desk, session);
    }
    assert_eq!(heard, 3);
    assert_eq!(desk.told().len(), 1);
    let incident = desk.state.incidents.values().find(|it| it.key.kind == IncidentKind::CiFailed).unwrap();
    assert_eq!(incident.level, EscalationLevel::Person);
}

#[test]
fn news_that_is_no_longer_true_is_taken_back_before_it_is_said() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    desk.sees(session, ao_core::evidence::SignalSource::Hook, crate::desk::working());
    seen(&mut desk, "c1", red("login"));
    assert_eq!(desk.session(session).outbox.waiting.len(), 1);
    seen(&mut desk, "c1", CheckState::Passed);
    assert!(desk.session(session).outbox.is_empty());
}

/// acceptance: F4
#[test]
fn news_that_does_not_get_through_is_told_to_a_person() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    seen(&mut desk, "c1", red("login"));
    for _ in 0..4 {
        desk.write(session);
        desk.wait(11);
    }
    let told = desk.told();
    assert_eq!(
        told[0],
        "a message to `app-1` was not accepted after 4 tries; its text is kept in the outbox"
    );
    // What it was about is not mended by that.
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[1].contains("its agent could not be told: not accepted after 4 tries"), "{told:?}");
    assert!(told[1].contains("assertion failed: login"), "{told:?}");
}

#[test]
fn news_that_an_agent_does_not_take_goes_to_the_orchestrator_and_from_there_to_a_person() {
    let mut desk = Desk::new();
    let mut request = crate::desk::request("0", crate::desk::TYPED);
    (request.task, request.role) = (None, ao_core::session::SessionRole::Orchestrator);
    desk.take(Input::Spawn(Box::new(request)));
    let orchestrator = desk.state.live().next().map(|session| session.id).unwrap();
    desk.make_ready(orchestrator);
    desk.launch(orchestrator);
    desk.sees(orchestrator, SignalSource::Hook, Reading::Idle);
    desk.write(orchestrator);
    let task = desk.session(orchestrator).outbox.current.clone().unwrap().text;
    desk.prove(orchestrator, &task);
    desk.sees(orchestrator, SignalSource::Hook, Reading::Idle);
    let session = with_pull(&mut desk);
    seen(&mut desk, "c1", red("login"));
    let level = |desk: &Desk| {
        let of_check = desk.state.incidents.values().find(|it| it.key.kind == IncidentKind::CiFailed);
        of_check.map(|incident| incident.level)
    };
    let deaf = |desk: &mut Desk, session: SessionId| {
        for _ in 0..4 {
            desk.write(session);
            desk.wait(11);
        }
    };
    assert_eq!(level(&desk), Some(EscalationLevel::Agent));
    deaf(&mut desk, session);
    assert_eq!(level(&desk), Some(EscalationLevel::Orchestrator));
    let news = desk.session(orchestrator).outbox.current.clone().unwrap().text;
    assert!(news.contains("its agent could not be told: not accepted after 4 tries"), "{news}");
    deaf(&mut desk, orchestrator);
    assert_eq!(level(&desk), Some(EscalationLevel::Person));
    assert!(
        desk.told().iter().any(|told| told.contains("the orchestrator could not be told")),
        "{:?}",
        desk.told()
    );
}

#[test]
fn news_that_was_dropped_with_its_session_is_not_taken_for_said() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    desk.sees(session, SignalSource::Hook, crate::desk::working());
    seen(&mut desk, "c1", red("login"));
    assert_eq!(desk.session(session).outbox.waiting.len(), 1);
    desk.tell(session, SessionInput::Stop { by: "ann".into(), why: String::new() });
    desk.ended(session);
    let incident = desk.state.incidents.values().find(|it| it.key.kind == IncidentKind::CiFailed).unwrap();
    assert_eq!((incident.acted, incident.level), (0, EscalationLevel::Agent));
    assert!(incident.is_fresh() && incident.due.is_some(), "{incident:?}");
    desk.wait(3600);
    assert!(desk.told().iter().any(|told| told.contains("no agent could be told")), "{:?}", desk.told());
}

/// acceptance: F11
#[test]
fn approved_and_green_is_only_told_unless_merging_was_switched_on() {
    let mut desk = Desk::new();
    with_pull(&mut desk);
    desk.now = desk.now + Duration::from_secs(1);
    let mut ready = facts(&desk, "c1", CheckState::Passed);
    ready.reviews.push(ao_core::pull::ReviewFacts {
        id: "r1".into(),
        author: AuthorFacts { login: "ann".into(), standing: AuthorStanding::Owner },
        verdict: ao_core::pull::ReviewVerdict::Approved,
        commit: Commit::new("c1"),
        body: String::new(),
        revision: "1".into(),
    });
    desk.take(Input::Pull { pull: pull(), input: PullInput::Seen(Box::new(ready)) });
    assert_eq!(desk.told().len(), 1);
    assert!(desk.state.projects[&app()].queue.entries.is_empty());
}

#[test]
fn a_merge_ends_the_session_and_what_was_open() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    seen(&mut desk, "c1", red("login"));
    desk.now = desk.now + Duration::from_secs(1);
    let mut merged = facts(&desk, "c1", CheckState::Passed);
    merged.state = PullState::Merged { commit: Commit::new("m1") };
    desk.take(Input::Pull { pull: pull(), input: PullInput::Seen(Box::new(merged)) });
    desk.ended(session);
    assert_eq!(desk.status(session), "merged: its change was merged as app!7");
    assert!(matches!(desk.session(session).phase, Phase::Ended { .. }));
    assert_eq!(desk.wants(session), [format!("remove workspace of {session} (try 0)")]);
    assert!(
        desk.state
            .incidents
            .values()
            .all(|incident| matches!(incident.key.kind, IncidentKind::PrMerged | IncidentKind::AllComplete))
    );
}

#[test]
fn news_waits_for_a_paused_agent_and_comes_as_soon_as_it_may() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    desk.tell(session, ao_core::session::SessionInput::Pause { by: "ann".into() });
    seen(&mut desk, "c1", red("login"));
    assert!(desk.session(session).outbox.is_empty());
    desk.wait(60);
    desk.tell(session, ao_core::session::SessionInput::Resume { limits: None });
    assert_eq!(listen(&mut desk, session), 1);
}

#[test]
fn a_pull_request_of_nobody_here_worries_nobody_here() {
    let mut desk = Desk::new();
    seen(&mut desk, "c1", red("login"));
    desk.wait(100_000);
    assert!(desk.state.incidents.is_empty());
    assert_eq!(desk.told(), Vec::<String>::new());
}

#[test]
fn an_agent_whose_change_is_proposed_hears_where_it_stands_and_not_its_task_again() {
    let mut desk = Desk::new();
    let session = with_pull(&mut desk);
    desk.sees(session, SignalSource::Process, Reading::Exited { code: Some(1) });
    desk.ended(session);
    desk.wait(5);
    let attempt = desk.session(session).attempt;
    desk.tell(session, SessionInput::ConversationGone { attempt });
    let waiting = &desk.session(session).outbox.waiting;
    let said: Vec<&str> = waiting.iter().map(|message| message.body.as_str()).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("is proposed already: app!7, on the branch"), "{said:?}");
    assert!(!said[0].contains("Do task 1."), "{said:?}");
}
