//! The part that all drivers share: options, runtimes, and the state of each process.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{fmt, io};

use ao_core::{Attempt, SessionId};
use ao_ports::{AgentError, Clock, ProcessRef, Runtime, Runtimes};
use tokio::time::Instant;

use super::drivers::follower::OutputFollower;
use super::drivers::output::OutputReader;
use super::memory::{self, TypedMemory};
use super::options::Options;
use crate::hook::HookHistory;

/// A spinner that has not moved for this long may be a stale picture.
const MOVES: Duration = Duration::from_secs(10);

/// The shared part of the drivers.
pub(super) struct DriverBase {
    pub(super) options: Options,
    pub(super) runtimes: Runtimes,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) history: Option<Arc<HookHistory>>,
    pub(super) state: PathBuf,
    pub(super) reader: Arc<OutputReader>,
    pub(super) processes: Mutex<HashMap<(SessionId, Attempt), Arc<AgentProcess>>>,
}

/// The state of one process.
pub(super) struct AgentProcess {
    session: SessionId,
    attempt: Attempt,
    state: PathBuf,
    /// Locked by each task that types, for the whole time. Absent until it was read.
    memory: tokio::sync::Mutex<Option<TypedMemory>>,
    /// The reader of its output.
    pub(super) follower: OutputFollower,
    moved: Mutex<Option<Instant>>,
}

impl DriverBase {
    /// Returns the runtime that a process lives in.
    pub(super) fn runtime(&self, process: &ProcessRef) -> Result<&dyn Runtime, AgentError> {
        self.runtimes.of(process).map_err(failed)
    }

    pub(super) fn unable(&self, wish: &str) -> AgentError {
        AgentError::Unable { agent: self.options.name.clone(), wish: wish.to_owned() }
    }

    pub(super) fn agent_process(&self, session: SessionId, attempt: Attempt) -> Arc<AgentProcess> {
        let mut processes = self.processes.lock().expect("no thread panics while looking one up");
        let new = || {
            Arc::new(AgentProcess {
                session,
                attempt,
                state: self.state.clone(),
                memory: tokio::sync::Mutex::default(),
                follower: OutputFollower::new(session, attempt, self.reader.clone()),
                moved: Mutex::default(),
            })
        };
        processes.entry((session, attempt)).or_insert_with(new).clone()
    }

    /// Drops the state of earlier processes of this session.
    pub(super) fn clear_before(&self, session: SessionId, attempt: Attempt) {
        let mut processes = self.processes.lock().expect("no thread panics while looking one up");
        processes.retain(|(of, number), _| *of != session || *number >= attempt);
        memory::forget_before(&self.state, session, attempt);
    }

    /// Drops the state of a process that has ended.
    pub(super) fn clear(&self, session: SessionId, attempt: Attempt) {
        self.processes.lock().expect("no thread panics while looking one up").remove(&(session, attempt));
        memory::forget(&self.state, session, attempt);
    }
}

impl AgentProcess {
    /// Locks the memory of what was typed at the process.
    pub(super) async fn memory(&self) -> io::Result<tokio::sync::MappedMutexGuard<'_, TypedMemory>> {
        let mut memory = self.memory.lock().await;
        if memory.is_none() {
            *memory = Some(TypedMemory::open(&self.state, self.session, self.attempt)?);
        }
        Ok(tokio::sync::MutexGuard::map(memory, |memory| memory.get_or_insert_default()))
    }

    pub(super) fn moved(&self) {
        *self.moved.lock().expect("no thread panics while setting it") = Some(Instant::now());
    }

    pub(super) fn moves(&self) -> bool {
        let moved = *self.moved.lock().expect("no thread panics while setting it");
        moved.is_some_and(|moved| moved.elapsed() < MOVES)
    }
}

pub(super) fn failed(err: impl fmt::Display) -> AgentError {
    AgentError::Failed(err.to_string())
}
