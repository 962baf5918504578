//! Calls about pull requests.

use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::path::{ItemName, RequestPath};
use super::{ApiCall, Client};
use crate::{
    Claim, CommentEdit, Commented, Diff, MergeDone, NewComment, NewMerge, NewPull, NewReview, NewReviewer,
    PolicyShown, PolicyVerdict, PullDetail, PullEdit, PullStateFilter, Pulls, Resolve, Reviewed, Spawned,
    segment,
};

const PULLS: &str = "/api/pulls";

/// The pull requests to list. Absent fields do not restrict the list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PullQuery {
    /// Only those of this project.
    pub project: Option<String>,
    /// By default `open`.
    #[param(inline)]
    pub state: Option<PullStateFilter>,
    /// Only those of this session.
    pub session: Option<String>,
    /// Only those from this branch.
    pub head: Option<String>,
    /// Only those to this branch.
    pub base: Option<String>,
    pub author: Option<String>,
    /// Only those with all of these labels, separated by commas.
    pub label: Option<String>,
    /// The maximum number; 1,000 by default, at most 10,000.
    pub limit: Option<usize>,
}

impl Client {
    pub fn pulls(&self, query: &PullQuery) -> ApiCall<'_, Pulls> {
        self.get(RequestPath::query(PULLS, query))
    }

    /// Opens a pull request, or returns the one that is open for the same branches.
    pub fn open_pull(&self, new: &NewPull) -> ApiCall<'_, PullDetail> {
        self.post(PULLS, new)
    }

    pub fn pull(&self, pull: &ItemName) -> ApiCall<'_, PullDetail> {
        self.get(pull.path(PULLS, ""))
    }

    pub fn edit_pull(&self, pull: &ItemName, edit: &PullEdit) -> ApiCall<'_, PullDetail> {
        self.patch(pull.path(PULLS, ""), edit)
    }

    /// Returns the diff, up to `limit` bytes.
    pub fn pull_diff(&self, pull: &ItemName, limit: Option<usize>) -> ApiCall<'_, Diff> {
        self.get(pull.path(PULLS, "/diff").with("limit", limit))
    }

    pub fn comment_on_pull(&self, pull: &ItemName, comment: &NewComment) -> ApiCall<'_, Commented> {
        self.post(pull.path(PULLS, "/comments"), comment)
    }

    /// Replaces the text of a comment or a review.
    pub fn edit_comment(&self, pull: &ItemName, comment: &str, body: &str) -> ApiCall<'_, PullDetail> {
        let rest = format!("/comments/{}", segment(comment));
        self.patch(pull.path(PULLS, &rest), &CommentEdit { body: body.to_owned() })
    }

    pub fn review_pull(&self, pull: &ItemName, review: &NewReview) -> ApiCall<'_, Reviewed> {
        self.post(pull.path(PULLS, "/reviews"), review)
    }

    /// Resolves a review thread, or reopens it.
    pub fn resolve_thread(&self, pull: &ItemName, thread: &str, resolved: bool) -> ApiCall<'_, PullDetail> {
        let rest = format!("/threads/{}/resolve", segment(thread));
        self.post(pull.path(PULLS, &rest), &Resolve { resolved })
    }

    /// Merges it. This can take as long as its checks do.
    pub fn merge_pull(&self, pull: &ItemName, request: &NewMerge) -> ApiCall<'_, MergeDone> {
        self.post(pull.path(PULLS, "/merge"), request)
    }

    /// Makes a session the owner of a pull request; removes the owner if `session` is absent.
    pub fn claim_pull(&self, pull: &ItemName, session: Option<&str>) -> ApiCall<'_, PullDetail> {
        let claim = Claim { session: session.map(str::to_owned) };
        self.post(pull.path(PULLS, "/claim"), &claim)
    }

    /// Starts a session that reviews it.
    pub fn start_reviewer(&self, pull: &ItemName, request: &NewReviewer) -> ApiCall<'_, Spawned> {
        self.post(pull.path(PULLS, "/reviewer"), request)
    }

    /// Returns the verdict of its project's policy.
    pub fn policy_verdict(&self, pull: &ItemName) -> ApiCall<'_, PolicyVerdict> {
        self.get(pull.path(PULLS, "/policy"))
    }

    /// Returns the policy of a project; of the only one if `project` is absent.
    pub fn policy(&self, project: Option<&str>) -> ApiCall<'_, PolicyShown> {
        self.get(RequestPath::new("/api/policy").with("project", project))
    }
}
