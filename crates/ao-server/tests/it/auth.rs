//! Who may call, and who may not.

use std::collections::BTreeSet;

use ao_core::Attempt;
use ao_core::session::{SessionInput, SessionRole};
use ao_server::Peer;
use axum::http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Call, House, call, get, patch, post};

/// Every call of the description, with its path filled in.
fn every_call(session: &str) -> Vec<(Method, String, String)> {
    let document: Value = serde_json::from_str(&ao_server::openapi()).unwrap();
    let mut calls = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let method: Method = method.to_uppercase().parse().unwrap();
            let name = if path.contains("/projects/") { "my-app" } else { session };
            let filled = path.replace("{id}", name).replace("{scm}", "github").replace("{thread}", "t1");
            calls.push((method, path.clone(), filled));
        }
    }
    assert!(calls.len() > 30, "the description has lost its calls");
    calls
}

/// A call as a program or a browser makes it, terminals included.
fn whole(method: &Method, path: &str) -> Call {
    let call = match *method {
        Method::POST => post(path, json!({})),
        Method::PATCH => patch(path, json!({})),
        _ => call(method.clone(), path),
    };
    if !path.ends_with("/terminal") {
        return call;
    }
    call.with("connection", "upgrade")
        .with("upgrade", "websocket")
        .with("sec-websocket-version", "13")
        .with("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
}

/// The other end of a connection that nobody can say anything about.
fn stranger() -> Peer {
    Peer::tcp("192.0.2.1:1".parse().unwrap(), "127.0.0.1:3000".parse().unwrap())
}

/// acceptance: X6
#[tokio::test]
async fn without_a_token_nothing_is_told_or_done_whatever_is_called() {
    let house = House::new().await;
    let app = house.app().await;
    let id = house.spawn("one").await.to_string();
    let before = house.seq().await;
    for (method, route, path) in every_call(&id) {
        let open = ["/healthz", "/api/sign-in"].contains(&route.as_str());
        let expected = if open { None } else { Some("401 unauthorized") };
        for peer in [Some(stranger()), None, Some(Peer::socket(12345, None))] {
            let called = whole(&method, &path);
            let called = match peer.clone() {
                Some(peer) => called.from(peer),
                None => called,
            };
            let told = called.to(&app).await.told();
            assert!(expected.is_none_or(|expected| told == expected), "{method} {path} as {peer:?}: {told}");
        }
        if !open {
            let asked = whole(&method, &format!("{path}?token={0}&access_token={0}", house.auth.token()));
            let told = asked.from(stranger()).to(&app).await.told();
            assert_eq!(told, "401 unauthorized", "{method} {path}: what stands in an address is no token");
        }
    }
    assert_eq!(house.seq().await, before);
    house.is_in_place();
    house.end().await;
}

/// acceptance: X6
#[tokio::test]
async fn a_foreign_page_and_a_foreign_name_are_refused_even_with_the_token() {
    let house = House::new().await;
    let app = house.app().await;
    let id = house.spawn("one").await.to_string();
    let token = house.auth.token();
    for (method, _, path) in every_call(&id) {
        let foreign =
            whole(&method, &path).token(&token).with("origin", "http://evil.example").from(stranger());
        assert_eq!(foreign.to(&app).await.told(), "403 foreign-origin", "{method} {path}");
        let lent = whole(&method, &path).with("origin", "http://localhost:3000").owner();
        assert_eq!(lent.to(&app).await.told(), "403 foreign-origin", "{method} {path} by the socket");
        // Another name that was made to point here.
        let mut request = whole(&method, &path).token(&token).from(stranger()).request();
        request.headers_mut().insert("host", "evil.example:3000".parse().unwrap());
        let response = tower::ServiceExt::oneshot(app.clone(), request).await.unwrap();
        assert_eq!(response.status(), 421, "{method} {path}");
    }
    house.is_in_place();
    house.end().await;
}

/// acceptance: X6
#[tokio::test]
async fn over_tcp_a_program_of_ours_needs_no_token_and_a_browser_does() {
    let house = House::new().await;
    let running = house.serve().await;
    let address = running.addr().unwrap();
    let ask = async |more: &str| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request =
            format!("GET /api/daemon HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{more}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer[9..12].to_owned()
    };
    assert_eq!(ask("user-agent: curl/8.5.0\r\n").await, "200");
    assert_eq!(ask("").await, "200");
    for browser in [
        "user-agent: Mozilla/5.0 (X11; Linux x86_64)\r\n",
        "sec-fetch-site: none\r\n",
        "cookie: a=b\r\n",
        "cookie: ao_session_3000=1.00\r\n",
        "x-forwarded-for: 10.0.0.1\r\n",
    ] {
        assert_eq!(ask(browser).await, "401", "{browser}");
    }
    assert_eq!(ask(&format!("origin: http://{address}\r\n")).await, "401");
    let token = house.auth.token();
    assert_eq!(ask(&format!("origin: http://{address}\r\nauthorization: Bearer {token}\r\n")).await, "200");
    house.end().await;
    running.finished().await;
}

/// acceptance: X8
#[tokio::test]
async fn an_agents_token_reaches_its_own_session_and_nothing_else() {
    let house = House::new().await;
    let app = house.app().await;
    let (own, other) = (house.spawn("own").await, house.spawn("other").await);
    house.run(own).await;
    house.run(other).await;
    house.give_token("worker", own);
    let before = house.seq().await;
    let everywhere = [
        "GET /healthz",
        "GET /api/openapi.json",
        "GET /api/events",
        "GET /api/projects",
        // Of its own project only.
        "GET /api/plan",
        "GET /api/advice",
    ];
    let own_only = ["", "/status", "/explain", "/messages", "/output", "/setup-log"];
    let own_only: Vec<String> =
        own_only.iter().map(|rest| format!("GET /api/sessions/{{id}}{rest}")).collect();
    let mut seen = BTreeSet::new();
    for (id, is_own) in [(own, true), (other, false)] {
        for (method, route, path) in every_call(&id.to_string()) {
            let call = format!("{method} {route}");
            // What it may do there has a table of its own.
            if ["/issues", "/pulls", "/checks", "/flakes", "/conflicts"]
                .iter()
                .any(|part| route.contains(part))
            {
                continue;
            }
            seen.insert(call.clone());
            let told = whole(&method, &path).token("worker").from(stranger()).to(&app).await.told();
            if everywhere.contains(&call.as_str()) || (is_own && own_only.contains(&call)) {
                assert_eq!(told, "200", "{call}");
            } else if is_own && call == "GET /api/sessions/{id}/terminal" {
                // It may look; there is nothing to look at here, and no connection to do it by.
                assert_ne!(told, "403 forbidden", "{call}");
            } else if call == "POST /api/events" {
                // It tells of its own session, whatever the path; nobody has said what is to be done about this event.
                assert_eq!(told, "422 unknown-event", "{call}");
            } else if call != "POST /api/sign-in" {
                assert_eq!(told, "403 forbidden", "{call} of {}", if is_own { "its own" } else { "another" });
            }
        }
    }
    assert!(own_only.iter().all(|call| seen.contains(call)));
    assert_eq!(house.seq().await, before, "nothing has happened");
    house.is_in_place();
    // By name and by prefix it is the same, and it does not hear which others there are.
    for meant in ["my-app-other", "my-app-ot", "my-app-nobody", "my-app"] {
        let told = get(&format!("/api/sessions/{meant}")).token("worker").to(&app).await;
        let expected = if meant == "my-app" { "200" } else { "403 forbidden" };
        assert_eq!(told.told(), expected, "{meant}");
        assert!(!told.text.contains(&other.to_string()), "{}", told.text);
    }
    let events = get("/api/events?session=my-app-other").token("worker").to(&app).await;
    assert_eq!(events.told(), "403 forbidden");
    house.end().await;
}

/// acceptance: X8
#[tokio::test]
async fn an_orchestrators_token_directs_the_workers_of_its_project_and_no_others() {
    let house = House::new().await;
    let app = house.app().await;
    let chief = house.spawn_as("chief", "my-app", SessionRole::Orchestrator).await;
    let worker = house.spawn("worker").await;
    let foreign = house.spawn_as("foreign", "docs", SessionRole::Worker).await;
    for id in [chief, worker, foreign] {
        house.run(id).await;
    }
    house.give_token("chief", chief);
    let as_chief = async |call: Call| call.token("chief").to(&app).await;

    let listed = as_chief(get("/api/sessions")).await;
    assert_eq!(listed.json["sessions"].as_array().unwrap().len(), 2, "those of its project");
    assert_eq!(as_chief(get(&format!("/api/sessions/{worker}/explain"))).await.told(), "200");
    let said = as_chief(post(&format!("/api/sessions/{worker}/message"), json!({"content": "hurry"}))).await;
    assert_eq!(said.told(), "202");
    let waiting = get(&format!("/api/sessions/{worker}/messages")).owner().to(&app).await;
    assert_eq!(waiting.json["messages"][0]["from"], "my-app-chief");
    let made = as_chief(post("/api/sessions", json!({"title": "more"}))).await;
    assert_eq!((made.told().as_str(), &made.json["session"]["projectId"]), ("201", &json!("my-app")));
    let stopped = as_chief(post(&format!("/api/sessions/{worker}/stop"), json!({}))).await;
    assert_eq!(stopped.json["status"]["reason"], "stopped by my-app-chief");

    let refused = [
        get(&format!("/api/sessions/{foreign}")),
        post(&format!("/api/sessions/{foreign}/message"), json!({"content": "psst"})),
        post(&format!("/api/sessions/{foreign}/stop"), json!({})),
        call(Method::DELETE, &format!("/api/sessions/{foreign}")),
        post(&format!("/api/sessions/{chief}/message"), json!({"content": "to myself"})),
        post(&format!("/api/sessions/{chief}/stop"), json!({})),
        post(&format!("/api/sessions/{worker}/stop"), json!({"cleanup": true})),
        post(&format!("/api/sessions/{worker}/answer"), json!({"answer": "yes"})),
        post("/api/sessions", json!({"title": "x", "projectId": "docs"})),
        post("/api/sessions", json!({"title": "x", "role": "orchestrator"})),
        post("/api/workspaces/cleanup", json!({})),
        post("/api/tokens", json!({})),
        post("/api/daemon/stop", json!({})),
        get("/api/config"),
    ];
    for (at, call) in refused.into_iter().enumerate() {
        assert_eq!(as_chief(call).await.told(), "403 forbidden", "call {at}");
    }
    house.is_in_place();
    house.end().await;
}

#[tokio::test]
async fn a_browser_signs_in_once_by_a_code_and_is_out_when_the_token_is_rotated() {
    let house = House::new().await;
    let app = house.app().await;
    let page = |call: Call| call.with("origin", "http://localhost:3000").with("user-agent", "Mozilla/5.0");
    let code = post("/api/tokens", json!({"signIn": true})).owner().to(&app).await.json["token"].clone();
    let signed_in = page(post("/api/sign-in", json!({"code": code}))).from(stranger()).to(&app).await;
    assert_eq!(signed_in.told(), "204");
    let cookie = signed_in.headers["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert!(cookie.starts_with("ao_session_3000=") && cookie.contains("; Path=/;"), "{cookie}");
    let lasts = cookie.split("Max-Age=").nth(1).unwrap().split(';').next().unwrap();
    assert!(lasts.parse::<u64>().unwrap() <= 7 * 24 * 3600, "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    // What another daemon's port has given the browser is none of ours, and does not stand in the way.
    let others = format!("ao_session_4000=1.00; {cookie}");
    assert_eq!(
        page(get("/api/sessions")).with("cookie", &others).from(stranger()).to(&app).await.told(),
        "200"
    );
    let other = cookie.replace("_3000", "_4000");
    let told = page(get("/api/sessions")).with("cookie", &other).from(stranger()).to(&app).await.told();
    assert_eq!(told, "401 unauthorized");
    let listed = page(get("/api/sessions")).with("cookie", &format!("a=b; {cookie}")).from(stranger());
    assert_eq!(listed.to(&app).await.told(), "200");
    let again = page(post("/api/sign-in", json!({"code": code}))).from(stranger()).to(&app).await;
    assert_eq!(again.told(), "401 bad-code", "a code is good once");

    let old = house.auth.token();
    let rotated = post("/api/tokens/rotate", json!({})).owner().to(&app).await;
    let new = rotated.json["token"].as_str().unwrap().to_owned();
    assert_eq!(get("/api/sessions").token(&old).to(&app).await.told(), "401 unauthorized");
    assert_eq!(get("/api/sessions").token(&new).to(&app).await.told(), "200");
    let stale = page(get("/api/sessions")).with("cookie", cookie).from(stranger()).to(&app).await;
    assert_eq!(stale.told(), "401 unauthorized");
    let kept = std::fs::read_to_string(house.folder.path().join("api.token")).unwrap();
    assert_eq!(kept.trim(), new);
    house.end().await;
}

/// acceptance: X6
#[tokio::test]
async fn what_a_page_can_send_unasked_changes_nothing() {
    let house = House::new().await;
    let app = house.app().await;
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "text/plain; application/json",
    ] {
        let body = call(Method::POST, "/api/sessions").with("content-type", kind).with("content-length", "2");
        assert_eq!(body.owner().to(&app).await.told(), "415 not-json", "{kind}");
    }
    let charset =
        call(Method::POST, "/api/notify/test").with("content-type", "application/json; charset=utf-8");
    assert_eq!(charset.with("content-length", "0").owner().to(&app).await.told(), "200");
    house.end().await;
}

#[tokio::test]
async fn a_token_is_given_out_for_a_session_and_for_the_api() {
    let house = House::new().await;
    let app = house.app().await;
    let id = house.spawn("one").await;
    let none = post("/api/tokens", json!({"session": "my-app-one"})).owner().to(&app).await;
    assert_eq!(none.told(), "409 no-token");
    house.run(id).await;
    let given = post("/api/tokens", json!({"session": "my-app-one"})).owner().to(&app).await;
    assert_eq!(given.json["token"], house.give_token("worker", id));
    let own = post("/api/tokens", json!({})).owner().to(&app).await;
    assert_eq!(own.json["token"], house.auth.token());
    let both = post("/api/tokens", json!({"session": "x", "signIn": true})).owner().to(&app).await;
    assert_eq!(both.told(), "422 invalid");
    assert!(!format!("{:?}", house.auth).contains(&house.auth.token()));
    house.end().await;
}

/// What is logged while it lives.
#[derive(Clone, Default)]
struct Written(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_log_has_what_was_called_and_neither_tokens_nor_what_was_said() {
    let written = Written::default();
    let writing = written.clone();
    let logger = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writing.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(logger);
    let house = House::new().await;
    let app = house.app().await;
    let id = house.spawn("one").await;
    let workers = house.give_token("worker", id);
    let token = house.auth.token();
    let code =
        post("/api/tokens", json!({"signIn": true})).token(&token).to(&app).await.json["token"].clone();
    post("/api/sign-in", json!({"code": code})).to(&app).await;
    get("/api/sessions?project=a-secret-query").token(&token).to(&app).await;
    get(&format!("/api/sessions/{id}")).token("worker").to(&app).await;
    get("/api/daemon").token("a-wrong-token").with("cookie", "ao_session_3000=a-wrong-cookie").to(&app).await;
    let said = json!({"content": "a-secret-message"});
    post(&format!("/api/sessions/{id}/message"), said).token(&token).to(&app).await;
    house.end().await;
    let log = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("/api/sessions/{id}/message"), "{log}");
    assert!(log.contains("caller=\"session\"") && log.contains("caller=\"refused\""), "{log}");
    let secrets = [
        token.as_str(),
        code.as_str().unwrap(),
        "a-secret-query",
        workers.as_str(),
        "a-wrong-token",
        "a-wrong-cookie",
        "a-secret-message",
    ];
    for secret in secrets {
        assert!(!log.contains(secret), "{secret} is in the log");
    }
}

/// acceptance: X8
#[tokio::test]
async fn a_token_is_good_as_long_as_the_agent_that_it_was_given_to() {
    let house = House::new().await;
    let app = house.app().await;
    let id = house.spawn("one").await;
    house.run(id).await;
    house.give_token("first", id);
    house.give_token_to("second", id, Attempt(2));
    let path = format!("/api/sessions/{id}");
    assert_eq!(get(&path).token("first").to(&app).await.told(), "200");
    assert_eq!(get(&path).token("second").to(&app).await.told(), "401 unauthorized");
    // Its process ends, and another one takes its place.
    house.tell(id, SessionInput::Stop { by: "anna".into(), why: "enough".into() }).await;
    house.tell(id, SessionInput::ProcessEnded { attempt: Attempt(1) }).await;
    house.tell(id, SessionInput::Restore).await;
    let attempt = house.session(id, |session| session.attempt).await;
    assert_eq!(attempt, Attempt(2));
    assert_eq!(get(&path).token("first").to(&app).await.told(), "401 unauthorized");
    assert_eq!(get(&path).token("second").to(&app).await.told(), "200");
    house.end().await;
}
