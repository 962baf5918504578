//! Merging: what stands in the way, what lands, and what does not.

use ao_core::pull::{CheckState, Mergeable, PullFacts, PullState};
use ao_core::queue::QueueInput;
use ao_core::session::SessionRole;
use ao_core::{Commit, Input, ProjectId};
use ao_ports::TestOutcome;
use serde_json::{Value, json};

use crate::forge::{check, facts, pull};
use crate::support::{Answer, House, post};

fn failed(name: &str) -> CheckState {
    CheckState::Failed {
        certain: false,
        files: vec![],
        signature: name.into(),
        excerpt: "boom".into(),
        url: String::new(),
        log: None,
    }
}

async fn merge(house: &House, wish: Value) -> Answer {
    let app = house.app().await;
    house.plug_forge();
    house.forge.asked();
    post("/api/pulls/my-app!7/merge", wish).owner().to(&app).await
}

/// What was done to the forge, without the looks.
fn done(house: &House) -> Vec<String> {
    let asked = house.forge.asked();
    let acts = ["test", "merge", "delete"];
    asked.into_iter().filter(|word| acts.iter().any(|act| word.starts_with(act))).collect()
}

#[tokio::test]
async fn what_would_land_is_tested_and_exactly_that_is_merged() {
    let house = House::new().await;
    let one = house.agent("one", "my-app", SessionRole::Worker).await;
    house.forge.lock().configured = true;
    let green = PullFacts { checks: vec![check("build", CheckState::Passed)], ..facts("feat") };
    house.pull(&pull("my-app", 7), green).await;
    house.claim(&pull("my-app", 7), one).await;
    let merged = merge(&house, json!({"strategy": "rebase", "head": "h1", "deleteBranch": true})).await;
    assert_eq!((merged.told().as_str(), &merged.json["commit"]), ("200", &json!("m1")));
    assert_eq!(
        (&merged.json["pull"]["state"], &merged.json["pull"]["mergedAs"]),
        (&json!("merged"), &json!("m1"))
    );
    assert_eq!(
        done(&house),
        ["test h1 on b1 checks true", "merge h1+b1 Rebase by Some(\"anna\") delete true"]
    );
    let reason = house.session(one, |session| session.status(ao_core::Timestamp(0)).reason).await;
    assert!(reason.contains("merged"), "its session knows: {reason}");
    assert_eq!(merge(&house, json!({})).await.told(), "200", "asked again");
    assert_eq!(done(&house), [""; 0]);
    house.end().await;
}

/// A branch that is to go after all is deleted, and nothing is merged for that.
#[tokio::test]
async fn the_branch_of_a_merged_pull_request_is_deleted_on_request() {
    let house = House::new().await;
    let merged = PullState::Merged { commit: Commit::new("m1") };
    house.pull(&pull("my-app", 7), PullFacts { state: merged, ..facts("feat") }).await;
    let deleted = merge(&house, json!({"deleteBranch": true})).await;
    assert_eq!((deleted.told().as_str(), &deleted.json["branchDeleted"]), ("200", &json!(true)));
    assert_eq!(done(&house), ["delete the branch of my-app!7 at h1"]);
    house.forge.lock().in_the_way = Some("it has moved on to h2".into());
    let left = merge(&house, json!({"deleteBranch": true})).await;
    assert_eq!(left.json["branchLeft"], json!("it has moved on to h2"));
    assert_eq!(left.json["branchDeleted"], json!(false));
    house.end().await;
}

#[tokio::test]
async fn checks_and_reviews_yield_to_a_person_and_nothing_else_does() {
    let house = House::new().await;
    house.forge.lock().configured = true;
    let id = pull("my-app", 7);
    let red = || PullFacts { checks: vec![check("build", failed("E1"))], ..facts("feat") };
    let conflict = Mergeable::Conflict { files: vec!["a b.rs".into()] };
    let table: Vec<(PullFacts, Value, &str)> = vec![
        (red(), json!({}), "checks: failed on h1: build"),
        (facts("feat"), json!({}), "checks: no check has reported on h1 yet"),
        (PullFacts { draft: true, ..facts("feat") }, json!({"anyway": true}), "it is a draft"),
        (
            PullFacts { mergeable: conflict, ..red() },
            json!({"anyway": true}),
            "it conflicts with `main` in a b.rs",
        ),
        (red(), json!({"anyway": true, "head": "h0"}), "its head is h1, not h0"),
    ];
    for (seen, wish, expected) in table {
        house.pull(&id, seen).await;
        let refused = merge(&house, wish.clone()).await;
        assert_eq!(refused.told(), "409 not-mergeable", "{wish}");
        assert_eq!(refused.json["blockers"], json!([expected]), "{wish}");
        let may = refused.json["hints"].to_string().contains("--anyway");
        assert_eq!(may, wish["anyway"] != true, "{}", refused.text);
        assert_eq!(done(&house), [""; 0], "{wish}");
    }
    house.pull(&id, red()).await;
    assert_eq!(merge(&house, json!({"anyway": true})).await.told(), "200");
    assert_eq!(
        done(&house),
        ["test h1 on b1 checks false", "merge h1+b1 Squash by Some(\"anna\") delete false"]
    );
    house.end().await;
}

