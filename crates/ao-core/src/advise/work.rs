//! Advice about agents, tasks and their budgets.

use super::{AdviceItem, AdviceKind, AdviceSubject, Known, others_wait, shell, since};
use crate::TaskId;
use crate::assign::{Intake, promised};
use crate::evidence::AgentActivity;
use crate::incident::{EscalationLevel, IncidentKind, Subject};
use crate::outside::{cut, one_line};
use crate::schedule::Obstacle;
use crate::session::{HoldKind, Phase, Session, SessionRole};
use crate::state::State;
use crate::task::Task;
use crate::work::{NextStep, WorkTurn, open_pulls};

/// The number of bytes of a quoted text that are shown.
const SAID: usize = 160;
/// The number of turns without a pull request that counts as a lot.
const MANY_TURNS: u64 = 30;

pub(super) fn memory(known: &Known<'_>) -> Vec<AdviceItem> {
    let state = known.state;
    let Some(free_mb) = state.scarce_mb else { return vec![] };
    let queued = state.live().filter(|session| matches!(session.phase, Phase::Queued { .. })).count();
    let what = "no agent can start: the memory is short".to_owned();
    let why = format!("{free_mb} MB are free, and {} have to be; {queued} wait", state.settings.min_free_mb);
    let advice = AdviceItem::new(AdviceKind::Memory, None, AdviceSubject::Host, what, why);
    vec![advice.unblocks(queued).command("ao plan".into())]
}

/// Reports agents that ask a question.
pub(super) fn answers(known: &Known<'_>) -> Vec<AdviceItem> {
    let (state, now) = (known.state, known.now);
    let asking = state.live().filter(|session| session.judgement.activity == AgentActivity::NeedsInput);
    let of = asking.map(|session| {
        let since = since(now, session.dialogs.open.unwrap_or(session.activity_since));
        let waiting = behind(known, session);
        let what = format!("{} waits for your answer since {since}", session.spec.name);
        let question = one_line(&cut(&session.status(now).reason, SAID));
        let name = &session.spec.name;
        about_session(AdviceKind::Answer, session, what, format!("{question}{}", others_wait(waiting)))
            .unblocks(waiting)
            .command(format!("ao status {name}"))
    });
    of.collect()
}

/// Reports incidents that agents and orchestrators have given up on.
pub(super) fn needs_you(known: &Known<'_>) -> Vec<AdviceItem> {
    let (state, now) = (known.state, known.now);
    let told_elsewhere = [
        IncidentKind::AgentNeedsInput,
        IncidentKind::ReviewNeeded,
        IncidentKind::ApprovedAndGreen,
        IncidentKind::BaseRed,
        IncidentKind::BudgetExceeded,
        IncidentKind::RateLimited,
        IncidentKind::AllComplete,
        IncidentKind::PrMerged,
        IncidentKind::LabelAdded,
    ];
    let up = state
        .incidents
        .values()
        .filter(|incident| incident.level == EscalationLevel::Person && incident.absent.is_none());
    let up = up.filter(|incident| !told_elsewhere.contains(&incident.key.kind));
    let of = up.filter_map(|incident| {
        let since = since(now, incident.since);
        let tried = match incident.acted {
            0 => String::new(),
            1 => "; its agent was told once".into(),
            times => format!("; its agent was told {times} times"),
        };
        let what = |who: &str| format!("{who} needs you: {}", incident.key.kind);
        let why = format!("{} for {since}{tried}", one_line(&cut(first_line(&incident.detail), SAID)));
        match &incident.key.subject {
            Subject::Session(id) => {
                let session = state.sessions.get(id)?;
                let waiting = behind(known, session);
                let name = &session.spec.name;
                let advice = about_session(AdviceKind::NeedsYou, session, what(name), why);
                Some(advice.unblocks(waiting).command(format!("ao explain {name}")))
            }
            Subject::Pull(pull) => {
                let about = AdviceSubject::Pull(pull.clone());
                let advice = AdviceItem::new(
                    AdviceKind::NeedsYou,
                    Some(&pull.project),
                    about,
                    what(&pull.to_string()),
                    why,
                );
                let waiting = super::pulls::behind(known, state.pulls.get(pull)?);
                Some(advice.unblocks(waiting).command(format!("ao pr show {}", shell(&pull.to_string()))))
            }
            Subject::Project(project) => {
                let about = AdviceSubject::Project(project.clone());
                let advice =
                    AdviceItem::new(AdviceKind::NeedsYou, Some(project), about, what(project.as_str()), why);
                let command = match incident.key.kind {
                    IncidentKind::RepositoryChanged => "ao trust-project",
                    _ => "ao status --project",
                };
                Some(advice.command(format!("{command} {}", shell(project.as_str()))))
            }
            Subject::Host => {
                let advice = AdviceItem::new(
                    AdviceKind::NeedsYou,
                    None,
                    AdviceSubject::Host,
                    what("this machine"),
                    why,
                );
                Some(advice.command("ao doctor".into()))
            }
        }
    });
    of.collect()
}

