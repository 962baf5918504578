//! The random script: people, forges, clocks and disks do anything, at any time.

use std::time::Duration;

use ao_core::budget::{BudgetInput, BudgetScope, SpendLimits};
use ao_core::incident::Subject;
use ao_core::input::SpawnRequest;
use ao_core::policy::MergeRule;
use ao_core::pull::{CheckState, Mergeable, PullInput};
use ao_core::queue::{BranchUpdate, LandingStrategy, MergeRequest, QueueInput, QueueRules};
use ao_core::reaction::{ReactionAction, ReactionPatch};
use ao_core::session::{AgentAbilities, SessionInput, SessionRole};
use ao_core::setup::{PortRange, Setup};
use ao_core::{Commit, DaemonSettings, Input, ProjectId, PullId, SessionId, TaskId};
use ao_ports::{LookHint, TaskSeen};
use fastrand::Rng;

use crate::outside::{self, AgentBehaviour, WorldEvent};
use crate::sim::SimDriver;
use crate::trace::TraceLine;
use crate::universe::UniverseState;
use crate::world::{SpawnSpec, message, request};

/// The time in which the daemon has looked at what it got a hint about, unless something fails.
const LOOKED: u64 = 1_500;

/// The next step of the script.
enum ScriptAction {
    Post(Vec<Input>),
    Crash,
    Restart,
}

/// Performs the next step of the script, and plans the one after it.
pub(crate) async fn act(sim: &mut SimDriver) {
    let deed = sim.with(|inner| {
        let pause = if inner.rng.u8(..4) == 0 { inner.rng.u64(..30_000) } else { inner.rng.u64(..1200) };
        let at = inner.elapsed() + pause;
        inner.outside.plan(at, WorldEvent::Act);
        choose(inner)
    });
    match deed {
        ScriptAction::Post(inputs) => inputs.into_iter().for_each(|input| sim.post(input)),
        ScriptAction::Crash => sim.universe.kill(),
        ScriptAction::Restart => sim.restart().await,
    }
}

fn choose(inner: &mut UniverseState) -> ScriptAction {
    let post = |session, input| ScriptAction::Post(vec![Input::Session { session, input }]);
    let some = any_session(inner);
    match inner.rng.u8(..100) {
        0..=13 => ScriptAction::Post(spawn(inner)),
        14..=29 => {
            some.map_or(ScriptAction::Post(vec![]), |session| ScriptAction::Post(send(inner, session)))
        }
        30..=33 => some.map_or(ScriptAction::Post(vec![]), |session| {
            post(session, SessionInput::Stop { by: "ann".into(), why: "enough".into() })
        }),
        34..=36 => {
            some.map_or(ScriptAction::Post(vec![]), |id| post(id, SessionInput::Pause { by: "ann".into() }))
        }
        37..=41 => some.map_or(ScriptAction::Post(vec![]), |session| match inner.rng.u8(..4) {
            0 => post(session, SessionInput::Resume { limits: None }),
            1 => ScriptAction::Post(vec![raise(inner, session)]),
            _ => post(session, SessionInput::Resume { limits: Some(SpendLimits::default()) }),
        }),
        42..=46 => some.map_or(ScriptAction::Post(vec![]), |session| post(session, SessionInput::Restore)),
        47 | 48 => some.map_or(ScriptAction::Post(vec![]), |session| post(session, SessionInput::Retry)),
        49..=52 => some.map_or(ScriptAction::Post(vec![]), |session| post(session, SessionInput::Cleanup)),
        53 | 54 => {
            let max_live = inner.rng.u32(2..7);
            ScriptAction::Post(vec![Input::Configure(Box::new(settings(max_live)))])
        }
        55..=58 => {
            task(inner);
            ScriptAction::Post(vec![])
        }
        59 | 60 => {
            ScriptAction::Post(vec![Input::Host { free_mb: if inner.rng.bool() { 10 } else { 10_000 } }])
        }
        61 => {
            let until = inner.wall() + Duration::from_secs(inner.rng.u64(1..90));
            ScriptAction::Post(vec![Input::AccountLimited { account: "fake".into(), until }])
        }
        62..=76 => {
            forge(inner);
            ScriptAction::Post(vec![])
        }
        77..=81 => {
            misfortune(inner);
            ScriptAction::Post(vec![])
        }
        82..=87 => {
            type_somewhere(inner);
            ScriptAction::Post(vec![])
        }
        88 | 89 => {
            let by = inner.rng.i64(-120_000..120_000);
            inner.jump += by;
            inner.note(|| TraceLine::Note(format!("the wall clock jumps by {by} ms")));
            ScriptAction::Post(vec![])
        }
        90 => {
            inner.disk_full_until = inner.elapsed() + inner.rng.u64(..8_000);
            inner.note(|| TraceLine::Note("the disk is full for a while".into()));
            ScriptAction::Post(vec![])
        }
        91 => ScriptAction::Crash,
        92 => ScriptAction::Restart,
        93..=95 => some.map_or(ScriptAction::Post(vec![]), |session| {
            // Mostly to what it asks; now and then to something that is over.
            let number = inner.rng.u32(1..4);
            let known = inner.log.shadow.sessions.get(&session);
            let mut open: Vec<u32> = known
                .map(|known| known.open_asks().iter().map(|open| open.number).collect())
                .unwrap_or_default();
            if open.is_empty() || number == 3 {
                open.push(number);
            }
            let by = || "ann".to_owned();
            let answer =
                |question| SessionInput::Answer { by: by(), question, text: format!("yes to {question}") };
            let post = |question| Input::Session { session, input: answer(question) };
            ScriptAction::Post(open.into_iter().map(post).collect())
        }),
        96 => {
            // A foreign server is started, or ended.
            let port = inner.rng.u16(4000..4003);
            if !inner.outside.foreign_ports.remove(&port) {
                inner.outside.foreign_ports.insert(port);
            }
            ScriptAction::Post(vec![])
        }
        98 | 99 => ScriptAction::Post(queue(inner)),
        97 => some.map_or(ScriptAction::Post(vec![]), |session| {
            ScriptAction::Post(vec![own_event(inner, session)])
        }),
        _ => ScriptAction::Post(vec![]),
    }
}

