//! Converts sessions to wire types.

use ao_api::{
    Agent, AgentRole, Ask, AskDetailType, AskOptionType, AskType, GivenAnswer, Hold, HoldReason,
    ReportedState, SessionAsk, SessionState, SessionStatus, Spend, Status, Tree, TreeState, WorkState,
};
use ao_core::ask::{AskDetail, AskKind, AskOption, OpenAsk, OptionKind};
use ao_core::evidence::{JudgementRule, judge};
use ao_core::incident::Subject;
use ao_core::schedule::obstacle;
use ao_core::session::{HoldKind, Phase, Session, SessionHold, SessionRole, StatusWord};
use ao_core::work::WorkView;
use ao_core::workspace::WorkspaceState;
use ao_core::{State, Timestamp};

use super::time;

/// Bytes of each detail of an ask that are shown in a list.
const LISTED_MOST: usize = 2000;

pub(crate) fn session(view: &WorkView<'_>, session: &Session) -> ao_api::Session {
    let (state, now) = (view.state(), view.now());
    let spec = &session.spec;
    let under_way: usize = session.outbox.under_way().map(|delivery| delivery.messages.len()).sum();
    ao_api::Session {
        id: session.id.to_string(),
        name: spec.name.clone(),
        project_id: spec.project.to_string(),
        role: same_name!(spec.role, SessionRole => AgentRole: Worker, Orchestrator, Reviewer),
        title: title(session),
        issue: spec.task.as_ref().map(|task| task.key.clone()),
        status: status_of(state, session, now),
        work: work_of(view, session),
        agent: Agent {
            name: spec.agent.name.clone(),
            model: spec.agent.model.clone(),
            account: spec.agent.account.clone(),
            conversation: session.launch.conversation.as_ref().map(ToString::to_string),
        },
        runtime: spec.runtime.clone(),
        branch: session.branch().to_owned(),
        workspace: tree(session),
        created_at: time(session.created),
        attempt: session.attempt.0,
        ports: session.ports.held.clone(),
        pulls: session.pulls.iter().map(ToString::to_string).collect(),
        messages_waiting: count(session.outbox.waiting.len() + under_way),
        messages_failed: count(session.outbox.failed.len()),
        denied_tools: session.denied.count,
        last_denied_tool: (session.denied.count > 0).then(|| session.denied.tool.clone()),
        spend: spend(session, now),
        budgets: super::budget::of_session(state, session, now),
        holds: holds(session),
        can_restore: state.may_restore(session, now).is_ok(),
        incidents: count(state.incidents_of(&Subject::Session(session.id)).count()),
    }
}

/// Converts a session to its short form.
pub(crate) fn status(session: ao_api::Session) -> SessionStatus {
    SessionStatus {
        id: session.id,
        name: session.name,
        project_id: session.project_id,
        agent: session.agent.name,
        state: ReportedState::Full(session.status.state),
        reason: session.status.reason,
        since: session.status.since,
        current_task: session.title,
        issue: session.issue,
        branch: session.branch,
        workspace_path: session.workspace.map(|tree| tree.path),
        runtime: session.runtime,
        work: session.work,
    }
}

/// Returns the reason for its state; for a waiting session, what it waits for.
fn reason(state: &State, session: &Session, now: Timestamp) -> String {
    match obstacle(state, session) {
        Some(obstacle) if session.holds.is_empty() => super::explain::waits_for(state, &obstacle),
        _ => session.status(now).reason,
    }
}

/// Converts its progress; for a session in the queue, what it waits for.
fn work_of(view: &WorkView<'_>, session: &Session) -> WorkState {
    let (state, now) = (view.state(), view.now());
    let mut work = super::work::session_work(state, view, session);
    if matches!(session.phase, Phase::Queued { .. }) && session.holds.is_empty() && work.pull.is_none() {
        work.says = reason(state, session, now);
    }
    work
}

pub(super) fn status_of(state: &State, session: &Session, now: Timestamp) -> Status {
    let status = session.status(now);
    let judgement = matches!(status.word, StatusWord::Working | StatusWord::NeedsInput)
        .then(|| judge(&session.evidence, now));
    let quiet = judgement.as_ref().filter(|judgement| judgement.rule == JudgementRule::BusyButQuiet);
    let question = judgement.as_ref().filter(|judgement| judgement.rule == JudgementRule::DialogOpen);
    Status {
        state: state_of(status.word),
        reason: reason(state, session, now),
        since: time(status.since),
        quiet_seconds: quiet.map(|judgement| judgement.quiet.as_secs()),
        question: question.map(|judgement| judgement.detail.clone()),
        question_number: question.and(session.open_asks().pop()).map(|open| open.number),
        asks: session.open_asks().into_iter().map(|open| ask(session, brief(open))).collect(),
    }
}

pub(crate) fn state_of(word: StatusWord) -> SessionState {
    same_name!(
        word, StatusWord => SessionState: Queued, SettingUp, SetupFailed, Starting, Working, Idle, NeedsInput, Blocked,
        RateLimited, Unknown, Capped, Paused, Retrying, Exited, Stopping, Stopped, Merged
    )
}

