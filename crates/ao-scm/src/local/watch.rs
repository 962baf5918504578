//! Noticing that refs have moved, without asking again and again, and without touching anybody's hooks: the folders that
//! git keeps them in are watched.
//!
//! Each folder is watched by itself, and a new one before the next look. So whatever happens in it either comes before the
//! look, which sees it, or after, and then the watch does.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ao_ports::{Hint, Hints};
use camino::Utf8Path;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};
use tracing::warn;

use super::LocalScm;

/// Git moves many refs one after another. This long after the last of them it is done, or there is another look: a result
/// should not wait for that.
const QUIET: Duration = Duration::from_millis(1);

/// However much happens, it is looked at so often.
const PATIENCE: Duration = Duration::from_millis(60);

impl LocalScm {
    /// Follows refs and checks, and tells of news, for as long as it is polled.
    pub(super) async fn follow_refs(&self, hints: Arc<dyn Hints>) {
        *self.hints.write().expect("nobody panics while copying it") = Some(hints);
        let mut folders = match Folders::new(&self.repository.common_dir, self.dirty.clone()) {
            Ok(folders) => folders,
            Err(err) => {
                warn!(%err, "refs cannot be watched; they are looked at when somebody asks");
                return;
            }
        };
        let mut runs = self.checks.subscribe();
        // What has moved before anybody watched is for the first look.
        self.dirty.store(true, Ordering::SeqCst);
        let _watched = Watched::new(&self.watched);
        let mut is_due = true;
        loop {
            if is_due {
                folders.cover();
                if let Err(err) = self.look(&mut *self.book.writing().await).await {
                    warn!(%err, "the repository could not be looked at");
                }
            }
            let is_told = tokio::select! {
                () = folders.moved() => true,
                () = self.owing.notified() => {
                    // Whoever keeps something starts its checks too, unless that was given up.
                    drop(self.book.writing().await);
                    self.owes.load(Ordering::SeqCst)
                }
                run = runs.recv() => match run {
                    Ok(run) => {
                        let about = run.pull.filter(|_| run.ahead.is_empty());
                        about.into_iter().for_each(|pull| self.hint(Hint::Pull(pull)));
                        false
                    }
                    Err(RecvError::Lagged(_)) => {
                        self.hint(Hint::Project(self.options.project.clone()));
                        false
                    }
                    // Nobody runs checks any more, so only refs are of interest.
                    Err(RecvError::Closed) => {
                        folders.moved().await;
                        true
                    }
                }
            };
            // Something else may have come while moves were waited for to end, and they are as much of interest then.
            is_due = is_told || self.dirty.load(Ordering::SeqCst);
        }
    }
}

/// Says that refs are watched, until it is dropped.
struct Watched<'a>(&'a AtomicBool);

impl<'a> Watched<'a> {
    fn new(flag: &'a AtomicBool) -> Watched<'a> {
        flag.store(true, Ordering::SeqCst);
        Watched(flag)
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// The folders that refs are kept in, and those of hooks and attributes.
struct Folders {
    common_dir: PathBuf,
    watcher: RecommendedWatcher,
    /// Those that are watched, each with the number that tells it from another one in its place.
    known: HashMap<PathBuf, u64>,
    events: mpsc::UnboundedReceiver<Vec<PathBuf>>,
}

impl Folders {
    fn new(common_dir: &Utf8Path, dirty: Arc<AtomicBool>) -> Result<Folders, notify::Error> {
        let common_dir = common_dir.as_std_path().to_owned();
        // Unbounded, because the watcher's own thread must not wait; what is in it is drained at once.
        let (sender, events) = mpsc::unbounded_channel();
        let dir = common_dir.clone();
        let watcher = notify::recommended_watcher(move |event: Result<Event, notify::Error>| {
            // What could not be told may have been anything.
            let event =
                event.unwrap_or_else(|_| Event::new(EventKind::Any).add_path(dir.join("packed-refs")));
            let is_lost = event.need_rescan();
            if !matches!(event.kind, EventKind::Access(_))
                && (is_lost || event.paths.iter().any(|path| is_of_refs(&dir, path) || is_around(&dir, path)))
            {
                dirty.store(true, Ordering::SeqCst);
                let gone = if matches!(event.kind, EventKind::Remove(_)) { event.paths } else { vec![] };
                // Nobody listens any more once the watch is dropped.
                let _ = sender.send(gone);
            }
        })?;
        let mut folders = Folders { common_dir, watcher, known: HashMap::new(), events };
        // Without these two nothing would be noticed at all.
        for folder in [folders.common_dir.clone(), folders.common_dir.join("refs")] {
            folders.watcher.watch(&folder, RecursiveMode::NonRecursive)?;
        }
        Ok(folders)
    }

    /// Watches the folders that have come since.
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
                // An earlier one of that name is gone, and its watch with it.
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

    /// Waits until something has moved, and then for a moment of quiet.
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

/// Whether a path in the git directory can have to do with branches. Our own pins are none of it.
fn is_of_refs(common_dir: &Path, path: &Path) -> bool {
    let Ok(path) = path.strip_prefix(common_dir) else { return false };
    let below = |name: &str| path.starts_with(name);
    path.extension().is_none_or(|extension| extension != "lock")
        && (below("refs/heads") || below("refs/remotes") || below("packed-refs") || below("reftable"))
}

/// Whether a path in the git directory decides which programs git runs, or where it finds objects.
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
    fn what_names_programs_is_of_interest_too() {
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
    fn only_what_can_move_a_branch_is_of_interest() {
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
