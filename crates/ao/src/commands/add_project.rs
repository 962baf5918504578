//! `ao add-project`: one more repository to look after.

use ao_api::{NewProject, Projects};
use ao_config::{Layer, LayerKind, Loaded, edit};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::json;

use crate::change::{Change, tell_daemon};
use crate::context::Context;
use crate::error::{CommandError, Kind};
use crate::repository::Repository;
use crate::{initial, settings, ui};

/// Add a repository to those that are looked after
///
/// It is added to the configuration that counts here, or to your own if there is none. A repository with a configuration of
/// its own keeps that, and the daemon that runs is told of it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao add-project ~/docs
  ao add-project ../api --project backend")]
pub(crate) struct Args {
    /// A folder in the repository
    path: Utf8PathBuf,
    /// What the project is called [default: the name of its folder]
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let repository = cx.wait_for(async { Ok(Repository::at(&args.path).await?) })?;
    match initial::existing(&repository.root) {
        Some(own) => tell_of_file(&own, args, cx),
        None => add(&repository, args, cx),
    }
}

/// Its own file says all there is to say; the daemon only has to know of the file.
fn tell_of_file(file: &Utf8Path, args: &Args, cx: &Context) -> Result<(), CommandError> {
    if args.project.is_some() {
        return Err(CommandError::new(
            Kind::User,
            format!("the repository has a configuration of its own: `{file}`"),
        )
        .hint("it says what the project is called; leave out `--project`, or change it there"));
    }
    // What is wrong with it is better told here, where its lines can be shown.
    let layer = Layer { kind: LayerKind::Project, path: file.to_owned() };
    ao_config::load_files(vec![layer], &settings::places(cx)?)?;
    let client = cx.client()?;
    let added = cx.wait_for(async {
        let wish = NewProject { config: file.to_string() };
        client.post::<Projects>("/api/projects", &wish).await.map_err(|err| match err.is_absence() {
            true => CommandError::new(Kind::NoDaemon, err).hint(format!(
                "the repository has a configuration of its own, `{file}`; start with `ao start {}`",
                args.path
            )),
            false => err.into(),
        })
    })?;
    if cx.json() {
        ui::json(&json!({ "file": file, "changed": false, "projects": added.projects }))?;
        return Ok(());
    }
    for project in &added.projects {
        ui::line(format_args!("The daemon looks after {} now, as {file} says", project.id))?;
    }
    Ok(())
}

fn add(repository: &Repository, args: &Args, cx: &Context) -> Result<(), CommandError> {
    let change = match Change::of_found_file(cx)? {
        Some(change) => change,
        None => Change::of_user_file(cx)?,
    };
    let loaded = settings::load(cx)?;
    if let Some(known) = known_as(&loaded, repository) {
        if args.project.as_deref().is_some_and(|wanted| wanted != known) {
            return Err(CommandError::new(
                Kind::User,
                format!("`{}` is the project `{known}` already", repository.root),
            ));
        }
        return said(
            &format!("{} is the project {known} already", repository.root),
            known,
            false,
            &change,
            cx,
        );
    }
    let name = args.project.as_deref().unwrap_or(&repository.name);
    if let Some(other) = loaded.config.projects.get(name) {
        return Err(CommandError::new(
            Kind::User,
            format!("there is a project `{name}` already, in `{}`", other.path),
        )
        .hint(format!("call this one otherwise: `ao add-project {} --project {name}-2`", args.path)));
    }
    let path = written_path(&repository.root, &change);
    let mut fields = vec![("path", path.as_str()), ("defaultBranch", &repository.default_branch)];
    fields.extend(repository.repo().map(|repo| ("repo", repo)));
    change.make(|text| edit::add_project(text, name, &fields))?;
    said(&format!("Added {name} to {}", change.file()), name, true, &change, cx)
}

/// The name under which the repository is there already.
fn known_as<'a>(loaded: &'a Loaded, repository: &Repository) -> Option<&'a str> {
    let real = |path: &Utf8Path| path.canonicalize_utf8().unwrap_or_else(|_| path.to_owned());
    let root = real(&repository.root);
    let known = loaded.config.projects.iter().find(|(_, project)| real(&project.path) == root);
    known.map(|(name, _)| name.as_str())
}

/// The path as it is written: from the file's folder or the user's home, so that it stays true on another machine.
fn written_path(root: &Utf8Path, change: &Change) -> String {
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

fn said(text: &str, name: &str, changed: bool, change: &Change, cx: &Context) -> Result<(), CommandError> {
    if !cx.json() {
        ui::line(text)?;
    }
    let told = if changed { Some(tell_daemon(change.file(), cx)?) } else { None };
    if cx.json() {
        let daemon = told.and_then(|told| told.reloaded);
        ui::json(&json!({ "file": change.file(), "project": name, "changed": changed, "daemon": daemon }))?;
    } else if let Some(told) = told {
        told.show()?;
    }
    Ok(())
}
