//! Somebody in the daemon's place who answers as he is told, wrongly too.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};

use serde::Serialize;
use serde_json::Value;

use crate::support::Home;

/// What is answered.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Json(u16, String),
    /// These bytes and nothing else.
    Bytes(Vec<u8>),
    /// A stream with these events, which then stays open.
    Events(Vec<String>),
    /// Nothing, for as long as the caller stays.
    Silence,
}

pub(crate) fn json(value: &impl Serialize) -> Reply {
    Reply::Json(200, serde_json::to_string(value).unwrap())
}

pub(crate) fn problem(problem: &ao_api::Problem) -> Reply {
    Reply::Json(problem.status, serde_json::to_string(problem).unwrap())
}

/// A call that came.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// `POST /api/sessions`.
    pub(crate) line: String,
    pub(crate) body: Value,
    /// What stands in `Authorization`.
    pub(crate) proof: Option<String>,
}

#[derive(Default)]
struct Script {
    /// What to answer to whom, one after another; the last one stays.
    replies: BTreeMap<String, VecDeque<Reply>>,
    calls: Vec<Call>,
}

/// The stand-in, at the socket where `ao` looks for its daemon.
pub(crate) struct StandIn {
    pub(crate) home: Home,
    script: Arc<Mutex<Script>>,
}

impl StandIn {
    pub(crate) fn new() -> StandIn {
        let home = Home::new();
        let data = home.path().join(".local/share/ao");
        std::fs::create_dir_all(&data).unwrap();
        let listener = UnixListener::bind(data.join("ao.sock")).unwrap();
        let script = Arc::new(Mutex::new(Script::default()));
        let shared = script.clone();
        // Ends with the test's process; each call has a thread, as some of them never end.
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = shared.clone();
                std::thread::spawn(move || {
                    // Whoever hangs up early is none of the stand-in's business.
                    let _ = serve(stream, &shared);
                });
            }
        });
        StandIn { home, script }
    }

    /// Answers a call so; said again, the next such call.
    pub(crate) fn on(&self, line: &str, reply: Reply) -> &StandIn {
        self.script.lock().unwrap().replies.entry(line.to_owned()).or_default().push_back(reply);
        self
    }

    /// Runs `ao` and returns its exit code and what it said.
    pub(crate) fn ao(&self, args: &[&str]) -> String {
        self.home.run(args)
    }

    /// The calls that came, but those whose line does not begin so.
    pub(crate) fn calls(&self, begin: &str) -> Vec<Call> {
        let script = self.script.lock().unwrap();
        script.calls.iter().filter(|call| call.line.starts_with(begin)).cloned().collect()
    }
}

fn serve(mut stream: UnixStream, script: &Mutex<Script>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let line = first.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let (mut length, mut proof) = (0, None);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "authorization" => proof = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let reply = {
        let mut script = script.lock().unwrap();
        script.calls.push(Call {
            line: line.clone(),
            body: serde_json::from_slice(&body).unwrap_or_default(),
            proof,
        });
        match script.replies.get_mut(&line) {
            Some(replies) if replies.len() > 1 => replies.pop_front().unwrap(),
            Some(replies) => replies[0].clone(),
            None => Reply::Json(
                404,
                format!(
                    r#"{{"type":"urn:ao:nothing-here","title":"nobody said what to answer to {line}","status":404}}"#
                ),
            ),
        }
    };
    match reply {
        Reply::Json(status, body) => write!(
            stream,
            "HTTP/1.1 {status} so\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?,
        Reply::Bytes(bytes) => stream.write_all(&bytes)?,
        Reply::Events(events) => {
            write!(stream, "HTTP/1.1 200 so\r\ncontent-type: text/event-stream\r\n\r\n: hello\n\n")?;
            for event in events {
                write!(stream, "data: {event}\n\n")?;
            }
            stay(reader)?;
        }
        Reply::Silence => stay(reader)?,
    }
    Ok(())
}

/// Until the caller hangs up.
fn stay(mut reader: BufReader<UnixStream>) -> std::io::Result<()> {
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).map(|_| ())
}

/// An event of a session, as the stream tells it.
pub(crate) fn event(seq: u64, session: &str) -> String {
    serde_json::json!({
        "seq": seq,
        "at": "2026-03-01T12:00:00Z",
        "kind": "session.judged",
        "sessionId": format!("ses_{session}"),
        "concerns": format!("ses_{session}"),
        "data": {"judged": {"activity": "idle"}},
    })
    .to_string()
}
