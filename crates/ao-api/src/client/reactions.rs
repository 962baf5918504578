//! Calls about reactions, custom events and hooks.

use super::path::RequestPath;
use super::{ApiCall, Client};
use crate::{
    EventTaken, HookLog, HookLogs, HookTest, HookTested, Hooks, NewEvent, ReactionTest, ReactionTested,
    Reactions, segment,
};

const REACTIONS: &str = "/api/reactions";
const HOOKS: &str = "/api/hooks";

impl Client {
    /// Lists the reactions in force, for a project and an agent if they are named.
    pub fn reactions(&self, project: Option<&str>, agent: Option<&str>) -> ApiCall<'_, Reactions> {
        self.get(RequestPath::new(REACTIONS).with("project", project).with("agent", agent))
    }

    /// Returns what a reaction would do, without doing it.
    pub fn test_reaction(&self, test: &ReactionTest) -> ApiCall<'_, ReactionTested> {
        self.post(format!("{REACTIONS}/test"), test)
    }

    /// Reports a custom event.
    pub fn emit(&self, event: &NewEvent) -> ApiCall<'_, EventTaken> {
        self.post("/api/events", event)
    }

    pub fn hooks(&self, project: Option<&str>) -> ApiCall<'_, Hooks> {
        self.get(RequestPath::new(HOOKS).with("project", project))
    }

    pub fn hook_logs(&self) -> ApiCall<'_, HookLogs> {
        self.get(format!("{HOOKS}/logs"))
    }

    pub fn hook_log(&self, id: &str) -> ApiCall<'_, HookLog> {
        self.get(format!("{HOOKS}/logs/{}", segment(id)))
    }

    /// Runs the hooks of a hook point with a sample input.
    pub fn test_hook(&self, point: &str, test: &HookTest) -> ApiCall<'_, HookTested> {
        self.post(format!("{HOOKS}/{}/test", segment(point)), test)
    }
}
