//! The life of a session: from a wish to its end, with everything that can go wrong on the way.

use std::time::Duration;

use ao_core::agent_report::AgentReport;
use ao_core::effect::Effect;
use ao_core::evidence::{Reading, SignalSource};
use ao_core::input::{Census, CountedProcess, ProcessLife, SpawnRequest};
use ao_core::schedule::{Obstacle, obstacle};
use ao_core::session::{AgentAbilities, Phase, SessionInput};
use ao_core::workspace::KeepReason;
use ao_core::{ConversationId, DaemonSettings, Input, Refusal, SessionId};

use crate::desk::{Desk, TYPED, attempt, exited, request, stop, task, working};

#[test]
fn a_session_goes_from_the_queue_to_its_prompt() {
    let mut desk = Desk::new();
    let session = desk.spawn("1");
    assert_eq!(desk.status(session), "setting_up: its workspace is being made");
    assert_eq!(desk.wants(session), [format!("create workspace of {session} (attempt 1, try 0)")]);
    desk.make_ready(session);
    assert_eq!(desk.wants(session), [format!("launch {session} (attempt 1, try 0)")]);
    desk.launch(session);
    assert_eq!(desk.status(session), "starting: the agent is coming up");
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    assert_eq!(desk.wants(session), [format!("deliver 1 to {session} (try 1)")]);
}

/// acceptance: L3
#[test]
fn a_second_session_for_a_task_is_refused_and_told_of_the_first() {
    let mut desk = Desk::new();
    let session = desk.spawn("42");
    for _ in 0..19 {
        let name = "app-42".to_owned();
        let taken = Refusal::TaskTaken { task: task("42"), session, name };
        assert_eq!(desk.try_spawn("42", TYPED), Err(taken));
    }
    desk.tell(session, stop());
    desk.make_ready(session);
    assert_ne!(desk.spawn("42"), session);
}

#[test]
fn names_and_branches_are_never_shared() {
    let mut desk = Desk::new();
    let named = |key: &str| {
        let mut request = request(key, TYPED);
        request.name = Some("Fix Login!".into());
        Input::Spawn(Box::new(request))
    };
    let spawn =
        |desk: &mut Desk, key: &str| desk.take(named(key)).iter().find_map(|event| event.session()).unwrap();
    let (first, second) = (spawn(&mut desk, "1"), spawn(&mut desk, "2"));
    assert_eq!(desk.session(first).spec.name, "fix-login");
    assert_eq!(desk.session(second).spec.name, "fix-login-2");
    assert_eq!(desk.session(second).spec.branch, "agent/fix-login-2");

    let mut wish = request("3", TYPED);
    wish.branch = Some("agent/fix-login".into());
    let refused = desk.try_take(Input::Spawn(Box::new(wish))).unwrap_err();
    let name = "fix-login".to_owned();
    assert_eq!(refused, Refusal::BranchTaken { branch: "agent/fix-login".into(), session: first, name });
    assert!(!refused.to_string().contains("ses_"), "{refused}");
}

#[test]
fn a_workspace_of_another_session_is_not_taken_over() {
    let mut desk = Desk::new();
    let (first, second) = (desk.spawn("1"), desk.spawn("2"));
    desk.make_ready(first);
    let path = desk.session(first).workspace.path().unwrap().to_owned();
    desk.tell(
        second,
        SessionInput::WorkspaceReady {
            attempt: attempt(1),
            path: path.clone(),
            base: "c0".into(),
            as_found: false,
        },
    );
    assert_eq!(
        desk.status(second),
        format!("setup_failed: the workspace `{path}` belongs to the session `app-1`")
    );
    assert_eq!(desk.state.owner_of_path(&path), Some(first));
}

