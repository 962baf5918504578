//! Decides what an input means: the events that it leads to, or the reason why it leads to none.

use std::time::Duration;

use crate::event::{AccountEvent, Event, HostEvent};
use crate::evidence::{Reading, Signal, SignalSource};
use crate::incident::{
    self, IncidentContext, IncidentInput, IncidentKey, IncidentKind, ObservedProblem, ProblemId, Subject,
};
use crate::input::{Census, Input, ProcessLife, SpawnRequest};
use crate::job::{self, Job, JobEvent, JobOrder, Requester};
use crate::pull::PullInput;
use crate::raise::{self, Raised};
use crate::refusal::Refusal;
use crate::session::{self, Phase, Session, SessionEvent, SessionInput, SessionSpec};
use crate::state::State;
use crate::text::sanitise;
use crate::{
    JobId, Moment, ProjectId, PullId, SessionId, Timestamp, assign, budget, digest, fleet, forecast, hook,
    notice, project, pull, queue, schedule, task,
};

/// If at least this many are missing at once, and more than half of all, the look is considered faulty.
const MASS_DEATH: usize = 5;

/// Decides the events of an input. Pure: no clock, no disk, no randomness.
pub fn decide(state: &State, moment: &Moment, input: Input) -> Result<Vec<Event>, Refusal> {
    let now = moment.at;
    match input {
        Input::Configure(settings) if *settings == state.settings => Ok(vec![]),
        Input::Configure(settings) => Ok(vec![Event::Host(HostEvent::Configured { settings })]),
        Input::Project { project, input } => {
            // Includes ended sessions: their workspaces are removed through the project.
            let in_use = || {
                let of = state.sessions.values().filter(|session| session.spec.project == project);
                of.filter(|session| session.is_live() || session.workspace.may_exist()).count()
            };
            let events = project::decide(&project, state.projects.get(&project), now, in_use, input)?;
            Ok(events.into_iter().map(|event| Event::Project(project.clone(), event)).collect())
        }
        Input::Budget { budget, input } => {
            let nothing = budget::BudgetUsage::default();
            let usage = state.budget_usage.get(&budget).unwrap_or(&nothing);
            let events = budget::decide(&budget, state.limits_of(&budget), usage, now, input)?;
            Ok(events.into_iter().map(|event| Event::Budget(budget.clone(), event)).collect())
        }
        // Closed before its first sighting, or closed and forgotten: no session works on it.
        Input::Task { task, facts }
            if facts.closed
                && !state.tasks.contains_key(&task)
                && !state.sessions.values().any(|session| session.spec.task.as_ref() == Some(&task)) =>
        {
            Ok(vec![])
        }
        Input::Task { task, facts } => {
            let events = task::decide(state.tasks.get(&task), *facts);
            Ok(events.into_iter().map(|event| Event::Task(task.clone(), event)).collect())
        }
        Input::Spawn(request) => spawn(state, moment, *request),
        // Notified once per attempt; the session itself does not change.
        Input::Session { session, input: SessionInput::Flooding { attempt } } => {
            let tell = Input::notify(
                notice::NoticeLevel::Warning,
                Subject::Session(session),
                format!("{session} flooding {attempt}"),
                format!(
                    "`{}` reports about itself without a pause; only the latest of it is kept",
                    state.name_of(session)
                ),
            );
            decide(state, moment, tell)
        }
        Input::Session { session, input } => match state.sessions.get(&session) {
            Some(known) => Ok(session_events(session, session::decide(state, known, moment, input)?)),
            None => Err(Refusal::UnknownSession(session)),
        },
        Input::Pull { pull, input } => {
            if !state.projects.contains_key(&pull.project) {
                return Err(Refusal::UnknownProject(pull.project));
            }
            let known = state.pulls.get(&pull);
            if let (None, PullInput::Seen(seen)) = (known, &input)
                && seen.state != pull::PullState::Open
            {
                // Over before its first sighting, or over and forgotten: no session is concerned.
                return Ok(vec![]);
            }
            let events = pull::decide(known.map(|known| &**known), &input)
                .map_err(|refusal| Refusal::Invalid { what: refusal.to_string() })?;
            Ok(events.into_iter().map(|event| Event::Pull(pull.clone(), event)).collect())
        }
        Input::Queue { project, input } => queue::decide_in_project(state, moment, project, &input),
        Input::Incident { key, input } => Ok(incident_events(state, now, key, input)),
        Input::Raise { subject, kind, problem, revision, detail } => {
            raise::raise(state, now, subject, Raised { kind, problem, revision, detail })
        }
        Input::Clear { subject, kind, problem } => raise::clear(state, now, subject, kind, &problem),
        Input::Notice { notice, input } => Ok(match state.notices.get(&notice) {
            Some(known) => notice::decide(state, known, moment, input),
            None => vec![],
        }),
        Input::Job { job, input } => Ok(match state.jobs.get(&job) {
            Some(known) => job::decide(known, moment, patience(state, &known.requester), input)
                .into_iter()
                .map(|event| Event::Job(job, event))
                .collect(),
            None => vec![],
        }),
        Input::Order { key, order, requester } => {
            Ok(job_wanted(state, &[], now, key, *order, requester).into_iter().collect())
        }
        Input::Forecast { project: id, clashes, touched } => {
            let Some(project) = state.projects.get(&id) else {
                return Err(Refusal::UnknownProject(id));
            };
            let news = forecast::decide(project, now, clashes, touched);
            Ok(news.map(|event| Event::Project(id, event)).into_iter().collect())
        }
        Input::Host { free_mb } => Ok(match state.scarce_mb {
            None if free_mb < state.settings.min_free_mb => {
                vec![Event::Host(HostEvent::MemoryScarce { free_mb })]
            }
            Some(_) if free_mb >= state.settings.min_free_mb => {
                vec![Event::Host(HostEvent::MemoryEnough { free_mb })]
            }
            _ => vec![],
        }),
        Input::Census(census) => Ok(compare(state, moment, &census)),
        Input::AccountLimited { account, until } => Ok(match state.accounts.get(&account) {
            _ if until <= now => vec![],
            Some(known) if *known >= until => vec![],
            _ => vec![Event::Account(account, AccountEvent::Limited { until })],
        }),
        Input::AccountDue { account } => Ok(match state.accounts.get(&account) {
            Some(until) if *until <= now => vec![Event::Account(account, AccountEvent::Reset {})],
            _ => vec![],
        }),
        Input::StrayEnded { session, attempt } => {
            let known = state.strays.iter().any(|(of, at, _)| (*of, *at) == (session, attempt));
            Ok(known.then_some(Event::Host(HostEvent::StrayEnded { session, attempt })).into_iter().collect())
        }
        Input::Tell(new) if state.was_told(&new.key) => Ok(vec![]),
        Input::Tell(new) => {
            let id = state.next_notice();
            let notice = notice::Notice {
                channel: new.channel,
                about: notice::NoticeContext::of(state, &new.subject),
                incident: new.incident.filter(|incident| notice::is_withdrawn(&incident.kind)),
                ..notice::Notice::new(id, new.level, new.subject, &new.key, &new.text)
            };
            Ok(vec![Event::Notice(id, notice::NoticeEvent::Raised { notice })])
        }
        Input::Digest { day } if state.was_told(&digest::key(&day)) => Ok(vec![]),
        Input::Digest { day } => Ok(match digest::summary(state, now) {
            Some(text) => {
                let id = state.next_notice();
                let new = notice::Notice::new(
                    id,
                    notice::NoticeLevel::Info,
                    Subject::Host,
                    &digest::key(&day),
                    &text,
                );
                // It is combined already, and must not wait for the next digest.
                let notice = notice::Notice { gathered: 1, ..new };
                vec![Event::Notice(id, notice::NoticeEvent::Raised { notice })]
            }
            None => vec![],
        }),
        Input::Review(subject) => Ok(review(state, now, &subject)),
        Input::Schedule => {
            let turns = schedule::admit(state, now);
            let mut leases = session::PortLeases::new(state);
            let mut events: Vec<Event> = turns
                .admitted
                .into_iter()
                // A session that finds the last port taken by one before it waits for the next round.
                .filter_map(|session| Some((session, leases.take(session, &session.ports)?)))
                .flat_map(|(session, ports)| {
                    session_events(session.id, session::admit(session, moment, ports))
                })
                .collect();
            for (session, next) in turns.yielding {
                let why = format!(
                    "paused to free a slot for `{}`; a message or `ao session restore {}` resumes it",
                    next.spec.name, session.spec.name
                );
                let then = session::AfterStop::GiveWay { why };
                events.push(Event::Session(session.id, SessionEvent::Stopping { then }));
            }
            for input in turns.asked.into_iter().filter_map(|session| hook::may_start(state, session, now)) {
                let Input::Order { key, order, requester } = input else { continue };
                events.extend(job_wanted(state, &events, now, key, *order, requester));
            }
            for pick in assign::picks(state, now) {
                let (key, order, requester) = assign::order(&pick);
                events.extend(job_wanted(state, &events, now, key, order, requester));
            }
            Ok(events)
        }
        // `step` handles it, because it knows the timers.
        Input::Tick => Ok(vec![]),
    }
}

