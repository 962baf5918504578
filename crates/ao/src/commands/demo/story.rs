//! The story itself, step by step. Each step asks for something and waits until the events show it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ao_core::budget::Limits;
use ao_core::input::{Life, SpawnRequest};
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::session::{
    AgentChoice, MessageKind, NewMessage, ProcessRef, Role, Sender, SessionInput, StatusWord,
};
use ao_core::task::TaskFacts;
use ao_core::workspace::{KeepReason, WorkspaceState};
use ao_core::{Input, ProjectId, SessionId, Stamped, State, TaskId, codec};
use ao_notifier::TerminalNotifier;
use ao_ports::{Clock, EventStore, Runtime};
use camino::Utf8PathBuf;

use super::Stage;
use super::repo::{self, git};
use super::timeline::{Notices, Timeline, failed};
use crate::clock::SystemClock;
use crate::commands::demo_agent::{FILE, QUESTION};
use crate::daemon::{self, Daemon};
use crate::error::CommandError;
use crate::ui::{self, GOOD};

const AGENT: &str = "demo";
const TASK: &str = "Greet whoever reads this repository.";
const MESSAGE: &str = "Please greet them by name: Ada and Grace.";

pub(super) async fn tell(stage: &Stage) -> Result<(), CommandError> {
    let began = std::time::Instant::now();
    ui::line("The life of one session. The agent is a script; git, log, engine and process are real.")?;
    let mut timeline = Timeline::new();
    let daemon = begin(stage, &mut timeline).await?;
    let (session, process) = take_the_task(&daemon, &mut timeline).await?;
    let daemon = restart(stage, daemon, &mut timeline, &process).await?;
    send_and_answer(&daemon, &mut timeline, session).await?;
    stop(&daemon, &mut timeline, session, &process).await?;
    clean_up(stage, &daemon, &mut timeline, session).await?;
    check_the_log(&daemon, &timeline).await?;
    daemon.stop().await?;
    sum_up(stage, &timeline, began.elapsed())
}

async fn begin(stage: &Stage, timeline: &mut Timeline) -> Result<Daemon, CommandError> {
    timeline.step("A repository, a project, a task")?;
    repo::make(&stage.repository()).await?;
    let daemon = open(stage, &timeline.notices).await?;
    timeline.watch(&daemon.handle);
    let project = ProjectId::new("hello");
    let config = ProjectConfig {
        path: stage.repository().into_string(),
        default_branch: "main".into(),
        max_live: None,
        ..ProjectConfig::default()
    };
    daemon
        .handle
        .ask(Input::Project { project: project.clone(), input: ProjectInput::Configure(Box::new(config)) })
        .await?;
    let facts = TaskFacts {
        observed: SystemClock.now(),
        title: TASK.into(),
        labels: BTreeSet::new(),
        priority: 0,
        blocked_by: BTreeSet::new(),
        closed: false,
        trusted: true,
        branch: None,
        author: None,
    };
    daemon.handle.ask(Input::Task { task: task(), facts: Box::new(facts) }).await?;
    timeline.until("the task", |it| it.count("task.seen") == 1).await?;
    Ok(daemon)
}

async fn take_the_task(
    daemon: &Daemon,
    timeline: &mut Timeline,
) -> Result<(SessionId, ProcessRef), CommandError> {
    timeline.step("A session for it, in a worktree and a process of its own")?;
    let request = SpawnRequest {
        project: ProjectId::new("hello"),
        task: Some(task()),
        role: Role::Worker,
        title: TASK.into(),
        prompt: TASK.into(),
        name: None,
        branch: None,
        origin: Default::default(),
        agent: AgentChoice {
            name: AGENT.into(),
            abilities: daemon.agent(AGENT).expect("the demo plugs it in").abilities(),
            ..AgentChoice::default()
        },
        runtime: "process".into(),
        workspace: "worktree".into(),
        priority: 0,
        limits: Limits::default(),
        trusted: false,
    };
    daemon.handle.ask(Input::Spawn(Box::new(request))).await?;
    timeline.until("the proof that the task was read", |it| it.count("session.accepted") == 1).await?;
    timeline.until_status(StatusWord::Working).await?;
    let session = timeline.session().ok_or_else(|| failed("there is no session".into()))?;
    let process = session.process.clone().ok_or_else(|| failed("the session has no process".into()))?;
    Ok((session.id, process))
}