/// Returns how many pull requests are tested concurrently, and together.
pub(crate) fn queue_rules(rng: &mut Rng) -> QueueRules {
    let update = if rng.u8(..4) == 0 { BranchUpdate::Rebase } else { BranchUpdate::None };
    QueueRules { parallel: rng.u32(1..4), batch: rng.u32(1..4), update }
}

/// A person approves some changes and has them merged, or changes the queue.
fn queue(inner: &mut UniverseState) -> Vec<Input> {
    let project = any_project(&mut inner.rng);
    let post = |input| Input::Queue { project: project.clone(), input };
    match inner.rng.u8(..10) {
        0 => return vec![post(QueueInput::Pause { why: "a release".into() })],
        1 | 2 => return vec![post(QueueInput::Resume {})],
        _ => {}
    }
    let (at, base) = (inner.wall(), inner.outside.base(&project));
    // Pull requests of people, beside those of sessions.
    for _ in 0..inner.rng.u8(1..4) {
        let pull = PullId { project: project.clone(), number: inner.outside.pulls.len() as u64 + 1 };
        let facts = outside::fresh_pull(&format!("people/{}", pull.number), base.clone(), at);
        inner.outside.pulls.insert(pull, facts);
    }
    let of_project = inner.outside.pulls.keys().filter(|pull| pull.project == project);
    let pulls: Vec<PullId> = of_project.cloned().collect();
    let some = pulls[inner.rng.usize(..pulls.len())].clone();
    match inner.rng.u8(..12) {
        // Ready or not, also if something is in progress.
        10 | 11 => {
            let Some(facts) = inner.outside.pulls.get(&some) else { return vec![] };
            let (head, request) = (facts.head.clone(), merge_request(&mut inner.rng));
            return vec![post(QueueInput::MergeNow { pull: some, head, request })];
        }
        0 => return vec![post(QueueInput::Remove { pull: some, why: "not today".into() })],
        1 => {
            let priority = inner.rng.i32(-1..3);
            return vec![post(QueueInput::Prioritize { pull: some, priority })];
        }
        _ => {}
    }
    // Paused until all of them are there, or each begun as it comes.
    let mut inputs = vec![match inner.rng.bool() {
        true => post(QueueInput::Pause { why: "one moment".into() }),
        false => post(QueueInput::Resume {}),
    }];
    for pull in pulls {
        let priority = i32::from(inner.rng.u8(..4) == 0);
        let Some(facts) = inner.outside.pulls.get_mut(&pull) else { continue };
        if facts.state == ao_core::pull::PullState::Open {
            outside::check(facts, CheckState::Passed);
            outside::approve(facts);
            (facts.mergeable, facts.base) = (Mergeable::Clean, base.clone());
            facts.threads.clear();
        }
        let head = facts.head.clone();
        let now = inner.elapsed();
        inner.outside.changed.insert(LookHint::Pull(pull.clone()), now);
        inner.outside.plan(now, WorldEvent::Hint(LookHint::Pull(pull.clone())));
        inputs.push(post(match inner.rng.u8(..6) {
            0 => QueueInput::MergeNow { pull, head, request: merge_request(&mut inner.rng) },
            _ => QueueInput::Enqueue { pull, head, priority },
        }));
    }
    inputs.push(post(QueueInput::Resume {}));
    // As `ao pr merge` does, once the daemon has looked.
    let at = inner.elapsed() + LOOKED;
    inner.outside.plan(at, WorldEvent::Post(inputs));
    vec![]
}

