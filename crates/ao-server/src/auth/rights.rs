//! Access rights of all routes. A route that is not in this table is denied to all.

use axum::http::Method;

use crate::page;

/// The callers that may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Right {
    /// Every caller: the route reveals nothing, or has its own authentication.
    Public,
    /// Every caller with a token.
    Known,
    /// An agent for its own session, and an orchestrator for the sessions of its project.
    Own,
    /// An agent within its project. The rights depend on the subject, so the handler checks them: see
    /// [`AgentAct`](super::AgentAct).
    Forge,
    /// An orchestrator for its project, and the owner.
    Project,
    Owner,
}

/// The routes of the API by method and path.
const RULES: &[(&str, &str, Right)] = &[
    ("GET", "/healthz", Right::Public),
    ("GET", "/metrics", Right::Owner),
    ("GET", "/api/openapi.json", Right::Known),
    ("GET", "/api/sessions", Right::Project),
    ("POST", "/api/sessions", Right::Project),
    ("GET", "/api/sessions/{id}", Right::Own),
    ("DELETE", "/api/sessions/{id}", Right::Project),
    ("GET", "/api/sessions/{id}/status", Right::Own),
    ("GET", "/api/sessions/{id}/explain", Right::Own),
    ("GET", "/api/sessions/{id}/messages", Right::Own),
    ("POST", "/api/sessions/{id}/message", Right::Project),
    // An agent reads its own asks. It answers none, not even those of others: that would grant itself permissions.
    ("GET", "/api/asks", Right::Owner),
    ("GET", "/api/sessions/{id}/asks", Right::Own),
    ("GET", "/api/sessions/{id}/asks/{ask}", Right::Own),
    ("POST", "/api/sessions/{id}/answer", Right::Owner),
    ("POST", "/api/sessions/{id}/stop", Right::Project),
    ("POST", "/api/sessions/{id}/pause", Right::Owner),
    ("POST", "/api/sessions/{id}/resume", Right::Owner),
    ("POST", "/api/sessions/{id}/retry", Right::Owner),
    ("POST", "/api/sessions/{id}/restore", Right::Owner),
    ("GET", "/api/sessions/{id}/output", Right::Own),
    ("GET", "/api/sessions/{id}/setup-log", Right::Own),
    ("GET", "/api/sessions/{id}/terminal", Right::Own),
    ("GET", "/api/events", Right::Own),
    ("POST", "/api/events", Right::Forge),
    ("GET", "/api/reactions", Right::Owner),
    ("POST", "/api/reactions/test", Right::Owner),
    ("GET", "/api/projects", Right::Forge),
    ("POST", "/api/projects", Right::Owner),
    ("DELETE", "/api/projects/{id}", Right::Owner),
    ("POST", "/api/projects/{id}/stop", Right::Owner),
    ("POST", "/api/projects/{id}/start", Right::Owner),
    ("GET", "/api/projects/{id}/trust", Right::Owner),
    ("POST", "/api/projects/{id}/trust", Right::Owner),
    ("GET", "/api/projects/{id}/checks", Right::Forge),
    ("GET", "/api/projects/{id}/flakes", Right::Forge),
    ("GET", "/api/projects/{id}/conflicts", Right::Forge),
    ("GET", "/api/projects/{id}/conflicts/between", Right::Forge),
    ("GET", "/api/issues", Right::Forge),
    ("POST", "/api/issues", Right::Forge),
    ("POST", "/api/issues/import", Right::Owner),
    ("GET", "/api/issues/{id}", Right::Forge),
    ("PATCH", "/api/issues/{id}", Right::Forge),
    ("POST", "/api/issues/{id}/comments", Right::Forge),
    ("GET", "/api/pulls", Right::Forge),
    ("POST", "/api/pulls", Right::Forge),
    ("GET", "/api/pulls/{id}", Right::Forge),
    ("PATCH", "/api/pulls/{id}", Right::Forge),
    ("GET", "/api/pulls/{id}/diff", Right::Forge),
    ("GET", "/api/pulls/{id}/policy", Right::Forge),
    ("GET", "/api/policy", Right::Owner),
    ("POST", "/api/pulls/{id}/comments", Right::Forge),
    ("PATCH", "/api/pulls/{id}/comments/{comment}", Right::Forge),
    ("POST", "/api/pulls/{id}/reviews", Right::Forge),
    ("POST", "/api/pulls/{id}/threads/{thread}/resolve", Right::Forge),
    ("POST", "/api/pulls/{id}/claim", Right::Forge),
    ("POST", "/api/pulls/{id}/merge", Right::Owner),
    ("POST", "/api/pulls/{id}/reviewer", Right::Owner),
    ("GET", "/api/checks", Right::Forge),
    ("POST", "/api/checks", Right::Forge),
    ("GET", "/api/checks/{id}", Right::Forge),
    ("GET", "/api/checks/{id}/log", Right::Forge),
    ("GET", "/api/hooks", Right::Owner),
    ("GET", "/api/hooks/logs", Right::Owner),
    ("GET", "/api/hooks/logs/{id}", Right::Owner),
    ("POST", "/api/hooks/{id}/test", Right::Owner),
    ("GET", "/api/workspaces", Right::Owner),
    ("POST", "/api/workspaces/cleanup", Right::Owner),
    ("GET", "/api/budgets", Right::Owner),
    ("GET", "/api/plan", Right::Forge),
    ("GET", "/api/advice", Right::Forge),
    ("GET", "/api/queue", Right::Owner),
    ("POST", "/api/queue", Right::Owner),
    ("PATCH", "/api/queue/{id}", Right::Owner),
    ("DELETE", "/api/queue/{id}", Right::Owner),
    ("POST", "/api/queue/pause", Right::Owner),
    ("POST", "/api/queue/resume", Right::Owner),
    ("GET", "/api/daemon", Right::Owner),
    ("POST", "/api/daemon/stop", Right::Owner),
    ("POST", "/api/daemon/reload", Right::Owner),
    ("GET", "/api/config", Right::Owner),
    ("GET", "/api/notify", Right::Owner),
    ("POST", "/api/notify/test", Right::Owner),
    ("POST", "/api/tokens", Right::Owner),
    ("POST", "/api/tokens/rotate", Right::Owner),
    ("POST", "/api/sign-in", Right::Public),
];

/// Returns the right that a route needs, by the path as it is in the table.
pub(crate) fn rule(method: &Method, path: &str) -> Option<Right> {
    // A HEAD has the rights of a GET.
    let method = if method == Method::HEAD { &Method::GET } else { method };
    if method == Method::GET && page::has(path) {
        // The files of the dashboard contain no data.
        return Some(Right::Public);
    }
    RULES
        .iter()
        .find(|(known, route, _)| method.as_str() == *known && path == *route)
        .map(|(_, _, right)| *right)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// acceptance: X8
    #[test]
    fn every_route_has_a_rule_and_every_rule_a_route() {
        let document: serde_json::Value = serde_json::from_str(&crate::openapi()).unwrap();
        let mut routes = BTreeSet::new();
        for (path, calls) in document["paths"].as_object().unwrap() {
            for method in calls.as_object().unwrap().keys() {
                routes.insert((method.to_uppercase(), path.clone()));
            }
        }
        let rules: BTreeSet<_> =
            RULES.iter().map(|(method, path, _)| ((*method).to_owned(), (*path).to_owned())).collect();
        assert_eq!(routes, rules);
        assert_eq!(rules.len(), RULES.len(), "one rule for each route");
    }
}
