//! Everything that survives a daemon: processes and the state of their agents, workspaces, the forge, and the notices
//! that people got.

mod agents;
mod forge;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ao_core::pull::PullFacts;
use ao_core::queue::LanePart;
use ao_core::session::{CheckedOut, ProcessRef};
use ao_core::workspace::TreeFacts;
use ao_core::{
    AskId, Attempt, Commit, ConversationId, Input, ProjectId, PullId, SessionId, TaskId, Timestamp,
};
use ao_ports::{Cancelled, CheckRun, LookHint, Report, TaskSeen};
use tokio::sync::Notify;

use crate::faults::PortCall;

pub(crate) use agents::{
    answer, cancel_turn, die, human_types, kill, lose_holder, perform, send, start, stop_accepting,
    take_turn, turn_name,
};
pub use forge::pull_facts;
pub(crate) use forge::{
    HintWatcher, approve, ask_for, change_randomly, change_task, check, comment, edit, edit_comment,
    fresh_pull, fresh_task, hint, pass_on, ran, reply, review, see_task, thread,
};

/// A process, by session and attempt.
pub(crate) type ProcessKey = (SessionId, Attempt);

/// The world outside of the daemon.
#[derive(Debug, Default)]
pub(crate) struct OutsideWorld {
    pub(crate) processes: BTreeMap<ProcessKey, SimProcess>,
    /// Attempts that were ended: a late start of one starts nothing.
    pub(crate) ended: BTreeSet<ProcessKey>,
    /// The plan of each launch: conversation, prompt, and the delivery that the prompt carries.
    pub(crate) plans: BTreeMap<ProcessKey, (ConversationId, Option<String>, Option<u32>)>,
    pub(crate) conversations: BTreeMap<ConversationId, Vec<UserTurn>>,
    /// The number of times that each process was started.
    pub(crate) starts: BTreeMap<ProcessKey, usize>,
    pub(crate) trees: BTreeMap<String, SimTree>,
    /// The rescue refs of workspaces, each with its time and commit.
    pub(crate) rescues: BTreeMap<String, (Timestamp, Commit)>,
    pub(crate) pulls: BTreeMap<PullId, PullFacts>,
    /// The issues of the tracker, with all of their blockers, open or closed.
    pub(crate) tasks: BTreeMap<TaskId, TaskSeen>,
    /// The issues that were created with a key.
    pub(crate) task_keys: BTreeMap<String, TaskId>,
    /// The issues that were closed at some time.
    pub(crate) closed: BTreeSet<TaskId>,
    /// The time of the last change of everything that hints are about.
    pub(crate) changed: BTreeMap<LookHint, u64>,
    /// The receivers of hints.
    pub(crate) watchers: Vec<HintWatcher>,
    /// The projects whose forge and tracker give no answer.
    pub(crate) hanging: BTreeSet<ProjectId>,
    /// The number of looks at pull requests.
    pub(crate) looks: u64,
    /// The looks that are under way.
    pub(crate) looking: BTreeSet<PortCall>,
    /// The heads that are the results of rebases, with their bases.
    pub(crate) rebased: BTreeMap<Commit, Commit>,
    /// The texts of pull requests that were edited.
    pub(crate) bodies: BTreeMap<PullId, String>,
    /// The tips of the branches that the benches have made.
    pub(crate) branches: BTreeMap<String, Commit>,
    /// The tip of each project's base branch.
    pub(crate) tips: BTreeMap<ProjectId, Commit>,
    /// The content of each landed commit: its start, and the heads since, in order.
    pub(crate) trees_of: BTreeMap<Commit, String>,
    /// The files of commits that have some, by path.
    pub(crate) files: BTreeMap<Commit, BTreeMap<String, Vec<u8>>>,
    /// Trees that were tested and are green.
    pub(crate) green: BTreeSet<String>,
    /// Trees that a person has merged without their checks.
    pub(crate) unchecked: BTreeSet<String>,
    /// Heads that do not work together.
    pub(crate) breaks: Vec<BTreeSet<Commit>>,
    /// If true, some further pairs of heads do not work together either.
    pub(crate) has_conflicting_pairs: bool,
    /// Tips at which a project's base fails its own checks.
    pub(crate) red: BTreeSet<(ProjectId, Commit)>,
    /// The runs of checks on a base, in their latest state.
    pub(crate) base_runs: Vec<CheckRun>,
    /// The reruns that were started.
    pub(crate) reruns: BTreeSet<CheckRerun>,
    /// Result of reruns; random if absent.
    pub(crate) passes_again: Option<bool>,
    /// The keys of replies in threads.
    pub(crate) answered: BTreeSet<String>,
    /// Number of times that a command of a user was run.
    pub(crate) commands: u32,
    /// Number of times that each notice reached a person, by its key.
    pub(crate) notified: BTreeMap<String, u32>,
    /// A census shows nothing before this time.
    pub(crate) blind_until: u64,
    /// Ports that a foreign program listens on.
    pub(crate) foreign_ports: BTreeSet<u16>,
    behaviours: BTreeMap<SessionId, AgentBehaviour>,
    /// Behaviour of agents without one of their own.
    pub(crate) default_behaviour: AgentBehaviour,
    /// Planned events, by time and by order.
    agenda: BTreeMap<(u64, u64), WorldEvent>,
    happenings: u64,
    /// Notified when an event is planned before the next one.
    pub(crate) sooner: Arc<Notify>,
    /// Number of reports per thousand that are lost, doubled or late.
    pub(crate) lossy_reports: u16,
}

