//! Keeping the control client up, and passing commands through it.

use std::time::Duration;

use ao_ports::RuntimeError;
use rustix::process::{Signal, pidfd_send_signal};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::super::names::quoted;
use super::super::server::{self, Server, Standing};
use super::client::{Client, Opening};
use super::lines::News;
use crate::host::{Record, members, procfs, wait};

/// How long tmux may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait before the client is started again; doubles each time that it does not come up.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// What a server says that was asked to end and does not.
pub(super) const STAYS: &str = "stays";

/// How often earlier clients are looked for. tmux needs a moment to notice that one has gone.
const ROUNDS: usize = 50;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in super::super) enum ControlError {
    /// It was done as far as it could be, and tmux says why not further.
    #[error("tmux refused `{command}`: {why}")]
    Refused { command: String, why: String },
    #[error("there is no tmux server; it has ended, or was never started")]
    Gone,
    /// It cannot be told whether it was done.
    #[error("tmux cannot be reached: {0}")]
    Unreachable(String),
}

impl From<ControlError> for RuntimeError {
    fn from(err: ControlError) -> RuntimeError {
        RuntimeError::Failed(err.to_string())
    }
}

/// By which commands are sent. The client behind it is started when it is first needed, and again when it ends.
#[derive(Debug)]
pub(in super::super) struct Control {
    requests: mpsc::Sender<Request>,
    /// The one task. Dropping it ends the client, never the server.
    _task: JoinSet<()>,
}

#[derive(Debug)]
pub(super) struct Request {
    pub(super) command: String,
    /// How many commands it is, as each is answered.
    pub(super) count: usize,
    pub(super) kind: Kind,
    pub(super) reply: oneshot::Sender<Result<Reply, ControlError>>,
}

/// What a request means for the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Asks,
    /// A server is to be started for it, if there is none.
    Starts,
    /// The server may end by it. Nothing is asked of it meanwhile: what comes next is for it or for its successor, and
    /// never for one that is about to go.
    Ends,
}

/// The lines of each command, and the server that has answered.
#[derive(Debug)]
pub(in super::super) struct Reply {
    pub(in super::super) blocks: Vec<Vec<String>>,
    pub(in super::super) server: Record,
}

impl Reply {
    /// The only line of the first command.
    pub(in super::super) fn line(&self) -> &str {
        self.blocks.first().and_then(|block| block.first()).map_or("", String::as_str)
    }
}

impl Control {
    pub(in super::super) fn new(server: Server, news: mpsc::UnboundedSender<News>) -> Control {
        // A few, so that who asks more than tmux can answer waits here.
        let (requests, received) = mpsc::channel(16);
        let mut task = JoinSet::new();
        task.spawn(keep_up(server, received, news));
        Control { requests, _task: task }
    }

    /// Has commands done by the server that is there: all of them in one line, so that they arrive together or not at all.
    pub(in super::super) async fn ask(&self, commands: &[String]) -> Result<Reply, ControlError> {
        self.send(commands.join(" ; "), commands.len(), Kind::Asks).await
    }

    /// The same, and starts a server if there is none.
    pub(in super::super) async fn ask_starting(&self, commands: &[String]) -> Result<Reply, ControlError> {
        self.send(commands.join(" ; "), commands.len(), Kind::Starts).await
    }

    /// Ends the server, unless there is something in it by a format of tmux's. Returns when it is gone, or stays.
    ///
    /// The server looks and ends in one breath, so what was started in it before is seen. What is to be started after that
    /// waits, and finds it gone.
    pub(in super::super) async fn end_unless(&self, something: &str) -> Result<(), ControlError> {
        let command = format!("if-shell -F {} 'display-message -p {STAYS}' kill-server", quoted(something));
        // The condition is answered, and then what it leads to.
        match self.send(command, 2, Kind::Ends).await {
            Ok(_) | Err(ControlError::Gone) => Ok(()),
            Err(err) => Err(err),
        }
    }

