//! A clean checkout for one run: a worktree of the user's repository that ao creates and removes.
//!
//! ```text
//!  <folder>/trees/<run>/            owned by ao
//!      place.json                   the repository of the worktree, written before git creates it
//!      <name of the repository>/    the checkout
//! ```

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ao_git::{Git, GitError, Queues, Settings};
use ao_ports::environment::CHECK_RUN;
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::options::{CheckJob, Options};
use super::submodules;

/// Time limit for checking out the files of a commit. A partial clone may have to fetch them.
const FILES: Duration = Duration::from_secs(1_800);
const PLACE: &str = "place.json";

/// A checkout, or the remains of one.
#[derive(Debug)]
pub(super) struct CheckTree {
    /// The folder around the checkout.
    holder: Utf8PathBuf,
    place: CheckoutRecord,
}

/// Data that is needed to remove a checkout, also by another daemon.
#[derive(Debug, Serialize, Deserialize)]
struct CheckoutRecord {
    path: Utf8PathBuf,
    repository: Utf8PathBuf,
    common_dir: Utf8PathBuf,
}

#[derive(Debug, thiserror::Error)]
#[error("failed to {what} `{path}`")]
pub(super) struct CheckTreeError {
    what: &'static str,
    path: Utf8PathBuf,
    #[source]
    err: Box<dyn std::error::Error + Send + Sync>,
}

impl CheckTree {
    /// Returns the tree of a run. Creates nothing yet.
    pub(super) fn of(options: &Options, run: &str, job: &CheckJob) -> CheckTree {
        let holder = options.trees().join(run);
        let place = CheckoutRecord {
            path: holder.join(name_of(&job.repository)),
            repository: job.repository.clone(),
            common_dir: job.common_dir.clone(),
        };
        CheckTree { holder, place }
    }

    /// Returns the tree that an earlier daemon left in a folder, as far as it can be identified.
    pub(super) fn left_in(holder: &Utf8Path) -> CheckTree {
        let text = fs::read(holder.join(PLACE)).unwrap_or_default();
        // A check can write there too, and this path is deleted: accept only a direct child of the holder.
        let is_below = |path: &Utf8Path| path.parent() == Some(holder) && path.file_name().is_some();
        let known = serde_json::from_slice(&text).ok().filter(|place: &CheckoutRecord| is_below(&place.path));
        // The daemon ended before git knew of it, so there is only the folder.
        let nowhere =
            || CheckoutRecord { path: holder.join("tree"), repository: "".into(), common_dir: "".into() };
        CheckTree { holder: holder.to_owned(), place: known.unwrap_or_else(nowhere) }
    }

    pub(super) fn path(&self) -> &Utf8Path {
        &self.place.path
    }

    pub(super) fn holder(&self) -> &Utf8Path {
        &self.holder
    }

    /// Returns the run that owns the tree. Passed to git, so that leftover git processes of a killed daemon are
    /// found.
    fn run(&self) -> &str {
        self.holder.file_name().unwrap_or_default()
    }