#[test]
fn a_failing_workspace_is_tried_a_few_times_and_then_waits_for_a_person() {
    let mut desk = Desk::new();
    let session = desk.spawn("1");
    for _ in 0..3 {
        let effect = desk.wanted(session).remove(0).key();
        desk.tell(session, SessionInput::Failed { effect, why: "no space left".into() });
        desk.wait(60);
    }
    assert_eq!(desk.status(session), "setup_failed: no space left");
    assert_eq!(desk.wants(session), Vec::<String>::new());
    assert_eq!(desk.told().len(), 1);
    desk.tell(session, SessionInput::Retry);
    assert_eq!(desk.wants(session), [format!("create workspace of {session} (attempt 2, try 0)")]);
}

#[test]
fn a_failed_launch_is_the_same_attempt_again_because_it_may_have_left_a_process() {
    let mut desk = Desk::new();
    let session = desk.spawn("1");
    desk.make_ready(session);
    for tries in 0..3 {
        assert_eq!(desk.wants(session), [format!("launch {session} (attempt 1, try {tries})")]);
        let effect = desk.wanted(session).remove(0).key();
        desk.tell(session, SessionInput::Failed { effect, why: "timed out".into() });
        desk.wait(60);
    }
    assert_eq!(desk.wants(session), [format!("end {session} (attempt 1, try 0)")]);
    desk.ended(session);
    assert_eq!(desk.status(session), "exited: its process could not be started: timed out");
}

/// acceptance: S3
#[test]
fn a_crashed_agent_is_ended_for_certain_and_resumed_with_its_conversation() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    let conversation = desk.session(session).launch.conversation.clone();
    desk.sees(session, SignalSource::Process, Reading::Exited { code: None });
    assert_eq!(desk.wants(session), [format!("end {session} (attempt 1, try 0)")]);
    desk.ended(session);
    assert_eq!(desk.status(session), "retrying: the agent was ended by a signal; starts again in 1 s");
    desk.wait(1);
    let Effect::Launch { plan, attempt: again, .. } = desk.wanted(session).remove(0) else {
        panic!("a launch")
    };
    assert_eq!((again, plan.resume, Some(plan.conversation)), (attempt(2), true, conversation));
}

/// What held its terminal was killed. The agent lives on, its hooks still speak, and nobody can speak to it.
#[test]
fn a_session_whose_holder_is_gone_is_ended_and_begun_again_with_what_waits_for_it() {
    for by_census in [false, true] {
        let mut desk = Desk::new();
        let session = desk.idle("1");
        let conversation = desk.session(session).launch.conversation.clone();
        desk.wait(20);
        desk.send(session, "Look at the red check.");
        desk.write(session);
        if by_census {
            let seen = vec![CountedProcess { session, attempt: attempt(1), life: ProcessLife::Unheld }];
            desk.take(Input::Census(Census { runtime: "process".into(), began: desk.now, seen }));
        } else {
            desk.sees(session, SignalSource::Process, Reading::Unheld);
        }
        let status = desk.status(session);
        assert!(status.starts_with("stopping: the process that held its agent is gone"), "{status}");
        assert_eq!(desk.wants(session), [format!("end {session} (attempt 1, try 0)")]);
        // A hook of the old process changes nothing any more.
        let late = desk.signal(session, SignalSource::Hook, Reading::Idle);
        assert!(desk.try_take(Input::Session { session, input: SessionInput::Signal(late) }).is_err());
        desk.ended(session);
        desk.wait(2);
        let Effect::Launch { plan, attempt: again, .. } = desk.wanted(session).remove(0) else {
            panic!("a launch")
        };
        assert_eq!((again, plan.resume, Some(plan.conversation)), (attempt(2), true, conversation));
        desk.launch(session);
        desk.sees(session, SignalSource::Hook, Reading::Idle);
        desk.wait(2);
        let Effect::Deliver { order, .. } = desk.wanted(session).remove(0) else {
            panic!("a delivery: {:?}", desk.wants(session))
        };
        assert_eq!((order.text.as_str(), order.attempt), ("Look at the red check.", attempt(2)));
    }
}

