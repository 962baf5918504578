//! Rescue refs: the last state of a removed tree, kept in the repository for a while.
//!
//! ```text
//!  refs/ao/rescue/<session> ──► tag (when, which branch) ──► commit ──► parent
//!                                                            the branch's tip, or a snapshot of files on top of it
//! ```
//!
//! The tag exists for its date: a ref has none of its own, and a reflog may be disabled, expire or be lost on the way
//! from a clone. Ignored files are in no rescue: they can be built again, and may be secrets.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use ao_core::{SessionId, Timestamp};

use crate::config;
use crate::error::TreeError;
use crate::own_tree::OwnTree;
use crate::repository::Repository;
use ao_git::Git;

/// The subject of a commit that was made from files and not by a person or an agent.
const SNAPSHOT: &str = "ao: files as they were left";

/// The state that a rescue ref restores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RescuedState {
    /// The tip of the branch.
    pub(crate) commit: String,
    /// Files that were never committed, as a commit on top of it.
    pub(crate) snapshot: Option<String>,
}

pub(crate) fn rescue_ref(session: SessionId) -> String {
    format!("refs/ao/rescue/{session}")
}

/// Returns the rescue ref, if an earlier removal has left one.
pub(crate) async fn known(git: &Git, session: SessionId) -> Result<Option<String>, TreeError> {
    let rescue = rescue_ref(session);
    Ok(git.commit(&rescue).await?.map(|_| rescue))
}

/// Returns the state that a rescue ref restores, if the ref exists.
pub(crate) async fn state(repository: &Repository, rescue: &str) -> Result<Option<RescuedState>, TreeError> {
    let Some(commit) = repository.git.commit(rescue).await? else { return Ok(None) };
    let output = repository.git.read(&["log", "-1", "--format=%s%n%P", &commit]).await?;
    let (subject, parents) = output.split_once('\n').unwrap_or((&output, ""));
    Ok(Some(match parents.split_whitespace().next() {
        Some(parent) if subject == SNAPSHOT => {
            RescuedState { commit: parent.to_owned(), snapshot: Some(commit) }
        }
        _ => RescuedState { commit, snapshot: None },
    }))
}

/// Saves the last state of a tree as one commit: its head if nothing was changed since, otherwise a commit on top of it
/// with all files that are not ignored. The tree's own index is not touched.
pub(crate) async fn last_state(tree: &OwnTree, session: SessionId) -> Result<String, TreeError> {
    let output = tree.git().read(&["rev-parse", "HEAD", "HEAD^{tree}"]).await?;
    let (head, head_tree) = output.split_once('\n').unwrap_or((&output, ""));
    let index = tree.git_dir.join("ao-rescue-index");
    fs::copy(tree.git_dir.join("index"), &index).map_err(TreeError::file("copy the index to", &index))?;
    let writer = tree.writer()?.with("GIT_INDEX_FILE", &index);
    let taken = async {
        writer.write(&["add", "--all"]).await?;
        let files = writer.write(&["write-tree"]).await?;
        if files == head_tree {
            return Ok(head.to_owned());
        }
        let name = format!("user.name=Agent {session}");
        let email = format!("user.email={}", config::email(session));
        let args =
            ["-c", &name, "-c", &email, "commit-tree", "--no-gpg-sign", "-p", head, "-m", SNAPSHOT, &files];
        writer.write(&args).await
    };
    let taken = taken.await;
    fs::remove_file(&index).ok();
    taken.map_err(TreeError::tried(format!("keep the last state of `{}`", tree.path.display())))
}

/// The work that a rescue ref saves.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum RescuedWork {
    /// The last state of a tree that is removed.
    LastState,
    /// Another branch of that tree, in a separate ref beside that of its last state.
    OtherBranch,
    /// A branch before it is rebased. In a separate ref: the tree lives on, and its removal leaves another.
    BeforeRebase,
}

/// Points a rescue ref at a commit. With a reflog, so that a second removal does not hide the state of the first.
pub(crate) async fn leave(
    git: &Git,
    session: SessionId,
    work: RescuedWork,
    branch: &str,
    commit: &str,
) -> Result<String, TreeError> {
    let short: String = commit.chars().take(12).collect();
    let rescue = match work {
        RescuedWork::LastState => rescue_ref(session),
        RescuedWork::OtherBranch => format!("{}-{}-{short}", rescue_ref(session), branch.replace('/', "-")),
        RescuedWork::BeforeRebase => format!("{}-before-rebase-{short}", rescue_ref(session)),
    };
    let why = match work {
        RescuedWork::BeforeRebase => format!("ao: branch of {session} rebased"),
        _ => format!("ao: tree of {session} removed"),
    };
    let what = || TreeError::tried("keep its last state in a rescue ref");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let tag = format!(
        "object {commit}\ntype commit\ntag ao-rescue-{session}\ntagger Agent {session} <{}> {now} +0000\n\n\
         The last state of {session}, on the branch {branch}.\n",
        config::email(session)
    );
    let tag = git.write_with(&["mktag"], Some(&tag)).await.map_err(what())?;
    let args = ["update-ref", "--create-reflog", "-m", &why, &rescue, &tag];
    git.write(&args).await.map_err(what())?;
    Ok(rescue)
}

/// Deletes the rescue refs of trees that were removed before this time. Returns how many.
pub(crate) async fn forget(repository: &Repository, before: Timestamp) -> Result<u32, TreeError> {
    let format = "--format=%(objectname) %(objecttype) %(taggerdate:unix) %(refname)";
    let output = repository.git.read(&["for-each-ref", format, "refs/ao/rescue/"]).await?;
    let mut deletions = String::new();
    let mut forgotten = 0;
    for line in output.lines() {
        let mut fields = line.splitn(4, ' ');
        let (id, kind, at, name) = (fields.next(), fields.next(), fields.next(), fields.next());
        let at = at.and_then(|at| at.parse::<i64>().ok());
        // An object other than our tag has no date, so it stays.
        if let (Some(id), Some("tag"), Some(at), Some(name)) = (id, kind, at, name)
            && at.saturating_mul(1000) < before.0
        {
            // With the id that was examined: a removal in between has left a new one.
            deletions += &format!("delete {name} {id}\n");
            forgotten += 1;
        }
    }
    if forgotten > 0 {
        repository
            .git
            .write_with(&["update-ref", "--stdin"], Some(&deletions))
            .await
            .map_err(TreeError::tried("forget old rescue refs"))?;
    }
    Ok(forgotten)
}
