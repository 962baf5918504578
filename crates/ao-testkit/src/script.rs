//! What people, forges, clocks and disks do in a random world: anything, at any time.

use std::time::Duration;

use ao_core::budget::{Budget, BudgetInput, Limits};
use ao_core::incident::Subject;
use ao_core::input::SpawnRequest;
use ao_core::policy::MergeRule;
use ao_core::pull::{CheckState, Mergeable, PullInput};
use ao_core::queue::{MergeRequest, QueueInput, QueueRules, Strategy, Update};
use ao_core::reaction::{Action, ReactionPatch};
use ao_core::session::{AgentAbilities, Role, SessionInput};
use ao_core::setup::{PortRange, Setup};
use ao_core::task::TaskFacts;
use ao_core::{Commit, Input, ProjectId, PullId, SessionId, Settings, TaskId};
use fastrand::Rng;

use crate::outside::{self, Happening, Temper};
use crate::sim::Sim;
use crate::trace::Line;
use crate::universe::Inner;
use crate::world::{Spawn, message, request};

/// What the next act comes to.
enum Deed {
    Say(Vec<Input>),
    Crash,
    Restart,
}

/// The next thing in the script, and when the one after it comes.
pub(crate) async fn act(sim: &mut Sim) {
    let deed = sim.with(|inner| {
        let pause = if inner.rng.u8(..4) == 0 { inner.rng.u64(..30_000) } else { inner.rng.u64(..1200) };
        let at = inner.elapsed() + pause;
        inner.outside.plan(at, Happening::Act);
        choose(inner)
    });
    match deed {
        Deed::Say(inputs) => inputs.into_iter().for_each(|input| sim.post(input)),
        Deed::Crash => sim.universe.kill(),
        Deed::Restart => sim.restart().await,
    }
}

fn choose(inner: &mut Inner) -> Deed {
    let say = |session, input| Deed::Say(vec![Input::Session { session, input }]);
    let some = any_session(inner);
    match inner.rng.u8(..100) {
        0..=13 => Deed::Say(spawn(inner)),
        14..=29 => some.map_or(Deed::Say(vec![]), |session| Deed::Say(send(inner, session))),
        30..=33 => some.map_or(Deed::Say(vec![]), |session| {
            say(session, SessionInput::Stop { by: "ann".into(), why: "enough".into() })
        }),
        34..=36 => some.map_or(Deed::Say(vec![]), |id| say(id, SessionInput::Pause { by: "ann".into() })),
        37..=41 => some.map_or(Deed::Say(vec![]), |session| match inner.rng.u8(..4) {
            0 => say(session, SessionInput::Resume { limits: None }),
            1 => Deed::Say(vec![raise(inner, session)]),
            _ => say(session, SessionInput::Resume { limits: Some(Limits::default()) }),
        }),
        42..=46 => some.map_or(Deed::Say(vec![]), |session| say(session, SessionInput::Restore)),
        47 | 48 => some.map_or(Deed::Say(vec![]), |session| say(session, SessionInput::Retry)),
        49..=52 => some.map_or(Deed::Say(vec![]), |session| say(session, SessionInput::Cleanup)),
        53 | 54 => {
            let max_live = inner.rng.u32(2..7);
            Deed::Say(vec![Input::Configure(Box::new(settings(max_live)))])
        }
        55..=58 => Deed::Say(vec![task(inner)]),
        59 | 60 => Deed::Say(vec![Input::Host { free_mb: if inner.rng.bool() { 10 } else { 10_000 } }]),
        61 => {
            let until = inner.wall() + Duration::from_secs(inner.rng.u64(1..90));
            Deed::Say(vec![Input::AccountLimited { account: "fake".into(), until }])
        }
        62..=76 => Deed::Say(forge(inner)),
        77..=81 => {
            misfortune(inner);
            Deed::Say(vec![])
        }
        82..=87 => {
            type_somewhere(inner);
            Deed::Say(vec![])
        }
        88 | 89 => {
            let by = inner.rng.i64(-120_000..120_000);
            inner.jump += by;
            inner.note(|| Line::Note(format!("the wall clock jumps by {by} ms")));
            Deed::Say(vec![])
        }
        90 => {
            inner.disk_full_until = inner.elapsed() + inner.rng.u64(..8_000);
            inner.note(|| Line::Note("the disk is full for a while".into()));
            Deed::Say(vec![])
        }
        91 => Deed::Crash,
        92 => Deed::Restart,
        93..=95 => some.map_or(Deed::Say(vec![]), |session| {
            let question = inner.rng.u32(1..4);
            say(session, SessionInput::Answer { by: "ann".into(), question, text: "yes".into() })
        }),
        96 => {
            // Somebody's own server is started, or ended.
            let port = inner.rng.u16(4000..4003);
            if !inner.outside.squatted.remove(&port) {
                inner.outside.squatted.insert(port);
            }
            Deed::Say(vec![])
        }
        98 | 99 => Deed::Say(queue(inner)),
        97 => some.map_or(Deed::Say(vec![]), |session| Deed::Say(vec![own_event(inner, session)])),
        _ => Deed::Say(vec![]),
    }
}

