//! The server: records each request, and answers it as its script wants.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Json, Response};
use futures::stream::{self, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::decide;
use super::protocol::{AnswerFrame, ModelProtocol, StreamEvent};
use super::record::RecordedRequest;
use super::script::{ModelScript, PlayedTrouble, TroubleKind};

/// Settings of a stand-in.
#[derive(Debug, Clone, Default)]
pub struct StandinOptions {
    /// The port; 0 takes a free one.
    pub port: u16,
    /// A file that gets each request as a line of JSON.
    pub log: Option<PathBuf>,
    /// A folder that gets the whole body of each request.
    pub bodies: Option<PathBuf>,
}

/// A running stand-in, on a thread of its own. It ends when it is dropped.
#[derive(Debug)]
pub struct StandinServer {
    address: SocketAddr,
    state: Arc<StandinState>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// State that all requests share.
#[derive(Debug)]
struct StandinState {
    log: Option<Mutex<File>>,
    bodies: Option<PathBuf>,
    requests: Mutex<Vec<RecordedRequest>>,
    /// For each prompt, the trouble that it has met.
    met: Mutex<HashMap<String, MetTrouble>>,
}

#[derive(Debug, Clone, Copy)]
struct MetTrouble {
    times: u32,
    first: SystemTime,
}

impl StandinServer {
    /// Starts a stand-in on a free port of loopback.
    pub fn start() -> io::Result<StandinServer> {
        StandinServer::start_with(&StandinOptions::default())
    }

    pub fn start_with(options: &StandinOptions) -> io::Result<StandinServer> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", options.port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let log = options.log.as_ref().map(|path| File::options().create(true).append(true).open(path));
        let state = Arc::new(StandinState {
            log: log.transpose()?.map(Mutex::new),
            bodies: options.bodies.clone(),
            requests: Mutex::default(),
            met: Mutex::default(),
        });
        // Requests may be larger than the default limit: a conversation repeats each file that was written.
        let app = Router::new().fallback(handle).layer(DefaultBodyLimit::disable()).with_state(state.clone());
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).expect("a listener that does not block");
                tokio::select! {
                    ended = axum::serve(listener, app) => ended.expect("it serves until it is stopped"),
                    _ = stopped => {}
                }
            });
            // Connections that hang are dropped.
            runtime.shutdown_background();
        });
        Ok(StandinServer { address, state, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns the base URL, such as `http://127.0.0.1:4000`. Clients of OpenAI add `/v1` to it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests received so far, oldest first.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        locked(&self.state.requests).clone()
    }
}

impl Drop for StandinServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in it was printed already.
            let _ = thread.join();
        }
    }
}

async fn handle(State(state): State<Arc<StandinState>>, method: Method, uri: Uri, bytes: Bytes) -> Response {
    let path = uri.path().to_owned();
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let protocol = ModelProtocol::of(&path).filter(|_| method == Method::POST);
    let mut record =
        RecordedRequest { method: method.to_string(), path, status: 200, body, ..RecordedRequest::default() };
    let Some(protocol) = protocol else {
        let (status, answer) = on_the_side(&method, &record);
        record.status = status.as_u16();
        state.keep(record);
        return (status, Json(answer)).into_response();
    };

    let request = protocol.read(&record.body);
    let script = ModelScript::parse(&request.prompt);
    let answer = decide::answer(&request, &script, &record.body);
    record.model = record.body["model"].as_str().unwrap_or_default().to_owned();
    record.tools = request.tools.iter().map(|tool| tool.name.clone()).collect();
    record.answer = answer.title().chars().take(200).collect();
    let trouble = script.trouble.filter(|_| !record.tools.is_empty());
    let trouble = trouble.and_then(|trouble| state.meet(&request.prompt, trouble));
    (record.system, record.prompt) = (request.system, request.prompt);
    (record.turns, record.results) = (request.turns, request.results);
    let streams = protocol.streams(&record.path, &record.body);
    let frame = AnswerFrame { body: &record.body, answer: &answer };
    let events = if streams { protocol.stream(frame) } else { Vec::new() };
    let whole = if streams { Value::Null } else { protocol.whole(frame) };
    if let Some((trouble, _)) = trouble {
        record.status = match trouble {
            TroubleKind::Status(status) => status,
            TroubleKind::Limit(_) => 429,
            _ => 0,
        };
        record.answer = format!("{trouble:?}");
    }
    state.keep(record);

    tokio::time::sleep(script.wait).await;
    match trouble {
        None if streams => streamed(events, script.spread, StreamEnd::Whole),
        None => Json(whole).into_response(),
        Some((TroubleKind::Status(status), _)) => refused(protocol, status, &[("retry-after", "1".into())]),
        Some((TroubleKind::Limit(length), first)) => refused(protocol, 429, &limit_headers(first + length)),
        Some((TroubleKind::Hang, _)) => std::future::pending().await,
        Some((TroubleKind::Stall, _)) => streamed(events, script.spread, StreamEnd::Stalled),
        Some((TroubleKind::Cut, _)) => streamed(events, script.spread, StreamEnd::Cut),
    }
}

