//! What agents may do about issues, pull requests and checks, and what not, call by call.

use ao_core::Input;
use ao_core::input::SpawnRequest;
use ao_core::session::{SessionInput, SessionRole};
use axum::http::Method;
use serde_json::{Value, json};

use crate::forge::{facts, pull};
use crate::support::{House, call, get, order, patch, post};

/// `my-app!1` is of the worker's, `my-app!2` of another one's, `my-app!3` of nobody's; the issue `my-app#1` is the worker's.
async fn world() -> House {
    let house = House::new().await;
    let app = house.app().await;
    for project in ["my-app", "my-app", "docs"] {
        let new = json!({"projectId": project, "title": "one"});
        assert_eq!(post("/api/issues", new).owner().to(&app).await.told(), "201");
    }
    let task = Some(crate::forge::task("my-app", "1"));
    let order = SpawnRequest { task, ..order("", "my-app") };
    let receipt = house.handle.ask(Input::Spawn(Box::new(order))).await.unwrap();
    let worker = receipt.events.iter().find_map(|stamped| stamped.event.session()).unwrap();
    house.run(worker).await;
    house.give_token("worker", worker);
    let other = house.agent("other", "my-app", SessionRole::Worker).await;
    house.agent("reviewer", "my-app", SessionRole::Reviewer).await;
    house.agent("chief", "my-app", SessionRole::Orchestrator).await;
    house.agent("foreigner", "docs", SessionRole::Orchestrator).await;
    for (number, branch) in [(1, "one"), (2, "two"), (3, "three")] {
        house.pull(&pull("my-app", number), facts(branch)).await;
    }
    house.pull(&pull("docs", 1), facts("one")).await;
    house.claim(&pull("my-app", 1), worker).await;
    house.claim(&pull("my-app", 2), other).await;
    post("/api/checks", json!({"pull": "my-app!1"})).owner().to(&app).await;
    for number in [1, 2, 3] {
        let said = json!({"body": "hm"});
        post(&format!("/api/pulls/my-app!{number}/comments"), said).owner().to(&app).await;
    }
    house
}

