//! The files of a new tree. Runs beside other trees' checkouts, a few at a time: it is most of the work.

use tokio::sync::Semaphore;

use crate::error::TreeError;
use crate::options::Options;
use crate::own::OwnTree;
use crate::repository::Repository;
use ao_git::Queues;

/// Large files stay the pointers that git stores, whether their program is installed or not: to download them is a
/// decision of the project's own set-up commands (`git lfs pull`), and a pointer is clean for git in both cases.
const POINTERS: [&str; 6] =
    ["-c", "filter.lfs.smudge=", "-c", "filter.lfs.process=", "-c", "filter.lfs.required=false"];

/// How many checkouts run at a time: they need a core each, and more of them only wait for one another.
#[derive(Debug)]
pub(crate) struct Checkouts {
    permits: Semaphore,
}

impl Default for Checkouts {
    fn default() -> Checkouts {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Checkouts { permits: Semaphore::new(cores) }
    }
}

impl Checkouts {
    /// Puts the files of its commit into a new tree, those that a sparse checkout wants. Nobody has worked in it yet.
    pub(crate) async fn files(&self, tree: &OwnTree, snapshot: Option<&str>) -> Result<(), TreeError> {
        let _permit = self.permits.acquire().await.expect("nobody closes it");
        let what = || TreeError::tried(format!("check out the files of `{}`", tree.path.display()));
        // Neither `checkout` nor `switch`: those would run the user's hooks, which know nothing of agents' trees.
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
        // Their addresses go into the settings that all worktrees share.
        let _turn = queues.turn(&repository.common_dir).await;
        tree.writer()?.write(&["submodule", "--quiet", "init"]).await.map_err(what())?;
    }
    let update = [&POINTERS[..], &["submodule", "--quiet", "update", "--init", "--recursive"]].concat();
    tree.writer()?.write_within(options.submodule_timeout, &update).await.map_err(what())
}
