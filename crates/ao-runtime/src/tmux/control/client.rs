//! One control client, from its start to its end.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Split};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::mpsc;

use super::lines::{LineParser, ParsedLine, TmuxEvent};
use super::link::{ControlError, ControlReply, ControlRequest, RequestKind, STAYS};
use crate::host::{ProcessRecord, wait};

/// Time that a server may take to exit after `kill-server`.
const GOING: Duration = Duration::from_secs(3);

/// A client that has been started.
pub(super) struct OpeningClient {
    child: Child,
    stdin: ChildStdin,
    lines: Split<BufReader<ChildStdout>>,
    parser: LineParser,
}

/// A client whose server is known.
pub(super) struct ControlClient {
    opening: OpeningClient,
    pending: VecDeque<PendingRequest>,
    /// The server that it is connected to.
    server: ProcessRecord,
}

struct PendingRequest {
    request: ControlRequest,
    blocks: Vec<Vec<String>>,
}

impl ControlClient {
    pub(super) fn new(opening: OpeningClient, server: ProcessRecord) -> ControlClient {
        ControlClient { opening, pending: VecDeque::new(), server }
    }

    /// Serves until the client ends, and returns the reason.
    pub(super) async fn serve(
        mut self,
        socket: &Path,
        first: Option<ControlRequest>,
        requests: &mut mpsc::Receiver<ControlRequest>,
        news: &mpsc::UnboundedSender<TmuxEvent>,
    ) -> String {
        // A person may have attached while no client was listening.
        let _ = news.send(TmuxEvent::Came(None));
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
                    None => return "it is no longer needed".into(),
                },
            };
        }
        let why = self.opening.failure_reason(why.unwrap_or_default()).await;
        if self.is_ending()
            && self.is_gone().await
            && let Some(ends) = self.pending.pop_back()
        {
            // tmux leaves the socket behind, and until we are done here no other server is started.
            let _ = std::fs::remove_file(socket);
            let _ = ends
                .request
                .reply
                .send(Ok(ControlReply { blocks: ends.blocks, server: self.server.clone() }));
        }
        for pending in self.pending.drain(..) {
            let _ = pending.request.reply.send(Err(ControlError::Unreachable(why.clone())));
        }
        why
    }

    /// Returns true if the server was asked to end and has not refused. Nothing is sent after that.
    fn is_ending(&self) -> bool {
        self.pending.back().is_some_and(|last| last.request.kind == RequestKind::Ends)
    }

    /// Waits for the server's process to exit: until then it would pass for a living one.
    async fn is_gone(&self) -> bool {
        match self.server.unless_ended() {
            Ok(None) => true,
            Ok(Some(pidfd)) => matches!(tokio::time::timeout(GOING, wait::gone(pidfd)).await, Ok(Ok(()))),
            Err(_) => false,
        }
    }

    async fn send(&mut self, request: ControlRequest) -> Result<(), String> {
        let line = format!("{}\n", request.command);
        self.pending.push_back(PendingRequest { request, blocks: Vec::new() });
        self.opening.stdin.write_all(line.as_bytes()).await.map_err(|err| err.to_string())
    }

    fn hear(
        &mut self,
        line: std::io::Result<Option<Vec<u8>>>,
        news: &mpsc::UnboundedSender<TmuxEvent>,
    ) -> Result<(), String> {
        let line = line.map_err(|err| err.to_string())?.ok_or("it has ended")?;
        match self.opening.parser.take(&line).map_err(|err| err.to_string())? {
            Some(ParsedLine::Answer(answer)) => self.answered(answer),
            Some(ParsedLine::Event(TmuxEvent::Exit(why))) => Err(format!("it was told to end: {why}")),
            Some(ParsedLine::Event(event)) => {
                // There may be no receiver.
                let _ = news.send(event);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn answered(&mut self, answer: Result<Vec<String>, String>) -> Result<(), String> {
        let Some(mut pending) = self.pending.pop_front() else {
            return Err("it sent an answer without a request".into());
        };
        let result = match answer {
            Ok(block) => {
                pending.blocks.push(block);
                // For a server that ends, its exit is the answer; it may print more until then.
                let goes = pending.request.kind == RequestKind::Ends
                    && pending
                        .blocks
                        .last()
                        .is_none_or(|said| said.first().map(String::as_str) != Some(STAYS));
                if pending.blocks.len() < pending.request.count || goes {
                    self.pending.push_front(pending);
                    return Ok(());
                }
                Ok(ControlReply { blocks: pending.blocks, server: self.server.clone() })
            }
            // The commands after the refused one are neither run nor answered.
            Err(why) => {
                let mut command = pending.request.command;
                command.truncate(command.char_indices().nth(200).map_or(command.len(), |(index, _)| index));
                Err(ControlError::Refused { command, why })
            }
        };
        // The caller may have stopped waiting.
        let _ = pending.request.reply.send(result);
        Ok(())
    }
}

impl OpeningClient {
    /// Returns `None` if the child was started without pipes.
    pub(super) fn of(mut child: Child) -> Option<OpeningClient> {
        let (stdin, stdout) = (child.stdin.take()?, child.stdout.take()?);
        Some(OpeningClient {
            child,
            stdin,
            lines: BufReader::new(stdout).split(b'\n'),
            parser: LineParser::default(),
        })
    }

    /// Asks first of all which process the server is.
    pub(super) async fn server_pid(&mut self) -> Result<i32, String> {
        let ask = b"display-message -p '#{pid}'\n";
        self.stdin.write_all(ask).await.map_err(|err| err.to_string())?;
        loop {
            let line =
                self.lines.next_segment().await.map_err(|err| err.to_string())?.ok_or("it has ended")?;
            match self.parser.take(&line).map_err(|err| err.to_string())? {
                Some(ParsedLine::Answer(answer)) => {
                    let pid = answer?.first().and_then(|line| line.parse().ok());
                    return pid.ok_or_else(|| "its server has no pid".to_owned());
                }
                Some(ParsedLine::Event(TmuxEvent::Exit(why))) => return Err(why),
                _ => {}
            }
        }
    }

    /// Returns the stderr of the client at its end, or else `why`.
    pub(super) async fn failure_reason(&mut self, why: String) -> String {
        let mut said = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = tokio::time::timeout(Duration::from_millis(200), stderr.read_to_string(&mut said)).await;
        }
        if said.trim().is_empty() { why } else { said.trim().to_owned() }
    }
}
