//! The calls about issues, pull requests and checks.
//!
//! Names are passed on as they were typed: `7`, `!7`, `my-app!7`, `42`, `#42`, `my-app#42`. Which project is meant goes along
//! where the name does not say it.

use ao_api::client::{Bytes, Client, ClientError, Method};
use ao_api::{
    CheckLog, CheckRun, CheckRuns, CheckWish, Checks, Claim, CommentEdit, Commented, Conflict, Conflicts,
    Diff, Flakes, ImportOrder, Imported, Issue, IssueEdit, Issues, MergeDone, MergeQueue, MergeQueues,
    MergeWish, NewComment, NewIssue, NewIssueComment, NewPull, NewReview, Pull, PullDetail, PullEdit, Pulls,
    QueuePause, QueuePriority, QueueWish, Resolve, Reviewed, ReviewerWish, Spawned, segment,
};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::Called;

const ISSUES: &str = "/api/issues";
const PULLS: &str = "/api/pulls";
const CHECKS: &str = "/api/checks";
const QUEUE: &str = "/api/queue";

/// What was answered: as we read it, and as it came, for programs.
#[derive(Debug)]
pub(crate) struct Answered<T> {
    pub(crate) value: T,
    body: Bytes,
}

impl<T> Answered<T> {
    /// The answer as it came; `null` if there was nothing to say.
    pub(crate) fn raw(&self) -> &[u8] {
        if self.body.is_empty() { b"null" } else { &self.body }
    }
}

async fn ask<T: DeserializeOwned>(
    client: &Client,
    method: Method,
    path: &str,
    body: Option<&impl Serialize>,
) -> Called<Answered<T>> {
    let body = body.map(serde_json::to_vec).transpose().map_err(ClientError::Unreadable)?;
    let answer = client.call(method, path, body).await?;
    Ok(Answered { value: answer.json()?, body: answer.body })
}

async fn get<T: DeserializeOwned>(client: &Client, path: &str) -> Called<Answered<T>> {
    ask(client, Method::GET, path, None::<&()>).await
}

async fn post<T: DeserializeOwned>(
    client: &Client,
    path: &str,
    body: &impl Serialize,
) -> Called<Answered<T>> {
    ask(client, Method::POST, path, Some(body)).await
}

/// A name as it was typed, and the project it is looked for in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named<'a> {
    pub(crate) name: &'a str,
    pub(crate) project: Option<&'a str>,
}

impl<'a> Named<'a> {
    /// A name that says itself which project is meant, such as one that the daemon has told.
    pub(crate) fn whole(name: &'a str) -> Named<'a> {
        Named { name, project: None }
    }

    fn path(&self, of: &str, rest: &str) -> String {
        let query = Query::new().maybe("project", self.project).finish();
        format!("{of}/{}{rest}{query}", segment(self.name))
    }
}

/// Whether a name says which project it is of: `my-app!7`, `my-app#42`.
pub(crate) fn says_project(name: &str) -> bool {
    name.find(['!', '#']).is_some_and(|at| at > 0)
}

/// The parts of a path behind its question mark. What is absent is left out.
#[derive(Debug, Default)]
pub(crate) struct Query(String);

impl Query {
    pub(crate) fn new() -> Query {
        Query::default()
    }

    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: &str) -> Query {
        self.0.push(if self.0.is_empty() { '?' } else { '&' });
        self.0.push_str(name);
        self.0.push('=');
        self.0.push_str(&segment(value));
        self
    }