/// Reports spent budgets and limited accounts, while sessions wait for them.
pub(super) fn spent(known: &Known<'_>) -> Vec<AdviceItem> {
    let (state, now) = (known.state, known.now);
    let mut advice = Vec::new();
    for (budget, cap) in state.capped() {
        let held: Vec<&Session> =
            state.live_under(budget).into_iter().filter(|session| !session.holds.is_empty()).collect();
        let Some(first) = held.first() else { continue };
        let about = match budget.project() {
            Some(project) => AdviceSubject::Project(project.clone()),
            None => AdviceSubject::Host,
        };
        let what = format!("{} held by a budget", how_many(held.len()));
        let command = format!("ao resume {} --of {} --usd AMOUNT", first.spec.name, budget.word());
        let one = AdviceItem::new(AdviceKind::Spent, budget.project(), about, what, one_line(&cap.why));
        advice.push(one.unblocks(held.len()).command(command));
    }
    for (account, until) in &state.accounts {
        let held = state.live().filter(|session| session.account() == account).count();
        if held > 0 && *until > now {
            let what = format!("{} held by the provider's limit of {}", how_many(held), one_line(account));
            let why = format!("it ends by itself in {}", since(*until, now));
            let one = AdviceItem::new(AdviceKind::Spent, None, AdviceSubject::Host, what, why);
            advice.push(one.command("ao budget".into()));
        }
    }
    advice
}

fn how_many(sessions: usize) -> String {
    match sessions {
        1 => "one session is".into(),
        sessions => format!("{sessions} sessions are"),
    }
}

/// Reports agents that spend their budget and have shown no result.
pub(super) fn burns(known: &Known<'_>) -> Vec<AdviceItem> {
    let state = known.state;
    let at_work = state.live().filter(|session| {
        session.spec.role == SessionRole::Worker
            && matches!(session.phase, Phase::Running { .. })
            && session.pulls.is_empty()
            && session.judgement.activity != AgentActivity::NeedsInput
    });
    let of = at_work.filter_map(|session| {
        let why = match session.spec.limits.nearly_reached(&session.usage.spend) {
            Some(reached) => format!("{} of {} {} are used up", reached.spent, reached.limit, reached.what),
            None if session.usage.spend.turns >= MANY_TURNS => format!("{} turns", session.usage.spend.turns),
            None => return None,
        };
        let name = &session.spec.name;
        let what = format!("{name} uses up its budget and has no pull request yet");
        let advice = about_session(AdviceKind::Burns, session, what, why);
        Some(advice.unblocks(behind(known, session)).command(format!("ao attach {name}")))
    });
    of.collect()
}

