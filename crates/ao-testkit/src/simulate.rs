//! One seed, one world: faults for a number of steps, then rest, then the final checks.

use std::collections::BTreeMap;
use std::sync::Arc;

use ao_core::assign::AutoAssign;
use ao_core::budget::SpendLimits;
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::pull::PullState;
use ao_core::{Input, PullId};
use ao_engine::CoreRules;
use ao_ports::LookHint;

use crate::faults::{Fault, FaultPlan};
use crate::mutant::Mutant;
use crate::outside::{self, WorldEvent};
use crate::parts::DaemonParts;
use crate::script;
use crate::sim::SimDriver;
use crate::trace::Trace;
use crate::universe::FakeBug;
use crate::watch::{self, Invariant, Violation};
use crate::world::SimWorld;

/// The setup of a world.
#[derive(Debug, Clone)]
pub struct SimConfig {
    /// The number of steps after which the faults stop.
    pub steps: u64,
    /// The most calls of a thousand that fail; each seed draws its own rate.
    pub per_mille: u16,
    /// Number of trace lines that are kept; none while many seeds run.
    pub trace: usize,
    /// Counts the events of the log by kind, to see what a script reaches.
    pub count_events: bool,
    /// A bug in the rules.
    pub mutant: Option<Mutant>,
    /// A bug in a fake.
    pub fake_bug: FakeBug,
    /// Checks only this invariant; for tests that plant a bug and wait for the violation.
    pub watching: Option<Invariant>,
}

impl Default for SimConfig {
    fn default() -> SimConfig {
        SimConfig {
            steps: 300,
            per_mille: 200,
            trace: 0,
            count_events: false,
            mutant: None,
            fake_bug: FakeBug::None,
            watching: None,
        }
    }
}

/// The outcome of a world.
#[derive(Debug)]
pub struct SimOutcome {
    pub seed: u64,
    pub steps: u64,
    pub faults: Vec<(Fault, u64)>,
    pub violation: Option<Violation>,
    pub events: BTreeMap<String, u64>,
    pub trace: Trace,
}

/// Time for everything pending to settle once the faults have stopped.
const REST: u64 = 45 * 60 * 1000;
/// Longest duration of a world in which hardly anything happens.
const LONGEST: u64 = 3 * 3600 * 1000;

/// Runs one seed.
pub fn run(seed: u64, config: &SimConfig, parts: &Arc<dyn DaemonParts>) -> SimOutcome {
    let rules: Arc<dyn ao_engine::EngineRules> = match config.mutant {
        Some(mutant) => Arc::new(mutant),
        None => Arc::new(CoreRules),
    };
    let trace = Trace::keeping(config.trace);
    let (calm, parts) = (FaultPlan::Calm, parts.clone());
    let mut world = SimWorld::new(seed, calm, config.fake_bug, config.watching, trace, rules, parts);
    world.block_on(async |sim: &mut SimDriver| {
        sim.start().await;
        set_up(sim);
        sim.run_until(1).await;
        sim.with(|inner| {
            let per_mille = inner.rng.u16(..=config.per_mille);
            inner.faults.plan = FaultPlan::Random { per_mille };
            inner.outside.lossy_reports = inner.rng.u16(..=config.per_mille);
            let at = inner.elapsed();
            inner.outside.plan(at, WorldEvent::Act);
        });
        let mut until = 0;
        while sim.with(|inner| inner.steps < config.steps && !inner.over) && until < LONGEST {
            until = sim.with(|inner| inner.elapsed()) + 5_000;
            sim.run_until(until).await;
        }
        settle(sim).await;
        // The shadow is a replay already, record by record; compare it with a second one now and then.
        if seed.is_multiple_of(8) {
            sim.with(watch::replays);
        }
    });
    let mut inner = world.sim.universe.lock();
    let mut events = BTreeMap::new();
    for record in inner.log.records.iter().filter(|_| config.count_events) {
        *events.entry(record.kind.clone()).or_default() += 1;
    }
    SimOutcome {
        seed,
        steps: inner.steps,
        faults: inner.faults.by_kind(),
        violation: inner.violation.clone(),
        events,
        trace: std::mem::take(&mut inner.trace),
    }
}

fn set_up(sim: &mut SimDriver) {
    let (cap, turns) = sim.with(|inner| (inner.rng.u32(2..6), inner.rng.u64(5..60)));
    sim.with(|inner| inner.outside.has_conflicting_pairs = true);
    sim.post(Input::Configure(Box::new(script::settings(cap))));
    for (project, max_live) in [("app", None), ("lib", Some(2))] {
        let config = ProjectConfig {
            path: format!("/src/{project}"),
            default_branch: "main".into(),
            max_live,
            daily: SpendLimits { turns: Some(turns), ..SpendLimits::default() },
            per_task: SpendLimits { turns: Some(turns / 3 + 2), ..SpendLimits::default() },
            total: SpendLimits { turns: Some(turns * 2), ..SpendLimits::default() },
            auto_resume: (project == "lib").then_some(true),
            setup: script::setup(),
            ports: Some(sim.with(|inner| script::ports(&mut inner.rng, project))),
            merge_queue: Some(sim.with(|inner| script::queue_rules(&mut inner.rng))),
            auto_assign: (project == "lib" && sim.with(|inner| inner.rng.bool()))
                .then(|| AutoAssign { account: "fake".into(), ..AutoAssign::default() }),
            ..ProjectConfig::default()
        };
        let project = ao_core::ProjectId::new(project);
        sim.post(Input::Project { project, input: ProjectInput::Configure(Box::new(config)) });
    }
}

/// Stops the faults and lets everything settle. What is not at rest afterwards never will be.
async fn settle(sim: &mut SimDriver) {
    let until = sim.with(|inner| {
        inner.faults.plan = FaultPlan::Calm;
        inner.disk_full_until = 0;
        inner.outside.calm_down();
        inner.outside.stop_script();
        inner.elapsed() + REST
    });
    sim.post(Input::Host { free_mb: 10_000 });
    sim.run_until(until).await;
    if sim.with(|inner| !inner.over) {
        sim.with(watch::at_rest);
        look_once_more(sim).await;
    }
}

/// Changes everything twice in a row, the second time during the look at the first change. The daemon has to see the last
/// state soon, and not only at the next time that it looks at everything.
async fn look_once_more(sim: &mut SimDriver) {
    for times in 1..=2 {
        sim.with(|inner| {
            let title = format!("changed {times} times");
            let open = inner.outside.pulls.iter_mut().filter(|(_, facts)| facts.state == PullState::Open);
            let pulls: Vec<PullId> = open
                .map(|(pull, facts)| {
                    facts.title.clone_from(&title);
                    pull.clone()
                })
                .collect();
            pulls.into_iter().for_each(|pull| outside::hint(inner, LookHint::Pull(pull)));
        });
        let until = sim.elapsed() + 100;
        sim.run_until(until).await;
    }
    let until = sim.elapsed() + 2 * watch::PROMPT;
    sim.run_until(until).await;
    if sim.with(|inner| !inner.over) {
        sim.with(watch::all_seen);
    }
}
