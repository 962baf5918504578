//! The command that is run.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::{fs, process};

use ao_agent::hook::Spool;
use ao_agent::{AgentPlaces, CommandAgent, Ground, Options, Prompt, ScreenOptions};
use ao_core::ConversationId;
use ao_core::effect::LaunchPlan;
use ao_ports::{Agent, AgentError, LaunchPreparation, ProcessIo, ProgramCommand, Runtime};
use ao_testkit::WallClock;

use crate::support::{self, ATTEMPT, Buffers, SESSION, Stage, agent, agent_with, runtimes};

fn plan(prompt: Option<&str>) -> LaunchPlan {
    LaunchPlan { prompt: prompt.map(str::to_owned), ..support::plan() }
}

async fn args(prompt: Prompt, args: &[&str], task: Option<&str>) -> Result<Vec<String>, AgentError> {
    let Stage { agent, .. } = &agent(&Arc::new(Buffers::default()), prompt, args);
    match agent.prepare(SESSION, ATTEMPT, &plan(task)).await? {
        LaunchPreparation::Run { command, .. } => Ok(command.args),
        LaunchPreparation::NothingToResume => panic!("nothing was to be resumed"),
    }
}

#[tokio::test]
async fn the_task_is_placed_where_the_arguments_say() {
    let task = Some("-- fix `it`");
    assert_eq!(args(Prompt::Argument, &["-p"], Some("fix `it`")).await.unwrap(), ["-p", "fix `it`"]);
    assert_eq!(
        args(Prompt::Argument, &["--ask={prompt}", "-q"], task).await.unwrap(),
        ["--ask=-- fix `it`", "-q"]
    );
    assert!(args(Prompt::Argument, &[], None).await.is_err());
    assert_eq!(args(Prompt::Lines, &["-v"], None).await.unwrap(), ["-v"]);
}

