//! A web server of a test's own, that writes down what is posted to it.

use std::convert::Infallible;
use std::future::pending;
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// The server's answer to every request.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    With {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: String,
    },
    /// Never.
    Hang,
}

impl Answer {
    pub(crate) fn status(status: u16) -> Answer {
        Answer::With { status, headers: vec![], body: String::new() }
    }

    pub(crate) fn said(status: u16, said: &str) -> Answer {
        Answer::With { status, headers: vec![], body: said.to_owned() }
    }

    pub(crate) fn header(self, name: &'static str, value: &str) -> Answer {
        match self {
            Answer::With { status, mut headers, body } => {
                headers.push((name, value.to_owned()));
                Answer::With { status, headers, body }
            }
            Answer::Hang => self,
        }
    }
}

/// A request that was posted.
#[derive(Debug, Clone)]
pub(crate) struct Posted {
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Posted {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// Ends with the test.
pub(crate) struct Server {
    port: u16,
    state: Arc<State>,
    _tasks: JoinSet<()>,
}

struct State {
    answer: Mutex<Answer>,
    posted: Mutex<Vec<Posted>>,
    came: Notify,
}

impl Server {
    pub(crate) async fn start(answer: Answer) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state =
            Arc::new(State { answer: Mutex::new(answer), posted: Mutex::default(), came: Notify::new() });
        let mut tasks = JoinSet::new();
        let shared = state.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let state = shared.clone();
                let service = service_fn(move |request| answer_one(state.clone(), request));
                connections.spawn(async move {
                    let http = hyper::server::conn::http1::Builder::new();
                    // A client that gives up breaks the connection, which is what some tests are about.
                    let _ = http.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Server { port, state, _tasks: tasks }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn answer(&self, answer: Answer) {
        *self.state.answer.lock().unwrap() = answer;
    }

    pub(crate) fn posted(&self) -> Vec<Posted> {
        self.state.posted.lock().unwrap().clone()
    }

    /// The one thing that was posted.
    pub(crate) fn only(&self) -> Posted {
        let posted = self.posted();
        assert_eq!(posted.len(), 1, "{posted:?}");
        posted[0].clone()
    }

    /// Waits until something was posted.
    pub(crate) async fn something_came(&self) {
        let came = self.state.came.notified();
        if self.posted().is_empty() {
            came.await;
        }
    }
}

async fn answer_one(
    state: Arc<State>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    assert_eq!(request.method(), "POST");
    let target = request.uri().to_string();
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let headers =
        request.headers().iter().map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect();
    let body = request.into_body().collect().await.map(|body| body.to_bytes().to_vec()).unwrap_or_default();
    state.posted.lock().unwrap().push(Posted { target, headers, body });
    state.came.notify_waiters();
    let answer = state.answer.lock().unwrap().clone();
    match answer {
        Answer::Hang => pending().await,
        Answer::With { status, headers, body } => {
            let response =
                headers.into_iter().fold(Response::builder().status(status), |response, (name, value)| {
                    response.header(name, value)
                });
            Ok(response.body(Full::new(body.into())).unwrap())
        }
    }
}
