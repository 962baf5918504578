//! Opening a pull request.

use std::collections::BTreeMap;

use ao_core::pull::{ChangeSize, Mergeable, PullState};
use ao_core::{Commit, PullId};
use ao_ports::{NewPull, ScmError};

use super::base_tip::{BaseTip, BaseTips};
use super::pull_records::PullEntry;
use super::record::PullRecord;
use super::refresh::{MoveKind, MovedPull};
use super::repository::BranchRefs;
use super::{LocalError, LocalScm, validate};

impl LocalScm {
    /// Opens a pull request, or returns the open one for this head and base, or the one that was merged from this
    /// very head: an agent that is resumed after its change has landed proposes it again.
    pub(super) async fn open_pull(&self, new: &NewPull) -> Result<PullId, LocalError> {
        let body = validate::body(&new.body)?;
        let labels = validate::labels(&new.labels)?;
        let (head_branch, base_branch) =
            (validate::branch(&new.head_branch)?, validate::branch(&new.base_branch)?);
        let mut writing = self.pulls.writing().await;
        self.look(&mut writing).await?;
        let refs = writing.refs.clone().unwrap_or_default();
        self.may_be_head(head_branch, base_branch)?;
        let found = self.head_of(&refs, head_branch).await;
        // A pull request whose branch is gone can still be open.
        let head_repo = found.as_ref().ok().and_then(|(_, repo)| repo.as_deref());
        if let Some(open) = self.open_for((head_branch, head_repo), base_branch) {
            return Ok(self.id(open));
        }
        let (head, head_repo) = found?;
        let is_same = |pull: &PullRecord| {
            matches!(pull.state, PullState::Merged { .. })
                && (&pull.head, &pull.head_repo) == (&head, &head_repo)
                && (pull.head_branch.as_str(), pull.base_branch.as_str()) == (head_branch, base_branch)
        };
        if let Some(merged) = self.pulls.newly_done(is_same).await? {
            return Ok(self.id(merged.number));
        }
        let title = match new.title.trim().is_empty() {
            true => validate::title(&self.repository.subject(&head).await?)?,
            false => validate::title(&new.title)?,
        };
        let BaseTip { commit: base, remote: base_remote } = self.tip_of(&refs, base_branch).await?;
        let at = self.now();
        let pull = PullRecord {
            number: writing.next,
            title,
            body,
            draft: new.draft,
            labels,
            author: new.by.clone(),
            session: new.session,
            head_branch: head_branch.to_owned(),
            head_repo,
            head,
            head_author: None,
            head_title: None,
            head_at: 0,
            gone: false,
            base_branch: base_branch.to_owned(),
            base_remote,
            base,
            since: None,
            fork: None,
            state: PullState::Open,
            mergeable: Mergeable::Unknown,
            size: ChangeSize::default(),
            unmeasured: false,
            fresh: None,
            checked: None,
            landing: None,
            merged_by: None,
            reviews: vec![],
            threads: 0,
            comments: 0,
            created_at: at,
            updated_at: at,
        };
        let moved = MovedPull { entry: PullEntry { pull, threads: BTreeMap::new() }, what: MoveKind::Head };
        let entries = self.renew(vec![moved]).await;
        for entry in &entries {
            has_change(&entry.pull)?;
        }
        self.pin_heads(entries.iter()).await?;
        let number = writing.next;
        self.save(&mut writing, entries.clone()).await?;
        self.start_checks(&mut writing, entries).await?;
        Ok(self.id(number))
    }

    /// Returns the number of the open pull request for this head (branch and remote) and base.
    pub(super) fn open_for(&self, head: (&str, Option<&str>), base: &str) -> Option<u64> {
        let open = self.pulls.open();
        let is_same = |pull: &PullRecord| {
            (pull.head_branch.as_str(), pull.head_repo.as_deref()) == head && pull.base_branch == base
        };
        open.iter().find(|entry| is_same(&entry.pull)).map(|entry| entry.pull.number)
    }

    fn may_be_head(&self, head: &str, base: &str) -> Result<(), ScmError> {
        if head == base {
            let why = format!("`{head}` cannot be merged into itself; commit on a branch of its own");
            return Err(ScmError::refused(why));
        }
        if head == self.options.default_branch {
            let why = format!(
                "`{head}` is the default branch, which others start from; commit on a branch of its own"
            );
            return Err(ScmError::refused(why));
        }
        Ok(())
    }

    /// Returns the head of a branch, and the remote that has it if that is neither here nor origin.
    async fn head_of(&self, refs: &BranchRefs, branch: &str) -> Result<(Commit, Option<String>), LocalError> {
        if let Some(head) = refs.head(branch, None) {
            return Ok((head.clone(), None));
        }
        for remote in self.repository.remotes().await? {
            if let Some(head) = refs.head(branch, Some(&remote)) {
                return Ok((head.clone(), Some(remote)));
            }
        }
        Err(no_branch(refs, branch).into())
    }

    /// Returns the tip of a base branch.
    pub(super) async fn tip_of(&self, refs: &BranchRefs, branch: &str) -> Result<BaseTip, LocalError> {
        let tip = BaseTips::default().of(&self.repository, refs, branch).await?;
        tip.ok_or_else(|| no_branch(refs, branch).into())
    }
}

/// Refuses a pull request that changes nothing, or has no history in common with its base.
pub(super) fn has_change(pull: &PullRecord) -> Result<(), ScmError> {
    let (head, base) = (&pull.head_branch, &pull.base_branch);
    if pull.unmeasured {
        let why = format!(
            "the difference between `{head}` and `{base}` cannot be computed; check the repository with `git fsck`"
        );
        return Err(ScmError::refused(why));
    }
    match &pull.fork {
        None => Err(ScmError::refused(format!(
            "`{head}` and `{base}` have no commit in common; start the branch from `{base}`"
        ))),
        Some(fork) if *fork == pull.head => Err(ScmError::refused(format!(
            "`{head}` has no commit that `{base}` does not have; commit the change first"
        ))),
        Some(_) => Ok(()),
    }
}

fn no_branch(refs: &BranchRefs, branch: &str) -> ScmError {
    let alike = validate::alike(branch, refs.heads.keys());
    ScmError::refused(match alike.is_empty() {
        true => format!("there is no branch `{branch}`, neither here nor at a remote"),
        false => format!("there is no branch `{branch}`; there is `{}`", alike.join("`, `")),
    })
}
