//! Messages: never lost, never twice, never rude.

use ao_core::agent_report::{AgentReport, TurnCause};
use ao_core::evidence::{Reading, SignalSource};
use ao_core::input::SpawnRequest;
use ao_core::session::{DeliveryStage, MessageKind, NewMessage, Sender, SessionInput};
use ao_core::{Input, Refusal};

use crate::desk::{Desk, TYPED, asking, exited, message, request, working};

/// acceptance: M7
#[test]
fn an_agent_idle_for_an_hour_gets_a_message_at_once() {
    let mut desk = Desk::new();
    desk.take(crate::budgets::no_word_about_idleness());
    let session = desk.idle("1");
    desk.wait(3600);
    desk.send(session, "Still there?");
    assert_eq!(desk.wants(session), [format!("deliver 2 to {session} (try 1)")]);
    desk.write(session);
    desk.prove(session, "Still there?");
    assert!(desk.session(session).outbox.is_empty());
}

/// acceptance: M5
#[test]
fn a_message_waits_for_the_end_of_the_turn_and_keeps_its_place() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.wait(10);
    desk.sees(session, SignalSource::Hook, working());
    desk.send(session, "first");
    desk.send(session, "second");
    assert_eq!(desk.wants(session), Vec::<String>::new());
    desk.wait(10);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    let texts = |desk: &Desk| desk.session(session).outbox.current.clone().unwrap().text;
    assert_eq!(texts(&desk), "first");
    desk.write(session);
    desk.prove(session, "first");
    assert_eq!(texts(&desk), "second");
}

/// Who waits until it has nothing to do must not be told so while a message is on its way to it.
#[test]
fn an_agent_that_is_being_told_something_is_not_idle() {
    let mut desk = Desk::new();
    let session = desk.spawn("1");
    desk.make_ready(session);
    desk.launch(session);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    assert_eq!(desk.status(session), "starting: its task is being given to it");
    desk.write(session);
    assert_eq!(desk.status(session), "starting: its task is being given to it");
    let task = desk.session(session).outbox.current.clone().unwrap().text;
    desk.wait(1);
    desk.sees(session, SignalSource::Hook, working());
    desk.prove(session, &task);
    assert!(desk.status(session).starts_with("working: "), "{}", desk.status(session));
    desk.wait(10);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    assert_eq!(desk.status(session), "idle: the turn has ended; the agent is at its prompt");

    desk.wait(10);
    desk.send(session, "And another thing.");
    assert_eq!(desk.status(session), "working: a message is being given to it");
    let since = desk.session(session).status(desk.now).since;
    assert_eq!(since, desk.now, "since the message came, not since it fell idle");
    // It is put off for a person's draft: nothing is under way, and that is what is said.
    let attempt = desk.session(session).attempt;
    let why = "a draft stands in its input box".into();
    desk.tell(session, SessionInput::NotWritten { attempt, delivery: 2, tries: 1, why });
    assert_eq!(desk.status(session), "idle: the turn has ended; the agent is at its prompt");
    // Tried again for hours, it does not seem to begin to work each time.
    desk.wait(61);
    assert_eq!(desk.session(session).outbox.current.as_ref().unwrap().stage, DeliveryStage::Writing);
    assert_eq!(desk.status(session), "idle: the turn has ended; the agent is at its prompt");
}

/// acceptance: M5
#[test]
fn an_interrupt_goes_ahead_into_the_running_turn() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.wait(10);
    desk.sees(session, SignalSource::Hook, working());
    desk.send(session, "later");
    desk.tell(session, message("stop that", true));
    assert_eq!(desk.session(session).outbox.current.clone().unwrap().text, "stop that");
}

/// acceptance: M3
#[test]
fn nothing_is_typed_into_a_dialog() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.wait(10);
    desk.sees(session, SignalSource::Hook, asking());
    desk.send(session, "hello");
    desk.tell(session, message("urgent", true));
    desk.wait(3600);
    assert_eq!(desk.session(session).outbox.current, None);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    assert_eq!(desk.session(session).outbox.current.clone().unwrap().text, "urgent");
}

