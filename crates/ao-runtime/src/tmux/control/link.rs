//! Maintains the control client, and sends commands through it.

use std::time::Duration;

use ao_core::text::single_quoted;
use ao_ports::RuntimeError;
use rustix::process::{Signal, pidfd_send_signal};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::super::server::{self, ServerState, TmuxServer};
use super::client::{ControlClient, OpeningClient};
use super::lines::TmuxEvent;
use crate::host::{ProcessRecord, members, procfs, wait};

/// Time limit for an answer of tmux.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause before the client is started again; doubles each time that it does not come up.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// The answer of a server that was asked to end and does not.
pub(super) const STAYS: &str = "stays";

/// Most searches for earlier clients. tmux needs a moment to notice that one has gone.
const ROUNDS: usize = 50;

/// The reason why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in super::super) enum ControlError {
    /// The commands up to this one were run, and tmux gives the reason why not this one.
    #[error("tmux refused `{command}`: {why}")]
    Refused { command: String, why: String },
    #[error("there is no tmux server; it has ended, or was never started")]
    Gone,
    /// It is unknown whether the commands were run.
    #[error("tmux cannot be reached: {0}")]
    Unreachable(String),
}

impl From<ControlError> for RuntimeError {
    fn from(err: ControlError) -> RuntimeError {
        RuntimeError::Failed(err.to_string())
    }
}

/// Sends commands. The client behind it is started on first use, and again when it ends.
#[derive(Debug)]
pub(in super::super) struct ControlLink {
    requests: mpsc::Sender<ControlRequest>,
    /// The client task. Dropping it ends the client, never the server.
    _task: JoinSet<()>,
}

#[derive(Debug)]
pub(super) struct ControlRequest {
    pub(super) command: String,
    /// The number of commands, since each is answered.
    pub(super) count: usize,
    pub(super) kind: RequestKind,
    pub(super) reply: oneshot::Sender<Result<ControlReply, ControlError>>,
}

/// The effect of a request on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestKind {
    Asks,
    /// Starts a server, if there is none.
    Starts,
    /// May end the server. Nothing else is sent meanwhile: the next request goes to it or to its successor, and never
    /// to one that is about to exit.
    Ends,
}

/// The output lines of each command, and the server that has answered.
#[derive(Debug)]
pub(in super::super) struct ControlReply {
    pub(in super::super) blocks: Vec<Vec<String>>,
    pub(in super::super) server: ProcessRecord,
}

impl ControlReply {
    /// Returns the first line of the first command.
    pub(in super::super) fn line(&self) -> &str {
        self.blocks.first().and_then(|block| block.first()).map_or("", String::as_str)
    }
}

impl ControlLink {
    pub(in super::super) fn new(server: TmuxServer, news: mpsc::UnboundedSender<TmuxEvent>) -> ControlLink {
        // A small bound, so that callers wait here if they ask more than tmux can answer.
        let (requests, received) = mpsc::channel(16);
        let mut task = JoinSet::new();
        task.spawn(keep_up(server, received, news));
        ControlLink { requests, _task: task }
    }

    /// Runs commands on the existing server: all of them in one line, so that they arrive together or not at all.
    pub(in super::super) async fn ask(&self, commands: &[String]) -> Result<ControlReply, ControlError> {
        self.send(commands.join(" ; "), commands.len(), RequestKind::Asks).await
    }

    /// Runs commands, and starts a server if there is none.
    pub(in super::super) async fn ask_starting(
        &self,
        commands: &[String],
    ) -> Result<ControlReply, ControlError> {
        self.send(commands.join(" ; "), commands.len(), RequestKind::Starts).await
    }

