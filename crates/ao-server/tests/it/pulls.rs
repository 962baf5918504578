//! Pull requests: listed, opened, read, changed, discussed, claimed.

use std::time::{Duration, Instant};

use ao_api::{PullReview, PullStateFilter, Pulls, ReviewChoice};
use ao_core::pull::{
    AuthorFacts, AuthorStanding, CheckState, PullFacts, PullState, ReviewFacts, ReviewVerdict,
};
use ao_core::session::{CheckedOut, SessionInput, SessionRole};
use ao_core::{Commit, Input, PullId};
use ao_ports::TrackerError;
use serde_json::{Value, json};

use crate::forge::{check, facts, pull};
use crate::support::{House, get, patch, post};

fn ids(answer: &Value) -> Vec<&str> {
    answer["pulls"].as_array().unwrap().iter().map(|pull| pull["id"].as_str().unwrap()).collect()
}

/// The forge is asked nothing, however many there are.
#[tokio::test]
async fn a_thousand_open_pull_requests_are_listed_in_one_look() {
    let house = House::new().await;
    let app = house.app().await;
    for number in 1..=1000 {
        house.pull(&pull("my-app", number), facts(&format!("agent/{number}"))).await;
    }
    house.forge.asked();
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let began = Instant::now();
        let listed = get("/api/pulls").owner().to(&app).await;
        best = best.min(began.elapsed());
        let listed: Pulls = serde_json::from_value(listed.json).unwrap();
        assert_eq!((listed.pulls.len(), listed.total), (1000, None));
        assert!(listed.pulls.is_sorted_by(|a, b| a.number > b.number), "newest first");
    }
    let few = get("/api/pulls?limit=3").owner().to(&app).await;
    assert_eq!(ids(&few.json), ["my-app!1000", "my-app!999", "my-app!998"]);
    assert_eq!(few.json["total"], 1000);
    assert_eq!(house.forge.asked(), [""; 0]);
    // Without optimisation, and with the test's own reading of it.
    assert!(best < Duration::from_millis(500), "{best:?}");
    house.end().await;
}

#[tokio::test]
async fn a_list_sums_up_what_checks_and_reviewers_say_and_is_narrowed_by_what_is_asked() {
    let house = House::new().await;
    let app = house.app().await;
    let session = house.spawn("one").await;
    let review = |verdict, commit: &str| ReviewFacts {
        id: "r1".into(),
        author: AuthorFacts { login: "anna".into(), standing: AuthorStanding::Owner },
        verdict,
        commit: Commit::new(commit),
        body: "hm".into(),
        revision: "1".into(),
    };
    let green = PullFacts {
        checks: vec![check("build", CheckState::Passed)],
        reviews: vec![review(ReviewVerdict::Approved, "h1")],
        labels: ["ui".to_owned(), "big".to_owned()].into(),
        ..facts("agent/one")
    };
    let asked = PullFacts {
        checks: vec![check("build", CheckState::Pending)],
        reviews: vec![review(ReviewVerdict::ChangesRequested, "h0")],
        base_branch: "agent/one".into(),
        ..facts("agent/two")
    };
    let stale = PullFacts { reviews: vec![review(ReviewVerdict::Approved, "h0")], ..facts("three") };
    let merged = PullFacts { state: PullState::Merged { commit: Commit::new("m") }, ..facts("old") };
    house.pull(&pull("my-app", 1), green).await;
    house.pull(&pull("my-app", 2), asked).await;
    house.pull(&pull("docs", 1), stale).await;
    house.pull(&pull("docs", 2), merged).await;
    house.claim(&pull("my-app", 1), session).await;
    let all = get("/api/pulls").owner().to(&app).await;
    assert_eq!(ids(&all.json), ["docs!1", "my-app!2", "my-app!1"]);
    let summary = |at: usize| {
        let pull = &all.json["pulls"][at];
        ["checks", "review", "mergeable", "session"]
            .map(|field| pull[field].as_str().unwrap_or("-").to_owned())
    };
    assert_eq!(summary(0), ["none", "none", "clean", "-"], "an approval of an earlier head");
    assert_eq!(summary(1), ["pending", "changes_requested", "clean", "-"]);
    assert_eq!(summary(2), ["passed", "approved", "clean", "my-app-one"]);
    for (query, expected) in [
        ("project=docs", vec!["docs!1"]),
        ("session=my-app-one", vec!["my-app!1"]),
        ("head=agent/two", vec!["my-app!2"]),
        ("base=agent/one", vec!["my-app!2"]),
        ("label=ui,big", vec!["my-app!1"]),
        ("label=ui,small", vec![]),
        ("author=BOB&project=my-app", vec!["my-app!2", "my-app!1"]),
        ("author=eve", vec![]),
        ("state=merged", vec!["docs!2"]),
        ("state=closed", vec![]),
        ("state=all&project=docs", vec!["docs!2", "docs!1"]),
        ("state=all&session=my-app-one", vec!["my-app!1"]),
    ] {
        let listed = get(&format!("/api/pulls?{query}")).owner().to(&app).await;
        assert_eq!(ids(&listed.json), expected, "{query}");
    }
    assert_eq!(get("/api/pulls?state=happy").owner().to(&app).await.told(), "422 invalid");
    assert_eq!(get("/api/pulls?project=nowhere").owner().to(&app).await.told(), "404 unknown-project");
    assert_eq!(get("/api/pulls?colour=red").owner().to(&app).await.told(), "400 invalid-query");
    house.end().await;
}

