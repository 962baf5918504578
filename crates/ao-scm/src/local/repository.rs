//! The project's repository: its refs in one listing, relations of commits, and the pins that keep commits alive.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ao_core::Commit;
use ao_git::{Git, GitError, QueueTurn, Queues, Settings};
use camino::{Utf8Path, Utf8PathBuf};

use super::{LocalError, Options};

pub(super) struct LocalRepository {
    pub(super) git: Git,
    pub(super) root: Utf8PathBuf,
    /// The git directory that all its worktrees share.
    pub(super) common_dir: Utf8PathBuf,
    queues: Arc<Queues>,
    settings: Settings,
}

/// The branches here and at remotes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct BranchRefs {
    /// By name.
    pub(super) heads: BTreeMap<String, Commit>,
    /// By remote and name, as `origin/main`.
    pub(super) remotes: BTreeMap<String, Commit>,
}

/// A checkout of a branch.
#[derive(Debug, Clone)]
pub(super) struct BranchCheckout {
    pub(super) path: PathBuf,
    pub(super) branch: String,
    /// Its own git directory, as the main repository knows it: an agent may have changed the checkout's `.git`.
    pub(super) git_dir: PathBuf,
}

/// A branch that is in use.
#[derive(Debug, Clone)]
pub(super) struct BranchHold {
    pub(super) how: BranchUse,
    pub(super) place: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BranchUse {
    CheckedOut,
    Rebased,
    Bisected,
}

impl fmt::Display for BranchHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.how {
            BranchUse::CheckedOut => "checked out",
            BranchUse::Rebased => "being rebased",
            BranchUse::Bisected => "being bisected",
        };
        write!(f, "{how} in `{}`", self.place.display())
    }
}

impl LocalRepository {
    pub(super) async fn open(options: &Options) -> Result<LocalRepository, LocalError> {
        let path = options.repository.clone();
        let mut settings = options.settings.as_ref().clone();
        // Run no hooks of the user, and do not depend on personal settings.
        for (key, value) in [
            ("core.hooksPath", "/dev/null"),
            ("commit.gpgSign", "false"),
            ("i18n.commitEncoding", "UTF-8"),
            ("i18n.logOutputEncoding", "UTF-8"),
            ("submodule.recurse", "false"),
        ] {
            settings.push((key.to_owned(), value.to_owned()));
        }
        let settings = Arc::new(settings);
        let git = Git::at(path.as_std_path(), &settings);
        let output = git.read(&["rev-parse", "--path-format=absolute", "--git-common-dir"]).await;
        let common_dir = Utf8PathBuf::from(output.map_err(|err| match err {
            GitError::NoGit => LocalError::Git(err),
            err => LocalError::NoRepository { path: path.clone(), err },
        })?);
        let version = git.read(&["version"]).await?;
        if is_too_old(&version) {
            return Err(LocalError::OldGit { path, found: version });
        }
        Ok(LocalRepository { git, root: path, common_dir, queues: options.queues.clone(), settings })
    }

    /// Waits for the turn to change something in it. Objects can be written without it, because that conflicts with
    /// nothing.
    pub(super) async fn turn(&self) -> QueueTurn {
        self.queues.turn(self.common_dir.as_std_path()).await
    }

    /// Returns all branches, in one call.
    pub(super) async fn refs(&self) -> Result<BranchRefs, GitError> {
        let format = "--format=%(objectname) %(refname)";
        let output = self.git.read(&["for-each-ref", format, "refs/heads", "refs/remotes"]).await?;
        let mut refs = BranchRefs::default();
        for line in output.lines() {
            let Some((commit, name)) = line.split_once(' ') else { continue };
            if let Some(branch) = name.strip_prefix("refs/heads/") {
                refs.heads.insert(branch.to_owned(), Commit::new(commit));
            } else if let Some(branch) = name.strip_prefix("refs/remotes/")
                && !branch.ends_with("/HEAD")
            {
                refs.remotes.insert(branch.to_owned(), Commit::new(commit));
            }
        }
        Ok(refs)
    }

    pub(super) async fn remotes(&self) -> Result<Vec<String>, GitError> {
        Ok(self.git.read(&["remote"]).await?.lines().map(str::to_owned).collect())
    }

