//! What makes something is made once, though the daemon goes away after having taken it.

use ao_api::{Commented, Problem, Reviewed};
use serde_json::{Value, json as value};

use super::standin::{Reply, StandIn, json, problem};
use super::wire::{issue, pull};

/// Each command that makes something, with the call that does it and what is answered.
fn commands() -> Vec<(&'static str, &'static str, Reply)> {
    let said = || json(&Commented { thread: "t1".into() });
    let given = || json(&Reviewed { id: "r1".into() });
    vec![
        ("pr comment my-app!7 hm", "POST /api/pulls/my-app%217/comments", said()),
        ("pr reply my-app!7 t1 hm", "POST /api/pulls/my-app%217/comments", said()),
        ("pr review my-app!7 --comment -b hm", "POST /api/pulls/my-app%217/reviews", given()),
        ("pr approve my-app!7", "POST /api/pulls/my-app%217/reviews", given()),
        ("pr request-changes my-app!7 -b hm", "POST /api/pulls/my-app%217/reviews", given()),
        ("issue add Title -p my-app", "POST /api/issues", json(&issue("42", "open"))),
        ("issue comment my-app#42 hm", "POST /api/issues/my-app%2342/comments", json(&issue("42", "open"))),
    ]
}

#[test]
fn a_daemon_that_dies_after_having_taken_it_is_asked_again_under_the_same_mark() {
    std::thread::scope(|scope| {
        for (command, line, answer) in commands() {
            scope.spawn(move || {
                let daemon = StandIn::new();
                let away = problem(&Problem::new(503, "stopping", "ao is shutting down"));
                daemon.on("GET /api/pulls/my-app%217", json(&pull(7)));
                daemon.on(line, Reply::Bytes(vec![])).on(line, away).on(line, answer);
                let args: Vec<&str> = command.split(' ').collect();
                let said = daemon.ao(&args);
                assert!(said.starts_with("exit 0"), "{command}: {said}");
                let bodies: Vec<Value> = daemon.calls(line).into_iter().map(|call| call.body).collect();
                assert_eq!(bodies.len(), 3, "{command}: {bodies:?}");
                assert!(bodies.iter().all(|body| *body == bodies[0]), "{command}: {bodies:?}");
                assert!(bodies[0]["key"].as_str().is_some_and(|key| key.len() > 16), "{command}: {bodies:?}");
                daemon.ao(&args);
                let another = daemon.calls(line).pop().unwrap().body;
                assert_ne!(another["key"], bodies[0]["key"], "{command}: said again, it is meant again");
            });
        }
    });
}

/// An edit comes to the same however often it is made, and so does the proposal of a branch.
#[test]
fn an_edit_is_made_again_too() {
    let daemon = StandIn::new();
    let line = "PATCH /api/pulls/my-app%217/comments/c1";
    daemon.on(line, Reply::Bytes(vec![])).on(line, json(&pull(7)));
    let said = daemon.ao(&["pr", "comment", "my-app!7", "--edit", "c1", "better"]);
    assert!(said.starts_with("exit 0"), "{said}");
    assert_eq!(daemon.calls("PATCH").len(), 2);
}

/// What is refused would be refused again.
#[test]
fn a_refusal_is_not_asked_for_twice() {
    std::thread::scope(|scope| {
        for (command, line, _) in commands() {
            scope.spawn(move || {
                let daemon = StandIn::new();
                daemon.on("GET /api/pulls/my-app%217", json(&pull(7)));
                daemon.on(line, problem(&Problem::new(422, "refused", "so it cannot be")));
                let said = daemon.ao(&command.split(' ').collect::<Vec<_>>());
                assert!(said.starts_with("exit 1") && said.contains("so it cannot be"), "{command}: {said}");
                assert_eq!(daemon.calls(line).len(), 1, "{command}");
            });
        }
    });
}