#[tokio::test]
async fn what_fails_or_conflicts_on_its_base_does_not_land() {
    let house = House::new().await;
    let id = pull("my-app", 7);
    house.pull(&id, facts("feat")).await;
    let output = format!("{}error: together they break\n", "noise ".repeat(10_000));
    house.forge.lock().test = Some(TestOutcome::Red { output, between: String::new() });
    let red = merge(&house, json!({})).await;
    assert_eq!(red.told(), "409 not-mergeable");
    assert_eq!(red.json["blockers"], json!(["the checks fail on what would land: h1 on b1"]));
    let detail = red.json["detail"].as_str().unwrap();
    assert!(detail.ends_with("error: together they break\n") && detail.len() < 9000, "{}", detail.len());
    house.forge.lock().test = Some(TestOutcome::Conflict { files: vec!["x".into()], pull: None });
    let conflict = merge(&house, json!({"anyway": true})).await;
    assert_eq!(conflict.json["blockers"], json!(["it conflicts with `main` in x"]));
    assert_eq!(done(&house), ["test h1 on b1 checks false"]);
    house.end().await;
}

#[tokio::test]
async fn a_base_that_moves_meanwhile_is_tested_anew() {
    let house = House::new().await;
    house.pull(&pull("my-app", 7), facts("feat")).await;
    house.forge.lock().overtaken = 3;
    assert_eq!(merge(&house, json!({})).await.told(), "200");
    let done = done(&house);
    assert_eq!(done.len(), 8);
    assert_ne!(done[0], done[2], "what is tested is what lands: {done:?}");
    house.end().await;
}

#[tokio::test]
async fn what_is_in_the_way_of_a_merge_is_the_answer_and_nothing_lands_later() {
    let house = House::new().await;
    house.pull(&pull("my-app", 7), facts("feat")).await;
    house.forge.lock().in_the_way = Some("`a.txt` is not committed".into());
    let refused = merge(&house, json!({"anyway": true})).await;
    assert_eq!(
        (refused.told().as_str(), &refused.json["blockers"]),
        ("409 not-mergeable", &json!(["`a.txt` is not committed"]))
    );
    let entries = house.handle.view(|state| state.projects[&ProjectId::new("my-app")].queue.entries.len());
    assert_eq!(entries.await.unwrap(), 0);
    house.end().await;
}

/// Two who ask for the same at the same time have one merge, and both its answer.
#[tokio::test]
async fn two_who_ask_at_once_hear_of_the_same_merge() {
    let house = House::new().await;
    house.pull(&pull("my-app", 7), facts("feat")).await;
    house.forge.lock().overtaken = 2;
    let (one, other) = tokio::join!(merge(&house, json!({})), merge(&house, json!({})));
    assert_eq!((one.told().as_str(), other.told().as_str()), ("200", "200"));
    assert_eq!((&one.json["commit"], &other.json["commit"]), (&json!("m1"), &json!("m1")));
    let landed = house.handle.view(|state| state.projects[&ProjectId::new("my-app")].queue.clone());
    assert_eq!(landed.await.unwrap().entries, []);
    house.end().await;
}

#[tokio::test]
async fn a_merge_goes_past_a_queue_that_is_paused() {
    let house = House::new().await;
    house.pull(&pull("my-app", 7), facts("feat")).await;
    let pause = QueueInput::Pause { why: "release".into() };
    house.handle.ask(Input::Queue { project: ProjectId::new("my-app"), input: pause }).await.unwrap();
    assert_eq!(merge(&house, json!({})).await.told(), "200");
    house.end().await;
}