    pub(super) async fn is_ancestor(&self, older: &Commit, newer: &Commit) -> Result<bool, GitError> {
        if older == newer {
            return Ok(true);
        }
        self.git.asks(&["merge-base", "--is-ancestor", older.as_str(), newer.as_str()]).await
    }

    /// Returns the merge base of two commits, if there is one.
    pub(super) async fn merge_base(&self, one: &Commit, other: &Commit) -> Result<Option<Commit>, GitError> {
        let output = self.git.answer(&["merge-base", one.as_str(), other.as_str()]).await?;
        Ok(output.and_then(|output| output.lines().next().map(Commit::new)))
    }

    /// Returns the subject of a commit's message.
    pub(super) async fn subject(&self, commit: &Commit) -> Result<String, GitError> {
        self.git.read(&["log", "-1", "--no-show-signature", "--format=%s", commit.as_str(), "--"]).await
    }

    /// Makes git keep these commits until they are unpinned, each under its name below `refs/ao/pulls/`.
    pub(super) async fn pin(&self, pins: &[(String, &Commit)]) -> Result<(), GitError> {
        if pins.is_empty() {
            return Ok(());
        }
        let lines = pins.iter().map(|(name, commit)| format!("update refs/ao/pulls/{name} {commit}\n"));
        let input: String = lines.collect();
        let _turn = self.turn().await;
        self.git.write_with(&["update-ref", "--no-deref", "--stdin"], Some(&input)).await?;
        Ok(())
    }

    /// Deletes a pin, by its name below `refs/ao/pulls/`.
    pub(super) async fn unpin(&self, name: &str) -> Result<(), GitError> {
        let _turn = self.turn().await;
        self.git.write(&["update-ref", "--no-deref", "-d", &format!("refs/ao/pulls/{name}")]).await?;
        Ok(())
    }

    /// Lists the numbers of all pull requests that have a pin. Runs git, so it is for background chores only.
    pub(super) async fn pinned(&self) -> Result<BTreeSet<u64>, GitError> {
        let listed = self.git.read(&["for-each-ref", "--format=%(refname)", "refs/ao/pulls/"]).await?;
        let number = |line: &str| line.strip_prefix("refs/ao/pulls/")?.split('/').next()?.parse().ok();
        Ok(listed.lines().filter_map(number).collect())
    }

    /// Unpins many at once.
    pub(super) async fn unpin_all(&self, names: &[String]) -> Result<(), GitError> {
        if names.is_empty() {
            return Ok(());
        }
        let input: String = names.iter().map(|name| format!("delete refs/ao/pulls/{name}\n")).collect();
        let _turn = self.turn().await;
        self.git.write_with(&["update-ref", "--no-deref", "--stdin"], Some(&input)).await?;
        Ok(())
    }

    /// Returns true if git has a commit, reachable or not.
    pub(super) async fn has(&self, commit: &Commit) -> Result<bool, GitError> {
        Ok(self.git.commit(commit.as_str()).await?.is_some())
    }

    /// Returns the checkouts of branches.
    pub(super) async fn checkouts(&self) -> Result<Vec<BranchCheckout>, GitError> {
        let output = self.git.read(&["worktree", "list", "--porcelain", "-z"]).await?;
        let git_dirs = git_dirs(&self.common_dir);
        let mut checkouts = vec![];
        for (place, block) in output.split("\0\0").enumerate() {
            let field = |name: &str| block.split('\0').find_map(|line| line.trim_start().strip_prefix(name));
            let Some(path) = field("worktree ").map(PathBuf::from) else { continue };
            let Some(branch) = field("branch refs/heads/") else { continue };
            // The main one comes first, and its git directory is the shared one.
            let git_dir = match place {
                0 => Some(self.common_dir.clone().into_std_path_buf()),
                _ => git_dirs.iter().find(|(tree, _)| is_same(tree, &path)).map(|(_, dir)| dir.clone()),
            };
            if let Some(git_dir) = git_dir.filter(|_| path.is_dir()) {
                checkouts.push(BranchCheckout { path, branch: branch.to_owned(), git_dir });
            }
        }
        Ok(checkouts)
    }

