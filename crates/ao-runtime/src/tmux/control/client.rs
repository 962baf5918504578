//! One control client, from its start to its end.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Split};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::mpsc;

use super::lines::{Heard, Lines, News};
use super::link::{ControlError, Kind, Reply, Request, STAYS};
use crate::host::{Record, wait};

/// How long a server may take to go when it was told to.
const GOING: Duration = Duration::from_secs(3);

/// A client that has been started.
pub(super) struct Opening {
    child: Child,
    stdin: ChildStdin,
    lines: Split<BufReader<ChildStdout>>,
    parser: Lines,
}

/// A client whose server is known.
pub(super) struct Client {
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
    pub(super) fn new(opening: Opening, server: Record) -> Client {
        Client { opening, pending: VecDeque::new(), server }
    }

    /// Serves until the client ends, and says why it did.
    pub(super) async fn serve(
        mut self,
        socket: &Path,
        first: Option<Request>,
        requests: &mut mpsc::Receiver<Request>,
        news: &mpsc::UnboundedSender<News>,
    ) -> String {
        // Somebody may have come while nobody listened.
        let _ = news.send(News::Came(None));
        let why = match first {
            Some(request) => self.send(request).await,
            None => Ok(()),
        };
        let mut why = why.err();
        while why.is_none() {
            why = tokio::select! {
                line = self.opening.lines.next_segment() => self.hear(line, news).err(),
                request = requests.recv(), if !self.is_ending() => match request {
                    Some(request) => self.send(request).await.err(),
                    None => return "nobody needs it any more".into(),
                },
            };
        }
        let why = self.opening.last_words(why.unwrap_or_default()).await;
        if self.is_ending()
            && self.is_gone().await
            && let Some(ends) = self.pending.pop_back()
        {
            // tmux leaves it, and until we are done here nobody starts another.
            let _ = std::fs::remove_file(socket);
            let _ = ends.request.reply.send(Ok(Reply { blocks: ends.blocks, server: self.server.clone() }));
        }
        for pending in self.pending.drain(..) {
            let _ = pending.request.reply.send(Err(ControlError::Unreachable(why.clone())));
        }
        why
    }

    /// Whether the server was told to end and has not said that it stays. Nothing is sent after that.
    fn is_ending(&self) -> bool {
        self.pending.back().is_some_and(|last| last.request.kind == Kind::Ends)
    }

    /// Whether the server goes: until its process has, it would pass for one that lives.
    async fn is_gone(&self) -> bool {
        match self.server.unless_ended() {
            Ok(None) => true,
            Ok(Some(pidfd)) => matches!(tokio::time::timeout(GOING, wait::gone(pidfd)).await, Ok(Ok(()))),
            Err(_) => false,
        }
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
                // Of a server that ends, the answer is that it goes; it may say more until then.
                let goes = pending.request.kind == Kind::Ends
                    && pending
                        .blocks
                        .last()
                        .is_none_or(|said| said.first().map(String::as_str) != Some(STAYS));
                if pending.blocks.len() < pending.request.count || goes {
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
    /// `None` if it was started without pipes.
    pub(super) fn of(mut child: Child) -> Option<Opening> {
        let (stdin, stdout) = (child.stdin.take()?, child.stdout.take()?);
        Some(Opening { child, stdin, lines: BufReader::new(stdout).split(b'\n'), parser: Lines::default() })
    }

    /// Asks, before anything else is heard, which process the server is.
    pub(super) async fn server_pid(&mut self) -> Result<i32, String> {
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
    pub(super) async fn last_words(&mut self, why: String) -> String {
        let mut said = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = tokio::time::timeout(Duration::from_millis(200), stderr.read_to_string(&mut said)).await;
        }
        if said.trim().is_empty() { why } else { said.trim().to_owned() }
    }
}