/// Returns a request to merge at once, now and then against all rules that can be overridden.
fn merge_request(rng: &mut Rng) -> MergeRequest {
    let anyway = rng.u8(..4) == 0;
    MergeRequest {
        by: if rng.bool() { "ann".into() } else { "bob".into() },
        strategy: rng.bool().then_some(LandingStrategy::Rebase),
        delete_branch: rng.bool().then(|| rng.bool()),
        over: MergeRule::yielding().filter(|_| anyway).collect(),
    }
}

/// A custom event happens to a session or its project, or is over.
fn own_event(inner: &mut UniverseState, session: SessionId) -> Input {
    let kind = OWN_EVENT.parse().expect("it is a name of an event");
    let project = || inner.log.shadow.sessions.get(&session).map(|known| known.spec.project.clone());
    let subject = match inner.rng.bool().then(project).flatten() {
        Some(project) => Subject::Project(project),
        None => Subject::Session(session),
    };
    let problem = inner.rng.u8(..3).to_string();
    match inner.rng.u8(..4) {
        0 => Input::Clear { subject, kind, problem },
        revision => {
            Input::Raise { subject, kind, problem, revision: revision.to_string(), detail: "exit 1".into() }
        }
    }
}

const OWN_EVENT: &str = "deploy-failed";

/// Returns settings with short times, so that an hour is enough to see every escalation to its end.
pub(crate) fn settings(max_live: u32) -> DaemonSettings {
    let mut settings = DaemonSettings {
        max_live,
        min_free_mb: 100,
        restarts: 2,
        stable_run: Duration::from_secs(120),
        stable_clear: Duration::from_secs(60),
        stuck_after: Duration::from_secs(120),
        keep_ended: Duration::from_secs(240),
        keep_rescues: Duration::from_secs(300),
        ..DaemonSettings::default()
    };
    use ao_core::incident::IncidentKind::*;
    for kind in [CiFailed, ChangesRequested, BotComments, MergeConflicts, ApprovedAndGreen] {
        let reaction = ReactionPatch {
            auto: Some(true),
            attempts: Some(2),
            escalate_after: Some(Duration::from_secs(60)),
            ..ReactionPatch::default()
        };
        settings.reactions.insert(kind, reaction);
    }
    let tell = ReactionPatch {
        action: Some(ReactionAction::SendToAgent),
        escalate_after: Some(Duration::from_secs(180)),
        ..ReactionPatch::default()
    };
    settings.reactions.insert(OWN_EVENT.parse().expect("it is a name of an event"), tell);
    // Each world uses other reactions.
    let acts = |settings: &mut DaemonSettings, kind, action| {
        let reaction = settings.reactions.entry(kind).or_default();
        (reaction.action, reaction.command) = (Some(action), Some("make it so".into()));
    };
    if max_live.is_multiple_of(2) {
        acts(&mut settings, MergeConflicts, ReactionAction::Rebase);
    }
    match max_live {
        3 => acts(&mut settings, ChangesRequested, ReactionAction::Run),
        5 => acts(&mut settings, ChangesRequested, ReactionAction::SpawnAgent),
        6 => acts(&mut settings, ChangesRequested, ReactionAction::Escalate),
        _ => {}
    }
    // Idle long enough for a notice, and often enough to reach a person before a world ends.
    let idle = ReactionPatch {
        threshold: Some(Duration::from_secs(45)),
        escalate_after: Some(Duration::from_secs(180)),
        ..ReactionPatch::default()
    };
    settings.reactions.insert(AgentIdle, idle);
    settings.daily = SpendLimits { turns: Some(u64::from(max_live) * 25), ..SpendLimits::default() };
    settings.auto_resume = max_live != 4;
    settings
}

