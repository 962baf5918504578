//! Chooses the project that a command is about: the named one, or the one of the current folder.
//!
//! All commands choose it here. A folder outside of all projects stands for none of them, even if there is only one:
//! a command meant for one repository must not affect another. Inside an agent the daemon chooses, because it knows
//! the agent's project.

use std::path::{Path, PathBuf};

use ao_api::Project;
use ao_api::client::{Client, ItemName};

use crate::cli::context::own_session;
use crate::client::find_session;
use crate::client::retry::CallRetry;
use crate::error::{CommandError, FailureKind};

/// Returns the project that a command acts on or reads from. None leaves the choice to the daemon, where it is safe:
/// inside an agent, and if there is no project at all.
pub(crate) async fn project(client: &Client, named: Option<&str>) -> Result<Option<String>, CommandError> {
    if let Some(named) = named {
        return Ok(Some(named.to_owned()));
    }
    let here = CurrentProject::find(client).await?;
    match here.project {
        Some(project) => Ok(Some(project.id)),
        None if here.projects.is_empty() || own_session().is_some() => Ok(None),
        None => Err(no_project_here(&here.projects)),
    }
}

/// Like [`project`], for calls that need a name.
pub(crate) async fn project_id(client: &Client, named: Option<&str>) -> Result<String, CommandError> {
    match (project(client, named).await?, own_session()) {
        (Some(project), _) => Ok(project),
        (None, Some(session)) => Ok(find_session(client, &session).await?.project_id),
        (None, None) => Err(CommandError::new(FailureKind::Unknown, "there is no project yet")
            .hint("run `ao start` in a git repository, or `ao add-project PATH`")),
    }
}

/// Like [`project`], for lists, which otherwise cover all projects.
pub(crate) async fn project_or_all(
    client: &Client,
    named: Option<&str>,
) -> Result<Option<String>, CommandError> {
    match named {
        Some(named) => Ok(Some(named.to_owned())),
        None => Ok(project_here(client).await?.map(|project| project.id)),
    }
}

/// Returns the project of an issue such as `42` or `my-app#42`; none if the name includes it.
pub(crate) async fn project_of_issue(
    client: &Client,
    issue: &str,
    named: Option<&str>,
) -> Result<Option<String>, CommandError> {
    if named.is_none() && ItemName::has_project(issue) { Ok(None) } else { project(client, named).await }
}

/// Returns the project of a pull request such as `7` or `my-app!7`; none if the name includes it, and for sessions
/// and branches, which are looked up in all projects.
pub(crate) async fn project_of_pull(
    client: &Client,
    pull: &str,
    named: Option<&str>,
) -> Result<Option<String>, CommandError> {
    let number = pull.strip_prefix('!').unwrap_or(pull);
    match named {
        None if ItemName::has_project(pull) => Ok(None),
        None if !number.bytes().all(|byte| byte.is_ascii_digit()) => project_or_all(client, None).await,
        named => project(client, named).await,
    }
}

/// Returns the project of an event; none if a session or a pull request determines it.
pub(crate) async fn project_about(
    client: &Client,
    session: Option<&str>,
    pull: Option<&str>,
    named: Option<&str>,
) -> Result<Option<String>, CommandError> {
    let said = session.is_some() || pull.is_some_and(ItemName::has_project);
    if said && named.is_none() { Ok(None) } else { project(client, named).await }
}

/// Returns the project of the current folder, which may be a workspace of it.
pub(crate) async fn project_here(client: &Client) -> Result<Option<Project>, CommandError> {
    Ok(CurrentProject::find(client).await?.project)
}

/// All projects, and the one of the current folder.
struct CurrentProject {
    projects: Vec<Project>,
    project: Option<Project>,
}

