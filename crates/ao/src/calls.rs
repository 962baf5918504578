//! Every call that commands make of the daemon, with its path, in one place.
//!
//! Sessions are named as the user named them; the daemon knows which one is meant, or whom it could be. Which one that is
//! can change as sessions come and end. Who calls more than once asks for the session first and goes on with its id.

pub(crate) mod forge;

use ao_api::client::{Bytes, Client, ClientError, Method};
use ao_api::{
    AdviceList, Budgets, ChannelTest, Cleanup, CleanupOrder, ConfirmedChanges, Daemon, Explanation, HookLog,
    HookLogs, HookTest, HookTested, Hooks, Messages, NewMessage, NewSession, NewToken, NotifyChannel,
    NotifyTest, Output, Plan, Project, Projects, RepositoryTrust, Restore, Resume, Session, Sessions,
    Spawned, Stop, Token, segment,
};
use camino::Utf8Path;
use serde::de::IgnoredAny;
use serde_json::json;

use self::forge::Query;

type Called<T> = Result<T, ClientError>;

pub(crate) const SESSIONS: &str = "/api/sessions";

/// The path of a session, or of something of it: `session("app-3", "/explain")`.
pub(crate) fn session_path(session: &str, rest: &str) -> String {
    format!("{SESSIONS}/{}{rest}", segment(session))
}

/// The body of an answer as it came, for programs.
pub(crate) async fn raw(client: &Client, path: &str) -> Called<Bytes> {
    let answer = client.call(Method::GET, path, None).await?;
    match answer.status {
        200..300 => Ok(answer.body),
        _ => Err(ClientError::Refused(Box::new(answer.problem()))),
    }
}

pub(crate) async fn sessions(client: &Client) -> Called<Sessions> {
    client.get(SESSIONS).await
}

/// The state of a workspace whose folder somebody has deleted. The daemon finds out when it needs the folder.
pub(crate) const DELETED: &str = "deleted";

pub(crate) async fn session(client: &Client, session: &str) -> Called<Session> {
    let mut session: Session = client.get(&session_path(session, "")).await?;
    if let Some(tree) =
        session.workspace.as_mut().filter(|tree| matches!(tree.state.as_str(), "ready" | "kept"))
        && matches!(Utf8Path::new(&tree.path).try_exists(), Ok(false))
    {
        DELETED.clone_into(&mut tree.state);
    }
    Ok(session)
}

pub(crate) async fn plan(client: &Client, project: Option<&str>) -> Called<Plan> {
    client.get(&format!("/api/plan{}", Query::new().maybe("project", project).finish())).await
}

pub(crate) async fn advice(client: &Client, project: Option<&str>) -> Called<AdviceList> {
    client.get(&format!("/api/advice{}", Query::new().maybe("project", project).finish())).await
}

pub(crate) async fn budgets(client: &Client) -> Called<Budgets> {
    client.get("/api/budgets").await
}

pub(crate) async fn explain(client: &Client, session: &str) -> Called<Explanation> {
    client.get(&session_path(session, "/explain")).await
}

pub(crate) async fn messages(client: &Client, session: &str) -> Called<Messages> {
    client.get(&session_path(session, "/messages")).await
}

pub(crate) async fn spawn(client: &Client, wish: &NewSession) -> Called<Spawned> {
    client.post(SESSIONS, wish).await
}

pub(crate) async fn send(
    client: &Client,
    session: &str,
    message: &NewMessage,
) -> Called<ao_api::MessageSent> {
    client.post(&session_path(session, "/message"), message).await
}

pub(crate) async fn answer(client: &Client, session: &str, question: u32, answer: &str) -> Called<Session> {
    let body = ao_api::Answer { answer: answer.to_owned(), question };
    client.post(&session_path(session, "/answer"), &body).await
}

pub(crate) async fn stop(client: &Client, session: &str, order: &Stop) -> Called<()> {
    done(client.post(&session_path(session, "/stop"), order).await)
}

pub(crate) async fn pause(client: &Client, session: &str) -> Called<Session> {
    client.post(&session_path(session, "/pause"), &json!({})).await
}

pub(crate) async fn resume(client: &Client, session: &str, limits: &Resume) -> Called<Session> {
    client.post(&session_path(session, "/resume"), limits).await
}

pub(crate) async fn retry(client: &Client, session: &str) -> Called<Session> {
    client.post(&session_path(session, "/retry"), &json!({})).await
}

