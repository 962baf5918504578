//! A clean checkout for one run: a worktree of the user's repository that is ours alone, and is gone afterwards.
//!
//! ```text
//!  <folder>/trees/<run>/            ours
//!      place.json                   whose worktree it is, written before git hears of it
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

use super::options::{Job, Options};
use super::submodules;

/// How long git may take for the files of a commit. They may have to be fetched, in a clone that has only a part of them.
const FILES: Duration = Duration::from_secs(1_800);
const PLACE: &str = "place.json";

/// A checkout, or what is left of one.
#[derive(Debug)]
pub(super) struct Tree {
    /// Around the checkout.
    holder: Utf8PathBuf,
    place: Place,
}

/// What has to be known of a checkout to take it away again, also by another daemon.
#[derive(Debug, Serialize, Deserialize)]
struct Place {
    path: Utf8PathBuf,
    repository: Utf8PathBuf,
    common_dir: Utf8PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum TreeError {
    #[error("failed to {what} `{path}`")]
    File {
        what: &'static str,
        path: Utf8PathBuf,
        #[source]
        err: io::Error,
    },
    #[error("failed to {what} `{path}`")]
    Git {
        what: &'static str,
        path: Utf8PathBuf,
        #[source]
        err: GitError,
    },
}

impl Tree {
    /// The tree of a run, before there is anything of it.
    pub(super) fn of(options: &Options, run: &str, job: &Job) -> Tree {
        let holder = options.trees().join(run);
        let place = Place {
            path: holder.join(name_of(&job.repository)),
            repository: job.repository.clone(),
            common_dir: job.common_dir.clone(),
        };
        Tree { holder, place }
    }

    /// What an earlier daemon has left in a folder, if there is enough to know it by.
    pub(super) fn left_in(holder: &Utf8Path) -> Tree {
        let text = fs::read(holder.join(PLACE)).unwrap_or_default();
        // A check can write there too, and what is named is deleted: right below the holder, or not at all.
        let is_below = |path: &Utf8Path| path.parent() == Some(holder) && path.file_name().is_some();
        let known = serde_json::from_slice(&text).ok().filter(|place: &Place| is_below(&place.path));
        // It was cut off before git heard of it, so there is only the folder.
        let nowhere = || Place { path: holder.join("tree"), repository: "".into(), common_dir: "".into() };
        Tree { holder: holder.to_owned(), place: known.unwrap_or_else(nowhere) }
    }

    pub(super) fn path(&self) -> &Utf8Path {
        &self.place.path
    }

    pub(super) fn holder(&self) -> &Utf8Path {
        &self.holder
    }

    /// The run whose tree it is. Git carries it too, so that what a killed daemon has left of it is found.
    fn run(&self) -> &str {
        self.holder.file_name().unwrap_or_default()
    }

    /// Checks a commit out, and says what of it is missing. Only to make it known needs the repository's queue: the files,
    /// which take the longest, are put down beside others'.
    pub(super) async fn make(&self, queues: &Queues, commit: &str) -> Result<Vec<String>, TreeError> {
        let place = &self.place;
        let settings = settings();
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.holder)
            .map_err(TreeError::file("make", &self.holder))?;
        let known = serde_json::to_vec(place).expect("paths are text");
        fs::write(self.holder.join(PLACE), known)
            .map_err(TreeError::file("write", self.holder.join(PLACE)))?;
        let failed = |what| TreeError::git(what, &place.path);
        {
            let _turn = queues.turn(place.common_dir.as_std_path()).await;
            let add = [
                "worktree",
                "add",
                "--quiet",
                "--detach",
                "--no-checkout",
                // Or a `git worktree prune` of somebody else's takes it away while the folder is being made.
                "--lock",
                "--reason",
                "a check of ao runs here",
                place.path.as_str(),
                commit,
            ];
            let git = Git::at(place.repository.as_std_path(), &settings).with(CHECK_RUN, self.run());
            git.write(&add).await.map_err(failed("make the worktree"))?;
        }
        self.put_files(commit, &settings).await.map_err(failed("check out the files of"))?;
        let modules = place.common_dir.join("modules");
        submodules::put(&place.path, &modules, &settings).await.map_err(failed("check out the submodules of"))
    }

