//! Chooses the tip of a base branch: the local one, or the remote-tracking one.
//!
//! There is one rule for all callers, because a change must be compared with, judged against and landed on the same
//! commit. Nothing is fetched here.

use crate::{Git, GitError};

/// The side that has the tip of a base branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TipSource {
    /// The local branch contains all commits of the remote one.
    Here,
    Origin,
}

/// The content of a path in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileContent {
    Missing,
    /// A folder, a link or a submodule.
    NotPlain,
    Plain(Vec<u8>),
}

impl Git {
    /// Reads a file from the objects of a commit, and so without any checkout: at most `limit` bytes.
    pub async fn file_at(&self, commit: &str, path: &str, limit: usize) -> Result<FileContent, GitError> {
        let listed =
            self.read(&["--literal-pathspecs", "ls-tree", "-z", "--full-tree", commit, "--", path]).await?;
        // `100644 blob <id>\t.ao/policy.yaml`
        let Some((entry, _)) = listed.split_once('\t') else { return Ok(FileContent::Missing) };
        let words: Vec<&str> = entry.split(' ').collect();
        match words[..] {
            [mode, "blob", id] if mode.starts_with("100") => {
                Ok(FileContent::Plain(self.read_bytes(&["cat-file", "blob", id], limit).await?))
            }
            _ => Ok(FileContent::NotPlain),
        }
    }

    /// Returns the tip of a base branch, if there is such a branch.
    pub async fn base_tip(&self, branch: &str) -> Result<Option<String>, GitError> {
        let here = self.commit(&format!("refs/heads/{branch}")).await?;
        let there = self.commit(&format!("refs/remotes/origin/{branch}")).await?;
        Ok(match self.base_of(here.as_deref(), there.as_deref()).await? {
            Some(TipSource::Here) => here,
            Some(TipSource::Origin) => there,
            None => None,
        })
    }

    /// Compares the local tip and that of origin, and returns the side that contains the other. If they have diverged,
    /// that is origin, because everyone else compares with it.
    pub async fn base_of(
        &self,
        here: Option<&str>,
        there: Option<&str>,
    ) -> Result<Option<TipSource>, GitError> {
        Ok(match (here, there) {
            (None, None) => None,
            (Some(_), None) => Some(TipSource::Here),
            (None, Some(_)) => Some(TipSource::Origin),
            (Some(here), Some(there)) if here == there => Some(TipSource::Here),
            (Some(here), Some(there)) => {
                let has_it = self.asks(&["merge-base", "--is-ancestor", there, here]).await?;
                Some(if has_it { TipSource::Here } else { TipSource::Origin })
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    fn git(dir: &Path, args: &[&str]) -> String {
        let who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.invalid"];
        let output = Command::new("git").args(who).args(args).current_dir(dir).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    #[tokio::test]
    async fn the_tip_is_the_one_that_has_the_other_and_origins_if_neither_has() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        git(dir, &["init", "--quiet", "-b", "elsewhere"]);
        let tree = git(dir, &["write-tree"]);
        let commit = |parent: Option<&str>, message: &str| {
            let parent: Vec<&str> = parent.iter().flat_map(|parent| ["-p", *parent]).collect();
            git(dir, &[&["commit-tree", "-m", message], &parent[..], &[&*tree]].concat())
        };
        let one = commit(None, "one");
        let (two, other) = (commit(Some(&one), "two"), commit(Some(&one), "other"));
        let plain = Git::plain(dir);
        let tip = || plain.base_tip("main");
        assert_eq!(tip().await.unwrap(), None);
        for (here, there, wanted) in [
            (Some(&one), None, &one),
            (None, Some(&one), &one),
            (Some(&one), Some(&two), &two),
            (Some(&two), Some(&one), &two),
            (Some(&two), Some(&other), &other),
        ] {
            for (name, commit) in [("refs/heads/main", here), ("refs/remotes/origin/main", there)] {
                match commit {
                    Some(commit) => git(dir, &["update-ref", name, commit]),
                    None => git(dir, &["update-ref", "-d", name]),
                };
            }
            assert_eq!(tip().await.unwrap().as_ref(), Some(wanted), "{here:?} {there:?}");
        }
    }
}
