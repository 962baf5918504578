//! Names for completion in shells: those that the daemon knows now, and none if no daemon runs.

use std::ffi::OsStr;
use std::future::Future;
use std::time::Duration;

use ao_api::client::{Client, ClientError};
use camino::{Utf8Path, Utf8PathBuf};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

use crate::context::own_token;
use crate::{calls, paths};

/// Longer than this nobody waits for a key press.
const PATIENCE: Duration = Duration::from_millis(800);

/// Completes names of sessions.
pub(crate) fn sessions() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        named(typed, async |client| {
            let sessions = calls::sessions(&client).await?.sessions;
            let told = |session: ao_api::Session| {
                let help = format!("{}: {}", session.status.state, session.title);
                (session.name, help)
            };
            Ok(sessions.into_iter().map(told).collect())
        })
    })
}

/// Completes names of projects.
pub(crate) fn projects() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        named(typed, async |client| {
            let projects = calls::projects(&client).await?;
            Ok(projects.into_iter().map(|project| (project.id, project.path)).collect())
        })
    })
}

/// Completes keys of the configuration. A name of one's own is left to whoever types.
pub(crate) fn config_keys() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let Some(typed) = typed.to_str() else { return vec![] };
        let plain = |key: &ao_config::Key| !key.path.contains(['<', '[']) && key.path.starts_with(typed);
        let keys = ao_config::keys().into_iter().filter(plain);
        keys.map(|key| CompletionCandidate::new(key.path).help(Some(key.text.into()))).collect()
    })
}

/// The names that begin as typed, each with a word on it.
fn named<F>(typed: &OsStr, ask: impl FnOnce(Client) -> F) -> Vec<CompletionCandidate>
where
    F: Future<Output = Result<Vec<(String, String)>, ClientError>>,
{
    let Some(typed) = typed.to_str() else { return vec![] };
    let names = known(ask).unwrap_or_default();
    let fits = names.into_iter().filter(|(name, _)| name.starts_with(typed));
    fits.map(|(name, help)| CompletionCandidate::new(name).help(Some(help.into()))).collect()
}

/// What the daemon knows. Whatever is wrong, a key press is no time to say so.
fn known<F>(ask: impl FnOnce(Client) -> F) -> Option<Vec<(String, String)>>
where
    F: Future<Output = Result<Vec<(String, String)>, ClientError>>,
{
    let given = given_data_dir(std::env::args()).or_else(|| Some(std::env::var("AO_DATA_DIR").ok()?.into()));
    let data_dir = paths::data_dir(given.as_deref().map(Utf8Path::new)).ok()?;
    let client = Client::socket(paths::way_in(&data_dir).ok()?).with_token(own_token().ok()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(async { tokio::time::timeout(PATIENCE, ask(client)).await }).ok()?.ok()
}

/// The option as it stands in the line that is being typed, which the shell hands us.
fn given_data_dir(words: impl Iterator<Item = String>) -> Option<Utf8PathBuf> {
    let mut words = words.skip_while(|word| word != "--");
    while let Some(word) = words.next() {
        if word == "--data-dir" {
            return words.next().map(Into::into);
        }
        if let Some(dir) = word.strip_prefix("--data-dir=") {
            return Some(dir.into());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_folder_is_read_from_the_line_that_is_typed() {
        let read = |line: &str| given_data_dir(line.split(' ').map(str::to_owned));
        assert_eq!(read("ao -- ao --data-dir /d status "), Some("/d".into()));
        assert_eq!(read("ao -- ao status --data-dir=/d"), Some("/d".into()));
        assert_eq!(read("ao -- ao status --data-dir"), None);
        assert_eq!(read("ao -- ao status"), None);
    }
}
