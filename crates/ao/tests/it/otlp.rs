//! Spans of the daemon at a collector of OpenTelemetry, and at one that does not want them.
#![cfg(feature = "otlp")]

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use crate::house::{House, PATIENCE, Ran, until};

const TOKEN: &str = "ghp_not-for-collectors";

/// acceptance: X5 (over OTLP)
#[test]
fn a_collector_gets_the_spans_of_requests_and_effects_and_no_secrets() {
    let (address, posts) = collector();
    let house = House::new();
    // No batch goes by itself: what comes is sent at the end.
    start(&house, address, "600000");
    let session = house.session("Say hello", &format!("[[say {TOKEN}]]"));
    house.wait_for(&session, "idle");
    house.ao(&["api", "GET", &format!("/sessions/{TOKEN}?why={TOKEN}")]);
    house.ao(&["stop"]).succeeds();

    let (mut heads, mut bodies) = (Vec::new(), Vec::new());
    until("the last request and the launch are known to the collector", || {
        for (head, body) in posts.try_iter() {
            heads.push(head);
            bodies.extend(body);
        }
        let has = |word: &str| contains(&bodies, word);
        has("/sessions/{id}") && has("launch ses_")
    });
    assert!(heads.iter().all(|head| head.starts_with("POST /v1/traces HTTP/1.1")), "{heads:?}");
    // Strings stand in protobuf as they are.
    for word in ["service.name", "service.version", "request", "effect", "GET", "status"] {
        assert!(contains(&bodies, word), "{word}: {}", String::from_utf8_lossy(&bodies));
    }
    assert!(!contains(&bodies, TOKEN));
    assert!(!contains(&bodies, "Say hello"));
}

#[test]
fn a_collector_that_breaks_off_is_told_of_once_and_costs_nothing_else() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (went, broken_off) = mpsc::channel();
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            drop(stream);
            if went.send(()).is_err() {
                break;
            }
        }
    });
    let house = House::new();
    start(&house, address, "50");
    // More than one batch is lost.
    let log = || fs::read_to_string(house.path("data/logs/daemon.log")).unwrap_or_default();
    until("it is told of", || log().contains("do not reach their collector"));
    broken_off.try_iter().for_each(drop);
    house.ao(&["list"]).succeeds();
    broken_off.recv_timeout(PATIENCE).expect("the next batch is tried as well");
    let session = house.session("Say hello", "[[say hello]]");
    house.wait_for(&session, "idle");
    house.ao(&["stop"]).succeeds();
    let told = log().lines().filter(|line| line.contains("do not reach their collector")).count();
    assert_eq!(told, 1);
}

#[test]
fn an_address_that_is_none_is_told_of_and_the_daemon_runs() {
    let house = House::new();
    let mut command = house.command(&house.repository(), &["start", "--port", "0"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("collector:{TOKEN}"));
    Ran::of(command.output().unwrap()).succeeds();
    let log = fs::read_to_string(house.path("data/logs/daemon.log")).unwrap();
    assert!(log.contains("OTEL_EXPORTER_OTLP_ENDPOINT is no address"), "{log}");
    assert!(!log.contains(TOKEN));
}

/// Starts a daemon that sends its spans there, whenever so many milliseconds have passed.
fn start(house: &House, collector: SocketAddr, every: &str) {
    let mut command = house.command(&house.repository(), &["start", "--port", "0"]);
    command
        .env("GITHUB_TOKEN", TOKEN)
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{collector}"))
        // Until then a batch that was lost is tried again.
        .env("OTEL_EXPORTER_OTLP_TIMEOUT", "300")
        .env("OTEL_BSP_SCHEDULE_DELAY", every);
    Ran::of(command.output().unwrap()).succeeds();
}

/// A collector, and what is posted to it: heads and bodies. Ends with the test.
fn collector() -> (SocketAddr, Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (posted, posts) = mpsc::channel();
    thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let posted = posted.clone();
            thread::spawn(move || {
                let mut stream = BufReader::new(stream);
                while let Ok(Some(post)) = take(&mut stream) {
                    if posted.send(post).is_err() {
                        break;
                    }
                }
            });
        }
    });
    (address, posts)
}

/// One request of a connection, answered.
fn take(stream: &mut BufReader<TcpStream>) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head)? == 0 {
            return Ok(None);
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let mut body = vec![0; length.expect("a batch has a length")];
    stream.read_exact(&mut body)?;
    stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")?;
    Ok(Some((head, body)))
}

fn contains(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|part| part == word.as_bytes())
}