/// A planned event of the world.
#[derive(Debug, Clone)]
pub(crate) enum WorldEvent {
    /// A process comes up.
    Boot(ProcessKey),
    /// The current activity of the agent ends. Stale if the epoch differs.
    Over { key: ProcessKey, epoch: u32 },
    /// A person leaves the keyboard.
    HandsOff(ProcessKey),
    /// A report reaches the daemon, if there is one.
    Report(Report),
    /// The rerun of a check has ended.
    Ran(CheckRerun),
    /// A hint reaches the daemon, if there is one.
    Hint(LookHint),
    /// Requests of people.
    Post(Vec<Input>),
    /// The next step of the random script.
    Act,
}

/// One more run of a check.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CheckRerun {
    pub(crate) pull: PullId,
    pub(crate) check: String,
    pub(crate) commit: Commit,
    pub(crate) number: u32,
}

/// One user's turn in a conversation.
#[derive(Debug, Clone)]
pub(crate) struct UserTurn {
    /// The delivery that it was, if it was one of ours.
    pub(crate) delivery: Option<u32>,
    pub(crate) text: String,
}

#[derive(Debug)]
pub(crate) struct SimProcess {
    pub(crate) name: ProcessRef,
    pub(crate) path: String,
    pub(crate) conversation: ConversationId,
    pub(crate) state: AgentState,
    epoch: u32,
    /// Our text on the screen, not yet submitted.
    pub(crate) draft: Option<u32>,
    pub(crate) person_at_keyboard: bool,
    /// Number of further Enters that have no effect.
    pub(crate) swallows: u8,
    pub(crate) ports: Vec<u16>,
    /// The open dialogs: one, or several with ids if the agent reports those.
    pub(crate) dialogs: Vec<SimDialog>,
    /// The number of its dialogs so far.
    pub(crate) dialogs_opened: u32,
    /// The answers that it has got, by their numbers, with the dialog that each was for.
    pub(crate) given: BTreeMap<u32, u32>,
    /// The texts of all answers.
    pub(crate) answers: Vec<String>,
    /// The results of cancellations, by their numbers.
    pub(crate) cancels: BTreeMap<u32, Cancelled>,
    /// The dialogs that its current turn has still to open, by a tag of its text.
    pub(crate) planned_asks: Vec<String>,
    pub(crate) turns: u64,
    /// True while the holder of its terminal lives. Without it the agent goes on, but cannot be seen or typed at.
    pub(crate) held: bool,
}

