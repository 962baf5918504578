//! The page in the browser: its files, what browsers are told about them, and how one signs in by it.

use std::time::Duration;

use ao_ports::Frame;
use ao_server::{App, Parts, Peer, app};
use axum::http::Method;
use futures::StreamExt;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tower::ServiceExt;

use crate::support::{Answer, Call, Frames, House, call, get, post, until};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The other end of a connection that nobody can say anything about.
fn stranger() -> Peer {
    Peer::tcp("192.0.2.1:1".parse().unwrap(), "127.0.0.1:3000".parse().unwrap())
}

/// The paths of all files: the page, what it names, and what those name.
async fn every_file(app: &axum::Router) -> Vec<(String, Answer)> {
    let mut paths = vec!["/".to_owned()];
    let mut files: Vec<(String, Answer)> = Vec::new();
    while let Some(path) = paths.pop() {
        if files.iter().any(|(known, _)| *known == path) {
            continue;
        }
        let answer = get(&path).from(stranger()).to(app).await;
        for (before, after) in [("src=\"/", "\""), ("rel=\"stylesheet\" href=\"/", "\""), (" from './", "'")]
        {
            for piece in answer.text.split(before).skip(1) {
                let name = piece.split(after).next().unwrap();
                paths.push(format!("/{name}"));
            }
        }
        files.push((path, answer));
    }
    files
}

/// acceptance: X6
#[tokio::test]
async fn the_page_needs_no_sign_in_and_lets_a_browser_run_and_load_nothing_else() {
    let house = House::new().await;
    let app = house.app().await;
    let files = every_file(&app).await;
    assert!(files.len() > 5, "the page and what it is made of");
    for (path, answer) in &files {
        assert_eq!(answer.told(), "200", "{path}");
        let header = |name: &str| answer.headers[name].to_str().unwrap();
        let kind = match path.rsplit('.').next().unwrap() {
            "js" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            _ => "text/html; charset=utf-8",
        };
        assert_eq!(header("content-type"), kind, "{path}");
        assert_eq!(header("content-security-policy"), POLICY, "{path}");
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("referrer-policy"), "no-referrer", "{path}");
        assert_eq!(header("cache-control"), "no-cache", "{path}");
        let head = call(Method::HEAD, path).from(stranger()).to(&app).await;
        assert_eq!((head.told().as_str(), head.text.as_str()), ("200", ""), "{path}");
        assert_eq!(head.headers["etag"], answer.headers["etag"]);
    }
    let other = post("/", json!({})).owner().to(&app).await;
    assert_eq!(other.told(), "405 no-such-method");
    house.end().await;
}

/// What the policy forbids would not work, so nothing of it may be there; and nothing comes from another place.
///
/// acceptance: X6
#[tokio::test]
async fn the_page_has_neither_script_nor_style_in_its_markup_and_names_no_other_place() {
    let house = House::new().await;
    let app = house.app().await;
    for (path, answer) in every_file(&app).await {
        let text = answer.text.replace("http://www.w3.org/2000/svg", "");
        assert!(!text.contains("http://") && !text.contains("https://"), "{path} names another place");
        if path != "/" {
            continue;
        }
        for tag in text.split('<').skip(1) {
            let tag = tag.split('>').next().unwrap();
            assert!(!tag.starts_with("style"), "<{tag}>");
            assert!(!tag.starts_with("script") || tag.contains(" src=\"/"), "<{tag}>");
            assert!(!tag.contains(" style="), "<{tag}>");
            let handles = tag.split_whitespace().any(|word| word.starts_with("on") && word.contains('='));
            assert!(!handles && !tag.contains("javascript:"), "<{tag}>");
        }
    }
    house.end().await;
}

