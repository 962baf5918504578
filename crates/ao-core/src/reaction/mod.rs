//! Reactions to each kind of problem: the defaults, and what the configuration lays over them field by field.
//!
//! ```text
//!  the kind's default ◄─ the top of the configuration ◄─ the project ◄─ the agent ◄─ the specialist
//! ```
//!
//! Nothing here acts: the ladder of the incidents does, and asks here how far and by what means.

mod context;
mod judge;
mod rehearse;
pub mod words;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ProjectId;
use crate::incident::{Incident, IncidentKind, Subject};
use crate::notice::NoticeLevel;
use crate::project::Project;
use crate::session::AgentChoice;
use crate::settings::DaemonSettings;
use crate::state::State;

pub use context::{context, sample};
pub use judge::ConditionJudge;
pub use rehearse::{DryRun, problem_of, rehearse};

/// Reactions to each kind of problem, in one layer of the configuration.
pub type ReactionPatches = BTreeMap<IncidentKind, ReactionPatch>;

/// Defines [`Reaction`], and [`ReactionPatch`] with the same fields, any of which it may leave out.
macro_rules! reaction {
    (
        set { $($(#[$doc:meta])* $field:ident: $type:ty,)* }
        optional { $($(#[$remark:meta])* $option:ident: $value:ty,)* }
    ) => {
        /// Reaction to a kind of problem, after all layers are put together.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        pub struct Reaction {
            $($(#[$doc])* pub $field: $type,)*
            $($(#[$remark])* pub $option: Option<$value>,)*
        }

        /// Reaction in one layer. What it leaves out is as in the layer below.
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
        #[serde(default)]
        pub struct ReactionPatch {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $field: Option<$type>,)*
            $($(#[$remark])* #[serde(skip_serializing_if = "Option::is_none")] pub $option: Option<$value>,)*
        }

        impl Reaction {
            /// Replaces every field that a layer sets.
            fn lay(&mut self, over: &ReactionPatch) {
                $(if let Some(over) = &over.$field { self.$field.clone_from(over); })*
                $(if over.$option.is_some() { self.$option.clone_from(&over.$option); })*
            }
        }
    };
}

reaction! {
    set {
        /// It acts without a person's consent. If not, a person is notified.
        auto: bool,
        action: ReactionAction,
        /// Limit of the actions for one problem.
        attempts: u32,
        /// Time that each escalation level has to help.
        escalate_after: Duration,
        /// Level of the notice to a person.
        level: NoticeLevel,
        /// Time limit of the command.
        timeout: Duration,
        /// Re-runs of a failed check before an agent is woken.
        rerun: u32,
        /// A thread is resolved when it is answered.
        resolve: bool,
        /// Time after one action in which the next one waits.
        cooldown: Duration,
    }
    optional {
        /// The number of attempts after which it escalates: an upper limit on `attempts`, already applied where a reaction
        /// is looked up.
        most: u32,
        /// Template of the message. Without it, the kind's own text.
        message: String,
        /// An expression over the same variables. If it does not hold, the problem is only recorded.
        condition: String,
        /// Time that a state has to last before it is a problem, for the kinds that are about time.
        threshold: Duration,
        /// The one channel for a person; those for the level if absent.
        channel: String,
        /// The agent that is started, if one is.
        agent: String,
        /// The command that is run, if one is.
        command: String,
    }
}

/// Action of a reaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReactionAction {
    /// Sends a message to the agent that owns the problem.
    SendToAgent,
    /// Like `SendToAgent`, but starts a new agent on the branch if the agent is gone.
    SpawnAgent,
    /// Notifies a person.
    Notify,
    Merge,
    /// Runs the failed checks again.
    RerunChecks,
    /// Rebases the branch onto its base, if there is no conflict.
    Rebase,
    /// Runs a command of the user.
    Run,
    /// The next level is asked at once, without the agent.
    Escalate,
    /// Only records the problem.
    Record,
}

impl Reaction {
    /// Returns the default reaction.
    pub fn default_for(kind: &IncidentKind) -> Reaction {
        use IncidentKind as K;
        let (auto, action, attempts, minutes) = match kind {
            K::CiFailed => (true, ReactionAction::SendToAgent, 3, 30),
            K::ChangesRequested => (true, ReactionAction::SendToAgent, 3, 30),
            K::BotComments => (true, ReactionAction::SendToAgent, 2, 30),
            K::MergeConflicts => (true, ReactionAction::SendToAgent, 3, 15),
            K::AgentIdle => (true, ReactionAction::SendToAgent, 2, 15),
            // Merging is off by default.
            K::ApprovedAndGreen => (false, ReactionAction::Merge, 1, 30),
            K::LabelAdded | K::PrMerged | K::RateLimited => (true, ReactionAction::Record, 0, 30),
            // The user who names an event configures its reaction.
            K::Custom(_) => (true, ReactionAction::Notify, 0, 30),
            K::ReviewNeeded
            | K::PrClosed
            | K::BaseRed
            | K::RepositoryChanged
            | K::AgentStuck
            | K::AgentNeedsInput
            | K::AgentExited
            | K::SetupFailed
            | K::BudgetExceeded
            | K::AllComplete => (true, ReactionAction::Notify, 0, 30),
        };
        let level = match kind {
            K::AgentNeedsInput | K::BudgetExceeded | K::RepositoryChanged => NoticeLevel::Urgent,
            K::AllComplete | K::PrMerged | K::LabelAdded => NoticeLevel::Info,
            K::RateLimited | K::BaseRed => NoticeLevel::Warning,
            _ => NoticeLevel::Action,
        };
        Reaction {
            auto,
            action,
            attempts,
            most: None,
            escalate_after: Duration::from_secs(minutes * 60),
            message: None,
            condition: None,
            threshold: None,
            level,
            channel: None,
            agent: None,
            command: None,
            timeout: Duration::from_secs(60),
            rerun: u32::from(*kind == K::CiFailed),
            resolve: false,
            cooldown: Duration::ZERO,
        }
    }

    /// Applies one layer. An action that is new for the kind is taken at least once.
    pub fn patched(mut self, patch: &ReactionPatch) -> Reaction {
        if patch.action.unwrap_or(self.action).acts() {
            self.attempts = self.attempts.max(1);
        }
        // A time and a number of attempts are two ways to express the same limit: the nearer one counts.
        if patch.escalate_after.is_some() {
            self.most = None;
        }
        self.lay(patch);
        self
    }
}

/// Default of the time that an agent may be idle with its work not done.
pub(crate) const IDLE_AFTER: Duration = Duration::from_secs(600);

/// Returns how long a state has to last before it is a problem, by the nearest layer that sets it.
pub(crate) fn threshold(
    kind: &IncidentKind,
    settings: &DaemonSettings,
    project: Option<&Project>,
    agent: &AgentChoice,
) -> Option<Duration> {
    let of_project = |name: &String| project.and_then(|project| project.config.agent_reactions.get(name));
    let layers = [
        agent.specialist.as_ref().and_then(of_project),
        agent.specialist.as_ref().and_then(|id| settings.agent_reactions.get(id)),
        of_project(&agent.name),
        settings.agent_reactions.get(&agent.name),
        project.map(|project| &project.config.reactions),
        Some(&settings.reactions),
    ];
    layers.into_iter().flatten().find_map(|layer| layer.get(kind)?.threshold)
}

impl Reaction {
    /// Applies the limit of its attempts, after all layers are combined.
    pub(crate) fn bounded(self) -> Reaction {
        Reaction { attempts: self.attempts.min(self.most.unwrap_or(u32::MAX)), ..self }
    }
}

impl ReactionAction {
    /// Returns true if the action can be repeated.
    pub fn acts(self) -> bool {
        !matches!(self, ReactionAction::Notify | ReactionAction::Escalate | ReactionAction::Record)
    }
}

/// Origin of a field of a reaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReactionLayer {
    /// The top level of the configuration.
    Top,
    Project(ProjectId),
    /// An agent, by its name in the configuration.
    Agent(String),
}

impl State {
    /// Returns the reaction to problems of this kind for this subject.
    pub fn reaction(&self, kind: &IncidentKind, subject: &Subject) -> Reaction {
        let (project, agent) = self.whose(subject);
        let layers = self.reaction_layers(kind, project, agent);
        let patches: Vec<&ReactionPatch> = layers.into_iter().map(|(_, patch)| patch).collect();
        let default = Reaction::default_for(kind);
        let mut whole = patches.iter().fold(default, |reaction, patch| reaction.patched(patch));
        if *kind == IncidentKind::ApprovedAndGreen
            && let Some(project) = project.and_then(|project| self.projects.get(project))
        {
            project.policy.over(&mut whole, &patches);
        }
        whole.bounded()
    }

    /// Returns whether a condition holds for a problem, or the reason why it cannot be judged. None always holds.
    pub fn holds(&self, condition: Option<&str>, incident: &Incident) -> Result<bool, String> {
        match condition {
            None => Ok(true),
            Some(condition) => (self.judge().0)(condition, &context(self, incident)),
        }
    }

    /// Returns the layers that configure a kind, the lowest first.
    pub fn reaction_layers<'a>(
        &'a self,
        kind: &IncidentKind,
        project: Option<&ProjectId>,
        agent: Option<&AgentChoice>,
    ) -> Vec<(ReactionLayer, &'a ReactionPatch)> {
        let said = self.all_reactions(project, agent).into_iter();
        said.filter_map(|(layer, reactions)| Some((layer, reactions.get(kind)?))).collect()
    }

    /// Returns all layers for a project and an agent, the lowest first.
    pub fn all_reactions<'a>(
        &'a self,
        project: Option<&ProjectId>,
        agent: Option<&AgentChoice>,
    ) -> Vec<(ReactionLayer, &'a ReactionPatches)> {
        let settings = &self.settings;
        let own = project.and_then(|id| self.projects.get(id));
        let for_all =
            |name: &str| Some((ReactionLayer::Agent(name.to_owned()), settings.agent_reactions.get(name)?));
        let for_own = |name: &str| {
            Some((ReactionLayer::Agent(name.to_owned()), own?.config.agent_reactions.get(name)?))
        };
        let specialist = agent.and_then(|agent| agent.specialist.as_deref());
        let layers = [
            Some((ReactionLayer::Top, &settings.reactions)),
            project.zip(own).map(|(id, own)| (ReactionLayer::Project(id.clone()), &own.config.reactions)),
            agent.and_then(|agent| for_all(&agent.name)),
            agent.and_then(|agent| for_own(&agent.name)),
            // A specialist's own setting takes precedence over that of its tool.
            specialist.and_then(for_all),
            specialist.and_then(for_own),
        ];
        layers.into_iter().flatten().collect()
    }

    /// Returns the project and the agent that a subject belongs to.
    pub fn whose(&self, subject: &Subject) -> (Option<&ProjectId>, Option<&AgentChoice>) {
        let of_session = |id| self.sessions.get(&id).map(|session| &session.spec);
        match subject {
            Subject::Session(id) => {
                let spec = of_session(*id);
                (spec.map(|spec| &spec.project), spec.map(|spec| &spec.agent))
            }
            Subject::Pull(id) => {
                let known = self.pulls.get_key_value(id);
                let owner = known.and_then(|(_, pull)| pull.owner).and_then(of_session);
                let project = known.map(|(id, _)| &id.project);
                let project = project.or_else(|| self.projects.get_key_value(&id.project).map(|(id, _)| id));
                (project, owner.map(|spec| &spec.agent))
            }
            Subject::Project(id) => (self.projects.get_key_value(id).map(|(id, _)| id), None),
            Subject::Host => (None, None),
        }
    }
}
