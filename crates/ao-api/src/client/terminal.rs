//! A terminal over a WebSocket.

use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt, StreamExt};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::connection::ClientConnection;
use super::{Client, ClientError, RawResponse};
use crate::segment;
use crate::terminal::{FromServer, FromViewer};

/// A view of one terminal.
#[derive(Debug)]
pub struct TerminalSocket {
    reader: TerminalReader,
    writer: TerminalWriter,
}

/// The reading half of a view. A daemon that waits for the viewer to read does not read itself, so both halves can be used
/// at once.
#[derive(Debug)]
pub struct TerminalReader(SplitStream<WebSocketStream<ClientConnection>>);

/// The writing half of a view.
#[derive(Debug)]
pub struct TerminalWriter(SplitSink<WebSocketStream<ClientConnection>, Message>);

/// A message from the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalFrame {
    Control(FromServer),
    /// Output from this offset on.
    Output {
        from: u64,
        bytes: Vec<u8>,
    },
}

impl Client {
    /// Opens a view of a session's terminal. `query` is the part behind the `?`; see the API's documentation.
    pub async fn terminal(&self, session: &str, query: &str) -> Result<TerminalSocket, ClientError> {
        let url = format!("ws://{}/api/sessions/{}/terminal?{query}", self.host(), segment(session));
        let mut request = url.into_client_request().map_err(broken)?;
        if let Some(token) = &self.token {
            let value = HeaderValue::try_from(format!("Bearer {token}"))
                .map_err(|err| ClientError::Broken(err.into()))?;
            request.headers_mut().insert("authorization", value);
        }
        let stream = self.connect().await?;
        match tokio_tungstenite::client_async(request, stream).await {
            Ok((socket, _)) => {
                let (writer, reader) = socket.split();
                Ok(TerminalSocket { reader: TerminalReader(reader), writer: TerminalWriter(writer) })
            }
            Err(Error::Http(refusal)) => {
                let (parts, body) = refusal.into_parts();
                let body = body.unwrap_or_default().into();
                let response = RawResponse { status: parts.status.as_u16(), content_type: None, body };
                Err(ClientError::Refused(Box::new(response.problem())))
            }
            Err(err) => Err(broken(err)),
        }
    }
}

impl TerminalSocket {
    /// Returns the next message; nothing at the end. Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<TerminalFrame>, ClientError> {
        self.reader.next().await
    }

    pub async fn send(&mut self, message: &FromViewer) -> Result<(), ClientError> {
        self.writer.send(message).await
    }

    /// Sends typed bytes unchanged.
    pub async fn type_bytes(&mut self, bytes: Vec<u8>) -> Result<(), ClientError> {
        self.writer.type_bytes(bytes).await
    }

    pub async fn close(self) {
        self.writer.close().await;
    }

    /// Splits the view into halves that can be used at once.
    pub fn split(self) -> (TerminalReader, TerminalWriter) {
        (self.reader, self.writer)
    }
}

impl TerminalReader {
    /// Returns the next message; nothing if the view has ended. A daemon that goes away is an error. Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<TerminalFrame>, ClientError> {
        loop {
            let message = match self.0.next().await {
                Some(Ok(Message::Close(Some(frame)))) if frame.code != CloseCode::Normal => {
                    return Err(ClientError::Broken(format!("closed: {}", frame.reason).into()));
                }
                Some(Ok(Message::Close(_))) => return Ok(None),
                None | Some(Err(Error::ConnectionClosed | Error::AlreadyClosed)) => {
                    return Err(broken(Error::ConnectionClosed));
                }
                Some(Err(err)) => return Err(broken(err)),
                Some(Ok(message)) => message,
            };
            match message {
                Message::Text(text) => {
                    // Messages that a newer daemon has added are ignored.
                    if let Ok(message) = serde_json::from_str(&text) {
                        return Ok(Some(TerminalFrame::Control(message)));
                    }
                }
                Message::Binary(bytes) if bytes.len() >= 8 => {
                    let (from, output) = bytes.split_at(8);
                    let from = u64::from_be_bytes(from.try_into().expect("8 bytes were split off"));
                    return Ok(Some(TerminalFrame::Output { from, bytes: output.to_vec() }));
                }
                _ => {}
            }
        }
    }
}

impl TerminalWriter {
    pub async fn send(&mut self, message: &FromViewer) -> Result<(), ClientError> {
        let json = serde_json::to_string(message).map_err(ClientError::Unexpected)?;
        self.0.send(Message::text(json)).await.map_err(broken)
    }

    /// Sends typed bytes unchanged.
    pub async fn type_bytes(&mut self, bytes: Vec<u8>) -> Result<(), ClientError> {
        self.0.send(Message::binary(bytes)).await.map_err(broken)
    }

    pub async fn close(mut self) {
        // A connection that is gone need not be closed.
        let _ = self.0.close().await;
    }
}

fn broken(err: Error) -> ClientError {
    ClientError::Broken(err.into())
}