/// Reports tasks that wait for a person.
pub(super) fn tasks(known: &Known<'_>) -> Vec<AdviceItem> {
    let (state, now) = (known.state, known.now);
    let intakes: Vec<Intake<'_>> =
        state.projects.keys().filter_map(|id| Intake::of(state, id, now)).collect();
    let slots = promised(state, now);
    let all = intakes.iter().flat_map(|intake| intake.wanted().map(move |task| (intake, task)));
    let of = all.filter_map(|(intake, (id, facts))| {
        let title = one_line(&cut(&facts.title, SAID));
        let (kind, what, why) = match intake.obstacle(id, facts, &slots)? {
            Obstacle::Untrusted { author } => {
                let what = format!("{id} waits for the approval of a trusted person: {title}");
                (AdviceKind::Trust, what, format!("{author} may not set agents to work; read it first"))
            }
            Obstacle::NotAssigned { why } => (
                AdviceKind::Unassigned,
                format!("{id} was not given to an agent: {title}"),
                one_line(&cut(&why, SAID)),
            ),
            Obstacle::Worked if is_left(state, id, facts) => (
                AdviceKind::Unassigned,
                format!("{id} is open, and its session has ended: {title}"),
                "an issue starts automatically only once".to_owned(),
            ),
            _ => return None,
        };
        let waiting = known.waiters.behind(id);
        // A person has to read the text of a stranger before an agent works on it.
        let verb = if kind == AdviceKind::Trust { "issue show" } else { "spawn" };
        let command = format!("ao {verb} {} --project {}", shell(&id.key), shell(id.project.as_str()));
        let one = AdviceItem::new(kind, Some(&id.project), AdviceSubject::Task(id.clone()), what, why);
        Some(one.unblocks(waiting).command(command))
    });
    of.collect()
}

/// Returns whether an issue that already had its session is left undone: no change is proposed for it, and a merge
/// would close it.
fn is_left(state: &State, id: &TaskId, facts: &Task) -> bool {
    let closes = state.projects.get(&id.project).is_some_and(|project| !project.config.leave_issues_open);
    let proposed = || open_pulls(state).any(|pull| pull.tasks.values().any(|task| task == id));
    closes && !facts.closed && !proposed()
}

/// Reports sessions and pull requests that wait for a person and that no other advice covers.
pub(super) fn rest(known: &Known<'_>, told: &[AdviceItem]) -> Vec<AdviceItem> {
    let state = known.state;
    let is_told = |about: &AdviceSubject| told.iter().any(|one| one.about == *about);
    // A shared budget is reported once for all its sessions.
    let shared =
        |session: &Session| session.holds.keys().any(|kind| kind.is_budget() && *kind != HoldKind::Budget);
    let of_sessions = state.sessions.values().filter(|session| !shared(session)).filter_map(|session| {
        let name = &session.spec.name;
        let work = known.session(session);
        let of_pull = work.pull.as_ref().is_some_and(|pull| pull.step.turn == WorkTurn::You);
        let about = AdviceSubject::Session(session.id, name.clone());
        if work.step.turn != WorkTurn::You || of_pull || is_told(&about) {
            return None;
        }
        let what = format!("{name} needs you: {}", work.step.says);
        let one = about_session(AdviceKind::NeedsYou, session, what, since_words(known, &work.step));
        let command = work.step.command.unwrap_or_else(|| format!("ao explain {name}"));
        Some(one.unblocks(work.unblocks as usize).command(command))
    });
    let of_pulls = open_pulls(state).filter_map(|pull| {
        let work = known.pull(pull);
        let about = AdviceSubject::Pull(pull.id.clone());
        if work.step.turn != WorkTurn::You || is_told(&about) {
            return None;
        }
        let what = format!("{} {}: {}", pull.id, work.step.says, one_line(&cut(&pull.facts.title, SAID)));
        let why = since_words(known, &work.step);
        let one = AdviceItem::new(AdviceKind::NeedsYou, Some(&pull.id.project), about, what, why);
        let command =
            work.step.command.unwrap_or_else(|| format!("ao pr show {}", shell(&pull.id.to_string())));
        Some(one.unblocks(work.unblocks as usize).command(command))
    });
    of_sessions.chain(of_pulls).collect()
}

fn since_words(known: &Known<'_>, step: &NextStep) -> String {
    format!("for {}", since(known.now, step.since))
}

fn about_session(kind: AdviceKind, session: &Session, what: String, why: String) -> AdviceItem {
    let about = AdviceSubject::Session(session.id, session.spec.name.clone());
    AdviceItem::new(kind, Some(&session.spec.project), about, what, why)
}

/// Returns the number of tasks that wait for the one that a session works on.
fn behind(known: &Known<'_>, session: &Session) -> usize {
    session.spec.task.as_ref().map_or(0, |task| known.waiters.behind(task))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
