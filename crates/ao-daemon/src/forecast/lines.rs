//! The lines of work of a project: its open pull requests, and what its sessions have in their workspaces.

use ao_core::forecast::ClashSide;
use ao_core::session::{Session, SessionRole};
use ao_core::{ProjectId, State};
use ao_ports::TreeRef;

use crate::cleanup::tree_of;

/// A project with its lines of work.
#[derive(Debug, Clone)]
pub(super) struct ProjectLines {
    pub(super) path: String,
    pub(super) default_branch: String,
    pub(super) lines: Vec<WorkLine>,
}

/// A line of work.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WorkLine {
    pub(crate) side: ClashSide,
    pub(crate) name: String,
    pub(crate) branch: String,
    pub(crate) title: String,
    /// The session whose work it is.
    pub(crate) session: Option<String>,
    pub(super) from: LineSource,
}

/// The origin of its commit.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum LineSource {
    Commit(String),
    /// A tree with an agent at work: the kind of workspace, its reference, and the commit that it was last seen on.
    Tree {
        kind: String,
        tree: Box<TreeRef>,
        head: Option<String>,
    },
}

impl WorkLine {
    /// Its owner. Two of one session are not compared.
    pub(super) fn owner(&self) -> &str {
        self.session.as_deref().unwrap_or(&self.name)
    }

    /// Returns true if a reference means this one: its name, the number of a pull request, its session or its branch.
    pub(crate) fn is_meant_by(&self, word: &str) -> bool {
        let number = match &self.side {
            ClashSide::Pull(pull) => word.trim_start_matches('!') == pull.number.to_string(),
            ClashSide::Session(id) => word == id.to_string(),
        };
        self.name == word || number || self.session.as_deref() == Some(word) || self.branch == word
    }
}

/// The branches of a project that can be compared.
pub(super) fn of(state: &State, id: &ProjectId) -> Option<ProjectLines> {
    let project = state.projects.get(id)?;
    let works =
        |session: &&Session| session.spec.role == SessionRole::Worker && session.workspace.tree.is_some();
    let sessions = state.live_in(id).filter(works).map(|session| WorkLine {
        side: ClashSide::Session(session.id),
        name: session.spec.name.clone(),
        branch: session.watch.checked_out.branch.clone().unwrap_or_else(|| session.spec.branch.clone()),
        title: session.spec.title.clone(),
        session: Some(session.spec.name.clone()),
        from: LineSource::Tree {
            kind: session.spec.workspace.clone(),
            tree: Box::new(tree_of(project, session)),
            head: session.watch.checked_out.head.as_ref().map(ToString::to_string),
        },
    });
    let first = ao_core::PullId { project: id.clone(), number: 0 };
    let pulls = state.pulls.range(first..).take_while(|(pull, _)| pull.project == *id);
    let pulls = pulls.filter(|(_, pull)| pull.is_open()).map(|(pull, known)| WorkLine {
        side: ClashSide::Pull(pull.clone()),
        name: pull.to_string(),
        branch: known.facts.head_branch.clone(),
        title: known.facts.title.clone(),
        session: known
            .owner
            .and_then(|owner| state.sessions.get(&owner))
            .map(|owner| owner.spec.name.clone()),
        from: LineSource::Commit(known.facts.head.to_string()),
    });
    let lines = sessions.chain(pulls).collect();
    Some(ProjectLines {
        path: project.config.path.clone(),
        default_branch: project.config.default_branch.clone(),
        lines,
    })
}