    /// Checks out a commit, and returns the submodules without a local copy. Only adding the worktree takes the
    /// repository's queue; the files, which take the longest, are written concurrently.
    pub(super) async fn make(&self, queues: &Queues, commit: &str) -> Result<Vec<String>, CheckTreeError> {
        let place = &self.place;
        let settings = settings();
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.holder)
            .map_err(failed("make", &self.holder))?;
        let known = serde_json::to_vec(place).expect("paths are text");
        fs::write(self.holder.join(PLACE), known).map_err(failed("write", self.holder.join(PLACE)))?;
        {
            let _turn = queues.turn(place.common_dir.as_std_path()).await;
            let add = [
                "worktree",
                "add",
                "--quiet",
                "--detach",
                "--no-checkout",
                // Keeps a concurrent `git worktree prune` from removing it while the folder is being made.
                "--lock",
                "--reason",
                "a check of ao runs here",
                place.path.as_str(),
                commit,
            ];
            let git = Git::at(place.repository.as_std_path(), &settings).with(CHECK_RUN, self.run());
            git.write(&add).await.map_err(failed("make the worktree", &place.path))?;
        }
        self.put_files(commit, &settings).await.map_err(failed("check out the files of", &place.path))?;
        let modules = place.common_dir.join("modules");
        submodules::put(&place.path, &modules, &settings)
            .await
            .map_err(failed("check out the submodules of", &place.path))
    }

    /// Writes the files of a commit and the worktree's index, by the attributes of that commit alone: the test must
    /// see what lands, regardless of the repository's settings and `info/attributes`.
    async fn put_files(&self, commit: &str, settings: &Settings) -> Result<(), GitError> {
        let CheckoutRecord { path, common_dir, .. } = &self.place;
        let tree = Git::in_tree(path.as_std_path(), settings).shown_to_be_ours().with(CHECK_RUN, self.run());
        let git_dir = tree.read(&["rev-parse", "--path-format=absolute", "--git-dir"]).await?;
        let git = tree
            .isolated(common_dir.as_std_path(), commit)
            .await?
            .with("GIT_WORK_TREE", path.as_os_str())
            .with("GIT_INDEX_FILE", Utf8Path::new(&git_dir).join("index").as_os_str());
        git.write_within(FILES, &["-c", "core.bare=false", "read-tree", "--reset", "-u", commit]).await
    }

    /// Removes the checkout and git's entry for it. The next daemon retries what cannot be deleted.
    pub(super) async fn remove(&self, queues: &Queues) -> Result<(), CheckTreeError> {
        let (path, holder) = (self.place.path.clone(), self.holder.clone());
        let deleted = blocking(move || {
            // Move it out of git's way otherwise: git would fail on it as well.
            delete(path.as_std_path())
                .inspect_err(|_| fs::rename(&path, holder.join("left")).unwrap_or_default())
        });
        let deleted = deleted.await;
        self.forget(queues).await?;
        deleted.map_err(failed("delete", &self.place.path))?;
        let holder = self.holder.clone();
        blocking(move || delete(holder.as_std_path())).await.map_err(failed("delete", &self.holder))
    }

    /// Removes git's entry, after the folder is gone. Not before: a check may have left anything there, even another
    /// `.git`.
    async fn forget(&self, queues: &Queues) -> Result<(), CheckTreeError> {
        let CheckoutRecord { path, repository, common_dir } = &self.place;
        if !common_dir.is_dir() {
            return Ok(());
        }
        let from = if repository.is_dir() { repository } else { common_dir };
        let git = Git::at(from.as_std_path(), &settings());
        let _turn = queues.turn(common_dir.as_std_path()).await;
        // Twice, because the worktree is locked.
        match git.write(&["worktree", "remove", "--force", "--force", path.as_str()]).await {
            Err(err) if !err.stderr().contains("is not a working tree") => {
                Err(failed("let git forget the worktree", path)(err))
            }
            _ => Ok(()),
        }
    }
}

/// Returns the settings for every git command on a checkout of ours.
fn settings() -> Settings {
    let settings = [
        // Large files stay the pointers that git stores; a check downloads them itself (`git lfs pull`).
        ("filter.lfs.smudge", ""),
        ("filter.lfs.process", ""),
        ("filter.lfs.required", "false"),
        // The user's hooks are not written for checks.
        ("core.hooksPath", "/dev/null"),
        ("core.fsmonitor", "false"),
        // The merge result is complete, regardless of the user's sparse checkout.
        ("core.sparseCheckout", "false"),
    ];
    Arc::new(settings.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
}

/// Returns the name of the checkout's folder: the repository's own where possible, because some programs use it.
fn name_of(repository: &Utf8Path) -> String {
    let name = repository.file_name().unwrap_or_default();
    // Git cannot store a path with a line end in it.
    let name: String = name.chars().map(|c| if c.is_control() { '_' } else { c }).collect();
    match name.as_str() {
        "" | ".git" | PLACE | "left" => "tree".into(),
        _ => name,
    }
}

async fn blocking(work: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<()> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other).flatten()
}

/// Deletes a path; of a link, the link itself. Succeeds if it is gone already.
fn delete(path: &Path) -> io::Result<()> {
    let gone = |deleted: io::Result<()>| match deleted {
        Err(err) if err.kind() == ErrorKind::NotFound => Ok(()),
        deleted => deleted,
    };
    match fs::symlink_metadata(path) {
        Err(err) if err.kind() == ErrorKind::NotFound => return Ok(()),
        Ok(metadata) if !metadata.is_dir() => return gone(fs::remove_file(path)),
        _ => {}
    }
    match gone(fs::remove_dir_all(path)) {
        // A build may have made its own folders read-only.
        Err(err) if err.kind() == ErrorKind::PermissionDenied => {
            give_rights(path);
            gone(fs::remove_dir_all(path))
        }
        deleted => deleted,
    }
}

/// Makes every folder below writable. Does not follow links: their targets are not ours.
fn give_rights(folder: &Path) {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir());
    if !is_folder || fs::set_permissions(folder, Permissions::from_mode(0o700)).is_err() {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            give_rights(&entry.path());
        }
    }
}

fn failed<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
    what: &'static str,
    path: impl Into<Utf8PathBuf>,
) -> impl FnOnce(E) -> CheckTreeError {
    let path = path.into();
    move |err| CheckTreeError { what, path, err: err.into() }
}