    #[must_use]
    pub(crate) fn maybe(self, name: &str, value: Option<&str>) -> Query {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(crate) fn finish(self) -> String {
        self.0
    }
}

pub(crate) async fn issues(client: &Client, query: Query) -> Called<Issues> {
    client.get(&format!("{ISSUES}{}", query.finish())).await
}

pub(crate) async fn issue(client: &Client, issue: Named<'_>) -> Called<Answered<Issue>> {
    get(client, &issue.path(ISSUES, "")).await
}

pub(crate) async fn add_issue(client: &Client, new: &NewIssue) -> Called<Answered<Issue>> {
    post(client, ISSUES, new).await
}

pub(crate) async fn edit_issue(
    client: &Client,
    issue: Named<'_>,
    edit: &IssueEdit,
) -> Called<Answered<Issue>> {
    ask(client, Method::PATCH, &issue.path(ISSUES, ""), Some(edit)).await
}

pub(crate) async fn comment_on_issue(
    client: &Client,
    issue: Named<'_>,
    comment: &NewIssueComment,
) -> Called<Answered<IgnoredAny>> {
    post(client, &issue.path(ISSUES, "/comments"), comment).await
}

pub(crate) async fn import_issues(client: &Client, order: &ImportOrder) -> Called<Answered<Imported>> {
    post(client, &format!("{ISSUES}/import"), order).await
}

pub(crate) async fn pulls(client: &Client, query: Query) -> Called<Pulls> {
    client.get(&format!("{PULLS}{}", query.finish())).await
}

pub(crate) async fn pull(client: &Client, pull: Named<'_>) -> Called<Answered<PullDetail>> {
    get(client, &pull.path(PULLS, "")).await
}

pub(crate) async fn open_pull(client: &Client, new: &NewPull) -> Called<Answered<Pull>> {
    post(client, PULLS, new).await
}

pub(crate) async fn edit_pull(client: &Client, pull: Named<'_>, edit: &PullEdit) -> Called<Answered<Pull>> {
    ask(client, Method::PATCH, &pull.path(PULLS, ""), Some(edit)).await
}

pub(crate) async fn diff(client: &Client, pull: Named<'_>) -> Called<Answered<Diff>> {
    // As much of it as the daemon gives.
    let path = pull.path(PULLS, "/diff");
    let mark = if path.contains('?') { '&' } else { '?' };
    get(client, &format!("{path}{mark}limit={}", 16 * 1024 * 1024)).await
}

pub(crate) async fn comment_on_pull(
    client: &Client,
    pull: Named<'_>,
    comment: &NewComment,
) -> Called<Answered<Commented>> {
    post(client, &pull.path(PULLS, "/comments"), comment).await
}

pub(crate) async fn edit_comment(
    client: &Client,
    pull: Named<'_>,
    comment: &str,
    edit: &CommentEdit,
) -> Called<Answered<IgnoredAny>> {
    let rest = format!("/comments/{}", segment(comment));
    ask(client, Method::PATCH, &pull.path(PULLS, &rest), Some(edit)).await
}

pub(crate) async fn review(
    client: &Client,
    pull: Named<'_>,
    review: &NewReview,
) -> Called<Answered<Reviewed>> {
    post(client, &pull.path(PULLS, "/reviews"), review).await
}

/// What is going to land, in one project or in all.
pub(crate) async fn queues(client: &Client, project: Option<&str>) -> Called<Answered<MergeQueues>> {
    let query = Query::new().maybe("project", project).finish();
    get(client, &format!("{QUEUE}{query}")).await
}

pub(crate) async fn enqueue(client: &Client, wish: &QueueWish) -> Called<Answered<MergeQueue>> {
    post(client, QUEUE, wish).await
}

pub(crate) async fn prioritize(
    client: &Client,
    pull: Named<'_>,
    priority: i32,
) -> Called<Answered<MergeQueue>> {
    ask(client, Method::PATCH, &pull.path(QUEUE, ""), Some(&QueuePriority { priority })).await
}

pub(crate) async fn dequeue(client: &Client, pull: Named<'_>) -> Called<Answered<MergeQueue>> {
    ask(client, Method::DELETE, &pull.path(QUEUE, ""), None::<&()>).await
}

/// Pauses a queue, or has it go on.
pub(crate) async fn hold_queue(
    client: &Client,
    order: &QueuePause,
    paused: bool,
) -> Called<Answered<MergeQueue>> {
    let word = if paused { "pause" } else { "resume" };
    post(client, &format!("{QUEUE}/{word}"), order).await
}

pub(crate) async fn merge(client: &Client, pull: Named<'_>, wish: &MergeWish) -> Called<Answered<MergeDone>> {
    post(client, &pull.path(PULLS, "/merge"), wish).await
}

pub(crate) async fn claim(client: &Client, pull: Named<'_>, claim: &Claim) -> Called<Answered<Pull>> {
    post(client, &pull.path(PULLS, "/claim"), claim).await
}

pub(crate) async fn reviewer(
    client: &Client,
    pull: Named<'_>,
    wish: &ReviewerWish,
) -> Called<Answered<Spawned>> {
    post(client, &pull.path(PULLS, "/reviewer"), wish).await
}

pub(crate) async fn resolve(
    client: &Client,
    pull: Named<'_>,
    thread: &str,
    resolved: bool,
) -> Called<Answered<IgnoredAny>> {
    let rest = format!("/threads/{}/resolve", segment(thread));
    post(client, &pull.path(PULLS, &rest), &Resolve { resolved }).await
}

pub(crate) async fn check_runs(client: &Client, query: Query) -> Called<CheckRuns> {
    client.get(&format!("{CHECKS}{}", query.finish())).await
}

pub(crate) async fn run_checks(client: &Client, wish: &CheckWish) -> Called<Answered<CheckRuns>> {
    post(client, CHECKS, wish).await
}

pub(crate) async fn check_run(client: &Client, run: &str) -> Called<CheckRun> {
    client.get(&format!("{CHECKS}/{}", segment(run))).await
}

/// A piece of the output of a run from an offset on. With `wait`, not before there is more or the run is over, or it has
/// taken too long.
pub(crate) async fn check_log(client: &Client, run: &str, from: u64, wait: bool) -> Called<CheckLog> {
    const PIECE: u32 = 1024 * 1024;
    client.get(&format!("{CHECKS}/{}/log?from={from}&limit={PIECE}&wait={wait}", segment(run))).await
}

pub(crate) async fn conflicts(client: &Client, project: &str) -> Called<Conflicts> {
    client.conflicts(project).await
}

pub(crate) async fn conflict(client: &Client, project: &str, a: &str, b: &str) -> Called<Conflict> {
    client.conflict(project, a, b).await
}

pub(crate) async fn flakes(client: &Client, project: &str) -> Called<Flakes> {
    client.get(&format!("/api/projects/{}/flakes", segment(project))).await
}

pub(crate) async fn checks(client: &Client, project: &str) -> Called<Checks> {
    client.get(&format!("/api/projects/{}/checks", segment(project))).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_along_as_typed_with_their_project() {
        let path = |name, project| Named { name, project }.path(PULLS, "/diff");
        assert_eq!(path("7", None), "/api/pulls/7/diff");
        assert_eq!(path("!7", Some("my app")), "/api/pulls/%217/diff?project=my%20app");
        assert_eq!(path("my-app!7", None), "/api/pulls/my-app%217/diff");
        assert_eq!(path("../x", None), "/api/pulls/..%2Fx/diff");
        assert!(says_project("my-app!7") && says_project("my-app#7"));
        assert!(!says_project("!7") && !says_project("#7") && !says_project("7"));
    }

    #[test]
    fn a_query_has_only_what_was_said() {
        let query = Query::new().with("state", "open").maybe("author", None).maybe("label", Some("a&b,c"));
        assert_eq!(query.finish(), "?state=open&label=a%26b%2Cc");
        assert_eq!(Query::new().finish(), "");
    }
}
