//! Opens views of the terminals of agents, and reads their output.

pub(crate) mod output;

use ao_api::Problem;
use ao_core::session::Session;
use ao_ports::{RuntimeError, Runtimes, TerminalView, ViewOptions};

/// Opens views.
#[derive(Debug)]
pub struct Views {
    runtimes: Runtimes,
}

impl Views {
    pub fn new(runtimes: Runtimes) -> Views {
        Views { runtimes }
    }

    /// Opens a view of a session's terminal.
    pub async fn attach(
        &self,
        session: &Session,
        options: ViewOptions,
    ) -> Result<Box<dyn TerminalView>, Problem> {
        let name = &session.spec.name;
        let Some(process) = &session.process else {
            let title = format!("`{name}` has no program running, so there is no terminal to look into");
            let hint = format!("`ao status {name}` says how it stands, `ao logs {name}` what it has said");
            return Err(Problem::new(409, "not-running", title).hint(hint));
        };
        let runtime = self.runtimes.of(process).map_err(|err| failed(name, &err))?;
        runtime.attach(process, options).await.map_err(|err| failed(name, &err))
    }
}

fn failed(name: &str, err: &RuntimeError) -> Problem {
    let (status, slug) = match err {
        RuntimeError::NoProgram { .. } => (424, "missing-program"),
        RuntimeError::Unable { .. } | RuntimeError::NoRuntime { .. } => (409, "no-terminal"),
        _ => (502, "terminal-failed"),
    };
    let problem = Problem::new(status, slug, err.to_string());
    match slug {
        "no-terminal" => problem.hint(format!("`ao logs -f {name}` shows its output")),
        _ => problem,
    }
}
