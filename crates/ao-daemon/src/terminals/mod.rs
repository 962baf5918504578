//! Looking into the terminals of agents, wherever they run.
//!
//! Who only looks changes nothing: not how large the agent's terminal is, not how fast the agent goes. One viewer at a time
//! has control. While somebody has, the terminal is as large as their window; afterwards it is as large as it was before.

mod output;
mod past;
mod process;
mod pty;
mod tmux;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use ao_core::session::{ProcessRef, Session};
use ao_ports::RuntimeError;
use ao_runtime::Processes;
use ao_runtime::tmux::Tmux;
pub use ao_runtime::{AttachOptions, Frame};
use async_trait::async_trait;
use tokio::sync::watch;

pub(crate) use self::output::TerminalDeps;
pub use self::output::{OutputPiece, Terminals};
use crate::error::{DaemonError, ErrorKind};

type Size = (u16, u16);

/// A view of a terminal. It never waits for its viewer: one that does not ask for the next frame in time misses output, and
/// then gets a keyframe.
#[async_trait]
pub trait View: Send {
    /// Returns what comes next; nothing behind the end. Can be dropped and called again.
    async fn next(&mut self) -> Result<Option<Frame>, DaemonError>;
    async fn type_bytes(&mut self, bytes: &[u8]) -> Result<(), DaemonError>;
    async fn resize(&mut self, size: (u16, u16)) -> Result<(), DaemonError>;
    async fn control(&mut self, take: bool) -> Result<(), DaemonError>;
}

/// The terminals of a runtime that is not built in.
#[async_trait]
pub trait TerminalSource: Send + Sync {
    async fn attach(&self, process: &ProcessRef, look: AttachOptions) -> Result<Box<dyn View>, DaemonError>;
}

/// Opens views.
pub struct Views {
    processes: Arc<Processes>,
    tmux: Arc<Tmux>,
    /// The terminals of runtimes that are not built in, by the runtime's name.
    sources: BTreeMap<String, Arc<dyn TerminalSource>>,
    /// The terminals that are looked at.
    terminals: Mutex<HashMap<String, Weak<Shared>>>,
}

/// What those who look at one terminal have in common.
#[derive(Debug)]
struct Shared {
    /// How large it is when nobody has control; known while somebody has.
    natural: Mutex<Option<Size>>,
    /// Who has control, by their number; 0 is nobody.
    holder: watch::Sender<u64>,
}

impl Views {
    pub fn new(processes: Arc<Processes>, tmux: Arc<Tmux>) -> Views {
        Views { processes, tmux, sources: BTreeMap::new(), terminals: Mutex::default() }
    }

    #[must_use]
    pub fn with_sources(mut self, sources: BTreeMap<String, Arc<dyn TerminalSource>>) -> Views {
        self.sources = sources;
        self
    }

    /// Opens a view of a session's terminal.
    pub async fn attach(&self, session: &Session, look: AttachOptions) -> Result<Box<dyn View>, DaemonError> {
        let name = &session.spec.name;
        let Some(process) = &session.process else {
            let title = format!("`{name}` has no program running, so there is no terminal to look into");
            let hint = format!("`ao status {name}` says how it stands, `ao logs {name}` what it has said");
            return Err(DaemonError::new(ErrorKind::NotRunning, title).hint(hint));
        };
        let (runtime, own) = process.0.split_once(':').unwrap_or(("", &process.0));
        let own = ProcessRef(own.to_owned());
        let shared = self.shared(&process.0);
        match runtime {
            "process" => process::open(self.processes.clone(), own, look, shared).await,
            "tmux" => tmux::open(self.tmux.clone(), own, look, shared).await,
            other if self.sources.contains_key(other) => self.sources[other].attach(&own, look).await,
            other => {
                let title = format!("the runtime `{other}` of `{name}` gives no view of its terminals");
                Err(DaemonError::new(ErrorKind::NoTerminal, title)
                    .hint(format!("`ao logs -f {name}` shows its output")))
            }
        }
    }

    fn shared(&self, process: &str) -> Arc<Shared> {
        let mut terminals = self.terminals.lock().expect("nobody panics while looking one up");
        if let Some(known) = terminals.get(process).and_then(Weak::upgrade) {
            return known;
        }
        terminals.retain(|_, known| known.strong_count() > 0);
        let shared = Arc::new(Shared { natural: Mutex::default(), holder: watch::Sender::new(0) });
        terminals.insert(process.to_owned(), Arc::downgrade(&shared));
        shared
    }
}

impl Shared {
    /// A number for a viewer, like no other's.
    fn number() -> u64 {
        static LAST: AtomicU64 = AtomicU64::new(0);
        LAST.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Gives control to a viewer, and remembers how large the terminal is unless somebody had it before.
    fn take(&self, number: u64, size: Size) {
        self.natural.lock().expect("nobody panics while noting").get_or_insert(size);
        self.holder.send_replace(number);
    }

    /// Takes control from a viewer who has it. Returns how large the terminal is to be again.
    fn hand_back(&self, number: u64) -> Option<Size> {
        let had = self.holder.send_if_modified(|holder| {
            let had = *holder == number;
            if had {
                *holder = 0;
            }
            had
        });
        if had { self.natural.lock().expect("nobody panics while noting").take() } else { None }
    }
}

/// Who may not type is told so, rather than typing into nothing.
fn no_control() -> DaemonError {
    DaemonError::new(ErrorKind::NoControl, "who only looks cannot type")
        .hint("take control of the terminal first")
}

fn failed(err: RuntimeError) -> DaemonError {
    match err {
        RuntimeError::NoProgram { .. } => DaemonError::new(ErrorKind::NoTerminalProgram, err.to_string()),
        RuntimeError::Unable { .. } => DaemonError::new(ErrorKind::NoTerminal, err.to_string()),
        _ => DaemonError::new(ErrorKind::TerminalFailed, err.to_string()),
    }
}

impl fmt::Debug for Views {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Views").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_to_hand_control_back_restores_the_size_before_the_first() {
        let shared = Shared { natural: Mutex::default(), holder: watch::Sender::new(0) };
        shared.take(1, (120, 40));
        shared.take(2, (80, 24));
        assert_eq!(shared.hand_back(1), None, "another has it");
        assert_eq!(shared.hand_back(2), Some((120, 40)));
        assert_eq!(shared.hand_back(2), None, "once");
    }
}
