//! One seed, one world: faults until enough was seen, then rest, then the reckoning.

use std::collections::BTreeMap;
use std::sync::Arc;

use ao_core::Input;
use ao_core::budget::Limits;
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_engine::Core;

use crate::faults::{Fault, Plan};
use crate::mutant::Mutant;
use crate::outside::Happening;
use crate::script;
use crate::sim::Sim;
use crate::trace::Trace;
use crate::universe::Careless;
use crate::watch::{self, Invariant, Violation};
use crate::world::World;

/// How a world is set up.
#[derive(Debug, Clone)]
pub struct Config {
    /// After so many steps the faults stop.
    pub steps: u64,
    /// At most so many of a thousand calls go wrong; each seed draws its own share.
    pub per_mille: u16,
    /// How many lines of what happened are kept; none while many seeds run.
    pub trace: usize,
    /// Whether the events of the log are counted by kind, to see what a script reaches.
    pub count_events: bool,
    /// A bug in the rules.
    pub mutant: Option<Mutant>,
    /// A bug in a fake.
    pub careless: Careless,
    /// Only this counts; for tests that plant a bug and wait for it to be seen.
    pub watching: Option<Invariant>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            steps: 300,
            per_mille: 200,
            trace: 0,
            count_events: false,
            mutant: None,
            careless: Careless::Nobody,
            watching: None,
        }
    }
}

/// How a world went.
#[derive(Debug)]
pub struct Outcome {
    pub seed: u64,
    pub steps: u64,
    pub faults: Vec<(Fault, u64)>,
    pub violation: Option<Violation>,
    pub events: BTreeMap<String, u64>,
    pub trace: Trace,
}

/// Everything pending has this long to settle once the faults have stopped.
const REST: u64 = 45 * 60 * 1000;
/// A world in which hardly anything happens ends too.
const LONGEST: u64 = 3 * 3600 * 1000;

/// Runs one seed.
pub fn run(seed: u64, config: &Config) -> Outcome {
    let rules: Arc<dyn ao_engine::Rules> = match config.mutant {
        Some(mutant) => Arc::new(mutant),
        None => Arc::new(Core),
    };
    let trace = Trace::keeping(config.trace);
    let mut world = World::new(seed, Plan::Calm, config.careless, config.watching, trace, rules);
    world.block_on(async |sim: &mut Sim| {
        sim.start().await;
        set_up(sim);
        sim.run_until(1).await;
        sim.with(|inner| {
            let per_mille = inner.rng.u16(..=config.per_mille);
            inner.faults.plan = Plan::Random { per_mille };
            inner.outside.bad_line = inner.rng.u16(..=config.per_mille);
            let at = inner.elapsed();
            inner.outside.plan(at, Happening::Act);
        });
        let mut until = 0;
        while sim.with(|inner| inner.steps < config.steps && !inner.over) && until < LONGEST {
            until = sim.with(|inner| inner.elapsed()) + 5_000;
            sim.run_until(until).await;
        }
        settle(sim).await;
        // The shadow is a replay already, record by record; now and then that is held against a second one.
        if seed.is_multiple_of(8) {
            sim.with(watch::replays);
        }
    });
    let mut inner = world.sim.universe.lock();
    let mut events = BTreeMap::new();
    for record in inner.log.records.iter().filter(|_| config.count_events) {
        *events.entry(record.kind.clone()).or_default() += 1;
    }
    Outcome {
        seed,
        steps: inner.steps,
        faults: inner.faults.by_kind(),
        violation: inner.violation.clone(),
        events,
        trace: std::mem::take(&mut inner.trace),
    }
}

fn set_up(sim: &mut Sim) {
    let (cap, turns) = sim.with(|inner| (inner.rng.u32(2..6), inner.rng.u64(5..60)));
    sim.with(|inner| inner.outside.quarrelsome = true);
    sim.post(Input::Configure(Box::new(script::settings(cap))));
    for (project, max_live) in [("app", None), ("lib", Some(2))] {
        let config = ProjectConfig {
            path: format!("/src/{project}"),
            default_branch: "main".into(),
            max_live,
            daily: Limits { turns: Some(turns), ..Limits::default() },
            per_task: Limits { turns: Some(turns / 3 + 2), ..Limits::default() },
            total: Limits { turns: Some(turns * 2), ..Limits::default() },
            auto_resume: (project == "lib").then_some(true),
            setup: script::setup(),
            ports: Some(sim.with(|inner| script::ports(&mut inner.rng, project))),
            merge_queue: Some(sim.with(|inner| script::queue_rules(&mut inner.rng))),
            ..ProjectConfig::default()
        };
        let project = ao_core::ProjectId::new(project);
        sim.post(Input::Project { project, input: ProjectInput::Configure(Box::new(config)) });
    }
}

/// The faults stop, and everything has its time. What is not at rest then never will be.
async fn settle(sim: &mut Sim) {
    let until = sim.with(|inner| {
        inner.faults.plan = Plan::Calm;
        inner.disk_full_until = 0;
        inner.outside.calm_down();
        inner.outside.stop_script();
        inner.elapsed() + REST
    });
    sim.post(Input::Host { free_mb: 10_000 });
    sim.run_until(until).await;
    if sim.with(|inner| !inner.over) {
        sim.with(watch::at_rest);
    }
}
