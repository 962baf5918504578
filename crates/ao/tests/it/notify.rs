//! The channels by which people are told, tried from the command line.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::house::{House, Ran, until};

/// A web address that takes everything and remembers it.
fn listener() -> (u16, Arc<Mutex<Vec<String>>>) {
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
         good: {{ plugin: webhook, url: 'http://127.0.0.1:{port}/${{HOOK_SECRET}}' }}\n  \
         bad: {{ plugin: webhook, url: 'http://127.0.0.1:{closed}/${{HOOK_SECRET}}' }}\n\
         notificationRouting: {{ urgent: [good], action: [good, bad] }}\n"
    ));
    with_variables(&house, &["start", "--port", "0"]).succeeds();
    let told = with_variables(&house, &["notify", "test"]).exits(1);
    assert!(told.out.contains("good") && told.out.contains("bad"), "{}", told.out);
    assert_eq!(heard.lock().unwrap().len(), 1);
    with_variables(&house, &["notify", "test", "good"]).succeeds();
    with_variables(&house, &["notify", "test", "goood"]).says("good");
    let json = with_variables(&house, &["notify", "test", "--json"]);
    for shown in [&told.out, &told.err, &json.out, &json.err] {
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
