//! Clean-up beside a runtime of another machine, whose processes are not in `/proc`.

use std::sync::Arc;
use std::time::Duration;

use ao_core::Attempt;
use ao_core::input::ProcessLife;
use ao_core::session::ProcessRef;
use ao_core::workspace::WorkspaceTree;
use ao_ports::{
    CensusEntry, EndOrder, OutputPart, Runtime, RuntimeAbilities, RuntimeError, Screen, StartSpec,
    WriteOrder, WriteOutcome,
};
use async_trait::async_trait;
use camino::Utf8Path;

use super::*;
use crate::clock::SystemClock;
use crate::daemon::DaemonOptions;
use crate::registry::{Adapter, AdapterMaker, HostDeps, Registry};

const SESSION: SessionId = SessionId(7);
const PLACE: &str = "/src/app/.worktrees/app-7";

/// A runtime elsewhere, with one process of the session; without a life, it cannot be reached.
struct Elsewhere(Option<ProcessLife>);

fn no_route<T>() -> Result<T, RuntimeError> {
    Err(RuntimeError::Failed("no route to it".into()))
}

#[async_trait]
impl Runtime for Elsewhere {
    fn name(&self) -> &str {
        "elsewhere"
    }

    fn abilities(&self) -> RuntimeAbilities {
        RuntimeAbilities::default()
    }

    async fn start(&self, _: &StartSpec) -> Result<ProcessRef, RuntimeError> {
        no_route()
    }

    async fn reference(&self, _: SessionId, _: Attempt) -> Result<Option<ProcessRef>, RuntimeError> {
        no_route()
    }

    async fn write(&self, _: &WriteOrder) -> Result<WriteOutcome, RuntimeError> {
        no_route()
    }

    async fn output(
        &self,
        _: &ProcessRef,
        _: u64,
        _: usize,
        _: Duration,
    ) -> Result<OutputPart, RuntimeError> {
        no_route()
    }

    async fn screen(&self, _: &ProcessRef) -> Result<Screen, RuntimeError> {
        no_route()
    }

    async fn look(&self, _: &ProcessRef) -> ProcessLife {
        ProcessLife::Unknown
    }

    async fn folder(&self, _: &ProcessRef) -> Option<String> {
        None
    }

    async fn census(&self) -> Result<Vec<CensusEntry>, RuntimeError> {
        let Some(life) = self.0 else { return no_route() };
        let process = ProcessRef::new("elsewhere", "1");
        Ok(vec![CensusEntry { process, session: SESSION, attempt: Attempt(1), life, folder: None }])
    }

    async fn end(&self, _: &EndOrder) -> Result<(), RuntimeError> {
        no_route()
    }
}

/// Returns the decisions about a tree that the adapter would let go and about one that has untracked files, with the
/// reasons for the first.
async fn judged(life: Option<ProcessLife>) -> ([TreeDecision; 2], Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let make = move |_: &HostDeps| -> Arc<dyn Runtime> { Arc::new(Elsewhere(life)) };
    let maker = AdapterMaker::Runtime(RuntimeAbilities::default(), Arc::new(make));
    let mut registry = Registry::built_in();
    registry.add(Adapter::new("elsewhere", "another machine", maker));
    let options = DaemonOptions {
        background: false,
        registry: Arc::new(registry),
        ..DaemonOptions::new(Utf8Path::from_path(folder.path()).unwrap(), "/nonexistent/ao")
    };
    let daemon = Daemon::start(options, Arc::new(SystemClock)).await.unwrap();
    let workspace = daemon.adapters.workspace("worktree").unwrap();
    let project = ProjectId::new("app");
    let tree = TreeRef {
        session: SESSION,
        project: project.clone(),
        repository: "/src/app".into(),
        recorded: Some(WorkspaceTree { path: PLACE.into(), base: "b1".into() }),
        branch: "ao/app-7".into(),
    };
    let known = (tree, "app-7".to_owned(), false);
    let order = CleanupRequest { dry_run: true, artifacts: true, ..CleanupRequest::default() };
    let mut reports = Vec::new();
    for reasons in [vec![], vec![KeepReason::Untracked]] {
        let survey = WorkspaceSurvey {
            session: Some(SESSION),
            path: PLACE.into(),
            bytes: 10,
            ignored_bytes: 5,
            reasons,
            reasons_against_discard: vec![],
        };
        reports.push(judge(&daemon, workspace, &order, &project, survey, Some(&known)).await.unwrap());
    }
    daemon.stop().await.unwrap();
    ([reports[0].decision, reports[1].decision], reports.swap_remove(0).reasons)
}

#[tokio::test]
async fn a_dry_run_promises_nothing_about_a_tree_that_a_process_may_live_in() {
    let kept = [TreeDecision::Keep; 2];
    for (life, why) in [
        (Some(ProcessLife::Alive { busy: false }), "a process still works in it"),
        (Some(ProcessLife::Unknown), "it could not be found out whether a process works in it"),
        (None, "it could not be found out whether a process works in it: no route to it"),
    ] {
        assert_eq!(judged(life).await, (kept, vec![why.to_owned()]), "{life:?}");
    }
    let gone = judged(Some(ProcessLife::Gone { code: None })).await;
    assert_eq!(gone, ([TreeDecision::Remove, TreeDecision::Clean], vec![]));
}
