//! Chores beside the engine: keep the machine awake while agents work, send the digest of the day, and forget what is
//! past keeping.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ao_core::evidence::AgentActivity;
use ao_core::incident::Subject;
use ao_core::notice::NoticeLevel;
use ao_core::session::{Phase, Session};
use ao_core::workspace::WorkspaceState;
use ao_core::{Event, Input, ProjectId, State};
use ao_engine::{AskError, Handle};
use ao_git::{Git, Queues, Upkeep};
use ao_ports::{Clock, Scm, Seq, StoreError, TidyOrder, Workspace};
use ao_store::Store;
use tokio::sync::{oneshot, watch};
use tokio::time::{MissedTickBehavior, interval};

use crate::asks::AskDetails;
use crate::power::{self, PowerBus};

/// Rescue refs live for weeks; a day more or less is the same.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// The time between two looks at whether a repository has to be packed.
const UPKEEP: Duration = Duration::from_secs(60);

/// The pause between two looks at the hour of the digest.
const LOOK_AT_CLOCK: Duration = Duration::from_secs(15);

/// Keeps the machine awake for as long as an agent works.
pub async fn keep_awake(handle: Handle, seen: Seq, bus: PowerBus) {
    let (working, works) = watch::channel(false);
    let mut happens = handle.subscribe(seen);
    // The sender goes with it: without reports of work, the machine is not kept awake.
    let follow = async move {
        loop {
            let Ok(anybody) = handle.view(anybody_works).await else { return };
            working.send_if_modified(|before| std::mem::replace(before, anybody) != anybody);
            loop {
                match happens.next().await {
                    Ok(Some(published)) if matches!(published.event, Event::Session(..)) => break,
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => return,
                }
            }
        }
    };
    tokio::join!(follow, power::keep_awake(works, bus));
}

/// Returns true if a session is at work, or about to be. One that waits for a person is not.
fn anybody_works(state: &State) -> bool {
    state.live().any(|session: &Session| match session.phase {
        Phase::Preparing { .. } | Phase::Starting { .. } | Phase::Retrying { .. } => true,
        Phase::Running { .. } => {
            matches!(session.judgement.activity, AgentActivity::Working | AgentActivity::Starting)
        }
        _ => false,
    })
}

/// Checks the whole log once, in the background, and returns the fault that SQLite finds in the file. Faults of
/// single events become notices, as the rest of the log is intact.
pub async fn check_log(store: Store, handle: Handle) -> Option<StoreError> {
    let (tell, told) = oneshot::channel();
    let looking = store.clone();
    let thread = std::thread::Builder::new().name("ao-check-log".into()).spawn(move || {
        give_way();
        let _ = tell.send(looking.check());
    });
    if let Err(err) = thread {
        tracing::warn!(%err, "the event log is not looked through");
        return None;
    }
    let report = match told.await.ok()? {
        Ok(report) => report,
        Err(err @ StoreError::Damaged { .. }) => return Some(err),
        Err(err) => {
            tracing::warn!(%err, "the event log could not be looked through");
            return None;
        }
    };
    if let Some(detail) = report.damage {
        if let Err(err) = store.suspect() {
            tracing::error!(%err, "that the event log is damaged is not remembered");
        }
        return Some(StoreError::Damaged { path: store.path().to_string(), detail });
    }
    if let Some(first) = report.problems.first() {
        tracing::error!(problems = ?report.problems, "the event log has faults");
        let told = Input::notify(
            NoticeLevel::Action,
            Subject::Host,
            "event-log-faults",
            format!("the event log has faults, and `ao events check` names them; the first: {first}"),
        );
        let _ = handle.ask(told).await;
    }
    None
}

/// Gives this thread the lowest priority.
fn give_way() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 19);
}

/// Sends the digest once a day, at the configured time. A digest that was missed while the daemon was down is sent at
/// the next start.
pub async fn tell_of_the_day(
    handle: Handle,
    clock: Arc<dyn Clock>,
    when: impl Fn() -> Option<(jiff::civil::Time, jiff::tz::TimeZone)>,
) {
    // A day without news stays so, also if some arrive later.
    let mut told = None;
    loop {
        if let Some((time, zone)) = when() {
            let now = jiff::Timestamp::from_millisecond(clock.now().0).unwrap_or_default();
            let day = last_day(now, time, &zone);
            if told != Some(day) && handle.ask(Input::Digest { day: day.to_string() }).await.is_err() {
                return;
            }
            told = Some(day);
        }
        // Looked at again and again, because computers sleep and people edit.
        tokio::time::sleep(LOOK_AT_CLOCK).await;
    }
}

/// The last day on which this time has come.
fn last_day(now: jiff::Timestamp, time: jiff::civil::Time, zone: &jiff::tz::TimeZone) -> jiff::civil::Date {
    let here = now.to_zoned(zone.clone());
    let today = here.date();
    if here.time() >= time { today } else { today.yesterday().unwrap_or(today) }
}

