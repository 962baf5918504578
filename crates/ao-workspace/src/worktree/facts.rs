//! What the deletion gate wants to know, found out. What git or the system does not tell stays `None`.

use std::path::{Path, PathBuf};

use ao_core::workspace::TreeFacts;
use ao_ports::RemoveOrder;

use super::marker::Marker;
use super::processes;
use super::repository::same;
use crate::git::{Git, GitError};

/// What lies in a git directory while something is under way.
const OPERATIONS: [&str; 8] = [
    "MERGE_HEAD",
    "REBASE_HEAD",
    "rebase-merge",
    "rebase-apply",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_LOG",
    "sequencer",
];

pub(super) async fn gather(path: &Path, order: &RemoveOrder) -> TreeFacts {
    let git = Git::at(path);
    let process_inside = processes::any_inside(path).await;
    let Some((git_dir, common_dir)) = own_git_dir(&git).await else {
        // A folder that git does not know as a worktree. Git would answer for the repository around it.
        return TreeFacts { ours: Some(false), process_inside, ..TreeFacts::default() };
    };
    let changes = changes(&git).await.ok();
    let branch = match git.asks(&["symbolic-ref", "--quiet", "HEAD"]).await {
        Ok(true) => git.read(&["symbolic-ref", "--short", "HEAD"]).await.ok().map(Some),
        Ok(false) => Some(None),
        Err(_) => None,
    };
    let own = own_branches(order, branch.as_ref().and_then(Option::as_deref));
    TreeFacts {
        ours: Marker::read(&git_dir)
            .ok()
            .map(|marker| marker.is_some_and(|marker| marker.session == order.session)),
        main_worktree: Some(same(&git_dir, &common_dir)),
        process_inside,
        uncommitted: changes.map(|changes| changes.uncommitted),
        untracked: changes.map(|changes| changes.untracked),
        stashed: stashed(&git, &own).await.ok(),
        detached: match branch {
            Some(Some(_)) => Some(false),
            Some(None) => has_commits_beyond(&git, &["HEAD".into()], &[]).await.ok(),
            None => None,
        },
        mid_operation: Some(OPERATIONS.iter().any(|name| git_dir.join(name).exists())),
        unpushed: unpushed(&git, &own).await.ok(),
    }
}

/// The git directory of a worktree and the one its repository shares, if the folder is a worktree itself.
async fn own_git_dir(git: &Git) -> Option<(PathBuf, PathBuf)> {
    let args =
        ["rev-parse", "--path-format=absolute", "--show-toplevel", "--absolute-git-dir", "--git-common-dir"];
    let told = git.read(&args).await.ok()?;
    let mut lines = told.lines();
    let top = lines.next()?;
    let (git_dir, common_dir) = (lines.next()?.into(), lines.next()?.into());
    same(Path::new(top), git.dir()).then_some((git_dir, common_dir))
}

#[derive(Debug, Clone, Copy)]
struct Changes {
    uncommitted: bool,
    untracked: bool,
}

async fn changes(git: &Git) -> Result<Changes, GitError> {
    let args = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=none"];
    let told = git.read(&args).await?;
    let mut changes = Changes { uncommitted: false, untracked: false };
    for entry in told.split('\0') {
        match entry.as_bytes().first() {
            Some(b'?') => changes.untracked = true,
            Some(b'1' | b'2' | b'u') => changes.uncommitted = true,
            // Headers, and the old name behind a rename.
            _ => {}
        }
    }
    Ok(changes)
}

/// The branches whose only home may be this worktree: the one it was made with, and the one it is on now.
fn own_branches(order: &RemoveOrder, current: Option<&str>) -> Vec<String> {
    let mut own = vec![order.branch.clone()];
    own.extend(current.filter(|current| *current != order.branch).map(str::to_owned));
    own
}

/// Whether a stash was made on one of these branches. Stashes belong to the repository, so the branch is all they tell.
async fn stashed(git: &Git, own: &[String]) -> Result<bool, GitError> {
    let told = git.read(&["stash", "list", "--format=%gs"]).await?;
    Ok(told.lines().any(|line| {
        let on = line.strip_prefix("WIP on ").or_else(|| line.strip_prefix("On ")).unwrap_or_default();
        own.iter().any(|branch| on.strip_prefix(branch.as_str()).is_some_and(|rest| rest.starts_with(':')))
    }))
}

/// Whether its head or its branches have commits that no remote and no other branch has.
async fn unpushed(git: &Git, own: &[String]) -> Result<bool, GitError> {
    let mut tips = vec!["HEAD".to_owned()];
    for branch in own {
        let name = format!("refs/heads/{branch}");
        if git.commit(&name).await?.is_some() {
            tips.push(name);
        }
    }
    has_commits_beyond(git, &tips, own).await
}

/// Whether the tips reach a commit that neither a remote's branch nor a branch of ours does, these ones left out.
pub(super) async fn has_commits_beyond(
    git: &Git,
    tips: &[String],
    left_out: &[String],
) -> Result<bool, GitError> {
    let mut args: Vec<String> = vec!["rev-list".into(), "--max-count=1".into()];
    args.extend(tips.iter().cloned());
    args.push("--not".into());
    args.extend(left_out.iter().map(|branch| format!("--exclude={branch}")));
    args.extend(["--branches".into(), "--remotes".into()]);
    Ok(!git.read(&args).await?.is_empty())
}