#[tokio::test]
async fn an_agent_opens_one_for_its_branch_and_answers_for_it_at_once() {
    let house = House::new().await;
    let app = house.app().await;
    let one = house.agent("one", "my-app", SessionRole::Worker).await;
    let opened = post("/api/pulls", json!({"labels": ["ui"]})).token("one").to(&app).await;
    assert_eq!(opened.told(), "201");
    assert_eq!((&opened.json["id"], &opened.json["session"]), (&json!("my-app!1"), &json!("my-app-one")));
    assert_eq!(opened.json["headBranch"], "agent/my-app-one");
    assert_eq!(
        (&opened.json["baseBranch"], &opened.json["title"]),
        (&json!("main"), &json!("newest commit"))
    );
    assert_eq!(opened.json["author"], json!({"login": "my-app-one", "standing": "agent"}));
    assert_eq!(house.session(one, |session| session.pulls.len()).await, 1);
    let again = post("/api/pulls", json!({})).token("one").to(&app).await;
    assert_eq!((again.told().as_str(), &again.json["id"]), ("200", &json!("my-app!1")));
    // By the owner, for a session, and for nobody.
    house.spawn("two").await;
    let request = json!({"session": "my-app-two", "title": "It's `two`", "draft": true});
    let two = post("/api/pulls", request).owner().to(&app).await;
    assert_eq!((&two.json["session"], &two.json["draft"]), (&json!("my-app-two"), &json!(true)));
    assert_eq!(two.json["title"], "It's `two`");
    let nobodys = json!({"projectId": "docs", "head": "-odd \"branch\"", "base": "next"});
    let nobodys = post("/api/pulls", nobodys).owner().to(&app).await;
    assert_eq!((&nobodys.json["id"], &nobodys.json["session"]), (&json!("docs!1"), &Value::Null));
    assert_eq!(nobodys.json["headBranch"], "-odd \"branch\"");
    for (request, expected) in [
        (json!({"projectId": "docs"}), "422 invalid"),
        (json!({"head": "x"}), "400 which-project"),
        (json!({"session": "my-app-two", "projectId": "docs"}), "422 invalid"),
        // Another session answers for it already.
        (json!({"session": "my-app-two", "head": "agent/my-app-one"}), "409 pull-owned"),
    ] {
        assert_eq!(post("/api/pulls", request.clone()).owner().to(&app).await.told(), expected, "{request}");
    }
    house.end().await;
}

/// The branch is the one that the workspace is on, whatever it was made with. acceptance: F8
#[tokio::test]
async fn an_agent_that_has_renamed_its_branch_opens_one_for_the_new_name() {
    let house = House::new().await;
    let app = house.app().await;
    let one = house.agent("one", "my-app", SessionRole::Worker).await;
    house.agent("two", "my-app", SessionRole::Worker).await;
    let stand = CheckedOut { branch: Some("better/name".into()), head: None };
    house.tell(one, SessionInput::CheckedOut { checked_out: stand }).await;
    let opened = post("/api/pulls", json!({})).token("one").to(&app).await;
    assert_eq!((opened.told().as_str(), &opened.json["headBranch"]), ("201", &json!("better/name")));
    assert_eq!(opened.json["session"], "my-app-one");
    // Neither by its new name nor by its old one is it another's to propose.
    for head in ["better/name", "agent/my-app-one"] {
        let told = post("/api/pulls", json!({"head": head})).token("two").to(&app).await.told();
        assert_eq!(told, "403 forbidden", "{head}");
    }
    house.end().await;
}