/// A dialog of an agent.
#[derive(Debug, Clone)]
pub(crate) struct SimDialog {
    /// Counts the dialogs of its process.
    pub(crate) serial: u32,
    pub(crate) id: Option<AskId>,
    pub(crate) question: String,
}

/// The real state of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AgentState {
    Booting,
    Idle,
    Working { silent: bool },
    Asking,
    Blocked,
    Limited { until: Timestamp },
    Dead { code: Option<i32> },
}

/// The behaviour of an agent. Rates are per thousand turns.
#[derive(Debug, Clone, Default)]
pub struct AgentBehaviour {
    /// Longest duration of a turn; 0 is the default of 10 s.
    pub turn_ms: u64,
    pub asks: u16,
    pub blocks: u16,
    pub limited: u16,
    pub crashes: u16,
    pub leaves: u16,
    /// Number of hooks per thousand that never fire.
    pub loses_hooks: u16,
    pub silent: u16,
    pub swallows: u8,
    /// Exits as soon as it has come up, with this code.
    pub hopeless: Option<i32>,
    /// Millionths of a dollar per turn; unknown if absent.
    pub cost: Option<u64>,
    pub one_turn: bool,
    /// The set-up commands of its workspace fail.
    pub setup_fails: bool,
    /// Its dialogs are never answered.
    pub unanswered: bool,
    /// Number of turns per thousand that leave uncommitted work behind.
    pub messy: u16,
}

/// A worktree.
#[derive(Debug)]
pub(crate) struct SimTree {
    pub(crate) session: SessionId,
    pub(crate) project: ProjectId,
    /// The branch that it was created for. It has another name if a person renames it.
    pub(crate) branch: String,
    pub(crate) checked_out: CheckedOut,
    pub(crate) facts: TreeFacts,
    pub(crate) set_up: bool,
}

/// Returns the facts of a workspace without unsaved work.
pub(crate) fn nothing_to_lose() -> TreeFacts {
    let no = Some(false);
    TreeFacts {
        ours: Some(true),
        main_worktree: no,
        process_inside: no,
        uncommitted: no,
        untracked: no,
        stashed: no,
        detached: no,
        mid_operation: no,
        unpushed: no,
    }
}

impl SimTree {
    pub(crate) fn clean(session: SessionId, project: ProjectId, branch: String, head: Commit) -> SimTree {
        let checked_out = CheckedOut { branch: Some(branch.clone()), head: Some(head) };
        SimTree { session, project, branch, checked_out, facts: nothing_to_lose(), set_up: false }
    }
}

impl SimProcess {
    /// Returns a process that has just started.
    pub(crate) fn new(name: ProcessRef, path: &str, conversation: ConversationId) -> SimProcess {
        SimProcess {
            name,
            path: path.to_owned(),
            conversation,
            state: AgentState::Booting,
            epoch: 0,
            draft: None,
            person_at_keyboard: false,
            swallows: 0,
            ports: vec![],
            dialogs: vec![],
            dialogs_opened: 0,
            given: BTreeMap::new(),
            answers: vec![],
            cancels: BTreeMap::new(),
            planned_asks: vec![],
            turns: 0,
            held: true,
        }
    }

    pub(crate) fn die(&mut self, code: Option<i32>) {
        if !matches!(self.state, AgentState::Dead { .. }) {
            self.state = AgentState::Dead { code };
            self.epoch += 1;
        }
    }

    pub(crate) fn lives(&self) -> bool {
        !matches!(self.state, AgentState::Dead { .. })
    }
}

impl OutsideWorld {
    pub(crate) fn living(&self) -> impl Iterator<Item = (&ProcessKey, &SimProcess)> {
        self.processes.iter().filter(|(_, process)| process.lives())
    }

    pub(crate) fn behaviour(&self, session: SessionId) -> &AgentBehaviour {
        self.behaviours.get(&session).unwrap_or(&self.default_behaviour)
    }

