//! The context of a command: global options, paths, and the client.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};

use ao_api::client::{ApiReply, Client};
use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use crate::error::{CommandError, FailureKind};
use crate::system::paths;
use crate::ui;

/// Options that every command takes.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Options for all commands")]
pub(crate) struct GlobalOptions {
    /// The folder for the event log and other data [default: ~/.local/share/ao, or under $XDG_DATA_HOME]
    #[arg(long, global = true, env = "AO_DATA_DIR", hide_env_values = true, value_name = "DIR")]
    data_dir: Option<Utf8PathBuf>,
    /// The configuration file [default: the nearest one in this folder or above, then your own]
    #[arg(long, global = true, env = "AO_CONFIG", hide_env_values = true, value_name = "FILE")]
    config: Option<Utf8PathBuf>,
    /// Print JSON with a stable format
    #[arg(long, global = true)]
    json: bool,
    /// Colour the output; NO_COLOR and CLICOLOR_FORCE are respected
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_default_value = true)]
    color: clap::ColorChoice,
}

#[derive(Debug)]
pub(crate) struct Context {
    global: GlobalOptions,
}

impl Context {
    pub(crate) fn new(global: GlobalOptions) -> Context {
        match global.color {
            clap::ColorChoice::Auto => {}
            clap::ColorChoice::Always => anstream::ColorChoice::Always.write_global(),
            clap::ColorChoice::Never => anstream::ColorChoice::Never.write_global(),
        }
        Context { global }
    }

    /// Returns true if the output is for programs.
    pub(crate) fn json(&self) -> bool {
        self.global.json
    }

    /// Returns the configuration file that was named, if any.
    pub(crate) fn config(&self) -> Option<&Utf8Path> {
        // An empty value counts as unset, as for the other variables.
        self.global.config.as_deref().filter(|path| !path.as_str().is_empty())
    }

    pub(crate) fn data_dir(&self) -> Result<Utf8PathBuf, CommandError> {
        paths::data_dir(self.global.data_dir.as_deref())
    }

    /// Returns a client of the daemon, without calling it yet.
    ///
    /// An agent has a token in its environment; the commands that it runs use that token and have its rights.
    pub(crate) fn client(&self) -> Result<Client, CommandError> {
        Ok(Client::socket(paths::way_in(&self.data_dir()?)?).with_token(own_token()?))
    }

    /// Prints a value: as JSON if that was requested, otherwise by the given function.
    pub(crate) fn print(
        &self,
        value: &impl Serialize,
        show: impl FnOnce() -> io::Result<()>,
    ) -> Result<(), CommandError> {
        Ok(if self.json() { ui::json(value) } else { show() }?)
    }

    /// Like [`Context::print`], with the JSON as the daemon sent it.
    pub(crate) fn print_reply<T>(
        &self,
        reply: &ApiReply<T>,
        show: impl FnOnce() -> io::Result<()>,
    ) -> Result<(), CommandError> {
        Ok(if self.json() { ui::raw(reply.json()) } else { show() }?)
    }

    /// Calls the daemon.
    pub(crate) fn call<T>(
        &self,
        work: impl AsyncFnOnce(&Client) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        let client = self.client()?;
        self.wait_for(work(&client))
    }

    /// Runs a future to its end.
    pub(crate) fn wait_for<T>(
        &self,
        work: impl Future<Output = Result<T, CommandError>>,
    ) -> Result<T, CommandError> {
        let mut result = None;
        run_to_end(pin!(async { result = Some(work.await) }))?;
        result.expect("the future has run to its end")
    }
}

/// Runs a future of any command, so that the program has one copy of the runtime's entry and not one for each command. One
/// thread is enough for a client, and quick to start.
fn run_to_end(work: Pin<&mut dyn Future<Output = ()>>) -> Result<(), CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(CommandError::environment)?;
    runtime.block_on(work);
    Ok(())
}

/// Returns the token of the agent that runs this command, if one does: the session, the attempt, and the proof.
///
/// A process that claims to be an agent without proof is refused. It must not pass for the user, to whom the daemon
/// opens its socket without a token.
pub(crate) fn own_token() -> Result<Option<String>, CommandError> {
    let Some(session) = set("AO_SESSION") else { return Ok(None) };
    match (set("AO_ATTEMPT"), set("AO_TOKEN")) {
        (Some(attempt), Some(token)) => Ok(Some(format!("{session}/{attempt}/{token}"))),
        _ => {
            let what = "AO_SESSION is set, but the token of its agent is missing";
            Err(CommandError::new(FailureKind::Forbidden, what).hint(
                "AO_TOKEN and AO_ATTEMPT must be set together with AO_SESSION; run it in your own shell to act as yourself",
            ))
        }
    }
}

/// Returns the session whose agent runs this command, if one does.
pub(crate) fn own_session() -> Option<String> {
    set("AO_SESSION")
}

/// Refuses to continue inside an agent: processes that are started there belong to the agent, and end with it.
pub(crate) fn outside_of_agents(what: &str) -> Result<(), CommandError> {
    if set("AO_SESSION").is_none() {
        return Ok(());
    }
    let why =
        format!("{what} from within an agent's session (AO_SESSION is set): it would end with its agent");
    Err(CommandError::new(FailureKind::Forbidden, why).hint("run it in your own shell"))
}

fn set(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