/// Answers the calls that agents make beside the conversation.
fn on_the_side(method: &Method, record: &RecordedRequest) -> (StatusCode, Value) {
    let tokens = (record.body.to_string().len() / 4).max(1);
    let path = record.path.as_str();
    if *method == Method::POST {
        let answer = if path.ends_with("/count_tokens") {
            json!({ "input_tokens": tokens })
        } else if path.ends_with(":countTokens") {
            json!({ "totalTokens": tokens })
        } else {
            json!({})
        };
        (StatusCode::OK, answer)
    } else if *method == Method::HEAD {
        (StatusCode::OK, Value::Null)
    } else if path.ends_with("/models") {
        let model = |id: &str| {
            json!({
                "id": id, "object": "model", "type": "model", "display_name": id, "created": 1,
                "created_at": "2025-01-01T00:00:00Z", "owned_by": "stand-in",
            })
        };
        let models = ["stand-in", "gpt-5", "claude-sonnet-4-5", "gemini-2.5-pro"].map(model);
        (StatusCode::OK, json!({ "object": "list", "data": models, "models": [], "has_more": false }))
    } else {
        let error = json!({ "type": "not_found_error", "message": format!("stand-in: no {path}") });
        (StatusCode::NOT_FOUND, json!({ "error": error }))
    }
}