#[tokio::test]
async fn a_file_that_a_browser_has_already_is_not_sent_again() {
    let house = House::new().await;
    let app = house.app().await;
    let mut tags = std::collections::BTreeSet::new();
    for (path, answer) in every_file(&app).await {
        let tag = answer.headers["etag"].to_str().unwrap().to_owned();
        let again = get(&path).with("if-none-match", &tag).from(stranger()).to(&app).await;
        assert_eq!((again.told().as_str(), again.text.as_str()), ("304", ""), "{path}");
        assert_eq!(again.headers["etag"], tag.as_str());
        assert_eq!(again.headers["content-security-policy"], POLICY, "{path}");
        let older = get(&path).with("if-none-match", "\"older\"").from(stranger()).to(&app).await;
        assert_eq!((older.told().as_str(), &older.text), ("200", &answer.text), "{path}");
        assert!(tags.insert(tag), "{path} has a tag of its own");
    }
    house.end().await;
}

/// acceptance: X6
#[tokio::test]
async fn the_page_is_not_shown_under_a_foreign_name_nor_to_a_foreign_page() {
    let house = House::new().await;
    let app = house.app().await;
    for path in ["/", "/app.js", "/style.css"] {
        let mut request = get(path).from(stranger()).request();
        request.headers_mut().insert("host", "evil.example:3000".parse().unwrap());
        let response = app.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 421, "{path}");
        let foreign = get(path).with("origin", "http://evil.example").from(stranger()).to(&app).await;
        assert_eq!(foreign.told(), "403 foreign-origin", "{path}");
    }
    house.end().await;
}

#[tokio::test]
async fn whoever_wants_no_page_has_none_and_the_api_all_the_same() {
    let house = House::new().await;
    let parts = Parts { page: false, ..house.parts() };
    let bound = "127.0.0.1:3000".parse().unwrap();
    let app = app(App::start(parts, Some(bound), house.stop.clone()).await.unwrap());
    for path in ["/", "/app.js"] {
        assert_eq!(get(path).from(stranger()).to(&app).await.told(), "401 unauthorized", "{path}");
        assert_eq!(get(path).owner().to(&app).await.told(), "404 no-such-call", "{path}");
    }
    assert_eq!(get("/api/sessions").owner().to(&app).await.told(), "200");
    house.end().await;
}

/// A browser in front of a daemon that listens.
struct Browser {
    host: String,
    origin: String,
    cookie: Option<String>,
}

impl Browser {
    fn headers(&self) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            ("host", self.host.clone()),
            ("origin", self.origin.clone()),
            ("user-agent", "Mozilla/5.0".into()),
        ];
        headers.extend(self.cookie.clone().map(|cookie| ("cookie", cookie)));
        headers
    }

    /// The status of an answer, and as much of it as there is until it ends or `enough` is in it.
    async fn ask(&self, method: &str, path: &str, body: &str, enough: &str) -> (u16, String) {
        let mut request = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        for (name, value) in self.headers() {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            request
                .push_str(&format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()));
        }
        let address = self.host.replace("localhost", "127.0.0.1");
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("{request}\r\n{body}").as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let reading = async {
            while stream.read_buf(&mut answer).await.unwrap() > 0 {
                if !enough.is_empty() && String::from_utf8_lossy(&answer).contains(enough) {
                    break;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), reading).await.unwrap();
        let answer = String::from_utf8(answer).unwrap();
        (answer[9..12].parse().unwrap(), answer)
    }

    async fn opens_terminal(&self, session: &str) -> u16 {
        let url = format!("ws://{}/api/sessions/{session}/terminal", self.host);
        let mut request = url.into_client_request().unwrap();
        for (name, value) in self.headers() {
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        let stream = TcpStream::connect(self.host.replace("localhost", "127.0.0.1")).await.unwrap();
        match tokio_tungstenite::client_async(request, stream).await {
            Ok(_) => 101,
            Err(Error::Http(response)) => response.status().as_u16(),
            Err(other) => panic!("{other}"),
        }
    }
}

