//! Who is calling, and what that caller may do.
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
//! Where a program comes from outranks every token: an agent that has read the owner's token is an agent. A wrong token is
//! refused, whatever the connection would allow. Tokens are taken from headers only: what stands in an address ends up in logs.

mod deeds;
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

use ao_core::session::{Role, Session};
use ao_core::{ProjectId, PullId, SessionId, TaskId, Timestamp};

pub(crate) use self::deeds::Deed;
pub(crate) use self::guard::guard;
pub(crate) use self::origin::Names;
pub(crate) use self::peer::Identity;
pub use self::peer::Peer;
pub(crate) use self::rights::{Right, rule};
use self::secret::{Secret, hex};
pub(crate) use self::sockets::Sockets;

/// How long a browser stays signed in. Not for long, because browsers show the cookie to every port of this machine's name,
/// and so to whatever else listens there.
pub(crate) const COOKIE_LASTS: Duration = Duration::from_secs(7 * 24 * 3600);
const CODE_LASTS: Duration = Duration::from_secs(60);
/// More than this many codes at a time are nobody's honest wish.
const CODES_MOST: usize = 32;
const FILE: &str = "api.token";

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
#[error("the token of the API in `{}` cannot be read or made; it must be a file of ours that nobody else may read", .path.display())]
pub struct AuthError {
    path: PathBuf,
    #[source]
    err: io::Error,
}

/// The tokens of one daemon. It is never off: there is no way to serve without it.
pub struct Auth {
    path: PathBuf,
    /// Both are held for a few instructions only.
    token: Mutex<Secret>,
    codes: Mutex<HashMap<String, Timestamp>>,
    /// Who has to know a new token before anybody can say it.
    learns: OnceLock<Learns>,
}

type Learns = Box<dyn Fn(&str) + Send + Sync>;

impl Auth {
    /// Opens the token in a folder, and makes one if there is none.
    pub fn open(folder: &Path) -> Result<Auth, AuthError> {
        let path = folder.join(FILE);
        let token = Secret::load(&path).map_err(|err| AuthError { path: path.clone(), err })?;
        Ok(Auth { path, token: Mutex::new(token), codes: Mutex::default(), learns: OnceLock::new() })
    }

    /// The token in force, for those who may have it.
    pub fn token(&self) -> String {
        self.secret().text()
    }

    /// Tells the token, and each that takes its place, to whoever keeps secrets out of what is written.
    pub fn taught_to(self, learns: impl Fn(&str) + Send + Sync + 'static) -> Auth {
        learns(&self.token());
        Auth { learns: OnceLock::from(Box::new(learns) as Learns), ..self }
    }

    /// Makes a new token. The old one, and every browser that signed in by it, is out.
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

    /// A code for one sign-in; nothing if too many wait to be used.
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

    /// Takes a code, and returns what the browser shows from then on.
    pub(crate) fn sign_in(&self, code: &str, now: Timestamp) -> Option<String> {
        let until = self.codes.lock().expect("nobody panics with the codes").remove(code)?;
        // The word is signed and not remembered, so that a browser stays signed in over restarts of the daemon.
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

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Caller {
    /// Whoever may do everything: the user that the daemon runs for.
    Owner,
    /// An agent, by where its program comes from or by the token of its session.
    Session(Box<Agent>),
    /// Somebody who calls what anybody may call.
    Nobody,
}

/// The session that an agent calls for, as it was when the call came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Agent {
    pub(crate) id: SessionId,
    pub(crate) name: String,
    pub(crate) project: ProjectId,
    pub(crate) role: Role,
    pub(crate) task: Option<TaskId>,
    pub(crate) branch: String,
    /// The pull request that it was set to review.
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

    /// Whether it may direct others. One that has ended directs nobody.
    pub(crate) fn is_orchestrator(&self) -> bool {
        self.role == Role::Orchestrator && self.live
    }
}

impl Caller {
    /// As logs have it.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Caller::Owner => "owner",
            Caller::Session(_) => "session",
            Caller::Nobody => "nobody",
        }
    }

    /// Whether this caller may look at a session.
    pub(crate) fn may_see(&self, session: &Session) -> bool {
        match self {
            Caller::Owner => true,
            Caller::Session(agent) => {
                agent.id == session.id || (agent.is_orchestrator() && agent.project == session.spec.project)
            }
            Caller::Nobody => false,
        }
    }

    /// Whether this caller may tell a session what to do. An agent never speaks to itself in this way, and an
    /// orchestrator to nobody but those that work for its project.
    pub(crate) fn may_direct(&self, session: &Session) -> bool {
        match self {
            Caller::Owner => true,
            Caller::Session(agent) => {
                agent.id != session.id && session.spec.role != Role::Orchestrator && self.may_see(session)
            }
            Caller::Nobody => false,
        }
    }
}