fn refused(protocol: ModelProtocol, status: u16, headers: &[(&'static str, String)]) -> Response {
    let message = match status {
        429 => "This request would exceed your account's rate limit.".to_owned(),
        _ => format!("stand-in error {status}"),
    };
    let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (code, Json(protocol.refusal(status, &message))).into_response();
    for (name, value) in headers {
        response.headers_mut().insert(*name, value.parse().expect("a plain value"));
    }
    response
}

/// Returns the headers of a usage limit of five hours, as Anthropic sends them.
fn limit_headers(until: SystemTime) -> [(&'static str, String); 8] {
    let reset = until.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs().to_string();
    let left = until.duration_since(SystemTime::now()).unwrap_or_default().as_secs().max(1).to_string();
    [
        ("retry-after", left),
        ("anthropic-ratelimit-unified-status", "rejected".into()),
        ("anthropic-ratelimit-unified-reset", reset.clone()),
        ("anthropic-ratelimit-unified-representative-claim", "five_hour".into()),
        ("anthropic-ratelimit-unified-5h-status", "rejected".into()),
        ("anthropic-ratelimit-unified-5h-reset", reset),
        ("anthropic-ratelimit-unified-5h-utilization", "1.0".into()),
        ("anthropic-ratelimit-unified-overage-status", "rejected".into()),
    ]
}

/// The end of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamEnd {
    Whole,
    /// Half of the events, and then nothing more.
    Stalled,
    /// Half of the events, and then a closed connection.
    Cut,
}

fn streamed(mut events: Vec<StreamEvent>, spread: Duration, end: StreamEnd) -> Response {
    let pieces = events.iter().filter(|event| event.piece).count().max(1);
    let pause = spread / u32::try_from(pieces).unwrap_or(u32::MAX);
    if end != StreamEnd::Whole {
        events.truncate(events.len().div_ceil(2));
    }
    let events = stream::iter(events).then(move |event| async move {
        if event.piece && !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        Ok::<_, io::Error>(event.encoded())
    });
    let body = match end {
        StreamEnd::Whole => Body::from_stream(events),
        StreamEnd::Stalled => Body::from_stream(events.chain(stream::pending())),
        StreamEnd::Cut => {
            // The pause lets the events leave before the connection is reset.
            let reset = stream::once(async {
                tokio::time::sleep(Duration::from_millis(50)).await;
                Err(io::ErrorKind::ConnectionReset.into())
            });
            Body::from_stream(events.chain(reset))
        }
    };
    ([("content-type", "text/event-stream"), ("cache-control", "no-cache")], body).into_response()
}

impl StandinState {
    /// Records a request.
    fn keep(&self, record: RecordedRequest) {
        let mut requests = locked(&self.requests);
        if let Some(log) = &self.log {
            let mut line = serde_json::to_vec(&record).expect("plain data");
            line.push(b'\n');
            locked(log).write_all(&line).expect("the log can be written");
        }
        if let Some(folder) = &self.bodies {
            let file = folder.join(format!("{:04}.json", requests.len() + 1));
            std::fs::write(file, record.body.to_string()).expect("the folder for bodies can be written");
        }
        requests.push(record);
    }

    /// Counts the trouble that a prompt meets. Returns it with the time of the first, until it has ended.
    fn meet(&self, prompt: &str, trouble: PlayedTrouble) -> Option<(TroubleKind, SystemTime)> {
        let mut met = locked(&self.met);
        let now = SystemTime::now();
        let met = met.entry(prompt.to_owned()).or_insert(MetTrouble { times: 0, first: now });
        let over = match trouble.kind {
            TroubleKind::Limit(length) => now >= met.first + length,
            _ => met.times >= trouble.times,
        };
        met.times += 1;
        (!over).then_some((trouble.kind, met.first))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no request panics while it holds the lock")
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpStream;

    use super::*;
    use crate::standin::turns_with;

    /// Sends a request with tools. Returns the status line, the headers and the body of the answer.
    fn post(server: &StandinServer, prompt: &str) -> String {
        let tools = json!([{ "name": "Bash", "input_schema": { "properties": { "command": {} } } }]);
        let messages = json!([{ "role": "user", "content": prompt }]);
        let body = json!({ "stream": true, "system": "Be brief.", "tools": tools, "messages": messages });
        let body = body.to_string();
        send(server, &format!("POST /v1/messages HTTP/1.0\r\ncontent-length: {}\r\n\r\n{body}", body.len()))
    }

    fn send(server: &StandinServer, request: &str) -> String {
        let mut connection = TcpStream::connect(server.address).unwrap();
        connection.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        // A cut connection is an error, after what was sent.
        let _ = connection.read_to_string(&mut answer);
        answer
    }

    #[test]
    fn requests_are_answered_and_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("requests.jsonl");
        let options = StandinOptions {
            log: Some(log.clone()),
            bodies: Some(folder.path().into()),
            ..Default::default()
        };
        let server = StandinServer::start_with(&options).unwrap();
        let answer = post(&server, "[[say hello]]");
        assert!(answer.starts_with("HTTP/1.0 200 OK") && answer.contains(r#""text":"hello""#), "{answer}");
        assert!(send(&server, "GET /v1/models HTTP/1.0\r\n\r\n").contains("stand-in"));
        assert!(send(&server, "GET /nothing HTTP/1.0\r\n\r\n").starts_with("HTTP/1.0 404"));

        let requests = server.requests();
        let short: Vec<_> = requests.iter().map(|r| (r.path.as_str(), r.status, r.answer.as_str())).collect();
        assert_eq!(short, [("/v1/messages", 200, "hello"), ("/v1/models", 200, ""), ("/nothing", 404, "")]);
        assert_eq!((turns_with(&requests, "hello"), turns_with(&requests, "bye")), (1, 0));
        let lines = std::fs::read_to_string(log).unwrap();
        let first: RecordedRequest = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
        assert_eq!((first.turns, first.tools), (vec!["[[say hello]]".to_owned()], vec!["Bash".to_owned()]));
        assert_eq!(first.system, "Be brief.");
        assert!(folder.path().join("0001.json").exists());
    }

    #[test]
    fn refusals_end_after_their_number() {
        let server = StandinServer::start().unwrap();
        for status in [400, 401, 403, 429, 529] {
            let prompt = format!("[[http {status} 1]] [[say late]]");
            let refused = post(&server, &prompt);
            assert!(refused.starts_with(&format!("HTTP/1.0 {status}")), "{refused}");
            assert!(refused.contains("retry-after: 1") && refused.contains("_error"), "{refused}");
            assert!(post(&server, &prompt).contains("late"));
        }
    }

    #[test]
    fn a_limit_names_the_time_of_its_end() {
        let server = StandinServer::start().unwrap();
        let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let reset = || {
            let answer = post(&server, "[[limit 300]] [[say x]]");
            assert!(answer.starts_with("HTTP/1.0 429"), "{answer}");
            let header =
                answer.lines().find_map(|line| line.strip_prefix("anthropic-ratelimit-unified-reset: "));
            header.unwrap().parse::<u64>().unwrap()
        };
        let first = reset();
        assert!(first >= before + 300);
        assert_eq!(reset(), first);
        assert!(post(&server, "[[limit 0]] [[say over]]").contains("over"));
    }

    #[test]
    fn a_cut_stream_has_no_end() {
        let server = StandinServer::start().unwrap();
        let answer = post(&server, "[[cut 1]] [[say one two three]]");
        assert!(answer.contains("message_start") && !answer.contains("message_stop"), "{answer}");
        assert!(post(&server, "[[cut 1]] [[say one two three]]").contains("message_stop"));
    }

    #[test]
    fn a_hanging_request_does_not_keep_it_alive() {
        let server = StandinServer::start().unwrap();
        let mut connection = TcpStream::connect(server.address).unwrap();
        let body = json!({ "tools": [{ "name": "Bash", "input_schema": {} }], "messages": [{ "role": "user", "content": "[[hang]]" }] });
        let body = body.to_string();
        let head = format!("POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
        connection.write_all((head + &body).as_bytes()).unwrap();
        while server.requests().is_empty() {
            std::thread::yield_now();
        }
        drop(server);
        let mut answer = String::new();
        let _ = connection.read_to_string(&mut answer);
        assert_eq!(answer, "");
    }
}
