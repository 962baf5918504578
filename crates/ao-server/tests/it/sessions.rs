//! Sessions over the API: made, listed, found, explained, ended.

use ao_core::evidence::Reading;
use axum::http::Method;
use camino::Utf8Path;
use serde_json::{Value, json};

use crate::support::{House, call, configuration, get, post};

#[tokio::test]
async fn a_session_is_made_listed_shown_and_ended() {
    let house = House::new().await;
    let app = house.app().await;
    house.issue("789");
    let wish = json!({"projectId": "my-app", "issue": "GH-789", "title": "Add user export feature"});
    let made = post("/api/sessions", wish).owner().to(&app).await;
    assert_eq!(made.told(), "201");
    assert_eq!(made.json["created"], true);
    let session = &made.json["session"];
    assert_eq!(session["name"], "my-app-789");
    assert_eq!(session["issue"], "789");

    let listed = get("/api/sessions").owner().to(&app).await;
    assert_eq!(listed.json["sessions"][0]["id"], session["id"]);
    assert_eq!(listed.json["seq"], house.seq().await);

    let status = get("/api/sessions/my-app-7/status").owner().to(&app).await;
    assert_eq!(status.told(), "200");
    for (field, expected) in [
        ("agent", json!("fake")),
        ("state", json!("setting_up")),
        ("currentTask", json!("Add user export feature")),
        ("branch", json!("agent/my-app-789")),
        ("workspacePath", Value::Null),
    ] {
        assert_eq!(status.json[field], expected, "{field}");
    }

    let id = session["id"].as_str().unwrap();
    let ended = call(Method::DELETE, &format!("/api/sessions/{id}")).owner().to(&app).await;
    assert_eq!(ended.told(), "200", "{}", ended.text);
    house.end().await;
}

#[tokio::test]
async fn an_ended_session_can_be_ended_again_and_is_left_out_if_only_the_living_are_wanted() {
    let house = House::new().await;
    let app = house.app().await;
    let id = house.spawn("one").await;
    house.run(id).await;
    let path = format!("/api/sessions/{id}/stop");
    let stopping = post(&path, json!({"why": "enough"})).owner().to(&app).await;
    assert_eq!(stopping.json["status"]["state"], "stopping");
    assert_eq!(stopping.json["status"]["reason"], "stopped by anna: enough");
    house.tell(id, ao_core::session::SessionInput::ProcessEnded { attempt: ao_core::Attempt(1) }).await;
    for _ in 0..2 {
        let again = call(Method::DELETE, "/api/sessions/my-app-one").owner().to(&app).await;
        assert_eq!((again.told().as_str(), &again.json["status"]["state"]), ("200", &json!("stopped")));
    }
    let all = get("/api/sessions").owner().to(&app).await;
    assert_eq!(all.json["sessions"].as_array().unwrap().len(), 1);
    let living = get("/api/sessions?all=false").owner().to(&app).await;
    assert_eq!(living.json["sessions"].as_array().unwrap().len(), 0);
    let stopped = get("/api/sessions?state=stopped&project=my-app").owner().to(&app).await;
    assert_eq!(stopped.json["sessions"].as_array().unwrap().len(), 1);
    let nonsense = get("/api/sessions?state=happy").owner().to(&app).await;
    assert_eq!(nonsense.told(), "400 unknown-state");
    let message = post(&format!("/api/sessions/{id}/message"), json!({"content": "go on"}));
    let message = message.owner().to(&app).await;
    assert_eq!(message.told(), "409 session-ended");
    let name = stopped.json["sessions"][0]["name"].as_str().unwrap();
    assert_eq!(message.json["hints"][0], format!("`ao session restore {name}` brings it back"));
    assert!(!message.json["title"].as_str().unwrap().contains("ses_"), "{}", message.json["title"]);
    assert_eq!(stopped.json["sessions"][0]["canRestore"], true);
    house.end().await;
}

