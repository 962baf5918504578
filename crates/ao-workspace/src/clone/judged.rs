//! Describes a clone for the deletion gate.

use std::path::Path;

use ao_core::workspace::TreeFacts;
use ao_ports::TreeRef;

use crate::error::TreeError;
use crate::gate::{self, JudgedTree, KeptElsewhere, OwnBranches, objects_of};
use crate::marker::TreeMarker;
use crate::own_tree::{TreeKind, git_dir};
use crate::repository::{Repository, same};
use crate::start;

/// Gathers the facts of a clone.
pub(super) async fn facts(
    source: &Repository,
    path: &Path,
    tree: &TreeRef,
    process_inside: Option<bool>,
) -> TreeFacts {
    match subject(source, path, tree, process_inside).await {
        Ok(Some(subject)) => gate::gather(&subject).await,
        Ok(None) => TreeFacts { ours: Some(false), process_inside, ..TreeFacts::default() },
        Err(_) => TreeFacts { process_inside, ..TreeFacts::default() },
    }
}

pub(super) async fn subject(
    source: &Repository,
    path: &Path,
    tree: &TreeRef,
    process_inside: Option<bool>,
) -> Result<Option<JudgedTree>, TreeError> {
    let Ok(git_dir) = git_dir(&TreeKind::Clone { source: source.common_dir.clone() }, path) else {
        return Ok(None);
    };
    let marker = TreeMarker::read(&git_dir);
    let base_branch = marker.as_ref().ok().and_then(Option::as_ref).map(|marker| marker.base_branch.clone());
    let mut bases = vec![];
    for base in base_branch.iter().filter(|base| !base.is_empty()) {
        for name in [start::remote(base), start::local(base)] {
            bases.extend(source.commit(&name).await?);
        }
    }
    bases.dedup();
    let kept =
        ["for-each-ref", "--format=%(objectname)", "refs/heads", "refs/remotes", "refs/tags", "refs/ao/pull"];
    let commits = source.git.read(&kept).await?.lines().map(str::to_owned).collect();
    Ok(Some(JudgedTree {
        session: tree.session,
        path: path.to_owned(),
        objects: objects_of(&git_dir),
        git_dir,
        settings: source.settings.clone(),
        ours: marker.ok().map(|marker| marker.is_some_and(|marker| marker.session == tree.session)),
        main_worktree: Some(same(path, &source.root)),
        process_inside,
        own: OwnBranches::All,
        bases,
        elsewhere: KeptElsewhere { objects: Some(objects_of(&source.common_dir)), commits },
    }))
}