impl CurrentProject {
    async fn find(client: &Client) -> Result<CurrentProject, CommandError> {
        let projects = CallRetry::default().call(async || client.projects().await).await?.projects;
        let Some(here) = std::env::current_dir().ok().and_then(|here| here.canonicalize().ok()) else {
            return Ok(CurrentProject { projects, project: None });
        };
        let around = innermost(&projects, &here).or_else(|| innermost(&projects, &main_checkout(&here)?));
        let mut project = around.cloned();
        // A clone does not record where it comes from.
        if project.is_none() && !projects.is_empty() && own_session().is_none() {
            let sessions = client.sessions().await?.sessions;
            let holds = |session: &&ao_api::Session| {
                session.workspace.as_ref().is_some_and(|tree| here.starts_with(&tree.path))
            };
            let of = sessions.iter().find(holds).map(|session| &session.project_id);
            project = of.and_then(|of| projects.iter().find(|project| project.id == *of)).cloned();
        }
        Ok(CurrentProject { projects, project })
    }
}

/// Lists the projects, and how to choose one.
fn no_project_here(projects: &[Project]) -> CommandError {
    let here = std::env::current_dir().unwrap_or_default();
    let what = format!("`{}` is not inside a project, so name one", here.display());
    let list: Vec<String> =
        projects.iter().map(|project| format!("`{}` ({})", project.id, project.path)).collect();
    let error = CommandError::user(what)
        .hint(format!("projects: {}; pass `--project`, or run this in its folder", list.join(", ")));
    match here.ancestors().any(|folder| folder.join(".git").exists()) {
        true => error.hint("`ao start` registers this repository as a project"),
        false => error.hint("`ao start PATH` registers another repository as a project"),
    }
}

/// Returns the innermost project that contains a folder.
pub(crate) fn innermost<'a>(projects: &'a [Project], here: &Path) -> Option<&'a Project> {
    let around = projects.iter().filter(|project| here.starts_with(&project.path));
    around.max_by_key(|project| project.path.len())
}

/// Returns the main checkout of a linked worktree. Read from git's file: asking git would take longer than the call
/// itself.
fn main_checkout(here: &Path) -> Option<PathBuf> {
    let root = here.ancestors().find(|folder| folder.join(".git").exists())?;
    let link = std::fs::read_to_string(root.join(".git")).ok()?;
    let git_dir = Path::new(link.trim().strip_prefix("gitdir: ")?);
    let worktrees = git_dir.parent().filter(|folder| folder.ends_with("worktrees"))?;
    worktrees.parent()?.parent()?.canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_belongs_to_the_checkout_it_was_made_from() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (main, tree) = (root.join("app"), root.join("trees/one"));
        std::fs::create_dir_all(main.join(".git/worktrees/one")).unwrap();
        std::fs::create_dir_all(tree.join("src")).unwrap();
        let link = format!("gitdir: {}\n", main.join(".git/worktrees/one").display());
        std::fs::write(tree.join(".git"), link).unwrap();
        assert_eq!(main_checkout(&tree.join("src")), Some(main.clone()));
        assert_eq!(main_checkout(&main), None, "it is one itself");
    }

    #[test]
    fn a_folder_belongs_to_the_innermost_project_around_it() {
        let project = |id: &str, path: &str| Project {
            id: id.into(),
            path: path.into(),
            default_branch: "main".into(),
            repo: None,
            config: None,
            agent: "claude-code".into(),
            runtime: "process".into(),
            workspace: "worktree".into(),
            live_sessions: 0,
            max_parallel_agents: None,
            auto_assign: false,
            stopped_by: None,
        };
        let projects =
            [project("outer", "/w/app"), project("inner", "/w/app/docs"), project("other", "/w/ap")];
        let of = |here| innermost(&projects, Path::new(here)).map(|project| project.id.as_str());
        assert_eq!(of("/w/app/src"), Some("outer"));
        assert_eq!(of("/w/app/docs/en"), Some("inner"));
        assert_eq!(of("/w/app"), Some("outer"));
        assert_eq!(of("/w/apple"), None);
    }
}
