//! Invariants of each event, checked against the state just before it.

use ao_core::event::{AccountEvent, HostEvent};
use ao_core::evidence::AgentActivity;
use ao_core::incident::{EscalationLevel, IncidentEvent, IncidentKey};
use ao_core::job::JobEvent;
use ao_core::notice::NoticeEvent;
use ao_core::session::{Delivery, HoldKind, MessageKind, Phase, Session, SessionEvent, SessionRole};
use ao_core::{Event, SessionId, StampedEvent, Timestamp};

use super::Invariant::{self, *};
use super::ledger::{IncidentCounts, MessagePlace, NoticeProgress, RetryCounts};
use super::{alarms, asks, jobs, queue};
use crate::universe::UniverseState;

/// Records an event in the ledger, before it is applied to the shadow.
pub(crate) fn committed(inner: &mut UniverseState, stamped: &StampedEvent) {
    match &stamped.event {
        Event::Session(id, event) => {
            if let SessionEvent::DeliveryFailed { delivery, .. } = event {
                give_up(inner, *id, *delivery);
            }
            session(inner, *id, event, stamped.at);
            asks::session(inner, *id, event);
            if let Some((invariant, what)) = messages(inner, *id, event) {
                inner.broken(invariant, what);
            }
        }
        Event::Incident(key, event) => {
            incident(inner, key, event);
            alarms::incident(inner, key, event);
        }
        Event::Pull(id, event) => alarms::pull(inner, id, event),
        Event::Project(id, event) => alarms::project(inner, id, event),
        Event::Job(id, JobEvent::Wanted { .. }) => {
            inner.log.ledger.jobs.insert(*id);
        }
        Event::Job(id, JobEvent::Done { outcome, .. }) => jobs::done(inner, *id, outcome),
        Event::Notice(_, NoticeEvent::Raised { notice }) => {
            let before =
                inner.log.ledger.notices.insert(notice.key.clone(), NoticeProgress::Raised { retries: 0 });
            inner.must(before.is_none(), PersonsNotified, || format!("`{}` is raised twice", notice.key));
        }
        Event::Notice(id, event) => {
            if let Some(key) = inner.log.shadow.notices.get(id).map(|notice| notice.key.clone()) {
                notice(inner, &key, event);
            }
        }
        Event::Account(account, AccountEvent::Limited { .. }) => {
            inner.log.ledger.refused.insert(account.clone(), stamped.at);
        }
        Event::Queue(project, event) => queue::queue(inner, project, event),
        Event::Host(HostEvent::Configured { settings }) => {
            inner.log.ledger.widest_cap = inner.log.ledger.widest_cap.max(settings.max_live);
        }
        Event::Host(HostEvent::StrayFound { session, attempt, .. }) => {
            inner.log.ledger.ends.insert((*session, *attempt));
        }
        _ => {}
    }
}

/// Checks the state after a whole commit: consequences are in the same commit as their cause.
pub(crate) fn commit_over(inner: &mut UniverseState) {
    for (key, by) in std::mem::take(&mut inner.log.ledger.given_up_news) {
        let known = inner.log.shadow.incidents.get(&key);
        let left = known.is_some_and(|incident| incident.level == by && incident.absent.is_none());
        inner.must(!left, NewsEscalated, || format!("news was given up and not escalated: {key}"));
    }
}

/// Records the problems whose news is given up with a delivery.
fn give_up(inner: &mut UniverseState, id: SessionId, delivery: u32) {
    let Some(session) = inner.log.shadow.sessions.get(&id) else { return };
    let by = if session.spec.role == SessionRole::Orchestrator {
        EscalationLevel::Orchestrator
    } else {
        EscalationLevel::Agent
    };
    let given_up = session.outbox.under_way().filter(|under_way| under_way.no == delivery);
    let news = given_up.flat_map(|delivery| &delivery.messages).filter_map(|message| match &message.kind {
        MessageKind::News { incident } => Some((incident.clone(), by)),
        _ => None,
    });
    inner.log.ledger.given_up_news.extend(news.collect::<Vec<_>>());
}