/// acceptance: L2
#[test]
fn a_conversation_that_is_gone_means_one_fresh_start_with_the_task() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    let lost = desk.session(session).launch.conversation.clone();
    desk.sees(session, SignalSource::Process, exited(1));
    desk.ended(session);
    desk.wait(5);
    desk.tell(session, SessionInput::ConversationGone { attempt: attempt(2) });
    desk.ended(session);
    assert!(desk.status(session).contains("the conversation to resume is gone"), "{}", desk.status(session));
    desk.wait(5);
    desk.launch(session);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    assert_ne!(desk.session(session).launch.conversation, lost);
    let Effect::Deliver { order, .. } = desk.wanted(session).remove(0) else { panic!("a delivery") };
    assert_eq!(order.text, "Do task 1.");
}

/// acceptance: L2
#[test]
fn restarts_are_bounded_and_a_long_run_forgives_them() {
    let mut desk = Desk::with(DaemonSettings { restarts: 2, ..DaemonSettings::default() });
    let session = desk.idle("1");
    let crash = |desk: &mut Desk| {
        desk.sees(session, SignalSource::Process, exited(1));
        desk.ended(session);
        desk.wait(60);
    };
    for _ in 0..2 {
        crash(&mut desk);
        desk.launch(session);
    }
    // A run of ten minutes: whatever was wrong has passed.
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    desk.wait(700);
    for _ in 0..2 {
        crash(&mut desk);
        desk.launch(session);
    }
    crash(&mut desk);
    assert_eq!(desk.status(session), "exited: the agent exited with code 1, and 2 restarts did not help");
    assert_eq!(desk.told().len(), 1);
    desk.wait(100_000);
    assert_eq!(desk.wants(session), Vec::<String>::new());
}

#[test]
fn a_stop_waits_for_what_is_under_way_and_leaves_nothing_unknown() {
    let mut desk = Desk::new();
    let session = desk.spawn("1");
    desk.tell(session, stop());
    assert!(desk.session(session).is_live(), "the workspace is still being made");
    desk.make_ready(session);
    assert_eq!(desk.status(session), "stopped: stopped by ann");
    assert!(desk.session(session).workspace.path().is_some());

    let session = desk.spawn("2");
    desk.make_ready(session);
    desk.tell(session, stop());
    desk.launch(session);
    assert_eq!(desk.wants(session), [format!("end {session} (attempt 1, try 0)")]);
    desk.ended(session);
    assert_eq!(desk.status(session), "stopped: stopped by ann");
}

#[test]
fn a_process_that_cannot_be_ended_is_never_called_ended() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.tell(session, stop());
    for tries in 0..5 {
        assert_eq!(desk.wants(session), [format!("end {session} (attempt 1, try {tries})")]);
        let effect = desk.wanted(session).remove(0).key();
        desk.tell(session, SessionInput::Failed { effect, why: "docker is down".into() });
        desk.wait(60);
    }
    assert!(desk.session(session).is_live());
    assert_eq!(desk.told().len(), 1, "a person knows, and knows it once");
    desk.ended(session);
    assert_eq!(desk.status(session), "stopped: stopped by ann");
}

/// Work is thrown away only by a wish for that, and only of a session that has ended.
#[test]
fn a_discard_is_a_wish_of_its_own() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    let discard = Input::Session { session, input: SessionInput::Discard };
    let refused = desk.try_take(discard).unwrap_err();
    assert_eq!(refused.to_string(), "the session `app-1` is idle and cannot be cleaned up: stop it first");
    desk.tell(session, stop());
    desk.ended(session);
    let removes = |desk: &Desk| match desk.wanted(session).remove(0) {
        Effect::RemoveWorkspace { order, .. } => order.discard,
        other => panic!("a removal, and not {other:?}"),
    };
    desk.tell(session, SessionInput::Cleanup);
    assert!(!removes(&desk));
    desk.tell(session, SessionInput::WorkspaceKept { tries: 0, reasons: vec![KeepReason::Uncommitted] });
    desk.tell(session, SessionInput::Discard);
    assert!(removes(&desk));
    desk.tell(session, SessionInput::WorkspaceKept { tries: 0, reasons: vec![KeepReason::ProcessInside] });
    desk.tell(session, SessionInput::Cleanup);
    assert!(!removes(&desk), "the wish does not outlive its removal");
}

