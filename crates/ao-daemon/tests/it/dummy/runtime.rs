//! A runtime whose processes exist only in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ao_core::input::ProcessLife;
use ao_core::session::ProcessRef;
use ao_core::{Attempt, SessionId};
use ao_daemon::registry::{Adapter, AdapterMaker, HostDeps};
use ao_ports::{
    CensusEntry, EndOrder, OutputPart, Runtime, RuntimeAbilities, RuntimeError, Screen, StartSpec,
    WriteOrder, WriteOutcome,
};
use async_trait::async_trait;
use tokio::sync::watch;

const NAME: &str = "dummy";
const ABILITIES: RuntimeAbilities = RuntimeAbilities {
    terminal: false,
    pipes: false,
    output: true,
    remembers_writes: false,
    shares_files: true,
    places_files: false,
};

pub(super) fn adapter() -> Adapter {
    let make = |_: &HostDeps| -> Arc<dyn Runtime> { Arc::<Dummy>::default() };
    Adapter::new(NAME, "processes in memory", AdapterMaker::Runtime(ABILITIES, Arc::new(make)))
}

#[derive(Default)]
struct Dummy {
    started: Mutex<BTreeMap<(SessionId, Attempt), String>>,
    ended: watch::Sender<BTreeSet<(SessionId, Attempt)>>,
}

fn reference(session: SessionId, attempt: Attempt) -> ProcessRef {
    ProcessRef::new(NAME, format!("{session}/{attempt}"))
}

fn unable<T>(wish: &str) -> Result<T, RuntimeError> {
    Err(RuntimeError::Unable { runtime: NAME.into(), wish: wish.into() })
}

impl Dummy {
    fn has_ended(&self, process: &ProcessRef) -> bool {
        self.ended.borrow().iter().any(|(session, attempt)| reference(*session, *attempt) == *process)
    }
}

#[async_trait]
impl Runtime for Dummy {
    fn name(&self) -> &str {
        NAME
    }

    fn abilities(&self) -> RuntimeAbilities {
        ABILITIES
    }

    async fn start(&self, spec: &StartSpec) -> Result<ProcessRef, RuntimeError> {
        self.started.lock().unwrap().insert((spec.session, spec.attempt), spec.path.clone());
        Ok(reference(spec.session, spec.attempt))
    }

    async fn reference(
        &self,
        session: SessionId,
        attempt: Attempt,
    ) -> Result<Option<ProcessRef>, RuntimeError> {
        let is_known = self.started.lock().unwrap().contains_key(&(session, attempt));
        Ok(is_known.then(|| reference(session, attempt)))
    }

    async fn write(&self, _: &WriteOrder) -> Result<WriteOutcome, RuntimeError> {
        unable("be written to")
    }

    async fn output(
        &self,
        process: &ProcessRef,
        _: u64,
        _: usize,
        wait: Duration,
    ) -> Result<OutputPart, RuntimeError> {
        let mut ended = self.ended.subscribe();
        let _ = tokio::time::timeout(wait, ended.wait_for(|_| self.has_ended(process))).await;
        Ok(OutputPart { from: 0, bytes: vec![], ended: self.has_ended(process) })
    }

    async fn screen(&self, _: &ProcessRef) -> Result<Screen, RuntimeError> {
        unable("show a screen")
    }

    async fn look(&self, process: &ProcessRef) -> ProcessLife {
        match self.has_ended(process) {
            true => ProcessLife::Gone { code: None },
            false => ProcessLife::Alive { busy: true },
        }
    }

    async fn folder(&self, _: &ProcessRef) -> Option<String> {
        None
    }

    async fn census(&self) -> Result<Vec<CensusEntry>, RuntimeError> {
        let started = self.started.lock().unwrap().clone();
        let entry = |((session, attempt), folder)| {
            let process = reference(session, attempt);
            let life = match self.has_ended(&process) {
                true => ProcessLife::Gone { code: None },
                false => ProcessLife::Alive { busy: true },
            };
            CensusEntry { process, session, attempt, life, folder: Some(folder) }
        };
        Ok(started.into_iter().map(entry).collect())
    }

    async fn end(&self, order: &EndOrder) -> Result<(), RuntimeError> {
        self.ended.send_modify(|ended| ended.extend([(order.session, order.attempt)]));
        Ok(())
    }
}
