//! Checks: run, listed, read.

use ao_api::NewCheckRun;
use ao_api::client::CheckRunQuery;
use serde_json::json;

use crate::forge::{facts, pull};
use crate::support::{House, get, post};

#[tokio::test]
async fn checks_are_run_on_a_pull_request_which_then_waits_for_them() {
    let house = House::new().await;
    let app = house.app().await;
    house.forge.lock().configured = true;
    house.pull(&pull("my-app", 7), facts("feat")).await;
    let begun = post("/api/checks", json!({"pull": "7"})).owner().to(&app).await;
    assert_eq!((begun.told().as_str(), &begun.json["runs"][0]["state"]), ("202", &json!("running")));
    let run = begun.json["runs"][0]["id"].as_str().unwrap().to_owned();
    let listed = get("/api/pulls").owner().to(&app).await;
    assert_eq!(listed.json["pulls"][0]["checks"], "pending");
    let revision = json!({"projectId": "docs", "revision": "--upload-pack=x"});
    assert_eq!(post("/api/checks", revision).owner().to(&app).await.told(), "202");
    for (request, expected) in [
        (json!({}), "422 invalid"),
        (json!({"pull": "7", "revision": "main"}), "422 invalid"),
        (json!({"revision": "main"}), "400 which-project"),
        (json!({"pull": "99"}), "404 unknown-pull"),
    ] {
        assert_eq!(post("/api/checks", request.clone()).owner().to(&app).await.told(), expected, "{request}");
    }
    for (query, many) in [
        ("", 2),
        ("pull=7", 1),
        ("pull=feat&state=running", 1),
        ("state=passed", 0),
        ("project=docs", 1),
        ("check=lint", 0),
        ("limit=1", 1),
    ] {
        let listed = get(&format!("/api/checks?{query}")).owner().to(&app).await;
        assert_eq!(listed.json["runs"].as_array().unwrap().len(), many, "{query}");
    }
    assert_eq!(get("/api/checks?state=happy").owner().to(&app).await.told(), "422 invalid");
    assert_eq!(get(&format!("/api/checks/{run}")).owner().to(&app).await.json["pull"], "my-app!7");
    let elsewhere = get(&format!("/api/checks/{run}?project=docs")).owner().to(&app).await;
    assert_eq!(elsewhere.told(), "404 unknown-run");
    assert_eq!(get("/api/checks/run_zz").owner().to(&app).await.told(), "404 unknown-run");
    let checks = get("/api/projects/my-app/checks").owner().to(&app).await;
    assert_eq!(checks.json["checks"][0]["name"], "build");
    house.end().await;
}

#[tokio::test]
async fn a_log_is_read_in_pieces_and_when_it_comes() {
    let house = House::new().await;
    let app = house.app().await;
    house.pull(&pull("my-app", 7), facts("feat")).await;
    let begun = post("/api/checks", json!({"pull": "7"})).owner().to(&app).await;
    let run = begun.json["runs"][0]["id"].as_str().unwrap().to_owned();
    house.forge.lock().log = "grün\n".into();
    let piece = get(&format!("/api/checks/{run}/log?limit=3")).owner().to(&app).await;
    assert_eq!(piece.json, json!({"text": "gr", "next": 2, "ended": false}), "no letter is torn");
    let rest = get(&format!("/api/checks/{run}/log?from=2")).owner().to(&app).await;
    assert_eq!((&rest.json["text"], &rest.json["next"]), (&json!("ün\n"), &json!(6)));
    let waiting = tokio::spawn({
        let app = app.clone();
        async move { get(&format!("/api/checks/{run}/log?from=6&wait=true")).owner().to(&app).await }
    });
    house.forge.lock().log.extend_from_slice(b"more\n");
    assert_eq!(waiting.await.unwrap().json["text"], "more\n");
    house.end().await;
}

#[tokio::test]
async fn the_client_speaks_of_checks() {
    let house = House::new().await;
    let running = house.serve().await;
    let client = house.client();
    house.pull(&pull("my-app", 7), facts("feat")).await;
    let request = NewCheckRun { pull: Some("7".into()), ..NewCheckRun::default() };
    let run = client.run_checks(&request).await.unwrap().runs.remove(0).id;
    assert_eq!(client.check_run(&run).await.unwrap().id, run);
    let wanted = CheckRunQuery { pull: Some("my-app!7".into()), ..CheckRunQuery::default() };
    assert_eq!(client.check_runs(&wanted).await.unwrap().runs.len(), 1);
    assert_eq!(client.check_log(&run, 0, false).await.unwrap().text, "");
    assert!(client.project_checks("docs").await.unwrap().checks.is_empty());
    drop(client);
    house.end().await;
    running.finished().await;
}
