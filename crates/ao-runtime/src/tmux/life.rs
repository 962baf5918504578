//! Whether an agent lives, and whether it does something.

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;

use ao_core::input::{Counted, Life};
use ao_ports::{ProcessRef, RuntimeError};

use super::control::ControlError;
use super::runtime::Shared;
use crate::host::files::no_procfs;
use crate::host::life::counted;
use crate::host::procfs::{self, ProcessStat};
use crate::host::{Place, Record};

pub(super) async fn look(shared: &Arc<Shared>, process: &ProcessRef) -> Life {
    let Ok(place) = shared.find(process) else { return Life::Unknown };
    shared.samples.look(place.key, || one(shared, &place)).await
}

async fn one(shared: &Arc<Shared>, place: &Place) -> Life {
    match count(shared, vec![place.clone()]).await.as_deref() {
        Ok([Counted { life, .. }]) => *life,
        _ => Life::Unknown,
    }
}

pub(super) async fn census(shared: &Arc<Shared>) -> Result<Vec<Counted>, RuntimeError> {
    let agents = shared.agents();
    let places = tokio::task::spawn_blocking(move || Place::unended(&agents)).await;
    count(shared, places.map_err(|err| RuntimeError::Failed(err.to_string()))??).await
}

/// Looks at several with one question to tmux and one reading of the process table.
async fn count(shared: &Arc<Shared>, places: Vec<Place>) -> Result<Vec<Counted>, RuntimeError> {
    // Whether tmux answers is a part of the look: without it an agent may live and yet not be reached.
    let probe = match shared.control.ask(&["display-message -p ''".to_owned()]).await {
        Ok(_) | Err(ControlError::Gone) => Ok(()),
        Err(err) => Err(err),
    };
    let shared = shared.clone();
    let counted = tokio::task::spawn_blocking(move || {
        let table = procfs::all().map(Table::of);
        places.iter().map(|place| counted(place.key, judge(&shared, place, &probe, &table))).collect()
    });
    counted.await.map_err(|err| RuntimeError::Failed(err.to_string()))
}

fn judge(
    shared: &Shared,
    place: &Place,
    probe: &Result<(), ControlError>,
    table: &io::Result<Table>,
) -> Result<Life, RuntimeError> {
    // Asked before the files are: the waiter writes the exit first and stops counting it afterwards.
    let waited_for = shared.is_waited_for(place.key);
    if let Some(exit) = place.exit()? {
        return Ok(Life::Gone { code: exit.code });
    }
    probe.clone()?;
    let table = table.as_ref().map_err(no_procfs)?;
    let Some(pane) = place.pane()? else {
        // A start is under way, or was cut off and will be asked for again.
        return Ok(Life::Unknown);
    };
    if !table.has(&pane.process) && !waited_for {
        return Ok(Life::Gone { code: None });
    }
    Ok(Life::Alive { busy: shared.samples.is_busy(place.key, table.used(&pane.process)) })
}

/// All processes of the host, to be looked up by the terminal's session that they are in, and by their parents.
struct Table {
    sessions: HashMap<i32, Vec<ProcessStat>>,
    children: HashMap<i32, Vec<ProcessStat>>,
}

impl Table {
    fn of(all: Vec<ProcessStat>) -> Table {
        let mut table = Table { sessions: HashMap::new(), children: HashMap::new() };
        for process in all {
            table.sessions.entry(process.session).or_default().push(process);
            table.children.entry(process.parent).or_default().push(process);
        }
        table
    }

    /// All that an agent's terminal holds. The agent leads its session, and shells in it make groups.
    fn held_with(&self, agent: &Record) -> impl Iterator<Item = &ProcessStat> {
        let start = agent.start;
        self.sessions.get(&agent.pid).into_iter().flatten().filter(move |process| process.start >= start)
    }

    fn has(&self, agent: &Record) -> bool {
        let is_it =
            |process: &ProcessStat| process.pid == agent.pid && process.start == agent.start && !process.zombie;
        agent.is_of_this_boot() && self.held_with(agent).any(is_it)
    }

    /// The processor time of all that the agent's terminal holds and of all below that, those counted that have come and
    /// gone: a build is many programs, none of which lives long. Agents start some of them in sessions of their own.
    fn used(&self, agent: &Record) -> u64 {
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
