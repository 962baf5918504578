//! Notices moved refs without polling, and without touching the user's hooks: watches the folders that git stores
//! refs in.
//!
//! Each folder is watched separately, and a new one before the next look. So a change in it comes either before the
//! look, which sees it, or after, and then the watch reports it.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ao_ports::{HintReceiver, LookHint};
use camino::Utf8Path;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tracing::warn;

use super::LocalScm;

/// Quiet time after the last change before a look. Git moves many refs one after another; if it was not done yet,
/// another look follows. Short, because results wait for it.
const QUIET: Duration = Duration::from_millis(1);

/// The longest time that a look is delayed by further changes.
const PATIENCE: Duration = Duration::from_millis(60);

impl LocalScm {
    /// Follows refs and checks, and sends hints, for as long as it is polled.
    pub(super) async fn follow_refs(&self, hints: Arc<dyn HintReceiver>) {
        *self.hints.write().expect("no panic while it is copied") = Some(hints);
        let mut folders = match RefFolders::new(&self.repository.common_dir, self.dirty.clone()) {
            Ok(folders) => folders,
            Err(err) => {
                warn!(%err, "refs cannot be watched; they are read on each request instead");
                return;
            }
        };
        let mut runs = self.checks.subscribe();
        // Moves from before the watch are for the first look.
        self.dirty.store(true, Ordering::SeqCst);
        let _watched = WatchFlag::new(&self.watched);
        let mut is_due = true;
        loop {
            if is_due {
                folders.cover();
                if let Err(err) = self.look(&mut *self.pulls.writing().await).await {
                    warn!(%err, "the repository could not be looked at");
                }
            }
            let has_moved = tokio::select! {
                () = folders.moved() => true,
                () = self.owing.notified() => {
                    // The writer starts the checks itself, unless its request was dropped.
                    drop(self.pulls.writing().await);
                    self.owes.load(Ordering::SeqCst)
                }
                run = runs.recv() => match run {
                    Ok(run) => {
                        let about = run.pull.filter(|_| run.ahead.is_empty());
                        about.into_iter().for_each(|pull| self.hint(LookHint::Pull(pull)));
                        false
                    }
                    Err(RecvError::Lagged(_)) => {
                        self.hint(LookHint::Project(self.options.project.clone()));
                        false
                    }
                    // The runner is gone, so only refs are of interest.
                    Err(RecvError::Closed) => {
                        folders.moved().await;
                        true
                    }
                }
            };
            // A branch of the select may have dropped events of moved refs, so check the flag as well.
            is_due = has_moved || self.dirty.load(Ordering::SeqCst);
        }
    }
}

/// Sets a flag while refs are watched.
struct WatchFlag<'a>(&'a AtomicBool);

impl<'a> WatchFlag<'a> {
    fn new(flag: &'a AtomicBool) -> WatchFlag<'a> {
        flag.store(true, Ordering::SeqCst);
        WatchFlag(flag)
    }
}

impl Drop for WatchFlag<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// The folders of refs, hooks and attributes.
struct RefFolders {
    common_dir: PathBuf,
    watcher: RecommendedWatcher,
    /// Watched folders, each with its inode, which differs for a new folder at the same path.
    known: HashMap<PathBuf, u64>,
    events: mpsc::UnboundedReceiver<Vec<PathBuf>>,
}

impl RefFolders {
    fn new(common_dir: &Utf8Path, dirty: Arc<AtomicBool>) -> Result<RefFolders, notify::Error> {
        let common_dir = common_dir.as_std_path().to_owned();
        // Unbounded, because the watcher's own thread must not wait; events are drained at once.
        let (sender, events) = mpsc::unbounded_channel();
        let dir = common_dir.clone();
        let watcher = notify::recommended_watcher(move |event: Result<Event, notify::Error>| {
            // An error may stand for any change.
            let event =
                event.unwrap_or_else(|_| Event::new(EventKind::Any).add_path(dir.join("packed-refs")));
            let is_lost = event.need_rescan();
            if !matches!(event.kind, EventKind::Access(_))
                && (is_lost || event.paths.iter().any(|path| is_of_refs(&dir, path) || is_around(&dir, path)))
            {
                dirty.store(true, Ordering::SeqCst);
                let gone = if matches!(event.kind, EventKind::Remove(_)) { event.paths } else { vec![] };
                // Fails only after the watch is dropped.
                let _ = sender.send(gone);
            }
        })?;
        let mut folders = RefFolders { common_dir, watcher, known: HashMap::new(), events };
        // Without these two nothing would be noticed at all.
        for folder in [folders.common_dir.clone(), folders.common_dir.join("refs")] {
            folders.watcher.watch(&folder, RecursiveMode::NonRecursive)?;
        }
        Ok(folders)
    }

