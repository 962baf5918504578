//! Calls about reactions and events of one's own.

use super::query::Query;
use super::{Client, ClientError};
use crate::{EventTaken, NewEvent, ReactionTest, ReactionTested, Reactions};

const REACTIONS: &str = "/api/reactions";

impl Client {
    /// What is done about each kind of thing that happens, for a project and an agent if they are named.
    pub async fn reactions(
        &self,
        project: Option<&str>,
        agent: Option<&str>,
    ) -> Result<Reactions, ClientError> {
        self.get(Query::new(REACTIONS).with("project", project).with("agent", agent).path()).await
    }

    /// What would be done. Nothing is.
    pub async fn test_reaction(&self, test: &ReactionTest) -> Result<ReactionTested, ClientError> {
        self.post(&format!("{REACTIONS}/test"), test).await
    }

    /// Tells of an event of one's own.
    pub async fn emit(&self, event: &NewEvent) -> Result<EventTaken, ClientError> {
        self.post("/api/events", event).await
    }
}
