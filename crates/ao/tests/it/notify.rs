//! The channels by which people are told, tried from the command line.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::house::{House, Ran, until};

/// A web address that takes everything and remembers it.
pub(crate) fn listener() -> (u16, Arc<Mutex<Vec<String>>>) {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = heard.clone();
    thread::spawn(move || {
        for stream in socket.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = Vec::new();
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = stream.read(&mut piece) {
                request.extend_from_slice(&piece[..read]);
                let text = String::from_utf8_lossy(&request);
                let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                let length = head.lines().find_map(|line| {
                    let (name, value) = line.split_once(':')?;
                    name.eq_ignore_ascii_case("content-length")
                        .then(|| value.trim().parse::<usize>().unwrap())
                });
                if body.len() >= length.unwrap_or(0) {
                    break;
                }
            }
            hears.lock().unwrap().push(String::from_utf8_lossy(&request).into_owned());
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    (port, heard)
}

fn with_variables(house: &House, args: &[&str]) -> Ran {
    let mut command = house.command(&house.repository(), args);
    Ran::of(command.env("HOOK_SECRET", "s3cr3t-path-of-the-hook").output().unwrap())
}

/// acceptance: N2 (channels)
#[test]
fn a_test_reports_each_channel_and_shows_no_secret() {
    let (port, heard) = listener();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let house = House::with(&format!(
        "notifiers:\n  \
         good: {{ plugin: webhook, url: 'http://127.0.0.1:{port}/${{HOOK_SECRET}}', headers: {{ X-Team: core }} }}\n  \
         bad: {{ plugin: webhook, url: 'http://127.0.0.1:{closed}/${{HOOK_SECRET}}' }}\n\
         notificationRouting: {{ urgent: [good], action: [good, bad] }}\n"
    ));
    with_variables(&house, &["start", "--port", "0"]).succeeds();
    let told = with_variables(&house, &["notify", "test"]).exits(1);
    assert!(told.out.contains("good") && told.out.contains("bad"), "{}", told.out);
    assert_eq!(heard.lock().unwrap().len(), 1);
    assert!(heard.lock().unwrap()[0].to_lowercase().contains("x-team: core"));
    with_variables(&house, &["notify", "test", "good", "--level", "urgent"]).succeeds();
    assert!(heard.lock().unwrap()[1].contains(r#""level":"urgent""#));
    with_variables(&house, &["notify", "test", "good", "--level", "huge"]).exits(2);
    with_variables(&house, &["notify", "test", "good"]).succeeds();
    with_variables(&house, &["notify", "test", "goood"]).says("good");
    let json = with_variables(&house, &["notify", "test", "--json"]);
    let list = with_variables(&house, &["notify", "list"]).succeeds();
    let listed = with_variables(&house, &["notify", "list", "--json"]).succeeds();
    let levels: Vec<(String, Value)> = listed
        .json()
        .as_array()
        .unwrap()
        .iter()
        .map(|channel| (channel["channel"].as_str().unwrap().to_owned(), channel["levels"].clone()))
        .collect();
    assert_eq!(levels[0], ("bad".to_owned(), json!(["action"])));
    assert_eq!(levels[1], ("good".to_owned(), json!(["urgent", "action"])));
    for shown in [&told.out, &told.err, &json.out, &json.err, &list.out, &listed.out] {
        assert!(!shown.contains("s3cr3t-path-of-the-hook"), "{shown}");
    }
    let log = std::fs::read_to_string(house.path("data/logs/daemon.log")).unwrap();
    assert!(!log.contains("s3cr3t-path-of-the-hook"));

    // In earnest: an agent that asks is told of where that goes.
    let before = heard.lock().unwrap().len();
    let session = house.session("Ask", "[[ask May I?]]");
    house.wait_for(&session, "needs_input");
    until("a person is told", || {
        heard.lock().unwrap()[before..].iter().any(|request| request.contains("May I?"))
    });
}

/// A web address that takes connections and never answers.
fn hangs() -> u16 {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    thread::spawn(move || {
        let kept: Vec<_> = socket.incoming().collect();
        drop(kept);
    });
    port
}

fn texts(heard: &Mutex<Vec<String>>) -> Vec<Value> {
    let heard = heard.lock().unwrap();
    let bodies = heard.iter().filter_map(|request| request.split_once("\r\n\r\n"));
    bodies.map(|(_, body)| serde_json::from_str(body).unwrap()).collect()
}

fn listed(house: &House, channel: &str) -> Value {
    let list = house.ao(&["notify", "list", "--json"]).succeeds().json();
    let found = list.as_array().unwrap().iter().find(|known| known["channel"] == channel);
    found.unwrap_or_else(|| panic!("{list:#}")).clone()
}

/// acceptance: N1
#[test]
fn a_channel_that_hangs_holds_up_neither_the_others_nor_an_agent() {
    let ((port, heard), hung) = (listener(), hangs());
    let house = House::with(&format!(
        "notifiers:\n  \
         good: {{ plugin: webhook, url: 'http://127.0.0.1:{port}/hook' }}\n  \
         hung: {{ plugin: webhook, url: 'http://127.0.0.1:{hung}/hook' }}\n\
         notificationRouting: {{ urgent: [good, hung], action: [good, hung], warning: [good, hung], info: [good, hung] }}\n"
    ));
    house.start();
    let session = house.session("Ask", "[[ask May I?]]");
    house.wait_for(&session, "needs_input");
    let asked = Instant::now();
    until("the other channel is told", || !heard.lock().unwrap().is_empty());
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    let told = &texts(&heard)[0];
    assert_eq!(told["links"][0]["rel"], "session");
    assert!(told["links"][0]["url"].as_str().unwrap().ends_with(&format!("/#/s/{session}")), "{told:#}");
    assert!(
        told["text"].as_str().unwrap().contains(&format!("Answer with: ao answer {session} ")),
        "{told:#}"
    );
    // While it hangs, the agent is answered and goes on.
    assert_eq!(listed(&house, "hung")["waiting"], 1);
    house.ao(&["answer", &session, "yes"]).succeeds();
    house.wait_for(&session, "idle");
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    assert_eq!(listed(&house, "hung")["waiting"], 1, "it still hangs");
    assert_eq!(texts(&heard).len(), 1);
}

#[test]
fn in_quiet_hours_a_question_waits_and_goes_if_it_was_answered() {
    let (port, heard) = listener();
    let now = ao_api::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let hour =
        |by| now.checked_add(jiff::SignedDuration::from_hours(by)).unwrap().strftime("%H:%M").to_string();
    let house = House::with(&format!(
        "notifiers:\n  \
         sleeps: {{ plugin: webhook, url: 'http://127.0.0.1:{port}/sleeps' }}\n  \
         wakes: {{ plugin: webhook, url: 'http://127.0.0.1:{port}/wakes', quietHours: false }}\n\
         notificationRouting: {{ urgent: [sleeps, wakes], action: [sleeps, wakes], warning: [sleeps, wakes], info: [sleeps, wakes] }}\n\
         quietHours: {{ from: '{}', to: '{}', timezone: UTC, except: [] }}\n\
         lifecycle: {{ stableClear: 1s }}\n",
        hour(-2),
        hour(2)
    ));
    house.start();
    let session = house.session("Ask", "[[ask May I?]]");
    house.wait_for(&session, "needs_input");
    until("the one that is awake is told", || heard.lock().unwrap().len() == 1);
    until("the other one waits", || listed(&house, "sleeps")["waiting"] == 1);
    assert!(listed(&house, "sleeps")["quietUntil"].is_string());
    assert!(listed(&house, "wakes")["quietUntil"].is_null());
    // Over a restart too.
    house.ao(&["stop"]).succeeds();
    house.start();
    assert_eq!(listed(&house, "sleeps")["waiting"], 1, "the same question is told once");
    house.ao(&["answer", &session, "yes"]).succeeds();
    until("there is nothing to tell any more", || listed(&house, "sleeps")["waiting"] == 0);
    let heard = heard.lock().unwrap();
    let told: Vec<&str> = heard.iter().map(|request| request.split(' ').nth(1).unwrap_or_default()).collect();
    assert_eq!(told, ["/wakes"], "{heard:?}");
}

#[test]
fn what_is_gathered_comes_together_and_once() {
    let (port, heard) = listener();
    let house = House::with(&format!(
        "notifiers:\n  team: {{ plugin: webhook, url: 'http://127.0.0.1:{port}/hook' }}\n\
         notificationRouting: {{ urgent: [team], action: [team], warning: [team], info: [team] }}\n\
         digest: {{ levels: [urgent, action, warning, info], every: 3s }}\n"
    ));
    house.start();
    let sessions = ["One", "Two"].map(|title| house.session(title, &format!("[[ask May {title}?]]")));
    sessions.iter().for_each(|session| house.wait_for(session, "needs_input"));
    let all =
        || texts(&heard).iter().map(|told| told["text"].as_str().unwrap().to_owned()).collect::<String>();
    until("both are told of", || all().contains("May One?") && all().contains("May Two?"));
    assert!(texts(&heard).iter().all(|told| told["gathered"].as_u64() >= Some(1)), "{:#?}", texts(&heard));
    assert_eq!((all().matches("May One?").count(), all().matches("May Two?").count()), (1, 1));
}

/// A day that was not told while the daemon ran is told when it begins anew, and once.
#[test]
fn the_day_is_told_once_with_what_it_brought() {
    let (port, heard) = listener();
    let house = House::with(&format!(
        "notifiers:\n  team: {{ plugin: webhook, url: 'http://127.0.0.1:{port}/hook' }}\n\
         notificationRouting: {{ urgent: [], action: [], warning: [], info: [team] }}\n\
         digest: {{ at: '00:00', timezone: UTC, levels: [] }}\n"
    ));
    house.start();
    let session = house.session("Say hello", "[[say hello]]");
    house.wait_for(&session, "idle");
    house.ao(&["stop", &session]).succeeds();
    let days = || {
        let told: Vec<String> =
            texts(&heard).iter().map(|told| told["text"].as_str().unwrap_or_default().to_owned()).collect();
        told.into_iter().filter(|text| text.starts_with("my-app: 0 merged, 1 stopped")).collect::<Vec<_>>()
    };
    assert_eq!(days(), [""; 0], "it was too early for that");
    for _ in 0..2 {
        house.ao(&["stop"]).succeeds();
        house.start();
        until("the day is told", || !days().is_empty());
    }
    assert_eq!(days().len(), 1, "{:?}", days());
    assert!(days()[0].contains("now: 0 running"), "{:?}", days());
}

#[test]
fn a_project_has_channels_of_its_own_and_strangers_are_mistakes() {
    let (port, heard) = listener();
    let house = House::with("");
    let channels = format!(
        "notifiers:\n  \
         mine: {{ plugin: webhook, url: 'http://127.0.0.1:{port}/mine' }}\n  \
         ours: {{ plugin: webhook, url: 'http://127.0.0.1:{port}/ours' }}\n\
         notificationRouting: {{ urgent: [ours], action: [ours], warning: [ours], info: [ours] }}\n"
    );
    house.configure_project("    notifiers: [mien]", &channels);
    house.ao(&["config", "check"]).says("did you mean `mine`?");
    house.configure_project("    notifiers: [mine]", &channels);
    let checked = house.ao(&["config", "check"]).succeeds();
    assert!(!checked.out.contains("has no effect"), "{}", checked.out);
    house.start();
    let session = house.session("Ask", "[[ask May I?]]");
    house.wait_for(&session, "needs_input");
    until("somebody is told", || !heard.lock().unwrap().is_empty());
    assert_eq!(listed(&house, "mine")["projects"], json!(["my-app"]));
    assert_eq!(listed(&house, "ours")["waiting"], 0);
    let heard = heard.lock().unwrap();
    assert!(heard.iter().all(|request| request.starts_with("POST /mine")), "{heard:?}");
}
