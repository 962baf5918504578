//! A line to a shim.

use std::io;
use std::path::Path;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::place::SOCKET;
use super::protocol::{self, Ask, Say};
use crate::host::files;

/// How much is read at once.
const SPACE: usize = 64 * 1024;

pub(super) struct Line {
    stream: UnixStream,
    inbox: Vec<u8>,
}

impl Line {
    /// Calls the shim that has its socket in this folder.
    pub(super) async fn to(dir: &Path) -> io::Result<Line> {
        let (_dir, path) = files::socket(dir, SOCKET)?;
        Ok(Line { stream: UnixStream::connect(path).await?, inbox: Vec::new() })
    }

    pub(super) async fn ask(&mut self, ask: &Ask, bytes: &[u8]) -> io::Result<()> {
        let mut message = Vec::new();
        protocol::push(ask, bytes, &mut message);
        self.stream.write_all(&message).await
    }

    /// The next that the shim says, `None` when it has hung up. What is not known is passed over. Cancel-safe.
    pub(super) async fn hear(&mut self) -> io::Result<Option<(Say, Vec<u8>)>> {
        loop {
            match protocol::pop(&mut self.inbox)? {
                Some((Some(say), bytes)) => return Ok(Some((say, bytes))),
                Some((None, _)) => continue,
                None => {}
            }
            // An idle line holds no memory.
            if self.inbox.is_empty() {
                self.inbox = Vec::new();
                self.stream.readable().await?;
            }
            self.inbox.reserve(SPACE);
            if self.stream.read_buf(&mut self.inbox).await? == 0 {
                return Ok(None);
            }
        }
    }
}