/// acceptance: X6
#[tokio::test]
async fn a_code_signs_one_browser_in_to_lists_events_and_terminals_and_no_foreign_page() {
    let house = House::new().await;
    let running = house.serve().await;
    let id = house.spawn("one").await;
    house.run(id).await;
    let id = id.to_string();
    let show = || {
        let mut first = Some(Frame::Keyframe { size: (80, 24), from: 0, bytes: vec![] });
        *house.stage.scene.lock().unwrap() = Some(Box::new(move |_| Box::new(Frames(move || first.take()))));
    };
    let host = running.addr().unwrap().to_string();
    let mut browser = Browser { origin: format!("http://{host}"), host, cookie: None };
    let statuses = async |browser: &Browser| {
        show();
        let (listed, _) = browser.ask("GET", "/api/sessions", "", "").await;
        let (watched, _) = browser.ask("GET", "/api/events?after=0", "", "data: ").await;
        [listed, watched, browser.opens_terminal(&id).await]
    };
    assert_eq!(statuses(&browser).await, [401, 401, 401]);

    let (wrong, said) = browser.ask("POST", "/api/sign-in", r#"{"code":"wrong"}"#, "").await;
    assert!(wrong == 401 && said.contains("bad-code") && said.contains("ao dashboard"), "{said}");
    let token: ao_api::Token = house.client().post("/api/tokens", &json!({"signIn": true})).await.unwrap();
    let code = json!({ "code": token.token }).to_string();
    let foreign = Browser { origin: "http://evil.example".into(), host: browser.host.clone(), cookie: None };
    assert_eq!(foreign.ask("POST", "/api/sign-in", &code, "").await.0, 403, "and the code is still good");
    let (signed_in, said) = browser.ask("POST", "/api/sign-in", &code, "").await;
    assert_eq!(signed_in, 204);
    assert_eq!(browser.ask("POST", "/api/sign-in", &code, "").await.0, 401, "a code is good once");
    let cookie = said.split("set-cookie: ").nth(1).unwrap().split(';').next().unwrap().to_owned();

    browser.cookie = Some(cookie.clone());
    assert_eq!(statuses(&browser).await, [200, 200, 101]);
    for origin in ["http://evil.example", "null", "http://localhost:1"] {
        let foreign =
            Browser { origin: origin.into(), host: browser.host.clone(), cookie: Some(cookie.clone()) };
        assert_eq!(statuses(&foreign).await, [403, 403, 403], "{origin}");
    }
    house.end().await;
    running.finished().await;
}

/// What an open page does: it looks, and then hears of whatever happens behind that look.
///
/// acceptance: N5
#[tokio::test]
async fn what_happens_between_a_look_and_the_stream_is_heard() {
    let house = House::new().await;
    let app = house.app().await;
    let code = post("/api/tokens", json!({"signIn": true})).owner().to(&app).await.json["token"].clone();
    let page = |call: Call| call.with("origin", "http://localhost:3000").with("user-agent", "Mozilla/5.0");
    let signed_in = page(post("/api/sign-in", json!({ "code": code }))).from(stranger()).to(&app).await;
    let cookie = signed_in.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let looked = page(get("/api/sessions")).with("cookie", &cookie).from(stranger()).to(&app).await;
    let seq = looked.json["seq"].as_u64().unwrap();
    let id = house.spawn("between").await;
    let call = page(get(&format!("/api/events?after={seq}"))).with("cookie", &cookie).from(stranger());
    let response = app.clone().oneshot(call.request()).await.unwrap();
    let mut body = response.into_body().into_data_stream();
    let mut heard = String::new();
    until("the page hears of it", async || {
        let piece = tokio::time::timeout(Duration::from_secs(20), body.next()).await.unwrap();
        heard.push_str(std::str::from_utf8(&piece.unwrap().unwrap()).unwrap());
        heard.contains(&id.to_string())
    })
    .await;
    let seen = page(get("/api/sessions")).with("cookie", &cookie).from(stranger()).to(&app).await;
    assert_eq!(seen.json["sessions"][0]["id"], id.to_string());
    house.end().await;
}