    /// Ends the server, unless the tmux format `something` is non-empty. Returns when it is gone, or stays.
    ///
    /// The server evaluates the format and ends atomically, so a session started in it before is seen. A later start
    /// waits, and finds it gone.
    pub(in super::super) async fn end_unless(&self, something: &str) -> Result<(), ControlError> {
        let command =
            format!("if-shell -F {} 'display-message -p {STAYS}' kill-server", single_quoted(something));
        // Both the condition and the chosen command are answered.
        match self.send(command, 2, RequestKind::Ends).await {
            Ok(_) | Err(ControlError::Gone) => Ok(()),
            Err(err) => Err(err),
        }
    }

    async fn send(
        &self,
        command: String,
        count: usize,
        kind: RequestKind,
    ) -> Result<ControlReply, ControlError> {
        let (reply, answer) = oneshot::channel();
        let request = ControlRequest { command, count, kind, reply };
        let unreachable = || ControlError::Unreachable("its control client is not run any more".into());
        let asked = async {
            self.requests.send(request).await.map_err(|_| unreachable())?;
            answer.await.map_err(|_| unreachable())?
        };
        let late = || ControlError::Unreachable(format!("no answer for {} s", PATIENCE.as_secs()));
        tokio::time::timeout(PATIENCE, asked).await.unwrap_or_else(|_| Err(late()))
    }
}

async fn keep_up(
    server: TmuxServer,
    mut requests: mpsc::Receiver<ControlRequest>,
    news: mpsc::UnboundedSender<TmuxEvent>,
) {
    let mut pause = BACKOFF.0;
    loop {
        // With a server there are notifications to receive; without one there is nothing to do until a request comes.
        let first = match server.standing() {
            Ok(ServerState::Lives(_)) => None,
            _ => match requests.recv().await {
                Some(request) => Some(request),
                None => return,
            },
        };
        match connect(&server, first.as_ref().is_some_and(|request| request.kind == RequestKind::Starts))
            .await
        {
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

/// Answers requests at once while the client is not retried.
async fn refuse_for(pause: Duration, err: &ControlError, requests: &mut mpsc::Receiver<ControlRequest>) {
    let refuse = async {
        while let Some(request) = requests.recv().await {
            let _ = request.reply.send(Err(err.clone()));
        }
    };
    let _ = tokio::time::timeout(pause, refuse).await;
}

async fn connect(server: &TmuxServer, starts: bool) -> Result<ControlClient, ControlError> {
    let unreachable = |why: String| ControlError::Unreachable(why);
    match server.standing().map_err(|err| unreachable(err.to_string()))? {
        ServerState::Lives(_) => quiet(server).await.map_err(unreachable)?,
        // The caller that starts a server has prepared for it.
        ServerState::Gone if starts => {}
        ServerState::Gone => return Err(ControlError::Gone),
        ServerState::Hidden(record) => {
            // The signal makes it recreate its socket. Starting another server would leave the agents with one that
            // cannot be reached.
            server::signal(&record, Signal::USR1);
            return Err(unreachable(format!(
                "its server, process {}, lives, but its socket `{}` is missing",
                record.pid,
                server.socket.display()
            )));
        }
    }
    let child = server.control(starts).spawn().map_err(|err| unreachable(err.to_string()))?;
    let mut opening =
        OpeningClient::of(child).ok_or_else(|| unreachable("its client has no pipes".into()))?;
    let pid = match tokio::time::timeout(PATIENCE, opening.server_pid()).await {
        Ok(pid) => pid,
        Err(_) => Err("it does not answer".into()),
    };
    match pid.and_then(|pid| server.keep(pid).map_err(|err| err.to_string())) {
        Ok(server) => Ok(ControlClient::new(opening, server)),
        Err(why) => Err(unreachable(opening.failure_reason(why).await)),
    }
}

/// Waits until no control client of an earlier daemon is left, and ends those that would stay.
///
/// Up to 3.6, tmux crashes on a control client that is not fully attached yet when it notifies all of them that another
/// one has gone (<https://github.com/tmux/tmux/pull/4980>), and takes all agents along. And a client whose daemon was
/// killed does not always exit by itself, since pending output cannot be delivered any more.
async fn quiet(server: &TmuxServer) -> Result<(), String> {
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
