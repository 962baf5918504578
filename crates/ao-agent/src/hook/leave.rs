//! The agent's side: writes one file per event, atomically.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use ao_ports::environment::{ATTEMPT, SESSION};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::folder::{self, ReportKind};
use super::{PAYLOAD_MOST, SPOOL, TOKEN, UNFINISHED, WAITING, understand};

/// The sender of a report, and the spool it goes to.
#[derive(Clone)]
pub struct Place {
    session: String,
    attempt: String,
    token: String,
    spool: PathBuf,
}

/// A report as stored in the spool.
#[derive(Serialize, Deserialize)]
pub(super) struct SpooledReport {
    /// The time at which the hook ran, in milliseconds since 1970.
    pub(super) at: i64,
    pub(super) session: String,
    pub(super) attempt: String,
    pub(super) token: String,
    /// The event's name from the command line, for agents whose payload does not have it.
    pub(super) event: Option<String>,
    pub(super) payload: Value,
}

/// The reason why a report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum LeaveError {
    #[error("{variable} is not set: this agent was not started by ao, so there is no daemon to report to")]
    NotOurs { variable: &'static str },
    #[error("the report cannot be left in `{}`", .spool.display())]
    Io {
        spool: PathBuf,
        #[source]
        err: io::Error,
    },
}

impl Place {
    /// Reads the sender and the spool from the environment that the agent was given.
    pub fn from_environment(get: impl Fn(&str) -> Option<String>) -> Result<Place, LeaveError> {
        let need = |variable| {
            get(variable).filter(|value| !value.is_empty()).ok_or(LeaveError::NotOurs { variable })
        };
        Ok(Place {
            session: need(SESSION)?,
            attempt: need(ATTEMPT)?,
            token: need(TOKEN)?,
            spool: need(SPOOL)?.into(),
        })
    }
}

/// Writes a report to the spool. Payloads that are not JSON, or too long, are left out: that the event happened is
/// still worth reporting.
///
/// `argument` is that of the hook's command line: the event's name, or the payload itself, as for Codex's `notify`.
/// In that case `input` is not read, since it may be an idle terminal.
pub fn leave(place: &Place, argument: Option<&str>, input: impl Read) -> Result<(), LeaveError> {
    let failed = |err| LeaveError::Io { spool: place.spool.clone(), err };
    let (event, bytes) = match argument {
        Some(payload) if payload.trim_start().starts_with('{') => (None, payload.as_bytes().to_vec()),
        event => {
            let mut bytes = Vec::new();
            input.take(PAYLOAD_MOST as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
            (event, bytes)
        }
    };
    let whole = bytes.len() <= PAYLOAD_MOST;
    let payload = if whole { serde_json::from_slice(&bytes).unwrap_or_default() } else { Value::Null };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let left = SpooledReport {
        at: i64::try_from(now.as_millis()).unwrap_or(i64::MAX),
        session: place.session.clone(),
        attempt: place.attempt.clone(),
        token: place.token.clone(),
        event: event.map(str::to_owned),
        payload,
    };
    let kind = match understand(event, &left.payload).taken {
        Some(_) => ReportKind::Taken,
        None => ReportKind::State,
    };
    let name = folder::name(now, kind, &place.session);
    let body = serde_json::to_vec(&left).map_err(|err| failed(err.into()))?;
    put(&place.spool, &name, &body).map_err(failed)
}

/// Not synced: a crash of the whole machine would end the agent too, so its last report does not matter.
fn put(spool: &std::path::Path, name: &str, body: &[u8]) -> io::Result<()> {
    let unfinished = spool.join(UNFINISHED).join(name);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    let written = file.write_all(body).and_then(|()| fs::rename(&unfinished, spool.join(WAITING).join(name)));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Place")
            .field("session", &self.session)
            .field("spool", &self.spool)
            .finish_non_exhaustive()
    }
}