/// The names that the documents of the original use, and its four states for those who ask for them.
#[tokio::test]
async fn a_session_answers_to_its_title_and_its_issue_and_tells_the_classic_states() {
    let house = House::new().await;
    let app = house.app().await;
    house.issue("789");
    let wish =
        json!({"projectId": "my-app", "issue": "789", "title": "Add user export feature", "name": "app-789"});
    let made = post("/api/sessions", wish).owner().to(&app).await;
    let id = made.json["session"]["id"].as_str().unwrap().to_owned();
    for name in
        ["app-789", "my-app-add-user-export-feature", "my-app-add-user", "issue-789", "%23789", "789", &id]
    {
        let found = get(&format!("/api/sessions/{name}/status")).owner().to(&app).await;
        assert_eq!((found.told().as_str(), &found.json["id"]), ("200", &json!(id)), "{name}");
    }
    let state = |query: &'static str| {
        let (app, id) = (app.clone(), id.clone());
        async move {
            let told = get(&format!("/api/sessions/{id}/status{query}")).owner().to(&app).await;
            told.json["state"].as_str().map(str::to_owned).unwrap_or_else(|| told.told())
        }
    };
    let id = id.parse().unwrap();
    house.run(id).await;
    house.agent_shows(id, Reading::Asking { question: "Allow `rm`?".into() }).await;
    assert_eq!(state("").await, "needs_input");
    assert_eq!(state("?states=full").await, "needs_input");
    assert_eq!(state("?states=classic").await, "waiting");
    assert_eq!(state("?states=modern").await, "400 unknown-states");
    let listed = async |filter: &str| {
        let listed = get(&format!("/api/sessions?state={filter}")).owner().to(&app).await;
        listed.json["sessions"].as_array().unwrap().len()
    };
    assert_eq!((listed("waiting").await, listed("error").await, listed("working").await), (1, 0, 0));
    house.end().await;
}

/// acceptance: L3
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_spawns_of_one_issue_at_once_make_one_session() {
    let house = House::new().await;
    let app = house.app().await;
    house.issue("42");
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let app = app.clone();
        calls.spawn(async move {
            let wish = json!({"projectId": "my-app", "issue": "42"});
            post("/api/sessions", wish).owner().to(&app).await
        });
    }
    let answers = calls.join_all().await;
    let created = answers.iter().filter(|answer| answer.json["created"] == true).count();
    assert_eq!(created, 1);
    let first = &answers[0].json["session"]["id"];
    assert!(answers.iter().all(|answer| answer.json["session"]["id"] == *first), "the others are told which");
    let statuses: std::collections::BTreeSet<_> = answers.iter().map(|answer| answer.told()).collect();
    assert_eq!(statuses.into_iter().collect::<Vec<_>>(), ["200", "201"]);
    house.end().await;
}

#[tokio::test]
async fn what_cannot_be_a_session_is_refused_with_what_to_do_next() {
    let house = House::new().await;
    let app = house.app().await;
    house.spawn("fix login").await;
    house.spawn("fix logout").await;
    let unknown = get("/api/sessions/my-app-fix-lagin").owner().to(&app).await;
    assert_eq!(unknown.told(), "404 unknown-session");
    assert_eq!(unknown.json["candidates"][0], "my-app-fix-login");
    assert_eq!(unknown.headers["content-type"], "application/problem+json");
    let ambiguous = get("/api/sessions/my-app-fix-log").owner().to(&app).await;
    assert_eq!(ambiguous.told(), "409 ambiguous-session");
    for (body, expected) in [
        (json!({"title": "x", "projectId": "nowhere"}), "404 unknown-project"),
        (json!({"tilte": "x"}), "422 invalid-body"),
        (json!({"title": 7}), "422 invalid-body"),
    ] {
        assert_eq!(post("/api/sessions", body.clone()).owner().to(&app).await.told(), expected, "{body}");
    }
    // What nobody asked for is not begun: neither without a body, nor by a list that could pass for an empty wish.
    let cleanup = "/api/workspaces/cleanup";
    assert_eq!(call(Method::POST, cleanup).owner().to(&app).await.told(), "400 malformed-body");
    for list in [json!([]), json!([null, null])] {
        assert_eq!(post(cleanup, list).owner().to(&app).await.told(), "422 invalid-body");
    }
    assert_eq!(post(cleanup, json!(7)).owner().to(&app).await.told(), "422 invalid-body");
    house.is_in_place();
    let call = get("/api/nowhere").owner().to(&app).await;
    assert_eq!(call.told(), "404 no-such-call");
    let put = crate::support::call(Method::PUT, "/api/sessions").owner().to(&app).await;
    assert_eq!(put.told(), "405 no-such-method");
    house.end().await;
}

