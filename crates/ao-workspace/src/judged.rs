//! Describes a tree for the deletion gate.

use std::path::Path;

use ao_core::workspace::{KeepReason, TreeFacts, reasons_against_discard, reasons_to_keep};
use ao_ports::{TreeRef, WorkspaceSurvey};

use crate::error::TreeError;
use crate::gate::{self, JudgedTree, KeptElsewhere, OwnBranches, objects_of};
use crate::marker::TreeMarker;
use crate::own_tree::{TreeKind, git_dir};
use crate::repository::{Repository, same};
use crate::start;

/// Gathers the facts of a tree.
pub(crate) async fn facts(
    kind: &TreeKind,
    repository: &Repository,
    path: &Path,
    tree: &TreeRef,
    process_inside: Option<bool>,
) -> TreeFacts {
    match subject(kind, repository, path, tree, process_inside).await {
        Ok(Some(subject)) => gate::gather(&subject).await,
        // A folder that is no such tree. Git would answer for the repository around it.
        Ok(None) => TreeFacts { ours: Some(false), process_inside, ..TreeFacts::default() },
        Err(_) => TreeFacts { process_inside, ..TreeFacts::default() },
    }
}

/// Describes the workspace of a session for a survey.
pub(crate) fn surveyed(tree: &TreeRef, path: &Path, sizes: (u64, u64), facts: &TreeFacts) -> WorkspaceSurvey {
    WorkspaceSurvey {
        session: Some(tree.session),
        path: path.display().to_string(),
        bytes: sizes.0,
        ignored_bytes: sizes.1,
        reasons: reasons_to_keep(facts),
        reasons_against_discard: reasons_against_discard(facts),
    }
}

/// Describes a folder that belongs to no known session.
pub(crate) fn stranger(
    path: &Path,
    (bytes, ignored_bytes): (u64, u64),
    reason: KeepReason,
) -> WorkspaceSurvey {
    WorkspaceSurvey {
        session: None,
        path: path.display().to_string(),
        bytes,
        ignored_bytes,
        reasons: vec![reason.clone()],
        reasons_against_discard: vec![reason],
    }
}

pub(crate) async fn subject(
    kind: &TreeKind,
    repository: &Repository,
    path: &Path,
    tree: &TreeRef,
    process_inside: Option<bool>,
) -> Result<Option<JudgedTree>, TreeError> {
    let is_clone = matches!(kind, TreeKind::Clone { .. });
    let main = same(path, &repository.root);
    let git_dir = match git_dir(kind, path) {
        _ if main && !is_clone => repository.common_dir.clone(),
        Ok(git_dir) => git_dir,
        Err(_) => return Ok(None),
    };
    let marker = TreeMarker::read(&git_dir);
    let base = marker.as_ref().ok().and_then(Option::as_ref).map(|marker| marker.base_branch.clone());
    let mut bases = vec![];
    for base in base.iter().filter(|base| !base.is_empty() && (is_clone || **base != tree.branch)) {
        for name in [start::remote(base), start::local(base)] {
            bases.extend(repository.commit(&name).await?);
        }
    }
    bases.dedup();
    let (own, objects, elsewhere) = match is_clone {
        true => {
            let kept = ["refs/heads", "refs/remotes", "refs/tags", "refs/ao/pull"];
            let listed = [&["for-each-ref", "--format=%(objectname)"][..], &kept].concat();
            let commits = repository.git.read(&listed).await?.lines().map(str::to_owned).collect();
            let elsewhere = KeptElsewhere { objects: Some(objects_of(&repository.common_dir)), commits };
            (OwnBranches::All, objects_of(&git_dir), elsewhere)
        }
        false => {
            let own = OwnBranches::Branch(tree.branch.clone());
            (own, objects_of(&repository.common_dir), KeptElsewhere::default())
        }
    };
    Ok(Some(JudgedTree {
        session: tree.session,
        path: path.to_owned(),
        git_dir,
        objects,
        settings: repository.settings.clone(),
        ours: marker.ok().map(|marker| marker.is_some_and(|marker| marker.session == tree.session)),
        main_worktree: Some(main),
        process_inside,
        own,
        bases,
        elsewhere,
    }))
}
