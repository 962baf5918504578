//! Fake processes that outlive the daemon. They promise no more than [`Runtime`] does.

use std::time::Duration;

use ao_core::Attempt;
use ao_core::SessionId;
use ao_core::input::ProcessLife;
use ao_core::session::ProcessRef;
use ao_ports::{
    CensusEntry, EndOrder, OutputPart, Runtime, RuntimeAbilities, RuntimeError, Screen, StartSpec,
    WriteOrder, WriteOutcome,
};
use async_trait::async_trait;

use super::FakePort;
use crate::faults::PortCall;
use crate::outside::{self, AgentState};
use crate::universe::{FakeBug, UniverseState};
use crate::watch::Invariant;

#[async_trait]
impl Runtime for FakePort {
    fn name(&self) -> &str {
        "process"
    }

    fn abilities(&self) -> RuntimeAbilities {
        RuntimeAbilities { terminal: true, shares_files: true, ..Default::default() }
    }

    async fn reference(
        &self,
        session: SessionId,
        attempt: Attempt,
    ) -> Result<Option<ProcessRef>, RuntimeError> {
        let inner = self.universe.lock();
        Ok(inner.outside.processes.get(&(session, attempt)).map(|process| process.name.clone()))
    }

    async fn start(&self, spec: &StartSpec) -> Result<ProcessRef, RuntimeError> {
        let passed = self.universe.before(self.life, PortCall::Start).await.map_err(RuntimeError::Failed)?;
        let foreign_ports = {
            let inner = self.universe.lock();
            // One that runs already has its ports.
            let is_new = !inner.outside.processes.contains_key(&(spec.session, spec.attempt));
            let taken = |port: &u16| is_new && inner.outside.foreign_ports.contains(port);
            spec.ports.iter().copied().find(taken)
        };
        if let Some(port) = foreign_ports {
            return Err(RuntimeError::PortTaken { port });
        }
        for _ in 0..passed.times() {
            start(&mut self.universe.lock(), spec);
        }
        self.universe.after(passed).await.map_err(RuntimeError::Failed)?;
        Ok(name_of(spec.session, spec.attempt))
    }

    async fn write(&self, _: &WriteOrder) -> Result<WriteOutcome, RuntimeError> {
        Err(unable("write"))
    }

    async fn output(
        &self,
        _: &ProcessRef,
        _: u64,
        _: usize,
        _: Duration,
    ) -> Result<OutputPart, RuntimeError> {
        Err(unable("show output"))
    }

    async fn screen(&self, _: &ProcessRef) -> Result<Screen, RuntimeError> {
        Err(unable("show a screen"))
    }

    async fn look(&self, process: &ProcessRef) -> ProcessLife {
        let inner = self.universe.lock();
        inner
            .outside
            .processes
            .values()
            .find(|known| known.name == *process)
            .map_or(ProcessLife::Unknown, life)
    }

    async fn folder(&self, _: &ProcessRef) -> Option<String> {
        None
    }

    async fn census(&self) -> Result<Vec<CensusEntry>, RuntimeError> {
        let passed = self.universe.before(self.life, PortCall::Census).await.map_err(RuntimeError::Failed)?;
        let seen = {
            let inner = self.universe.lock();
            if inner.elapsed() < inner.outside.blind_until {
                // The socket is gone, or the pod list came back empty.
                vec![]
            } else {
                let counted = |(key, process): (&(SessionId, Attempt), &outside::SimProcess)| CensusEntry {
                    process: process.name.clone(),
                    session: key.0,
                    attempt: key.1,
                    life: life(process),
                    folder: process.lives().then(|| process.path.clone()),
                };
                // Ended processes are forgotten; those that died on their own stay listed.
                let known =
                    inner.outside.processes.iter().filter(|(key, _)| !inner.outside.ended.contains(*key));
                known.map(counted).collect()
            }
        };
        self.universe.after(passed).await.map_err(RuntimeError::Failed)?;
        Ok(seen)
    }

    async fn end(&self, order: &EndOrder) -> Result<(), RuntimeError> {
        let passed = self.universe.before(self.life, PortCall::End).await.map_err(RuntimeError::Failed)?;
        end(&mut self.universe.lock(), order);
        self.universe.after(passed).await.map_err(RuntimeError::Failed)
    }
}

fn start(inner: &mut UniverseState, spec: &StartSpec) {
    let key = (spec.session, spec.attempt);
    let decided = inner.log.ledger.was_launching(spec.session, spec.attempt);
    inner.must(decided, Invariant::CommitFirst, || {
        format!("attempt {} of {} is started before it was in the log", spec.attempt, spec.session)
    });
    // A late start of an attempt that was ended starts nothing; a second start returns the first process.
    if inner.outside.processes.contains_key(&key) || inner.outside.ended.contains(&key) {
        return;
    }
    let ready = inner.outside.trees.get(&spec.path).is_some_and(|tree| tree.session == spec.session);
    inner.must(ready, Invariant::CommitFirst, || {
        format!("{} is started in `{}`, which is no workspace of its own", spec.session, spec.path)
    });
    let set_up = inner.outside.trees.get(&spec.path).is_some_and(|tree| tree.set_up);
    inner.must(set_up, Invariant::SetUpFirst, || {
        format!("{} is started in `{}`, which has not been set up", spec.session, spec.path)
    });
    let shared =
        inner.outside.living().find(|(_, other)| other.ports.iter().any(|port| spec.ports.contains(port)));
    if let Some(((other, _), _)) = shared {
        let what = format!("{} is started with ports of {other}: {:?}", spec.session, spec.ports);
        inner.broken(Invariant::PortsApart, what);
    }
    let twin = inner
        .outside
        .living()
        .find(|(of, process)| of.0 == spec.session || process.path == spec.path)
        .map(|(of, _)| *of);
    if let Some((session, attempt)) = twin {
        let what = format!(
            "attempt {} of {} is started in `{}` while attempt {attempt} of {session} lives",
            spec.attempt, spec.session, spec.path
        );
        inner.broken(Invariant::OneProcessPerSession, what);
    }
    outside::start(inner, spec, name_of(spec.session, spec.attempt));
    let cap = inner.log.ledger.widest_cap.max(inner.log.shadow.settings.max_live);
    let living = inner.outside.living().count();
    inner.must(living as u32 <= cap, Invariant::CapsHold, || {
        format!("{living} processes live, and the cap was never above {cap}")
    });
}

fn end(inner: &mut UniverseState, order: &EndOrder) {
    let wanted = inner.log.ledger.end_wanted(order.session, order.attempt);
    inner.must(wanted, Invariant::CommitFirst, || {
        format!("attempt {} of {} is ended without a request in the log", order.attempt, order.session)
    });
    let key = (order.session, order.attempt);
    if inner.fake_bug == FakeBug::Runtime {
        return;
    }
    inner.outside.ended.insert(key);
    if let Some(process) = inner.outside.processes.get_mut(&key) {
        process.die(None);
    }
}

fn life(process: &outside::SimProcess) -> ProcessLife {
    match process.state {
        AgentState::Dead { code } => ProcessLife::Gone { code },
        _ if !process.held => ProcessLife::Unheld,
        AgentState::Working { .. } => ProcessLife::Alive { busy: true },
        _ => ProcessLife::Alive { busy: false },
    }
}

fn name_of(session: SessionId, attempt: Attempt) -> ProcessRef {
    ProcessRef::new("process", format!("{session}.{attempt}"))
}

fn unable(wish: &str) -> RuntimeError {
    RuntimeError::Unable { runtime: "process".into(), wish: wish.into() }
}