pub(crate) fn setup() -> Setup {
    Setup { post_create: vec!["make deps".into()], timeout: Duration::from_secs(10), ..Setup::default() }
}

/// Returns a port range: now and then hardly large enough, so that sessions wait for a port, or exclusive.
pub(crate) fn ports(rng: &mut Rng, project: &str) -> PortRange {
    let exclusive = project == "lib" && rng.u8(..4) == 0;
    let first = if project == "lib" { 3000 } else { 4000 };
    let last = first + if rng.u8(..4) == 0 { 1 } else { 9 };
    PortRange { names: vec!["PORT".into()], first, last, exclusive }
}

fn any_session(inner: &mut UniverseState) -> Option<SessionId> {
    let sessions = &inner.log.shadow.sessions;
    (!sessions.is_empty())
        .then(|| inner.rng.usize(..sessions.len()))
        .and_then(|at| sessions.keys().nth(at).copied())
}

fn any_project(rng: &mut Rng) -> ProjectId {
    ProjectId::new(if rng.bool() { "app" } else { "lib" })
}

fn any_task(rng: &mut Rng) -> TaskId {
    TaskId { project: any_project(rng), key: rng.u8(1..6).to_string() }
}

/// A person raises a budget that several sessions share.
fn raise(inner: &mut UniverseState, session: SessionId) -> Input {
    let shadow = &inner.log.shadow;
    let budgets = shadow.sessions.get(&session).map(|session| shadow.budgets_of(session)).unwrap_or_default();
    let which = inner.rng.usize(..budgets.len().max(1));
    let budget = budgets.get(which).cloned().unwrap_or(BudgetScope::Day);
    let limits = SpendLimits { turns: Some(inner.rng.u64(5..90)), ..SpendLimits::default() };
    Input::Budget { budget, input: BudgetInput::Raise { limits } }
}

fn spawn(inner: &mut UniverseState) -> Vec<Input> {
    inner.outside.default_behaviour = behaviour(&mut inner.rng);
    let rng = &mut inner.rng;
    let one_turn = rng.u8(..4) == 0;
    let resume = rng.bool();
    let abilities = AgentAbilities {
        resume,
        prompt_at_launch: one_turn || rng.bool(),
        one_turn,
        steer: rng.u8(..4) == 0,
        cancel: resume && !one_turn,
    };
    let limits = if rng.u8(..4) == 0 {
        SpendLimits { micros: Some(1_000_000), turns: Some(rng.u64(1..8)), ..SpendLimits::default() }
    } else {
        SpendLimits::default()
    };
    let task = (rng.u8(..3) > 0).then(|| any_task(rng));
    let project = task.as_ref().map_or_else(|| any_project(rng), |task| task.project.clone());
    let no = rng.u32(..);
    let role = (rng.u8(..8) == 0).then_some(SessionRole::Orchestrator);
    let request = SpawnRequest {
        project,
        task,
        prompt: format!("task {no}: make it work"),
        branch: (rng.u8(..5) == 0).then(|| format!("feat/{}", rng.u8(..3))),
        priority: i32::from(rng.u8(..3)),
        ..request(SpawnSpec { abilities, limits, role, ..SpawnSpec::default() })
    };
    let times = if rng.u8(..5) == 0 { 3 } else { 1 };
    // As `ao spawn` does: the issue is read first.
    let seen =
        request.task.as_ref().and_then(|task| Some((task.clone(), outside::see_task(inner, task)?.facts)));
    let seen = seen.map(|(task, facts)| Input::Task { task, facts: Box::new(facts) });
    seen.into_iter().chain(vec![Input::Spawn(Box::new(request)); times]).collect()
}

/// Returns the behaviour of an agent; some crash at every start.
fn behaviour(rng: &mut Rng) -> AgentBehaviour {
    AgentBehaviour {
        turn_ms: rng.u64(2_000..60_000),
        asks: rng.u16(..200),
        blocks: rng.u16(..60),
        limited: rng.u16(..40),
        crashes: rng.u16(..200),
        leaves: rng.u16(..100),
        loses_hooks: rng.u16(..300),
        silent: rng.u16(..150),
        swallows: if rng.u8(..3) == 0 { rng.u8(..7) } else { 0 },
        hopeless: match rng.u8(..20) {
            0 => Some(0),
            1 => Some(1),
            _ => None,
        },
        cost: rng.bool().then(|| rng.u64(..400_000)),
        one_turn: false,
        setup_fails: rng.u8(..15) == 0,
        unanswered: rng.u8(..5) == 0,
        messy: rng.u16(..300),
    }
}

