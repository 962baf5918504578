//! The way to the daemon and back: what is typed waits in line without what is shown waiting for it.

use std::collections::VecDeque;
use std::time::Duration;

use ao_api::client::{Client, ClientError, TerminalFrame, TerminalReader, TerminalWriter};
use ao_api::terminal::FromViewer;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// A daemon that does not even shake hands for so long is as good as gone.
const CONNECT: Duration = Duration::from_secs(10);
/// How long the last words may take to be sent.
const GOODBYE: Duration = Duration::from_secs(1);
/// What is typed goes in pieces, so that what is shown finds its way between them.
const PIECE: usize = 16 * 1024;
/// How many pieces may wait before nothing more is read of what is typed: a paste of any size is held by the terminal then.
const WAITING: usize = 64;

#[derive(Debug)]
enum Out {
    Type(Vec<u8>),
    Say(FromViewer),
}

pub(super) struct Wire {
    reader: TerminalReader,
    out: mpsc::Sender<Out>,
    waiting: VecDeque<Out>,
    talks: JoinHandle<()>,
}

impl Wire {
    pub(super) async fn connect(client: &Client, session: &str, query: &str) -> Result<Wire, ClientError> {
        let terminal = match timeout(CONNECT, client.terminal(session, query)).await {
            Ok(terminal) => terminal?,
            Err(_) => return Err(ClientError::Broken("the daemon does not answer".into())),
        };
        let (reader, writer) = terminal.split();
        let (out, said) = mpsc::channel(1);
        let talks = tokio::spawn(send(writer, said));
        Ok(Wire { reader, out, waiting: VecDeque::new(), talks })
    }

    /// What comes next; meanwhile what waits is sent. Can be dropped and called again.
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
        self.waiting.extend(bytes.chunks(PIECE).map(|piece| Out::Type(piece.to_vec())));
    }

    pub(super) fn say(&mut self, word: FromViewer) {
        // Of what was shown only the last counts.
        if let (FromViewer::Shown { .. }, Some(Out::Say(last @ FromViewer::Shown { .. }))) =
            (&word, self.waiting.back_mut())
        {
            *last = word;
            return;
        }
        self.waiting.push_back(Out::Say(word));
    }

    /// Sends what waits, and goes.
    pub(super) async fn close(self) {
        let Wire { reader, out, waiting, talks } = self;
        let goodbye = async {
            for word in waiting {
                if out.send(word).await.is_err() {
                    break;
                }
            }
            drop(out);
            let _ = talks.await;
        };
        // Whoever is gone need not be told.
        let _ = timeout(GOODBYE, goodbye).await;
        drop(reader);
    }
}

async fn send(mut writer: TerminalWriter, mut said: mpsc::Receiver<Out>) {
    while let Some(out) = said.recv().await {
        let sent = match out {
            Out::Type(bytes) => writer.type_bytes(bytes).await,
            Out::Say(word) => writer.send(&word).await,
        };
        if sent.is_err() {
            return;
        }
    }
    writer.close().await;
}