/// acceptance: M4
#[test]
fn nothing_is_typed_over_a_person() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.wait(60);
    desk.sees(session, SignalSource::Terminal, Reading::HumanTyped);
    desk.wait(2);
    desk.send(session, "hello");
    assert_eq!(desk.wants(session), Vec::<String>::new());
    desk.wait(8);
    assert!(desk.wants(session).contains(&format!("deliver 2 to {session} (try 1)")));
}

/// acceptance: M2
#[test]
fn what_is_never_accepted_fails_after_a_few_tries_and_keeps_its_text() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.send(session, "Are you there?");
    for tries in 1..=4 {
        assert_eq!(desk.wants(session), [format!("deliver 2 to {session} (try {tries})")]);
        desk.write(session);
        // A prompt-submit hook that fires for something else is no proof.
        desk.prove(session, "a scheduled reminder");
        desk.wait(11);
    }
    let failed = &desk.session(session).outbox.failed[0];
    assert_eq!((failed.text.as_str(), failed.why.as_str()), ("Are you there?", "not accepted after 4 tries"));
    assert_eq!(
        desk.told(),
        ["a message to `app-1` was not accepted after 4 tries; its text is kept in the outbox"]
    );
}

/// acceptance: M6
#[test]
fn after_a_crash_between_written_and_accepted_the_same_delivery_goes_on() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.send(session, "hello");
    let wanted = |state| ao_core::wants(state, &ao_core::Scope::Session(session));
    let before = wanted(&desk.state);
    // The daemon dies before it hears that it was written: the very same delivery is wanted again.
    let restarted = ao_core::State::from_snapshot(&desk.state.to_snapshot()).unwrap();
    assert_eq!(restarted, desk.state);
    assert_eq!(wanted(&restarted), before);
    desk.write(session);
    // It dies again; the proof arrives afterwards, twice.
    desk.state = ao_core::State::from_snapshot(&desk.state.to_snapshot()).unwrap();
    desk.prove(session, "hello");
    desk.prove(session, "hello");
    assert_eq!(desk.session(session).outbox.accepted, 2, "the task and the message");
    assert!(desk.session(session).outbox.is_empty());
}

#[test]
fn an_agent_that_dies_with_a_message_unproven_is_asked_again_under_the_same_number() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.send(session, "hello");
    desk.write(session);
    desk.sees(session, SignalSource::Process, exited(1));
    desk.ended(session);
    desk.wait(5);
    desk.launch(session);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    desk.wait(1);
    assert_eq!(desk.wants(session), [format!("deliver 2 to {session} (try 2)")]);
    desk.prove(session, "hello");
    assert!(desk.session(session).outbox.is_empty());
}

#[test]
fn news_is_gathered_and_what_is_outdated_is_replaced() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.wait(10);
    desk.sees(session, SignalSource::Hook, working());
    let news = |problem: &str, body: &str| {
        let incident = ao_core::incident::IncidentKey {
            subject: ao_core::incident::Subject::Session(session),
            kind: ao_core::incident::IncidentKind::CiFailed,
            problem: ao_core::incident::ProblemId::Event(problem.into()),
        };
        SessionInput::Send(NewMessage {
            from: Sender::Daemon,
            kind: MessageKind::News { incident },
            body: body.into(),
            interrupt: false,
            key: None,
        })
    };
    desk.tell(session, news("lint", "lint fails at c1"));
    desk.tell(session, news("test", "test fails at c1"));
    desk.tell(session, news("lint", "lint fails at c2"));
    desk.send(session, "And a word from me.");
    desk.wait(10);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    let current = desk.session(session).outbox.current.clone().unwrap();
    assert_eq!(current.text, "test fails at c1\n\nlint fails at c2");
    assert_eq!(current.stage, DeliveryStage::Writing);
    assert_eq!(desk.session(session).outbox.waiting.len(), 1);
}