#[tokio::test]
async fn what_is_changed_or_said_is_known_to_the_engine_before_the_answer_comes() {
    let house = House::new().await;
    let app = house.app().await;
    let id = pull("my-app", 7);
    house.pull(&id, facts("feat")).await;
    let known = async |look: fn(&PullFacts) -> String| {
        let id = id.clone();
        house.handle.view(move |state| look(&state.pulls[&id].facts)).await.unwrap()
    };
    let edited = patch("/api/pulls/my-app!7", json!({"title": "New", "draft": true})).owner().to(&app).await;
    assert_eq!((edited.told().as_str(), &edited.json["title"]), ("200", &json!("New")));
    assert_eq!(edited.json["blockers"], json!(["it is a draft"]));
    assert_eq!(known(|facts| facts.title.clone()).await, "New");
    let said = json!({"body": "why?", "path": "src/lib.rs", "line": 3});
    let said = post("/api/pulls/my-app!7/comments", said).owner().to(&app).await;
    let thread = said.json["thread"].as_str().unwrap().to_owned();
    assert_eq!(known(|facts| facts.threads.len().to_string()).await, "1");
    let reply = json!({"body": "because", "thread": thread});
    assert_eq!(post("/api/pulls/my-app!7/comments", reply).owner().to(&app).await.told(), "201");
    let resolved =
        post(&format!("/api/pulls/my-app!7/threads/{thread}/resolve"), json!({})).owner().to(&app).await;
    assert_eq!(resolved.json["threads"][0]["resolved"], true);
    assert_eq!(resolved.json["threads"][0]["comments"].as_array().unwrap().len(), 2);
    assert_eq!(known(|facts| facts.threads.len().to_string()).await, "0");
    let again = format!("/api/pulls/my-app!7/threads/{thread}/resolve");
    let opened = post(&again, json!({"resolved": false})).owner().to(&app).await;
    assert_eq!(opened.json["threads"][0]["resolved"], false);
    let comments = json!([{"path": "a.rs", "line": 1, "body": "no"}]);
    let review = json!({"verdict": "request_changes", "head": "h1", "comments": comments});
    assert_eq!(post("/api/pulls/my-app!7/reviews", review).owner().to(&app).await.told(), "201");
    assert_eq!(known(|facts| format!("{} {}", facts.reviews.len(), facts.threads.len())).await, "1 2");
    let shown = get("/api/pulls/my-app!7").owner().to(&app).await;
    assert_eq!(
        (&shown.json["review"], &shown.json["reviews"][0]["stale"]),
        (&json!("changes_requested"), &json!(false))
    );
    assert_eq!(shown.json["blockers"], json!(["it is a draft", "anna has asked for changes"]));
    let late = json!({"verdict": "approve", "head": "h0"});
    assert_eq!(post("/api/pulls/my-app!7/reviews", late).owner().to(&app).await.told(), "422 refused");
    let closed = patch("/api/pulls/my-app!7", json!({"state": "closed"})).owner().to(&app).await;
    assert_eq!(closed.json["state"], "closed");
    assert_eq!(ids(&get("/api/pulls").owner().to(&app).await.json), [""; 0]);
    house.end().await;
}

