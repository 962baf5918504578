//! Rescue refs: the last state of a tree that is gone, kept in the repository for a while.
//!
//! ```text
//!  refs/ao/rescue/<session> ──► tag (when, which branch) ──► commit ──► parent
//!                                                            the branch's tip, or a snapshot of files on top of it
//! ```
//!
//! The tag is there for its time: a ref has none of its own, and a reflog may be switched off, expire or be lost on the
//! way from a clone. Ignored files are in no rescue: they can be made again, and may be secrets.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use ao_core::{SessionId, Timestamp};

use crate::config;
use crate::error::TreeError;
use crate::own::OwnTree;
use crate::repository::Repository;
use ao_git::Git;

/// The subject of a commit that was made of files and not by anybody.
const SNAPSHOT: &str = "ao: files as they were left";

/// What a rescue ref brings back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    /// Where the branch stood.
    pub(crate) commit: String,
    /// Files that were never committed, as a commit on top of it.
    pub(crate) snapshot: Option<String>,
}

pub(crate) fn rescue_ref(session: SessionId) -> String {
    format!("refs/ao/rescue/{session}")
}

/// The rescue ref, if an earlier removal has left one.
pub(crate) async fn known(git: &Git, session: SessionId) -> Result<Option<String>, TreeError> {
    let rescue = rescue_ref(session);
    Ok(git.commit(&rescue).await?.map(|_| rescue))
}

/// What a rescue ref brings back, if it is there.
pub(crate) async fn state(repository: &Repository, rescue: &str) -> Result<Option<State>, TreeError> {
    let Some(commit) = repository.git.commit(rescue).await? else { return Ok(None) };
    let told = repository.git.read(&["log", "-1", "--format=%s%n%P", &commit]).await?;
    let (subject, parents) = told.split_once('\n').unwrap_or((&told, ""));
    Ok(Some(match parents.split_whitespace().next() {
        Some(parent) if subject == SNAPSHOT => State { commit: parent.to_owned(), snapshot: Some(commit) },
        _ => State { commit, snapshot: None },
    }))
}

/// The last state of a tree as one commit: its head if nothing was changed since, otherwise a commit on top of it with
/// all files that git does not ignore. The tree's own index is not touched.
pub(crate) async fn last_state(tree: &OwnTree, session: SessionId) -> Result<String, TreeError> {
    let told = tree.git().read(&["rev-parse", "HEAD", "HEAD^{tree}"]).await?;
    let (head, head_tree) = told.split_once('\n').unwrap_or((&told, ""));
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

/// Points the rescue ref at the last state. With a log, so that a second removal does not hide the first one's state.
pub(crate) async fn leave(
    git: &Git,
    session: SessionId,
    branch: &str,
    commit: &str,
) -> Result<String, TreeError> {
    let why = format!("ao: tree of {session} removed");
    point(git, session, branch, commit, &rescue_ref(session), &why).await
}

/// Keeps what else a tree has that goes, in a ref of its own beside that of its last state.
pub(crate) async fn beside(
    git: &Git,
    session: SessionId,
    name: &str,
    commit: &str,
) -> Result<String, TreeError> {
    let short: String = commit.chars().take(12).collect();
    let rescue = format!("{}-{}-{short}", rescue_ref(session), name.replace('/', "-"));
    point(git, session, name, commit, &rescue, &format!("ao: tree of {session} removed")).await
}

/// Keeps what a branch was before it was rebased. In a ref of its own: the tree lives on, and its removal leaves another.
pub(crate) async fn before_rebase(
    git: &Git,
    session: SessionId,
    branch: &str,
    commit: &str,
) -> Result<String, TreeError> {
    let short: String = commit.chars().take(12).collect();
    let rescue = format!("{}-before-rebase-{short}", rescue_ref(session));
    let why = format!("ao: branch of {session} rebased");
    point(git, session, branch, commit, &rescue, &why).await
}

async fn point(
    git: &Git,
    session: SessionId,
    branch: &str,
    commit: &str,
    rescue: &str,
    why: &str,
) -> Result<String, TreeError> {
    let what = || TreeError::tried("keep its last state in a rescue ref");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let tag = format!(
        "object {commit}\ntype commit\ntag ao-rescue-{session}\ntagger Agent {session} <{}> {now} +0000\n\n\
         The last state of {session}, on the branch {branch}.\n",
        config::email(session)
    );
    let tag = git.write_with(&["mktag"], Some(&tag)).await.map_err(what())?;
    let args = ["update-ref", "--create-reflog", "-m", why, rescue, &tag];
    git.write(&args).await.map_err(what())?;
    Ok(rescue.to_owned())
}

/// Forgets the rescue refs of trees that were removed before then. Returns how many.
pub(crate) async fn forget(repository: &Repository, before: Timestamp) -> Result<u32, TreeError> {
    let format = "--format=%(objectname) %(objecttype) %(taggerdate:unix) %(refname)";
    let told = repository.git.read(&["for-each-ref", format, "refs/ao/rescue/"]).await?;
    let mut deletions = String::new();
    let mut forgotten = 0;
    for line in told.lines() {
        let mut fields = line.splitn(4, ' ');
        let (id, kind, at, name) = (fields.next(), fields.next(), fields.next(), fields.next());
        let at = at.and_then(|at| at.parse::<i64>().ok());
        // What is no tag of ours does not tell when it was left, and stays.
        if let (Some(id), Some("tag"), Some(at), Some(name)) = (id, kind, at, name)
            && at.saturating_mul(1000) < before.0
        {
            // With what was looked at: a removal that came in between has left a new one.
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
