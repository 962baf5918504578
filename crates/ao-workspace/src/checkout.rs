//! Checks out the files of a new tree. Runs in parallel with other checkouts, but only a few at a time: it is most of
//! the work.

use tokio::sync::Semaphore;

use crate::error::TreeError;
use crate::options::Options;
use crate::own_tree::OwnTree;
use crate::repository::Repository;
use ao_git::Queues;

/// Large files stay the pointers that git stores, whether or not LFS is installed: downloading them is up to the
/// project's set-up commands (`git lfs pull`), and git considers a pointer clean in both cases.
const POINTERS: [&str; 6] =
    ["-c", "filter.lfs.smudge=", "-c", "filter.lfs.process=", "-c", "filter.lfs.required=false"];

/// Limits concurrent checkouts: each needs a core, and more of them would only wait for one another.
#[derive(Debug)]
pub(crate) struct CheckoutLimit {
    permits: Semaphore,
}

impl Default for CheckoutLimit {
    fn default() -> CheckoutLimit {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        CheckoutLimit { permits: Semaphore::new(cores) }
    }
}

impl CheckoutLimit {
    /// Checks out the files of the commit into a new tree, or those that a sparse checkout includes. No agent has
    /// worked in it yet.
    pub(crate) async fn files(&self, tree: &OwnTree, snapshot: Option<&str>) -> Result<(), TreeError> {
        let _permit = self.permits.acquire().await.expect("it is never closed");
        let what = || TreeError::tried(format!("check out the files of `{}`", tree.path.display()));
        // Neither `checkout` nor `switch`: those would run the user's hooks, which are not made for agents' trees.
        let reset = [&POINTERS[..], &["reset", "--hard", "--quiet", "--no-recurse-submodules"]].concat();
        tree.writer()?.write(&reset).await.map_err(what())?;
        if let Some(snapshot) = snapshot {
            let source = format!("--source={snapshot}");
            let restore = [&POINTERS[..], &["restore", &source, "--worktree", "--", ":/"]].concat();
            tree.writer()?.write(&restore).await.map_err(what())?;
        }
        Ok(())
    }
}

/// Initialises the submodules, if there are any.
pub(crate) async fn submodules(
    repository: &Repository,
    tree: &OwnTree,
    queues: &Queues,
    options: &Options,
) -> Result<(), TreeError> {
    if !tree.path.join(".gitmodules").exists() {
        return Ok(());
    }
    let what = || {
        TreeError::tried(format!(
            "initialise the submodules of `{}`; try `git submodule update --init --recursive` by hand",
            repository.root.display()
        ))
    };
    {
        // Their URLs go into the settings that all worktrees share.
        let _turn = queues.turn(&repository.common_dir).await;
        tree.writer()?.write(&["submodule", "--quiet", "init"]).await.map_err(what())?;
    }
    let update = [&POINTERS[..], &["submodule", "--quiet", "update", "--init", "--recursive"]].concat();
    tree.writer()?.write_within(options.submodule_timeout, &update).await.map_err(what())
}
