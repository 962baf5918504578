//! `ao remove-project`: removes a project and deletes none of its files.

use ao_api::Project;
use ao_api::client::ClientError;
use ao_config::edit::{self, EditError};
use ao_config::{LayerKind, names};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::json;

use crate::cli::completers;
use crate::cli::context::Context;
use crate::config::edit::{ConfigEdit, reload_daemon};
use crate::config::settings;
use crate::error::{CommandError, FailureKind};
use crate::ui;

/// Remove a project; nothing of it is deleted
///
/// Removes it from the configuration, and from the daemon. The repository, its branches and its workspaces stay where
/// they are. Refused while it has live sessions.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao remove-project my-app
  ao stop --project my-app --all && ao remove-project my-app")]
pub(crate) struct Args {
    /// The name of the project
    #[arg(add = completers::projects())]
    project: String,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let name = args.project.as_str();
    let known = known_to_daemon(cx)?;
    let running = known.as_ref().and_then(|projects| projects.iter().find(|project| project.id == name));
    if let Some(project) = running.filter(|project| project.live_sessions > 0) {
        let sessions = ui::count(project.live_sessions.into(), "session");
        return Err(CommandError::user(format!("`{name}` has {sessions} that have not ended yet"))
            .hint(format!("end them first: `ao stop --project {name} --all`; their work is kept")));
    }
    // A configuration file in the repository is only forgotten, because it belongs to the repository; also one that
    // no longer exists and that only the daemon remembers.
    if known.is_some() && forget(name, cx)? {
        return print_removal(name, None, cx);
    }
    let file = match running.and_then(|project| project.config.as_ref()) {
        Some(file) => Utf8PathBuf::from(file),
        None => file_with(name, known.as_deref().unwrap_or_default(), cx)?,
    };
    let change = ConfigEdit::of_file(&file, cx)?;
    change.make(|text| edit::remove_project(text, name))?;
    print_removal(name, Some(&file), cx)
}

/// Returns the projects of the daemon, if one runs.
fn known_to_daemon(cx: &Context) -> Result<Option<Vec<Project>>, CommandError> {
    cx.call(async |client| match client.projects().await {
        Ok(known) => Ok(Some(known.projects)),
        Err(err) if err.is_absence() => Ok(None),
        Err(err) => Err(err.into()),
    })
}

/// Returns true if the daemon could forget the project together with its file. It cannot if that file names other
/// projects.
fn forget(name: &str, cx: &Context) -> Result<bool, CommandError> {
    cx.call(async |client| match client.forget_project(name).await {
        Ok(()) => Ok(true),
        Err(ClientError::Refused(problem)) if matches!(problem.word(), "configured" | "unknown-project") => {
            Ok(false)
        }
        Err(err) => Err(err.into()),
    })
}

/// Returns the configuration file in use that names the project.
fn file_with(name: &str, known: &[Project], cx: &Context) -> Result<Utf8PathBuf, CommandError> {
    let places = settings::places(cx)?;
    for layer in ao_config::find(&places)?.into_iter().rev() {
        let text = ao_config::read_file(&layer.path)?;
        match edit::remove_project(&text, name) {
            Ok(_) => return Ok(layer.path),
            Err(EditError::Absent(_)) => {}
            // The edit reports the error.
            Err(_) if layer.kind != LayerKind::User => return Ok(layer.path),
            Err(_) => {}
        }
    }
    let loaded = ao_config::load(&places)?;
    let names: Vec<&str> = loaded
        .config
        .projects
        .keys()
        .map(String::as_str)
        .chain(known.iter().map(|project| project.id.as_str()))
        .collect();
    let meant = names::nearest(name, names.iter().copied()).map(|meant| format!("; did you mean `{meant}`?"));
    let error = CommandError::new(
        FailureKind::Unknown,
        format!("there is no project `{name}`{}", meant.unwrap_or_default()),
    );
    Err(match names.is_empty() {
        true => error.hint("no projects are configured here"),
        false => error.hint(format!("there are {}", names.join(", "))),
    })
}

fn print_removal(name: &str, file: Option<&Utf8Path>, cx: &Context) -> Result<(), CommandError> {
    if !cx.json() {
        match file {
            Some(file) => ui::line(format_args!("Removed {name} from {file}"))?,
            None => {
                ui::line(format_args!("The daemon no longer manages {name}; its configuration file stays"))?;
            }
        }
        ui::note("the repository, its branches and its workspaces stay where they are");
    }
    let daemon = match file {
        Some(file) => Some(reload_daemon(file, cx)?),
        None => None,
    };
    if cx.json() {
        let daemon = daemon.and_then(|told| told.reloaded);
        ui::json(&json!({ "project": name, "file": file, "daemon": daemon }))?;
    } else if let Some(daemon) = daemon {
        daemon.show()?;
    }
    Ok(())
}
