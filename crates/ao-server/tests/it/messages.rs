//! Messages: sent, waited for, and what became of them.

use ao_core::Attempt;
use ao_core::evidence::Reading;
use ao_core::session::SessionInput;
use serde_json::json;

use crate::support::{House, get, post, until};

#[tokio::test]
async fn a_message_is_waited_for_until_the_agent_has_taken_it() {
    let house = House::new().await;
    let app = house.app().await;
    let id = house.spawn("one").await;
    house.run(id).await;
    let sending = tokio::spawn({
        let app = app.clone();
        async move {
            let message = json!({"content": "Export to CSV format", "waitSeconds": 30});
            post("/api/sessions/my-app-one/message", message).owner().to(&app).await
        }
    });
    until("it is being typed", async || house.session(id, |session| session.outbox.current.is_some()).await)
        .await;
    house.tell(id, SessionInput::Written { attempt: Attempt(1), delivery: 2, tries: 1 }).await;
    let written = get(&format!("/api/sessions/{id}/messages")).owner().to(&app).await;
    assert_eq!(written.json["messages"][0]["state"], "written");
    assert_eq!(written.json["messages"][0]["content"], "Export to CSV format");
    house.taken(id, "turn-1", "Export to CSV format").await;
    let sent = sending.await.unwrap();
    assert_eq!((sent.told().as_str(), &sent.json["message"]["state"]), ("200", &json!("accepted")));
    assert_eq!(sent.json["sessionName"], "my-app-one");
    house.end().await;
}

#[tokio::test]
async fn a_message_to_a_busy_agent_is_on_its_way_and_says_why_it_waits() {
    let house = House::new().await;
    let app = house.app().await;
    let id = house.spawn("one").await;
    house.run(id).await;
    house.agent_shows(id, Reading::Working { doing: "cargo test".into() }).await;
    let path = format!("/api/sessions/{id}/message");
    let sent = post(&path, json!({"content": "one", "key": "k"})).owner().to(&app).await;
    assert_eq!((sent.told().as_str(), &sent.json["message"]["state"]), ("202", &json!("queued")));
    assert_eq!(sent.json["message"]["reason"], "the agent is in the middle of a turn");
    let again = post(&path, json!({"content": "one", "key": "k"})).owner().to(&app).await;
    assert_eq!(
        again.json["message"]["number"], sent.json["message"]["number"],
        "the same key is the same message"
    );
    let waiting = get(&format!("/api/sessions/{id}/messages")).owner().to(&app).await;
    assert_eq!(waiting.json["messages"].as_array().unwrap().len(), 1);
    let waited = post(&path, json!({"content": "two", "waitSeconds": 1})).owner().to(&app).await;
    assert_eq!((waited.told().as_str(), &waited.json["message"]["state"]), ("202", &json!("queued")));
    let empty = post(&path, json!({"content": " "})).owner().to(&app).await;
    assert_eq!(empty.told(), "422 invalid");
    house.end().await;
}

/// acceptance: M2
#[tokio::test]
async fn a_message_that_is_given_up_is_told_as_failed_and_its_text_is_kept() {
    let house = House::new().await;
    let app = house.app().await;
    let id = house.spawn("one").await;
    house.run(id).await;
    house.agent_shows(id, Reading::Working { doing: "cargo test".into() }).await;
    let sending = tokio::spawn({
        let app = app.clone();
        async move {
            let message = json!({"content": "never read", "waitSeconds": 30});
            post(&format!("/api/sessions/{id}/message"), message).owner().to(&app).await
        }
    });
    until("it waits", async || house.session(id, |session| !session.outbox.waiting.is_empty()).await).await;
    house.tell(id, SessionInput::Stop { by: "anna".into(), why: "enough".into() }).await;
    house.tell(id, SessionInput::ProcessEnded { attempt: Attempt(1) }).await;
    let sent = sending.await.unwrap();
    assert_eq!(
        (sent.told().as_str(), &sent.json["message"]["state"]),
        ("200", &json!("failed")),
        "{}",
        sent.text
    );
    let kept = get(&format!("/api/sessions/{id}/messages")).owner().to(&app).await;
    assert_eq!(kept.json["messages"][0]["content"], "never read");
    house.end().await;
}

#[tokio::test]
async fn a_message_that_was_given_up_among_many_is_never_told_as_accepted() {
    let house = House::new().await;
    let app = house.app().await;
    let id = house.spawn("one").await;
    house.run(id).await;
    house.agent_shows(id, Reading::Working { doing: "cargo test".into() }).await;
    let path = format!("/api/sessions/{id}/message");
    // More than the outbox keeps of those that were given up, so the first one is forgotten.
    for number in 0..25 {
        let message = json!({"content": format!("message {number}"), "key": format!("k{number}")});
        assert_eq!(post(&path, message).owner().to(&app).await.told(), "202");
    }
    house.tell(id, SessionInput::Stop { by: "anna".into(), why: "enough".into() }).await;
    house.tell(id, SessionInput::ProcessEnded { attempt: Attempt(1) }).await;
    house.tell(id, SessionInput::Restore).await;
    let again = post(&path, json!({"content": "message 0", "key": "k0"})).owner().to(&app).await;
    assert_eq!(again.json["message"]["state"], "failed", "{}", again.text);
    assert!(again.json["message"]["reason"].as_str().unwrap().contains("no longer known"), "{}", again.text);
    house.end().await;
}

#[tokio::test]
async fn a_message_that_was_accepted_is_told_so_to_whoever_asks_again() {
    let house = House::new().await;
    let app = house.app().await;
    let id = house.spawn("one").await;
    house.run(id).await;
    let path = format!("/api/sessions/{id}/message");
    let message = json!({"content": "Export to CSV format", "key": "k"});
    assert_eq!(post(&path, message.clone()).owner().to(&app).await.told(), "202");
    house.tell(id, SessionInput::Written { attempt: Attempt(1), delivery: 2, tries: 1 }).await;
    house.taken(id, "turn-1", "Export to CSV format").await;
    let again = post(&path, message).owner().to(&app).await;
    assert_eq!((again.told().as_str(), &again.json["message"]["state"]), ("200", &json!("accepted")));
    house.end().await;
}