/// acceptance: M8
#[tokio::test]
async fn a_task_that_begins_with_a_dash_is_no_option() {
    // A program that takes options, and says the one word that it is given.
    let said = |args: &[String]| {
        let output = process::Command::new("basename").args(args).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    for task in ["--help", "-z fix it", "-- fix `it`", "fix it"] {
        let args = args(Prompt::Argument, &[], Some(task)).await.unwrap();
        assert_eq!(said(&args), (true, format!("{task}\n")), "{args:?}");
    }
    assert_eq!(args(Prompt::Argument, &["-p", "--"], Some("-z")).await.unwrap(), ["-p", "--", "-z"]);
    for (word, expected) in [("-e", &["-p", "-e", "-z"][..]), ("", &["-p", "-z"])] {
        let options = Options {
            args: vec!["-p".into()],
            prompt: Prompt::Argument,
            end_of_options: Some(word.into()),
            ..Options::default()
        };
        let stage = agent_with(&Arc::new(Buffers::default()), options);
        assert_eq!(command(&stage, &plan(Some("-z"))).await.0.args, expected);
    }
}

#[tokio::test]
async fn it_remembers_nothing_of_an_earlier_conversation() {
    let Stage { agent, .. } = &agent(&Arc::new(Buffers::default()), Prompt::Lines, &[]);
    assert!(!agent.abilities().resume);
    let plan = LaunchPlan { resume: true, ..plan(None) };
    assert_eq!(agent.prepare(SESSION, ATTEMPT, &plan).await, Ok(LaunchPreparation::NothingToResume));
}

async fn command(stage: &Stage, plan: &LaunchPlan) -> (ProgramCommand, Option<ConversationId>) {
    match stage.agent.prepare(SESSION, ATTEMPT, plan).await.unwrap() {
        LaunchPreparation::Run { command, conversation } => (command, conversation),
        LaunchPreparation::NothingToResume => panic!("there is something to run"),
    }
}

#[tokio::test]
async fn a_prompt_in_a_file_is_placed_by_the_runtime() {
    let buffers = Arc::new(Buffers::default());
    let stage = agent(&buffers, Prompt::File, &["--task", "{prompt_file}"]);
    let (command, _) = command(&stage, &plan(Some("fix\u{0} it"))).await;
    assert_eq!(command.files.len(), 1);
    assert_eq!(command.files[0].contents, "fix it");
    assert_eq!(command.args_with_files_in("/files"), ["--task", "/files/prompt.md"]);
}

/// Nothing of this machine is given to an agent that does not see its files.
#[tokio::test]
async fn an_agent_elsewhere_gets_no_path_of_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let buffers = Arc::new(Buffers::default());
    buffers.is_elsewhere.store(true, Ordering::Relaxed);
    let clock = Arc::new(WallClock::default());
    let spool = Arc::new(Spool::open(folder.path(), clock.clone()).unwrap());
    let ground = || Ground {
        runtimes: runtimes(&buffers),
        clock: clock.clone(),
        state: folder.path().join("agents"),
        hooks: Some(spool.clone()),
        environment: [("PATH".to_owned(), "/here".to_owned())].into(),
        places: AgentPlaces { ao: "/here/ao".into(), check_logs: "/here/logs".into() },
    };
    let options = Options {
        name: "mine".into(),
        program: "my-agent".into(),
        hooks: true,
        env: [("TOOL".to_owned(), "{ao} {check_logs} {git_dir} {git_common}".to_owned())].into(),
        ..Options::default()
    };
    let agent = CommandAgent::new(options.clone(), ground()).unwrap();
    // A folder of the same name on this machine is not the agent's.
    let workspace = folder.path().join("workspace");
    fs::create_dir_all(&workspace).unwrap();
    fs::write(workspace.join(".git"), "gitdir: /here/.git/worktrees/fix\n").unwrap();
    let plan_there = LaunchPlan { path: workspace.to_string_lossy().into_owned(), ..plan(Some("go")) };
    let prepared = agent.prepare(SESSION, ATTEMPT, &plan_there).await.unwrap();
    let LaunchPreparation::Run { command, .. } = prepared else { panic!("there is something to run") };
    assert_eq!(command.env.keys().collect::<Vec<_>>(), ["AO_TOKEN", "TOOL"]);
    assert!(!command.env["TOOL"].contains("/here"), "{:?}", command.env["TOOL"]);
    assert_eq!(
        options.unfit_for(buffers.abilities()),
        Some("reports by hooks through a folder of this machine")
    );

    let in_file = Options { hooks: false, prompt: Prompt::File, io: Some(ProcessIo::Pipes), ..options };
    assert_eq!(in_file.unfit_for(buffers.abilities()), Some("needs its task in a file"));
    let agent = CommandAgent::new(in_file, ground()).unwrap();
    let err = agent.prepare(SESSION, ATTEMPT, &plan(Some("go"))).await.unwrap_err().to_string();
    assert_eq!(err, "the agent `mine` cannot be given its task in a file by this runtime");
}

/// acceptance: M8
#[tokio::test]
async fn a_prompt_on_stdin_has_an_end() {
    let options = Options { prompt: Prompt::Stdin, args: vec!["-n".into()], ..Options::default() };
    let stage = agent_with(&Arc::new(Buffers::default()), options);
    let (command, _) = command(&stage, &plan(Some("-- fix `it`\nand $that"))).await;
    assert_eq!(&command.args[command.args.len() - 2..], ["my-agent", "-n"]);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(&command.files[0].name), &command.files[0].contents).unwrap();
    let args = command.args_with_files_in(&folder.path().to_string_lossy());
    // The same with `cat` for the agent, as a shell does it.
    let args: Vec<&str> = args.iter().map(|arg| if arg == "my-agent" { "cat" } else { arg }).collect();
    let output = process::Command::new(&command.program).args(&args).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.split_whitespace().collect::<Vec<_>>(), ["1", "--", "fix", "`it`", "2", "and", "$that"]);
}

