//! The simulated forge, tracker, workspace and notifier on the benches of their contracts, in a world without an engine.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ao_core::pull::{CheckState, Mergeable, PullFacts, PullState};
use ao_core::session::{CheckedOut, ProcessRef};
use ao_core::workspace::KeepReason;
use ao_core::{Attempt, Commit, ConversationId, ProjectId, PullId, Timestamp};
use ao_ports::{LookHint, Notifier, Scm, Tracker, Workspace};
use async_trait::async_trait;
use tokio::task::JoinSet;

use super::agent_bench::run_world;
use super::{FakePort, ReportLog};
use crate::contract::notifier::NotifierBench;
use crate::contract::scm::ScmBench;
use crate::contract::tracker::TrackerBench;
use crate::contract::workspace::{BranchDrift, WorkspaceBench};
use crate::faults::{Fault, FaultPlan, PortCall};
use crate::outside::{self, OutsideWorld, SimProcess, SimTree};
use crate::trace::Trace;
use crate::universe::{FakeBug, SimUniverse};

/// A simulated port in a calm world. Time is simulated too.
#[derive(Debug)]
pub struct SimPortBench {
    port: FakePort,
    /// Carries hints.
    _world: JoinSet<()>,
}

impl Default for SimPortBench {
    fn default() -> SimPortBench {
        tokio::time::pause();
        let universe = SimUniverse::new(1, FaultPlan::Calm, FakeBug::None, None, Trace::default());
        let reports = Arc::<ReportLog>::default();
        let _world = JoinSet::from_iter([run_world(universe.clone(), reports)]);
        SimPortBench { port: FakePort { universe, life: 0, project: Some(app()) }, _world }
    }
}

fn app() -> ProjectId {
    ProjectId::new("app")
}

#[async_trait]
impl ScmBench for SimPortBench {
    fn scm(&self) -> Arc<dyn Scm> {
        Arc::new(self.port.clone())
    }

    fn project(&self) -> ProjectId {
        app()
    }

    fn commit(&self, branch: &str, path: &str, text: &str) -> Commit {
        let inner = &mut *self.port.universe.lock();
        let outside = &mut inner.outside;
        let tip = outside.base(&app());
        let named = |number: u32| Commit::new(&format!("{branch}@{number}"));
        let number = (1..).find(|number| !outside.files.contains_key(&named(*number))).unwrap_or(1);
        let (commit, first) = (named(number), number == 1 || branch == "main");
        let parent = if first { tip } else { named(number - 1) };
        let mut files: BTreeMap<String, Vec<u8>> = outside.files.get(&parent).cloned().unwrap_or_default();
        files.insert(path.to_owned(), text.into());
        outside.files.insert(commit.clone(), files);
        outside.branches.insert(branch.to_owned(), commit.clone());
        if branch == "main" {
            outside.tips.insert(app(), commit.clone());
        }
        let is_moved = |facts: &PullFacts| facts.state == PullState::Open && facts.head_branch == branch;
        let moved = outside.pulls.iter_mut().filter(|(_, facts)| is_moved(facts));
        let moved = moved.map(|(id, facts)| {
            facts.head = commit.clone();
            id.clone()
        });
        for id in moved.collect::<Vec<_>>() {
            outside::hint(inner, LookHint::Pull(id));
        }
        commit
    }

    fn branch(&self, name: &str) -> Option<Commit> {
        self.port.universe.lock().outside.branches.get(name).cloned()
    }

    /// The script runs the checks of simulated worlds. Here they pass.
    async fn finish_checks(&self) {
        let mut inner = self.port.universe.lock();
        for facts in inner.outside.pulls.values_mut().filter(|facts| facts.checks.is_empty()) {
            outside::check(facts, CheckState::Passed);
        }
        for rerun in inner.outside.reruns.clone() {
            outside::ran(&mut inner, &rerun);
        }
    }

    async fn restart(&mut self) {
        self.port.life += 1;
        self.port.universe.lock().life = self.port.life;
    }
}

#[async_trait]
impl TrackerBench for SimPortBench {
    fn project(&self) -> ProjectId {
        app()
    }

    fn tracker(&self) -> Arc<dyn Tracker> {
        Arc::new(self.port.clone())
    }