fn session(inner: &mut UniverseState, id: SessionId, event: &SessionEvent, at: Timestamp) {
    use SessionEvent as E;
    if let E::Queued { spec } = event {
        return appears(inner, id, spec);
    }
    let Some(session) = inner.log.shadow.sessions.get(&id) else { return };
    let settings = &inner.log.shadow.settings;
    let attempt = session.attempt;
    let mut broken: Vec<(Invariant, String)> = Vec::new();
    let mut must = |holds: bool, invariant: Invariant, what: &str| {
        if !holds {
            broken.push((invariant, format!("{what} ({id}, {event:?})")));
        }
    };
    // A spent budget, a person's pause, a provider's limit: each forbids a further turn.
    let held = !session.holds.is_empty();
    if matches!(event, E::Admitted { .. } | E::Launching { .. } | E::DeliveryStarted { .. }) {
        must(!overspent(inner, session, at), BudgetHolds, "a start or a turn though a budget is spent");
        must(
            !refused(inner, session, at),
            LimitsRespected,
            "a start or a turn on an account that is refused",
        );
    }
    if *event == (E::Released { kind: HoldKind::Account }) {
        must(!overtakes(inner, session, at), LimitsRespected, "one goes on before another that was first");
    }
    let patience = inner.log.ledger.patience.entry(id).or_default();
    match event {
        E::Admitted { attempt, .. } => {
            let shadow = &inner.log.shadow;
            let project = shadow.projects.get(&session.spec.project).and_then(|known| known.config.max_live);
            let slots = |of: &dyn Fn(&Session) -> bool| {
                shadow.sessions.values().filter(|other| other.takes_slot() && of(other)).count() as u32
            };
            must(slots(&|_| true) < settings.max_live, CapsHold, "a slot is given beyond the cap");
            let of_project = |other: &Session| other.spec.project == session.spec.project;
            must(
                project.is_none_or(|max| slots(&of_project) < max),
                CapsHold,
                "a slot is given beyond the project's cap",
            );
            must(shadow.scarce_mb.is_none(), CapsHold, "a slot is given while memory is scarce");
            must(!held, BudgetHolds, "a slot is given though it is held");
            inner.log.ledger.admitted.insert((id, *attempt));
        }
        E::WorkspaceReady { path, .. } => {
            let twin = inner
                .log
                .shadow
                .sessions
                .values()
                .any(|other| other.id != id && other.workspace.path() == Some(path));
            must(!twin, UniqueOwner, "the path belongs to another session");
        }
        E::WorkspaceFailed { again_at: Some(_), .. } => {
            must(session.workspace.tries + 1 < settings.setup_tries, RetriesBounded, "set up too often");
        }
        E::Launching { attempt, conversation, resume, .. } => {
            must(!held, BudgetHolds, "a launch though it is held");
            let twin = inner.log.shadow.sessions.values().any(|other| {
                other.launch.conversation.as_ref() == Some(conversation) && (other.id != id || !*resume)
            });
            must(!twin, UniqueOwner, "the conversation is not a new one, and not its own");
            patience.launches += 1;
            let most = 2 + settings.restarts + settings.delivery_tries;
            must(patience.launches <= most, RetriesBounded, "launched again and again to no avail");
            inner.log.ledger.launching.insert((id, *attempt));
        }
        E::LaunchFailed { .. } => {
            let tries = if let Phase::Starting { tries, .. } = session.phase { tries } else { 0 };
            must(tries + 1 < settings.setup_tries, RetriesBounded, "started too often");
        }
        E::Stopping { .. } => {
            inner.log.ledger.ends.insert((id, attempt));
            if let Phase::Running { since, .. } = session.phase
                && at.since(since) >= settings.stable_run
            {
                *patience = RetryCounts::default();
            }
        }
        E::Retrying { .. } => {
            patience.restarts += 1;
            must(patience.restarts <= settings.restarts, RetriesBounded, "restarted too often");
        }
        E::Requeued { why, .. } => {
            patience.restarts = 0;
            if why != "a message waits for it" {
                patience.launches = 0;
            }
            must(alone(inner, session), OneSessionPerTask, "its task has another session");
            must(own_branch(inner, session), UniqueOwner, "its branch belongs to another session");
        }
        E::DeliveryStarted { .. } | E::DeliveryRetried { .. } => {
            must(!held, BudgetHolds, "a turn though it is held");
            let interrupt = match event {
                E::DeliveryStarted { delivery } => delivery.interrupt,
                _ => session.outbox.current.as_ref().is_some_and(|current| current.interrupt),
            };
            if let Err(reason) = may_type(session, interrupt, at, settings.human_quiet) {
                must(false, NoIntrusiveTyping, reason);
            }
            let tries = match event {
                E::DeliveryStarted { delivery } => delivery.tries,
                _ => session.outbox.current.as_ref().map_or(0, |current| current.tries),
            };
            // An attempt that was postponed before anything was typed does not count; one of them can be the last.
            must(tries <= settings.delivery_tries, RetriesBounded, "delivered too often");
        }
        E::Accepted { .. } | E::Released { .. } => patience.launches = 0,
        E::MessageQueued { message, .. } if message.kind != MessageKind::Task => patience.launches = 0,
        E::DeliveryFailed { delivery, .. } => {
            inner.log.ledger.owed.insert(format!("{id} delivery {delivery}"));
        }
        E::RemovalWanted { .. } => {
            must(!session.is_live(), NothingDeleted, "the workspace of a live session is to go");
            inner.log.ledger.removals.insert(id);
        }
        E::WorkspaceRemoved { .. } | E::WorkspaceKept { .. } => {
            inner.log.ledger.removals.remove(&id);
        }
        E::RemovalFailed { .. } => {
            must(session.workspace.tries + 1 < settings.setup_tries, RetriesBounded, "removed too often");
        }
        _ => {}
    }
    for (invariant, what) in broken {
        inner.broken(invariant, what);
    }
}