#[test]
fn late_results_of_a_replaced_attempt_change_nothing() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.sees(session, SignalSource::Process, exited(1));
    desk.ended(session);
    desk.wait(5);
    desk.launch(session);
    let before = desk.state.clone();
    desk.tell(session, SessionInput::ProcessEnded { attempt: attempt(1) });
    desk.tell(session, SessionInput::ConversationGone { attempt: attempt(1) });
    desk.tell(session, SessionInput::Written { attempt: attempt(1), delivery: 1, tries: 1 });
    assert_eq!(desk.state, before);
    let mut late = desk.signal(session, SignalSource::Process, exited(1));
    late.attempt = attempt(1);
    let refused = desk.try_take(Input::Session { session, input: SessionInput::Signal(late) }).unwrap_err();
    assert_eq!(refused, Refusal::Stale { session, attempt: attempt(1), current: attempt(2) });
}

#[test]
fn a_tree_goes_only_through_the_gate_and_is_kept_with_its_reasons() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    let refused = desk.try_take(Input::Session { session, input: SessionInput::Cleanup }).unwrap_err();
    assert_eq!(refused.to_string(), "the session `app-1` is idle and cannot be cleaned up: stop it first");
    desk.tell(session, stop());
    desk.ended(session);
    desk.tell(session, SessionInput::Cleanup);
    assert_eq!(desk.wants(session), [format!("remove workspace of {session} (try 0)")]);
    desk.tell(session, SessionInput::WorkspaceKept { tries: 0, reasons: vec![KeepReason::Uncommitted] });
    desk.wait(10 * 24 * 3600);
    assert!(desk.session(session).workspace.path().is_some(), "a tree that was kept is not forgotten");
    desk.tell(session, SessionInput::Cleanup);
    desk.tell(session, SessionInput::WorkspaceRemoved { tries: 0, rescue: Some("refs/ao/rescue/1".into()) });
    desk.wait(29 * 24 * 3600);
    assert!(desk.state.sessions.contains_key(&session), "what can be restored is remembered");
    desk.wait(2 * 24 * 3600);
    assert!(!desk.state.sessions.contains_key(&session), "what is over leaves the memory");
}

/// acceptance: L6
#[test]
fn never_more_than_the_cap_have_a_process_and_the_rest_wait_with_a_reason() {
    let mut desk = Desk::with(DaemonSettings { max_live: 4, ..DaemonSettings::default() });
    let sessions: Vec<SessionId> = (0..20).map(|n| desk.spawn(&n.to_string())).collect();
    let taken = |desk: &Desk| sessions.iter().filter(|id| desk.session(**id).takes_slot()).count();
    assert_eq!(taken(&desk), 4);
    assert_eq!(obstacle(&desk.state, desk.session(sessions[19])), Some(Obstacle::Cap { max: 4 }));
    for session in &sessions {
        assert!(taken(&desk) <= 4);
        if let Phase::Preparing { .. } = desk.session(*session).phase {
            desk.make_ready(*session);
            desk.launch(*session);
        }
        desk.tell(*session, stop());
        desk.ended(*session);
    }
    assert_eq!(taken(&desk), 0);
}

/// acceptance: L6
#[test]
fn with_too_little_memory_nothing_is_started() {
    let mut desk = Desk::with(DaemonSettings { min_free_mb: 500, ..DaemonSettings::default() });
    desk.take(Input::Host { free_mb: 400 });
    let session = desk.spawn("1");
    assert_eq!(desk.status(session), "queued: waits for a free slot");
    assert_eq!(obstacle(&desk.state, desk.session(session)), Some(Obstacle::Memory { free_mb: 400 }));
    desk.take(Input::Host { free_mb: 600 });
    assert!(desk.session(session).takes_slot());
}

/// acceptance: F10
#[test]
fn a_blocked_task_waits_for_its_blocker() {
    let mut desk = Desk::new();
    desk.task("9", &[], false);
    desk.task("10", &["9"], false);
    let session = desk.spawn("10");
    assert_eq!(obstacle(&desk.state, desk.session(session)), Some(Obstacle::BlockedBy(task("9"))));
    desk.task("9", &[], true);
    assert!(desk.session(session).takes_slot());
}

