//! Taking the branch of a merged pull request away.

use super::LocalError;
use super::record::PullRecord;
use super::repository::Repository;

impl Repository {
    /// Takes the branch away, or says why it is left: only one of our own that nobody has in hand, and that has nothing but what
    /// was merged.
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
        // Whatever becomes of the branch, what was merged stays.
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
        // With the old value: a commit that comes this moment keeps it alive.
        let input = format!("delete {name} {}\n", pull.head);
        self.git.write_with(&["update-ref", "--stdin"], Some(&input)).await?;
        Ok(Ok(()))
    }
}
