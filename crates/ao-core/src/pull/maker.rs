//! Agents that made a pull request, for policies that trust some more than others.
//!
//! It does not say who answers for it now: giving a pull request up, or taking on somebody else's, makes nobody less its
//! maker. So every agent that ever answered for it is remembered.

use serde::{Deserialize, Serialize};

use super::owner::is_own;
use super::{AuthorStanding, Pull};
use crate::SessionId;
use crate::session::{AgentChoice, Session, SessionRole};
use crate::state::State;

/// An agent by the names that rules use. Stored with the pull request, because sessions are archived.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PullMaker {
    /// The tool.
    pub name: String,
    pub specialist: Option<String>,
}

impl PullMaker {
    /// Returns the name that people use.
    pub fn called(&self) -> &str {
        self.specialist.as_deref().unwrap_or(&self.name)
    }

    /// Returns true if it is found by this name.
    pub fn is(&self, name: &str) -> bool {
        let names = [Some(self.name.as_str()), self.specialist.as_deref()];
        names.into_iter().flatten().any(|known| known.eq_ignore_ascii_case(name))
    }
}

impl From<&AgentChoice> for PullMaker {
    fn from(agent: &AgentChoice) -> PullMaker {
        PullMaker { name: agent.name.clone(), specialist: agent.specialist.clone() }
    }
}

impl Pull {
    /// Records a session that owns it, and whether that session made it.
    pub(crate) fn claimed_by(&mut self, session: &Session) {
        self.made_by_ours |= made(session, self);
        self.makers.insert(PullMaker::from(&session.spec.agent));
        if let (Some(task), SessionRole::Worker) = (&session.spec.task, session.spec.role) {
            self.tasks.insert(session.id, task.clone());
        }
    }

    /// Returns true if a program opened it, whichever session owns it.
    pub(crate) fn opened_by_program(&self) -> bool {
        matches!(self.facts.author.standing, AuthorStanding::Agent | AuthorStanding::Bot)
    }
}

impl State {
    /// Returns all agents involved in a pull request, and whether one of them is known to have made it.
    pub(crate) fn makers_of(&self, pull: &Pull) -> (Vec<PullMaker>, bool) {
        let author = pull.facts.head_author.as_deref().and_then(SessionId::of_address);
        let ids = pull.owner.iter().chain(&pull.disowned_by).chain(&author);
        let opened = (pull.facts.author.standing == AuthorStanding::Agent)
            .then(|| self.session_named(&pull.facts.author.login))
            .flatten();
        let sessions = ids.filter_map(|id| self.sessions.get(id)).map(|session| &**session).chain(opened);
        let sessions: Vec<&Session> =
            sessions.filter(|session| session.spec.project == pull.id.project).collect();
        let known = pull.made_by_ours || sessions.iter().any(|session| made(session, pull));
        let mut makers = pull.makers.clone();
        makers.extend(sessions.into_iter().map(|session| PullMaker::from(&session.spec.agent)));
        (makers.into_iter().collect(), known)
    }
}

/// Returns true if a pull request is a session's own work: by what it is made of, or because it was opened in its name.
fn made(session: &Session, pull: &Pull) -> bool {
    let author = &pull.facts.author;
    is_own(session, pull) || (author.standing == AuthorStanding::Agent && author.is(&session.spec.name))
}