/// acceptance: S5
#[test]
fn a_mass_death_is_a_broken_look_and_a_single_one_a_death() {
    let mut desk = Desk::new();
    let sessions: Vec<SessionId> = (0..6).map(|n| desk.idle(&n.to_string())).collect();
    desk.wait(20);
    let census = |desk: &Desk, alive: &[SessionId]| {
        let seen = alive
            .iter()
            .map(|session| CountedProcess {
                session: *session,
                attempt: attempt(1),
                life: ProcessLife::Alive { busy: false },
            })
            .collect();
        Input::Census(Census { runtime: "process".into(), began: desk.now, seen })
    };
    let none = census(&desk, &[]);
    desk.take(none);
    for session in &sessions {
        assert!(desk.status(*session).starts_with("unknown: the last look at the process failed"));
        assert_eq!(desk.wants(*session), [format!("look at {session}")], "each is looked at by itself");
    }
    desk.wait(20);
    let all_but_one = census(&desk, &sessions[1..]);
    desk.take(all_but_one);
    assert!(desk.status(sessions[0]).starts_with("stopping: the agent was ended by a signal"));
    assert!(desk.status(sessions[1]).starts_with("idle"));
}

#[test]
fn a_process_that_should_not_be_is_ended() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.tell(session, stop());
    desk.ended(session);
    let seen = vec![CountedProcess { session, attempt: attempt(1), life: ProcessLife::Alive { busy: true } }];
    desk.take(Input::Census(Census { runtime: "process".into(), began: desk.now, seen }));
    let wanted = ao_core::wants(&desk.state, &ao_core::Scope::Host);
    assert_eq!(wanted[0].key().to_string(), format!("end a stray process of {session} (attempt 1)"));
    desk.take(Input::StrayEnded { session, attempt: attempt(1) });
    assert!(ao_core::wants(&desk.state, &ao_core::Scope::Host).is_empty());
}

#[test]
fn an_agent_with_one_turn_a_process_is_woken_by_a_message() {
    let one_turn =
        AgentAbilities { resume: true, prompt_at_launch: true, one_turn: true, steer: false, cancel: false };
    let mut desk = Desk::new();
    let session = desk.idle_with("1", one_turn);
    desk.sees(session, SignalSource::Process, exited(0));
    desk.ended(session);
    assert_eq!(desk.status(session), "idle: its turn is over");
    assert_eq!(desk.state.slots_taken(), 0);
    desk.reports(session, AgentReport::Reply { text: "Fixed the login.".into() });
    assert_eq!(desk.status(session), "idle: its turn is over: Fixed the login.");
    let refused = desk.try_take(Input::Session { session, input: SessionInput::Restore }).unwrap_err();
    assert!(refused.to_string().contains("`ao send` gives it more to do"), "{refused}");
    desk.send(session, "One more thing.");
    let Effect::Launch { plan, .. } = desk.wanted(session).remove(0) else { panic!("a launch") };
    assert_eq!((plan.resume, plan.prompt.as_deref()), (true, Some("One more thing.")));
    // Its end may be seen before its proof is read, so the message is not given again at once.
    desk.launch(session);
    desk.sees(session, SignalSource::Process, exited(0));
    desk.ended(session);
    assert_eq!(desk.wants(session), Vec::<String>::new());
    desk.prove(session, "One more thing.");
    assert_eq!(desk.status(session), "idle: its turn is over");
    // It ends its turns and never takes the message: there is an end to that, too.
    desk.send(session, "And another.");
    for _ in 0..6 {
        if let Phase::Starting { .. } = desk.session(session).phase {
            desk.launch(session);
            desk.now = desk.now + Duration::from_secs(1);
            desk.sees(session, SignalSource::Process, exited(0));
            desk.ended(session);
            desk.wait(30);
        }
    }
    assert!(desk.session(session).outbox.is_empty());
    assert_eq!(desk.session(session).outbox.failed[0].text, "And another.");
    assert_eq!(desk.told().len(), 1, "{:?}", desk.told());
}