    /// Watches folders that are new.
    fn cover(&mut self) {
        let mut open: Vec<PathBuf> =
            ["refs/heads", "refs/remotes", "reftable", "hooks", "info", "objects/info"]
                .map(|name| self.common_dir.join(name))
                .into();
        while let Some(folder) = open.pop() {
            let Ok(found) = std::fs::symlink_metadata(&folder) else { continue };
            if !found.is_dir() {
                continue;
            }
            if self.known.get(&folder) != Some(&found.ino()) {
                // An earlier folder of that name is gone, and its watch with it.
                self.watcher.unwatch(&folder).ok();
                match self.watcher.watch(&folder, RecursiveMode::NonRecursive) {
                    Ok(()) => drop(self.known.insert(folder.clone(), found.ino())),
                    Err(err) => warn!(folder = %folder.display(), %err, "a folder of refs is not watched"),
                }
            }
            let below = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            open.extend(
                below
                    .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                    .map(|entry| entry.path()),
            );
        }
    }

    /// Waits for a change, and then for a moment of quiet.
    async fn moved(&mut self) {
        let Some(gone) = self.events.recv().await else { return std::future::pending().await };
        self.forget(&gone);
        let last = Instant::now() + PATIENCE;
        while let Ok(Some(gone)) = timeout_at(last.min(Instant::now() + QUIET), self.events.recv()).await {
            self.forget(&gone);
        }
    }

    fn forget(&mut self, gone: &[PathBuf]) {
        for path in gone {
            self.known.remove(path);
        }
    }
}

/// Returns true if a path in the git directory concerns branches. Our own pins do not.
fn is_of_refs(common_dir: &Path, path: &Path) -> bool {
    let Ok(path) = path.strip_prefix(common_dir) else { return false };
    let below = |name: &str| path.starts_with(name);
    path.extension().is_none_or(|extension| extension != "lock")
        && (below("refs/heads") || below("refs/remotes") || below("packed-refs") || below("reftable"))
}

/// Returns true if a path in the git directory decides which programs git runs, or where it finds objects.
fn is_around(common_dir: &Path, path: &Path) -> bool {
    const FILES: [&str; 6] =
        ["config", "config.worktree", "shallow", "info/attributes", "info/grafts", "objects/info/alternates"];
    let Ok(path) = path.strip_prefix(common_dir) else { return false };
    FILES.iter().any(|name| path == Path::new(name)) || path.parent() == Some(Path::new("hooks"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_name_programs_are_watched_too() {
        for (path, is) in [
            ("config", true),
            ("hooks/post-checkout", true),
            ("info/attributes", true),
            ("objects/info/alternates", true),
            ("config.lock", false),
            ("info/exclude", false),
            ("objects/info/packs", false),
            ("worktrees/x/config.worktree", false),
        ] {
            assert_eq!(is_around(Path::new("/r/.git"), &Path::new("/r/.git").join(path)), is, "{path}");
        }
    }

    #[test]
    fn only_files_that_can_move_a_branch_are_watched() {
        let dir = Path::new("/r/.git");
        for (path, is) in [
            ("/r/.git/refs/heads/feat/x", true),
            ("/r/.git/refs/heads/feat", true),
            ("/r/.git/refs/remotes/origin/main", true),
            ("/r/.git/packed-refs", true),
            ("/r/.git/reftable/0x1-0x2.ref", true),
            ("/r/.git/refs/heads/x.lock", false),
            ("/r/.git/refs/ao/pulls/1/head", false),
            ("/r/.git/refs/tags/v1", false),
            ("/r/.git/index", false),
            ("/r/refs/heads/x", false),
        ] {
            assert_eq!(is_of_refs(dir, Path::new(path)), is, "{path}");
        }
    }
}