/// Returns the event that starts a job, given those already decided; none if the job is under way.
fn job_wanted(
    state: &State,
    before: &[Event],
    now: Timestamp,
    key: String,
    order: JobOrder,
    requester: Requester,
) -> Option<Event> {
    if state.is_ordered(&key) {
        return None;
    }
    let taken = before.iter().filter(|event| matches!(event, Event::Job(..))).count() as u64;
    let id = JobId(state.next_job().0.saturating_add(taken));
    let job = Job { id, key, order, requester, since: now, tries: 0, waits: 0, again_at: None };
    Some(Event::Job(id, JobEvent::Wanted { job: Box::new(job) }))
}

/// Returns how long the requester of a job waits before it does something else. No time at all if it waits no longer.
fn patience(state: &State, requester: &Requester) -> Option<Duration> {
    let Requester::Incident(reacting) = requester else { return None };
    let waits = state.incidents.get(&reacting.to).is_some_and(|incident| incident.awaits(&reacting.round));
    let reaction = || state.reaction(&reacting.to.kind, &reacting.to.subject);
    Some(if waits { reaction().escalate_after } else { Duration::ZERO })
}

fn session_events(session: SessionId, events: Vec<SessionEvent>) -> Vec<Event> {
    events.into_iter().map(|event| Event::Session(session, event)).collect()
}

