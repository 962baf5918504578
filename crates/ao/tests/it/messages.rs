//! Messages to agents at real terminals: each arrives once, or somebody hears that it did not.

use std::time::Duration;

use ao_agent::sanitise;
use ao_core::session::{SessionInput, StatusWord};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use crate::fleet::{Fleet, Plan, on_both};

on_both! {
    a_long_message_is_submitted_though_enters_are_swallowed;
    a_message_that_is_never_taken_is_said_to_be_so_and_kept;
    a_message_waits_for_an_open_dialog;
    a_message_waits_for_a_person_who_types;
    messages_wait_for_the_end_of_a_turn_in_their_order;
    an_interrupt_goes_into_the_running_turn;
    whatever_is_sent_arrives_as_it_was_sent;
}

/// acceptance: M1
async fn a_long_message_is_submitted_though_enters_are_swallowed(runtime: &'static str) {
    let fleet = Fleet::start(Plan::on(runtime)).await;
    let session = fleet.spawn("fix", "get ready [[set swallow-enters 2]]").await;
    fleet.until_idle(session, 1).await;
    let text: String = (0..190).map(|n| format!("line {n} of a long report about what is wrong\n")).collect();
    let text = text.trim_end();
    assert!(text.len() > 8 * 1024, "{}", text.len());
    fleet.send(session, text).await;
    fleet.until_idle(session, 2).await;
    assert_eq!(fleet.turns(session).await[1..], [text]);
    let conversation = fleet.session(session).await.launch.conversation.unwrap();
    let enters = fleet.agents().enters(conversation.as_str());
    assert_eq!(enters[enters.len() - 3..], [true, true, false]);
    fleet.finish().await;
}

/// acceptance: M2
async fn a_message_that_is_never_taken_is_said_to_be_so_and_kept(runtime: &'static str) {
    let mut plan = Plan::on(runtime);
    plan.settings.proof_wait = Duration::from_secs(1);
    let fleet = Fleet::start(plan).await;
    let session = fleet.spawn("fix", "get ready [[set never-submit]]").await;
    fleet.until_idle(session, 1).await;
    fleet.send(session, "are you there?").await;
    fleet.until_session(session, "it is given up", |session| !session.outbox.failed.is_empty()).await;
    let failed = fleet.session(session).await.outbox.failed[0].clone();
    assert_eq!(failed.text, "are you there?");
    assert!(failed.why.contains("not accepted"), "{}", failed.why);
    fleet.until_told("not accepted").await;
    assert_eq!(fleet.turns(session).await.len(), 1);
    fleet.finish().await;
}

/// acceptance: M3
async fn a_message_waits_for_an_open_dialog(runtime: &'static str) {
    let fleet = Fleet::start(Plan::on(runtime)).await;
    let session = fleet.spawn("fix", "[[ask May I?]]").await;
    fleet.until_status(session, StatusWord::NeedsInput).await;
    fleet.send(session, "1").await;
    // It is looked at once more, and the message has not gone out.
    let before = fleet.session(session).await.watch.looked;
    fleet.until_session(session, "it is looked at", move |session| session.watch.looked > before).await;
    assert_eq!(fleet.session(session).await.outbox.waiting.len(), 1);
    assert_eq!(fleet.choices(session).await, Vec::<String>::new());
    fleet
        .tell(session, SessionInput::Answer { by: "ann".into(), question: 1, text: "2".into() })
        .await
        .unwrap();
    fleet.until_idle(session, 2).await;
    assert_eq!(fleet.choices(session).await, ["May I?: 2"]);
    assert_eq!(fleet.turns(session).await, ["[[ask May I?]]", "1"]);
    fleet.finish().await;
}

/// acceptance: M4
async fn a_message_waits_for_a_person_who_types(runtime: &'static str) {
    let mut plan = Plan::on(runtime);
    plan.settings.human_quiet = Duration::from_secs(3);
    let fleet = Fleet::start(plan).await;
    let session = fleet.idle("fix").await;
    fleet.type_into(session, "half a thought, ").await;
    fleet.until_draft(session, "half a thought, ").await;
    fleet.send(session, "from ao").await;
    // Also after the person has been quiet for long enough: the draft is still theirs.
    fleet
        .until_session(session, "it is held back", |session| {
            session.outbox.current.as_ref().is_some_and(|delivery| delivery.pauses > 0)
        })
        .await;
    fleet.until_draft(session, "half a thought, ").await;
    fleet.type_into(session, "finished\r").await;
    fleet.until_idle(session, 2).await;
    assert_eq!(fleet.turns(session).await[1..], ["half a thought, finished", "from ao"]);
    fleet.finish().await;
}

/// acceptance: M5
async fn messages_wait_for_the_end_of_a_turn_in_their_order(runtime: &'static str) {
    let fleet = Fleet::start(Plan::on(runtime)).await;
    let session = fleet.spawn("fix", "[[work 3s]]").await;
    fleet.until_status(session, StatusWord::Working).await;
    fleet.send(session, "first").await;
    fleet.send(session, "second").await;
    fleet.until_idle(session, 3).await;
    assert_eq!(fleet.turns(session).await, ["[[work 3s]]", "first", "second"]);
    assert!(!fleet.was_interrupted(session).await);
    fleet.finish().await;
}

/// acceptance: M5
async fn an_interrupt_goes_into_the_running_turn(runtime: &'static str) {
    let fleet = Fleet::start(Plan::on(runtime)).await;
    let session = fleet.spawn("fix", "[[work 2m]]").await;
    fleet.until_status(session, StatusWord::Working).await;
    fleet.send_with(session, "stop that", true).await;
    fleet.until_idle(session, 2).await;
    assert!(fleet.was_interrupted(session).await);
    assert_eq!(fleet.turns(session).await, ["[[work 2m]]", "stop that"]);
    fleet.finish().await;
}

/// acceptance: M8
async fn whatever_is_sent_arrives_as_it_was_sent(runtime: &'static str) {
    let fleet = Fleet::start(Plan::on(runtime).script("ignore-tags")).await;
    // A hundred in all, by several agents at a time.
    let senders = (0..5u64).map(|n| {
        let fleet = &fleet;
        async move {
            let session = fleet.idle(&format!("fix-{n}")).await;
            let mut sent = vec!["get ready".to_owned()];
            for (turn, text) in texts(n, 20).into_iter().enumerate() {
                fleet.send(session, &text).await;
                sent.push(sanitise(&text));
                fleet.until_idle(session, turn as u64 + 2).await;
            }
            assert_eq!(fleet.turns(session).await, sent);
        }
    });
    futures::future::join_all(senders).await;
    fleet.finish().await;
}

/// Texts with everything in them that could go wrong on a terminal, the same ones every time.
fn texts(seed: u64, many: usize) -> Vec<String> {
    let piece = prop_oneof![
        "[a-z ]{1,20}",
        "[\\PC]{1,12}",
        Just("`rm -rf /`".to_owned()),
        Just("--help".to_owned()),
        Just("\u{1b}[31mred\u{1b}[0m".to_owned()),
        Just("\r\n".to_owned()),
        Just("\n".to_owned()),
        Just("\u{1b}[201~".to_owned()),
        Just("\t$(id) \\n 'x' \"y\"".to_owned()),
    ];
    let texts = proptest::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat());
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), rng);
    // The number makes no two alike, and stands last: how a text begins is half of what can go wrong.
    (0..many).map(|n| format!("{} {n}", texts.new_tree(&mut runner).unwrap().current())).collect()
}
