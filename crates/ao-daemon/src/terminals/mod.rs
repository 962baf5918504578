//! Opens views of the terminals of agents, and reads their output.

mod output;

use ao_core::session::Session;
use ao_ports::{RuntimeError, Runtimes, TerminalView, ViewOptions};

pub use self::output::{AgentTerminals, OutputPiece};
pub(crate) use self::output::{TerminalDeps, process_of};
use crate::error::{DaemonError, ErrorKind};

/// Opens views.
#[derive(Debug)]
pub struct TerminalViews {
    runtimes: Runtimes,
}

impl TerminalViews {
    pub fn new(runtimes: Runtimes) -> TerminalViews {
        TerminalViews { runtimes }
    }

    /// Opens a view of a session's terminal.
    pub async fn attach(
        &self,
        session: &Session,
        options: ViewOptions,
    ) -> Result<Box<dyn TerminalView>, DaemonError> {
        let name = &session.spec.name;
        let Some(process) = &session.process else {
            let title = format!("`{name}` has no running process, so there is no terminal to attach to");
            let hint = format!("`ao status {name}` shows its state, and `ao logs {name}` its output");
            return Err(DaemonError::new(ErrorKind::NotRunning, title).hint(hint));
        };
        let runtime = self.runtimes.of(process).map_err(|err| failed(name, &err))?;
        runtime.attach(process, options).await.map_err(|err| failed(name, &err))
    }
}

fn failed(name: &str, err: &RuntimeError) -> DaemonError {
    match err {
        RuntimeError::NoProgram { .. } => DaemonError::new(ErrorKind::NoTerminalProgram, err.to_string()),
        RuntimeError::Unable { .. } | RuntimeError::NoRuntime { .. } => {
            DaemonError::new(ErrorKind::NoTerminal, err.to_string())
                .hint(format!("`ao logs -f {name}` shows its output"))
        }
        _ => DaemonError::new(ErrorKind::TerminalFailed, err.to_string()),
    }
}