/// Returns true if a budget of a session was spent before this time. At that very time, the sessions that it bounds
/// are held one after the other.
fn overspent(inner: &UniverseState, session: &Session, at: Timestamp) -> bool {
    let shadow = &inner.log.shadow;
    let caps = shadow
        .budgets_of(session)
        .into_iter()
        .filter_map(|budget| shadow.budget_usage.get(&budget)?.cap.as_ref());
    caps.into_iter().any(|cap| cap.since < at)
}

/// Returns true if a provider refused its account before this time and still does.
fn refused(inner: &UniverseState, session: &Session, at: Timestamp) -> bool {
    let since = inner.log.ledger.refused.get(session.account());
    inner.log.shadow.accounts.contains_key(session.account()) && since.is_some_and(|since| *since < at)
}

/// Returns true if it resumes after a limit while another waits that has precedence.
fn overtakes(inner: &UniverseState, session: &Session, at: Timestamp) -> bool {
    let shadow = &inner.log.shadow;
    // Only sessions that resume automatically: others were ended, or wait for a person.
    let by_itself = |session: &Session| {
        let project =
            shadow.projects.get(&session.spec.project).and_then(|project| project.config.auto_resume);
        project.unwrap_or(shadow.settings.auto_resume)
    };
    let rank = |session: &Session| {
        let since = session.holds.get(&HoldKind::Account).map(|hold| hold.since);
        (std::cmp::Reverse(session.spec.priority), since)
    };
    session.resume.at.is_some_and(|then| then <= at)
        && by_itself(session)
        && shadow.sessions.values().any(|other| {
            other.id != session.id
                && other.account() == session.account()
                && other.resume.at.is_some_and(|then| then > at)
                && by_itself(other)
                && rank(other) < rank(session)
        })
}

fn appears(inner: &mut UniverseState, id: SessionId, spec: &ao_core::session::SessionSpec) {
    let shadow = &inner.log.shadow;
    let taken = spec.task.is_some()
        && shadow.sessions.values().any(|other| other.is_live() && other.spec.task == spec.task);
    let named = shadow.sessions.values().any(|other| other.spec.name == spec.name);
    let branched = shadow.sessions.values().any(|other| {
        holds_branch(other) && other.spec.project == spec.project && other.spec.branch == spec.branch
    });
    inner.must(!taken, OneSessionPerTask, || format!("{id} is a second session of {:?}", spec.task));
    inner.must(!named, UniqueOwner, || format!("{id} is a second `{}`", spec.name));
    inner.must(!branched, UniqueOwner, || format!("{id} is a second session on `{}`", spec.branch));
}

