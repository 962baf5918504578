//! Whether a tree is still what it was made as. Read from git's files, because it is asked at every look.

use std::fs;
use std::path::Path;

use ao_core::SessionId;
use ao_ports::{Whereabouts, WorkspaceError};

use crate::error::TreeError;
use crate::marker::{Adopted, Marker};
use crate::own::{Kind, git_dir};
use ao_git::refs::{self, Head};
use ao_git::{Git, Settings};

pub(crate) async fn look(
    kind: &Kind,
    path: &Path,
    session: SessionId,
    branch: &str,
    settings: &Settings,
) -> Whereabouts {
    let git_dir = match git_dir(kind, path) {
        Ok(git_dir) => git_dir,
        Err(why) => return Whereabouts { branch: None, wrong: vec![why.to_owned()] },
    };
    let marked = Marker::read(&git_dir).ok().flatten().map(|marker| marker.session);
    let adopted = Adopted::read(&git_dir).ok().flatten().map(|adopted| adopted.session);
    let mut wrong = vec![];
    if marked != Some(session) && adopted != Some(session) {
        wrong.push(match marked.or(adopted) {
            Some(other) => format!("the tree is that of {other}"),
            None => "the tree does not bear the session's mark".to_owned(),
        });
    }
    let common_dir = match kind {
        Kind::Worktree { common_dir } => common_dir,
        Kind::Clone { .. } => &git_dir,
    };
    let on = match refs::head(common_dir, &git_dir) {
        Some(Head::Branch(on)) => Some(Some(on)),
        Some(Head::Detached(_)) => Some(rebased(&git_dir)),
        None => asked(path, settings).await,
    };
    match &on {
        Some(Some(on)) if on == branch => {}
        Some(Some(on)) => wrong.push(format!("the branch `{on}` is checked out instead of `{branch}`")),
        Some(None) => wrong.push(format!("its head is on no branch instead of on `{branch}`")),
        None => wrong.push("it could not be read which branch is checked out".to_owned()),
    }
    Whereabouts { branch: on.flatten(), wrong }
}

/// The branch that is being rebased: git takes the head off it meanwhile, and puts it back.
fn rebased(git_dir: &Path) -> Option<String> {
    let name = ["rebase-merge", "rebase-apply"]
        .iter()
        .find_map(|folder| fs::read_to_string(git_dir.join(folder).join("head-name")).ok())?;
    name.trim_end().strip_prefix("refs/heads/").map(str::to_owned)
}

async fn asked(path: &Path, settings: &Settings) -> Option<Option<String>> {
    let git = Git::in_tree(path, settings);
    git.answer(&["symbolic-ref", "--quiet", "--short", "HEAD"]).await.ok()
}

/// What is told of a tree that is not to be found.
pub(crate) fn nowhere(err: Option<TreeError>) -> Whereabouts {
    let why = err.map_or("its folder is gone".into(), |err| WorkspaceError::from(err).to_string());
    Whereabouts { branch: None, wrong: vec![why] }
}
