//! Describes the pull request that a branch would make. Changes nothing and runs no hook.

use std::time::Duration;

use camino::Utf8Path;

use crate::error::{CommandError, FailureKind};
use crate::program::{self, ProgramError};

const LIMIT: Duration = Duration::from_secs(30);
/// Maximum number of commits listed in the text.
const LISTED: usize = 50;

/// A branch with the commits that its base lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BranchProposal {
    pub(crate) head: String,
    /// Newest first, bounded; absent if the base is unknown.
    pub(crate) commits: Option<Vec<ProposedCommit>>,
    /// Number of files that differ from the last commit, or are not in it.
    pub(crate) uncommitted: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProposedCommit {
    pub(crate) title: String,
    pub(crate) body: String,
}

impl BranchProposal {
    /// Reads the branch of a folder, or another one of the same repository.
    pub(crate) async fn at(
        folder: &Utf8Path,
        head: Option<&str>,
        base: Option<&str>,
    ) -> Result<BranchProposal, CommandError> {
        let head = match head {
            Some(head) => head.to_owned(),
            None => current(folder).await?,
        };
        let Some(tip) = tip(folder, &head).await? else {
            let error = format!("there is no branch `{head}` in `{folder}`, or at a remote");
            return Err(CommandError::user(error).hint("`git branch --all` lists all branches"));
        };
        let mut bases = Vec::new();
        for base in base
            .into_iter()
            .flat_map(|base| [format!("refs/heads/{base}"), format!("refs/remotes/origin/{base}")])
        {
            if exists(folder, &base).await? {
                bases.push(base);
            }
        }
        let commits = match bases.is_empty() {
            true => None,
            false => Some(commits(folder, &tip, &bases).await?),
        };
        let status = git(
            folder,
            &["status", "--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=dirty"],
        )
        .await?;
        let uncommitted = status.said.split('\0').filter(|entry| !entry.is_empty()).count();
        Ok(BranchProposal { head, commits, uncommitted })
    }

    /// Returns the title of the newest commit.
    pub(crate) fn title(&self) -> Option<&str> {
        self.commits.as_deref()?.first().map(|commit| commit.title.as_str())
    }

    /// Returns the text of the only commit, or the list of all.
    pub(crate) fn body(&self) -> String {
        match self.commits.as_deref().unwrap_or_default() {
            [] => String::new(),
            [only] => only.body.clone(),
            commits => {
                let lines = commits.iter().rev().map(|commit| format!("- {}", commit.title));
                lines.collect::<Vec<_>>().join("\n")
            }
        }
    }
}

/// Returns the current branch.
async fn current(folder: &Utf8Path) -> Result<String, CommandError> {
    let head = git(folder, &["symbolic-ref", "--quiet", "HEAD"]).await?;
    match head.said.trim_end().strip_prefix("refs/heads/") {
        Some(branch) => Ok(branch.to_owned()),
        None => {
            let error = format!("`{folder}` has a detached HEAD, so there is no branch to merge");
            Err(CommandError::user(error)
                .hint("create one with `git switch -c my-change`, or name one with `--head`"))
        }
    }
}

/// Returns the ref of a branch: local, at origin, or else at another remote that it was pushed to.
async fn tip(folder: &Utf8Path, branch: &str) -> Result<Option<String>, CommandError> {
    for tip in [format!("refs/heads/{branch}"), format!("refs/remotes/origin/{branch}")] {
        if exists(folder, &tip).await? {
            return Ok(Some(tip));
        }
    }
    let remotes = git(folder, &["remote"]).await?;
    for remote in remotes.said.lines() {
        let tip = format!("refs/remotes/{remote}/{branch}");
        if exists(folder, &tip).await? {
            return Ok(Some(tip));
        }
    }
    Ok(None)
}

async fn exists(folder: &Utf8Path, name: &str) -> Result<bool, CommandError> {
    Ok(git(folder, &["show-ref", "--verify", "--quiet", "--", name]).await?.succeeded)
}

async fn commits(
    folder: &Utf8Path,
    tip: &str,
    bases: &[String],
) -> Result<Vec<ProposedCommit>, CommandError> {
    let most = format!("--max-count={LISTED}");
    let mut args = vec!["log", "-z", "--no-show-signature", "--format=%s%n%b", &most, tip, "--not"];
    args.extend(bases.iter().map(String::as_str));
    args.push("--");
    let log = git(folder, &args).await?;
    if !log.succeeded {
        let error = format!("git cannot read `{tip}`: {}", log.complaint);
        return Err(CommandError::environment(error));
    }
    let commit = |text: &str| {
        let (title, body) = text.split_once('\n').unwrap_or((text, ""));
        ProposedCommit { title: title.to_owned(), body: body.trim().to_owned() }
    };
    Ok(log.said.split_terminator('\0').map(commit).collect())
}

struct GitOutput {
    said: String,
    complaint: String,
    succeeded: bool,
}

async fn git(folder: &Utf8Path, args: &[&str]) -> Result<GitOutput, CommandError> {
    let failed = |err| match err {
        ProgramError::Missing(_) => {
            CommandError::new(FailureKind::MissingProgram, err).hint("install git 2.36 or newer")
        }
        err => CommandError::environment(err),
    };
    let mut command = program::git(folder.as_std_path()).await.map_err(failed)?;
    command.arg("--no-optional-locks").args(args);
    let output = program::ask(command, LIMIT).await.map_err(failed)?;
    Ok(GitOutput {
        said: String::from_utf8_lossy(&output.stdout).into_owned(),
        complaint: program::text(&output.stderr),
        succeeded: output.status.success(),
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn run(folder: &Utf8Path, args: &[&str]) {
        let output = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
            .args(args)
            .current_dir(folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    #[tokio::test]
    async fn a_branch_proposes_the_commits_that_its_base_has_not() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        run(folder, &["init", "-q", "-b", "trunk"]);
        run(folder, &["commit", "-q", "--allow-empty", "-m", "first"]);
        run(folder, &["switch", "-q", "-c", "fix/$(it)"]);
        let at = async |head, base| BranchProposal::at(folder, head, base).await;
        let nothing = at(None, Some("trunk")).await.unwrap();
        assert_eq!((nothing.head.as_str(), nothing.commits.as_deref()), ("fix/$(it)", Some(&[][..])));
        run(folder, &["commit", "-q", "--allow-empty", "-m", "one `x`\n\nwhy\nand how"]);
        let one = at(None, Some("trunk")).await.unwrap();
        assert_eq!((one.title(), one.body().as_str()), (Some("one `x`"), "why\nand how"));
        run(folder, &["commit", "-q", "--allow-empty", "-m", "two"]);
        std::fs::write(folder.join("new file"), "x").unwrap();
        let two = at(None, Some("trunk")).await.unwrap();
        assert_eq!(two.title(), Some("two"));
        assert_eq!((two.body().as_str(), two.uncommitted), ("- one `x`\n- two", 1));
        assert_eq!(at(None, Some("nowhere")).await.unwrap().commits, None);
        assert!(at(Some("-x"), None).await.unwrap_err().to_plain().contains("no branch `-x`"));
        // A branch that was pushed elsewhere can be proposed from here.
        run(folder, &["remote", "add", "fork", "."]);
        run(folder, &["update-ref", "refs/remotes/fork/far/away", "HEAD"]);
        assert_eq!(at(Some("far/away"), Some("trunk")).await.unwrap().title(), Some("two"));
        run(folder, &["checkout", "-q", "--detach"]);
        assert!(at(None, None).await.unwrap_err().to_plain().contains("detached HEAD"));
    }
}