/// Converts the open asks of a session, with the beginnings of their details.
pub(crate) fn asks(session: &Session) -> Vec<SessionAsk> {
    session.open_asks().into_iter().map(|open| whole_ask(session, brief(open))).collect()
}

/// Converts an open ask with all the details that it has.
pub(crate) fn whole_ask(session: &Session, open: OpenAsk) -> SessionAsk {
    SessionAsk {
        session_id: session.id.to_string(),
        session_name: session.spec.name.clone(),
        project_id: session.spec.project.to_string(),
        ask: ask(session, open),
    }
}

/// Cuts the details of an ask to what a list shows.
fn brief(mut open: OpenAsk) -> OpenAsk {
    let whole = open.ask.length();
    open.ask.cut_details(LISTED_MOST);
    if open.whole.is_none() && open.ask.length() != whole {
        open.whole = Some(whole);
    }
    open
}

fn ask(session: &Session, open: OpenAsk) -> Ask {
    let OpenAsk { number, since, ask, whole } = open;
    let under_way = session.dialogs.answers_under_way().find(|answer| answer.to == number);
    let answer = under_way.map(|answer| GivenAnswer { by: answer.by.clone(), answer: answer.shown() });
    let option = |option: AskOption| ao_api::AskOption {
        id: option.id,
        label: option.label,
        kind: same_name!(
            option.kind, OptionKind => AskOptionType: AllowOnce, AllowAlways, RejectOnce, RejectAlways, Other
        ),
    };
    Ask {
        id: ask.id.to_string(),
        number,
        since: time(since),
        kind: same_name!(ask.kind, AskKind => AskType: Permission, Choice, Text),
        title: ask.title,
        details: ask.details.into_iter().map(detail).collect(),
        truncated: whole.is_some(),
        options: ask.options.into_iter().map(option).collect(),
        answer,
    }
}

fn detail(detail: AskDetail) -> ao_api::AskDetail {
    let (kind, path, text) = match detail {
        AskDetail::Tool { name } => (AskDetailType::Tool, None, name),
        AskDetail::Command { command } => (AskDetailType::Command, None, command),
        AskDetail::Path { path } => (AskDetailType::Path, None, path),
        AskDetail::Diff { path, diff } => (AskDetailType::Diff, Some(path), diff),
    };
    ao_api::AskDetail { kind, path, text }
}

pub(super) fn holds(session: &Session) -> Vec<Hold> {
    let hold = |(kind, hold): (&HoldKind, &SessionHold)| Hold {
        kind: same_name!(
            kind, HoldKind => HoldReason: Person, Consent, Budget, TaskBudget, ProjectBudget, TotalBudget, DailyBudget,
            Account, Hook
        ),
        why: hold.why.clone(),
        since: time(hold.since),
    };
    session.holds.iter().map(hold).collect()
}

/// Returns its task in one line.
fn title(session: &Session) -> String {
    let line = [&session.spec.title, &session.spec.prompt]
        .into_iter()
        .filter_map(|text| text.lines().map(str::trim).find(|line| !line.is_empty()))
        .next();
    line.unwrap_or_default().chars().take(200).collect()
}

fn tree(session: &Session) -> Option<Tree> {
    let workspace = &session.workspace;
    let (state, reasons) = match &workspace.state {
        WorkspaceState::None => return None,
        WorkspaceState::Doubtful => (TreeState::Doubtful, vec![]),
        WorkspaceState::Ready => (TreeState::Ready, vec![]),
        WorkspaceState::Removing => (TreeState::Removing, vec![]),
        WorkspaceState::Kept { reasons } => {
            (TreeState::Kept, reasons.iter().map(ToString::to_string).collect())
        }
        WorkspaceState::Removed => (TreeState::Removed, vec![]),
    };
    // An unfinished workspace may be anywhere: there is nothing to show.
    let tree = workspace.tree.as_ref()?;
    Some(Tree {
        kind: session.spec.workspace.clone(),
        path: tree.path.clone(),
        base: tree.base.clone(),
        state,
        reasons,
        // The rescue ref of a merged session moves to the archive, and cannot be restored.
        rescue: workspace.rescue.clone().filter(|_| !session.is_merged()),
    })
}

/// Converts its usage. Turns and seconds are our own counts, independent of the agent's reports.
pub(super) fn spend(session: &Session, now: Timestamp) -> Spend {
    let running = match session.phase {
        Phase::Running { since, .. } => now.since(since).as_secs(),
        _ => 0,
    };
    Spend {
        usd: session.usage.spend.micros.map(|micros| micros as f64 / 1e6),
        tokens: session.usage.spend.tokens,
        turns: session.usage.spend.turns.max(session.usage.turns),
        seconds: session.usage.spend.seconds.max(session.usage.ran.saturating_add(running)),
    }
}

fn count(many: usize) -> u32 {
    u32::try_from(many).unwrap_or(u32::MAX)
}
