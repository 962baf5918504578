//! Names for shell completion: those that the daemon knows now, and none if no daemon runs.

use std::ffi::OsStr;
use std::future::Future;
use std::time::Duration;

use ao_api::client::{Client, ClientError, IssueQuery, PullQuery};
use ao_api::{IssueStateFilter, PullStateFilter};
use ao_core::session::SessionHandle;
use clap::{Args, FromArgMatches};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

use crate::cli::context::{Context, GlobalOptions};
use crate::show::{is_over, plain};

/// Time limit after a key press.
const PATIENCE: Duration = Duration::from_millis(800);

/// Maximum number of candidates.
const MOST: usize = 100;

/// Completes names of sessions.
pub(crate) fn sessions() -> ArgValueCompleter {
    named(async |client, typed| {
        let sessions = client.sessions().await?.sessions;
        // A shell only accepts candidates with the typed prefix, so offer the name that has it.
        let told = |session: ao_api::Session| {
            let help = plain(&format!("{}: {}", session.status.state, session.title));
            let fits = handle(&session).all().into_iter().find(|name| name.starts_with(&typed))?;
            Some((fits, help))
        };
        Ok(sessions.into_iter().filter_map(told).collect())
    })
}

/// Returns the names of a listed session, by the daemon's own rule.
fn handle(session: &ao_api::Session) -> SessionHandle<'_> {
    SessionHandle {
        id: &session.id,
        name: &session.name,
        project: &session.project_id,
        title: &session.title,
        issue: session.issue.as_deref(),
        live: !is_over(session.status.state),
    }
}

/// Completes open pull requests: by number, or with their project if there are several.
pub(crate) fn pulls() -> ArgValueCompleter {
    named(async |client, _| {
        let query =
            PullQuery { state: Some(PullStateFilter::Open), limit: Some(MOST), ..PullQuery::default() };
        let pulls = client.pulls(&query).await?.pulls;
        let one = pulls.windows(2).all(|pair| pair[0].project_id == pair[1].project_id);
        let told = |pull: ao_api::Pull| {
            let name = if one { pull.number.to_string() } else { pull.id };
            (name, plain(&pull.title))
        };
        Ok(pulls.into_iter().map(told).collect())
    })
}

/// Completes issues, including closed ones, which can be reopened.
pub(crate) fn issues() -> ArgValueCompleter {
    named(async |client, _| {
        let query =
            IssueQuery { state: Some(IssueStateFilter::All), limit: Some(MOST), ..IssueQuery::default() };
        let issues = client.issues(&query).await?.issues;
        let one = issues.windows(2).all(|pair| pair[0].project_id == pair[1].project_id);
        let told = |issue: ao_api::Issue| {
            let name = if one { issue.key } else { issue.id };
            (name, plain(&format!("{}: {}", issue.state, issue.title)))
        };
        Ok(issues.into_iter().map(told).collect())
    })
}

/// Completes names of projects.
pub(crate) fn projects() -> ArgValueCompleter {
    named(async |client, _| {
        let projects = client.projects().await?.projects;
        Ok(projects.into_iter().map(|project| (project.id, project.path)).collect())
    })
}

/// Completes configuration keys. Names that the user chooses are not completed.
pub(crate) fn config_keys() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let Some(typed) = typed.to_str() else { return vec![] };
        let plain =
            |key: &ao_config::ConfigKey| !key.path.contains(['<', '[']) && key.path.starts_with(typed);
        let keys = ao_config::keys().into_iter().filter(plain);
        keys.map(|key| CompletionCandidate::new(key.path).help(Some(key.text.into()))).collect()
    })
}

/// Completes names with the typed prefix, each with a description.
fn named<F>(ask: impl Fn(Client, String) -> F + Send + Sync + 'static) -> ArgValueCompleter
where
    F: Future<Output = Result<Vec<(String, String)>, ClientError>>,
{
    ArgValueCompleter::new(move |typed: &OsStr| {
        let Some(typed) = typed.to_str() else { return vec![] };
        let names = known(|client| ask(client, typed.to_owned())).unwrap_or_default();
        let fits = names.into_iter().filter(|(name, _)| name.starts_with(typed));
        fits.map(|(name, help)| CompletionCandidate::new(name).help(Some(help.into()))).collect()
    })
}

/// Asks the daemon. Errors are ignored: a key press is no time to report them.
fn known<F>(ask: impl FnOnce(Client) -> F) -> Option<Vec<(String, String)>>
where
    F: Future<Output = Result<Vec<(String, String)>, ClientError>>,
{
    let client = context(given_data_dir(std::env::args()))?.client().ok()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(async { tokio::time::timeout(PATIENCE, ask(client)).await }).ok()?.ok()
}

/// Builds the context of the command being typed, so that the daemon is called in the same way: with its data
/// directory, and with the token of the agent that types, if one does.
fn context(data_dir: Option<String>) -> Option<Context> {
    let words = data_dir.map(|dir| format!("--data-dir={dir}"));
    let options = GlobalOptions::augment_args(clap::Command::new("ao").no_binary_name(true));
    let given = options.try_get_matches_from(words).ok()?;
    Some(Context::new(GlobalOptions::from_arg_matches(&given).ok()?))
}

/// Returns the option from the line being typed, which the shell passes on.
fn given_data_dir(words: impl Iterator<Item = String>) -> Option<String> {
    let mut words = words.skip_while(|word| word != "--");
    while let Some(word) = words.next() {
        if word == "--data-dir" {
            return words.next();
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