    async fn later(&self) {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

impl SimPortBench {
    /// Changes a workspace as a person or an agent does.
    fn change_tree(&self, path: &str, change: impl FnOnce(&mut SimTree)) {
        change(self.port.universe.lock().outside.trees.get_mut(path).expect("it is there"));
    }

    /// Starts a process in a workspace, or ends it.
    fn set_inside(&self, path: &str, inside: bool) {
        let inner = &mut *self.port.universe.lock();
        let key = (inner.outside.trees[path].session, Attempt(1));
        if !inside {
            return outside::kill(inner, key, None);
        }
        let process =
            SimProcess::new(ProcessRef::new("process", "inside"), path, ConversationId::new("talk"));
        inner.outside.processes.insert(key, process);
    }

    /// Sets the fact that is a reason to keep a workspace.
    fn set_left(&self, path: &str, work: &KeepReason, left: bool) {
        self.change_tree(path, |tree| {
            let fact = match work {
                KeepReason::Uncommitted => &mut tree.facts.uncommitted,
                KeepReason::Untracked => &mut tree.facts.untracked,
                KeepReason::Stashed => &mut tree.facts.stashed,
                KeepReason::MidOperation => &mut tree.facts.mid_operation,
                other => panic!("no story leaves work of this kind: {other}"),
            };
            *fact = Some(left);
        });
    }
}

impl WorkspaceBench for SimPortBench {
    fn workspace(&self) -> &dyn Workspace {
        &self.port
    }

    fn repository(&self) -> String {
        "/app".into()
    }

    fn tip(&self) -> Commit {
        self.port.universe.lock().outside.base(&app())
    }

    fn advance(&self, file: &str) -> Commit {
        let commit = ScmBench::commit(self, "main", file, "of a colleague\n");
        let OutsideWorld { pulls, files, .. } = &mut self.port.universe.lock().outside;
        for facts in pulls.values_mut() {
            if files.get(&facts.head).is_some_and(|files| files.contains_key(file)) {
                facts.mergeable = Mergeable::Conflict { files: vec![file.to_owned()] };
            }
        }
        commit
    }

    fn branch(&self, name: &str) -> Option<Commit> {
        ScmBench::branch(self, name)
    }

    fn rescues(&self) -> Vec<Commit> {
        let inner = self.port.universe.lock();
        inner.outside.rescues.values().map(|(_, commit)| commit.clone()).collect()
    }

    fn checked_out(&self, path: &str) -> Option<CheckedOut> {
        self.port.universe.lock().outside.trees.get(path).map(|tree| tree.checked_out.clone())
    }

    fn parent(&self, path: &str) -> Commit {
        let head = self.checked_out(path).and_then(|out| out.head).expect("it has a head");
        self.port.universe.lock().outside.rebased[&head].clone()
    }

    fn read(&self, path: &str, file: &str) -> Option<String> {
        let head = self.checked_out(path)?.head?;
        let text = self.port.universe.lock().outside.files.get(&head)?.get(file)?.clone();
        String::from_utf8(text).ok()
    }

    fn is_clean(&self, path: &str) -> bool {
        let inner = self.port.universe.lock();
        inner.outside.trees.get(path).is_none_or(|tree| tree.facts == outside::nothing_to_lose())
    }

    fn commit(&self, path: &str, file: &str, text: &str) {
        let commit = {
            let outside = &mut self.port.universe.lock().outside;
            let commit = Commit::new(&format!("{path}@{}", outside.files.len()));
            let head = outside.trees[path].checked_out.head.clone().expect("it has a head");
            let mut files = outside.files.get(&head).cloned().unwrap_or_default();
            files.insert(file.to_owned(), text.into());
            outside.files.insert(commit.clone(), files);
            commit
        };
        self.change_tree(path, |tree| {
            tree.facts.detached = Some(tree.checked_out.branch.is_none());
            tree.facts.unpushed = Some(true);
            tree.checked_out.head = Some(commit);
        });
    }

    /// Branches of a simulated forge have pull requests.
    fn push(&self, path: &str) {
        let CheckedOut { branch, head } = self.checked_out(path).expect("it is there");
        let (branch, head) = (branch.expect("it has a branch"), head.expect("it has a head"));
        self.change_tree(path, |tree| tree.facts.unpushed = Some(false));
        let (base, pull) = (WorkspaceBench::tip(self), PullId { project: app(), number: 1 });
        let facts = PullFacts { head: head.clone(), ..outside::fresh_pull(&branch, base, Timestamp(0)) };
        let outside = &mut self.port.universe.lock().outside;
        outside.branches.insert(branch, head);
        outside.pulls.insert(pull, facts);
    }

    fn land(&self, path: &str) {
        self.change_tree(path, |tree| tree.facts.unpushed = Some(false));
        let head = self.checked_out(path).and_then(|out| out.head).expect("it has a head");
        self.port.universe.lock().outside.tips.insert(app(), head);
    }

    fn leave(&self, path: &str, work: &KeepReason) {
        match work {
            KeepReason::ProcessInside => self.set_inside(path, true),
            work => self.set_left(path, work, true),
        }
    }

    fn clear(&self, path: &str, work: &KeepReason) {
        match work {
            KeepReason::ProcessInside => self.set_inside(path, false),
            work => self.set_left(path, work, false),
        }
    }

    fn stray(&self, path: &str, drift: BranchDrift) {
        let branch = match drift {
            BranchDrift::Gone => {
                self.port.universe.lock().outside.trees.remove(path);
                return;
            }
            BranchDrift::Renamed(name) => {
                self.change_tree(path, |tree| tree.branch = name.into());
                Some(name)
            }
            BranchDrift::Switched(name) => Some(name),
            BranchDrift::Detached => None,
        };
        self.change_tree(path, |tree| tree.checked_out.branch = branch.map(str::to_owned));
    }
}

#[async_trait]
impl NotifierBench for SimPortBench {
    fn notifier(&self) -> Arc<dyn Notifier> {
        Arc::new(self.port.clone())
    }

    async fn accepted(&self) -> usize {
        let inner = self.port.universe.lock();
        inner.outside.notified.values().map(|times| *times as usize).sum()
    }

    async fn set_working(&mut self, works: bool) {
        let (call, fault, times) = (PortCall::Notify, Fault::FailBefore, u32::MAX);
        self.port.universe.lock().faults.plan =
            if works { FaultPlan::Calm } else { FaultPlan::These { call, fault, times } };
    }
}
