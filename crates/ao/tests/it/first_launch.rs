//! The first time that an agent's program is started: it asks what only a person was meant to answer.

use std::fs;

use crate::house::{House, until};

/// A house whose agents begin with these dialogs.
fn house(dialogs: &str) -> House {
    let house = House::new();
    let usual = fs::read_to_string(house.config_file()).unwrap();
    let home = "\"SCRIPTED_HOME\":";
    let script = format!("\"SCRIPTED_SCRIPT\":\"first-launch {dialogs}\",{home}");
    assert!(usual.contains(home), "{usual}");
    fs::write(house.config_file(), usual.replacen(home, &script, 1)).unwrap();
    house.start();
    house
}

/// acceptance: X1
#[test]
fn the_task_starts_unattended_though_there_are_dialogs_before_it() {
    let house = house("trust onboarding");
    let session = house.session("A task", "[[say done]]");
    until("the task to be taken", || house.turns(&session).len() == 1);
    house.wait_for(&session, "idle");
    let events = house.ao(&["events", "--json"]).succeeds().out;
    assert!(!events.contains("asking"), "nobody was asked: {events}");
    assert!(!events.contains("session.exited"), "{events}");
}

/// acceptance: X1
#[test]
fn a_dialog_that_nobody_knows_is_a_question_and_its_answer_is_the_persons() {
    let house = house("unknown");
    let session = house.session("A task", "[[say done]]");
    house.wait_for(&session, "needs_input");
    let shown = house.ao(&["status", &session]).succeeds().out;
    assert!(shown.contains("Shall the flux be inverted?"), "{shown}");
    assert!(house.turns(&session).is_empty());
    house.ao(&["answer", &session, "2"]).succeeds();
    until("the task to be taken", || house.turns(&session).len() == 1);
}
