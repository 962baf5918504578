//! Agents that only wait for others give their slots to those that could work, and go on when there is news for them.

use std::time::Duration;

use ao_core::assign::task_obstacle;
use ao_core::evidence::{Reading, SignalSource};
use ao_core::incident::IncidentKind;
use ao_core::input::SpawnRequest;
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::pull::{CheckState, PullInput, PullState};
use ao_core::session::{AgentAbilities, Phase, SessionEvent, SessionInput, SessionRole};
use ao_core::{Commit, Event, Input, PullId, SessionId};

use crate::assign::{begin, caps, ordered, picking, specialist};
use crate::desk::{Desk, TYPED, app, asking, message, request, task, working};
use crate::incidents::facts;

/// A session whose change is proposed and waits for a person.
fn waiting(desk: &mut Desk, key: &str) -> SessionId {
    let session = desk.idle(key);
    propose(desk, session, key.parse().unwrap());
    session
}

fn propose(desk: &mut Desk, session: SessionId, number: u64) -> PullId {
    let pull = PullId { project: app(), number };
    let mut seen = facts(desk, &format!("c{number}"), CheckState::Passed);
    seen.head_branch = desk.session(session).spec.branch.clone();
    desk.take(Input::Pull { pull: pull.clone(), input: PullInput::Seen(Box::new(seen)) });
    desk.take(Input::Pull { pull: pull.clone(), input: PullInput::Claim { session } });
    pull
}

fn gives_way(desk: &Desk, session: SessionId) -> bool {
    matches!(desk.session(session).phase, Phase::Stopping { .. })
}

fn rests(desk: &Desk, session: SessionId) -> bool {
    matches!(desk.session(session).phase, Phase::Resting { .. })
}

/// acceptance: J5, L6
#[test]
fn a_change_that_waits_for_a_person_does_not_keep_the_next_task_from_starting() {
    let mut desk = Desk::with(caps(1));
    let first = waiting(&mut desk, "1");
    desk.wait(7200);
    assert!(matches!(desk.session(first).phase, Phase::Running { .. }), "nobody needs its slot");
    let second = desk.spawn("2");
    assert_eq!(desk.wants(first), [format!("end {first} (attempt 1, try 0)")]);
    assert!(!desk.session(second).takes_slot(), "not before the process is gone for certain");
    desk.ended(first);
    assert!(rests(&desk, first));
    assert!(desk.session(second).takes_slot());
    assert_eq!(
        desk.status(first),
        "idle: paused to free a slot for `app-2`; a message or `ao session restore app-1` resumes it"
    );
    assert_eq!(desk.told(), Vec::<String>::new(), "nobody has to do anything about it");
    assert_eq!(desk.state.slots_taken(), 1);
}

/// acceptance: J5
#[test]
fn news_puts_it_into_the_line_again_with_its_conversation() {
    let mut desk = Desk::with(caps(1));
    let first = waiting(&mut desk, "1");
    let conversation = desk.session(first).launch.conversation.clone();
    let second = desk.spawn("2");
    desk.ended(first);
    desk.make_ready(second);
    desk.launch(second);
    desk.send(first, "The reviewer asks for a test.");
    assert!(matches!(desk.session(first).phase, Phase::Queued { .. }), "it waits for its turn");
    assert_eq!(desk.state.slots_taken(), 1);
    desk.sees(second, SignalSource::Hook, Reading::Idle);
    desk.write(second);
    desk.prove(second, "Do task 2.");
    desk.wait(1);
    desk.sees(second, SignalSource::Hook, working());
    desk.wait(1);
    desk.sees(second, SignalSource::Hook, Reading::Idle);
    assert!(!gives_way(&desk, second), "it has nothing to show yet, and may be about to go on");
    propose(&mut desk, second, 2);
    assert!(gives_way(&desk, second));
    desk.ended(second);
    assert_eq!(desk.wants(first), [format!("launch {first} (attempt 2, try 0)")]);
    desk.launch(first);
    assert_eq!(desk.session(first).launch.conversation, conversation, "it knows what it was about");
    desk.sees(first, SignalSource::Hook, Reading::Idle);
    assert_eq!(desk.session(first).outbox.current.clone().unwrap().text, "The reviewer asks for a test.");
}

