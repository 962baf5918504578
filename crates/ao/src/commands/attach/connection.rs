//! The connection to the daemon: typed bytes are queued without delaying the output.

use std::collections::VecDeque;
use std::time::Duration;

use ao_api::client::{Client, ClientError, TerminalFrame, TerminalReader, TerminalWriter};
use ao_api::terminal::FromViewer;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// A daemon that does not complete the handshake in this time is gone.
const CONNECT: Duration = Duration::from_secs(10);
/// Time to send the last messages.
const GOODBYE: Duration = Duration::from_secs(1);
/// Typed bytes are sent in pieces of this size, so that other messages get between them.
const PIECE: usize = 16 * 1024;
/// Number of pieces that may be queued before typing is no longer read: the terminal then holds back a large paste.
const WAITING: usize = 64;

#[derive(Debug)]
enum OutgoingMessage {
    Type(Vec<u8>),
    Say(FromViewer),
}

pub(super) struct TerminalConnection {
    reader: TerminalReader,
    out: mpsc::Sender<OutgoingMessage>,
    waiting: VecDeque<OutgoingMessage>,
    talks: JoinHandle<()>,
}

impl TerminalConnection {
    pub(super) async fn connect(
        client: &Client,
        session: &str,
        query: &str,
    ) -> Result<TerminalConnection, ClientError> {
        let terminal = match timeout(CONNECT, client.terminal(session, query)).await {
            Ok(terminal) => terminal?,
            Err(_) => return Err(ClientError::Broken("the daemon does not answer".into())),
        };
        let (reader, writer) = terminal.split();
        let (out, said) = mpsc::channel(1);
        let talks = tokio::spawn(send(writer, said));
        Ok(TerminalConnection { reader, out, waiting: VecDeque::new(), talks })
    }

    /// Returns the next message, and sends queued ones meanwhile. Cancel-safe.
    pub(super) async fn next(&mut self) -> Result<Option<TerminalFrame>, ClientError> {
        loop {
            tokio::select! {
                frame = self.reader.next() => return frame,
                // If the sending task has ended, the connection is broken; the reader reports that.
                Ok(permit) = self.out.reserve(), if !self.waiting.is_empty() => {
                    if let Some(out) = self.waiting.pop_front() {
                        permit.send(out);
                    }
                }
            }
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.waiting.len() < WAITING
    }

    pub(super) fn type_bytes(&mut self, bytes: &[u8]) {
        self.waiting.extend(bytes.chunks(PIECE).map(|piece| OutgoingMessage::Type(piece.to_vec())));
    }

    pub(super) fn send(&mut self, word: FromViewer) {
        // Only the last report of what was shown matters.
        if let (FromViewer::Shown { .. }, Some(OutgoingMessage::Say(last @ FromViewer::Shown { .. }))) =
            (&word, self.waiting.back_mut())
        {
            *last = word;
            return;
        }
        self.waiting.push_back(OutgoingMessage::Say(word));
    }

    /// Sends the queued messages and closes the connection.
    pub(super) async fn close(self) {
        let TerminalConnection { reader, out, waiting, talks } = self;
        let goodbye = async {
            for word in waiting {
                if out.send(word).await.is_err() {
                    break;
                }
            }
            drop(out);
            let _ = talks.await;
        };
        // A connection that is gone need not be closed.
        let _ = timeout(GOODBYE, goodbye).await;
        drop(reader);
    }
}

async fn send(mut writer: TerminalWriter, mut said: mpsc::Receiver<OutgoingMessage>) {
    while let Some(out) = said.recv().await {
        let sent = match out {
            OutgoingMessage::Type(bytes) => writer.type_bytes(bytes).await,
            OutgoingMessage::Say(word) => writer.send(&word).await,
        };
        if sent.is_err() {
            return;
        }
    }
    writer.close().await;
}