fn send(inner: &mut UniverseState, session: SessionId) -> Vec<Input> {
    let no = inner.rng.u32(..);
    let interrupt = inner.rng.u8(..6) == 0;
    let key = (inner.rng.u8(..3) == 0).then(|| format!("key {no}"));
    let times = if key.is_some() && inner.rng.bool() { 2 } else { 1 };
    vec![message(session, &format!("message {no}: mind the tests"), interrupt, key); times]
}

/// An issue is written, changed, closed or opened again.
fn task(inner: &mut UniverseState) {
    let rng = &mut inner.rng;
    let task = any_task(rng);
    let blocked_by = if rng.u8(..3) == 0 { [any_task(rng)].into() } else { Default::default() };
    let (closed, title) = (rng.u8(..4) == 0, format!("issue {} {}", task.key, rng.u8(..4)));
    inner.outside.tasks.entry(task.clone()).or_insert_with(|| outside::fresh_task(&task));
    outside::change_task(inner, &task, |TaskSeen { facts, .. }| {
        (facts.blocked_by, facts.closed, facts.title) = (blocked_by, closed, title);
    });
}

/// A pull request appears or changes.
fn forge(inner: &mut UniverseState) {
    let at = inner.wall();
    let known: Vec<PullId> = inner.outside.pulls.keys().cloned().collect();
    if known.is_empty() || inner.rng.u8(..12) == 0 {
        let Some(session) = any_session(inner) else { return };
        let Some(known_as) = inner.log.shadow.sessions.get(&session) else { return };
        let (project, branch) = (known_as.spec.project.clone(), known_as.spec.branch.clone());
        let pull = PullId { project, number: known.len() as u64 + 1 };
        let base = inner.outside.base(&pull.project);
        inner.outside.pulls.insert(pull.clone(), outside::fresh_pull(&branch, base, at));
        outside::hint(inner, LookHint::Pull(pull.clone()));
        // As `ao pr create` does, once the daemon has looked.
        let claim = Input::Pull { pull, input: PullInput::Claim { session } };
        let at = inner.elapsed() + LOOKED;
        return inner.outside.plan(at, WorldEvent::Post(vec![claim]));
    }
    // Mostly the same few, so that their checks flicker.
    let few = known.len().min(2);
    let pull = known[known.len() - 1 - inner.rng.usize(..few)].clone();
    if inner.rng.u8(..10) == 0 {
        // A foreign change lands, and breaks the base or repairs it.
        let tip = Commit::new(&format!("b{}", inner.rng.u32(..)));
        if inner.rng.bool() {
            inner.outside.red.insert((pull.project.clone(), tip.clone()));
        }
        inner.outside.tips.insert(pull.project.clone(), tip);
    }
    let facts = inner.outside.pulls.get_mut(&pull).expect("it is one of those");
    if facts.state == ao_core::pull::PullState::Open {
        outside::change_randomly(&mut inner.rng, facts);
    }
    outside::hint(inner, LookHint::Pull(pull));
}

/// Processes die, alone or all at once, or a census shows nothing.
fn misfortune(inner: &mut UniverseState) {
    let living: Vec<outside::ProcessKey> = inner.outside.living().map(|(key, _)| *key).collect();
    if living.is_empty() {
        return;
    }
    match inner.rng.u8(..12) {
        0 => living.into_iter().for_each(|key| outside::kill(inner, key, None)),
        1 | 2 => inner.outside.blind_until = inner.elapsed() + inner.rng.u64(..60_000),
        3 | 4 => {
            let key = living[inner.rng.usize(..living.len())];
            outside::lose_holder(inner, key);
        }
        5 | 6 => {
            let key = living[inner.rng.usize(..living.len())];
            outside::stop_accepting(inner, key);
        }
        _ => {
            let key = living[inner.rng.usize(..living.len())];
            outside::kill(inner, key, None);
        }
    }
}

fn type_somewhere(inner: &mut UniverseState) {
    let living: Vec<outside::ProcessKey> = inner.outside.living().map(|(key, _)| *key).collect();
    if !living.is_empty() {
        let key = living[inner.rng.usize(..living.len())];
        outside::human_types(inner, key);
    }
}
