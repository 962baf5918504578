//! What is run.

use std::sync::Arc;

use ao_agent::Prompt;
use ao_core::effect::LaunchPlan;
use ao_core::session::{AgentAbilities, AgentChoice, Role};
use ao_core::{ConversationId, ProjectId};
use ao_ports::{Agent, AgentError, Prepared};

use crate::support::{ATTEMPT, Buffers, SESSION, Stage, agent};

fn plan(prompt: Option<&str>) -> LaunchPlan {
    LaunchPlan {
        project: ProjectId::new("app"),
        name: "fix".into(),
        role: Role::Worker,
        agent: AgentChoice {
            name: "mine".into(),
            account: None,
            model: None,
            abilities: AgentAbilities::default(),
        },
        runtime: "process".into(),
        path: "/tmp".into(),
        conversation: ConversationId::new("c"),
        resume: false,
        prompt: prompt.map(str::to_owned),
        environment: Default::default(),
        ports: Default::default(),
    }
}

async fn args(prompt: Prompt, args: &[&str], task: Option<&str>) -> Result<Vec<String>, AgentError> {
    let Stage { agent, .. } = &agent(&Arc::new(Buffers::default()), prompt, args);
    match agent.prepare(SESSION, ATTEMPT, &plan(task)).await? {
        Prepared::Run { command, .. } => Ok(command.args),
        Prepared::NothingToResume => panic!("nothing was to be resumed"),
    }
}

#[tokio::test]
async fn the_task_is_placed_where_the_arguments_say() {
    let task = Some("-- fix `it`");
    assert_eq!(args(Prompt::Argument, &["-p"], task).await.unwrap(), ["-p", "-- fix `it`"]);
    assert_eq!(
        args(Prompt::Argument, &["--ask={prompt}", "-q"], task).await.unwrap(),
        ["--ask=-- fix `it`", "-q"]
    );
    assert!(args(Prompt::Argument, &[], None).await.is_err());
    assert_eq!(args(Prompt::Lines, &["-v"], None).await.unwrap(), ["-v"]);
}

#[tokio::test]
async fn it_remembers_nothing_of_an_earlier_conversation() {
    let Stage { agent, .. } = &agent(&Arc::new(Buffers::default()), Prompt::Lines, &[]);
    assert!(!agent.abilities().resume);
    let plan = LaunchPlan { resume: true, ..plan(None) };
    assert_eq!(agent.prepare(SESSION, ATTEMPT, &plan).await, Ok(Prepared::NothingToResume));
}