/// Closes the daemon while the agent works, and opens it again once the agent has committed.
async fn restart(
    stage: &Stage,
    daemon: Daemon,
    timeline: &mut Timeline,
    process: &ProcessRef,
) -> Result<Daemon, CommandError> {
    timeline.step("The daemon goes away in the middle of it, and comes back")?;
    daemon.stop().await?;
    timeline
        .say("engine, log and adapters are closed (in this program; the agent is a process of its own)")?;
    let committed = async {
        while git(&stage.repository(), &["log", "--format=%s", "agent/hello-1"]).await?
            != "Add a greeting\nFirst commit"
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok::<_, CommandError>(())
    };
    tokio::time::timeout(Duration::from_secs(12), committed)
        .await
        .map_err(|_| failed("the agent did not commit while the daemon was away".into()))??;
    let author = git(&stage.repository(), &["log", "-1", "--format=%an <%ae>", "agent/hello-1"]).await?;
    timeline.say(&format!("meanwhile the agent has committed, as {author}"))?;
    let daemon = open(stage, &timeline.notices).await?;
    timeline.watch(&daemon.handle);
    timeline.say("a new daemon has read the log, and looks for the agent")?;
    timeline.until_status(StatusWord::Idle).await?;
    match daemon.runtimes.look(process).await {
        Life::Alive { .. } => {}
        other => return Err(failed(format!("the agent's process should be alive, and is {other:?}"))),
    }
    expect(timeline.count("session.launched"), &1, "the number of launches")?;
    expect(timeline.count("session.delivery_started"), &1, "the number of deliveries")?;
    timeline.say("it is the same process; nothing was started or said twice")?;
    Ok(daemon)
}

async fn send_and_answer(
    daemon: &Daemon,
    timeline: &mut Timeline,
    session: SessionId,
) -> Result<(), CommandError> {
    timeline.step("A message, accepted only with proof, and a question")?;
    let message = NewMessage {
        from: Sender::Person("you".into()),
        kind: MessageKind::Text,
        body: MESSAGE.into(),
        interrupt: false,
        key: None,
    };
    daemon.handle.ask(to(session, SessionInput::Send(message))).await?;
    timeline.until("the proof that the message was read", |it| it.count("session.accepted") == 2).await?;
    timeline.until_status(StatusWord::NeedsInput).await?;
    timeline.until("the notice", |it| it.count("notice.sent") == 1).await?;
    expect(timeline.count("notice.raised"), &1, "the number of notices")?;
    let asked = timeline.session().map(|session| session.judgement.detail.clone()).unwrap_or_default();
    expect(asked, &QUESTION.to_owned(), "the question")?;
    timeline.say("you answer: yes")?;
    let answer = SessionInput::Answer { by: "you".into(), text: "yes".into() };
    daemon.handle.ask(to(session, answer)).await?;
    timeline.until_status(StatusWord::Working).await?;
    timeline.until_status(StatusWord::Idle).await
}

async fn stop(
    daemon: &Daemon,
    timeline: &mut Timeline,
    session: SessionId,
    process: &ProcessRef,
) -> Result<(), CommandError> {
    timeline.step("Stopped: nothing of it runs any more")?;
    daemon.handle.ask(to(session, SessionInput::Stop { by: "you".into(), why: String::new() })).await?;
    timeline.until_status(StatusWord::Stopped).await?;
    match daemon.runtimes.look(process).await {
        Life::Gone { .. } => Ok(()),
        other => Err(failed(format!("the agent's process should be gone, and is {other:?}"))),
    }
}

