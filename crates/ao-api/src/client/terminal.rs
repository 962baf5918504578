//! A terminal over the wire.

use std::fmt;

use futures::{SinkExt, StreamExt};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error, Message};

use super::stream::Stream;
use super::{Answer, Client, ClientError};
use crate::terminal::{FromServer, FromViewer};

/// A view of one terminal.
pub struct Terminal {
    socket: WebSocketStream<Stream>,
}

/// What came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    Word(FromServer),
    /// Output from this offset on.
    Output {
        from: u64,
        bytes: Vec<u8>,
    },
}

impl Client {
    /// Looks at the terminal of a session. `query` is what stands behind the `?`: see the API's documentation.
    pub async fn terminal(&self, session: &str, query: &str) -> Result<Terminal, ClientError> {
        let url = format!("ws://{}/api/sessions/{session}/terminal?{query}", self.host());
        let mut request = url.into_client_request().map_err(broken)?;
        if let Some(token) = &self.token {
            let value = HeaderValue::try_from(format!("Bearer {token}"))
                .map_err(|err| ClientError::Broken(err.into()))?;
            request.headers_mut().insert("authorization", value);
        }
        let stream = self.connect().await?;
        match tokio_tungstenite::client_async(request, stream).await {
            Ok((socket, _)) => Ok(Terminal { socket }),
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
    /// What comes next; nothing at the end. Can be dropped and called again.
    pub async fn next(&mut self) -> Result<Option<Said>, ClientError> {
        loop {
            let said = match self.socket.next().await {
                None | Some(Ok(Message::Close(_)) | Err(Error::ConnectionClosed | Error::AlreadyClosed)) => {
                    return Ok(None);
                }
                Some(Err(err)) => return Err(broken(err)),
                Some(Ok(said)) => said,
            };
            match said {
                Message::Text(word) => {
                    // A word that is new to us is none of our business.
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

    pub async fn say(&mut self, word: &FromViewer) -> Result<(), ClientError> {
        let json = serde_json::to_string(word).map_err(ClientError::Strange)?;
        self.socket.send(Message::text(json)).await.map_err(broken)
    }

    /// Types bytes as they are.
    pub async fn type_bytes(&mut self, bytes: Vec<u8>) -> Result<(), ClientError> {
        self.socket.send(Message::binary(bytes)).await.map_err(broken)
    }

    pub async fn close(mut self) {
        // Whoever is gone need not be told.
        let _ = self.socket.close(None).await;
    }
}

fn broken(err: Error) -> ClientError {
    ClientError::Broken(err.into())
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal").finish_non_exhaustive()
    }
}
