//! Editing a pull request, closing it and opening it again.

use ao_core::PullId;
use ao_core::pull::PullState;
use ao_ports::{PullEdit, ScmError};

use super::base_tip::BaseTip;
use super::open::has_change;
use super::pull_records::{PullEntry, WriteAccess};
use super::refresh::{MoveKind, MovedPull};
use super::repository::BranchRefs;
use super::{LocalError, LocalScm, validate};

impl LocalScm {
    pub(super) async fn edit_pull(&self, pull: &PullId, edit: &PullEdit) -> Result<(), LocalError> {
        let mut writing = self.pulls.writing().await;
        self.look(&mut writing).await?;
        let refs = writing.refs.clone().unwrap_or_default();
        let before = self.entry(pull).await?;
        let mut entry = PullEntry::clone(&before);
        may_be_edited(pull, &entry, edit)?;
        self.edit_words(&mut entry, edit)?;
        let mut moved = None;
        if let Some(base) = &edit.base_branch {
            let base = validate::branch(base)?;
            if base != entry.pull.base_branch {
                self.retarget(&mut entry, base, &refs).await?;
                moved = Some(MoveKind::Target);
            }
        }
        match edit.closed {
            Some(true) if entry.pull.is_open() => {
                entry.pull.state = PullState::Closed;
                return self.end(&mut writing, entry, &refs).await;
            }
            Some(false) if !entry.pull.is_open() => {
                self.reopen(&mut entry, &refs).await?;
                moved = Some(MoveKind::Head);
            }
            _ => {}
        }
        if entry == *before {
            return Ok(());
        }
        entry.pull.updated_at = self.now();
        self.keep_edited(&mut writing, entry, moved).await
    }

    async fn keep_edited(
        &self,
        writing: &mut WriteAccess,
        entry: PullEntry,
        moved: Option<MoveKind>,
    ) -> Result<(), LocalError> {
        let Some(what) = moved else { return self.save(writing, vec![entry]).await };
        let entries = self.renew(vec![MovedPull { entry, what }]).await;
        for entry in &entries {
            has_change(&entry.pull)?;
        }
        self.pin_heads(entries.iter()).await?;
        self.save(writing, entries.clone()).await?;
        self.start_checks(writing, entries).await
    }

    fn edit_words(&self, entry: &mut PullEntry, edit: &PullEdit) -> Result<(), ScmError> {
        let pull = &mut entry.pull;
        if let Some(title) = &edit.title {
            pull.title = validate::title(title)?;
        }
        if let Some(body) = &edit.body {
            pull.body = validate::body(body)?;
        }
        if let Some(draft) = edit.draft {
            pull.draft = draft;
        }
        let mut labels = pull.labels.clone();
        labels.extend(edit.add_labels.iter().cloned());
        labels.retain(|label| !edit.remove_labels.contains(label));
        pull.labels = validate::labels(&labels)?;
        Ok(())
    }

    async fn retarget(&self, entry: &mut PullEntry, base: &str, refs: &BranchRefs) -> Result<(), LocalError> {
        let head = (entry.pull.head_branch.as_str(), entry.pull.head_repo.as_deref());
        if head == (base, None) {
            let why = format!("`{base}` is its own branch; choose another one to merge it into");
            return Err(ScmError::refused(why).into());
        }
        // This one still has another base, so any match is a different pull request.
        if let Some(other) = self.open_for(head, base).map(|number| self.id(number)) {
            let why = format!("`{other}` is open for this branch and `{base}` already");
            return Err(ScmError::refused(why).into());
        }
        let BaseTip { commit, remote } = self.tip_of(refs, base).await?;
        entry.pull.base_branch = base.to_owned();
        (entry.pull.base, entry.pull.base_remote) = (commit, remote);
        Ok(())
    }

    async fn reopen(&self, entry: &mut PullEntry, refs: &BranchRefs) -> Result<(), LocalError> {
        let pull = &mut entry.pull;
        let head = (pull.head_branch.as_str(), pull.head_repo.as_deref());
        if let Some(other) = self.open_for(head, &pull.base_branch) {
            let why = format!("`{}` is open for the same branches; go on there", self.id(other));
            return Err(ScmError::refused(why).into());
        }
        let Some(head) = refs.head(&pull.head_branch, pull.head_repo.as_deref()) else {
            let why = format!(
                "its branch `{}` is gone; bring it back with `git branch {} {}`",
                pull.head_branch, pull.head_branch, pull.head
            );
            return Err(ScmError::refused(why).into());
        };
        if pull.head != *head {
            (pull.head_author, pull.head_title) = (None, None);
        }
        pull.head = head.clone();
        let BaseTip { commit, remote } = self.tip_of(refs, &pull.base_branch).await?;
        (pull.base, pull.base_remote, pull.gone) = (commit, remote, false);
        (pull.state, pull.checked) = (PullState::Open, None);
        Ok(())
    }
}

/// Title and body can be edited at any time. Settings for merging are fixed once the pull request is over.
fn may_be_edited(pull: &PullId, entry: &PullEntry, edit: &PullEdit) -> Result<(), ScmError> {
    let is_about_merging = edit.base_branch.is_some() || edit.draft.is_some();
    match &entry.pull.state {
        PullState::Merged { .. } if is_about_merging || edit.closed.is_some() => {
            Err(ScmError::refused(format!("`{pull}` is merged, and stays so")))
        }
        PullState::Closed if is_about_merging && edit.closed != Some(false) => {
            Err(ScmError::refused(format!("`{pull}` is closed; open it again first")))
        }
        _ => Ok(()),
    }
}