fn alone(inner: &UniverseState, session: &Session) -> bool {
    session.spec.task.is_none()
        || !inner
            .log
            .shadow
            .sessions
            .values()
            .any(|other| other.id != session.id && other.is_live() && other.spec.task == session.spec.task)
}

fn own_branch(inner: &UniverseState, session: &Session) -> bool {
    !inner.log.shadow.sessions.values().any(|other| {
        other.id != session.id
            && holds_branch(other)
            && (&other.spec.project, &other.spec.branch) == (&session.spec.project, &session.spec.branch)
    })
}

fn holds_branch(session: &Session) -> bool {
    session.is_live() || session.workspace.may_exist()
}

/// Returns an error unless typing is allowed now.
fn may_type(
    session: &Session,
    interrupt: bool,
    at: Timestamp,
    quiet: std::time::Duration,
) -> Result<(), &'static str> {
    let steer = session.spec.agent.abilities.steer;
    match session.judgement.activity {
        AgentActivity::Idle | AgentActivity::Blocked => {}
        AgentActivity::Working | AgentActivity::Starting if interrupt || steer => {}
        AgentActivity::NeedsInput => return Err("typed into a dialog"),
        _ => return Err("typed into a turn, or at an agent of which nothing is known"),
    }
    match session.evidence.human_typed {
        Some(typed) if at < typed + quiet => Err("typed over a person"),
        _ if !matches!(session.phase, Phase::Running { .. }) => Err("typed at no process"),
        _ if !session.holds.is_empty() => Err("typed at a held session"),
        _ => Ok(()),
    }
}

/// Moves messages to their new state, and returns an invalid transition.
fn messages(inner: &mut UniverseState, id: SessionId, event: &SessionEvent) -> Option<(Invariant, String)> {
    use SessionEvent as E;
    let book = inner.log.ledger.messages.entry(id).or_default();
    let wrong = |what: String| Some((MessagesKept, format!("{what} ({id})")));
    match event {
        E::MessageQueued { message, replaces } => {
            if book.insert(message.no, MessagePlace::Waiting).is_some() {
                return wrong(format!("message {} is queued twice", message.no));
            }
            if let Some(no) = replaces
                && book.insert(*no, MessagePlace::Withdrawn) != Some(MessagePlace::Waiting)
            {
                return wrong(format!("message {no} is replaced, though it does not wait"));
            }
        }
        E::MessageWithdrawn { no, .. } => {
            let before = book.insert(*no, MessagePlace::Withdrawn);
            return (before != Some(MessagePlace::Waiting))
                .then(|| wrong(format!("message {no} is withdrawn, though it does not wait")))?;
        }
        E::Launching { delivery: Some(delivery), .. } | E::DeliveryStarted { delivery } => {
            return set_out(inner, id, delivery);
        }
        E::ConversationGone { .. } => {
            for place in book.values_mut().filter(|place| matches!(place, MessagePlace::UnderWay(_))) {
                *place = MessagePlace::Waiting;
            }
        }
        E::Accepted { delivery, .. } => {
            let mut any = false;
            for place in book.values_mut().filter(|place| **place == MessagePlace::UnderWay(*delivery)) {
                *place = MessagePlace::Accepted;
                any = true;
            }
            if !any {
                return wrong(format!("delivery {delivery} is accepted, but none is under way"));
            }
            let conversation = inner.log.shadow.sessions.get(&id)?.launch.conversation.as_ref()?;
            let turns = inner.outside.conversations.get(conversation);
            if !turns.is_some_and(|turns| turns.iter().any(|turn| turn.delivery == Some(*delivery))) {
                return wrong(format!("delivery {delivery} is accepted, but the agent never read it"));
            }
        }
        E::TakenAfterAll { messages, .. } => {
            for no in messages {
                if book.insert(*no, MessagePlace::Accepted) != Some(MessagePlace::Failed) {
                    return wrong(format!("message {no} is taken after all, though it was not given up"));
                }
            }
        }
        E::DeliveryFailed { delivery, .. } => {
            for place in book.values_mut().filter(|place| **place == MessagePlace::UnderWay(*delivery)) {
                *place = MessagePlace::Failed;
            }
        }
        E::MessagesDropped { .. } => {
            for place in book.values_mut() {
                if matches!(place, MessagePlace::Waiting | MessagePlace::UnderWay(_)) {
                    *place = MessagePlace::Failed;
                }
            }
        }
        E::Archived { .. } if inner.log.ledger.open(id).next().is_some() => {
            return wrong("it is archived with messages that have no end".into());
        }
        _ => {}
    }
    None
}

