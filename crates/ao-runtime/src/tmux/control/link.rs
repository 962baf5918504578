//! Keeping the control client up, and passing commands through it.

use std::collections::VecDeque;
use std::time::Duration;

use ao_ports::RuntimeError;
use rustix::process::{Signal, pidfd_send_signal};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Split};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::super::server::{self, Server, Standing};
use super::lines::{Heard, Lines, News};
use crate::host::{Record, members, procfs, wait};

/// How long tmux may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait before the client is started again; doubles each time that it does not come up.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

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
struct Request {
    command: String,
    /// How many commands it is, as each is answered.
    count: usize,
    /// Whether a server is to be started for it.
    starts: bool,
    reply: oneshot::Sender<Result<Reply, ControlError>>,
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
        self.send(commands, false).await
    }

    /// The same, and starts a server if there is none.
    pub(in super::super) async fn ask_starting(&self, commands: &[String]) -> Result<Reply, ControlError> {
        self.send(commands, true).await
    }

    async fn send(&self, commands: &[String], starts: bool) -> Result<Reply, ControlError> {
        let (reply, answer) = oneshot::channel();
        let command = commands.join(" ; ");
        let request = Request { command, count: commands.len(), starts, reply };
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
        match connect(&server, first.as_ref().is_some_and(|request| request.starts)).await {
            Ok(client) => {
                pause = BACKOFF.0;
                let why = client.serve(first, &mut requests, &news).await;
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
    let mut child = server.control(starts).spawn().map_err(|err| unreachable(err.to_string()))?;
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(unreachable("its client has no pipes".into()));
    };
    let mut opening =
        Opening { child, stdin, lines: BufReader::new(stdout).split(b'\n'), parser: Lines::default() };
    let pid = match tokio::time::timeout(PATIENCE, opening.server_pid()).await {
        Ok(pid) => pid,
        Err(_) => Err("it does not answer".into()),
    };
    match pid.and_then(|pid| server.keep(pid).map_err(|err| err.to_string())) {
        Ok(server) => Ok(Client { opening, pending: VecDeque::new(), server }),
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

/// A client that has been started.
struct Opening {
    child: Child,
    stdin: ChildStdin,
    lines: Split<BufReader<ChildStdout>>,
    parser: Lines,
}

struct Client {
    opening: Opening,
    pending: VecDeque<Pending>,
    /// Which server it is a client of.
    server: Record,
}

struct Pending {
    request: Request,
    blocks: Vec<Vec<String>>,
}

impl Client {
    /// Serves until the client ends, and says why it did.
    async fn serve(
        mut self,
        first: Option<Request>,
        requests: &mut mpsc::Receiver<Request>,
        news: &mpsc::UnboundedSender<News>,
    ) -> String {
        // Somebody may have come while nobody listened.
        let _ = news.send(News::Clients);
        let why = match first {
            Some(request) => self.send(request).await,
            None => Ok(()),
        };
        let mut why = why.err();
        while why.is_none() {
            why = tokio::select! {
                line = self.opening.lines.next_segment() => self.hear(line, news).err(),
                request = requests.recv() => match request {
                    Some(request) => self.send(request).await.err(),
                    None => return "nobody needs it any more".into(),
                },
            };
        }
        let why = self.opening.last_words(why.unwrap_or_default()).await;
        for pending in self.pending.drain(..) {
            let _ = pending.request.reply.send(Err(ControlError::Unreachable(why.clone())));
        }
        why
    }

    async fn send(&mut self, request: Request) -> Result<(), String> {
        let line = format!("{}\n", request.command);
        self.pending.push_back(Pending { request, blocks: Vec::new() });
        self.opening.stdin.write_all(line.as_bytes()).await.map_err(|err| err.to_string())
    }

    fn hear(
        &mut self,
        line: std::io::Result<Option<Vec<u8>>>,
        news: &mpsc::UnboundedSender<News>,
    ) -> Result<(), String> {
        let line = line.map_err(|err| err.to_string())?.ok_or("it has ended")?;
        match self.opening.parser.take(&line).map_err(|err| err.to_string())? {
            Some(Heard::Answer(answer)) => self.answered(answer),
            Some(Heard::News(News::Exit(why))) => Err(format!("it was told to end: {why}")),
            Some(Heard::News(told)) => {
                // Nobody may want to know.
                let _ = news.send(told);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn answered(&mut self, answer: Result<Vec<String>, String>) -> Result<(), String> {
        let Some(mut pending) = self.pending.pop_front() else {
            return Err("it answers what nobody asked".into());
        };
        let result = match answer {
            Ok(block) => {
                pending.blocks.push(block);
                if pending.blocks.len() < pending.request.count {
                    self.pending.push_front(pending);
                    return Ok(());
                }
                Ok(Reply { blocks: pending.blocks, server: self.server.clone() })
            }
            // The commands behind the one that was refused are not done, and not answered.
            Err(why) => {
                let mut command = pending.request.command;
                command.truncate(command.char_indices().nth(200).map_or(command.len(), |(index, _)| index));
                Err(ControlError::Refused { command, why })
            }
        };
        // Who asked may have gone.
        let _ = pending.request.reply.send(result);
        Ok(())
    }
}

impl Opening {
    /// Asks, before anything else is heard, which process the server is.
    async fn server_pid(&mut self) -> Result<i32, String> {
        let ask = b"display-message -p '#{pid}'\n";
        self.stdin.write_all(ask).await.map_err(|err| err.to_string())?;
        loop {
            let line =
                self.lines.next_segment().await.map_err(|err| err.to_string())?.ok_or("it has ended")?;
            match self.parser.take(&line).map_err(|err| err.to_string())? {
                Some(Heard::Answer(answer)) => {
                    let pid = answer?.first().and_then(|line| line.parse().ok());
                    return pid.ok_or_else(|| "its server has no pid".to_owned());
                }
                Some(Heard::News(News::Exit(why))) => return Err(why),
                _ => {}
            }
        }
    }

    /// What the client itself has said on its way out, if anything.
    async fn last_words(&mut self, why: String) -> String {
        let mut said = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = tokio::time::timeout(Duration::from_millis(200), stderr.read_to_string(&mut said)).await;
        }
        if said.trim().is_empty() { why } else { said.trim().to_owned() }
    }
}