/// Starting is no proof: a process that fails before its first word has taken nothing, however often.
#[test]
fn a_message_that_no_process_has_taken_is_still_there_after_the_last_restart() {
    let one_turn =
        AgentAbilities { resume: true, prompt_at_launch: true, one_turn: true, steer: false, cancel: false };
    let mut desk = Desk::new();
    let session = desk.spawn_with("1", one_turn);
    for _ in 0..6 {
        let Phase::Starting { .. } = desk.session(session).phase else { break };
        let Effect::Launch { plan, .. } = desk.wanted(session).remove(0) else { panic!("a launch") };
        assert!(plan.prompt.unwrap().starts_with("Do task 1."), "each start has the task");
        desk.launch(session);
        desk.sees(session, SignalSource::Process, exited(1));
        desk.ended(session);
        desk.wait(60);
    }
    assert!(desk.status(session).starts_with("exited: the agent exited with code 1"));
    desk.tell(session, SessionInput::Restore);
    let Effect::Launch { plan, .. } = desk.wanted(session).remove(0) else { panic!("a launch") };
    assert!(plan.prompt.unwrap().starts_with("Do task 1."));
}

/// Its conversation knows what it was at, so a word is enough.
#[test]
fn a_turn_that_was_cut_off_is_taken_up_again_in_the_same_conversation() {
    let one_turn =
        AgentAbilities { resume: true, prompt_at_launch: true, one_turn: true, steer: false, cancel: false };
    for code in [Some(1), None] {
        let mut desk = Desk::new();
        let session = desk.spawn_with("1", one_turn);
        let Effect::Launch { plan, .. } = desk.wanted(session).remove(0) else { panic!("a launch") };
        desk.launch(session);
        let prompt = plan.prompt.unwrap();
        // The proof may be read only after the end was seen.
        desk.sees(session, SignalSource::Process, Reading::Exited { code });
        desk.prove(session, &prompt);
        desk.ended(session);
        desk.wait(60);
        let Effect::Launch { plan: again, .. } = desk.wanted(session).remove(0) else { panic!("a launch") };
        assert_eq!((again.resume, &again.conversation), (true, &plan.conversation));
        assert_eq!(
            again.prompt.as_deref(),
            Some("Your last turn was cut off before its end. See what is done already, and go on.")
        );
        desk.launch(session);
        desk.prove(session, &again.prompt.unwrap());
        desk.now = desk.now + Duration::from_secs(1);
        desk.sees(session, SignalSource::Process, exited(0));
        desk.ended(session);
        assert_eq!(desk.status(session), "idle: its turn is over");
        assert_eq!(desk.wants(session), Vec::<String>::new(), "there is nothing left to take up");
    }
}

/// An agent that forgets hears again what it was told last, and not the task alone.
#[test]
fn an_agent_that_forgets_hears_the_messages_of_a_turn_that_was_cut_off_again() {
    let forgets =
        AgentAbilities { resume: false, prompt_at_launch: true, one_turn: true, steer: false, cancel: false };
    let mut desk = Desk::new();
    let session = desk.idle_with("1", forgets);
    desk.sees(session, SignalSource::Process, exited(0));
    desk.ended(session);
    desk.send(session, "Check `build` fails.");
    let Effect::Launch { plan, .. } = desk.wanted(session).remove(0) else { panic!("a launch") };
    desk.launch(session);
    desk.prove(session, &plan.prompt.clone().unwrap());
    desk.sees(session, SignalSource::Process, exited(1));
    desk.ended(session);
    desk.wait(60);
    let Effect::Launch { plan: again, .. } = desk.wanted(session).remove(0) else { panic!("a launch") };
    assert_eq!(again.prompt, plan.prompt);
}