// ── new sessions ──

fn spawn(state: &State, moment: &Moment, request: SpawnRequest) -> Result<Vec<Event>, Refusal> {
    if !state.projects.contains_key(&request.project) {
        return Err(Refusal::UnknownProject(request.project));
    }
    if let Some(task) = &request.task {
        if let Some(session) = state.live_session_of(task) {
            return Err(Refusal::TaskTaken { task: task.clone(), session, name: state.name_of(session) });
        }
        if state.tasks.get(task).is_some_and(|task| task.closed) {
            return Err(Refusal::TaskClosed { task: task.clone() });
        }
        if let Some(facts) = state.tasks.get(task).filter(|_| !request.trusted) {
            state.may_pick_up(task, facts)?;
        }
    }
    if request.role == session::SessionRole::Orchestrator {
        let mut live = state.live_in(&request.project);
        if let Some(known) = live.find(|session| session.spec.role == session::SessionRole::Orchestrator) {
            return Err(Refusal::HasOrchestrator {
                project: request.project.clone(),
                session: known.id,
                name: known.spec.name.clone(),
            });
        }
    }
    // It is the first message, so it is cleaned like one.
    let prompt = sanitise(&request.prompt);
    if prompt.trim().is_empty() {
        return Err(Refusal::Invalid { what: "the session has nothing to do: its prompt is empty".into() });
    }
    let id = SessionId(moment.seed);
    if state.sessions.contains_key(&id) {
        return Err(Refusal::Invalid {
            what: "the id that was made for the session is taken; try again".into(),
        });
    }
    let name = free_name(state, &request.project, &wished_name(&request));
    let branch = match &request.branch {
        Some(branch) => match state.owner_of_branch(&request.project, branch) {
            Some(session) => {
                let name = state.name_of(session);
                return Err(Refusal::BranchTaken { branch: branch.clone(), session, name });
            }
            None => branch.clone(),
        },
        None => tracked_branch(state, &request).unwrap_or_else(|| format!("agent/{name}")),
    };
    let spec = SessionSpec { prompt, ..request.named(name, branch) };
    let session = Session::queued(id, spec.clone(), moment.at);
    let task = session::task_message(&session, moment.at);
    Ok(session_events(
        id,
        vec![
            SessionEvent::Queued { spec: Box::new(spec) },
            SessionEvent::MessageQueued { message: task, replaces: None },
        ],
    ))
}

