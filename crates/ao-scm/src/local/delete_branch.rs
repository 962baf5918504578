//! Deletion of the branch of a merged pull request.

use super::LocalError;
use super::record::PullRecord;
use super::repository::LocalRepository;

impl LocalRepository {
    /// Deletes the branch, or returns why it stays. Deletes only a local branch that is not checked out and has
    /// nothing but what was merged.
    pub(super) async fn delete_branch(
        &self,
        pull: &PullRecord,
        default_branch: &str,
    ) -> Result<Result<(), String>, LocalError> {
        let branch = &pull.head_branch;
        if branch == default_branch || branch == &pull.base_branch {
            return Ok(Err("others start from it".to_owned()));
        }
        if let Some(remote) = &pull.head_repo {
            return Ok(Err(format!("it is at `{remote}`, and what is there is not ours to take away")));
        }
        let name = format!("refs/heads/{branch}");
        // Keep the merged commit reachable without the branch.
        self.pin(&[(format!("{}/head", pull.number), &pull.head)]).await?;
        let _turn = self.turn().await;
        match self.git.commit(&name).await? {
            None => return Ok(Ok(())),
            Some(tip) if tip != pull.head.as_str() => return Ok(Err(format!("it has moved on to {tip}"))),
            Some(_) => {}
        }
        if let Some(held) = self.held(branch).await? {
            return Ok(Err(format!("it is {held}")));
        }
        // With the old value, so that a concurrent commit keeps the branch.
        let input = format!("delete {name} {}\n", pull.head);
        self.git.write_with(&["update-ref", "--stdin"], Some(&input)).await?;
        Ok(Ok(()))
    }
}