/// Packs the refs and objects of the projects' repositories as they grow.
pub async fn keep_repositories(handle: Handle, queues: Arc<Queues>) {
    let mut ticks = interval(UPKEEP);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // Not while everything starts at once.
    ticks.tick().await;
    loop {
        ticks.tick().await;
        let Ok(repositories) = handle.view(repositories).await else { return };
        for repository in &repositories {
            match ao_git::upkeep(&Git::plain(Path::new(repository)), &queues).await {
                Ok(Upkeep::NotNeeded) => {}
                Ok(done) => tracing::debug!(%repository, ?done, "the repository is kept in order"),
                Err(err) => tracing::warn!(%repository, %err, "the repository could not be packed"),
            }
        }
    }
}

fn repositories(state: &State) -> BTreeSet<String> {
    state.projects.values().map(|project| project.config.path.clone()).collect()
}

/// Archives, once a minute, what merged pull requests leave in the repository, and releases what is past its time.
pub async fn tidy_merged(handle: Handle, project: ProjectId, scm: Arc<dyn Scm>, clock: Arc<dyn Clock>) {
    let mut ticks = interval(UPKEEP);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut archived, mut failure) = (BTreeSet::new(), None);
    loop {
        ticks.tick().await;
        let of = project.clone();
        let known = handle.view(move |state| (state.settings.keep_rescues, unneeded_rescues(state, &of)));
        let Ok((keep, rescues)) = known.await else { return };
        let fresh = rescues.difference(&archived).cloned().collect();
        let order = TidyOrder { before: clock.now() - keep, rescues: fresh };
        match scm.tidy(&project, &order).await {
            Ok(refs) => {
                (archived, failure) = (rescues, None);
                if refs > 0 {
                    tracing::debug!(%project, refs, "refs of merged pull requests are archived");
                }
            }
            // It is tried every minute; the same reason is logged once, and a limit where it was met.
            Err(err) if failure.as_ref() == Some(&err) || err.limited_for().is_some() => {}
            Err(err) => {
                tracing::warn!(%project, %err, "refs of merged pull requests are not archived");
                failure = Some(err);
            }
        }
    }
}

/// The rescue refs of sessions that were merged, and so cannot be restored, and whose workspaces are gone for good.
fn unneeded_rescues(state: &State, project: &ProjectId) -> BTreeSet<String> {
    let merged = state.sessions.values().filter(|session| {
        session.spec.project == *project
            && session.is_merged()
            && session.workspace.state == WorkspaceState::Removed
    });
    merged.filter_map(|session| session.workspace.rescue.clone()).collect()
}

/// Forgets, once a day, what could be restored and is past its time.
pub async fn forget_rescues(
    handle: Handle,
    workspaces: BTreeMap<String, Arc<dyn Workspace>>,
    clock: Arc<dyn Clock>,
) {
    let mut days = interval(DAY);
    days.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        days.tick().await;
        let known = handle.view(|state| (repositories(state), state.settings.keep_rescues));
        let Ok((repositories, keep)) = known.await else { return };
        let before = clock.now() - keep;
        for repository in &repositories {
            for (kind, workspace) in &workspaces {
                match workspace.forget_rescues(repository, before).await {
                    Ok(0) => {}
                    Ok(forgotten) => {
                        tracing::info!(%repository, kind, forgotten, "old rescues are forgotten");
                    }
                    Err(err) => tracing::warn!(%repository, kind, %err, "old rescues are kept"),
                }
            }
        }
    }
}

/// Forgets the long asks of sessions that have ended.
pub async fn forget_asks(handle: Handle, asks: AskDetails) {
    let mut days = interval(DAY);
    days.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        days.tick().await;
        let Ok(live) = handle.view(|state| state.live().map(|session| session.id).collect::<BTreeSet<_>>()).await else {
            return;
        };
        asks.retain(live).await;
    }
}

/// The pause between two measurements of free memory while a session waits for it, or might have to.
const MEMORY: Duration = Duration::from_secs(10);

/// Reports free memory at intervals, if a minimum is configured.
pub async fn measure_memory(handle: Handle) {
    let mut ticks = interval(MEMORY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if tell_memory(&handle).await.is_err() {
            return;
        }
    }
}

/// Measures free memory and reports it to the engine, if a minimum is configured.
pub async fn tell_memory(handle: &Handle) -> Result<(), AskError> {
    if handle.view(|state| state.settings.min_free_mb == 0 && state.scarce_mb.is_none()).await? {
        return Ok(());
    }
    if let Some(free_mb) = free_memory_mb() {
        handle.ask(Input::Host { free_mb }).await?;
    }
    Ok(())
}

/// Returns the memory that programs can still get without swapping, on Linux. On other systems it is unknown and
/// limits nothing.
fn free_memory_mb() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_told_from_its_hour_on_in_its_own_zone() {
        let day = |now: &str, zone: &str| {
            let zone = jiff::tz::TimeZone::get(zone).unwrap();
            last_day(now.parse().unwrap(), jiff::civil::time(18, 0, 0, 0), &zone).to_string()
        };
        assert_eq!(day("2026-03-02T17:59:59Z", "UTC"), "2026-03-01");
        assert_eq!(day("2026-03-02T18:00:00Z", "UTC"), "2026-03-02");
        assert_eq!(day("2026-03-02T17:00:00Z", "Europe/Berlin"), "2026-03-02");
        assert_eq!(day("2026-03-02T16:59:00Z", "Europe/Berlin"), "2026-03-01");
    }
}
