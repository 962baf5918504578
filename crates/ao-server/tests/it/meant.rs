//! Which pull request or issue is meant by what somebody types.

use ao_core::pull::{PullFacts, PullState};
use ao_core::session::SessionRole;
use serde_json::json;

use crate::forge::{facts, pull};
use crate::support::{Answer, House, get, post};

fn found(answer: &Answer) -> String {
    match answer.json["id"].as_str() {
        Some(id) => id.to_owned(),
        None => {
            let candidates = answer.json["candidates"].as_array().cloned().unwrap_or_default();
            let words: Vec<&str> = candidates.iter().filter_map(|word| word.as_str()).collect();
            format!("{} {}", answer.told(), words.join(" ")).trim_end().to_owned()
        }
    }
}

#[tokio::test]
async fn a_pull_request_is_found_by_what_is_typed_of_it() {
    let house = House::new().await;
    let app = house.app().await;
    let one = house.agent("one", "my-app", SessionRole::Worker).await;
    let two = house.agent("two", "my-app", SessionRole::Worker).await;
    let closed = |branch: &str| PullFacts { state: PullState::Closed, ..facts(branch) };
    house.pull(&pull("my-app", 7), facts("agent/my-app-one")).await;
    house.pull(&pull("my-app", 8), facts("feat/x")).await;
    house.pull(&pull("docs", 8), facts("feat/x")).await;
    house.pull(&pull("docs", 5), facts("wow!7")).await;
    house.pull(&pull("my-app", 10), facts("a")).await;
    house.pull(&pull("my-app", 11), facts("b")).await;
    house.claim(&pull("my-app", 7), one).await;
    house.claim(&pull("my-app", 10), two).await;
    house.claim(&pull("my-app", 11), two).await;
    // Only the forge remembers these.
    for (id, branch) in [
        (pull("docs", 3), "old"),
        (pull("my-app", 4), "feat/x"),
        (pull("my-app", 2), "twice"),
        (pull("my-app", 1), "twice"),
        (pull("docs", 2), "docs-two"),
    ] {
        house.forge.lock().pulls.insert(id, closed(branch));
    }
    let table = [
        ("7", "my-app!7"),
        ("!7", "my-app!7"),
        ("my-app!7", "my-app!7"),
        ("docs!7", "404 not-found"),
        ("8", "409 ambiguous-pull docs!8 my-app!8"),
        ("8?project=docs", "docs!8"),
        ("!8?project=my-app", "my-app!8"),
        ("my-app!8?project=docs", "422 invalid"),
        ("3", "docs!3"),
        ("2", "409 ambiguous-pull docs!2 my-app!2"),
        ("99", "404 unknown-pull"),
        ("nowhere!7", "404 unknown-project"),
        ("wow!7", "docs!5"),
        ("agent%2Fmy-app-one", "my-app!7"),
        ("my-app-one", "my-app!7"),
        ("my-app-two", "409 ambiguous-pull my-app!10 my-app!11"),
        // An open one is meant rather than one that is over.
        ("feat%2Fx", "409 ambiguous-pull docs!8 my-app!8"),
        ("feat%2Fx?project=my-app", "my-app!8"),
        ("old", "docs!3"),
        ("twice", "409 ambiguous-pull my-app!2 my-app!1"),
        ("nothing", "404 unknown-pull"),
        ("7?project=nowhere", "404 unknown-project"),
    ];
    for (meant, expected) in table {
        let answer = get(&format!("/api/pulls/{meant}")).owner().to(&app).await;
        let answer = found(&answer);
        let sorted = |text: &str| {
            let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            words.sort();
            words
        };
        assert_eq!(sorted(&answer), sorted(expected), "{meant}");
    }
    let by_id = get(&format!("/api/pulls/{one}")).owner().to(&app).await;
    assert_eq!(found(&by_id), "my-app!7", "by the id of its session");
    // An agent's bare number is of its own project, and it hears of no other.
    for (meant, expected) in [
        ("8", "my-app!8"),
        ("feat%2Fx", "my-app!8"),
        ("3", "404 not-found"),
        ("old", "404 unknown-pull"),
        ("docs!8", "403 forbidden"),
        ("nowhere!8", "403 forbidden"),
        ("8?project=docs", "403 forbidden"),
        ("8?project=nowhere", "403 forbidden"),
    ] {
        let answer = get(&format!("/api/pulls/{meant}")).token("one").to(&app).await;
        assert_eq!(found(&answer), expected, "{meant}");
    }
    house.end().await;
}

#[tokio::test]
async fn an_issue_is_found_by_what_is_typed_of_it() {
    let house = House::new().await;
    let app = house.app().await;
    house.agent("one", "my-app", SessionRole::Worker).await;
    for (project, times) in [("my-app", 2), ("docs", 1)] {
        for nth in 0..times {
            let new = json!({"projectId": project, "title": format!("number {nth}")});
            assert_eq!(post("/api/issues", new).owner().to(&app).await.told(), "201");
        }
    }
    for (meant, expected) in [
        ("2", "my-app#2"),
        ("%232", "my-app#2"),
        ("my-app%232", "my-app#2"),
        ("1", "409 ambiguous-issue docs#1 my-app#1"),
        ("1?project=docs", "docs#1"),
        ("my-app%231?project=docs", "422 invalid"),
        ("docs%232", "404 not-found"),
        ("9", "404 unknown-issue"),
        ("%23", "404 unknown-issue"),
        ("nowhere%231", "404 unknown-project"),
    ] {
        let answer = get(&format!("/api/issues/{meant}")).owner().to(&app).await;
        assert_eq!(found(&answer), expected, "{meant}");
    }
    for (meant, expected) in
        [("1", "my-app#1"), ("docs%231", "403 forbidden"), ("1?project=docs", "403 forbidden")]
    {
        let answer = get(&format!("/api/issues/{meant}")).token("one").to(&app).await;
        assert_eq!(found(&answer), expected, "{meant}");
    }
    house.end().await;
}
