//! A terminal over a WebSocket.

use std::fmt;

use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt, StreamExt};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::stream::Stream;
use super::{Answer, Client, ClientError};
use crate::segment;
use crate::terminal::{FromServer, FromViewer};

/// A view of one terminal.
#[derive(Debug)]
pub struct Terminal {
    hear: Hear,
    talk: Talk,
}

/// The receiving half of a view. A daemon that waits for the viewer to receive does not read what it sends, so both
/// halves can be used at once.
pub struct Hear(SplitStream<WebSocketStream<Stream>>);

/// The sending half of a view.
pub struct Talk(SplitSink<WebSocketStream<Stream>, Message>);

/// A received message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    Word(FromServer),
    /// Output, starting at this offset.
    Output {
        from: u64,
        bytes: Vec<u8>,
    },
}

impl Client {
    /// Opens a view of the terminal of a session. `query` is the part of the URL after the `?`: see the API's
    /// documentation.
    pub async fn terminal(&self, session: &str, query: &str) -> Result<Terminal, ClientError> {
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
                let (talk, hear) = socket.split();
                Ok(Terminal { hear: Hear(hear), talk: Talk(talk) })
            }
            Err(Error::Http(response)) => {
                let (parts, body) = response.into_parts();
                let body = body.unwrap_or_default().into();
                let answer = Answer { status: parts.status.as_u16(), content_type: None, body };
                Err(ClientError::Refused(Box::new(answer.problem())))
            }
            Err(err) => Err(broken(err)),
        }
    }
}

impl Terminal {
    /// Returns the next message, or `None` at the end. Cancel safe.
    pub async fn next(&mut self) -> Result<Option<Said>, ClientError> {
        self.hear.next().await
    }

    pub async fn say(&mut self, word: &FromViewer) -> Result<(), ClientError> {
        self.talk.say(word).await
    }

    /// Types bytes unchanged.
    pub async fn type_bytes(&mut self, bytes: Vec<u8>) -> Result<(), ClientError> {
        self.talk.type_bytes(bytes).await
    }

    pub async fn close(self) {
        self.talk.close().await;
    }

    /// Splits it into both halves.
    pub fn split(self) -> (Hear, Talk) {
        (self.hear, self.talk)
    }
}

impl Hear {
    /// Returns the next message, or `None` if the view has ended. A daemon that goes away is an error. Cancel safe.
    pub async fn next(&mut self) -> Result<Option<Said>, ClientError> {
        loop {
            let said = match self.0.next().await {
                Some(Ok(Message::Close(Some(frame)))) if frame.code != CloseCode::Normal => {
                    return Err(ClientError::Broken(format!("closed: {}", frame.reason).into()));
                }
                Some(Ok(Message::Close(_))) => return Ok(None),
                None | Some(Err(Error::ConnectionClosed | Error::AlreadyClosed)) => {
                    return Err(broken(Error::ConnectionClosed));
                }
                Some(Err(err)) => return Err(broken(err)),
                Some(Ok(said)) => said,
            };
            match said {
                Message::Text(word) => {
                    // Unknown messages are ignored.
                    if let Ok(word) = serde_json::from_str(&word) {
                        return Ok(Some(Said::Word(word)));
                    }
                }
                Message::Binary(bytes) if bytes.len() >= 8 => {
                    let (from, output) = bytes.split_at(8);
                    let from = u64::from_be_bytes(from.try_into().expect("8 bytes were split off"));
                    return Ok(Some(Said::Output { from, bytes: output.to_vec() }));
                }
                _ => {}
            }
        }
    }
}

impl Talk {
    pub async fn say(&mut self, word: &FromViewer) -> Result<(), ClientError> {
        let json = serde_json::to_string(word).map_err(ClientError::Unreadable)?;
        self.0.send(Message::text(json)).await.map_err(broken)
    }

    /// Types bytes unchanged.
    pub async fn type_bytes(&mut self, bytes: Vec<u8>) -> Result<(), ClientError> {
        self.0.send(Message::binary(bytes)).await.map_err(broken)
    }

    pub async fn close(mut self) {
        // The other end may be gone already.
        let _ = self.0.close().await;
    }
}

fn broken(err: Error) -> ClientError {
    ClientError::Broken(err.into())
}

impl fmt::Debug for Hear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hear").finish_non_exhaustive()
    }
}

impl fmt::Debug for Talk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Talk").finish_non_exhaustive()
    }
}