/// Each call for a worker, a reviewer, an orchestrator, and the orchestrator of another project. acceptance: X8
#[tokio::test]
async fn each_call_is_allowed_to_whom_it_is_meant_for_and_to_nobody_else() {
    let house = world().await;
    let app = house.app().await;
    let thread = |number: u64| {
        let forge = house.forge.lock();
        forge.pulls[&pull("my-app", number)].threads[0].id.clone()
    };
    let resolve = |number| format!("POST /api/pulls/my-app!{number}/threads/{}/resolve", thread(number));
    let run = house.forge.lock().runs[0].id.clone();
    let none = Value::Null;
    let said = json!({"body": "hm"});
    let review = |verdict: &str| json!({"verdict": verdict, "body": "hm"});
    let table: Vec<(String, Value, &str)> = vec![
        ("GET /api/issues".into(), none.clone(), "yyyy"),
        ("GET /api/issues?project=my-app".into(), none.clone(), "yyy-"),
        ("GET /api/issues?project=docs".into(), none.clone(), "---y"),
        ("GET /api/issues/my-app%232".into(), none.clone(), "yyy-"),
        ("POST /api/issues".into(), json!({"title": "x"}), "--yy"),
        ("POST /api/issues".into(), json!({"title": "x", "projectId": "my-app"}), "--y-"),
        ("POST /api/issues".into(), json!({"title": "x", "projectId": "docs"}), "---y"),
        ("PATCH /api/issues/my-app%231".into(), json!({"title": "y"}), "--y-"),
        ("POST /api/issues/my-app%231/comments".into(), said.clone(), "y-y-"),
        ("POST /api/issues/my-app%232/comments".into(), said.clone(), "--y-"),
        ("POST /api/issues/import".into(), json!({"format": "markdown", "text": ""}), "----"),
        ("GET /api/pulls".into(), none.clone(), "yyyy"),
        ("GET /api/pulls?project=my-app&state=all".into(), none.clone(), "yyy-"),
        ("GET /api/pulls?session=my-app-other".into(), none.clone(), "yyy-"),
        ("GET /api/pulls/my-app!2".into(), none.clone(), "yyy-"),
        ("GET /api/pulls/my-app!2/diff".into(), none.clone(), "yyy-"),
        ("GET /api/pulls/docs!1".into(), none.clone(), "---y"),
        ("POST /api/pulls".into(), json!({"head": "fresh"}), "y-yy"),
        ("POST /api/pulls".into(), json!({"head": "fresh", "projectId": "my-app"}), "y-y-"),
        ("POST /api/pulls".into(), json!({"head": "fresh", "session": "my-app-other"}), "----"),
        // Of another session's branch only an orchestrator may make one, and does not answer for it.
        ("POST /api/pulls".into(), json!({"head": "agent/my-app-other", "projectId": "my-app"}), "--y-"),
        ("PATCH /api/pulls/my-app!1".into(), json!({"title": "y"}), "y-y-"),
        ("PATCH /api/pulls/my-app!2".into(), json!({"title": "y"}), "--y-"),
        ("PATCH /api/pulls/my-app!3".into(), json!({"draft": false}), "--y-"),
        ("POST /api/pulls/my-app!1/comments".into(), said.clone(), "yyy-"),
        ("POST /api/pulls/my-app!2/comments".into(), said.clone(), "-yy-"),
        ("POST /api/pulls/my-app!3/comments".into(), said.clone(), "-yy-"),
        (resolve(1), json!({}), "y-y-"),
        (resolve(2), json!({}), "--y-"),
        ("POST /api/pulls/my-app!1/reviews".into(), review("comment"), "-yy-"),
        ("POST /api/pulls/my-app!2/reviews".into(), review("request_changes"), "--y-"),
        ("POST /api/pulls/my-app!1/reviews".into(), review("approve"), "----"),
        ("POST /api/pulls/my-app!2/reviews".into(), review("approve"), "----"),
        ("POST /api/pulls/docs!1/reviews".into(), review("approve"), "----"),
        ("POST /api/pulls/my-app!1/merge".into(), json!({}), "----"),
        ("POST /api/pulls/my-app!1/merge".into(), json!({"anyway": true}), "----"),
        ("POST /api/pulls/my-app!1/reviewer".into(), json!({}), "----"),
        ("POST /api/pulls/my-app!3/claim".into(), json!({"session": "my-app-other"}), "----"),
        ("POST /api/pulls/my-app!2/claim".into(), json!({"session": null}), "----"),
        ("GET /api/checks".into(), none.clone(), "yyyy"),
        ("GET /api/checks?project=my-app".into(), none.clone(), "yyy-"),
        ("GET /api/checks?pull=my-app!1".into(), none.clone(), "yyy-"),
        (format!("GET /api/checks/{run}"), none.clone(), "yyy-"),
        (format!("GET /api/checks/{run}/log"), none.clone(), "yyy-"),
        ("GET /api/projects/my-app/checks".into(), none.clone(), "yyy-"),
        ("POST /api/checks".into(), json!({"pull": "my-app!1"}), "y-y-"),
        ("POST /api/checks".into(), json!({"pull": "my-app!2"}), "--y-"),
        ("POST /api/checks".into(), json!({"revision": "main"}), "--yy"),
        ("POST /api/checks".into(), json!({"revision": "main", "projectId": "my-app"}), "--y-"),
    ];
    for (called, body, expected) in table {
        for (who, expected) in ["worker", "reviewer", "chief", "foreigner"].iter().zip(expected.chars()) {
            let (method, path) = called.split_once(' ').unwrap();
            house.forge.asked();
            let answer = match method {
                "GET" => get(path),
                "POST" => post(path, body.clone()),
                _ => patch(path, body.clone()),
            };
            let told = answer.token(who).to(&app).await.told();
            if expected == 'y' {
                assert!(told.starts_with('2'), "{called} {body} as {who}: {told}");
            } else {
                assert_eq!(told, "403 forbidden", "{called} {body} as {who}");
                let asked = house.forge.asked();
                let changed = asked.iter().any(|word| word.contains(' ') && !word.starts_with("list"));
                assert!(!changed, "{called} as {who}: {asked:?}");
            }
        }
    }
    house.is_in_place();
    house.end().await;
}

