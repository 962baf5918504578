//! Describes the git repository of a folder: its root, its origin, and its default branch.
//!
//! Changes nothing and runs no hook. Workspaces have their own view of a repository; this one is for a user in a
//! folder who wants to start.

use std::ffi::OsStr;
use std::time::Duration;

use ao_config::names::project_name;
use camino::{Utf8Path, Utf8PathBuf};
use tokio::try_join;

use crate::git_url::GitUrl;
use crate::program::{self, ProgramError};

/// Git answers these questions at once, unless the disk is remote and asleep.
const LIMIT: Duration = Duration::from_secs(10);

/// A repository with a checkout and at least one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitRepository {
    /// The main checkout, also if the folder is in a linked worktree.
    pub root: Utf8PathBuf,
    /// A valid project name: letters, digits, `-`, `_` and `.` only.
    pub name: String,
    /// The branch that new work starts from.
    pub default_branch: String,
    /// The URL of `origin`, if there is one without a secret.
    pub remote: Option<GitUrl>,
}

#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    #[error("`{0}` does not exist")]
    NoFolder(Utf8PathBuf),
    #[error("`{0}` is not in a git repository")]
    None(Utf8PathBuf),
    #[error("`{0}` is a bare repository, which has no files to work on")]
    Bare(Utf8PathBuf),
    #[error("the repository `{0}` has no commit yet, so there is nothing to start from")]
    Unborn(Utf8PathBuf),
    #[error("git refuses to read `{0}`, because it belongs to another user")]
    NotYours(Utf8PathBuf),
    #[error("the program `git` was not found")]
    NoGit,
    #[error("git failed in `{folder}`: {said}")]
    Failed { folder: Utf8PathBuf, said: String },
    #[error("git could not be asked about `{folder}`")]
    NotAsked {
        folder: Utf8PathBuf,
        #[source]
        err: ProgramError,
    },
}

impl GitRepository {
    /// Finds the repository of a folder.
    pub async fn at(folder: &Utf8Path) -> Result<GitRepository, RepositoryError> {
        let root = root(folder).await?;
        let (branches, head, origin) = try_join!(
            git(
                &root,
                &["for-each-ref", "--format=%(refname) %(symref)", "refs/heads", "refs/remotes/origin/HEAD"]
            ),
            git(&root, &["symbolic-ref", "--quiet", "HEAD"]),
            // As written, not as rewritten by `insteadOf`, where people put their tokens.
            git(&root, &["config", "--get", "remote.origin.url"]),
        )?;
        let branches = branches.done(&root)?;
        let default_branch =
            default_branch(&branches, &head.said).ok_or_else(|| RepositoryError::Unborn(root.clone()))?;
        let remote = GitUrl::parse(&origin.said).ok().flatten();
        Ok(GitRepository {
            name: project_name(root.file_name().unwrap_or_default()),
            root,
            default_branch,
            remote,
        })
    }

    /// Returns `owner/name` on its forge, if it has one.
    pub fn repo(&self) -> Option<&str> {
        self.remote.as_ref()?.repo()
    }
}

/// Returns the main checkout of the repository of a folder.
async fn root(folder: &Utf8Path) -> Result<Utf8PathBuf, RepositoryError> {
    if !folder.exists() {
        return Err(RepositoryError::NoFolder(folder.to_owned()));
    }
    // The last question fails without a work tree; those before it are answered anyway.
    let asked = [
        "rev-parse",
        "--path-format=absolute",
        "--is-bare-repository",
        "--git-dir",
        "--git-common-dir",
        "--show-toplevel",
    ];
    let answer = git(folder, &asked).await?;
    let lines: Vec<&str> = answer.said.lines().collect();
    match lines[..] {
        ["false", git_dir, common, top] if git_dir == common => Ok(top.into()),
        ["false", _, common, ..] => main_checkout(folder, common.into()).await,
        ["true", _, common, ..] => Err(RepositoryError::Bare(common.into())),
        _ if answer.complaint.contains("dubious ownership") => {
            Err(RepositoryError::NotYours(folder.to_owned()))
        }
        _ if answer.complaint.contains("not a git repository") => {
            Err(RepositoryError::None(folder.to_owned()))
        }
        _ => Err(RepositoryError::Failed { folder: folder.to_owned(), said: answer.complaint }),
    }
}

