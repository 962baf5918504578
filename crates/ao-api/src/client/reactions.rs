//! Calls about reactions and custom events.

use super::query::Query;
use super::{Client, ClientError};
use crate::{EventTaken, NewEvent, ReactionTest, ReactionTested, Reactions};

const REACTIONS: &str = "/api/reactions";

impl Client {
    /// Returns the reaction to each kind of incident, optionally for a project and an agent.
    pub async fn reactions(
        &self,
        project: Option<&str>,
        agent: Option<&str>,
    ) -> Result<Reactions, ClientError> {
        self.get(Query::new(REACTIONS).with("project", project).with("agent", agent).path()).await
    }

    /// Returns the steps that would be taken, without taking them.
    pub async fn test_reaction(&self, test: &ReactionTest) -> Result<ReactionTested, ClientError> {
        self.post(&format!("{REACTIONS}/test"), test).await
    }

    /// Reports a custom event.
    pub async fn emit(&self, event: &NewEvent) -> Result<EventTaken, ClientError> {
        self.post("/api/events", event).await
    }
}
