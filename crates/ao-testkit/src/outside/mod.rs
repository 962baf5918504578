//! Everything that survives a daemon: processes and what their agents think, workspaces, the forge, and what people
//! were told.

mod agents;
mod forge;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ao_core::pull::PullFacts;
use ao_core::queue::Part;
use ao_core::session::ProcessRef;
use ao_core::workspace::TreeFacts;
use ao_core::{Attempt, Commit, ConversationId, ProjectId, PullId, SessionId, Timestamp};
use ao_ports::Report;
use tokio::sync::Notify;

pub(crate) use agents::{
    answer, grow_deaf, human_types, kill, lose_holder, perform, start, take_turn, turn_name,
};
pub(crate) use forge::{approve, check, fresh_pull, ran, shake};

/// A process, by whose it is.
pub(crate) type Key = (SessionId, Attempt);

/// The world outside of the daemon.
#[derive(Debug, Default)]
pub(crate) struct Outside {
    pub(crate) processes: BTreeMap<Key, Process>,
    /// Attempts that were ended: a late start of one starts nothing.
    pub(crate) ended: BTreeSet<Key>,
    /// What each launch was prepared with: conversation, prompt, and the delivery that the prompt is.
    pub(crate) plans: BTreeMap<Key, (ConversationId, Option<String>, Option<u32>)>,
    pub(crate) conversations: BTreeMap<ConversationId, Vec<Turn>>,
    pub(crate) trees: BTreeMap<String, Tree>,
    pub(crate) pulls: BTreeMap<PullId, PullFacts>,
    /// The tip of each project's base branch.
    pub(crate) tips: BTreeMap<ProjectId, Commit>,
    /// What each commit that has landed consists of: where it began, and the heads since, in order.
    pub(crate) trees_of: BTreeMap<Commit, String>,
    /// What was tested, and works.
    pub(crate) green: BTreeSet<String>,
    /// Trees that a person has merged without their checks.
    pub(crate) unchecked: BTreeSet<String>,
    /// Heads that do not work together.
    pub(crate) breaks: Vec<BTreeSet<Commit>>,
    /// Whether, besides those, every so many pairs of heads do not.
    pub(crate) quarrelsome: bool,
    /// Tips at which a project's base fails its own checks.
    pub(crate) red: BTreeSet<(ProjectId, Commit)>,
    /// The re-runs that were begun.
    pub(crate) reruns: BTreeSet<Rerun>,
    /// Whether a check passes when it is run again; by chance if nobody says.
    pub(crate) passes_again: Option<bool>,
    /// The answers that were given in threads, by their marks.
    pub(crate) answered: BTreeSet<String>,
    /// How often each notice reached a person, by its key.
    pub(crate) told: BTreeMap<String, u32>,
    /// A census shows nothing before this time.
    pub(crate) blind_until: u64,
    /// Ports on which somebody listens who is none of ours.
    pub(crate) squatted: BTreeSet<u16>,
    tempers: BTreeMap<SessionId, Temper>,
    /// How those behave that were given no temper of their own.
    pub(crate) usual: Temper,
    /// What happens next, by time and by order.
    agenda: BTreeMap<(u64, u64), Happening>,
    happenings: u64,
    /// Wakes whoever waits for the next thing, when an earlier one is planned.
    pub(crate) sooner: Arc<Notify>,
    /// How many reports of a thousand are lost, doubled or late.
    pub(crate) bad_line: u16,
}

/// Something that is going to happen in the world.
#[derive(Debug, Clone)]
pub(crate) enum Happening {
    /// A process comes up.
    Boot(Key),
    /// What the agent was doing comes to its end. Of an earlier thing, if the epoch is another.
    Over { key: Key, epoch: u32 },
    /// A person leaves the keyboard.
    HandsOff(Key),
    /// A report reaches the daemon, if there is one.
    Report(Report),
    /// A check that was run again has ended.
    Ran(Rerun),
    /// The next thing in the random script.
    Act,
}

/// One more run of a check.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rerun {
    pub(crate) pull: PullId,
    pub(crate) check: String,
    pub(crate) commit: Commit,
    pub(crate) number: u32,
}

/// One user's turn in a conversation.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    /// Which of our deliveries it is.
    pub(crate) delivery: Option<u32>,
    pub(crate) text: String,
}

#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) name: ProcessRef,
    pub(crate) path: String,
    pub(crate) conversation: ConversationId,
    pub(crate) mind: Mind,
    epoch: u32,
    /// Our text on the screen, not yet submitted.
    pub(crate) draft: Option<u32>,
    pub(crate) person_at_keyboard: bool,
    /// How many more Enters come to nothing.
    pub(crate) swallows: u8,
    pub(crate) ports: Vec<u16>,
    /// The last answer that was typed into a dialog.
    pub(crate) answered: u32,
    pub(crate) turns: u64,
    /// What holds its terminal lives. Without it the agent goes on, and nobody can look at it or type at it.
    pub(crate) held: bool,
}

/// What an agent is really doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Mind {
    Booting,
    Idle,
    Working { silent: bool },
    Asking,
    Blocked,
    Limited { until: Timestamp },
    Dead { code: Option<i32> },
}