    async fn send(&self, command: String, count: usize, kind: Kind) -> Result<Reply, ControlError> {
        let (reply, answer) = oneshot::channel();
        let request = Request { command, count, kind, reply };
        let unreachable = || ControlError::Unreachable("its control client is not run any more".into());
        let asked = async {
            self.requests.send(request).await.map_err(|_| unreachable())?;
            answer.await.map_err(|_| unreachable())?
        };
        let late = || ControlError::Unreachable(format!("no answer for {} s", PATIENCE.as_secs()));
        tokio::time::timeout(PATIENCE, asked).await.unwrap_or_else(|_| Err(late()))
    }
}

async fn keep_up(server: Server, mut requests: mpsc::Receiver<Request>, news: mpsc::UnboundedSender<News>) {
    let mut pause = BACKOFF.0;
    loop {
        // With a server there is something to hear; without one there is until somebody wants it.
        let first = match server.standing() {
            Ok(Standing::Lives(_)) => None,
            _ => match requests.recv().await {
                Some(request) => Some(request),
                None => return,
            },
        };
        match connect(&server, first.as_ref().is_some_and(|request| request.kind == Kind::Starts)).await {
            Ok(client) => {
                pause = BACKOFF.0;
                let why = client.serve(&server.socket, first, &mut requests, &news).await;
                tracing::debug!(%why, "the control client has ended");
            }
            Err(err) => {
                if let Some(request) = first {
                    let _ = request.reply.send(Err(err.clone()));
                }
                if err != ControlError::Gone {
                    tracing::warn!(%err, "the control client does not come up");
                    refuse_for(pause, &err, &mut requests).await;
                    pause = (pause * 2).min(BACKOFF.1);
                }
            }
        }
        if requests.is_closed() {
            return;
        }
    }
}

/// Whoever asks while the client is not tried again is answered at once.
async fn refuse_for(pause: Duration, err: &ControlError, requests: &mut mpsc::Receiver<Request>) {
    let refuse = async {
        while let Some(request) = requests.recv().await {
            let _ = request.reply.send(Err(err.clone()));
        }
    };
    let _ = tokio::time::timeout(pause, refuse).await;
}

async fn connect(server: &Server, starts: bool) -> Result<Client, ControlError> {
    let unreachable = |why: String| ControlError::Unreachable(why);
    match server.standing().map_err(|err| unreachable(err.to_string()))? {
        Standing::Lives(_) => quiet(server).await.map_err(unreachable)?,
        // Whoever wants one started has prepared for it.
        Standing::Gone if starts => {}
        Standing::Gone => return Err(ControlError::Gone),
        Standing::Hidden(record) => {
            // By this it makes its socket anew. To start another server would leave the agents with one that nobody
            // can reach.
            server::signal(&record, Signal::USR1);
            return Err(unreachable(format!(
                "its server, process {}, lives, but its socket `{}` is missing",
                record.pid,
                server.socket.display()
            )));
        }
    }
    let child = server.control(starts).spawn().map_err(|err| unreachable(err.to_string()))?;
    let mut opening = Opening::of(child).ok_or_else(|| unreachable("its client has no pipes".into()))?;
    let pid = match tokio::time::timeout(PATIENCE, opening.server_pid()).await {
        Ok(pid) => pid,
        Err(_) => Err("it does not answer".into()),
    };
    match pid.and_then(|pid| server.keep(pid).map_err(|err| err.to_string())) {
        Ok(server) => Ok(Client::new(opening, server)),
        Err(why) => Err(unreachable(opening.last_words(why).await)),
    }
}

/// Waits until no control client of an earlier daemon is left, and ends those that would stay.
///
/// Up to 3.6, tmux falls over a control client that is not quite there yet when it tells all of them that another one
/// has gone (<https://github.com/tmux/tmux/pull/4980>), and takes all agents along. And one whose daemon was killed does not
/// always go by itself, as what it was to be told cannot be delivered any more.
async fn quiet(server: &Server) -> Result<(), String> {
    for _ in 0..ROUNDS {
        let pids = server.control_clients().await?;
        if pids.is_empty() {
            return Ok(());
        }
        for pid in pids {
            let Some(process) = procfs::stat(pid).map_err(|err| err.to_string())? else { continue };
            let Some(pidfd) = members::pidfd(pid, process.start) else { continue };
            let _ = pidfd_send_signal(&pidfd, Signal::KILL);
            let _ = tokio::time::timeout(PATIENCE, wait::gone(pidfd)).await;
        }
    }
    Err("an earlier control client does not go".into())
}