fn set_out(inner: &mut UniverseState, id: SessionId, delivery: &Delivery) -> Option<(Invariant, String)> {
    inner.log.ledger.deliveries.insert((id, delivery.no));
    let book = inner.log.ledger.messages.entry(id).or_default();
    for message in &delivery.messages {
        match book.insert(message.no, MessagePlace::UnderWay(delivery.no)) {
            Some(MessagePlace::Waiting) => {}
            Some(MessagePlace::UnderWay(before)) if before == delivery.no => {}
            before => {
                let what = format!("message {} sets out, but was {before:?} ({id})", message.no);
                return Some((MessagesKept, what));
            }
        }
    }
    // An interrupt overtakes a delivery that only waits for its proof.
    let other = !delivery.interrupt
        && book.values().any(|place| matches!(place, MessagePlace::UnderWay(no) if *no != delivery.no));
    other.then(|| (MessagesKept, format!("delivery {} pushes another one aside ({id})", delivery.no)))
}

fn incident(inner: &mut UniverseState, key: &IncidentKey, event: &IncidentEvent) {
    let counts = inner.log.ledger.problems.entry(key.clone()).or_default();
    match event {
        IncidentEvent::Opened { .. } => *counts = IncidentCounts::default(),
        IncidentEvent::Closed {} => {
            inner.log.ledger.problems.remove(key);
        }
        IncidentEvent::Acted { .. } => {
            counts.acted += 1;
            let (acted, most) = (counts.acted, inner.log.shadow.reaction(&key.kind, &key.subject).attempts);
            inner.must(acted <= most, RetriesBounded, || format!("acted {acted} times of {most}: {key}"));
        }
        IncidentEvent::Unsaid {} | IncidentEvent::Failed { instead: true, .. } => {
            counts.acted = counts.acted.saturating_sub(1);
        }
        IncidentEvent::Escalated { to: EscalationLevel::Person, .. } => {
            counts.persons += 1;
            let persons = counts.persons;
            inner
                .must(persons == 1, EscalatedOnce, || format!("a person is notified {persons} times: {key}"));
        }
        _ => {}
    }
}

fn notice(inner: &mut UniverseState, key: &str, event: &NoticeEvent) {
    let most = inner.log.shadow.settings.notice_tries;
    // A notice that was withdrawn before it reached a person may be raised again.
    if matches!(event, NoticeEvent::Withdrawn { .. }) && !inner.outside.notified.contains_key(key) {
        inner.log.ledger.notices.remove(key);
        return;
    }
    let Some(known) = inner.log.ledger.notices.get_mut(key) else { return };
    match (event, *known) {
        (NoticeEvent::Retried { .. }, NoticeProgress::Raised { retries }) => {
            *known = NoticeProgress::Raised { retries: retries + 1 };
            inner.must(retries + 1 < most, RetriesBounded, || format!("`{key}` is sent too often"));
        }
        (NoticeEvent::Sent {}, _) => {
            *known = NoticeProgress::Sent;
            let notified = inner.outside.notified.contains_key(key);
            inner
                .must(notified, PersonsNotified, || format!("`{key}` counts as sent, and reached no person"));
        }
        (NoticeEvent::GivenUp { .. }, NoticeProgress::Raised { retries }) => {
            *known = NoticeProgress::GivenUp;
            inner.must(retries + 1 >= most, PersonsNotified, || format!("`{key}` is given up too early"));
        }
        _ => {}
    }
}