/// acceptance: M8
#[test]
fn what_is_stored_delivered_and_proven_is_the_same_text() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.send(session, "\u{1b}[31mred\u{1b}[0m\u{3} alert\r\n");
    let current = desk.session(session).outbox.current.clone().unwrap();
    assert_eq!((current.text.as_str(), current.messages[0].body.as_str()), ("red alert\n", "red alert\n"));
    desk.write(session);
    let before = desk.session(session).outbox.accepted;
    desk.prove(session, "red alert");
    assert_eq!(desk.session(session).outbox.accepted, before + 1);

    // What has nothing in it but keys says nothing.
    let input = Input::Session { session, input: message("\u{1b}[A\u{4}", false) };
    assert!(desk.try_take(input).unwrap_err().to_string().contains("empty"));
    let spawn = SpawnRequest { prompt: "\u{1b}[2Jfix it".into(), ..request("2", TYPED) };
    desk.take(Input::Spawn(Box::new(spawn)));
    let prompts: Vec<&str> = desk.state.sessions.values().map(|it| it.spec.prompt.as_str()).collect();
    assert!(prompts.contains(&"fix it"), "{prompts:?}");
}

#[test]
fn a_repeated_request_is_one_message() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    let send = || {
        SessionInput::Send(NewMessage {
            from: Sender::Person("ann".into()),
            kind: MessageKind::Text,
            body: "once".into(),
            interrupt: false,
            key: Some("request 7".into()),
        })
    };
    desk.tell(session, send());
    desk.tell(session, send());
    assert_eq!(desk.count("session.message_queued"), 2, "the task and the message");
}

#[test]
fn a_message_that_cannot_be_is_refused_with_a_way_out() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    let mut refused = |body: &str| {
        desk.try_take(Input::Session { session, input: message(body, false) }).unwrap_err().to_string()
    };
    assert_eq!(refused("  "), "the message is empty");
    let long = "x".repeat(40_000);
    assert_eq!(
        refused(&long),
        "the message has 40000 bytes, more than the 32768 that fit; put it into a file and send its path"
    );
    desk.tell(session, SessionInput::Stop { by: "ann".into(), why: String::new() });
    desk.ended(session);
    let refused = desk.try_take(Input::Session { session, input: message("hi", false) }).unwrap_err();
    let (name, outcome) = ("app-1".to_owned(), "stopped by ann".to_owned());
    assert_eq!(refused, Refusal::Ended { session, name, outcome, restorable: true });
}

#[test]
fn a_dialog_seen_at_the_last_moment_puts_the_delivery_off_without_spending_a_try() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.send(session, "hello");
    for _ in 0..10 {
        let current = desk.session(session).outbox.current.clone().unwrap();
        let attempt = desk.session(session).attempt;
        desk.tell(
            session,
            SessionInput::NotWritten {
                attempt,
                delivery: current.no,
                tries: current.tries,
                why: "a draft".into(),
            },
        );
        desk.wait(61);
    }
    assert!(desk.session(session).outbox.failed.is_empty(), "the way was barred, but nobody gave up");
}

#[test]
fn a_turn_proves_one_message_even_if_the_next_has_the_same_words() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.send(session, "continue");
    desk.write(session);
    desk.send(session, "continue");
    for _ in 0..2 {
        desk.reports(session, AgentReport::taken("t1", "continue"));
    }
    assert_eq!(desk.session(session).outbox.current.clone().unwrap().no, 3, "the second is still on its way");
}

#[test]
fn a_proof_that_comes_after_the_message_was_given_up_is_believed_and_proves_nothing_else() {
    let mut desk = Desk::new();
    let session = desk.idle("1");
    desk.send(session, "continue");
    for _ in 0..4 {
        desk.write(session);
        desk.wait(11);
    }
    assert_eq!(desk.session(session).outbox.failed.len(), 1);
    // Somebody says the same again, and then the proof of the first one arrives.
    desk.send(session, "continue");
    desk.prove(session, "continue");
    assert!(desk.session(session).outbox.failed.is_empty());
    assert_eq!(desk.session(session).outbox.current.clone().unwrap().no, 3, "the second is still on its way");
    assert_eq!(desk.told().len(), 2);
    // The adapter that wrote the second knows which one it means, even by the words of the same turn.
    let cause = TurnCause::User { text: "continue".into(), delivery: Some(3) };
    desk.reports(session, AgentReport::TurnBegan { turn: "t2".into(), cause });
    assert!(desk.session(session).outbox.is_empty());
}
