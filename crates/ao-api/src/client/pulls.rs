//! Calls about pull requests.

use super::path::{ItemName, RequestPath};
use super::{ApiCall, Client};
use crate::{
    Claim, CommentEdit, Commented, Diff, MergeDone, MergeWish, NewComment, NewPull, NewReview, PolicyShown,
    PolicyVerdict, PullDetail, PullEdit, PullStateFilter, Pulls, Resolve, Reviewed, ReviewerWish, Spawned,
    segment,
};

const PULLS: &str = "/api/pulls";

/// The pull requests to list. Absent fields do not restrict the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PullQuery {
    pub project: Option<String>,
    /// By default `open`.
    pub state: Option<PullStateFilter>,
    pub session: Option<String>,
    pub head: Option<String>,
    pub base: Option<String>,
    pub author: Option<String>,
    /// Labels separated by commas; a pull request must have all of them.
    pub label: Option<String>,
    pub limit: Option<usize>,
}

impl Client {
    pub fn pulls(&self, query: &PullQuery) -> ApiCall<'_, Pulls> {
        let path = RequestPath::new(PULLS)
            .with("project", query.project.as_ref())
            .with("state", query.state)
            .with("session", query.session.as_ref())
            .with("head", query.head.as_ref())
            .with("base", query.base.as_ref())
            .with("author", query.author.as_ref())
            .with("label", query.label.as_ref())
            .with("limit", query.limit);
        self.get(path)
    }

    /// Opens a pull request, or returns the one that is open for the same branches.
    pub fn open_pull(&self, new: &NewPull) -> ApiCall<'_, PullDetail> {
        self.post(PULLS, new)
    }

    pub fn pull<'a>(&self, pull: impl Into<ItemName<'a>>) -> ApiCall<'_, PullDetail> {
        self.get(pull.into().path(PULLS, ""))
    }

    pub fn edit_pull<'a>(&self, pull: impl Into<ItemName<'a>>, edit: &PullEdit) -> ApiCall<'_, PullDetail> {
        self.patch(pull.into().path(PULLS, ""), edit)
    }

    /// Returns the diff, up to `limit` bytes.
    pub fn pull_diff<'a>(&self, pull: impl Into<ItemName<'a>>, limit: Option<usize>) -> ApiCall<'_, Diff> {
        self.get(pull.into().path(PULLS, "/diff").with("limit", limit))
    }

    pub fn comment_on_pull<'a>(
        &self,
        pull: impl Into<ItemName<'a>>,
        comment: &NewComment,
    ) -> ApiCall<'_, Commented> {
        self.post(pull.into().path(PULLS, "/comments"), comment)
    }

    /// Replaces the text of a comment or a review.
    pub fn edit_comment<'a>(
        &self,
        pull: impl Into<ItemName<'a>>,
        comment: &str,
        body: &str,
    ) -> ApiCall<'_, PullDetail> {
        let rest = format!("/comments/{}", segment(comment));
        self.patch(pull.into().path(PULLS, &rest), &CommentEdit { body: body.to_owned() })
    }

    pub fn review_pull<'a>(
        &self,
        pull: impl Into<ItemName<'a>>,
        review: &NewReview,
    ) -> ApiCall<'_, Reviewed> {
        self.post(pull.into().path(PULLS, "/reviews"), review)
    }

    /// Resolves a review thread, or reopens it.
    pub fn resolve_thread<'a>(
        &self,
        pull: impl Into<ItemName<'a>>,
        thread: &str,
        resolved: bool,
    ) -> ApiCall<'_, PullDetail> {
        let rest = format!("/threads/{}/resolve", segment(thread));
        self.post(pull.into().path(PULLS, &rest), &Resolve { resolved })
    }

    /// Merges it. This can take as long as its checks do.
    pub fn merge_pull<'a>(&self, pull: impl Into<ItemName<'a>>, wish: &MergeWish) -> ApiCall<'_, MergeDone> {
        self.post(pull.into().path(PULLS, "/merge"), wish)
    }

    /// Makes a session the owner of a pull request; removes the owner if `session` is absent.
    pub fn claim_pull<'a>(
        &self,
        pull: impl Into<ItemName<'a>>,
        session: Option<&str>,
    ) -> ApiCall<'_, PullDetail> {
        let claim = Claim { session: session.map(str::to_owned) };
        self.post(pull.into().path(PULLS, "/claim"), &claim)
    }

    /// Starts a session that reviews it.
    pub fn start_reviewer<'a>(
        &self,
        pull: impl Into<ItemName<'a>>,
        wish: &ReviewerWish,
    ) -> ApiCall<'_, Spawned> {
        self.post(pull.into().path(PULLS, "/reviewer"), wish)
    }

    /// Returns the verdict of its project's policy.
    pub fn policy_verdict<'a>(&self, pull: impl Into<ItemName<'a>>) -> ApiCall<'_, PolicyVerdict> {
        self.get(pull.into().path(PULLS, "/policy"))
    }

    /// Returns the policy of a project; of the only one if `project` is absent.
    pub fn policy(&self, project: Option<&str>) -> ApiCall<'_, PolicyShown> {
        self.get(RequestPath::new("/api/policy").with("project", project))
    }
}
