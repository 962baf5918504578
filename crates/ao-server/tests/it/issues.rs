//! Issues: made, listed, changed and discussed.

use ao_api::client::IssueQuery;
use ao_api::{ImportOrder, ImportOutcome, ImportSource, IssueEdit, NewIssue, NewIssueComment};
use ao_core::Input;
use ao_core::input::SpawnRequest;
use ao_ports::Tracker as _;
use serde_json::{Value, json};

use crate::forge::task;
use crate::support::{House, get, order, patch, post};

fn ids(answer: &Value) -> Vec<&str> {
    answer["issues"].as_array().unwrap().iter().map(|issue| issue["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn an_issue_is_made_changed_closed_and_the_engine_knows_at_once_if_it_has_to() {
    let house = House::new().await;
    let app = house.app().await;
    let first = json!({"projectId": "my-app", "title": "First", "labels": ["bug"], "priority": 3});
    let first = post("/api/issues", first).owner().to(&app).await;
    assert_eq!((first.told().as_str(), &first.json["id"]), ("201", &json!("my-app#1")));
    assert_eq!(first.json["author"], json!({"login": "anna", "standing": "owner"}));
    let second =
        json!({"projectId": "my-app", "title": "Second", "blockedBy": ["1", "docs#9"], "assignee": "bob"});
    let second = post("/api/issues", second).owner().to(&app).await;
    assert_eq!(second.json["blockedBy"], json!(["docs#9", "my-app#1"]));
    let known = house.handle.view(|state| state.tasks.len()).await.unwrap();
    assert_eq!(known, 0, "nobody has to do with it yet");
    // A session is to work on it.
    let id = task("my-app", "2");
    let facts = house.forge.task(&id).await.unwrap().facts;
    house.handle.ask(Input::Task { task: id, facts: Box::new(facts) }).await.unwrap();
    let edit = json!({"title": "Better", "addLabels": ["ui"], "assignee": "", "addBlockedBy": ["#7"]});
    let edited = patch("/api/issues/my-app%232", edit).owner().to(&app).await;
    assert_eq!((&edited.json["title"], &edited.json["assignee"]), (&json!("Better"), &Value::Null));
    assert_eq!(edited.json["blockedBy"], json!(["docs#9", "my-app#1", "my-app#7"]));
    let known = house.handle.view(|state| state.tasks[&task("my-app", "2")].blocked_by.len()).await.unwrap();
    assert_eq!(known, 3);
    let closed = patch("/api/issues/my-app%232", json!({"state": "closed"})).owner().to(&app).await;
    assert_eq!(closed.json["state"], "closed");
    // What is closed and nobody's is forgotten.
    assert!(!house.handle.view(|state| state.tasks.contains_key(&task("my-app", "2"))).await.unwrap());
    let said = post("/api/issues/my-app%231/comments", json!({"body": "so it is", "key": "k"}));
    assert_eq!(said.owner().to(&app).await.json["comments"][0]["body"], "so it is");
    let twice = post("/api/issues/my-app%231/comments", json!({"body": "so it is", "key": "k"}));
    assert_eq!(twice.owner().to(&app).await.json["comments"].as_array().unwrap().len(), 1);
    for (body, expected) in [
        (json!({"projectId": "my-app", "title": " "}), "422 invalid"),
        (json!({"title": "x"}), "400 which-project"),
        (json!({"projectId": "my-app", "title": "x", "blockedBy": ["#"]}), "404 unknown-issue"),
    ] {
        assert_eq!(post("/api/issues", body.clone()).owner().to(&app).await.told(), expected, "{body}");
    }
    let odd = patch("/api/issues/my-app%231", json!({"state": "done"})).owner().to(&app).await;
    assert_eq!(odd.told(), "422 invalid");
    house.end().await;
}

#[tokio::test]
async fn issues_of_all_projects_are_listed_by_their_last_change_with_who_works_on_them() {
    let house = House::new().await;
    let app = house.app().await;
    for (project, title) in [("my-app", "fix login"), ("docs", "fix typo"), ("my-app", "add button")] {
        let new = json!({"projectId": project, "title": title, "labels": [project]});
        post("/api/issues", new).owner().to(&app).await;
    }
    let order = SpawnRequest { task: Some(task("my-app", "1")), ..order("", "my-app") };
    house.handle.ask(Input::Spawn(Box::new(order))).await.unwrap();
    patch("/api/issues/my-app%231", json!({"addLabels": ["ui"]})).owner().to(&app).await;
    let all = get("/api/issues").owner().to(&app).await;
    assert_eq!(ids(&all.json), ["my-app#1", "my-app#2", "docs#1"]);
    assert_eq!(all.json["issues"][0]["session"], "my-app-1");
    patch("/api/issues/docs%231", json!({"state": "closed"})).owner().to(&app).await;
    for (query, expected) in [
        ("", vec!["my-app#1", "my-app#2"]),
        ("state=closed", vec!["docs#1"]),
        ("state=all", vec!["docs#1", "my-app#1", "my-app#2"]),
        ("state=all&limit=1", vec!["docs#1"]),
        ("project=my-app&label=my-app,ui", vec!["my-app#1"]),
        ("text=button", vec!["my-app#2"]),
        ("assignee=nobody", vec![]),
    ] {
        let listed = get(&format!("/api/issues?{query}")).owner().to(&app).await;
        assert_eq!(ids(&listed.json), expected, "{query}");
    }
    assert_eq!(get("/api/issues?state=merged").owner().to(&app).await.told(), "422 invalid");
    house.end().await;
}

#[tokio::test]
async fn the_client_speaks_of_issues() {
    let house = House::new().await;
    let running = house.serve().await;
    let client = house.client();
    let new = NewIssue { project_id: Some("docs".into()), title: "a & b".into(), ..NewIssue::default() };
    assert_eq!(client.add_issue(&new).await.unwrap().id, "docs#1");
    let edit = IssueEdit { priority: Some(2), ..IssueEdit::default() };
    client.edit_issue(&"docs#1".into(), &edit).await.unwrap();
    let comment = NewIssueComment { body: "hm".into(), key: None };
    client.comment_on_issue(&"docs#1".into(), &comment).await.unwrap();
    client.comment_on_issue(&"docs#1".into(), &comment).await.unwrap();
    assert_eq!(client.issue(&"#1".into()).await.unwrap().comments.len(), 2, "without a mark each counts");
    let wanted = IssueQuery { text: Some("a & b".into()), ..IssueQuery::default() };
    assert_eq!(client.issues(&wanted).await.unwrap().issues.len(), 1);
    let text = "- [ ] task\n".repeat(5_000) + &"\n".repeat(2_000_000);
    let order =
        ImportOrder { project_id: Some("docs".into()), format: ImportSource::Markdown, text, dry_run: true };
    let imported = client.import_issues(&order).await.unwrap();
    assert_eq!(imported.issues[0].result, ImportOutcome::WouldBeMade);
    drop(client);
    house.end().await;
    running.finished().await;
}
