//! The user's repository, and the list of its worktrees.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::sync::OnceCell;

use crate::error::TreeError;
use ao_git::refs::{self, HeadPosition};
use ao_git::{Git, GitError, Settings};

/// A repository with a checkout.
#[derive(Debug)]
pub(crate) struct Repository {
    pub(crate) root: PathBuf,
    /// The git directory that all its worktrees share.
    pub(crate) common_dir: PathBuf,
    pub(crate) git: Git,
    pub(crate) settings: Settings,
}

/// A cache of opened repositories: their identity does not change, and asking costs a process.
#[derive(Debug, Default)]
pub(crate) struct RepositoryCache {
    settings: Settings,
    /// Locked only to look one up. Grows with the number of repositories, which a person sets up one by one.
    known: Mutex<HashMap<PathBuf, Arc<CachedRepository>>>,
}

/// Opened by the first caller; the others of a burst wait for that.
type CachedRepository = OnceCell<Arc<Repository>>;

impl RepositoryCache {
    pub(crate) fn new(settings: Settings) -> RepositoryCache {
        RepositoryCache { settings, known: Mutex::default() }
    }

    /// Opens the repository that a folder belongs to.
    pub(crate) async fn open(&self, folder: &Path) -> Result<Arc<Repository>, TreeError> {
        let known = {
            let mut known = self.known.lock().expect("no thread panics while looking one up");
            let known = known.entry(folder.to_owned()).or_default();
            if known.get().is_some_and(|repository| !repository.is_there()) {
                *known = Arc::default();
            }
            known.clone()
        };
        let open = async || Repository::open(folder, &self.settings).await.map(Arc::new);
        known.get_or_try_init(open).await.cloned()
    }
}

/// A worktree as listed by git.
#[derive(Debug, Clone)]
pub(crate) struct ListedWorktree {
    pub(crate) path: PathBuf,
    /// `None` if it cannot be read.
    pub(crate) head: Option<HeadPosition>,
    pub(crate) locked: bool,
}

impl ListedWorktree {
    pub(crate) fn is_on(&self, branch: &str) -> bool {
        matches!(&self.head, Some(HeadPosition::Branch(on)) if on == branch)
    }
}

impl Repository {
    async fn open(folder: &Path, settings: &Settings) -> Result<Repository, TreeError> {
        let git = Git::at(folder, settings);
        let asked =
            git.read(&["rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir"]).await;
        let output = match asked {
            Ok(output) => output,
            Err(err @ GitError::NoGit) => return Err(err.into()),
            Err(err) => {
                let bare = git.read(&["rev-parse", "--is-bare-repository"]).await;
                return Err(match bare.as_deref() {
                    Ok("true") => TreeError::Bare { path: folder.to_owned() },
                    _ => TreeError::NoRepository { path: folder.to_owned(), err },
                });
            }
        };
        let (root, common_dir) = output.split_once('\n').unwrap_or((&output, ""));
        Ok(Repository {
            root: root.into(),
            common_dir: common_dir.into(),
            git: Git::at(Path::new(root), settings),
            settings: settings.clone(),
        })
    }

    /// Returns true if it still exists. Whether it is bare is checked again, because that can be switched.
    fn is_there(&self) -> bool {
        self.root.is_dir() && self.common_dir.join("HEAD").is_file()
    }

    /// Returns the commit that a full ref name stands for, if there is one.
    pub(crate) async fn commit(&self, name: &str) -> Result<Option<String>, GitError> {
        match refs::find(&self.common_dir, name) {
            Some(found) => Ok(found),
            None => self.git.commit(name).await,
        }
    }

    /// Lists its worktrees, the main one first.
    pub(crate) async fn worktrees(&self) -> Result<Vec<ListedWorktree>, GitError> {
        match self.listed_by_files() {
            Some(listed) => Ok(listed),
            None => Ok(parse(&self.git.read(&["worktree", "list", "--porcelain", "-z"]).await?)),
        }
    }