#[test]
fn what_is_said_while_it_gives_way_wakes_it_afterwards() {
    let mut desk = Desk::with(caps(1));
    let first = waiting(&mut desk, "1");
    desk.spawn("2");
    desk.wait(1);
    desk.tell(first, message("One more thing.", false));
    desk.ended(first);
    assert!(matches!(desk.session(first).phase, Phase::Queued { .. }), "{:?}", desk.session(first).phase);
}

#[test]
fn nobody_gives_way_in_the_middle_of_something() {
    type Change = fn(&mut Desk, SessionId);
    let busy: [(&str, Change); 4] = [
        ("it works", |desk, session| {
            desk.sees(session, SignalSource::Hook, working());
        }),
        ("it asks", |desk, session| {
            desk.sees(session, SignalSource::Hook, asking());
        }),
        ("it says that it is blocked", |desk, session| {
            desk.sees(session, SignalSource::Hook, Reading::Blocked { on: "no network".into() });
        }),
        ("a message is on its way", |desk, session| desk.send(session, "Go on.")),
    ];
    for (what, change) in busy {
        let mut desk = Desk::with(caps(1));
        let first = waiting(&mut desk, "1");
        desk.wait(1);
        change(&mut desk, first);
        desk.spawn("2");
        assert!(!gives_way(&desk, first), "{what}");
    }
    let mut desk = Desk::with(caps(1));
    let first = waiting(&mut desk, "1");
    desk.sees(first, SignalSource::Terminal, Reading::HumanTyped);
    desk.spawn("2");
    assert!(!gives_way(&desk, first), "a person types");
    desk.wait(60);
    assert!(gives_way(&desk, first), "the person has gone");
}

#[test]
fn an_orchestrator_stays_for_its_person() {
    let mut desk = Desk::with(caps(1));
    let order = SpawnRequest { role: SessionRole::Orchestrator, task: None, ..request("1", TYPED) };
    let session = desk.take(Input::Spawn(Box::new(order))).iter().find_map(Event::session).unwrap();
    desk.make_ready(session);
    desk.launch(session);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    desk.write(session);
    desk.prove(session, "Do task 1.");
    desk.wait(1);
    desk.sees(session, SignalSource::Hook, working());
    desk.wait(1);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    desk.spawn("2");
    desk.wait(7200);
    assert!(!gives_way(&desk, session) && !rests(&desk, session));
}

/// That it gave its slot away does not get its work done, so the problem stays what it was.
#[test]
fn one_without_a_pull_request_gives_way_after_it_was_idle_for_long_and_is_still_told_of() {
    let mut desk = Desk::with(caps(1));
    let first = desk.idle("1");
    let forgetful = AgentAbilities { resume: false, ..TYPED };
    desk.spawn("2");
    assert!(!gives_way(&desk, first));
    let open =
        |desk: &Desk| desk.state.incidents.keys().filter(|key| key.kind == IncidentKind::AgentIdle).count();
    for _ in 0..200 {
        if gives_way(&desk, first) {
            break;
        }
        // It is told to go on, takes that, and does nothing.
        if let Some(current) = desk.session(first).outbox.current.clone() {
            desk.write(first);
            desk.prove(first, &current.text);
            desk.wait(1);
            desk.sees(first, SignalSource::Hook, Reading::Idle);
        }
        desk.wait(60);
    }
    assert!(gives_way(&desk, first), "{}", desk.status(first));
    desk.ended(first);
    assert!(rests(&desk, first));
    assert_eq!(open(&desk), 1);
    desk.wait(600);
    assert_eq!(open(&desk), 1);

    // One that would begin from nothing again is left alone, as long as it has nothing to show.
    let mut desk = Desk::with(caps(1));
    let first = desk.idle_with("1", forgetful);
    desk.spawn("2");
    desk.wait(7200);
    assert!(!gives_way(&desk, first) && !rests(&desk, first));
    propose(&mut desk, first, 1);
    desk.sees(first, SignalSource::Hook, Reading::Idle);
    assert!(gives_way(&desk, first) || desk.session(first).outbox.current.is_some());
}