/// acceptance: L2
#[tokio::test]
async fn a_conversation_is_resumed_by_its_name_unless_its_file_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        args: vec!["--new".into(), "{conversation}".into(), "{prompt}".into()],
        resume: Some(vec!["--resume={conversation}".into()]),
        conversation_file: Some(format!(
            "{}/{{path_dashes}}/{{conversation}}.jsonl",
            folder.path().display()
        )),
        prompt: Prompt::Typed,
        screen: ScreenOptions { draft: Some("^> (?P<text>.*)$".into()), ..ScreenOptions::default() },
        ..Options::default()
    };
    let stage = agent_with(&Arc::new(Buffers::default()), options);
    let abilities = stage.agent.abilities();
    assert!(abilities.resume && abilities.prompt_at_launch && !abilities.one_turn);
    let (first, conversation) = command(&stage, &plan(Some("go"))).await;
    assert_eq!(first.args, ["--new", "c", "go"]);
    assert_eq!((first.io, conversation), (ProcessIo::Terminal, Some(ConversationId::new("c"))));
    assert_eq!(command(&stage, &plan(None)).await.0.args, ["--new", "c"]);

    let resumed = LaunchPlan { resume: true, ..plan(None) };
    let gone = stage.agent.prepare(SESSION, ATTEMPT, &resumed).await;
    assert_eq!(gone, Ok(LaunchPreparation::NothingToResume));
    fs::create_dir(folder.path().join("-tmp")).unwrap();
    fs::write(folder.path().join("-tmp/c.jsonl"), "").unwrap();
    assert_eq!(command(&stage, &resumed).await.0.args, ["--resume=c"]);
    let with_news = LaunchPlan { resume: true, ..plan(Some("news")) };
    assert_eq!(command(&stage, &with_news).await.0.args, ["--resume=c", "news"]);
}

#[test]
fn options_are_plain_data_and_a_word_that_is_none_is_refused() {
    let text = r#"{"name":"mine","program":"my-agent","prompt":"typed","hooks":true,
        "screen":{"prompt":"^> "},"keys":{"answers":{"yes":"1"},"human_quiet_ms":1500}}"#;
    let options: Options = serde_json::from_str(text).unwrap();
    assert_eq!((options.prompt, options.io()), (Prompt::Typed, ProcessIo::Terminal));
    assert_eq!((options.keys.submit.as_str(), options.keys.human_quiet.as_millis()), ("\r", 1500));
    assert_eq!(serde_json::from_str::<Options>(&serde_json::to_string(&options).unwrap()).unwrap(), options);
    assert!(serde_json::from_str::<Options>(r#"{"porgram":"x"}"#).is_err());
}

#[test]
fn impossible_options_are_rejected_at_once() {
    let buffers = Arc::new(Buffers::default());
    let refused = |options: Options| {
        let ground = Ground {
            runtimes: runtimes(&buffers),
            clock: Arc::new(buffers.clock.clone()),
            state: "/nowhere".into(),
            hooks: None,
            environment: Default::default(),
            places: Default::default(),
        };
        CommandAgent::new(options, ground).expect_err("it cannot work").to_string()
    };
    let hooks = refused(Options { name: "mine".into(), hooks: true, ..Options::default() });
    assert_eq!(hooks, "`mine` is to run hooks, but there is no spool to receive them");
    let typed = || Options { program: "my-agent".into(), prompt: Prompt::Typed, ..Options::default() };
    let pipes = Options { io: Some(ProcessIo::Pipes), ..typed() };
    assert!(refused(pipes).contains("needs a terminal"));
    assert!(refused(typed()).starts_with("nothing would prove"));
}

/// acceptance: X8
#[tokio::test]
async fn every_agent_has_a_token_of_its_own_and_only_one_with_hooks_a_place_for_reports() {
    let folder = tempfile::tempdir().unwrap();
    let buffers = Arc::new(Buffers::default());
    let spool = Arc::new(Spool::open(folder.path(), Arc::new(buffers.clock.clone())).unwrap());
    for hooks in [false, true] {
        let options =
            Options { name: "mine".into(), program: "my-agent".into(), hooks, ..Options::default() };
        let ground = Ground {
            runtimes: runtimes(&buffers),
            clock: Arc::new(buffers.clock.clone()),
            state: folder.path().join("agents"),
            hooks: Some(spool.clone()),
            environment: [("AO_DATA_DIR".to_owned(), "/data".to_owned())].into(),
            places: Default::default(),
        };
        let agent = CommandAgent::new(options, ground).unwrap();
        let LaunchPreparation::Run { command, .. } =
            agent.prepare(SESSION, ATTEMPT, &plan(Some("go"))).await.unwrap()
        else {
            panic!("there is something to run")
        };
        assert!(spool.knows(&command.env["AO_TOKEN"], SESSION, ATTEMPT));
        assert_eq!(command.env["AO_DATA_DIR"], "/data");
        assert_eq!(command.env.contains_key("AO_SPOOL"), hooks);
    }
}
