//! Hook points: where a project's own commands run on the way from a task to a merge.
//!
//! Hooks come from the configuration of the machine's owner, never from a branch of the repository: what an agent or
//! an outsider can push must not become a command here.

mod document;

use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::input::Input;
use crate::job::{JobOrder, Requester};
use crate::session::Session;
use crate::state::State;
use crate::text::word_enum;
use crate::{Commit, ProjectId, PullId, Timestamp};

pub use document::{HookLanding, HookSubject, document};

/// The default timeout of a hook.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// A command that runs at one hook point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hook {
    pub point: HookPoint,
    /// Runs in the user's shell, in the project's folder, with a JSON document on its standard input.
    pub command: String,
    pub timeout: Duration,
}

word_enum! {
    /// The points at which hooks run.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum HookPoint {
        /// A session is about to get a slot. The hook may object.
        BeforeAssign = "before-assign",
        WorkspaceCreated = "workspace-created",
        SessionStarted = "session-started",
        PrCreated = "pr-created",
        /// All checks of a head have ended.
        ChecksCompleted = "checks-completed",
        ReviewReceived = "review-received",
        /// A pull request is about to land. The hook may object.
        BeforeMerge = "before-merge",
        Merged = "merged",
        SessionEnded = "session-ended",
    }
}

impl HookPoint {
    /// Returns whether the next step waits for the hook, which may object.
    pub fn may_object(self) -> bool {
        matches!(self, HookPoint::BeforeAssign | HookPoint::BeforeMerge)
    }
}

/// An unknown name of a hook point.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no point at which hooks run")]
pub struct BadPoint(pub String);

impl FromStr for HookPoint {
    type Err = BadPoint;

    fn from_str(word: &str) -> Result<HookPoint, BadPoint> {
        HookPoint::ALL.into_iter().find(|point| point.word() == word).ok_or_else(|| BadPoint(word.to_owned()))
    }
}

impl State {
    /// Returns the hooks of a project at one point, in the order in which they run.
    pub fn hooks(&self, project: &ProjectId, point: HookPoint) -> Vec<Hook> {
        let all =
            self.projects.get(project).map(|project| project.config.hooks.as_slice()).unwrap_or_default();
        all.iter().filter(|hook| hook.point == point).cloned().collect()
    }

    /// Returns whether hooks have to be asked before a session gets its first slot, and have not agreed yet.
    pub(crate) fn awaits_word(&self, session: &Session) -> bool {
        let asked = |hook: &Hook| hook.point == HookPoint::BeforeAssign;
        !session.cleared
            && self
                .projects
                .get(&session.spec.project)
                .is_some_and(|project| project.config.hooks.iter().any(asked))
    }

    /// Returns whether hooks have to be asked before anything lands in a project.
    pub(crate) fn asks_before_merge(&self, project: &ProjectId) -> bool {
        let asked = |hook: &Hook| hook.point == HookPoint::BeforeMerge;
        self.projects.get(project).is_some_and(|project| project.config.hooks.iter().any(asked))
    }
}

/// Asks hooks whether a session may start. Repeating the question while it is open has no effect.
pub(crate) fn may_start(state: &State, session: &Session, at: Timestamp) -> Option<Input> {
    let about = HookSubject { session: Some(session.id), ..HookSubject::default() };
    let what = session.id.to_string();
    let requester = Requester::Assign(session.id);
    wanted(state, &session.spec.project, HookPoint::BeforeAssign, &what, at, requester, about)
}

/// Asks hooks whether a pull request may land.
pub(crate) fn may_land(
    state: &State,
    pull: &PullId,
    head: &Commit,
    base: &Commit,
    at: Timestamp,
) -> Option<Input> {
    let about = HookSubject {
        session: state.pulls.get(pull).and_then(|known| known.owner),
        pull: Some(pull),
        merge: Some(HookLanding { head, base: Some(base), commit: None }),
        ..HookSubject::default()
    };
    let requester = Requester::Merge { pull: pull.clone(), head: head.clone() };
    wanted(state, &pull.project, HookPoint::BeforeMerge, &format!("{pull} {head}"), at, requester, about)
}

/// Returns the input that runs the hooks of a point, if there are any. `what` identifies the occasion.
pub(crate) fn wanted(
    state: &State,
    project: &ProjectId,
    point: HookPoint,
    what: &str,
    at: Timestamp,
    requester: Requester,
    about: HookSubject<'_>,
) -> Option<Input> {
    let hooks = state.hooks(project, point);
    if hooks.is_empty() {
        return None;
    }
    let key = format!("{point} {what}");
    let document = document(state, project, point, at, &format!("{key} {at}").replace(' ', "/"), about);
    let order =
        Box::new(JobOrder::Hook { project: project.clone(), session: about.session, point, hooks, document });
    Some(Input::Order { key, order, requester })
}