/// How many pull requests are tested at a time, and together.
pub(crate) fn queue_rules(rng: &mut Rng) -> QueueRules {
    let update = if rng.u8(..4) == 0 { Update::Rebase } else { Update::None };
    QueueRules { parallel: rng.u32(1..4), batch: rng.u32(1..4), update }
}

/// A person approves some changes and has them merged, or has something to say about those that wait.
fn queue(inner: &mut Inner) -> Vec<Input> {
    let project = any_project(&mut inner.rng);
    let say = |input| Input::Queue { project: project.clone(), input };
    match inner.rng.u8(..10) {
        0 => return vec![say(QueueInput::Pause { why: "a release".into() })],
        1 | 2 => return vec![say(QueueInput::Resume {})],
        _ => {}
    }
    let (at, base) = (inner.wall(), inner.outside.base(&project));
    // Those of people, beside those of sessions.
    for _ in 0..inner.rng.u8(1..4) {
        let pull = PullId { project: project.clone(), number: inner.outside.pulls.len() as u64 + 1 };
        let facts = outside::fresh_pull(&format!("people/{}", pull.number), base.clone(), at);
        inner.outside.pulls.insert(pull, facts);
    }
    let of_project = inner.outside.pulls.keys().filter(|pull| pull.project == project);
    let pulls: Vec<PullId> = of_project.cloned().collect();
    let some = pulls[inner.rng.usize(..pulls.len())].clone();
    match inner.rng.u8(..12) {
        // Ready or not, and whatever is in work.
        10 | 11 => {
            let Some(facts) = inner.outside.pulls.get(&some) else { return vec![] };
            let (head, request) = (facts.head.clone(), merge_request(&mut inner.rng));
            return vec![say(QueueInput::MergeNow { pull: some, head, request })];
        }
        0 => return vec![say(QueueInput::Remove { pull: some, why: "not today".into() })],
        1 => {
            let priority = inner.rng.i32(-1..3);
            return vec![say(QueueInput::Prioritize { pull: some, priority })];
        }
        _ => {}
    }
    // Held up until all of them are there, or each begun as it comes.
    let mut inputs = vec![match inner.rng.bool() {
        true => say(QueueInput::Pause { why: "one moment".into() }),
        false => say(QueueInput::Resume {}),
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
        facts.observed_at = facts.observed_at.max(at);
        let (seen, head) = (facts.clone(), facts.head.clone());
        inputs.push(Input::Pull { pull: pull.clone(), input: PullInput::Seen(Box::new(seen)) });
        inputs.push(say(match inner.rng.u8(..6) {
            0 => QueueInput::MergeNow { pull, head, request: merge_request(&mut inner.rng) },
            _ => QueueInput::Enqueue { pull, head, priority },
        }));
    }
    inputs.push(say(QueueInput::Resume {}));
    inputs
}

/// A person wants something merged at once, now and then in spite of all rules that yield.
fn merge_request(rng: &mut Rng) -> MergeRequest {
    let anyway = rng.u8(..4) == 0;
    MergeRequest {
        by: if rng.bool() { "ann".into() } else { "bob".into() },
        strategy: rng.bool().then_some(Strategy::Rebase),
        delete_branch: rng.bool().then(|| rng.bool()),
        over: MergeRule::yielding().filter(|_| anyway).collect(),
    }
}

/// An event of the user's own happens to a session or its project, or is over.
fn own_event(inner: &mut Inner, session: SessionId) -> Input {
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

/// Settings with short tempers, so that an hour is enough to see every ladder to its end.
pub(crate) fn settings(max_live: u32) -> Settings {
    let mut settings = Settings {
        max_live,
        min_free_mb: 100,
        restarts: 2,
        stable_run: Duration::from_secs(120),
        stable_clear: Duration::from_secs(60),
        stuck_after: Duration::from_secs(120),
        keep_ended: Duration::from_secs(240),
        keep_rescues: Duration::from_secs(300),
        ..Settings::default()
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
        action: Some(Action::SendToAgent),
        escalate_after: Some(Duration::from_secs(180)),
        ..ReactionPatch::default()
    };
    settings.reactions.insert(OWN_EVENT.parse().expect("it is a name of an event"), tell);
    // Each world changes its mind now and then about what is to be done.
    let acts = |settings: &mut Settings, kind, action| {
        let reaction = settings.reactions.entry(kind).or_default();
        (reaction.action, reaction.command) = (Some(action), Some("make it so".into()));
    };
    if max_live.is_multiple_of(2) {
        acts(&mut settings, MergeConflicts, Action::Rebase);
    }
    match max_live {
        3 => acts(&mut settings, ChangesRequested, Action::Run),
        5 => acts(&mut settings, ChangesRequested, Action::SpawnAgent),
        6 => acts(&mut settings, ChangesRequested, Action::Escalate),
        _ => {}
    }
    // Idle for long enough to be told of it, and told often enough to reach a person before a world ends.
    let idle = ReactionPatch {
        threshold: Some(Duration::from_secs(45)),
        escalate_after: Some(Duration::from_secs(180)),
        ..ReactionPatch::default()
    };
    settings.reactions.insert(AgentIdle, idle);
    settings.daily = Limits { turns: Some(u64::from(max_live) * 25), ..Limits::default() };
    settings.auto_resume = max_live != 4;
    settings
}

pub(crate) fn setup() -> Setup {
    Setup { post_create: vec!["make deps".into()], timeout: Duration::from_secs(10), ..Setup::default() }
}

/// Now and then hardly enough of them, so that sessions wait for one; or a project that can be told no other.
pub(crate) fn ports(rng: &mut Rng, project: &str) -> PortRange {
    let exclusive = project == "lib" && rng.u8(..4) == 0;
    let first = if project == "lib" { 3000 } else { 4000 };
    let last = first + if rng.u8(..4) == 0 { 1 } else { 9 };
    PortRange { names: vec!["PORT".into()], first, last, exclusive }
}

fn any_session(inner: &mut Inner) -> Option<SessionId> {
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

/// A person allows more of a budget that several sessions share.
fn raise(inner: &mut Inner, session: SessionId) -> Input {
    let shadow = &inner.log.shadow;
    let budgets = shadow.sessions.get(&session).map(|session| shadow.budgets_of(session)).unwrap_or_default();
    let which = inner.rng.usize(..budgets.len().max(1));
    let budget = budgets.get(which).cloned().unwrap_or(Budget::Day);
    let limits = Limits { turns: Some(inner.rng.u64(5..90)), ..Limits::default() };
    Input::Budget { budget, input: BudgetInput::Raise { limits } }
}

fn spawn(inner: &mut Inner) -> Vec<Input> {
    inner.outside.usual = temper(&mut inner.rng);
    let rng = &mut inner.rng;
    let one_turn = rng.u8(..4) == 0;
    let abilities = AgentAbilities {
        resume: rng.bool(),
        prompt_at_launch: one_turn || rng.bool(),
        one_turn,
        steer: rng.u8(..4) == 0,
    };
    let limits = if rng.u8(..4) == 0 {
        Limits { micros: Some(1_000_000), turns: Some(rng.u64(1..8)), ..Limits::default() }
    } else {
        Limits::default()
    };
    let task = (rng.u8(..3) > 0).then(|| any_task(rng));
    let project = task.as_ref().map_or_else(|| any_project(rng), |task| task.project.clone());
    let no = rng.u32(..);
    let role = (rng.u8(..8) == 0).then_some(Role::Orchestrator);
    let request = SpawnRequest {
        project,
        task,
        prompt: format!("task {no}: make it work"),
        branch: (rng.u8(..5) == 0).then(|| format!("feat/{}", rng.u8(..3))),
        priority: i32::from(rng.u8(..3)),
        ..request(Spawn { abilities, limits, role, ..Spawn::default() })
    };
    let times = if rng.u8(..5) == 0 { 3 } else { 1 };
    vec![Input::Spawn(Box::new(request)); times]
}

/// How an agent behaves in this world; some are hopeless.
fn temper(rng: &mut Rng) -> Temper {
    Temper {
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

fn send(inner: &mut Inner, session: SessionId) -> Vec<Input> {
    let no = inner.rng.u32(..);
    let interrupt = inner.rng.u8(..6) == 0;
    let key = (inner.rng.u8(..3) == 0).then(|| format!("key {no}"));
    let times = if key.is_some() && inner.rng.bool() { 2 } else { 1 };
    vec![message(session, &format!("message {no}: mind the tests"), interrupt, key); times]
}

fn task(inner: &mut Inner) -> Input {
    let observed = inner.wall();
    let rng = &mut inner.rng;
    let task = any_task(rng);
    let blocked_by = if rng.u8(..3) == 0 { [any_task(rng)].into() } else { Default::default() };
    let facts = TaskFacts {
        observed,
        title: format!("issue {}", task.key),
        labels: Default::default(),
        priority: 0,
        blocked_by,
        closed: rng.u8(..4) == 0,
        trusted: true,
        branch: None,
        author: None,
    };
    Input::Task { task, facts: Box::new(facts) }
}

/// A pull request appears or changes, and the poller tells what it saw.
fn forge(inner: &mut Inner) -> Vec<Input> {
    let at = inner.wall();
    let known: Vec<PullId> = inner.outside.pulls.keys().cloned().collect();
    if known.is_empty() || inner.rng.u8(..12) == 0 {
        let Some(session) = any_session(inner) else { return vec![] };
        let Some(known_as) = inner.log.shadow.sessions.get(&session) else { return vec![] };
        let (project, branch) = (known_as.spec.project.clone(), known_as.spec.branch.clone());
        let pull = PullId { project, number: known.len() as u64 + 1 };
        let base = inner.outside.base(&pull.project);
        let facts = outside::fresh_pull(&branch, base, at);
        inner.outside.pulls.insert(pull.clone(), facts.clone());
        return vec![
            Input::Pull { pull: pull.clone(), input: PullInput::Seen(Box::new(facts)) },
            Input::Pull { pull, input: PullInput::Claim { session } },
        ];
    }
    // Mostly the same few, so that their checks flicker.
    let few = known.len().min(2);
    let pull = known[known.len() - 1 - inner.rng.usize(..few)].clone();
    if inner.rng.u8(..10) == 0 {
        // Somebody else's change lands, and breaks things or mends them.
        let tip = Commit::new(&format!("b{}", inner.rng.u32(..)));
        if inner.rng.bool() {
            inner.outside.red.insert((pull.project.clone(), tip.clone()));
        }
        inner.outside.tips.insert(pull.project.clone(), tip);
    }
    let base = inner.outside.base(&pull.project);
    let facts = inner.outside.pulls.get_mut(&pull).expect("it is one of those");
    facts.base = base;
    if facts.state == ao_core::pull::PullState::Open {
        outside::shake(&mut inner.rng, facts, at);
    }
    facts.observed_at = facts.observed_at.max(at);
    let seen = Input::Pull { pull: pull.clone(), input: PullInput::Seen(Box::new(facts.clone())) };
    // A webhook comes twice.
    let times = if inner.rng.u8(..5) == 0 { 2 } else { 1 };
    vec![seen; times]
}

/// Processes die, alone or all at once, or a census shows nothing.
fn misfortune(inner: &mut Inner) {
    let living: Vec<outside::Key> = inner.outside.living().map(|(key, _)| *key).collect();
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
            outside::grow_deaf(inner, key);
        }
        _ => {
            let key = living[inner.rng.usize(..living.len())];
            outside::kill(inner, key, None);
        }
    }
}

fn type_somewhere(inner: &mut Inner) {
    let living: Vec<outside::Key> = inner.outside.living().map(|(key, _)| *key).collect();
    if !living.is_empty() {
        let key = living[inner.rng.usize(..living.len())];
        outside::human_types(inner, key);
    }
}