/// Returns the tracker's own name for the branch, if it has one that is not in use.
fn tracked_branch(state: &State, request: &SpawnRequest) -> Option<String> {
    let branch = state.tasks.get(request.task.as_ref()?)?.branch.clone()?;
    state.owner_of_branch(&request.project, &branch).is_none().then_some(branch)
}

fn wished_name(request: &SpawnRequest) -> String {
    let words = match (&request.name, &request.task) {
        (Some(name), _) => name.clone(),
        (None, Some(task)) => format!("{}-{}", request.project, task.key),
        (None, None) => format!("{}-{}", request.project, request.title),
    };
    // Short enough for a folder, a branch and a terminal's title.
    let short: String = session::slug(&words).chars().take(48).collect();
    if short.is_empty() { "session".into() } else { short.trim_end_matches('-').to_owned() }
}

/// Returns the name itself, or with the first free number appended. Free means: as a name, and as a branch.
fn free_name(state: &State, project: &ProjectId, wished: &str) -> String {
    let free = |name: &str| {
        state.session_named(name).is_none()
            && state.owner_of_branch(project, &format!("agent/{name}")).is_none()
    };
    if free(wished) {
        return wished.to_owned();
    }
    (2u32..).map(|n| format!("{wished}-{n}")).find(|name| free(name)).expect("some number is free")
}

// ── problems ──

/// Compares the problems of a subject with its open incidents.
fn review(state: &State, now: Timestamp, subject: &Subject) -> Vec<Event> {
    let problems = match subject {
        Subject::Session(id) => state.sessions.get(id).map(|session| session.problems(now, state)),
        // Pull requests that no session of ours owns have no incidents.
        Subject::Pull(id) => {
            let owned = state.pulls.get(id).filter(|pull| pull.owner.is_some());
            owned.map(|pull| state.problems_of_pull(pull, now))
        }
        Subject::Project(id) => {
            let base =
                state.projects.get(id).map(|project| base_problems(state, id, project)).unwrap_or_default();
            Some([base, fleet::problems_of_project(state, id)].concat())
        }
        Subject::Host => Some(fleet::problems_of_host(state)),
    };
    // The incidents of an ended subject end with it.
    let over = match subject {
        Subject::Session(id) => state.sessions.get(id).is_none_or(|session| !session.is_live()),
        Subject::Pull(id) => state.pulls.get(id).is_none_or(|pull| !pull.is_open() || pull.owner.is_none()),
        Subject::Project(id) => !state.projects.contains_key(id),
        Subject::Host => false,
    };
    let problems = problems.unwrap_or_default();
    let mut events = Vec::new();
    for incident in state.incidents_of(subject) {
        let there = problems.iter().any(|p| p.kind == incident.key.kind && p.id == incident.key.problem);
        // A custom event is cleared explicitly, or passes.
        if !there && (over || !incident.key.kind.is_moment()) {
            // Neither flickers: a provider's limit ends at its time, and an exit is over when the next process
            // starts.
            let ended =
                over || matches!(incident.key.kind, IncidentKind::RateLimited | IncidentKind::AgentExited);
            let input = if ended { IncidentInput::Gone } else { IncidentInput::Absent };
            events.extend(incident_events(state, now, incident.key.clone(), input));
        }
    }
    for problem in problems {
        let key =
            IncidentKey { subject: subject.clone(), kind: problem.kind.clone(), problem: problem.id.clone() };
        events.extend(incident_events(state, now, key, IncidentInput::Seen(problem)));
    }
    events
}

/// Returns the checks that fail on the base with the same signature as on a pull request.
fn base_problems(state: &State, id: &ProjectId, project: &project::Project) -> Vec<ObservedProblem> {
    let first = PullId { project: id.clone(), number: 0 };
    let pulls = || state.pulls.range(first.clone()..).take_while(|(pull, _)| pull.project == *id);
    project.base.problems(|red, signature| {
        pulls().any(|(_, pull)| {
            pull.is_open()
                && pull.facts.base_branch == red.branch
                && pull
                    .failure(&ProblemId::Check { check: red.check.clone(), signature: signature.to_owned() })
                    .is_some()
        })
    })
}

pub(crate) fn incident_events(
    state: &State,
    now: Timestamp,
    key: IncidentKey,
    input: IncidentInput,
) -> Vec<Event> {
    let known = state.incidents.get(&key);
    IncidentContext::of(state, &key, now, |context| incident::decide(&key, known, context, input))
        .into_iter()
        .map(|event| Event::Incident(key.clone(), event))
        .collect()
}

