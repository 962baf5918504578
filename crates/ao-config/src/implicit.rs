//! The implicit project: a configuration that names no project is for the repository at whose root its file is.
//!
//! The repository is read from git's own files, because loading a configuration runs no program.

use camino::{Utf8Path, Utf8PathBuf};

use crate::names::project_name;
use crate::tree::{ConfigTree, TextPosition, TreeEntry, TreeMap, TreeValue};

/// A project that no file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImplicitProject {
    pub name: String,
    /// The branch that its sessions start from, if it can be determined.
    pub default_branch: Option<String>,
}

/// Adds the repository of a project's file to the merged tree. Returns `None` if the folder is not a repository, or if
/// one of the projects is that repository already.
pub(crate) fn add(
    tree: &mut ConfigTree,
    file: usize,
    folder: &Utf8Path,
    home: Option<&Utf8Path>,
) -> Option<ImplicitProject> {
    let git = git_dir(folder)?;
    let at = TextPosition { file, ..TextPosition::default() };
    let top = tree.as_map_mut()?;
    let projects = top
        .entry("projects".to_owned())
        .or_insert_with(|| TreeEntry { key_at: at, tree: ConfigTree::map(at) });
    if projects.tree.value == TreeValue::Null {
        projects.tree.value = TreeValue::Map(TreeMap::new());
    }
    let projects = projects.tree.as_map_mut()?;
    if projects.values().any(|project| is_at(&project.tree, folder, home)) {
        return None;
    }
    let name = free_name(&project_name(folder.file_name().unwrap_or_default()), projects);
    let default_branch = default_branch(&git);
    let entry = |text: &str| TreeEntry { key_at: at, tree: ConfigTree::text(text, at) };
    let mut project = TreeMap::from([("path".to_owned(), entry("."))]);
    if let Some(branch) = &default_branch {
        project.insert("defaultBranch".to_owned(), entry(branch));
    }
    let project = ConfigTree { value: TreeValue::Map(project), at, written: None };
    projects.insert(name.clone(), TreeEntry { key_at: at, tree: project });
    Some(ImplicitProject { name, default_branch })
}

/// Returns the common git folder of a repository, if the folder is the root of one.
fn git_dir(folder: &Utf8Path) -> Option<Utf8PathBuf> {
    let git = folder.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let link = std::fs::read_to_string(&git).ok()?;
    let dir = folder.join(link.trim().strip_prefix("gitdir: ")?);
    match std::fs::read_to_string(dir.join("commondir")) {
        Ok(common) => Some(dir.join(common.trim())),
        Err(_) => Some(dir),
    }
}

/// Picks the remote's default branch, then `main` or `master`, then the branch that is checked out. The last one
/// changes whenever the user switches branches in the main checkout, and the base of a project must not follow that.
fn default_branch(git: &Utf8Path) -> Option<String> {
    let target = |of: &str, prefix: &str| {
        let text = std::fs::read_to_string(git.join(of)).ok()?;
        Some(text.trim().strip_prefix("ref: ")?.strip_prefix(prefix)?.to_owned())
    };
    let packed = std::fs::read_to_string(git.join("packed-refs")).unwrap_or_default();
    let is_there = |name: &&str| {
        let whole = format!("refs/heads/{name}");
        git.join(&whole).is_file()
            || packed.lines().any(|line| line.split_once(' ').is_some_and(|(_, known)| known == whole))
    };
    let usual = || ["main", "master"].into_iter().find(is_there).map(str::to_owned);
    target("refs/remotes/origin/HEAD", "refs/remotes/origin/")
        .or_else(usual)
        .or_else(|| target("HEAD", "refs/heads/"))
}

fn is_at(project: &ConfigTree, folder: &Utf8Path, home: Option<&Utf8Path>) -> bool {
    let Some(path) = project.as_map().and_then(|project| project.get("path")?.tree.as_text()) else {
        return false;
    };
    let path = match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => Utf8PathBuf::from(path),
    };
    let real = |path: &Utf8Path| path.canonicalize_utf8().unwrap_or_else(|_| path.to_path_buf());
    path.is_absolute() && real(&path) == real(folder)
}

fn free_name(name: &str, taken: &TreeMap) -> String {
    let others = (2..).map(|n| format!("{name}-{n}"));
    std::iter::once(name.to_owned())
        .chain(others)
        .find(|name| !taken.contains_key(name))
        .expect("numbers do not end")
}
