//! `ao add-project`: registers another repository.

use ao_api::{NewProject, Projects};
use ao_config::{Layer, LayerKind, Loaded, edit};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::json;

use crate::cli::context::Context;
use crate::config::edit::{ConfigEdit, reload_daemon};
use crate::config::{initial_config, settings};
use crate::error::{CommandError, FailureKind};
use crate::repository::GitRepository;
use crate::ui;

/// Add a repository as a project
///
/// It is added to the configuration in force here, or to your own if there is none. A repository with a configuration of its
/// own keeps it: if that lists the repository, a running daemon loads it; otherwise the repository is added to it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao add-project ~/docs
  ao add-project ../api --project backend")]
pub(crate) struct Args {
    /// A folder in the repository
    path: Utf8PathBuf,
    /// The name of the project [default: the name of its folder]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let repository = cx.wait_for(async { Ok(GitRepository::at(&args.path).await?) })?;
    let Some(own) = initial_config::existing(&repository.root) else {
        let change = match ConfigEdit::of_found_file(cx)? {
            Some(change) => change,
            None => ConfigEdit::of_user_file(cx)?,
        };
        return add(&repository, &change, &settings::load(cx)?, args, cx);
    };
    // Errors are better reported here, where the lines can be shown.
    let layer = Layer { kind: LayerKind::Project, path: own.clone() };
    let loaded = ao_config::load_files(vec![layer], &settings::places(cx)?)?;
    match known_as(&loaded, &repository) {
        Some(_) => register_file(&own, args, cx),
        // The file names other projects, and not its own repository.
        None => add(&repository, &ConfigEdit::of_file(&own, cx)?, &loaded, args, cx),
    }
}

/// Registers the repository's own file with the daemon.
fn register_file(file: &Utf8Path, args: &Args, cx: &Context) -> Result<(), CommandError> {
    if args.project.is_some() {
        return Err(CommandError::user(format!("the repository has a configuration of its own: `{file}`"))
            .hint("the name of the project is set there; leave out `--project`, or change it there"));
    }
    let added = registered(file, cx).map_err(|err| match err.kind() {
        FailureKind::NoDaemon => CommandError::new(FailureKind::NoDaemon, err.to_plain()).hint(format!(
            "the repository has a configuration of its own, `{file}`; start with `ao start {}`",
            args.path
        )),
        _ => err,
    })?;
    if cx.json() {
        ui::json(&json!({ "file": file, "changed": false, "projects": added.projects }))?;
        return Ok(());
    }
    show_registered(&added, file)
}

/// Registers the projects of a file with the running daemon.
fn registered(file: &Utf8Path, cx: &Context) -> Result<Projects, CommandError> {
    let wish = NewProject { config: file.to_string() };
    cx.call(async |client| Ok(client.post::<Projects>("/api/projects", &wish).await?))
}

fn show_registered(added: &Projects, file: &Utf8Path) -> Result<(), CommandError> {
    for project in &added.projects {
        ui::line(format_args!("The daemon now manages {} (configured in {file})", project.id))?;
    }
    Ok(())
}

fn add(
    repository: &GitRepository,
    change: &ConfigEdit,
    loaded: &Loaded,
    args: &Args,
    cx: &Context,
) -> Result<(), CommandError> {
    if let Some(known) = known_as(loaded, repository) {
        if args.project.as_deref().is_some_and(|wanted| wanted != known) {
            return Err(CommandError::user(format!(
                "`{}` is the project `{known}` already",
                repository.root
            )));
        }
        return print_result(
            &format!("{} is the project {known} already", repository.root),
            known,
            false,
            change,
            cx,
        );
    }
    let name = args.project.as_deref().unwrap_or(&repository.name);
    if let Some(other) = loaded.config.projects.get(name) {
        return Err(CommandError::user(format!("there is a project `{name}` already, in `{}`", other.path))
            .hint(format!("choose another name: `ao add-project {} --project {name}-2`", args.path)));
    }
    let path = written_path(&repository.root, change);
    let mut fields = vec![("path", path.as_str()), ("defaultBranch", &repository.default_branch)];
    fields.extend(repository.repo().map(|repo| ("repo", repo)));
    // A file that names a project no longer implies its own repository, so that one is added explicitly.
    let taken = loaded.implicit.as_ref().filter(|_| loaded.main_file() == Some(change.file()));
    change.make(|text| {
        let mut text = text.to_owned();
        if let Some(taken) = taken {
            let mut fields = vec![("path", ".")];
            fields.extend(taken.default_branch.as_deref().map(|branch| ("defaultBranch", branch)));
            text = edit::add_project(&text, &taken.name, &fields)?;
        }
        edit::add_project(&text, name, &fields)
    })?;
    print_result(&format!("Added {name} to {}", change.file()), name, true, change, cx)
}

/// Returns the name under which the repository is registered already.
fn known_as<'a>(loaded: &'a Loaded, repository: &GitRepository) -> Option<&'a str> {
    let real = |path: &Utf8Path| path.canonicalize_utf8().unwrap_or_else(|_| path.to_owned());
    let root = real(&repository.root);
    let known = loaded.config.projects.iter().find(|(_, project)| real(&project.path) == root);
    known.map(|(name, _)| name.as_str())
}

/// Returns the path to write: relative to the file's folder or the user's home, so that it works on another machine.
fn written_path(root: &Utf8Path, change: &ConfigEdit) -> String {
    let folder = change.file().parent().unwrap_or(Utf8Path::new("/"));
    let real = |path: &Utf8Path| path.canonicalize_utf8().unwrap_or_else(|_| path.to_owned());
    let root = real(root);
    if let Ok(inside) = root.strip_prefix(real(folder)) {
        return if inside.as_str().is_empty() { ".".into() } else { format!("./{inside}") };
    }
    match change.places().home.as_deref().and_then(|home| root.strip_prefix(real(home)).ok()) {
        Some(inside) => format!("~/{inside}"),
        None => root.into_string(),
    }
}

fn print_result(
    text: &str,
    name: &str,
    changed: bool,
    change: &ConfigEdit,
    cx: &Context,
) -> Result<(), CommandError> {
    if !cx.json() {
        ui::line(text)?;
    }
    let told = if changed { Some(reload_daemon(change.file(), cx)?) } else { None };
    // A daemon that does not read the file yet does not serve its projects.
    let unread = match &told {
        Some(told) => told.is_unread(),
        None => !is_looked_after(name, cx)? && change.places().user_file().as_deref() != Some(change.file()),
    };
    let added = if unread { Some(registered(change.file(), cx)?) } else { None };
    if cx.json() {
        let daemon = told.and_then(|told| told.reloaded);
        ui::json(&json!({ "file": change.file(), "project": name, "changed": changed, "daemon": daemon }))?;
        return Ok(());
    }
    match (added, told) {
        (Some(added), _) => show_registered(&added, change.file()),
        (None, Some(told)) => Ok(told.show()?),
        (None, None) => Ok(()),
    }
}

/// Returns true if the running daemon knows a project, or if none runs.
fn is_looked_after(name: &str, cx: &Context) -> Result<bool, CommandError> {
    cx.call(async |client| match client.projects().await {
        Ok(projects) => Ok(projects.projects.iter().any(|project| project.id == name)),
        Err(err) if err.is_absence() => Ok(true),
        Err(err) => Err(err.into()),
    })
}
