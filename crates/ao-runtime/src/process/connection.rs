//! A connection to a shim.

use std::io;
use std::path::Path;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::attempt_dir::SOCKET;
use super::protocol::{self, ShimMessage, ShimRequest};
use crate::host::files;

/// Bytes read at once.
const SPACE: usize = 64 * 1024;

pub(super) struct ShimConnection {
    stream: UnixStream,
    inbox: Vec<u8>,
}

impl ShimConnection {
    /// Connects to the shim whose socket is in this folder.
    pub(super) async fn to(dir: &Path) -> io::Result<ShimConnection> {
        let (_dir, path) = files::socket(dir, SOCKET)?;
        Ok(ShimConnection { stream: UnixStream::connect(path).await?, inbox: Vec::new() })
    }

    pub(super) async fn ask(&mut self, ask: &ShimRequest, bytes: &[u8]) -> io::Result<()> {
        let mut message = Vec::new();
        protocol::push(ask, bytes, &mut message);
        self.stream.write_all(&message).await
    }

    /// Returns the next message of the shim, `None` when it has closed the connection. Unknown messages are skipped.
    /// Cancel-safe.
    pub(super) async fn hear(&mut self) -> io::Result<Option<(ShimMessage, Vec<u8>)>> {
        loop {
            match protocol::pop(&mut self.inbox)? {
                Some((Some(say), bytes)) => return Ok(Some((say, bytes))),
                Some((None, _)) => continue,
                None => {}
            }
            // An idle connection holds no memory.
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
