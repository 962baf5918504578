//! Captures a tree with its uncommitted changes as one commit, without leaving a trace where the agent works.
//!
//! ```text
//!  the tree's index ──copied──► scratch/git/index ◄── git update-index ── the tree's files
//!                                    │
//!  scratch/objects ◄── write-tree, commit-tree ◄─┘     the repository's own objects are only read
//!        └──► pack-objects ──► bytes for the caller     the scratch folder is deleted
//! ```
//!
//! Nothing that an agent can configure in its tree may run here: filters, hooks and monitors are programs, and this
//! runs outside of the agent's sandbox. So git works with a git directory of ours, and uses only those settings of the
//! tree that define how files are read. Filters of the tree, such as LFS set up in a clone, do not run: such a file is
//! taken as it is on disk.
//!
//! Copying the index keeps what git knows of untouched files, so that only the others are read. Ignored files are not
//! captured, nor very large new ones: they are not merged. During a merge or a rebase the files of the tree are a mix
//! of both sides, so the branch is taken as it was before.

use std::path::Path;
use std::{fs, io};

use ao_core::Commit;
use ao_git::Git;
use ao_git::forecast::Scratch;
use ao_ports::CapturedWorkspace;

use crate::error::TreeError;
use crate::options::Options;
use crate::own_tree::OwnTree;
use crate::repository::Repository;

/// Untracked files above this size are left out, in bytes.
const LARGE: u64 = 1024 * 1024;
/// Most untracked files that are captured.
const NEW_FILES: usize = 2000;

/// The files by which git marks an unfinished operation in a tree.
const UNFINISHED: [&str; 5] =
    ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge/orig-head", "rebase-apply/orig-head"];

/// Settings for every call, regardless of the user's own.
const QUIETLY: [&str; 6] =
    ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.splitIndex=false"];
/// The settings of a tree that apply here: how its files are written. None of them names a program or a file.
const READING: &str = "^core\\.(filemode|symlinks|ignorecase|autocrlf|eol|precomposeunicode)$";

/// Captures a tree. A worktree shares its objects with the repository; a clone has objects that the repository lacks.
pub(crate) async fn capture(
    repository: &Repository,
    tree: &OwnTree,
    options: &Options,
) -> Result<CapturedWorkspace, TreeError> {
    let parent = options.scratch.clone().unwrap_or_else(std::env::temp_dir);
    let scratch = fs::create_dir_all(&parent).and_then(|()| tempfile::tempdir_in(&parent));
    let scratch = scratch.map_err(TreeError::file("make a folder in", parent))?;
    let common_dir = if tree.is_clone() { &tree.git_dir } else { &repository.common_dir };
    let (commit, head) = take(tree, common_dir, scratch.path()).await?;
    let known = match tree.is_clone() {
        true => repository.git.commit(&commit).await?.is_some(),
        false => commit == head,
    };
    let pack = match known {
        true => vec![],
        false => {
            let excluded = if tree.is_clone() { shared(repository, tree).await? } else { vec![head] };
            pack(tree, common_dir, scratch.path(), &commit, &excluded).await?
        }
    };
    Ok(CapturedWorkspace { commit: Commit::new(&commit), pack })
}

/// Lists the tips of the source that a clone has too.
async fn shared(source: &Repository, tree: &OwnTree) -> Result<Vec<String>, TreeError> {
    let tips = ["for-each-ref", "--format=%(objectname)", "refs/heads", "refs/remotes", "refs/tags"];
    let tips = source.git.read(&tips).await?;
    let args = ["cat-file", "--batch-check=%(objectname)"];
    let shared = tree.git().read_with(&args, &format!("{tips}\n")).await?;
    Ok(shared.lines().filter(|line| !line.contains(' ')).map(str::to_owned).collect())
}

/// Packs the objects of a commit that none of the excluded commits has.
async fn pack(
    tree: &OwnTree,
    common_dir: &Path,
    scratch: &Path,
    commit: &str,
    excluded: &[String],
) -> Result<Vec<u8>, TreeError> {
    let git = open(scratch, common_dir)?.git(tree.git());
    let mut wanted = format!("{commit}\n");
    wanted.extend(excluded.iter().map(|commit| format!("^{commit}\n")));
    let args = ["pack-objects", "--quiet", "--revs", "--thin", "--stdout"];
    let what = TreeError::tried(format!("pack `{}` as it is", tree.path.display()));
    git.read_bytes_with(&args, &wanted).await.map_err(what)
}