    /// Gives a new session the default behaviour.
    pub(crate) fn meet(&mut self, session: SessionId, one_turn: bool) {
        let usual = &self.default_behaviour;
        self.behaviours.entry(session).or_insert_with(|| AgentBehaviour { one_turn, ..usual.clone() });
    }

    pub(crate) fn set_behaviour(&mut self, session: SessionId, behaviour: AgentBehaviour) {
        self.behaviours.insert(session, behaviour);
    }

    /// Makes all agents behave from now on.
    pub(crate) fn calm_down(&mut self) {
        let calm = |behaviour: &AgentBehaviour| AgentBehaviour {
            one_turn: behaviour.one_turn,
            cost: behaviour.cost,
            ..AgentBehaviour::default()
        };
        self.behaviours.values_mut().for_each(|behaviour| *behaviour = calm(behaviour));
        self.default_behaviour = calm(&self.default_behaviour);
        for process in self.processes.values_mut() {
            process.swallows = 0;
        }
        self.foreign_ports.clear();
        self.lossy_reports = 0;
        self.blind_until = 0;
    }

    pub(crate) fn base(&self, project: &ProjectId) -> Commit {
        self.tips.get(project).cloned().unwrap_or_else(|| Commit::new("b0"))
    }

    /// Returns the issues that an issue waits for. Scripts let issues wait for some that are not written yet.
    pub(crate) fn open_blockers(&self, task: &TaskId) -> BTreeSet<TaskId> {
        let blockers = self.tasks.get(task).map(|issue| issue.facts.blocked_by.iter());
        let open = |task: &&TaskId| self.tasks.get(task).is_none_or(|issue| !issue.facts.closed);
        blockers.into_iter().flatten().filter(open).cloned().collect()
    }

    /// Returns the content of a commit with these heads merged into it, in order.
    pub(crate) fn tree<'a>(&self, base: &Commit, parts: impl IntoIterator<Item = &'a LanePart>) -> String {
        let begun = self.trees_of.get(base).cloned().unwrap_or_else(|| base.to_string());
        // As in git, merging a head that is there already changes nothing.
        let has = |tree: &str, head: &str| tree.split('+').any(|part| part == head);
        parts.into_iter().fold(begun, |tree, part| match has(&tree, part.head.as_str()) {
            true => tree,
            false => format!("{tree}+{}", part.head),
        })
    }

    pub(crate) fn is_broken(&self, tree: &str) -> bool {
        let heads: BTreeSet<&str> = tree.split('+').skip(1).collect();
        let together = |set: &BTreeSet<Commit>| set.iter().all(|head| heads.contains(head.as_str()));
        // The result does not depend on the order of the two.
        let sum = |head: &str| head.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
        let quarrel = |one: &str| heads.iter().any(|other| one < *other && (sum(one) ^ sum(other)) % 4 == 0);
        self.breaks.iter().any(together)
            || (self.has_conflicting_pairs && heads.iter().any(|one| quarrel(one)))
    }

    /// Returns the facts of a workspace for a session, all of them known.
    pub(crate) fn tree_facts(&self, path: &str, session: SessionId) -> TreeFacts {
        let Some(tree) = self.trees.get(path) else { return TreeFacts::default() };
        let inside = self.living().any(|(_, process)| process.path == path);
        let ours = Some(tree.session == session);
        TreeFacts { ours, process_inside: Some(inside), ..tree.facts.clone() }
    }

    pub(crate) fn plan(&mut self, at: u64, happening: WorldEvent) {
        self.happenings += 1;
        if self.next().is_none_or(|next| at < next) {
            self.sooner.notify_one();
        }
        self.agenda.insert((at, self.happenings), happening);
    }

    /// Stops the random script.
    pub(crate) fn stop_script(&mut self) {
        self.agenda.retain(|_, happening| !matches!(happening, WorldEvent::Act));
    }

    /// Returns the time of the next event.
    pub(crate) fn next(&self) -> Option<u64> {
        self.agenda.first_key_value().map(|((at, _), _)| *at)
    }

    pub(crate) fn pop_due(&mut self, now: u64) -> Option<WorldEvent> {
        let first = self.agenda.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}