/// acceptance: B1
#[test]
fn a_limit_that_ends_a_process_is_waited_for_and_the_turn_goes_on() {
    let one_turn =
        AgentAbilities { resume: true, prompt_at_launch: true, one_turn: true, steer: false, cancel: false };
    for exit_first in [false, true] {
        let mut desk = Desk::new();
        let session = desk.spawn_with("1", one_turn);
        let Effect::Launch { plan, .. } = desk.wanted(session).remove(0) else { panic!("a launch") };
        desk.launch(session);
        desk.prove(session, &plan.prompt.unwrap());
        let until = Some(desk.now + Duration::from_secs(3600));
        if exit_first {
            desk.sees(session, SignalSource::Process, exited(1));
        }
        desk.sees(session, SignalSource::Protocol, Reading::Limited { until });
        if !exit_first {
            desk.sees(session, SignalSource::Process, exited(1));
        }
        desk.ended(session);
        assert!(desk.status(session).starts_with("rate_limited:"), "{}", desk.status(session));
        assert_eq!(desk.state.slots_taken(), 0, "it holds no slot while it waits");
        desk.wait(7200);
        let Effect::Launch { plan: again, .. } = desk.wanted(session).remove(0) else { panic!("a launch") };
        assert_eq!((again.resume, &again.conversation), (true, &plan.conversation));
        let prompt = again.prompt.unwrap();
        assert_eq!(prompt, "The provider's limit is over. Go on where you were stopped.");
    }
}

/// The agent alone knows its conversations: asked to go on with one, it says that there is none.
///
/// acceptance: L2
#[test]
fn a_conversation_that_the_agent_does_not_know_is_begun_anew_with_the_task_and_says_so() {
    let one_turn =
        AgentAbilities { resume: true, prompt_at_launch: true, one_turn: true, steer: false, cancel: false };
    for exit_first in [false, true] {
        let mut desk = Desk::new();
        let session = desk.idle_with("1", one_turn);
        desk.sees(session, SignalSource::Process, exited(0));
        desk.ended(session);
        desk.send(session, "One more thing.");
        let Effect::Launch { plan, .. } = desk.wanted(session).remove(0) else { panic!("a launch") };
        desk.launch(session);
        let attempt = desk.session(session).attempt;
        if exit_first {
            desk.sees(session, SignalSource::Process, exited(1));
        }
        desk.tell(session, SessionInput::ConversationGone { attempt });
        assert!(desk.status(session).contains("the conversation to resume is gone; starts afresh"));
        desk.ended(session);
        desk.wait(60);
        let Effect::Launch { plan: fresh, .. } = desk.wanted(session).remove(0) else { panic!("a launch") };
        assert_ne!(fresh.conversation, plan.conversation);
        let prompt = fresh.prompt.unwrap();
        assert!(!fresh.resume && prompt.starts_with("Do task 1.") && prompt.ends_with("One more thing."));
    }
}

/// Its own name for the conversation counts: the next message goes there.
#[test]
fn the_conversation_that_an_agent_names_is_the_one_that_is_resumed() {
    let one_turn =
        AgentAbilities { resume: true, prompt_at_launch: true, one_turn: true, steer: false, cancel: false };
    let mut desk = Desk::new();
    let session = desk.idle_with("1", one_turn);
    let attempt = desk.session(session).attempt;
    let conversation = ConversationId::new("thread-7");
    desk.tell(session, SessionInput::ConversationNamed { attempt, conversation: conversation.clone() });
    desk.sees(session, SignalSource::Process, exited(0));
    desk.ended(session);
    desk.send(session, "One more thing.");
    let Effect::Launch { plan, .. } = desk.wanted(session).remove(0) else { panic!("a launch") };
    assert_eq!((plan.resume, plan.conversation), (true, conversation));
}