fn open(scratch: &Path, common_dir: &Path) -> Result<Scratch, TreeError> {
    Scratch::open(scratch, common_dir).map_err(|err| TreeError::Scratch { err })
}

/// Returns the tree as a commit, and its head. `common_dir` is the git directory that its objects are in.
async fn take(tree: &OwnTree, common_dir: &Path, scratch: &Path) -> Result<(String, String), TreeError> {
    let output = tree.git().read(&["rev-parse", "HEAD", "HEAD^{tree}"]).await?;
    let (head, head_tree) = output.split_once('\n').unwrap_or((&output, ""));
    if let Some(unfinished) =
        UNFINISHED.iter().find_map(|name| fs::read_to_string(tree.git_dir.join(name)).ok())
    {
        // During a rebase the branch is its original head; during the other operations it is the current head.
        let rebasing = ["rebase-merge", "rebase-apply"].iter().any(|name| tree.git_dir.join(name).is_dir());
        let commit = if rebasing { unfinished.trim_end() } else { head };
        return Ok((commit.to_owned(), commit.to_owned()));
    }
    let place = open(scratch, common_dir)?;
    let ours = scratch.join("git");
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
    let git: Git = tree.writer()?.with("GIT_DIR", &ours).with("GIT_WORK_TREE", &tree.path);
    let git = place.git(&git.with("GIT_INDEX_FILE", ours.join("index")));
    let taken = async {
        // Not `git add`, which runs git in every submodule, with the settings of that.
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
        // Deterministic for the same files, so that cached results stay valid.
        let name = format!("user.name=Agent {}", tree.session);
        let email = format!("user.email={}", crate::config::email(tree.session));
        let git =
            git.with("GIT_AUTHOR_DATE", "1700000000 +0000").with("GIT_COMMITTER_DATE", "1700000000 +0000");
        let args =
            ["-c", &name, "-c", &email, "commit-tree", "--no-gpg-sign", "-p", head, "-m", "work", &files];
        git.write(&args).await
    };
    let commit = taken.await.map_err(TreeError::tried(format!("take `{}` as it is", tree.path.display())))?;
    Ok((commit, head.to_owned()))
}

/// Creates a git directory of ours with a copy of the tree's index. Returns the settings that go with it.
async fn made(ours: &Path, tree: &OwnTree) -> Result<Vec<String>, TreeError> {
    let format = tree.git().read(&["rev-parse", "--show-object-format"]).await?;
    let settings = tree.git().answer(&["config", "-z", "--get-regexp", READING]).await?.unwrap_or_default();
    let write = || -> io::Result<()> {
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
        // An index can have two parts.
        for file in fs::read_dir(&tree.git_dir)?.flatten() {
            if file.file_name().to_string_lossy().starts_with("sharedindex.") {
                fs::copy(file.path(), ours.join(file.file_name()))?;
            }
        }
        Ok(())
    };
    write().map_err(TreeError::file("copy the index to", ours))?;
    // `core.eol\nlf\0`, and without a value `core.filemode\0`.
    let lines = settings.split('\0').filter(|setting| !setting.is_empty());
    Ok(lines.flat_map(|setting| ["-c".to_owned(), setting.replacen('\n', "=", 1)]).collect())
}

/// Parses `M\0path\0D\0path\0` into deleted and changed files, each ended by a zero byte.
fn changed_files(output: &[u8]) -> (String, String) {
    let (mut gone, mut changed) = (String::new(), String::new());
    let mut fields = output.split(|byte| *byte == 0);
    while let (Some(status), Some(name)) = (fields.next(), fields.next()) {
        let Ok(name) = std::str::from_utf8(name) else { continue };
        let names = if status == b"D" { &mut gone } else { &mut changed };
        names.push_str(name);
        names.push('\0');
    }
    (gone, changed)
}

/// Filters the untracked files that are captured, each ended by a zero byte.
fn new_files(tree: &OwnTree, output: &[u8]) -> String {
    let names = output.split(|byte| *byte == 0).filter_map(|name| std::str::from_utf8(name).ok());
    names
        // A name with a slash at its end is a repository of its own.
        .filter(|name| !name.is_empty() && !name.ends_with('/'))
        .filter(|name| {
            let found = fs::symlink_metadata(tree.path.join(name));
            found.is_ok_and(|found| (found.is_file() || found.is_symlink()) && found.len() <= LARGE)
        })
        .take(NEW_FILES)
        .flat_map(|name| [name, "\0"])
        .collect()
}