#[tokio::test]
async fn what_cannot_be_done_to_a_pull_request_is_refused_with_a_word() {
    let house = House::new().await;
    let app = house.app().await;
    house.pull(&pull("my-app", 7), facts("feat")).await;
    let at = "/api/pulls/my-app!7";
    for (path, body, expected) in [
        ("/comments", json!({"body": " "}), "422 invalid"),
        ("/comments", json!({"body": "x", "line": 3}), "422 invalid"),
        ("/comments", json!({"body": "x", "thread": "t", "path": "p"}), "422 invalid"),
        ("/comments", json!({"body": "x", "path": "p", "side": "left"}), "422 invalid"),
        ("/comments", json!({"body": "x", "thread": "nowhere"}), "404 not-found"),
        ("/reviews", json!({"verdict": "great"}), "422 invalid"),
        ("/reviews", json!({"verdict": "comment"}), "422 invalid"),
        ("/reviews", json!({"verdict": "comment", "comments": [{"path": "a"}]}), "422 invalid"),
        ("/threads/nowhere/resolve", json!({}), "404 not-found"),
        ("/claim", json!({"session": "nobody"}), "404 unknown-session"),
        ("/merge", json!({"strategy": "octopus"}), "422 invalid"),
    ] {
        let told = post(&format!("{at}{path}"), body.clone()).owner().to(&app).await.told();
        assert_eq!(told, expected, "{path} {body}");
    }
    let odd = patch(at, json!({"state": "merged"})).owner().to(&app).await;
    assert_eq!((odd.told().as_str(), &odd.json["candidates"]), ("422 invalid", &json!(["open", "closed"])));
    for (err, expected) in [
        (TrackerError::not_found("it"), "404 not-found"),
        (TrackerError::refused("no"), "422 refused"),
        (TrackerError::Unsupported { what: "that".into() }, "501 unsupported"),
        (TrackerError::Denied { what: "it".into() }, "403 forge-denied"),
        (TrackerError::Failed("broken".into()), "502 forge-failed"),
        // The last one: nothing is asked of a forge that is limited.
        (TrackerError::Limited { after: Duration::from_secs(3000) }, "429 forge-limited"),
    ] {
        house.forge.lock().failing = Some(err);
        let answer = get(&format!("{at}/diff")).owner().to(&app).await;
        assert_eq!(answer.told(), expected);
        assert!(!answer.headers.contains_key("retry-after"), "it is not known to be over in a second");
    }
    house.end().await;
}

#[tokio::test]
async fn a_diff_says_whether_it_is_whole() {
    let house = House::new().await;
    let app = house.app().await;
    house.pull(&pull("my-app", 7), facts("feat")).await;
    let whole = get("/api/pulls/my-app!7/diff").owner().to(&app).await;
    assert_eq!(whole.json, json!({"diff": "diff --git a/x b/x\n+one\n+two\n", "cut": false}));
    let some = get("/api/pulls/my-app!7/diff?limit=26").owner().to(&app).await;
    assert_eq!(some.json, json!({"diff": "diff --git a/x b/x\n+one\n", "cut": true}));
    house.end().await;
}

#[tokio::test]
async fn a_pull_request_is_claimed_released_and_claimed_by_another() {
    let house = House::new().await;
    let app = house.app().await;
    let one = house.agent("one", "my-app", SessionRole::Worker).await;
    house.agent("two", "my-app", SessionRole::Worker).await;
    let id = pull("my-app", 7);
    // The engine has not heard of it yet.
    house.forge.lock().pulls.insert(id.clone(), facts("feat"));
    let claim = |session: Value| post("/api/pulls/my-app!7/claim", json!({"session": session}));
    let claimed = claim(json!("my-app-one")).owner().to(&app).await;
    assert_eq!((claimed.told().as_str(), &claimed.json["session"]), ("200", &json!("my-app-one")));
    assert_eq!(
        claim(json!("my-app-one")).token("one").to(&app).await.told(),
        "200",
        "what is so is no failure"
    );
    let taken = claim(json!("my-app-two")).owner().to(&app).await;
    assert_eq!(
        (taken.told().as_str(), &taken.json["sessionId"]),
        ("409 pull-owned", &json!(one.to_string()))
    );
    assert_eq!(claim(Value::Null).token("two").to(&app).await.told(), "403 forbidden");
    let released = claim(Value::Null).token("one").to(&app).await;
    assert_eq!((released.told().as_str(), &released.json["session"]), ("200", &Value::Null));
    assert_eq!(claim(Value::Null).owner().to(&app).await.told(), "200");
    assert_eq!(claim(json!("my-app-two")).token("two").to(&app).await.json["session"], "my-app-two");
    house.spawn_as("other", "docs", SessionRole::Worker).await;
    assert_eq!(claim(json!("docs-other")).owner().to(&app).await.told(), "422 invalid");
    let stranger = AuthorFacts { login: "eve".into(), standing: AuthorStanding::Outsider };
    house.pull(&pull("my-app", 8), PullFacts { author: stranger, ..facts("agent/my-app-one") }).await;
    let strange = post("/api/pulls/my-app!8/claim", json!({"session": "my-app-one"})).owner().to(&app).await;
    assert_eq!(strange.told(), "422 invalid", "{}", strange.text);
    house.forge.lock().pulls.insert(pull("my-app", 9), PullFacts { state: PullState::Closed, ..facts("x") });
    let over = post("/api/pulls/my-app!9/claim", json!({"session": "my-app-one"})).owner().to(&app).await;
    assert_eq!(over.told(), "409 pull-over");
    house.end().await;
}

