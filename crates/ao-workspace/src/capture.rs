//! A tree as it is now, with what is not committed, as one commit that leaves no trace where the agent works.
//!
//! ```text
//!  the tree's index ──copied──► scratch/index ◄── git add, git update-index ── the tree's files
//!                                    │
//!  scratch/objects ◄── write-tree, commit-tree ◄─┘     the repository's own objects are only read
//! ```
//!
//! Copying the index keeps what git knows of files that were not touched, so that only those are read that were. Ignored
//! files are not taken, nor very large new ones: nobody merges those. While a merge or a rebase is under way in the tree its
//! files are half of this and half of that, so that the branch is taken as it was.

use std::fs;
use std::path::Path;

use ao_core::SessionId;
use ao_git::forecast::Scratch;
use ao_ports::Captured;

use crate::error::TreeError;
use crate::own::OwnTree;

/// Larger files that git does not know yet are left out.
const LARGE: u64 = 1024 * 1024;
/// So many files that git does not know yet are taken.
const NEW_FILES: usize = 2000;

/// What has been begun in a tree, by the files that git leaves meanwhile.
const UNFINISHED: [&str; 5] =
    ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge/orig-head", "rebase-apply/orig-head"];

/// Settings for every call: nothing that the tree or its repository has configured is to be run or waited for.
const QUIETLY: [&str; 6] =
    ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.splitIndex=false"];

/// Takes a tree as it is. `common_dir` is the git directory that its objects are in.
pub(crate) async fn capture(
    tree: &OwnTree,
    common_dir: &Path,
    session: SessionId,
    scratch: &Path,
) -> Result<Captured, TreeError> {
    let objects = common_dir.join("objects").display().to_string();
    let told = tree.git().read(&["rev-parse", "HEAD", "HEAD^{tree}"]).await?;
    let (head, head_tree) = told.split_once('\n').unwrap_or((&told, ""));
    if let Some(unfinished) =
        UNFINISHED.iter().find_map(|name| fs::read_to_string(tree.git_dir.join(name)).ok())
    {
        // What a rebase began with is the branch; during the others the head is.
        let rebasing = ["rebase-merge", "rebase-apply"].iter().any(|name| tree.git_dir.join(name).is_dir());
        let commit = if rebasing { unfinished.trim_end() } else { head };
        return Ok(Captured { commit: commit.to_owned(), objects });
    }
    let place = Scratch::open(scratch, common_dir).map_err(|err| TreeError::Scratch { err })?;
    let index = scratch.join(format!("index-{session}"));
    fs::copy(tree.git_dir.join("index"), &index).map_err(TreeError::file("copy the index to", &index))?;
    let git = place.git(&tree.writer()?.with("GIT_INDEX_FILE", &index));
    let taken = async {
        git.write(&with(&["add", "--update", "--", ":/"])).await?;
        let new = new_files(
            tree,
            &git.read_bytes_with(&with(&["ls-files", "--others", "--exclude-standard", "-z"]), "").await?,
        );
        if !new.is_empty() {
            git.write_with(&with(&["update-index", "--add", "-z", "--stdin"]), Some(&new)).await?;
        }
        let files = git.write(&with(&["write-tree"])).await?;
        if files == head_tree {
            return Ok(head.to_owned());
        }
        // Always the same for the same files, so that what was found out about them holds.
        let name = format!("user.name=Agent {session}");
        let email = format!("user.email={}", crate::config::email(session));
        let git =
            git.with("GIT_AUTHOR_DATE", "1700000000 +0000").with("GIT_COMMITTER_DATE", "1700000000 +0000");
        let args =
            ["-c", &name, "-c", &email, "commit-tree", "--no-gpg-sign", "-p", head, "-m", "work", &files];
        git.write(&args).await
    };
    let taken = taken.await;
    fs::remove_file(&index).ok();
    let commit = taken.map_err(TreeError::tried(format!("take `{}` as it is", tree.path.display())))?;
    Ok(Captured { commit, objects })
}

fn with<'a>(args: &[&'a str]) -> Vec<&'a str> {
    QUIETLY.iter().chain(args).copied().collect()
}

/// The files that git does not know yet, as far as they are worth it, each ended by a zero byte.
fn new_files(tree: &OwnTree, told: &[u8]) -> String {
    let names = told.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok());
    names
        // A name that ends like a folder is a repository of its own.
        .filter(|name| !name.is_empty() && !name.ends_with('/'))
        .filter(|name| {
            let found = fs::symlink_metadata(tree.path.join(name));
            found.is_ok_and(|found| (found.is_file() || found.is_symlink()) && found.len() <= LARGE)
        })
        .take(NEW_FILES)
        .flat_map(|name| [name, "\0"])
        .collect()
}