/// How an agent behaves. Rates are of a thousand turns.
#[derive(Debug, Clone, Default)]
pub struct Temper {
    /// How long a turn takes at most; 0 is the usual 10 s.
    pub turn_ms: u64,
    pub asks: u16,
    pub blocks: u16,
    pub limited: u16,
    pub crashes: u16,
    pub leaves: u16,
    /// How many hooks of a thousand never fire.
    pub loses_hooks: u16,
    pub silent: u16,
    pub swallows: u8,
    /// Ends as soon as it has come up, with this code.
    pub hopeless: Option<i32>,
    /// Millionths of a dollar a turn; nobody knows if absent.
    pub cost: Option<u64>,
    pub one_turn: bool,
    /// The commands that set its workspace up fail.
    pub setup_fails: bool,
    /// Nobody answers its dialogs.
    pub unanswered: bool,
    /// How many turns of a thousand leave uncommitted work behind.
    pub messy: u16,
}

/// A worktree.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) session: SessionId,
    pub(crate) project: ProjectId,
    pub(crate) branch: String,
    pub(crate) uncommitted: bool,
    pub(crate) unpushed: bool,
    pub(crate) set_up: bool,
}

impl Tree {
    pub(crate) fn clean(session: SessionId, project: ProjectId, branch: String) -> Tree {
        Tree { session, project, branch, uncommitted: false, unpushed: false, set_up: false }
    }
}

impl Process {
    pub(crate) fn die(&mut self, code: Option<i32>) {
        if !matches!(self.mind, Mind::Dead { .. }) {
            self.mind = Mind::Dead { code };
            self.epoch += 1;
        }
    }

    pub(crate) fn lives(&self) -> bool {
        !matches!(self.mind, Mind::Dead { .. })
    }
}

impl Outside {
    pub(crate) fn living(&self) -> impl Iterator<Item = (&Key, &Process)> {
        self.processes.iter().filter(|(_, process)| process.lives())
    }

    pub(crate) fn temper(&self, session: SessionId) -> &Temper {
        self.tempers.get(&session).unwrap_or(&self.usual)
    }

    /// Gives a session that is seen for the first time the usual temper.
    pub(crate) fn meet(&mut self, session: SessionId, one_turn: bool) {
        let usual = &self.usual;
        self.tempers.entry(session).or_insert_with(|| Temper { one_turn, ..usual.clone() });
    }

    pub(crate) fn set_temper(&mut self, session: SessionId, temper: Temper) {
        self.tempers.insert(session, temper);
    }

    /// From now on all agents behave.
    pub(crate) fn calm_down(&mut self) {
        let calm =
            |temper: &Temper| Temper { one_turn: temper.one_turn, cost: temper.cost, ..Temper::default() };
        self.tempers.values_mut().for_each(|temper| *temper = calm(temper));
        self.usual = calm(&self.usual);
        for process in self.processes.values_mut() {
            process.swallows = 0;
        }
        self.squatted.clear();
        self.bad_line = 0;
        self.blind_until = 0;
    }

    pub(crate) fn base(&self, project: &ProjectId) -> Commit {
        self.tips.get(project).cloned().unwrap_or_else(|| Commit::new("b0"))
    }

    /// What a commit comes to with these heads merged into it, in order.
    pub(crate) fn tree<'a>(&self, base: &Commit, parts: impl IntoIterator<Item = &'a Part>) -> String {
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
        // The same two always quarrel, whoever came first.
        let sum = |head: &str| head.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31) + u64::from(byte));
        let quarrel = |one: &str| heads.iter().any(|other| one < *other && (sum(one) ^ sum(other)) % 4 == 0);
        self.breaks.iter().any(together) || (self.quarrelsome && heads.iter().any(|one| quarrel(one)))
    }

    /// What is true of a workspace, all of it known.
    pub(crate) fn tree_facts(&self, path: &str) -> TreeFacts {
        let Some(tree) = self.trees.get(path) else { return TreeFacts::default() };
        let inside = self.living().any(|(_, process)| process.path == path);
        TreeFacts {
            ours: Some(true),
            main_worktree: Some(false),
            process_inside: Some(inside),
            uncommitted: Some(tree.uncommitted),
            untracked: Some(false),
            stashed: Some(false),
            detached: Some(false),
            mid_operation: Some(false),
            unpushed: Some(tree.unpushed),
        }
    }

    pub(crate) fn plan(&mut self, at: u64, happening: Happening) {
        self.happenings += 1;
        if self.next().is_none_or(|next| at < next) {
            self.sooner.notify_one();
        }
        self.agenda.insert((at, self.happenings), happening);
    }

    /// Nobody does anything new.
    pub(crate) fn stop_script(&mut self) {
        self.agenda.retain(|_, happening| !matches!(happening, Happening::Act));
    }

    /// When the next thing happens.
    pub(crate) fn next(&self) -> Option<u64> {
        self.agenda.first_key_value().map(|((at, _), _)| *at)
    }

    pub(crate) fn pop_due(&mut self, now: u64) -> Option<Happening> {
        let first = self.agenda.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}
