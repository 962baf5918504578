//! The runtimes that are available, by name.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use ao_core::input::ProcessLife;
use ao_core::session::ProcessRef;
use ao_core::workspace::TreeRef;

use crate::reporter::Reporter;
use crate::runtime::{Runtime, RuntimeError};

/// The available runtimes, each under its own name.
#[derive(Clone, Default)]
pub struct Runtimes {
    known: BTreeMap<String, Arc<dyn Runtime>>,
}

impl Runtimes {
    /// Has every runtime report to `reporter`.
    pub async fn watch(&self, reporter: &Arc<dyn Reporter>) -> Result<(), RuntimeError> {
        for runtime in self.known.values() {
            runtime.watch(reporter.clone()).await?;
        }
        Ok(())
    }

    /// Returns the runtime of this name.
    pub fn get(&self, name: &str) -> Result<&dyn Runtime, RuntimeError> {
        self.known.get(name).map(|runtime| &**runtime).ok_or_else(|| RuntimeError::NoRuntime {
            name: name.to_owned(),
            known: self.known.keys().cloned().collect(),
        })
    }

    /// Returns the runtime that a process lives in.
    pub fn of(&self, process: &ProcessRef) -> Result<&dyn Runtime, RuntimeError> {
        self.get(&process.runtime)
    }

    /// Returns true if a process of any runtime lives in a workspace, `None` if that is unknown. Nothing may be removed
    /// unless the answer is no.
    ///
    /// A process that has not ended counts if it belongs to the session of the workspace, wherever it works, or if its
    /// folder is inside the workspace.
    pub async fn live_in(&self, tree: &TreeRef) -> Result<Option<bool>, RuntimeError> {
        let path = tree.recorded.as_ref().map(|recorded| Path::new(&recorded.path));
        let mut found = Some(false);
        for runtime in self.known.values() {
            let shares_files = runtime.abilities().shares_files;
            for entry in
                runtime.census().await?.iter().filter(|entry| !matches!(entry.life, ProcessLife::Gone { .. }))
            {
                let is_inside =
                    |folder: &String| path.is_some_and(|path| Path::new(folder).starts_with(path));
                // A path of another machine or container may be the same by chance, and names another folder.
                let inside = shares_files && entry.folder.as_ref().is_some_and(is_inside);
                match (inside || entry.session == tree.session, entry.life) {
                    (true, ProcessLife::Unknown) => found = None,
                    (true, _) => return Ok(Some(true)),
                    (false, _) => {}
                }
            }
        }
        Ok(found)
    }
}

impl FromIterator<Arc<dyn Runtime>> for Runtimes {
    fn from_iter<I: IntoIterator<Item = Arc<dyn Runtime>>>(runtimes: I) -> Runtimes {
        let known = runtimes.into_iter().map(|runtime| (runtime.name().to_owned(), runtime)).collect();
        Runtimes { known }
    }
}

impl fmt::Debug for Runtimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.known.keys()).finish()
    }
}