/// acceptance: S7 S9
#[tokio::test]
async fn an_explanation_has_every_signal_and_the_rule_that_won_and_looking_changes_nothing() {
    let house = House::new().await;
    let app = house.app().await;
    let id = house.spawn("one").await;
    house.run(id).await;
    house.agent_shows(id, Reading::Asking { question: "Allow `rm`?".into() }).await;
    let before = house.seq().await;
    let told = get(&format!("/api/sessions/{id}/explain")).owner().to(&app).await;
    assert_eq!(told.told(), "200");
    assert_eq!(told.json["status"]["state"], "needs_input");
    assert_eq!(told.json["status"]["question"], "Allow `rm`?");
    let rules = told.json["rules"].as_array().unwrap();
    let won: Vec<_> = rules.iter().filter(|rule| rule["won"] == true).collect();
    assert_eq!(won.len(), 1);
    assert_eq!((&won[0]["rule"], &won[0]["says"]), (&json!("dialog_open"), &json!("needs_input")));
    let hook =
        told.json["signals"].as_array().unwrap().iter().find(|signal| signal["source"] == "hook").unwrap();
    assert_eq!((&hook["reading"], &hook["detail"]), (&json!("asking"), &json!("Allow `rm`?")));
    assert_eq!((&hook["confidence"], &hook["decided"]), (&json!("high"), &json!(true)));
    assert!(hook["ageSeconds"].as_u64().unwrap() < 20);
    for path in ["", "/status", "/messages", "/explain"] {
        get(&format!("/api/sessions/{id}{path}")).owner().to(&app).await;
    }
    assert_eq!(house.seq().await, before);
    house.end().await;
}

#[tokio::test]
async fn a_session_is_held_resumed_and_answered() {
    let house = House::new().await;
    let app = house.app().await;
    let id = house.spawn("one").await;
    house.run(id).await;
    let paused = post(&format!("/api/sessions/{id}/pause"), json!({})).owner().to(&app).await;
    assert_eq!(paused.json["status"]["state"], "paused");
    assert_eq!(paused.json["holds"][0]["why"], "paused by anna");
    let resumed = call(Method::POST, &format!("/api/sessions/{id}/resume")).owner().to(&app).await;
    assert_eq!((resumed.told().as_str(), &resumed.json["status"]["state"]), ("200", &json!("idle")));
    let odd = post(&format!("/api/sessions/{id}/resume"), json!({"usd": -1})).owner().to(&app).await;
    assert_eq!(odd.told(), "422 invalid");
    let none = post(&format!("/api/sessions/{id}/answer"), json!({"answer": "yes", "question": 1}))
        .owner()
        .to(&app)
        .await;
    assert_eq!(none.told(), "409 not-now", "{}", none.text);
    house.agent_shows(id, Reading::Asking { question: "Allow `rm`?".into() }).await;
    let answer = |body| post(&format!("/api/sessions/{id}/answer"), body).owner();
    // It has to say which question it means.
    assert_eq!(answer(json!({"answer": "yes"})).to(&app).await.told(), "422 invalid-body");
    let other = answer(json!({"answer": "yes", "question": 7})).to(&app).await;
    assert_eq!(other.told(), "409 other-question", "{}", other.text);
    assert!(other.text.contains("it asks now, as question 1: Allow `rm`?"), "{}", other.text);
    let shown = get(&format!("/api/sessions/{id}")).owner().to(&app).await;
    assert_eq!(shown.json["status"]["questionNumber"], 1);
    let answered = answer(json!({"answer": "yes", "question": 1})).to(&app).await;
    assert_eq!(answered.told(), "200");
    assert_eq!(house.session(id, |session| session.dialogs.answer.clone().unwrap().text).await, "yes");
    // Once, by whichever name of the ask.
    for body in [json!({"answer": "no", "question": 1}), json!({"answer": "no", "ask": "dialog-1"})] {
        let again = answer(body).to(&app).await;
        assert_eq!(again.told(), "409 already-answered", "{}", again.text);
        assert!(again.text.contains("anna has already answered question 1"), "{}", again.text);
    }
    assert_eq!(answer(json!({"answer": "no", "ask": "x"})).to(&app).await.told(), "404 unknown-ask");
    let both = json!({"answer": "no", "ask": "1", "question": 1});
    assert_eq!(answer(both).to(&app).await.told(), "422 invalid-body");
    assert_eq!(answer(json!({"always": true, "ask": "2"})).to(&app).await.told(), "409 other-question");
    let listed = get("/api/asks").owner().to(&app).await;
    let ask = &listed.json["asks"][0];
    assert_eq!((&ask["sessionId"], &ask["ask"]["title"]), (&json!(id.to_string()), &json!("Allow `rm`?")));
    assert_eq!(ask["ask"]["answer"], json!({"by": "anna", "answer": "yes"}));
    let shown = get(&format!("/api/sessions/{id}/asks/1")).owner().to(&app).await;
    assert_eq!(shown.json["ask"], ask["ask"]);
    assert_eq!(
        get(&format!("/api/sessions/{id}/asks")).owner().to(&app).await.json["asks"],
        listed.json["asks"]
    );
    assert_eq!(get(&format!("/api/sessions/{id}/asks/7")).owner().to(&app).await.told(), "404 unknown-ask");
    house.end().await;
}