    /// Lists them from git's files; `None` where those do not suffice.
    fn listed_by_files(&self) -> Option<Vec<ListedWorktree>> {
        // The project's folder may be a worktree itself; the main one is where the common git directory is.
        let main = match self.common_dir.file_name().is_some_and(|name| name == ".git") {
            true => self.common_dir.parent().unwrap_or(&self.root),
            false => &self.root,
        };
        let main = ListedWorktree {
            path: main.to_owned(),
            head: Some(refs::head(&self.common_dir, &self.common_dir)?),
            locked: false,
        };
        let mut listed = vec![main];
        for git_dir in self.git_dirs() {
            // One without this file is being created or removed right now, and git skips it too.
            let Some(path) = place_of(&git_dir) else { continue };
            let head = refs::head(&self.common_dir, &git_dir);
            listed.push(ListedWorktree { path, head, locked: git_dir.join("locked").exists() });
        }
        Some(listed)
    }

    /// Returns the commit that a worktree has checked out.
    pub(crate) async fn head_of(&self, listed: &ListedWorktree) -> Result<Option<String>, GitError> {
        match &listed.head {
            Some(HeadPosition::Branch(branch)) => self.commit(&format!("refs/heads/{branch}")).await,
            Some(HeadPosition::Detached(commit)) => Ok(Some(commit.clone())),
            None => Ok(None),
        }
    }

    /// Lists the git directories of all its worktrees, including those whose folder is gone.
    pub(crate) fn git_dirs(&self) -> impl Iterator<Item = PathBuf> {
        let entries = fs::read_dir(self.common_dir.join("worktrees")).into_iter().flatten();
        entries.flatten().map(|entry| entry.path())
    }

    /// Returns the git directory of the worktree at `path`, which need not exist any more.
    pub(crate) fn git_dir_of(&self, path: &Path) -> Option<PathBuf> {
        let places = self.git_dirs().filter_map(|git_dir| place_of(&git_dir).map(|place| (git_dir, place)));
        find(places.collect(), path, |(_, place)| place).map(|(git_dir, _)| git_dir)
    }
}

/// Returns the folder of the worktree that a git directory is for.
pub(crate) fn place_of(git_dir: &Path) -> Option<PathBuf> {
    let told = fs::read_to_string(git_dir.join("gitdir")).ok()?;
    // Newer versions of git can write a relative path.
    git_dir.join(told.trim_end()).parent().map(Path::to_owned)
}

/// Finds the worktree at a path in a list.
pub(crate) fn at<'a>(listed: &'a [ListedWorktree], path: &Path) -> Option<&'a ListedWorktree> {
    find(listed.iter().collect(), path, |listed| &listed.path)
}

/// Finds the item at a path. By the literal path first: resolving links for each of many worktrees takes longer than
/// all the rest.
fn find<T>(mut among: Vec<T>, path: &Path, place: impl Fn(&T) -> &Path) -> Option<T> {
    if let Some(found) = among.iter().position(|it| place(it) == path) {
        return Some(among.swap_remove(found));
    }
    let path = path.canonicalize().ok()?;
    let found = among.iter().position(|it| place(it).canonicalize().is_ok_and(|place| place == path))?;
    Some(among.swap_remove(found))
}

/// Returns true if two paths lead to the same place.
pub(crate) fn same(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn parse(porcelain: &str) -> Vec<ListedWorktree> {
    let mut worktrees: Vec<ListedWorktree> = Vec::new();
    let mut commit = String::new();
    for field in porcelain.split('\0') {
        let (key, value) = field.split_once(' ').unwrap_or((field, ""));
        if key == "worktree" {
            worktrees.push(ListedWorktree { path: value.into(), head: None, locked: false });
        } else if let Some(worktree) = worktrees.last_mut() {
            match key {
                "HEAD" => value.clone_into(&mut commit),
                "branch" => {
                    worktree.head =
                        Some(HeadPosition::Branch(value.trim_start_matches("refs/heads/").to_owned()));
                }
                "detached" => worktree.head = Some(HeadPosition::Detached(commit.clone())),
                "locked" => worktree.locked = true,
                _ => {}
            }
        }
    }
    worktrees
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_worktrees_is_read_field_by_field() {
        let porcelain = "worktree /a b\0HEAD 11\0branch refs/heads/agent/x\0\0worktree /c\0HEAD 22\0detached\0locked initializing\0\0";
        let told: Vec<String> = parse(porcelain)
            .iter()
            .map(|it| format!("{} {:?} {}", it.path.display(), it.head, it.locked))
            .collect();
        assert_eq!(told, ["/a b Some(Branch(\"agent/x\")) false", "/c Some(Detached(\"22\")) true"]);
    }
}
