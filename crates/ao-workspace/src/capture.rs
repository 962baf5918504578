//! A tree as it is now, with what is not committed, as one commit that leaves no trace where the agent works.
//!
//! ```text
//!  the tree's index ──copied──► scratch/git-…/index ◄── git update-index ── the tree's files
//!                                    │
//!  scratch/objects ◄── write-tree, commit-tree ◄─┘     the repository's own objects are only read
//! ```
//!
//! What an agent can configure in its tree is nothing that may run here: filters, hooks and monitors are programs, and this
//! runs outside of whatever the agent is kept in. So git works with a git directory of ours, and of the tree's settings only
//! those are taken along that say how files are to be read. Filters of the tree, as those of LFS set up in a clone, do not
//! run: such a file is taken as it lies there.
//!
//! Copying the index keeps what git knows of files that were not touched, so that only those are read that were. Ignored
//! files are not taken, nor very large new ones: nobody merges those. While a merge or a rebase is under way in the tree its
//! files are half of this and half of that, so that the branch is taken as it was.

use std::path::Path;
use std::{fs, io};

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

/// Settings for every call, whatever the user has for all repositories.
const QUIETLY: [&str; 6] =
    ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.splitIndex=false"];
/// The settings of a tree that count here: how its files are written. None of them names a program or a file.
const READING: &str = "^core\\.(filemode|symlinks|ignorecase|autocrlf|eol|precomposeunicode)$";

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
    let ours = scratch.join(format!("git-{session}"));
    let settings = made(&ours, tree).await?;
    let with = |args: &[&str]| -> Vec<String> {
        QUIETLY
            .iter()
            .copied()
            .chain(settings.iter().map(String::as_str))
            .chain(args.iter().copied())
            .map(str::to_owned)
            .collect()
    };
    let git = tree.writer()?.with("GIT_DIR", &ours).with("GIT_WORK_TREE", &tree.path);
    let git = place.git(&git.with("GIT_INDEX_FILE", ours.join("index")));
    let taken = async {
        // Not `git add`, which asks every submodule how it is, by the settings of that.
        let changed = ["diff-files", "--name-status", "--no-ext-diff", "--ignore-submodules=all", "-z"];
        let (gone, changed) = changed_files(&git.read_bytes_with(&with(&changed), "").await?);
        if !gone.is_empty() {
            git.write_with(&with(&["update-index", "--force-remove", "-z", "--stdin"]), Some(&gone)).await?;
        }
        if !changed.is_empty() {
            let args = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
            git.write_with(&with(&args), Some(&changed)).await?;
        }
        let excluded = common_dir.join("info/exclude");
        let excluded = fs::symlink_metadata(&excluded).is_ok_and(|found| found.is_file()).then_some(excluded);
        let excluded = excluded.map(|file| format!("--exclude-from={}", file.display()));
        let mut others = vec!["ls-files", "--others", "--exclude-standard", "-z"];
        others.extend(excluded.as_deref());
        let new = new_files(tree, &git.read_bytes_with(&with(&others), "").await?);
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
    fs::remove_dir_all(&ours).ok();
    let commit = taken.map_err(TreeError::tried(format!("take `{}` as it is", tree.path.display())))?;
    Ok(Captured { commit, objects })
}

/// Makes a git directory of ours with a copy of the tree's index. Returns the settings that go with it.
async fn made(ours: &Path, tree: &OwnTree) -> Result<Vec<String>, TreeError> {
    let format = tree.git().read(&["rev-parse", "--show-object-format"]).await?;
    let settings = tree.git().answer(&["config", "-z", "--get-regexp", READING]).await?.unwrap_or_default();
    let write = || -> io::Result<()> {
        fs::remove_dir_all(ours).or_else(|err| match err.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(err),
        })?;
        fs::create_dir_all(ours.join("refs"))?;
        fs::create_dir_all(ours.join("objects"))?;
        fs::write(ours.join("HEAD"), "ref: refs/heads/none\n")?;
        let version = match format.as_str() {
            "sha1" => "[core]\n\trepositoryformatversion = 0\n".to_owned(),
            other => {
                format!("[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = {other}\n")
            }
        };
        fs::write(ours.join("config"), version)?;
        fs::copy(tree.git_dir.join("index"), ours.join("index"))?;
        // An index can be in two parts.
        for file in fs::read_dir(&tree.git_dir)?.flatten() {
            if file.file_name().to_string_lossy().starts_with("sharedindex.") {
                fs::copy(file.path(), ours.join(file.file_name()))?;
            }
        }
        Ok(())
    };
    write().map_err(TreeError::file("copy the index to", ours))?;
    // `core.eol\nlf\0`, and without a value `core.filemode\0`.
    let said = settings.split('\0').filter(|setting| !setting.is_empty());
    Ok(said.flat_map(|setting| ["-c".to_owned(), setting.replacen('\n', "=", 1)]).collect())
}

/// The files that are gone and those that are otherwise, each ended by a zero byte: `M\0path\0D\0path\0`.
fn changed_files(told: &[u8]) -> (String, String) {
    let (mut gone, mut changed) = (String::new(), String::new());
    let mut fields = told.split(|byte| *byte == 0);
    while let (Some(status), Some(name)) = (fields.next(), fields.next()) {
        let Ok(name) = std::str::from_utf8(name) else { continue };
        let names = if status == b"D" { &mut gone } else { &mut changed };
        names.push_str(name);
        names.push('\0');
    }
    (gone, changed)
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
