//! The merge queue over the API: what is queued, in which order, and who may say something about it.

use ao_core::Commit;
use ao_core::pull::{AuthorFacts, AuthorStanding};
use ao_core::pull::{CheckState, PullFacts, ReviewFacts, ReviewVerdict};
use ao_core::session::SessionRole;
use axum::http::Method;
use serde_json::{Value, json};

use crate::forge::{check, facts, pull};
use crate::support::{House, call, get, patch, post};

/// Approved and green.
fn ready(branch: &str) -> PullFacts {
    let review = ReviewFacts {
        id: "r1".into(),
        author: AuthorFacts { login: "carl".into(), standing: AuthorStanding::Member },
        verdict: ReviewVerdict::Approved,
        commit: Commit::new("h1"),
        body: String::new(),
        revision: "1".into(),
    };
    PullFacts { checks: vec![check("build", CheckState::Passed)], reviews: vec![review], ..facts(branch) }
}

fn order(queue: &Value) -> Vec<String> {
    let entries = queue["entries"].as_array().unwrap();
    entries
        .iter()
        .map(|entry| format!("{} {}", entry["id"].as_str().unwrap(), entry["state"].as_str().unwrap()))
        .collect()
}

#[tokio::test]
async fn what_is_queued_is_told_in_its_order_with_what_it_waits_for() {
    let house = House::new().await;
    let app = house.app().await;
    for number in [1, 2, 3] {
        house.pull(&pull("my-app", number), ready(&format!("feat-{number}"))).await;
    }
    for number in [1, 2, 3] {
        let added = post("/api/queue", json!({ "pull": number.to_string(), "project": "my-app" }))
            .owner()
            .to(&app)
            .await;
        assert_eq!(added.told(), "200");
    }
    let raised = patch("/api/queue/my-app!3", json!({ "priority": 5 })).owner().to(&app).await;
    assert_eq!(order(&raised.json), ["my-app!1 testing", "my-app!2 testing", "my-app!3 waiting"]);
    assert_eq!(raised.json["entries"][1]["ahead"], json!(["my-app!1"]));
    assert_eq!(raised.json["entries"][2]["waits"], "its turn");
    assert_eq!((&raised.json["parallel"], &raised.json["configured"]), (&json!(2), &json!(false)));

    let paused =
        post("/api/queue/pause", json!({ "project": "my-app", "why": "a release\n" })).owner().to(&app).await;
    assert_eq!(paused.json["paused"], "a release");
    let taken = call(Method::DELETE, "/api/queue/my-app!1").owner().to(&app).await;
    assert_eq!(order(&taken.json), ["my-app!3 waiting", "my-app!2 waiting"], "what stood on it is void");
    assert!(taken.json["entries"][0]["waits"].as_str().unwrap().contains("paused"));
    let resumed = post("/api/queue/resume", json!({ "project": "my-app" })).owner().to(&app).await;
    assert_eq!(order(&resumed.json), ["my-app!3 testing", "my-app!2 testing"]);
    let listed = get("/api/queue?project=my-app").owner().to(&app).await;
    assert_eq!(listed.json["queues"][0], resumed.json);
    house.end().await;
}

#[tokio::test]
async fn what_may_not_land_is_refused_with_the_reason() {
    let house = House::new().await;
    let app = house.app().await;
    house.pull(&pull("my-app", 7), facts("feat")).await;
    let refused = post("/api/queue", json!({ "pull": "my-app!7" })).owner().to(&app).await;
    assert!(refused.told().starts_with("409 not-queued"), "{}", refused.told());
    assert!(refused.json["title"].as_str().unwrap().contains("approvals"), "{}", refused.json);
    let stale = post("/api/queue", json!({ "pull": "my-app!7", "head": "h0" })).owner().to(&app).await;
    assert!(stale.told().starts_with("409 stale"), "{}", stale.told());
    let unknown = patch("/api/queue/my-app!7", json!({ "priority": 1 })).owner().to(&app).await;
    assert!(unknown.told().starts_with("409 not-queued"), "{}", unknown.told());
    let nowhere = post("/api/queue/pause", json!({ "project": "nowhere" })).owner().to(&app).await;
    assert!(nowhere.told().starts_with("404"), "{}", nowhere.told());
    house.end().await;
}

/// Whether something lands is for people to say. acceptance: X8
#[tokio::test]
async fn no_agent_steers_the_queue() {
    let house = House::new().await;
    let one = house.agent("one", "my-app", SessionRole::Worker).await;
    house.pull(&pull("my-app", 7), ready("feat")).await;
    house.claim(&pull("my-app", 7), one).await;
    let app = house.app().await;
    let calls = || {
        [
            get("/api/queue"),
            post("/api/queue", json!({ "pull": "my-app!7" })),
            patch("/api/queue/my-app!7", json!({ "priority": 1 })),
            call(Method::DELETE, "/api/queue/my-app!7"),
            post("/api/queue/pause", json!({ "project": "my-app" })),
            post("/api/queue/resume", json!({ "project": "my-app" })),
        ]
    };
    for call in calls() {
        assert!(call.token("one").to(&app).await.told().starts_with("403"));
    }
    for call in calls() {
        assert!(call.to(&app).await.told().starts_with("401"));
    }
    house.end().await;
}