    /// Returns the checkout that uses a branch: one that is on it, even if its folder is missing for now, or one in
    /// the middle of a rebase or a bisection, which git itself calls detached.
    pub(super) async fn held(&self, branch: &str) -> Result<Option<BranchHold>, GitError> {
        if let Some(held) = self.at_work(branch).await {
            return Ok(Some(held));
        }
        let output = self.git.read(&["worktree", "list", "--porcelain", "-z"]).await?;
        let field = |block: &str, name: &str| {
            block.split('\0').find_map(|line| line.trim_start().strip_prefix(name)).map(str::to_owned)
        };
        let is_on = |block: &&str| field(block, "branch refs/heads/").is_some_and(|on| on == branch);
        let place = output.split("\0\0").find(is_on).and_then(|block| field(block, "worktree "));
        Ok(place.map(|place| BranchHold { how: BranchUse::CheckedOut, place: place.into() }))
    }

    /// Returns the checkout that rebases or bisects a branch.
    pub(super) async fn at_work(&self, branch: &str) -> Option<BranchHold> {
        let (common_dir, branch) = (self.common_dir.clone(), branch.to_owned());
        let find = move || {
            let main = common_dir.as_std_path().to_owned();
            let place = match common_dir.file_name() {
                Some(".git") => main.parent().unwrap_or(&main).to_owned(),
                _ => main.clone(),
            };
            let mut dirs = git_dirs(&common_dir);
            dirs.push((place, main));
            dirs.into_iter().find_map(|(place, dir)| {
                let is_in = |name: &str| {
                    let text = std::fs::read_to_string(dir.join(name)).unwrap_or_default();
                    text.trim_end().strip_prefix("refs/heads/").unwrap_or(text.trim_end()) == branch
                };
                let is_rebased = is_in("rebase-merge/head-name") || is_in("rebase-apply/head-name");
                let how = is_rebased.then_some(BranchUse::Rebased);
                let how = how.or_else(|| is_in("BISECT_START").then_some(BranchUse::Bisected))?;
                Some(BranchHold { how, place })
            })
        };
        tokio::task::spawn_blocking(find).await.unwrap_or_default()
    }

    /// Returns git for a checkout, independent of the checkout's own `.git`, with more settings.
    pub(super) fn git_in(
        &self,
        checkout: &BranchCheckout,
        more: impl IntoIterator<Item = (String, String)>,
    ) -> Git {
        let mut settings = self.settings.as_ref().clone();
        settings.extend(more);
        Git::at(&checkout.path, &Arc::new(settings))
            .with("GIT_DIR", checkout.git_dir.as_os_str())
            .with("GIT_WORK_TREE", checkout.path.as_os_str())
    }
}

/// Returns the git directories of linked worktrees, with their folders.
fn git_dirs(common_dir: &Utf8Path) -> Vec<(PathBuf, PathBuf)> {
    let entries = std::fs::read_dir(common_dir.join("worktrees")).into_iter().flatten().flatten();
    let tree = |dir: PathBuf| {
        let text = std::fs::read_to_string(dir.join("gitdir")).ok()?;
        Some((dir.join(text.trim_end()).parent()?.to_owned(), dir))
    };
    entries.filter_map(|entry| tree(entry.path())).collect()
}

fn is_same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// Returns true for versions before 2.39, which lack `git merge-tree --stdin`.
fn is_too_old(version: &str) -> bool {
    let mut numbers = version.trim_start_matches("git version ").split('.').map(|part| part.parse::<u32>());
    let (major, minor) = (numbers.next(), numbers.next());
    matches!((major, minor), (Some(Ok(major)), Some(Ok(minor))) if (major, minor) < (2, 39))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_git_that_cannot_merge_without_a_checkout_is_too_old() {
        for (version, old) in [
            ("git version 2.38.5", true),
            ("git version 2.39.0", false),
            ("git version 2.47.3 (Apple Git-154)", false),
            ("git version 3.0.1", false),
            ("git version 1.9.1", true),
            ("something else", false),
        ] {
            assert_eq!(is_too_old(version), old, "{version}");
        }
    }
}
