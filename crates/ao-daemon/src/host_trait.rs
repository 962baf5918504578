//! What the API needs of the daemon beside its engine: the configuration, the terminals, the disk. The binary implements it.
//!
//! Everything here is given whole: names are resolved and rights are checked before it is called.

use std::sync::Arc;

use ao_api::{
    ChannelTest, Checks, Cleanup, CleanupOrder, ConfigShown, Conflict, Conflicts, Daemon, HookLog,
    HookTested, Hooks, ImportOrder, Imported, NewProject, NewSession, NotifyChannel, NotifyTest, Output,
    PolicyShown, Problem, Project, Reloaded, ReviewerWish,
};
use ao_core::hook::HookPoint;
use ao_core::input::SpawnRequest;
use ao_core::pull::{AuthorFacts, PullFacts};
use ao_core::session::Session;
use ao_core::{Attempt, ProjectId, PullId, SessionId};
use ao_ports::{PullDetail, Scm, TerminalView, Tracker, ViewOptions};
use async_trait::async_trait;

/// The daemon around the engine.
#[async_trait]
pub trait Host: Send + Sync + 'static {
    /// What is told of the daemon. What the engine knows better (sessions, the log's end) is filled in by the caller.
    fn about(&self) -> Daemon;

    /// Makes a whole order of a wish: what the wish leaves open is as the configuration says.
    async fn order(&self, wish: &NewSession) -> Result<SpawnRequest, Problem>;

    /// The runtime in which a session that is restored goes on: the one that is asked for, or the one that is configured now.
    async fn runtime_of(&self, session: &Session, asked_for: Option<&str>) -> Result<String, Problem>;

    /// The projects that the configuration names. How many sessions are live is filled in by the caller.
    fn projects(&self) -> Vec<Project>;

    /// Takes the projects of a configuration file into care, and remembers the file. Returns the ids of its projects.
    async fn add(&self, project: &NewProject) -> Result<Vec<String>, Problem>;

    /// Forgets a project. Nothing is deleted from disk; a project with live sessions is refused.
    async fn remove(&self, project: &str) -> Result<(), Problem>;

    /// Reads the configuration again. If anything is wrong with it, the old one stays in force.
    async fn reload(&self) -> Result<Reloaded, Problem>;

    /// The configuration in force.
    fn config(&self) -> ConfigShown;

    /// What the program of a session has put out from an offset on, at most so many bytes. With `wait`, not before there is
    /// something, or nothing more will come; can be dropped then. Known secrets are masked.
    ///
    /// An offset beyond the end stands for the end: `u64::MAX` with a limit of 0 tells by `next` where that is.
    async fn output(&self, session: &Session, from: u64, limit: u32, wait: bool) -> Result<Output, Problem>;

    /// What the set-up commands of a session have put out; nothing if there were none.
    async fn setup_log(&self, session: &Session) -> Result<String, Problem>;

    /// Opens a view of a session's terminal.
    async fn attach(&self, session: &Session, options: ViewOptions)
    -> Result<Box<dyn TerminalView>, Problem>;

    /// Removes, or cleans, what the deletion gate allows; only reports with `dry_run`. `order.session` is an id here.
    async fn cleanup(&self, order: &CleanupOrder) -> Result<Cleanup, Problem>;

    /// Sends a test notice on the channels, or on all, each on its own.
    async fn notify_test(&self, test: &NotifyTest) -> Result<Vec<ChannelTest>, Problem>;

    /// The channels by which people are told things, and how they fare.
    async fn notify_list(&self) -> Result<Vec<NotifyChannel>, Problem>;

    /// The session that a token was given to, and the start of its agent, if it was given to one. Whether that is its
    /// present one is found out by the caller.
    fn session_of(&self, token: &str) -> Option<(SessionId, Attempt)>;

    /// The token of a session, for its owner to hand on; nothing while it has no agent that one could be for.
    fn token_for(&self, session: &Session) -> Option<String>;

    // ── forges and trackers ──

    /// The project that is meant: the one that is named, or the only one.
    fn project(&self, named: Option<&str>) -> Result<ProjectId, Problem> {
        Err(Problem::new(
            404,
            "unknown-project",
            format!("there is no project `{}`", named.unwrap_or_default()),
        ))
    }

    /// The tool that a specialist uses, if that is what somebody named.
    fn tool_of(&self, agent: &str) -> Option<String> {
        let _ = agent;
        None
    }

    /// The branch that a project's work goes back to.
    fn default_branch(&self, project: &ProjectId) -> Option<String> {
        let _ = project;
        None
    }

    /// Where the pull requests of a project live.
    fn scm(&self, project: &ProjectId) -> Result<Arc<dyn Scm>, Problem> {
        Err(Problem::new(422, "no-scm", format!("the project `{project}` has no forge")))
    }

    /// Looks at pull requests of one project, and returns what was seen once the engine knows it. Whoever else looks at them
    /// waits meanwhile: of two looks at once, the earlier one could arrive last and be believed.
    async fn see(&self, pulls: &[PullId]) -> Result<Vec<(PullId, PullFacts)>, Problem> {
        let named = pulls.first().map(ToString::to_string).unwrap_or_default();
        Err(Problem::new(422, "no-scm", format!("there is no forge to look at `{named}`")))
    }

    /// Where the issues of a project live.
    fn tracker(&self, project: &ProjectId) -> Result<Arc<dyn Tracker>, Problem> {
        Err(Problem::new(422, "no-tracker", format!("the project `{project}` has no tracker")))
    }

    /// The checks of a project: those that are configured, and if there are none what its files suggest.
    async fn checks(&self, project: &ProjectId) -> Result<Checks, Problem> {
        let _ = project;
        Ok(Checks { checks: vec![], proposed: vec![] })
    }

    /// Which branches of a project will not merge with each other, as it is now.
    async fn conflicts(&self, project: &ProjectId) -> Result<Conflicts, Problem> {
        Err(Problem::new(422, "not-compared", format!("nobody compares the branches of `{project}`")))
    }

    /// What two of them do not agree on, with both versions of each place.
    async fn conflict(&self, project: &ProjectId, a: &str, b: &str) -> Result<Conflict, Problem> {
        let _ = (a, b);
        Err(Problem::new(422, "not-compared", format!("nobody compares the branches of `{project}`")))
    }

    /// Brings issues in from a text, each once however often the same text comes.
    async fn import(
        &self,
        project: &ProjectId,
        by: &AuthorFacts,
        order: &ImportOrder,
    ) -> Result<Imported, Problem> {
        let _ = (by, order);
        Err(Problem::new(422, "no-tracker", format!("the project `{project}` has no tracker")))
    }

    /// The order for a reviewer of a pull request, at the head that it has now.
    async fn reviewer(&self, pull: &PullDetail, wish: &ReviewerWish) -> Result<SpawnRequest, Problem> {
        let _ = wish;
        Err(Problem::new(422, "no-reviewer", format!("nobody can review `{}`", pull.pull)))
    }

    /// Looks where the sessions of a project stand now, so that whatever is decided next goes by that.
    async fn see_where_sessions_stand(&self, project: &ProjectId) {
        let _ = project;
    }

    // ── hooks ──

    /// The policy of a project, as it was last read.
    async fn policy(&self, project: &ProjectId) -> Result<PolicyShown, Problem> {
        let _ = project;
        Err(Problem::new(501, "unsupported", "policies are not read here"))
    }

    /// The hooks of one project, or of all.
    async fn hooks(&self, project: Option<&ProjectId>) -> Result<Hooks, Problem> {
        let _ = project;
        Ok(Hooks { hooks: vec![] })
    }

    /// The logs of hooks, the newest first, without what is in them.
    async fn hook_logs(&self) -> Result<Vec<HookLog>, Problem> {
        Ok(vec![])
    }

    /// One of them by its id, or any part of it that only one has, with what is in it.
    async fn hook_log(&self, id: &str) -> Result<HookLog, Problem> {
        Err(Problem::new(404, "unknown-log", format!("there is no log `{id}` of a hook")))
    }

    /// Runs the hooks of a point now, with a document about a session if one is named. Nothing else comes of it.
    async fn hook_test(
        &self,
        project: &ProjectId,
        point: HookPoint,
        session: Option<SessionId>,
    ) -> Result<HookTested, Problem> {
        let _ = (project, point, session);
        Ok(HookTested { results: vec![], document: String::new() })
    }

    /// Wants the daemon to end; returns at once. Agents go on.
    fn stop(&self);
}
