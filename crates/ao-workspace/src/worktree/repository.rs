//! The repository around a worktree, and the list of its worktrees.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::WorktreeError;
use crate::git::{Git, GitError};

/// A repository with a checkout.
#[derive(Debug)]
pub(super) struct Repository {
    pub(super) root: PathBuf,
    /// The git directory that all its worktrees share.
    pub(super) common_dir: PathBuf,
    pub(super) git: Git,
}

/// A worktree as git lists it.
#[derive(Debug, Clone, Default)]
pub(super) struct Listed {
    pub(super) path: PathBuf,
    pub(super) head: Option<String>,
    /// Without `refs/heads/`.
    pub(super) branch: Option<String>,
    pub(super) locked: bool,
}

impl Repository {
    /// Opens the repository that a folder belongs to.
    pub(super) async fn open(folder: &Path) -> Result<Repository, WorktreeError> {
        let git = Git::at(folder);
        let asked = git.read(&["rev-parse", "--is-bare-repository"]).await;
        match asked {
            Ok(bare) if bare == "true" => return Err(WorktreeError::Bare { path: folder.to_owned() }),
            Ok(_) => {}
            Err(err @ GitError::NoGit) => return Err(err.into()),
            Err(err) => return Err(WorktreeError::NoRepository { path: folder.to_owned(), err }),
        }
        let told =
            git.read(&["rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir"]).await?;
        let (root, common_dir) = told.split_once('\n').unwrap_or((&told, ""));
        Ok(Repository { root: root.into(), common_dir: common_dir.into(), git: Git::at(Path::new(root)) })
    }

    pub(super) async fn worktrees(&self) -> Result<Vec<Listed>, GitError> {
        Ok(parse(&self.git.read(&["worktree", "list", "--porcelain", "-z"]).await?))
    }

    /// The git directories of all its worktrees, of those too whose folder is gone.
    pub(super) fn git_dirs(&self) -> impl Iterator<Item = PathBuf> {
        let entries = fs::read_dir(self.common_dir.join("worktrees")).into_iter().flatten();
        entries.flatten().map(|entry| entry.path())
    }

    /// The git directory of the worktree at `path`, which need not exist any more.
    pub(super) fn git_dir_of(&self, path: &Path) -> Option<PathBuf> {
        let gitfile = path.join(".git");
        self.git_dirs().find(|git_dir| {
            fs::read_to_string(git_dir.join("gitdir"))
                .is_ok_and(|told| same(Path::new(told.trim_end()), &gitfile))
        })
    }
}

/// Whether two paths lead to the same place, however they get there.
pub(super) fn same(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn parse(porcelain: &str) -> Vec<Listed> {
    let mut worktrees: Vec<Listed> = Vec::new();
    for field in porcelain.split('\0') {
        let (key, value) = field.split_once(' ').unwrap_or((field, ""));
        if key == "worktree" {
            worktrees.push(Listed { path: value.into(), ..Listed::default() });
        } else if let Some(worktree) = worktrees.last_mut() {
            match key {
                "HEAD" => worktree.head = Some(value.to_owned()),
                "branch" => worktree.branch = Some(value.trim_start_matches("refs/heads/").to_owned()),
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
            .map(|it| format!("{} {:?} {:?} {}", it.path.display(), it.head, it.branch, it.locked))
            .collect();
        assert_eq!(told, ["/a b Some(\"11\") Some(\"agent/x\") false", "/c Some(\"22\") None true"]);
    }
}
