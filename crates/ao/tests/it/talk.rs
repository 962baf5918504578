//! Talking to agents from the command line: sent, accepted, waited for, explained.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::house::{House, Ran, until};

#[test]
fn a_message_is_confirmed_and_one_that_is_not_taken_is_told() {
    let house = House::new();
    house.start();
    let session = house.session("Say hello", "[[say hello]]");
    house.wait_for(&session, "idle");
    house.ao(&["send", &session, "now this"]).succeeds();
    assert_eq!(house.turns(&session), ["[[say hello]]", "now this"]);
    // Names by a unique prefix, and what is wrong with others.
    house.ao(&["send", &session[..6], "and by prefix"]).succeeds();
    house.ao(&["send", "no-such-thing", "x"]).exits(5).says("ao list");
    house.ao(&["send", &session, ""]).exits(1);
    // A queued one says why it waits.
    house.ao(&["send", &session, "[[work 30s]]"]).succeeds();
    house.ao(&["send", &session, "later", "--timeout", "1"]).exits(8).says("outbox");
}

/// acceptance: N2 (waiting)
#[test]
fn waiting_ends_at_once_if_it_is_so_already_and_says_by_its_code_what_became_of_it() {
    let house = House::new();
    house.start();
    let session = house.session("Say hello", "[[say hello]]");
    house.wait_for(&session, "idle");
    let began = Instant::now();
    house.ao(&["wait", &session, "--for", "idle", "--timeout", "5"]).succeeds();
    assert!(began.elapsed() < Duration::from_secs(4));
    house.ao(&["wait", &session, "--for", "working", "--timeout", "1"]).exits(8);
    house.ao(&["wait", "no-such-thing", "--for", "idle"]).exits(5);
    house.ao(&["wait", &session, "--for", "no_such_state"]).exits(2);
    house.ao(&["stop", &session]).succeeds();
    house.ao(&["wait", &session, "--for", "idle", "--timeout", "5"]).exits(1);
}

/// A live session comes before ended ones whose names begin the same way, until it has ended too.
#[test]
fn a_name_that_is_not_the_only_one_any_more_still_means_whom_it_meant() {
    let house = House::new();
    house.start();
    let older = house.session("Docs one", "[[say hello]]");
    house.wait_for(&older, "idle");
    house.ao(&["stop", &older]).succeeds();
    let newer = house.session("Docs two", "[[say hello]]");
    house.wait_for(&newer, "idle");
    let both = &older[..older.find("docs").unwrap() + 4];
    let begin = |args: &[&str]| {
        let mut command = house.command(&house.repository(), args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut following = begin(&["logs", both, "-f"]);
    let mut watching = begin(&["status", both, "--watch", "--json"]);
    // What they show first shows that they have found whom they mean.
    following.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let mut seen = BufReader::new(watching.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(seen.next().unwrap().contains(&newer));
    house.ao(&["stop", &newer]).succeeds();
    let last = seen.find(|line| line.contains(r#""state":"stopped""#)).expect("it is told of the end");
    assert!(last.contains(&newer), "{last}");
    watching.kill().unwrap();
    watching.wait().unwrap();
    Ran::of(following.wait_with_output().unwrap()).succeeds();
    house.ao(&["wait", both, "--for", "stopped"]).exits(1).says("could be any of 2 sessions");
}

#[test]
fn nobody_follows_the_output_of_a_session_whose_set_up_failed() {
    let house = House::new();
    let config = house.usual_config("my-app");
    let config =
        config.replace("    path: .\n", "    path: .\n    postCreate: ['echo no such thing; exit 3']\n");
    std::fs::write(house.config_file(), config).unwrap();
    house.start();
    let session = house.session("Say hello", "[[say hello]]");
    house.wait_for(&session, "setup_failed");
    house.ao(&["logs", &session, "-f"]).succeeds().says("--setup");
    house.ao(&["logs", &session, "--setup"]).succeeds().says("no such thing");
}

/// acceptance: S7
#[test]
fn an_explanation_lists_each_signal_with_its_age_and_the_rule_that_won() {
    let house = House::new();
    house.start();
    let session = house.session("Ask", "[[ask May I?]]");
    house.wait_for(&session, "needs_input");
    let told = house.ao(&["explain", &session]).succeeds();
    for word in ["needs_input", "hook", "terminal", "AGE", "May I?"] {
        assert!(told.out.contains(word), "{word}:\n{}", told.out);
    }
    let explained = house.ao(&["explain", &session, "--json"]).succeeds().json();
    let rules = explained["rules"].as_array().unwrap();
    let won: Vec<_> =
        rules.iter().filter(|rule| rule["won"] == true).map(|rule| rule["rule"].clone()).collect();
    assert_eq!(won, ["dialog_open"]);
    for signal in explained["signals"].as_array().unwrap() {
        assert!(signal["ageSeconds"].is_u64() && signal["source"].is_string(), "{signal}");
    }
    house.ao(&["why", &session]).succeeds().says("May I?");
    house.ao(&["answer", &session, "yes"]).succeeds();
    house.wait_for(&session, "idle");
}

/// acceptance: S9
#[test]
fn looking_changes_nothing() {
    let house = House::new();
    house.start();
    let session = house.session("Say hello", "[[say hello]]");
    house.wait_for(&session, "idle");
    let looks = [
        &["status"] as &[&str],
        &["status", &session],
        &["explain", &session],
        &["logs", &session],
        &["list"],
        &["why", &session],
    ];
    let seq = || house.daemon()["seq"].as_u64().unwrap();
    // Something may come of the turn still, or of the daemon's own rounds, while we look. What comes of looking comes every
    // time, so one round without a trace shows that there is none.
    until("a round of looks leaves no trace", || {
        let before = seq();
        for look in looks {
            house.ao(look).succeeds();
        }
        seq() == before
    });
    assert_eq!(house.state(&session), "idle");
}

#[test]
fn a_program_that_lives_for_one_turn_works_once_it_has_said_something() {
    let house = House::with("  quiet: { program: sh, args: [-c, 'echo hm; sleep 300'], prompt: argument }\n");
    house.start();
    house.ao(&["new", "Think", "--agent", "quiet", "--name", "think"]).succeeds();
    house.wait_for("think", "working");
    house.ao(&["why", "think"]).succeeds().says("a turn is running");
    house.ao(&["stop", "think"]).succeeds();
}
