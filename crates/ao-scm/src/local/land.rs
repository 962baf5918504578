//! Moves the base branch onto the merged commit: one ref update, or a fast-forward of the checkout that is on it.

use ao_core::Commit;
use ao_git::GitError;

use super::base_tip::BaseTip;
use super::repository::{BranchCheckout, BranchUse, LocalRepository};

/// The reason why a merge did not land. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotLanded {
    /// The current base tip, if it has moved.
    pub(super) tip: Option<Commit>,
    pub(super) why: String,
    /// True if the base or its checkout blocks every merge, not only this change.
    pub(super) in_the_way: bool,
}

impl LocalRepository {
    /// Moves the local base branch to `commit`, a descendant of `tip`. Pushes nothing.
    pub(super) async fn land(
        &self,
        branch: &str,
        tip: &BaseTip,
        commit: &Commit,
        message: &str,
    ) -> Result<Result<(), NotLanded>, GitError> {
        let _turn = self.turn().await;
        let name = format!("refs/heads/{branch}");
        let here = self.git.commit(&name).await?.map(|here| Commit::new(&here));
        let not_landed = |tip: Option<&Commit>, why: String| {
            Ok(Err(NotLanded { tip: tip.cloned(), why, in_the_way: tip.is_none() }))
        };
        if let Some(here) = &here {
            if tip.remote.is_none() && *here != tip.commit {
                return not_landed(Some(here), format!("`{branch}` has moved to {here}"));
            }
            if here == commit {
                return Ok(Ok(()));
            }
            if *here != tip.commit && !self.is_ancestor(here, commit).await? {
                return not_landed(
                    None,
                    format!(
                        "`{branch}` here and at origin have gone apart; bring them together first, with `git pull`"
                    ),
                );
            }
        }
        // A rebase ends by overwriting the branch, including anything that landed meanwhile.
        if let Some(held) = self.at_work(branch).await.filter(|held| held.how == BranchUse::Rebased) {
            return not_landed(None, format!("`{branch}` is {held}; finish that, and merge again"));
        }
        let checkouts = self.checkouts().await?;
        if let Some(checkout) = checkouts.iter().find(|checkout| checkout.branch == branch) {
            let forwarded = self.forward(checkout, commit).await;
            // Git may have moved something else, or nothing: only the branch itself is proof.
            let now = self.git.commit(&name).await?.map(|now| Commit::new(&now));
            if let Some(now) = &now
                && self.is_ancestor(commit, now).await?
            {
                return Ok(Ok(()));
            }
            if now != here {
                return not_landed(now.as_ref(), format!("`{branch}` has moved meanwhile"));
            }
            let Ok(Ok(())) = forwarded else { return forwarded };
            let place = checkout.path.display();
            let why = format!(
                "`{branch}` has not moved with its checkout in `{place}`; see which branch that is on, and merge again"
            );
            return not_landed(None, why);
        }
        let input = match &here {
            Some(here) => format!("update {name} {commit} {here}\n"),
            None => format!("create {name} {commit}\n"),
        };
        match self.git.write_with(&["update-ref", "-m", message, "--stdin"], Some(&input)).await {
            Ok(_) => Ok(Ok(())),
            Err(err) => {
                let now = self.git.commit(&name).await?.map(|now| Commit::new(&now));
                match now == here {
                    true => Err(err),
                    false => not_landed(now.as_ref(), format!("`{branch}` has moved meanwhile")),
                }
            }
        }
    }

    /// Fast-forwards a checkout. Git itself refuses to overwrite changes, and leaves everything as it was.
    async fn forward(
        &self,
        checkout: &BranchCheckout,
        commit: &Commit,
    ) -> Result<Result<(), NotLanded>, GitError> {
        // These are the user's files, so files in LFS are downloaded too.
        let options = [
            (format!("branch.{}.mergeOptions", checkout.branch), String::new()),
            // Every commit of an agent triggers maintenance already.
            ("maintenance.auto".to_owned(), "false".to_owned()),
        ];
        let git = self.git_in(checkout, options).with("GIT_LFS_SKIP_SMUDGE", "0");
        let args = [
            "merge",
            "--ff-only",
            "--no-squash",
            "--quiet",
            "--no-stat",
            "--no-autostash",
            "--no-verify-signatures",
            "--no-overwrite-ignore",
            commit.as_str(),
        ];
        let Err(err) = git.write(&args).await else { return Ok(Ok(())) };
        let stderr = err.stderr();
        let files: Vec<&str> =
            stderr.lines().filter_map(|line| line.strip_prefix('\t')).map(str::trim).collect();
        let (place, branch) = (checkout.path.display(), &checkout.branch);
        let why = if !files.is_empty() {
            let listed = files.iter().take(10).copied().collect::<Vec<_>>().join(", ");
            let more =
                if files.len() > 10 { format!(" and {} more", files.len() - 10) } else { String::new() };
            format!(
                "`{branch}` is checked out in `{place}`, where these files have changes that a merge would overwrite: \
                 {listed}{more}; commit, stash or move them, and merge again"
            )
        } else if stderr.contains("MERGE_HEAD")
            || stderr.contains("unmerged")
            || stderr.contains("CHERRY_PICK_HEAD")
        {
            format!(
                "`{branch}` is checked out in `{place}`, where another merge is not over; finish it, and merge again"
            )
        } else {
            return Err(err);
        };
        Ok(Err(NotLanded { tip: None, why, in_the_way: true }))
    }
}