/// Returns the main checkout for a folder in a linked worktree or in `.git` itself.
async fn main_checkout(folder: &Utf8Path, common: Utf8PathBuf) -> Result<Utf8PathBuf, RepositoryError> {
    let list = git(folder, &["worktree", "list", "--porcelain"]).await?.done(folder)?;
    let first: Vec<&str> = list.lines().take_while(|line| !line.is_empty()).collect();
    if first.contains(&"bare") {
        return Err(RepositoryError::Bare(common));
    }
    match first.iter().find_map(|line| line.strip_prefix("worktree ")) {
        // Git returns the folder of the repository's own files if it does not know the checkout's.
        Some(path) if path != common => Ok(path.into()),
        _ => Err(RepositoryError::Failed {
            folder: folder.to_owned(),
            said: format!("the main checkout of `{common}` is unknown; run this there"),
        }),
    }
}

/// Chooses the remote's default, then the current branch, then common names, then the only one.
fn default_branch(branches: &str, head: &str) -> Option<String> {
    let lines = || branches.lines().map(|line| line.split_once(' ').unwrap_or((line, "")));
    let remote = lines().find_map(|(_, symref)| symref.strip_prefix("refs/remotes/origin/"));
    let local = |name: &str| lines().any(|(branch, _)| branch.strip_prefix("refs/heads/") == Some(name));
    let current = head.strip_prefix("refs/heads/").filter(|name| local(name));
    let usual = ["main", "master"].into_iter().find(|name| local(name));
    let any = || lines().find_map(|(branch, _)| branch.strip_prefix("refs/heads/"));
    remote.or(current).or(usual).or_else(any).map(str::to_owned)
}

/// Returns true if a folder is certainly the checkout of a repository with a commit, as far as visible without git.
/// In other cases, such as linked worktrees, git has to be asked.
pub(crate) fn is_born(folder: &Utf8Path) -> bool {
    let git_dir = folder.join(".git");
    let Ok(head) = std::fs::read_to_string(git_dir.join("HEAD")) else { return false };
    let head = head.trim();
    let Some(branch) = head.strip_prefix("ref: ") else {
        return head.len() >= 40 && head.bytes().all(|byte| byte.is_ascii_hexdigit());
    };
    let is_packed = || {
        let packed = std::fs::read_to_string(git_dir.join("packed-refs")).unwrap_or_default();
        packed.lines().any(|line| line.split_once(' ').is_some_and(|(_, name)| name == branch))
    };
    branch.starts_with("refs/heads/") && (git_dir.join(branch).is_file() || is_packed())
}

/// The output of git; empty if there is no such thing.
struct GitAnswer {
    said: String,
    complaint: String,
    succeeded: bool,
}

impl GitAnswer {
    fn done(self, folder: &Utf8Path) -> Result<String, RepositoryError> {
        match self.succeeded {
            true => Ok(self.said),
            false => Err(RepositoryError::Failed { folder: folder.to_owned(), said: self.complaint }),
        }
    }
}

async fn git(folder: &Utf8Path, args: &[impl AsRef<OsStr>]) -> Result<GitAnswer, RepositoryError> {
    let output = loop {
        let failed = |err| match err {
            ProgramError::Missing(_) => RepositoryError::NoGit,
            err => RepositoryError::NotAsked { folder: folder.to_owned(), err },
        };
        let mut command = program::git(folder.as_std_path()).await.map_err(failed)?;
        command.arg("--no-optional-locks").args(args);
        let output = program::ask(command, LIMIT).await.map_err(failed)?;
        if !ao_git::half_made::asks_again(&output, folder.as_std_path()).await {
            break output;
        }
    };
    let complaint = program::text(&output.stderr);
    let complaint = match complaint.strip_prefix("fatal: ").unwrap_or(&complaint) {
        "" => output.status.to_string(),
        said => said.to_owned(),
    };
    Ok(GitAnswer { said: program::text(&output.stdout), complaint, succeeded: output.status.success() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_starts_from_the_branch_that_the_remote_names() {
        let branches =
            "refs/heads/fix \nrefs/heads/main \nrefs/remotes/origin/HEAD refs/remotes/origin/trunk";
        assert_eq!(default_branch(branches, "refs/heads/fix").as_deref(), Some("trunk"));
    }

    #[test]
    fn without_a_remote_work_starts_from_the_branch_one_is_on() {
        let branches = "refs/heads/fix \nrefs/heads/main ";
        assert_eq!(default_branch(branches, "refs/heads/fix").as_deref(), Some("fix"));
        assert_eq!(default_branch(branches, "").as_deref(), Some("main"));
        assert_eq!(default_branch("refs/heads/fix ", "refs/heads/new").as_deref(), Some("fix"));
        assert_eq!(default_branch("", "refs/heads/main"), None);
    }
}
