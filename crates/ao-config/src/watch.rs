//! Watches configuration files for changes.
//!
//! It reads no file. The caller loads the files again after a change, and keeps the old configuration if they are
//! invalid.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::find::{LOCAL_FILE, Layer, LayerKind, Places};

/// Editors write, rename and set permissions one after another; a file is complete this long after the last change.
const QUIET: Duration = Duration::from_millis(100);

/// Changes to a file that never settles are reported after this long.
const PATIENCE: Duration = Duration::from_secs(2);

/// Watches files. Dropping it ends the watch.
#[derive(Debug)]
pub struct ConfigWatcher {
    /// Changed files in the watched folders.
    changes: mpsc::UnboundedReceiver<PathBuf>,
    /// Changes received and not returned yet, because the caller cancelled its wait.
    heard: BTreeSet<PathBuf>,
    _watcher: RecommendedWatcher,
}

/// A folder that cannot be watched.
#[derive(Debug, thiserror::Error)]
#[error("failed to watch `{path}` for changes")]
pub struct WatchError {
    pub path: Utf8PathBuf,
    #[source]
    pub err: notify::Error,
}

/// Returns the files to watch for a configuration: its own, and those that would become part of it if they were
/// created.
pub fn files(layers: &[Layer], places: &Places) -> Vec<Utf8PathBuf> {
    let mut files: BTreeSet<Utf8PathBuf> = layers.iter().map(|layer| layer.path.clone()).collect();
    files.extend(places.user_file());
    let project = layers.iter().find(|layer| layer.kind == LayerKind::Project);
    files.extend(project.map(|layer| layer.path.with_file_name(LOCAL_FILE)));
    files.into_iter().collect()
}

impl ConfigWatcher {
    /// Watches the folders of these files, because editors often save by replacing the file. Folders that do not exist
    /// are skipped.
    pub fn new(files: &[Utf8PathBuf]) -> Result<ConfigWatcher, WatchError> {
        let (sender, changes) = mpsc::unbounded_channel();
        // The target of a symbolic link is in another folder, and changes are reported there.
        let real = |path: &Utf8PathBuf| path.canonicalize_utf8().ok();
        let folder_real =
            |path: &Utf8PathBuf| Some(path.parent()?.canonicalize_utf8().ok()?.join(path.file_name()?));
        let files: BTreeSet<Utf8PathBuf> =
            files.iter().flat_map(|path| [real(path), folder_real(path)]).flatten().collect();
        let watched = files.clone();
        let tell = move |event: Result<Event, notify::Error>| {
            let Ok(event) = event else { return };
            if matches!(event.kind, EventKind::Access(_)) {
                return;
            }
            for path in event.paths {
                if Utf8Path::from_path(&path).is_some_and(|path| watched.contains(path)) {
                    // The receiver is gone once the watch is dropped.
                    let _ = sender.send(path);
                }
            }
        };
        let failed = |path: &Utf8Path, err| WatchError { path: path.to_path_buf(), err };
        let mut watcher = notify::recommended_watcher(tell).map_err(|err| failed(Utf8Path::new("."), err))?;
        let folders: BTreeSet<&Utf8Path> = files.iter().filter_map(|path| path.parent()).collect();
        for folder in folders {
            watcher
                .watch(folder.as_std_path(), RecursiveMode::NonRecursive)
                .map_err(|err| failed(folder, err))?;
        }
        Ok(ConfigWatcher { changes, heard: BTreeSet::new(), _watcher: watcher })
    }

    /// Waits for a change, and then until there were no more for a moment. Returns the files that changed.
    ///
    /// Cancel safe: changes that were received are returned by the next call.
    pub async fn changed(&mut self) -> Vec<Utf8PathBuf> {
        if self.heard.is_empty() {
            let Some(first) = self.changes.recv().await else { return std::future::pending().await };
            self.heard.insert(first);
        }
        let last = Instant::now() + PATIENCE;
        while let Ok(Some(path)) = timeout_at(last.min(Instant::now() + QUIET), self.changes.recv()).await {
            self.heard.insert(path);
        }
        let changed = std::mem::take(&mut self.heard);
        changed.into_iter().filter_map(|path| Utf8PathBuf::try_from(path).ok()).collect()
    }
}