async fn clean_up(
    stage: &Stage,
    daemon: &Daemon,
    timeline: &mut Timeline,
    session: SessionId,
) -> Result<(), CommandError> {
    timeline.step("Cleaned up, but not before its work is safe")?;
    let path = workspace_path(timeline)?;
    daemon.handle.ask(to(session, SessionInput::Cleanup)).await?;
    timeline.until("the answer of the gate", |it| it.count("session.workspace_kept") == 1).await?;
    let reasons = match timeline.session().map(|session| &session.workspace.state) {
        Some(WorkspaceState::Kept { reasons }) => reasons.clone(),
        _ => vec![],
    };
    expect(reasons, &vec![KeepReason::Uncommitted, KeepReason::Unpushed], "the reasons to keep it")?;

    git(&path, &["commit", "--quiet", "--all", "-m", "Greet by name"]).await?;
    git(&stage.repository(), &["merge", "--quiet", "--ff-only", "agent/hello-1"]).await?;
    timeline.say("you commit what it left, and merge its branch into main")?;
    daemon.handle.ask(to(session, SessionInput::Cleanup)).await?;
    timeline.until("the removal", |it| it.count("session.workspace_removed") == 1).await?;

    let repository = stage.repository();
    expect(path.exists(), &false, "whether the worktree is there")?;
    expect(
        git(&repository, &["branch", "--format=%(refname:short)"]).await?,
        &"main".to_owned(),
        "the branches",
    )?;
    let rescue = git(&repository, &["rev-parse", &format!("refs/ao/rescue/{session}^{{commit}}")]).await?;
    expect(rescue, &git(&repository, &["rev-parse", "main"]).await?, "the rescue ref")?;
    let greeting = std::fs::read_to_string(repository.join(FILE)).map_err(CommandError::environment)?;
    expect(greeting, &format!("Hello.\n{MESSAGE}\n"), "what main has")?;
    timeline.say("the worktree and its branch are gone; main has the work, and so has the rescue ref")
}

/// What was shown is what the log says, and the log alone gives the state that the engine has.
async fn check_the_log(daemon: &Daemon, timeline: &Timeline) -> Result<(), CommandError> {
    let report = daemon.store.check()?;
    if let Some(problem) = report.problems.first() {
        return Err(failed(format!("the event log is not whole: {problem}")));
    }
    expect(report.events, &(timeline.kinds.len() as u64), "the number of events")?;
    let mut replayed = State::default();
    for record in daemon.store.read(0, timeline.kinds.len()).await? {
        let event = codec::decode(&record.kind, record.version, &record.scope, &record.body)
            .map_err(|err| failed(err.to_string()))?;
        replayed.evolve(&Stamped { at: record.at, event });
    }
    let same = daemon.handle.view(move |state| *state == replayed).await?;
    expect(same, &true, "whether the engine's state is what the log tells")
}

fn sum_up(stage: &Stage, timeline: &Timeline, took: Duration) -> Result<(), CommandError> {
    let accepted = timeline.session().map_or(0, |session| session.outbox.accepted);
    let log = stage.data_dir().join("ao.db");
    ui::line(format_args!("\n{GOOD}All of it happened{GOOD:#}, in {:.1} s.", took.as_secs_f64()))?;
    ui::line(format_args!("   events    {}, checked and replayed", timeline.kinds.len()))?;
    ui::line(format_args!(
        "   messages  {} queued, {accepted} accepted with proof",
        timeline.count("session.message_queued")
    ))?;
    ui::line(format_args!(
        "   notices   {} raised, {} sent",
        timeline.count("notice.raised"),
        timeline.count("notice.sent")
    ))?;
    ui::line(format_args!(
        "   log       {log}{}",
        if stage.keep { "" } else { " (removed now; `ao demo --keep` leaves it)" }
    ))?;
    Ok(())
}

async fn open(stage: &Stage, notices: &Notices) -> Result<Daemon, CommandError> {
    let agent = ao_agent::Options {
        name: AGENT.into(),
        program: stage.program.clone(),
        args: vec!["demo-agent".into(), "--pause-ms".into(), stage.pause.as_millis().to_string()],
        prompt: ao_agent::Prompt::Lines,
        ..ao_agent::Options::default()
    };
    let mut options = daemon::Options::new(stage.data_dir(), &stage.program);
    options.agents.push(agent);
    options.notifiers.insert("terminal".into(), Arc::new(TerminalNotifier::new(notices.clone())));
    Daemon::start(options, Arc::new(SystemClock)).await
}

fn task() -> TaskId {
    TaskId { project: ProjectId::new("hello"), key: "1".into() }
}

fn to(session: SessionId, input: SessionInput) -> Input {
    Input::Session { session, input }
}

fn workspace_path(timeline: &Timeline) -> Result<Utf8PathBuf, CommandError> {
    let path = timeline.session().and_then(|session| session.workspace.path()).map(Utf8PathBuf::from);
    path.ok_or_else(|| failed("the session has no workspace".into()))
}

fn expect<T: PartialEq + std::fmt::Debug>(found: T, expected: &T, what: &str) -> Result<(), CommandError> {
    if found == *expected {
        return Ok(());
    }
    Err(failed(format!("{what} should be {expected:?}, and is {found:?}")))
}
