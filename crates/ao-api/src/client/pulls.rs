//! Calls about pull requests.

use super::query::{Meant, Query};
use super::{Client, ClientError};
use crate::{
    Claim, CommentEdit, Commented, Diff, MergeDone, MergeWish, NewComment, NewPull, NewReview, PullDetail,
    PullEdit, Pulls, Resolve, Reviewed, ReviewerWish, Spawned, segment,
};

const PULLS: &str = "/api/pulls";

/// A filter for pull requests. Absent fields match everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullsWanted {
    pub project: Option<String>,
    /// `open` (the default), `merged`, `closed` or `all`.
    pub state: Option<String>,
    pub session: Option<String>,
    pub head: Option<String>,
    pub base: Option<String>,
    pub author: Option<String>,
    /// Labels that all must be present, separated by commas.
    pub label: Option<String>,
    pub limit: Option<usize>,
}

impl PullsWanted {
    /// Returns the URL path of the list, for callers that want the raw response.
    pub fn path(&self) -> String {
        let query = Query::new(PULLS)
            .with("project", self.project.as_ref())
            .with("state", self.state.as_ref())
            .with("session", self.session.as_ref())
            .with("head", self.head.as_ref())
            .with("base", self.base.as_ref())
            .with("author", self.author.as_ref())
            .with("label", self.label.as_ref())
            .with("limit", self.limit);
        query.path().to_owned()
    }
}

impl Client {
    pub async fn pulls(&self, wanted: &PullsWanted) -> Result<Pulls, ClientError> {
        self.get(&wanted.path()).await
    }

    /// Opens a pull request, or returns the open one of the same branches.
    pub async fn open_pull(&self, new: &NewPull) -> Result<PullDetail, ClientError> {
        self.post(PULLS, new).await
    }

    pub async fn pull(&self, pull: impl Into<Meant<'_>>) -> Result<PullDetail, ClientError> {
        self.get(pull.into().at(PULLS, "").path()).await
    }

    pub async fn edit_pull(
        &self,
        pull: impl Into<Meant<'_>>,
        edit: &PullEdit,
    ) -> Result<PullDetail, ClientError> {
        self.patch(pull.into().at(PULLS, "").path(), edit).await
    }

    /// Returns its diff, limited to this number of bytes.
    pub async fn pull_diff(
        &self,
        pull: impl Into<Meant<'_>>,
        limit: Option<usize>,
    ) -> Result<Diff, ClientError> {
        self.get(pull.into().at(PULLS, "/diff").with("limit", limit).path()).await
    }

    pub async fn comment_on_pull(
        &self,
        pull: impl Into<Meant<'_>>,
        comment: &NewComment,
    ) -> Result<Commented, ClientError> {
        self.post(pull.into().at(PULLS, "/comments").path(), comment).await
    }

    /// Replaces the text of a comment or review, which is named by its id.
    pub async fn edit_comment(
        &self,
        pull: impl Into<Meant<'_>>,
        comment: &str,
        body: &str,
    ) -> Result<PullDetail, ClientError> {
        let rest = format!("/comments/{}", segment(comment));
        let edit = CommentEdit { body: body.to_owned() };
        self.patch(pull.into().at(PULLS, &rest).path(), &edit).await
    }

    pub async fn review_pull(
        &self,
        pull: impl Into<Meant<'_>>,
        review: &NewReview,
    ) -> Result<Reviewed, ClientError> {
        self.post(pull.into().at(PULLS, "/reviews").path(), review).await
    }

    /// Resolves a review thread, or opens it again.
    pub async fn resolve_thread(
        &self,
        pull: impl Into<Meant<'_>>,
        thread: &str,
        resolved: bool,
    ) -> Result<PullDetail, ClientError> {
        let rest = format!("/threads/{}/resolve", segment(thread));
        self.post(pull.into().at(PULLS, &rest).path(), &Resolve { resolved }).await
    }

    /// Merges it. This can take as long as its checks.
    pub async fn merge_pull(
        &self,
        pull: impl Into<Meant<'_>>,
        wish: &MergeWish,
    ) -> Result<MergeDone, ClientError> {
        self.post(pull.into().at(PULLS, "/merge").path(), wish).await
    }

    /// Assigns it to a session, or to none.
    pub async fn claim_pull(
        &self,
        pull: impl Into<Meant<'_>>,
        session: Option<&str>,
    ) -> Result<PullDetail, ClientError> {
        let claim = Claim { session: session.map(str::to_owned) };
        self.post(pull.into().at(PULLS, "/claim").path(), &claim).await
    }

    /// Starts a session that reviews it.
    pub async fn start_reviewer(
        &self,
        pull: impl Into<Meant<'_>>,
        wish: &ReviewerWish,
    ) -> Result<Spawned, ClientError> {
        self.post(pull.into().at(PULLS, "/reviewer").path(), wish).await
    }
}