/// It would otherwise get its task again and again, and never the message.
#[test]
fn an_agent_that_forgets_with_each_process_gets_its_task_and_what_was_said_since_at_once() {
    let forgets =
        AgentAbilities { resume: false, prompt_at_launch: true, one_turn: true, steer: false, cancel: false };
    let mut desk = Desk::new();
    let session = desk.idle_with("1", forgets);
    desk.sees(session, SignalSource::Process, exited(0));
    desk.ended(session);
    desk.send(session, "One more thing.");
    let Effect::Launch { plan, .. } = desk.wanted(session).remove(0) else { panic!("a launch") };
    let prompt = plan.prompt.clone().unwrap();
    assert!(
        !plan.resume && prompt.starts_with("Do task 1.") && prompt.ends_with("\n\nOne more thing."),
        "{prompt}"
    );
    desk.launch(session);
    desk.prove(session, &prompt);
    assert!(desk.session(session).outbox.is_empty());
    desk.sees(session, SignalSource::Process, exited(0));
    desk.ended(session);
    assert_eq!(desk.status(session), "idle: its turn is over");
    assert_eq!(desk.wants(session), Vec::<String>::new(), "it rests");
}

#[test]
fn signals_of_nobody_are_refused() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    let signal = desk.signal(session, SignalSource::Hook, working());
    let stranger = SessionId(0xdead);
    let refused =
        desk.try_take(Input::Session { session: stranger, input: SessionInput::Signal(signal) }).unwrap_err();
    assert_eq!(refused, Refusal::UnknownSession(stranger));
}

#[test]
fn what_a_failed_set_up_may_have_left_is_cleared_up_before_its_branch_is_free() {
    let mut desk = Desk::new();
    let session = desk.spawn("1");
    let effect = desk.wanted(session).remove(0).key();
    desk.tell(session, SessionInput::Failed { effect, why: "it took longer than 300 s".into() });
    desk.tell(session, stop());
    assert_eq!(desk.status(session), "stopped: stopped by ann");
    assert_eq!(desk.wants(session), [format!("remove workspace of {session} (try 0)")]);
    let branch = desk.session(session).spec.branch.clone();
    assert_eq!(desk.state.owner_of_branch(&crate::desk::app(), &branch), Some(session));
    desk.tell(session, SessionInput::WorkspaceRemoved { tries: 0, rescue: None });
    assert_eq!(desk.state.owner_of_branch(&crate::desk::app(), &branch), None);
}

/// acceptance: X3
#[test]
fn an_outsiders_task_is_picked_up_only_if_a_person_answers_for_it() {
    use ao_core::pull::{AuthorFacts, AuthorStanding};
    let mut desk = Desk::new();
    let by = |standing| Some(AuthorFacts { login: "mallory".into(), standing });
    desk.task_with("1", |facts| facts.author = by(AuthorStanding::Outsider));
    let refused = desk.try_take(Input::Spawn(Box::new(request("1", TYPED)))).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "app#1 was written by mallory (outsider), who may not set agents to work"
    );
    desk.task_with("2", |facts| facts.trusted = false);
    let refused = desk.try_take(Input::Spawn(Box::new(request("2", TYPED)))).unwrap_err();
    assert!(refused.to_string().contains("an unknown author"), "{refused}");
    assert!(desk.state.sessions.is_empty());

    let answered = SpawnRequest { trusted: true, ..request("1", TYPED) };
    desk.take(Input::Spawn(Box::new(answered)));
    let session = desk.state.sessions.values().next().unwrap();
    assert!(session.spec.trusted, "it is written down that somebody answered for it");
    for (key, standing) in
        [("3", AuthorStanding::Member), ("4", AuthorStanding::Bot), ("5", AuthorStanding::Agent)]
    {
        desk.task_with(key, |facts| facts.author = by(standing));
        desk.take(Input::Spawn(Box::new(request(key, TYPED))));
    }
    assert_eq!(desk.state.sessions.len(), 4);
}

/// Whoever adds the session may hear of the issue only afterwards.
#[test]
fn a_session_that_waits_is_stopped_by_a_task_that_was_never_seen_open() {
    let mut desk = Desk::with(DaemonSettings { max_live: 1, ..DaemonSettings::default() });
    desk.idle("1");
    let waits = desk.spawn("2");
    assert!(matches!(desk.session(waits).phase, Phase::Queued { .. }));
    desk.task("2", &[], true);
    assert!(!desk.session(waits).is_live(), "{}", desk.status(waits));
}
