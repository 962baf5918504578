//! Checks whether a tree is still what was created. Reads git's files, because every look needs it.

use std::fs;
use std::path::Path;

use ao_core::session::CheckedOut;
use ao_core::{Commit, SessionId};
use ao_ports::{WorkspaceDrift, WorkspaceError};

use crate::error::TreeError;
use crate::marker::{AdoptedMarker, TreeMarker};
use crate::own_tree::{TreeKind, git_dir};
use ao_git::refs::{self, HeadPosition};
use ao_git::{Git, Settings};

pub(crate) async fn look(
    kind: &TreeKind,
    path: &Path,
    session: SessionId,
    branch: &str,
    settings: &Settings,
) -> WorkspaceDrift {
    let git_dir = match git_dir(kind, path) {
        Ok(git_dir) => git_dir,
        Err(_) if path.symlink_metadata().is_err() => return gone(path, branch),
        Err(why) => return WorkspaceDrift { stand: None, wrong: vec![why.to_owned()] },
    };
    let marker = TreeMarker::read(&git_dir).ok().flatten();
    let marked = marker.as_ref().map(|marker| marker.session);
    let adopted = AdoptedMarker::read(&git_dir).ok().flatten().map(|adopted| adopted.session);
    let mut wrong = vec![];
    if marked != Some(session) && adopted != Some(session) {
        wrong.push(match marked.or(adopted) {
            Some(_) => "the tree bears the mark of another session".to_owned(),
            None => "the tree does not bear the session's mark".to_owned(),
        });
    }
    let common_dir = match kind {
        TreeKind::Worktree { common_dir } => common_dir,
        TreeKind::Clone { .. } => &git_dir,
    };
    let (on, head) = match refs::head(common_dir, &git_dir) {
        Some(HeadPosition::Branch(on)) => {
            let head = refs::find(common_dir, &format!("refs/heads/{on}")).flatten();
            (Some(Some(on)), head)
        }
        Some(HeadPosition::Detached(commit)) => (Some(rebased(&git_dir)), Some(commit)),
        None => asked(path, settings).await,
    };
    match &on {
        Some(Some(on)) if on == branch => {}
        // A read-only tree is on no branch.
        Some(None) if marker.is_some_and(|marker| marker.read_only) => {}
        Some(Some(on)) if renamed(common_dir, branch, on) => {}
        Some(Some(on)) => wrong.push(format!("the branch `{on}` is checked out instead of `{branch}`")),
        Some(None) => wrong.push(format!("its head is on no branch instead of on `{branch}`")),
        None => wrong.push("it could not be read which branch is checked out".to_owned()),
    }
    let stand = on.map(|branch| CheckedOut { branch, head: head.as_deref().map(Commit::new) });
    WorkspaceDrift { stand, wrong }
}

/// The result for a tree whose folder was removed, with how to restore it.
fn gone(path: &Path, branch: &str) -> WorkspaceDrift {
    let why = format!(
        "its folder is gone (`{}`); stop and restore the session to recreate it from its branch `{branch}`, without uncommitted \
         changes",
        path.display()
    );
    WorkspaceDrift { stand: None, wrong: vec![why] }
}

/// Returns true if the branch was only renamed: then the tree is still in order. Git moves the reflog of a branch along
/// with it, and notes the renaming there.
fn renamed(common_dir: &Path, from: &str, to: &str) -> bool {
    let Ok(log) = fs::read(common_dir.join("logs/refs/heads").join(to)) else { return false };
    let note = format!("\tBranch: renamed refs/heads/{from} to refs/heads/");
    let log = String::from_utf8_lossy(&log);
    log.lines().any(|line| line.contains(&note))
}

/// Returns the branch that is being rebased: git detaches the head from it meanwhile.
fn rebased(git_dir: &Path) -> Option<String> {
    let name = ["rebase-merge", "rebase-apply"]
        .iter()
        .find_map(|folder| fs::read_to_string(git_dir.join(folder).join("head-name")).ok())?;
    name.trim_end().strip_prefix("refs/heads/").map(str::to_owned)
}

async fn asked(path: &Path, settings: &Settings) -> (Option<Option<String>>, Option<String>) {
    let git = Git::in_tree(path, settings);
    let on = git.answer(&["symbolic-ref", "--quiet", "--short", "HEAD"]).await.ok();
    (on, git.commit("HEAD").await.ok().flatten())
}

/// The result for a tree that cannot be found.
pub(crate) fn nowhere(err: Option<TreeError>) -> WorkspaceDrift {
    let why = err.map_or("its folder is gone".into(), |err| WorkspaceError::from(err).to_string());
    WorkspaceDrift { stand: None, wrong: vec![why] }
}
