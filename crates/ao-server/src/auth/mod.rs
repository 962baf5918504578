//! Authentication of callers, and their rights.
//!
//! ```text
//!  unix socket: pid of the caller ──────────┐
//!  TCP on this machine: who holds the       ├─► whose program? ── descends from an agent ────► Caller::Session
//!  other end, by /proc ─────────────────────┘        │          ── a check, a set-up, git ───► refused
//!                                                    │          ── cannot be told ───────────► refused
//!                                     one of our own user's, or
//!                                     one that we know nothing of
//!                                                    │
//!                  ┌─ bearer token of a session ─────┼───────────────────────────────────────► Caller::Session
//!                  ├─ the owner's token, or a cookie ┼───────────────────────────────────────► Caller::Owner
//!                  └─ nothing: our own user's, and not a browser over TCP ───────────────────► Caller::Owner
//! ```
//!
//! The descent of a program outranks every token: an agent that has read the owner's token is an agent. A wrong token
//! is refused, even if the connection alone would be allowed. Tokens are read from headers only: URLs end up in logs.

mod acts;
mod guard;
mod origin;
mod peer;
mod rights;
mod secret;
mod sockets;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use ao_core::session::{Session, SessionRole};
use ao_core::{ProjectId, PullId, SessionId, TaskId, Timestamp};

pub(crate) use self::acts::AgentAct;
pub(crate) use self::guard::guard;
pub(crate) use self::origin::Names;
pub(crate) use self::peer::Identity;
pub use self::peer::Peer;
pub(crate) use self::rights::{Right, rule};
use self::secret::{Secret, hex};
pub(crate) use self::sockets::Sockets;

/// The lifetime of a sign-in. It is short, because browsers send the cookie to every port of this machine's name, and
/// so to every other program that listens there.
pub(crate) const COOKIE_LASTS: Duration = Duration::from_secs(7 * 24 * 3600);
const CODE_LASTS: Duration = Duration::from_secs(60);
/// The maximum number of unused codes, more than any honest use needs.
const CODES_MOST: usize = 32;
const FILE: &str = "api.token";

/// The token could not be read or created.
#[derive(Debug, thiserror::Error)]
#[error("the token of the API in `{}` cannot be read or made; it must be a file of ours that nobody else may read", .path.display())]
pub struct AuthError {
    path: PathBuf,
    #[source]
    err: io::Error,
}

/// The tokens of one daemon. It cannot be turned off: there is no way to serve without it.
pub struct Auth {
    path: PathBuf,
    /// Held for a few instructions only.
    token: Mutex<Secret>,
    codes: Mutex<HashMap<String, Timestamp>>,
    /// Registers a new secret for masking before it is used.
    learns: OnceLock<Learns>,
}

type Learns = Box<dyn Fn(&str) + Send + Sync>;

impl Auth {
    /// Opens the token in a folder, and creates one if there is none.
    pub fn open(folder: &Path) -> Result<Auth, AuthError> {
        let path = folder.join(FILE);
        let token = Secret::load(&path).map_err(|err| AuthError { path: path.clone(), err })?;
        Ok(Auth { path, token: Mutex::new(token), codes: Mutex::default(), learns: OnceLock::new() })
    }

    /// Returns the current token, for callers that may have it.
    pub fn token(&self) -> String {
        self.secret().text()
    }

    /// Passes the token, and each that replaces it, to the code that masks secrets.
    pub fn taught_to(self, learns: impl Fn(&str) + Send + Sync + 'static) -> Auth {
        learns(&self.token());
        Auth { learns: OnceLock::from(Box::new(learns) as Learns), ..self }
    }

    /// Creates a new token. The old one, and every browser that signed in with it, becomes invalid.
    pub fn rotate(&self) -> Result<String, AuthError> {
        let made = Secret::make(&self.path).map_err(|err| AuthError { path: self.path.clone(), err })?;
        let text = made.text();
        if let Some(learns) = self.learns.get() {
            learns(&text);
        }
        *self.secret() = made;
        Ok(text)
    }

    pub(crate) fn is_token(&self, token: &str) -> bool {
        self.secret().is(token)
    }

    // ── browsers ──

    /// Creates a code for one sign-in; `None` if there are too many unused ones.
    pub(crate) fn code(&self, now: Timestamp) -> io::Result<Option<String>> {
        let code = hex(&secret::random::<16>()?);
        let mut codes = self.codes.lock().expect("nobody panics with the codes");
        codes.retain(|_, until| now < *until);
        if codes.len() >= CODES_MOST {
            return Ok(None);
        }
        codes.insert(code.clone(), now + CODE_LASTS);
        Ok(Some(code))
    }

    /// Redeems a code, and returns the value of the browser's cookie.
    pub(crate) fn sign_in(&self, code: &str, now: Timestamp) -> Option<String> {
        let until = self.codes.lock().expect("nobody panics with the codes").remove(code)?;
        // The value is signed and not stored, so that a browser stays signed in over restarts of the daemon.
        (now < until).then(|| self.secret().sign(now + COOKIE_LASTS))
    }

    pub(crate) fn is_signed_in(&self, cookie: &str, now: Timestamp) -> bool {
        self.secret().signed(cookie).is_some_and(|until| now < until)
    }

    fn secret(&self) -> std::sync::MutexGuard<'_, Secret> {
        self.token.lock().expect("nobody panics with the token")
    }
}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Auth").field("path", &self.path).finish_non_exhaustive()
    }
}

/// An authenticated caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Caller {
    /// The user that the daemon runs for, who may do everything.
    Owner,
    /// An agent, by the descent of its program or by the token of its session.
    Session(Box<Agent>),
    /// An unauthenticated caller of a public route.
    Anonymous,
}

/// The session that an agent calls for, as of the time of the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Agent {
    pub(crate) id: SessionId,
    pub(crate) name: String,
    pub(crate) project: ProjectId,
    pub(crate) role: SessionRole,
    pub(crate) task: Option<TaskId>,
    pub(crate) branch: String,
    /// The pull request that it reviews.
    pub(crate) reads: Option<PullId>,
    pub(crate) live: bool,
}

impl Agent {
    pub(crate) fn of(session: &Session) -> Agent {
        Agent {
            id: session.id,
            name: session.spec.name.clone(),
            project: session.spec.project.clone(),
            role: session.spec.role,
            task: session.spec.task.clone(),
            branch: session.branch().to_owned(),
            reads: session.reads().cloned(),
            live: session.is_live(),
        }
    }

    /// Returns `true` if it may direct others. A session that has ended may not.
    pub(crate) fn is_orchestrator(&self) -> bool {
        self.role == SessionRole::Orchestrator && self.live
    }
}

impl Caller {
    /// Returns its name in logs.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Caller::Owner => "owner",
            Caller::Session(_) => "session",
            Caller::Anonymous => "anonymous",
        }
    }

    /// Returns `true` if this caller may read a session.
    pub(crate) fn may_see(&self, session: &Session) -> bool {
        match self {
            Caller::Owner => true,
            Caller::Session(agent) => {
                agent.id == session.id || (agent.is_orchestrator() && agent.project == session.spec.project)
            }
            Caller::Anonymous => false,
        }
    }

    /// Returns `true` if this caller may direct a session. An agent never directs itself in this way, and an
    /// orchestrator only the sessions of its project.
    pub(crate) fn may_direct(&self, session: &Session) -> bool {
        match self {
            Caller::Owner => true,
            Caller::Session(agent) => {
                agent.id != session.id
                    && session.spec.role != SessionRole::Orchestrator
                    && self.may_see(session)
            }
            Caller::Anonymous => false,
        }
    }
}