#[tokio::test]
async fn a_reviewer_is_started_as_the_configuration_says() {
    let house = House::new().await;
    let app = house.app().await;
    house.pull(&pull("my-app", 7), facts("feat")).await;
    let begun = post("/api/pulls/my-app!7/reviewer", json!({})).owner().to(&app).await;
    assert_eq!((begun.told().as_str(), &begun.json["created"]), ("201", &json!(true)));
    assert_eq!(begun.json["session"]["role"], "reviewer");
    assert_eq!(begun.json["session"]["branch"], "review/my-app-review-7-h1");
    house.end().await;
}

/// The typed client asks for what the routes give.
#[tokio::test]
async fn the_client_speaks_of_pull_requests() {
    use ao_api::client::{ItemName, PullQuery};
    use ao_api::{NewComment, NewMerge, NewPull, NewReview, NewReviewer, PullEdit};

    let house = House::new().await;
    house.plug_forge();
    let running = house.serve().await;
    let client = house.client();
    house.spawn("one").await;
    let new = NewPull { session: Some("my-app-one".into()), ..NewPull::default() };
    let opened = client.open_pull(&new).await.unwrap();
    assert_eq!(opened.pull.id, "my-app!1");
    let meant = ItemName { project: Some("my-app".into()), ..ItemName::from("agent/my-app-one") };
    assert_eq!(client.pull(&meant).await.unwrap().pull.number, 1);
    let edit = PullEdit { title: Some("New".into()), ..PullEdit::default() };
    assert_eq!(client.edit_pull(&"1".into(), &edit).await.unwrap().pull.title, "New");
    assert!(!client.pull_diff(&"!1".into(), None).await.unwrap().cut);
    let comment = NewComment { body: "hm".into(), ..NewComment::default() };
    let thread = client.comment_on_pull(&"1".into(), &comment).await.unwrap().thread;
    let comment = client.pull(&"1".into()).await.unwrap().threads[0].comments[0].id.clone();
    let edited = client.edit_comment(&"1".into(), &comment, "well").await.unwrap();
    assert_eq!(edited.threads[0].comments[0].body, "well");
    assert!(client.resolve_thread(&"1".into(), &thread, true).await.unwrap().threads[0].resolved);
    let review = NewReview::new(ReviewChoice::Approve);
    client.review_pull(&"1".into(), &review).await.unwrap();
    assert_eq!(client.claim_pull(&"1".into(), None).await.unwrap().pull.session, None);
    assert!(client.start_reviewer(&"1".into(), &NewReviewer::default()).await.unwrap().created);
    let wanted = PullQuery { state: Some(PullStateFilter::All), limit: Some(5), ..PullQuery::default() };
    let listed = client.pulls(&wanted).await.unwrap();
    assert_eq!(
        listed.pulls[0].review,
        PullReview::Commented,
        "nobody approves what they have opened themselves"
    );
    assert_eq!(client.merge_pull(&"1".into(), &NewMerge::default()).await.unwrap().commit, "m1");
    drop(client);
    house.end().await;
    running.finished().await;
}

/// A look that was overtaken on its way takes nothing back.
#[tokio::test]
async fn a_change_made_here_is_not_undone_by_an_earlier_look() {
    let house = House::new().await;
    let app = house.app().await;
    let id: PullId = pull("my-app", 7);
    house.pull(&id, facts("feat")).await;
    patch("/api/pulls/my-app!7", json!({"title": "New"})).owner().to(&app).await;
    let input = ao_core::pull::PullInput::Seen(Box::new(facts("feat")));
    house.handle.ask(Input::Pull { pull: id.clone(), input }).await.unwrap();
    let title = house.handle.view(move |state| state.pulls[&id].facts.title.clone()).await.unwrap();
    assert_eq!(title, "New");
    house.end().await;
}
