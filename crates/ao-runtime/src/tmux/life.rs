//! Determines whether an agent is alive, and whether it is busy.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

use ao_core::input::ProcessLife;
use ao_ports::{CensusEntry, ProcessRef, RuntimeError};

use super::control::ControlError;
use super::runtime::{NAME, SharedTmux};
use crate::host::files::no_procfs;
use crate::host::life::entry;
use crate::host::procfs::{self, ProcessStat};
use crate::host::{AttemptDir, ProcessRecord};

pub(super) async fn look(shared: &Arc<SharedTmux>, process: &ProcessRef) -> ProcessLife {
    let Ok(attempt_dir) = shared.find(process) else { return ProcessLife::Unknown };
    shared.host.samples.look(attempt_dir.key, || one(shared, &attempt_dir)).await
}

async fn one(shared: &Arc<SharedTmux>, attempt_dir: &AttemptDir) -> ProcessLife {
    match count(shared, vec![attempt_dir.clone()]).await.as_deref() {
        Ok([CensusEntry { life, .. }]) => *life,
        _ => ProcessLife::Unknown,
    }
}

pub(super) async fn census(shared: &Arc<SharedTmux>) -> Result<Vec<CensusEntry>, RuntimeError> {
    let agents = shared.agents();
    let places = tokio::task::spawn_blocking(move || AttemptDir::unended(&agents)).await;
    count(shared, places.map_err(|err| RuntimeError::Failed(err.to_string()))??).await
}

/// Looks at several agents with one request to tmux and one reading of the process table.
async fn count(shared: &Arc<SharedTmux>, places: Vec<AttemptDir>) -> Result<Vec<CensusEntry>, RuntimeError> {
    // An answer of tmux is part of the look: without it an agent may be alive and yet unreachable.
    let probe = match shared.control.ask(&["display-message -p ''".to_owned()]).await {
        Ok(_) | Err(ControlError::Gone) => Ok(()),
        Err(err) => Err(err),
    };
    let shared = shared.clone();
    let counted = tokio::task::spawn_blocking(move || {
        let table = procfs::all().map(ProcessIndex::of);
        let look = |place: &AttemptDir| {
            let record = place.pane().map(|pane| pane.map(|pane| pane.process));
            entry(NAME, place, record, judge(&shared, place, &probe, &table))
        };
        places.iter().map(look).collect()
    });
    counted.await.map_err(|err| RuntimeError::Failed(err.to_string()))
}

fn judge(
    shared: &SharedTmux,
    attempt_dir: &AttemptDir,
    probe: &Result<(), ControlError>,
    table: &io::Result<ProcessIndex>,
) -> Result<ProcessLife, RuntimeError> {
    // Checked before the files: the waiter writes the exit first and removes itself afterwards.
    let waited_for = shared.is_waited_for(attempt_dir.key);
    if let Some(exit) = attempt_dir.exit()? {
        return Ok(ProcessLife::Gone { code: exit.code });
    }
    probe.clone()?;
    let table = table.as_ref().map_err(no_procfs)?;
    let Some(pane) = attempt_dir.pane()? else {
        // A start is under way, or was interrupted and will be retried.
        return Ok(ProcessLife::Unknown);
    };
    if !table.has(&pane.process) && !waited_for {
        return Ok(ProcessLife::Gone { code: None });
    }
    Ok(ProcessLife::Alive { busy: shared.host.samples.is_busy(attempt_dir.key, table.used(&pane.process)) })
}

/// All processes of the host, indexed by terminal session and by parent.
struct ProcessIndex {
    sessions: HashMap<i32, Vec<ProcessStat>>,
    children: HashMap<i32, Vec<ProcessStat>>,
}

impl ProcessIndex {
    fn of(all: Vec<ProcessStat>) -> ProcessIndex {
        let mut table = ProcessIndex { sessions: HashMap::new(), children: HashMap::new() };
        for process in all {
            table.sessions.entry(process.session).or_default().push(process);
            table.children.entry(process.parent).or_default().push(process);
        }
        table
    }

    /// Returns all processes on an agent's terminal. The agent leads its session, and shells in it create groups.
    fn held_with(&self, agent: &ProcessRecord) -> impl Iterator<Item = &ProcessStat> {
        let start = agent.start;
        self.sessions.get(&agent.pid).into_iter().flatten().filter(move |process| process.start >= start)
    }

    fn has(&self, agent: &ProcessRecord) -> bool {
        let is_it = |process: &ProcessStat| {
            process.pid == agent.pid && process.start == agent.start && !process.zombie
        };
        agent.is_of_this_boot() && self.held_with(agent).any(is_it)
    }

    /// Returns the processor time of all processes on the agent's terminal and of all their descendants, including
    /// ended ones: a build is many programs, none of which lives long. Agents start some of them in sessions of their
    /// own.
    fn used(&self, agent: &ProcessRecord) -> u64 {
        let mut open: Vec<&ProcessStat> = self.held_with(agent).collect();
        let mut seen = HashSet::new();
        let mut used = 0;
        while let Some(process) = open.pop() {
            if seen.insert(process.pid) {
                used += process.used + process.reaped;
                open.extend(self.children.get(&process.pid).into_iter().flatten());
            }
        }
        used
    }
}