/// Returns the session that owns the problem.
pub(crate) fn agent_of<'a>(state: &'a State, subject: &Subject) -> Option<&'a Session> {
    let id = match subject {
        Subject::Session(id) => *id,
        Subject::Pull(pull) => state.pulls.get(pull)?.owner?,
        Subject::Project(_) | Subject::Host => return None,
    };
    state.sessions.get(&id).map(|session| &**session)
}

/// Returns the orchestrator of the project concerned, if one is up.
pub(crate) fn orchestrator_of<'a>(state: &'a State, subject: &Subject) -> Option<&'a Session> {
    let project = match subject {
        Subject::Session(id) => &state.sessions.get(id)?.spec.project,
        Subject::Pull(pull) => &pull.project,
        Subject::Project(project) => project,
        Subject::Host => return None,
    };
    state.orchestrator_in(project).filter(|session| matches!(session.phase, Phase::Running { .. }))
}

impl State {
    /// Returns the session that handles a subject after its own agent, if one is up.
    pub fn orchestrator_for(&self, subject: &Subject) -> Option<&Session> {
        orchestrator_of(self, subject)
    }
}

// ── what should be, and what is ──

/// Compares the processes of a runtime with those it should run.
fn compare(state: &State, moment: &Moment, census: &Census) -> Vec<Event> {
    let counted = |session: SessionId, attempt| {
        census
            .seen
            .iter()
            .find(|seen| seen.session == session && seen.attempt == attempt)
            .map(|seen| seen.life)
    };
    let expected: Vec<(&Session, crate::Attempt)> = state
        .live()
        .filter(|session| session.spec.runtime == census.runtime)
        .filter_map(|session| match session.phase {
            Phase::Running { attempt, since } if since < census.began => Some((session, attempt)),
            _ => None,
        })
        .collect();
    let gone = |session: &Session, attempt| {
        matches!(counted(session.id, attempt), None | Some(ProcessLife::Gone { .. }))
    };
    let missing = expected.iter().filter(|(session, attempt)| gone(session, *attempt)).count();
    let doubted = missing >= MASS_DEATH && missing * 2 > expected.len();

    let mut events = Vec::new();
    if doubted {
        events.push(Event::Host(HostEvent::CensusDoubted {
            runtime: census.runtime.clone(),
            missing: missing as u32,
            expected: expected.len() as u32,
        }));
    }
    for (session, attempt) in expected {
        let life = match counted(session.id, attempt) {
            _ if doubted => ProcessLife::Unknown,
            Some(life) => life,
            None => ProcessLife::Gone { code: None },
        };
        let signal = Signal::certain(attempt, SignalSource::Process, census.began, life.into());
        if let Ok(seen) = session::decide(state, session, moment, SessionInput::Signal(signal)) {
            events.extend(session_events(session.id, seen));
        }
        // Each is looked at individually: if they are really gone, as after a reboot, they are soon restarted.
        if doubted && !session.watch.wanted {
            events.push(Event::Session(session.id, SessionEvent::LookWanted {}));
        }
    }
    // A launch that hung may have left a process, and a held session does not launch again to find it.
    let held =
        state.live().filter(|session| session.spec.runtime == census.runtime && !session.holds.is_empty());
    for session in held {
        let Phase::Starting { attempt, .. } = session.phase else { continue };
        if counted(session.id, attempt) == Some(ProcessLife::Unheld) {
            let signal = Signal::certain(attempt, SignalSource::Process, census.began, Reading::Unheld);
            let seen = session::decide(state, session, moment, SessionInput::Signal(signal));
            events.extend(seen.into_iter().flat_map(|seen| session_events(session.id, seen)));
        }
    }
    let strays = census.seen.iter().filter(|seen| {
        matches!(seen.life, ProcessLife::Alive { .. } | ProcessLife::Unheld)
            && state.sessions.get(&seen.session).is_none_or(|session| {
                session.running_attempt() != Some(seen.attempt) && session.attempt >= seen.attempt
            })
            && !state.strays.contains(&(seen.session, seen.attempt, census.runtime.clone()))
    });
    events.extend(strays.map(|stray| {
        Event::Host(HostEvent::StrayFound {
            session: stray.session,
            attempt: stray.attempt,
            runtime: census.runtime.clone(),
        })
    }));
    events
}
