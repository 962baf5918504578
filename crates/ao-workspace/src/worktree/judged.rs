//! Describes a worktree for the deletion gate.

use std::path::Path;

use ao_core::workspace::TreeFacts;
use ao_ports::TreeRef;

use crate::error::TreeError;
use crate::gate::{self, JudgedTree, KeptElsewhere, OwnBranches, objects_of};
use crate::marker::TreeMarker;
use crate::own_tree::{TreeKind, git_dir};
use crate::repository::{Repository, same};
use crate::start;

/// Gathers the facts of a worktree.
pub(super) async fn facts(
    repository: &Repository,
    path: &Path,
    tree: &TreeRef,
    process_inside: Option<bool>,
) -> TreeFacts {
    match subject(repository, path, tree, process_inside).await {
        Ok(Some(subject)) => gate::gather(&subject).await,
        // A folder that git does not know as a worktree. Git would answer for the repository around it.
        Ok(None) => TreeFacts { ours: Some(false), process_inside, ..TreeFacts::default() },
        Err(_) => TreeFacts { process_inside, ..TreeFacts::default() },
    }
}

pub(super) async fn subject(
    repository: &Repository,
    path: &Path,
    tree: &TreeRef,
    process_inside: Option<bool>,
) -> Result<Option<JudgedTree>, TreeError> {
    let main = same(path, &repository.root);
    let git_dir = match main {
        true => repository.common_dir.clone(),
        false => {
            let kind = TreeKind::Worktree { common_dir: repository.common_dir.clone() };
            match git_dir(&kind, path) {
                Ok(git_dir) => git_dir,
                Err(_) => return Ok(None),
            }
        }
    };
    let marker = TreeMarker::read(&git_dir);
    let base_branch = marker.as_ref().ok().and_then(Option::as_ref).map(|marker| marker.base_branch.clone());
    let mut bases = vec![];
    for base in base_branch.iter().filter(|base| !base.is_empty() && **base != tree.branch) {
        for name in [start::remote(base), start::local(base)] {
            bases.extend(repository.commit(&name).await?);
        }
    }
    bases.dedup();
    Ok(Some(JudgedTree {
        session: tree.session,
        path: path.to_owned(),
        git_dir,
        objects: objects_of(&repository.common_dir),
        settings: repository.settings.clone(),
        ours: marker.ok().map(|marker| marker.is_some_and(|marker| marker.session == tree.session)),
        main_worktree: Some(main),
        process_inside,
        own: OwnBranches::Branch(tree.branch.clone()),
        bases,
        elsewhere: KeptElsewhere::default(),
    }))
}
