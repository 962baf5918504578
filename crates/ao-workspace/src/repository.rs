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

/// The repositories that were opened before: what a repository is does not change, and to ask costs a process.
#[derive(Debug, Default)]
pub(crate) struct Repositories {
    settings: Settings,
    /// Held only to look one up. Grows with the number of repositories, which a person sets up one by one.
    known: Mutex<HashMap<PathBuf, Arc<Known>>>,
}

/// Opened by whoever comes first; the others of a burst wait for that.
type Known = OnceCell<Arc<Repository>>;

impl Repositories {
    pub(crate) fn new(settings: Settings) -> Repositories {
        Repositories { settings, known: Mutex::default() }
    }

    /// Opens the repository that a folder belongs to.
    pub(crate) async fn open(&self, folder: &Path) -> Result<Arc<Repository>, TreeError> {
        let known = {
            let mut known = self.known.lock().expect("nobody panics while looking one up");
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

/// A worktree as git lists it.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    pub(crate) path: PathBuf,
    /// `None` if it cannot be read.
    pub(crate) head: Option<HeadPosition>,
    pub(crate) locked: bool,
}

impl Listed {
    pub(crate) fn is_on(&self, branch: &str) -> bool {
        matches!(&self.head, Some(HeadPosition::Branch(on)) if on == branch)
    }
}

impl Repository {
    async fn open(folder: &Path, settings: &Settings) -> Result<Repository, TreeError> {
        let git = Git::at(folder, settings);
        let asked =
            git.read(&["rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir"]).await;
        let told = match asked {
            Ok(told) => told,
            Err(err @ GitError::NoGit) => return Err(err.into()),
            Err(err) => {
                let bare = git.read(&["rev-parse", "--is-bare-repository"]).await;
                return Err(match bare.as_deref() {
                    Ok("true") => TreeError::Bare { path: folder.to_owned() },
                    _ => TreeError::NoRepository { path: folder.to_owned(), err },
                });
            }
        };
        let (root, common_dir) = told.split_once('\n').unwrap_or((&told, ""));
        Ok(Repository {
            root: root.into(),
            common_dir: common_dir.into(),
            git: Git::at(Path::new(root), settings),
            settings: settings.clone(),
        })
    }

    /// Whether it is still where it was. A bare one is asked about again, because that can be switched.
    fn is_there(&self) -> bool {
        self.root.is_dir() && self.common_dir.join("HEAD").is_file()
    }

    /// The commit that a full name of a ref stands for, if there is one.
    pub(crate) async fn commit(&self, name: &str) -> Result<Option<String>, GitError> {
        match refs::find(&self.common_dir, name) {
            Some(found) => Ok(found),
            None => self.git.commit(name).await,
        }
    }

    /// Its worktrees, the main one first.
    pub(crate) async fn worktrees(&self) -> Result<Vec<Listed>, GitError> {
        match self.listed_by_files() {
            Some(listed) => Ok(listed),
            None => Ok(parse(&self.git.read(&["worktree", "list", "--porcelain", "-z"]).await?)),
        }
    }

    /// The same list from git's files; `None` where they do not tell.
    fn listed_by_files(&self) -> Option<Vec<Listed>> {
        // The project's folder may be a worktree itself; the main one is where the shared git directory is.
        let main = match self.common_dir.file_name().is_some_and(|name| name == ".git") {
            true => self.common_dir.parent().unwrap_or(&self.root),
            false => &self.root,
        };
        let main = Listed {
            path: main.to_owned(),
            head: Some(refs::head(&self.common_dir, &self.common_dir)?),
            locked: false,
        };
        let mut listed = vec![main];
        for git_dir in self.git_dirs() {
            // What has no such file is being made or removed this moment, and git passes over it too.
            let Some(path) = place_of(&git_dir) else { continue };
            let head = refs::head(&self.common_dir, &git_dir);
            listed.push(Listed { path, head, locked: git_dir.join("locked").exists() });
        }
        Some(listed)
    }

    /// The commit that a worktree stands on.
    pub(crate) async fn head_of(&self, listed: &Listed) -> Result<Option<String>, GitError> {
        match &listed.head {
            Some(HeadPosition::Branch(branch)) => self.commit(&format!("refs/heads/{branch}")).await,
            Some(HeadPosition::Detached(commit)) => Ok(Some(commit.clone())),
            None => Ok(None),
        }
    }

    /// The git directories of all its worktrees, of those too whose folder is gone.
    pub(crate) fn git_dirs(&self) -> impl Iterator<Item = PathBuf> {
        let entries = fs::read_dir(self.common_dir.join("worktrees")).into_iter().flatten();
        entries.flatten().map(|entry| entry.path())
    }

    /// The git directory of the worktree at `path`, which need not exist any more.
    pub(crate) fn git_dir_of(&self, path: &Path) -> Option<PathBuf> {
        let places = self.git_dirs().filter_map(|git_dir| place_of(&git_dir).map(|place| (git_dir, place)));
        find(places.collect(), path, |(_, place)| place).map(|(git_dir, _)| git_dir)
    }
}

/// The folder of the worktree that a git directory is for.
pub(crate) fn place_of(git_dir: &Path) -> Option<PathBuf> {
    let told = fs::read_to_string(git_dir.join("gitdir")).ok()?;
    // Newer versions of git can write it relative to where it stands.
    git_dir.join(told.trim_end()).parent().map(Path::to_owned)
}

/// The worktree at a path, from a list of them.
pub(crate) fn at<'a>(listed: &'a [Listed], path: &Path) -> Option<&'a Listed> {
    find(listed.iter().collect(), path, |listed| &listed.path)
}

/// What is at a path. First by the very path: to follow links for each of many worktrees takes longer than all the rest.
fn find<T>(mut among: Vec<T>, path: &Path, place: impl Fn(&T) -> &Path) -> Option<T> {
    if let Some(found) = among.iter().position(|it| place(it) == path) {
        return Some(among.swap_remove(found));
    }
    let path = path.canonicalize().ok()?;
    let found = among.iter().position(|it| place(it).canonicalize().is_ok_and(|place| place == path))?;
    Some(among.swap_remove(found))
}

/// Whether two paths lead to the same place, however they get there.
pub(crate) fn same(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn parse(porcelain: &str) -> Vec<Listed> {
    let mut worktrees: Vec<Listed> = Vec::new();
    let mut commit = String::new();
    for field in porcelain.split('\0') {
        let (key, value) = field.split_once(' ').unwrap_or((field, ""));
        if key == "worktree" {
            worktrees.push(Listed { path: value.into(), head: None, locked: false });
        } else if let Some(worktree) = worktrees.last_mut() {
            match key {
                "HEAD" => value.clone_into(&mut commit),
                "branch" => {
                    worktree.head = Some(HeadPosition::Branch(value.trim_start_matches("refs/heads/").to_owned()));
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