/// An agent may read asks of its own, and an orchestrator those of its project. None answers any, not even by way of
/// another session. acceptance: X8
#[tokio::test]
async fn no_agent_answers_an_ask() {
    let house = world().await;
    let app = house.app().await;
    let sessions = get("/api/sessions").owner().to(&app).await.json["sessions"].clone();
    for who in ["worker", "reviewer", "chief", "foreigner"] {
        for session in sessions.as_array().unwrap() {
            let path = format!("/api/sessions/{}/answer", session["id"].as_str().unwrap());
            for body in
                [json!({"answer": "yes", "ask": "1"}), json!({"always": true, "question": 1}), json!({})]
            {
                assert_eq!(
                    post(&path, body).token(who).to(&app).await.told(),
                    "403 forbidden",
                    "{path} as {who}"
                );
            }
        }
        assert_eq!(get("/api/asks").token(who).to(&app).await.told(), "403 forbidden", "{who}");
        let of_other = get("/api/sessions/my-app-other/asks").token(who).to(&app).await.told();
        assert_eq!(of_other.starts_with('2'), who == "chief", "{who}: {of_other}");
    }
    house.end().await;
}

/// Lists show an agent its own project alone. acceptance: X8
#[tokio::test]
async fn a_list_holds_nothing_of_another_project() {
    let house = world().await;
    let app = house.app().await;
    for path in ["/api/issues?state=all", "/api/pulls", "/api/pulls?state=all", "/api/checks"] {
        let mine = get(path).token("worker").to(&app).await;
        assert!(mine.text.contains("my-app") && !mine.text.contains("docs"), "{path}: {}", mine.text);
        let theirs = get(path).token("foreigner").to(&app).await;
        assert!(!theirs.text.contains("my-app"), "{path}: {}", theirs.text);
    }
    house.end().await;
}

/// acceptance: X8
#[tokio::test]
async fn whose_words_they_are_is_told_by_the_token_alone() {
    let house = world().await;
    let app = house.app().await;
    for (who, expected) in [
        ("worker", "comment on my-app!1 by my-app-1 (agent)"),
        ("reviewer", "comment on my-app!1 by my-app-reviewer (bot)"),
        ("chief", "comment on my-app!1 by my-app-chief (agent)"),
    ] {
        house.forge.asked();
        post("/api/pulls/1/comments", json!({"body": "hm"})).token(who).to(&app).await;
        assert_eq!(house.forge.asked()[0], expected);
        let forged = json!({"body": "hm", "by": "anna"});
        let told = post("/api/pulls/1/comments", forged).token(who).to(&app).await.told();
        assert_eq!(told, "422 invalid-body");
    }
    house.forge.asked();
    post("/api/pulls/my-app!1/comments", json!({"body": "hm"})).owner().to(&app).await;
    assert_eq!(house.forge.asked()[0], "comment on my-app!1 by anna (owner)");
    house.end().await;
}

