//! Sessions, commands and comments by the names that people have for them.

use crate::fleet::git;
use crate::house::{House, until};

/// The command of the documents, and every name by which its session is found afterwards.
#[test]
fn a_session_answers_to_its_title_its_issue_its_name_and_its_id() {
    let house = House::new();
    house.start();
    house.ao(&["issue", "add", "Login accepts everything"]).succeeds();
    let new = [
        "new",
        "Fix login validation bug",
        "--project",
        "my-app",
        "--issue",
        "1",
        "--prompt",
        "[[say hello]]",
    ];
    house.ao(&new).succeeds();
    let other = house.session("Fix logout", "[[say hello]]");
    house.wait_for("my-app-fix-login", "idle");
    let id = house.status("app-1")["id"].as_str().unwrap().to_owned();
    let names = [
        "my-app-fix-login",
        "my-app-fix-login-validation-bug",
        "issue-1",
        "#1",
        "1",
        "my-app-1",
        &id,
        &id[..10],
    ];
    for name in names {
        assert_eq!(house.status(name)["name"], "app-1", "{name}");
    }
    house.ao(&["logs", "my-app-fix-login"]).succeeds().says("hello");
    house.ao(&["send", "issue-1", "and this"]).succeeds();
    // What could be two is none, and both are named; what has ended gives way to what lives.
    house.ao(&["status", "my-app-fix-log"]).exits(1).says("could be any of 2 sessions").says(&other);
    house.ao(&["stop", "my-app-fix-login"]).succeeds();
    assert_eq!(house.state("app-1"), "stopped");
    assert_eq!(house.status("my-app-fix-log")["name"], other.as_str());

    // Filters know the two classic states that stand for several.
    house.ao(&["send", &other, "[[ask Go on?]]", "--no-wait"]).succeeds();
    let waiting = || house.ao(&["list", "--state", "waiting", "--json"]).succeeds().json();
    until("it waits for a person", || waiting()["sessions"][0]["name"] == other.as_str());
    let classic = format!("/sessions/{other}/status?states=classic");
    assert_eq!(house.ao(&["api", "GET", &classic]).succeeds().json()["state"], "waiting");
    assert_eq!(
        house.ao(&["list", "--state", "error", "--json"]).succeeds().json()["sessions"],
        serde_json::json!([])
    );
}

#[test]
fn a_command_that_has_another_name_here_is_named() {
    let house = House::new();
    for (typed, meant) in [
        (&["restore", "app-1"][..], "`ao session restore app-1`"),
        (&["cleanup"], "`ao session cleanup`"),
        (&["kill"], "`ao session kill SESSION`"),
        (&["version"], "`ao --version`"),
        (&["ps"], "`ao list`"),
        (&["watch"], "`ao status --watch`"),
        (&["session", "stop", "app-1"], "`ao stop app-1`"),
    ] {
        house.ao(typed).exits(2).says(meant);
    }
    house.ao(&["frobnicate"]).exits(2);
}

/// A comment is answered by the id that its message names, and by its address.
#[test]
fn a_comment_is_answered_by_the_id_that_was_told() {
    let house = House::new();
    house.start();
    let repository = house.repository();
    git(&repository, &["switch", "--quiet", "-c", "feature"]);
    std::fs::write(repository.join("words.txt"), "one\n").unwrap();
    git(&repository, &["add", "words.txt"]);
    git(&repository, &["commit", "--quiet", "-m", "Add words"]);
    house.ao(&["pr", "create"]).succeeds();
    house.ao(&["pr", "comment", "1", "Say please.", "--at", "words.txt:1"]).succeeds();
    house.ao(&["pr", "request-changes", "1", "-b", "Not like this."]).succeeds();
    house.ao(&["pr", "reply", "1", "c1", "Done."]).succeeds().says("t1");
    house.ao(&["pr", "reply", "1", "ao://my-app/pulls/1#c1", "And done.", "--resolve"]).succeeds();
    house.ao(&["pr", "reply", "1", "r1", "Like that?"]).succeeds();
    house.ao(&["pr", "reply", "1", "c9", "Nothing."]).exits(5);
    let shown = house.ao(&["pr", "show", "1", "--json"]).succeeds().json();
    let said = |thread: usize| {
        let comments = shown["threads"][thread]["comments"].as_array().unwrap();
        comments.iter().map(|comment| comment["body"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        (said(0), &shown["threads"][0]["resolved"]),
        (vec!["Say please.".into(), "Done.".into(), "And done.".into()], &true.into())
    );
    assert_eq!(said(1), ["Like that?"]);
}

/// Events are told to people in words, by the names of sessions; programs get them as they are.
#[test]
fn events_have_a_form_for_people() {
    let house = House::new();
    house.start();
    let session = house.session("Say hello", "[[say hello]]");
    house.wait_for(&session, "idle");
    house.ao(&["stop", &session]).succeeds();
    let told = house.ao(&["events"]).succeeds().out;
    for words in ["is in the queue: “Say hello”", "runs", "accepted the message", "has ended: stopped by"]
    {
        assert!(told.lines().any(|line| line.contains(&format!("{session}  {words}"))), "{words}:\n{told}");
    }
    assert!(!told.contains("ses_") && !told.contains(['{', '}']), "{told}");
    let json = house.ao(&["events", "--json"]).succeeds().out;
    assert!(json.lines().all(|line| line.contains("\"kind\":")), "{json}");
    assert!(json.contains("session.ended") && json.contains("ses_"), "{json}");
}

/// The latest events of one session may be far behind the latest of all.
#[test]
fn the_events_of_a_session_are_found_however_much_has_happened_since() {
    let house = House::new();
    house.start();
    let session = house.session("Say hello", "[[say hello]]");
    house.wait_for(&session, "idle");
    for n in 0..60 {
        house.ao(&["issue", "add", &format!("Issue {n}")]).succeeds();
    }
    let told = house.ao(&["events", "--session", &session]).succeeds().out;
    assert!(told.contains(session.as_str()), "{told}");
}