#[tokio::test]
async fn output_comes_in_pieces_from_the_end_and_when_it_comes() {
    let house = House::new().await;
    let app = house.app().await;
    let id = house.spawn("one").await;
    house.run(id).await;
    let much = format!("first line\n{}second line\n", "so it goes\n".repeat(50_000));
    let end = much.len();
    *house.stage.output.lock().unwrap() = much;
    let piece = get(&format!("/api/sessions/{id}/output?from=6&limit=4")).owner().to(&app).await;
    let (text, next) = (piece.json["text"].as_str().unwrap(), piece.json["next"].as_u64().unwrap() as usize);
    assert!(text.starts_with("line\nso it goes\n") && text.len() == next - 6, "{next}");
    assert!(next < end, "a small piece, and not all of it");
    let tail = get(&format!("/api/sessions/{id}/output?tail=12")).owner().to(&app).await;
    assert_eq!(tail.json["text"], "second line\n");
    let both = get(&format!("/api/sessions/{id}/output?tail=12&from=1")).owner().to(&app).await;
    assert_eq!(both.told(), "400 invalid-query");
    let waiting = tokio::spawn({
        let app = app.clone();
        async move { get(&format!("/api/sessions/{id}/output?from={end}&wait=true")).owner().to(&app).await }
    });
    house.stage.output.lock().unwrap().push_str("third\n");
    assert_eq!(waiting.await.unwrap().json["text"], "third\n");
    let log = ao_workspace::provision::Options::new(house.folder.path().join("logs")).setup_log(id);
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    std::fs::write(log, "npm ci\n").unwrap();
    let log = get(&format!("/api/sessions/{id}/setup-log")).owner().to(&app).await;
    assert_eq!(log.text, "npm ci\n");
    house.end().await;
}

#[tokio::test]
async fn the_daemon_tells_of_itself_and_is_told() {
    let house = House::new().await;
    let app = house.app().await;
    let id = house.spawn("one").await;
    house.run(id).await;
    let about = get("/api/daemon").owner().to(&app).await;
    assert_eq!((&about.json["liveSessions"], &about.json["version"]), (&json!(1), &json!("1.2.3")));
    let projects = get("/api/projects").owner().to(&app).await;
    let live = |project: &Value| (project["id"].clone(), project["liveSessions"].clone());
    let live: Vec<_> = projects.json["projects"].as_array().unwrap().iter().map(live).collect();
    assert_eq!(live, [(json!("docs"), json!(0)), (json!("my-app"), json!(1))]);
    let file = configuration(Utf8Path::from_path(house.folder.path()).unwrap(), "more");
    let added = post("/api/projects", json!({ "config": file })).owner().to(&app).await;
    assert_eq!(added.json["projects"][0]["id"], "more", "{}", added.text);
    assert_eq!(call(Method::DELETE, "/api/projects/more").owner().to(&app).await.told(), "204");
    house.is_in_place();
    let looked = get("/api/workspaces").owner().to(&app).await;
    assert_eq!((looked.told().as_str(), &looked.json["dryRun"]), ("200", &json!(true)));
    let cleaned = post("/api/workspaces/cleanup", json!({"session": "my-app-o"})).owner().to(&app).await;
    assert_eq!((cleaned.told().as_str(), &cleaned.json["dryRun"]), ("200", &json!(false)));
    let trees = cleaned.json["trees"].as_array().unwrap();
    assert!(trees.iter().all(|tree| tree["sessionId"] == id.to_string()), "{}", cleaned.text);
    let stopping = call(Method::POST, "/api/daemon/stop").owner().to(&app).await;
    assert_eq!(stopping.json["running"], json!(["my-app-one"]));
    assert!(house.stop.is_cancelled());
    house.end().await;
}

#[tokio::test]
async fn the_numbers_are_there_for_whoever_keeps_watch() {
    let house = House::new().await;
    let app = house.app().await;
    let id = house.spawn("one").await;
    house.run(id).await;
    get("/api/sessions").owner().to(&app).await;
    let numbers = get("/metrics").owner().to(&app).await.text;
    for line in [
        "ao_sessions{state=\"idle\"} 1",
        "ao_live_sessions 1",
        "ao_messages{state=\"accepted\"} 1",
        "ao_http_requests_total{method=\"GET\",route=\"/api/sessions\",status=\"200\"} 1",
        "ao_event_viewers 0",
    ] {
        assert!(numbers.contains(line), "{line} is not in\n{numbers}");
    }
    let health = get("/healthz").to(&app).await;
    assert_eq!(health.json, json!({"status": "ok", "version": "1.2.3"}));
    house.end().await;
}
