//! A program that steers an agent by itself: plans, makes a workspace, starts the agent in it, opens a pull request, and
//! sends the agent back to work when a check fails.
//!
//! ```console
//! $ cargo run -p ao --example embed
//! ```
//!
//! Git and the agent's process are real. The agent is a shell script instead of a model, and [`forge::Memory`] stands for a
//! forge: it keeps its pull requests in memory, and its one check looks at what the branch really has.

#![expect(clippy::print_stdout, reason = "it tells on stdout what happens")]

mod forge;

use std::error::Error;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ao::Orchestrator;
use ao::ao_agent;
use ao::ao_core::ProjectId;
use ao::ao_core::incident::IncidentKind;
use ao::ao_core::notice::Notice;
use ao::ao_core::reaction::{ReactionAction, ReactionPatch};
use ao::ao_ports::{Notifier, NotifyError, RemovalOutcome};
use ao::orchestrator::{PlanError, PlanGoal, PlannedTask, TaskPlanner};
use async_trait::async_trait;
use camino::{Utf8Path, Utf8PathBuf};

use crate::forge::Memory;

fn main() -> Result<(), Box<dyn Error>> {
    // First of all: agents are held by this same program, started again.
    ao::run_as_helper();
    let home = tempfile::tempdir()?;
    let home = Utf8PathBuf::from_path_buf(home.path().to_owned()).map_err(|_| "a path that is no text")?;
    tokio::runtime::Runtime::new()?.block_on(story(&home))
}

async fn story(home: &Utf8Path) -> Result<(), Box<dyn Error>> {
    let repository = home.join("greetings");
    make_repository(&repository)?;
    let orchestrator = Orchestrator::builder(home.join("data"))
        .project("greetings", &repository)
        .command_agent(shell_agent())
        .planner(Arc::new(Committee))
        .notifier("console", Arc::new(Console))
        .scm("greetings", Arc::new(Memory::new("greetings", &repository)))
        // Here the program itself answers a failed check, so the engine only tells a person, and does not run it again first.
        .settings(|settings| {
            let reaction = ReactionPatch {
                action: Some(ReactionAction::Notify),
                rerun: Some(0),
                ..ReactionPatch::default()
            };
            settings.reactions.insert(IncidentKind::CiFailed, reaction);
        })
        .start()
        .await?;

    let tasks = orchestrator.plan("greetings", "Greet people\nThe whole world, if possible.").await?;
    println!("planned: {}", tasks[0].title);

    let workspace = orchestrator.workspace("greetings", "hello").create().await?;
    println!("workspace on branch {}", workspace.branch());

    let session = orchestrator
        .spawn(tasks[0].clone())
        .agent("shell")
        .in_workspace(&workspace)
        .on_complete(async |completion| {
            println!(
                "callback: the agent is {:?}, exit code {:?}",
                completion.status.word, completion.exit_code
            );
        })
        .start()
        .await?;
    session.done().await?;
    println!("the agent said: {}", said(&session).await?);

    let pull = orchestrator.open_pull(&session, "Greet the world", "As planned.").await?;
    println!("opened {pull}");

    let mut failures = orchestrator.ci_failures().await?;
    orchestrator.refresh_pulls().await?;
    let failure = failures.next().await?.ok_or("the orchestrator has stopped")?;
    println!("failed: {}", failure.problem);

    let culprit = failure.session.ok_or("nobody answers for it")?;
    orchestrator.resume(&culprit, &format!("A check fails on your branch. {}", failure.detail)).await?;
    culprit.done().await?;
    println!("the agent said: {}", said(&culprit).await?);

    orchestrator.refresh_pulls().await?;
    let known = orchestrator.pull(&pull).await?.ok_or("it is not known")?;
    println!("checks that fail now: {}", known.failures.len());

    // The deletion gate keeps what would be lost, and lets go of what is safe.
    session.stop("its work is done").await?;
    session.wait_for(|session| !session.is_live()).await?;
    if let RemovalOutcome::Kept { reasons } = workspace.remove(&orchestrator).await? {
        let reasons: Vec<String> = reasons.iter().map(ToString::to_string).collect();
        println!("kept: {}", reasons.join("; "));
    }
    git(&repository, &["merge", "--quiet", "--ff-only", workspace.branch()])?;
    if let RemovalOutcome::Removed { .. } = workspace.remove(&orchestrator).await? {
        println!("removed, as its work is merged");
    }
    orchestrator.stop().await?;
    Ok(())
}

/// The last line of its output.
async fn said(session: &ao::orchestrator::SessionHandle) -> Result<String, Box<dyn Error>> {
    let output = session.output(0, 64 * 1024, Duration::ZERO).await?;
    let text = String::from_utf8_lossy(&output.bytes);
    Ok(text.lines().last().unwrap_or_default().to_owned())
}

/// An agent that does one thing and exits. A message starts it again.
fn shell_agent() -> ao_agent::Options {
    let script = r#"
        case "$1" in
            *"A check fails"*) echo 'Hello, world!' > greeting.txt ;;
            *) echo 'Helo, world!' > greeting.txt ;;
        esac
        git add greeting.txt
        git commit --quiet -m "Greet: $(cat greeting.txt)"
        echo "I wrote $(cat greeting.txt)"
    "#;
    let name = |who: &str| (format!("GIT_{who}_NAME"), "Shell".to_owned());
    let email = |who: &str| (format!("GIT_{who}_EMAIL"), "shell@example.org".to_owned());
    ao_agent::Options {
        name: "shell".into(),
        program: "/bin/sh".into(),
        // It remembers nothing, and what it needs to know of its first turn is in the workspace.
        resume: Some(["-c", script, "shell", "{prompt}"].map(str::to_owned).into()),
        args: ["-c", script, "shell", "{prompt}"].map(str::to_owned).into(),
        prompt: ao_agent::Prompt::Argument,
        env: [name("AUTHOR"), email("AUTHOR"), name("COMMITTER"), email("COMMITTER")].into(),
        ..ao_agent::Options::default()
    }
}

/// A planner of one's own: whatever the goal, somebody writes it down.
struct Committee;

#[async_trait]
impl TaskPlanner for Committee {
    async fn plan(&self, project: &ProjectId, goal: &PlanGoal) -> Result<Vec<PlannedTask>, PlanError> {
        let title = format!("Write it down: {}", goal.title);
        Ok(vec![PlannedTask { project: project.clone(), prompt: format!("{title}\n\n{}", goal.body), title }])
    }
}

/// A notifier of one's own.
struct Console;

#[async_trait]
impl Notifier for Console {
    async fn notify(&self, notice: &Notice) -> Result<(), NotifyError> {
        println!("notice: {}", notice.text.lines().next().unwrap_or_default());
        Ok(())
    }
}

fn make_repository(path: &Utf8Path) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir(path)?;
    git(path, &["init", "--quiet", "--initial-branch=main"])?;
    git(path, &["commit", "--quiet", "--allow-empty", "-m", "begin"])?;
    Ok(())
}

fn git(path: &Utf8Path, args: &[&str]) -> Result<String, Box<dyn Error>> {
    let output = Command::new("git")
        .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org"])
        .args(args)
        .current_dir(path)
        .output()?;
    if !output.status.success() {
        return Err(format!("git {args:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
