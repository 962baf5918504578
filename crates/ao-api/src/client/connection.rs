//! A connection over a Unix socket or TCP.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

#[derive(Debug)]
pub(super) enum ClientConnection {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl ClientConnection {
    pub(super) async fn unix(path: &Path) -> io::Result<ClientConnection> {
        Ok(ClientConnection::Unix(UnixStream::connect(path).await?))
    }

    pub(super) async fn tcp(address: &str) -> io::Result<ClientConnection> {
        let stream = TcpStream::connect(address).await?;
        // A key press is one byte, and the user waits for its echo.
        stream.set_nodelay(true)?;
        Ok(ClientConnection::Tcp(stream))
    }

    /// Returns the process that began to listen at the other end, if the system reports it.
    pub(super) fn peer_pid(&self) -> Option<u32> {
        match self {
            ClientConnection::Unix(stream) => u32::try_from(stream.peer_cred().ok()?.pid()?).ok(),
            ClientConnection::Tcp(_) => None,
        }
    }
}

impl AsyncRead for ClientConnection {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            ClientConnection::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
            ClientConnection::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for ClientConnection {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            ClientConnection::Unix(stream) => Pin::new(stream).poll_write(cx, buf),
            ClientConnection::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            ClientConnection::Unix(stream) => Pin::new(stream).poll_flush(cx),
            ClientConnection::Tcp(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            ClientConnection::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            ClientConnection::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