pub(crate) async fn restore(client: &Client, session: &str, how: &Restore) -> Called<Session> {
    client.post(&session_path(session, "/restore"), how).await
}

/// A piece of output from an offset on. With `wait`, not before there is more or the program has ended, or it has taken too
/// long.
pub(crate) async fn output(client: &Client, session: &str, from: u64, wait: bool) -> Called<Output> {
    const PIECE: u32 = 1024 * 1024;
    let query = format!("from={from}&limit={PIECE}&wait={wait}");
    client.get(&session_path(session, &format!("/output?{query}"))).await
}

/// The last so many bytes of output, of at most a megabyte.
pub(crate) async fn output_tail(client: &Client, session: &str, bytes: u64) -> Called<Output> {
    client.get(&session_path(session, &format!("/output?tail={bytes}"))).await
}

/// What the set-up commands of a session have put out; nothing if there were none.
pub(crate) async fn setup_log(client: &Client, session: &str) -> Called<String> {
    let log = raw(client, &session_path(session, "/setup-log")).await?;
    Ok(String::from_utf8_lossy(&log).into_owned())
}

pub(crate) async fn cleanup(client: &Client, order: &CleanupOrder) -> Called<Cleanup> {
    client.post("/api/workspaces/cleanup", order).await
}

pub(crate) async fn projects(client: &Client) -> Called<Vec<Project>> {
    let projects: Projects = client.get("/api/projects").await?;
    Ok(projects.projects)
}

pub(crate) async fn daemon(client: &Client) -> Called<Daemon> {
    client.get("/api/daemon").await
}

/// Lets no issue of a project begin without a person's word any more.
pub(crate) async fn stop_work(client: &Client, project: &str) -> Called<Project> {
    client.post(&format!("/api/projects/{}/stop", segment(project)), &serde_json::json!({})).await
}

/// Lets issues of a project begin by themselves again.
pub(crate) async fn start_work(client: &Client, project: &str) -> Called<Project> {
    client.post(&format!("/api/projects/{}/start", segment(project)), &serde_json::json!({})).await
}

/// Takes the repository of a project as it is now.
pub(crate) async fn repository_trust(client: &Client, project: &str) -> Called<RepositoryTrust> {
    client.get(&format!("/api/projects/{}/trust", segment(project))).await
}

pub(crate) async fn trust_project(client: &Client, project: &str) -> Called<ConfirmedChanges> {
    client.post(&format!("/api/projects/{}/trust", segment(project)), &serde_json::json!({})).await
}

/// Forgets a project together with the file that names it.
pub(crate) async fn forget_project(client: &Client, project: &str) -> Called<()> {
    client.delete(&format!("/api/projects/{}", segment(project))).await
}

/// A code for one sign-in of a browser.
pub(crate) async fn sign_in(client: &Client) -> Called<Token> {
    client.post("/api/tokens", &NewToken { sign_in: true, ..NewToken::default() }).await
}

pub(crate) async fn notify_test(client: &Client, test: &NotifyTest) -> Called<Vec<ChannelTest>> {
    client.post("/api/notify/test", test).await
}

pub(crate) async fn notify_list(client: &Client) -> Called<Vec<NotifyChannel>> {
    client.get("/api/notify").await
}

pub(crate) async fn hooks(client: &Client, project: Option<&str>) -> Called<Hooks> {
    let query = project.map(|project| format!("?project={}", segment(project))).unwrap_or_default();
    client.get(&format!("/api/hooks{query}")).await
}

pub(crate) async fn hook_logs(client: &Client) -> Called<HookLogs> {
    client.get("/api/hooks/logs").await
}

pub(crate) async fn hook_log(client: &Client, id: &str) -> Called<HookLog> {
    client.get(&format!("/api/hooks/logs/{}", segment(id))).await
}

pub(crate) async fn hook_test(client: &Client, point: &str, test: &HookTest) -> Called<HookTested> {
    client.post(&format!("/api/hooks/{}/test", segment(point)), test).await
}

/// For calls whose answer says no more than that it was done.
fn done(answer: Called<IgnoredAny>) -> Called<()> {
    answer.map(|IgnoredAny| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_user_types_stays_one_segment_of_the_path() {
        assert_eq!(session_path("app-3", "/explain"), "/api/sessions/app-3/explain");
        assert_eq!(session_path("a/b", ""), "/api/sessions/a%2Fb");
    }
}