#[test]
fn no_more_give_way_than_are_needed_and_who_has_waited_longest_goes_first() {
    let mut desk = Desk::with(caps(3));
    let all: Vec<SessionId> = (1..=3).map(|n| waiting(&mut desk, &n.to_string())).collect();
    let next = desk.spawn("4");
    assert_eq!(all.iter().map(|id| gives_way(&desk, *id)).collect::<Vec<_>>(), [true, false, false]);
    desk.spawn("5");
    assert_eq!(all.iter().map(|id| gives_way(&desk, *id)).collect::<Vec<_>>(), [true, true, false]);
    desk.ended(all[0]);
    assert!(desk.session(next).takes_slot());
    assert!(!gives_way(&desk, all[2]));
    assert_eq!(desk.state.slots_taken(), 3);
}

#[test]
fn only_who_is_in_the_way_gives_way() {
    let mut desk = Desk::with(caps(8));
    let config = ProjectConfig {
        path: "~/app".into(),
        default_branch: "main".into(),
        max_live: Some(3),
        specialists: vec![specialist("front", &[], Some(1)), specialist("back", &[], Some(1))],
        ..ProjectConfig::default()
    };
    let input = ProjectInput::Configure(Box::new(config));
    desk.take(Input::Project { project: app(), input });
    let as_one = |desk: &mut Desk, key: &str, id: &str| {
        let mut order = request(key, TYPED);
        order.agent.specialist = Some(id.into());
        desk.take(Input::Spawn(Box::new(order))).iter().find_map(Event::session).unwrap()
    };
    let at_rest = |desk: &mut Desk, session: SessionId, key: &str| {
        desk.make_ready(session);
        desk.launch(session);
        desk.sees(session, SignalSource::Hook, Reading::Idle);
        desk.write(session);
        desk.prove(session, &format!("Do task {key}."));
        desk.wait(1);
        desk.sees(session, SignalSource::Hook, working());
        desk.wait(1);
        desk.sees(session, SignalSource::Hook, Reading::Idle);
        propose(desk, session, key.parse().unwrap());
    };
    let front = as_one(&mut desk, "1", "front");
    at_rest(&mut desk, front, "1");
    let back = as_one(&mut desk, "2", "back");
    at_rest(&mut desk, back, "2");
    as_one(&mut desk, "3", "back");
    assert!(gives_way(&desk, back) && !gives_way(&desk, front), "the slot of its own kind is needed");
}

#[test]
fn an_unbegun_task_makes_room_for_itself() {
    let mut desk = picking(caps(1), |_| {});
    let first = waiting(&mut desk, "1");
    desk.task("2", &[], false);
    assert_eq!(ordered(&desk.state), [("2".into(), None)], "its session is made, and needs a slot then");
    let made = begin(&mut desk);
    assert!(gives_way(&desk, first));
    desk.task("3", &[], false);
    assert!(task_obstacle(&desk.state, &task("3"), desk.now).is_some(), "there is one slot, not two");
    assert_eq!(ordered(&desk.state), []);
    desk.ended(first);
    assert!(desk.session(made[0]).takes_slot());
}

#[test]
fn at_rest_it_can_be_merged_stopped_and_restored() {
    for end in ["merged", "stopped", "restored"] {
        let mut desk = Desk::with(caps(1));
        let first = waiting(&mut desk, "1");
        let second = desk.spawn("2");
        desk.ended(first);
        match end {
            "merged" => {
                let mut seen = facts(&desk, "c1", CheckState::Passed);
                seen.observed_at = desk.now + Duration::from_secs(1);
                seen.head_branch = desk.session(first).spec.branch.clone();
                seen.state = PullState::Merged { commit: Commit::new("m1") };
                let pull = PullId { project: app(), number: 1 };
                desk.take(Input::Pull { pull, input: PullInput::Seen(Box::new(seen)) });
                assert!(desk.status(first).starts_with("merged"), "{}", desk.status(first));
            }
            "stopped" => {
                desk.tell(first, SessionInput::Stop { by: "ann".into(), why: String::new() });
                assert!(desk.status(first).starts_with("stopped"), "{}", desk.status(first));
            }
            _ => {
                desk.tell(first, SessionInput::Restore);
                assert!(desk.status(first).starts_with("queued"), "{}", desk.status(first));
                assert!(desk.session(second).takes_slot(), "it waits for its turn");
            }
        }
    }
    let mut desk = Desk::with(caps(1));
    waiting(&mut desk, "1");
    desk.spawn("2");
    let stopping = desk
        .log
        .iter()
        .filter(|stamped| matches!(stamped.event, Event::Session(_, SessionEvent::Stopping { .. })));
    assert_eq!(stopping.count(), 1);
}