    /// Puts the files of a commit down and into the worktree's index, by the attributes of that commit alone: what is tested
    /// is what lands, whatever the repository's settings and `info/attributes` say.
    async fn put_files(&self, commit: &str, settings: &Settings) -> Result<(), GitError> {
        let Place { path, common_dir, .. } = &self.place;
        let tree = Git::in_tree(path.as_std_path(), settings).shown_to_be_ours().with(CHECK_RUN, self.run());
        let git_dir = tree.read(&["rev-parse", "--path-format=absolute", "--git-dir"]).await?;
        let git = tree
            .isolated(common_dir.as_std_path(), commit)
            .await?
            .with("GIT_WORK_TREE", path.as_os_str())
            .with("GIT_INDEX_FILE", Utf8Path::new(&git_dir).join("index").as_os_str());
        git.write_within(FILES, &["-c", "core.bare=false", "read-tree", "--reset", "-u", commit]).await
    }

    /// Takes the checkout away, and lets git forget it. What cannot be deleted is left for the next daemon to try.
    pub(super) async fn remove(&self, queues: &Queues) -> Result<(), TreeError> {
        let (path, holder) = (self.place.path.clone(), self.holder.clone());
        let deleting = tokio::task::spawn_blocking(move || {
            let deleted = delete(path.as_std_path());
            if deleted.is_err() {
                // Out of git's way: it would follow, and stumble as we did.
                fs::rename(&path, holder.join("left")).ok();
            }
            deleted
        });
        let deleted = deleting.await.map_err(io::Error::other).and_then(|deleted| deleted);
        self.forget(queues).await?;
        deleted.map_err(TreeError::file("delete", &self.place.path))?;
        let holder = self.holder.clone();
        let deleting = tokio::task::spawn_blocking(move || delete(holder.as_std_path()));
        let deleted = deleting.await.map_err(io::Error::other).and_then(|deleted| deleted);
        deleted.map_err(TreeError::file("delete", &self.holder))
    }

    /// The folder is gone, so git has nothing to look at but its own entry. Not before: a check may have put anything there,
    /// another `.git` too.
    async fn forget(&self, queues: &Queues) -> Result<(), TreeError> {
        let Place { path, repository, common_dir } = &self.place;
        if !common_dir.is_dir() {
            return Ok(());
        }
        let from = if repository.is_dir() { repository } else { common_dir };
        let git = Git::at(from.as_std_path(), &settings());
        let _turn = queues.turn(common_dir.as_std_path()).await;
        // Twice, because we have locked it.
        match git.write(&["worktree", "remove", "--force", "--force", path.as_str()]).await {
            Err(err) if !err.stderr().contains("is not a working tree") => {
                Err(TreeError::git("let git forget the worktree", path)(err))
            }
            _ => Ok(()),
        }
    }
}

/// What holds for every git that works on a checkout of ours.
fn settings() -> Settings {
    let settings = [
        // Large files stay the pointers that git stores; to download them is for the check itself (`git lfs pull`).
        ("filter.lfs.smudge", ""),
        ("filter.lfs.process", ""),
        ("filter.lfs.required", "false"),
        // The user's hooks know nothing of checks.
        ("core.hooksPath", "/dev/null"),
        ("core.fsmonitor", "false"),
        // What would land is all of it, whatever part of it the user has checked out.
        ("core.sparseCheckout", "false"),
    ];
    Arc::new(settings.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect())
}

/// The name of the checkout's folder. The repository's own where that can be: there are programs that look at it.
fn name_of(repository: &Utf8Path) -> String {
    let name = repository.file_name().unwrap_or_default();
    // Git cannot keep a path with a line end in it.
    let name: String = name.chars().map(|c| if c.is_control() { '_' } else { c }).collect();
    match name.as_str() {
        "" | ".git" | PLACE | "left" => "tree".into(),
        _ => name,
    }
}

/// Deletes whatever is there, of links the link. Success if it is gone already.
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
        // A build may have taken its own right to change a folder away.
        Err(err) if err.kind() == ErrorKind::PermissionDenied => {
            give_rights(path);
            gone(fs::remove_dir_all(path))
        }
        deleted => deleted,
    }
}

/// Lets us change every folder from here on. Links are not followed: they lead to what is not ours.
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

impl TreeError {
    fn file(what: &'static str, path: impl Into<Utf8PathBuf>) -> impl FnOnce(io::Error) -> TreeError {
        let path = path.into();
        move |err| TreeError::File { what, path, err }
    }

    fn git(what: &'static str, path: &Utf8Path) -> impl FnOnce(GitError) -> TreeError {
        let path = path.to_owned();
        move |err| TreeError::Git { what, path, err }
    }
}