/// Whoever may say something there may edit it, and nobody's words but their own. acceptance: X8
#[tokio::test]
async fn words_are_edited_by_whoever_said_them_and_by_the_owner() {
    let house = world().await;
    let app = house.app().await;
    let said = || {
        let forge = house.forge.lock();
        let threads = &forge.pulls[&pull("my-app", 1)].threads;
        threads.iter().map(|thread| thread.comments[0].clone()).collect::<Vec<_>>()
    };
    for who in ["worker", "reviewer", "chief"] {
        post("/api/pulls/1/comments", json!({"body": "hm"})).token(who).to(&app).await;
    }
    let who = ["worker", "reviewer", "chief", "other", "foreigner"];
    let expected =
        [("anna", "rrrff"), ("my-app-1", "yrrff"), ("my-app-reviewer", "ryrff"), ("my-app-chief", "rryff")];
    for (comment, (author, expected)) in said().into_iter().zip(expected) {
        assert_eq!(comment.author.login, author);
        let path = format!("/api/pulls/my-app!1/comments/{}", comment.id);
        for (who, expected) in who.iter().zip(expected.chars()) {
            let told = patch(&path, json!({"body": format!("{who} says")})).token(who).to(&app).await.told();
            let expected = match expected {
                'y' => "200",
                'r' => "422 refused",
                _ => "403 forbidden",
            };
            assert_eq!(told, expected, "what {author} said, as {who}");
        }
        let edited = patch(&path, json!({"body": "anna says"})).owner().to(&app).await;
        assert_eq!(edited.told(), "200");
        assert!(edited.text.contains("anna says"));
        assert_eq!(patch(&path, json!({"body": " "})).owner().to(&app).await.told(), "422 invalid");
    }
    let nothing = patch("/api/pulls/my-app!1/comments/c0", json!({"body": "x"})).owner().to(&app).await;
    assert_eq!(nothing.told(), "404 not-found");
    let revisions: Vec<String> = said().into_iter().map(|comment| comment.revision).collect();
    assert_eq!(revisions, ["1+", "1++", "1++", "1++"], "by the owner, and by whoever it was");
    house.end().await;
}

/// An agent that has ended changes nothing any more, though its token still reads. acceptance: X8
#[tokio::test]
async fn who_has_ended_reads_and_does_nothing_else() {
    let house = world().await;
    let app = house.app().await;
    let chief = house.handle.view(|state| state.session_named("my-app-chief").unwrap().id).await.unwrap();
    house.tell(chief, SessionInput::Stop { by: "anna".into(), why: "enough".into() }).await;
    house.tell(chief, SessionInput::ProcessEnded { attempt: ao_core::Attempt(1) }).await;
    assert_eq!(get("/api/pulls/my-app!1").token("chief").to(&app).await.told(), "200");
    let refused = [
        post("/api/issues", json!({"title": "x"})),
        post("/api/pulls", json!({"head": "fresh"})),
        post("/api/pulls/my-app!1/comments", json!({"body": "hm"})),
        patch("/api/pulls/my-app!1", json!({"title": "y"})),
        post("/api/pulls/my-app!3/claim", json!({"session": "my-app-chief"})),
        post("/api/checks", json!({"pull": "my-app!1"})),
        call(Method::POST, "/api/pulls/my-app!1/reviewer"),
    ];
    for (at, call) in refused.into_iter().enumerate() {
        assert_eq!(call.token("chief").to(&app).await.told(), "403 forbidden", "call {at}");
    }
    house.end().await;
}

/// An agent may have been talked into it. acceptance: X3
#[tokio::test]
async fn no_agent_answers_for_what_an_outsider_wrote() {
    let house = world().await;
    let app = house.app().await;
    for who in ["worker", "reviewer", "chief"] {
        let wish = json!({"title": "x", "trust": true});
        assert!(post("/api/sessions", wish).token(who).to(&app).await.told().starts_with("403"), "{who}");
        // Neither for an issue that was not read at all.
        let wish = json!({"issue": "42", "force": true});
        assert!(post("/api/sessions", wish).token(who).to(&app).await.told().starts_with("403"), "{who}");
    }
    assert_eq!(post("/api/sessions", json!({"title": "x"})).token("chief").to(&app).await.told(), "201");
    assert_eq!(
        post("/api/sessions", json!({"title": "y", "trust": true, "projectId": "my-app"}))
            .owner()
            .to(&app)
            .await
            .told(),
        "201"
    );
    house.end().await;
}
