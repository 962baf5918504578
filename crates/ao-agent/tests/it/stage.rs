//! A scripted agent on a real terminal, with the adapter that reads it and types at it, and hooks that are heard.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ao_agent::hook::Spool;
use ao_agent::{CommandAgent, Ground, Keys, Options, Prompt, ScreenOptions};
use ao_core::effect::LaunchPlan;
use ao_core::evidence::Signal;
use ao_core::session::{AgentAbilities, AgentChoice, Role};
use ao_core::{ConversationId, ProjectId};
use ao_ports::{
    Agent, AnswerOrder, Answered, DeliverOrder, Delivered, FollowOrder, LookOrder, Prepared, ProcessRef,
    Runtime, StartSpec,
};
use ao_testkit::pty::{PtyRuntime, WallClock};
use ao_testkit::scripted::{Home, program};
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::support::{ATTEMPT, Notebook, SESSION};

pub(crate) const CONVERSATION: &str = "talk";
/// Nothing takes this long, and nothing is asserted about how long it takes.
const BOUND: Duration = Duration::from_secs(30);

/// How the stage is set.
pub(crate) struct Set {
    /// The scripted agent's settings.
    pub(crate) script: &'static str,
    pub(crate) hooks: bool,
    pub(crate) forgets_writes: bool,
    /// With the launch.
    pub(crate) prompt: Option<&'static str>,
    pub(crate) human_quiet: Duration,
    pub(crate) interrupt: Option<&'static str>,
}

impl Default for Set {
    fn default() -> Set {
        Set {
            script: "",
            hooks: true,
            forgets_writes: false,
            prompt: None,
            human_quiet: Duration::from_millis(200),
            interrupt: Some("\x1b"),
        }
    }
}

pub(crate) struct Stage {
    pub(crate) runtime: Arc<PtyRuntime>,
    pub(crate) agent: Arc<CommandAgent>,
    pub(crate) notebook: Arc<Notebook>,
    pub(crate) process: ProcessRef,
    pub(crate) home: Home,
    options: Options,
    folder: TempDir,
    /// The daemon's part: one that follows, one that hears hooks.
    tasks: JoinSet<()>,
}

/// The options of the scripted agent, as a manifest would have them.
pub(crate) fn options(set: &Set, home: &Home, hook: Option<PathBuf>) -> Options {
    let conversation = |flag: &str| vec![flag.to_owned(), "{conversation}".to_owned()];
    let mut options = Options {
        name: "scripted".into(),
        program: program().display().to_string(),
        args: conversation("--conversation"),
        resume: Some(conversation("--resume")),
        conversation_file: Some(format!("{}/{{conversation}}.jsonl", home.folder().display())),
        prompt: Prompt::Typed,
        hooks: set.hooks,
        screen: ScreenOptions {
            prompt: Some(r"^│ >( |$)".into()),
            busy: Some(r"^[✻✽✶✢] (?P<doing>\w+)… \(".into()),
            dialog: Some(r"^│ (?P<question>[^\n]*)\n│ [❯ ] 1\. ".into()),
            limit: Some(r"hit your limit · resets (?P<time>[0-9:apm ]+)".into()),
            draft: Some(r"^│ [> ](?: (?P<text>.*))?$".into()),
            pasted: Some(r"\[Pasted text #\d+ \+\d+ lines\]".into()),
        },
        keys: Keys {
            interrupt: set.interrupt.map(str::to_owned),
            answers: [("yes", "1"), ("no", "2")].map(|(word, key)| (word.into(), key.into())).into(),
            human_quiet: set.human_quiet,
            ..Keys::default()
        },
        ..Options::default()
    };
    if set.prompt.is_some() {
        options.args.push("{prompt}".into());
    }
    options.env.insert("SCRIPTED_HOME".into(), home.folder().display().to_string());
    options.env.insert("SCRIPTED_SCRIPT".into(), set.script.into());
    if let Some(hook) = hook {
        options.env.insert("SCRIPTED_HOOK".into(), hook.display().to_string());
    }
    options
}

pub(crate) fn plan(folder: &str, prompt: Option<&str>) -> LaunchPlan {
    LaunchPlan {
        project: ProjectId::new("app"),
        name: "fix".into(),
        role: Role::Worker,
        agent: AgentChoice {
            name: "scripted".into(),
            account: None,
            model: None,
            abilities: AgentAbilities::default(),
        },
        runtime: "pty".into(),
        path: folder.into(),
        conversation: ConversationId::new(CONVERSATION),
        resume: false,
        prompt: prompt.map(str::to_owned),
        environment: Default::default(),
        ports: Default::default(),
    }
}

impl Stage {
    /// Launches the agent as the engine would.
    pub(crate) async fn set(set: Set) -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path().join("home"));
        let leaves = program().with_file_name("leave-hook");
        let options = options(&set, &home, set.hooks.then_some(leaves));
        let runtime = Arc::new(PtyRuntime::new(set.forgets_writes));
        let mut stage = Stage {
            agent: agent(&options, &runtime, &folder).0,
            notebook: Arc::default(),
            process: ProcessRef(String::new()),
            runtime,
            home,
            options,
            folder,
            tasks: JoinSet::new(),
        };
        let path = stage.folder.path().display().to_string();
        let plan = plan(&path, set.prompt);
        let Ok(Prepared::Run { command, conversation }) = stage.agent.prepare(SESSION, ATTEMPT, &plan).await
        else {
            panic!("it can be run")
        };
        assert_eq!(conversation.as_ref(), Some(&plan.conversation));
        let shown = format!("{command:?}");
        assert!(command.env.get("AO_TOKEN").is_none_or(|token| !shown.contains(token)), "{shown}");
        let name = plan.name;
        let spec = StartSpec { session: SESSION, attempt: ATTEMPT, name, path, command, ports: vec![] };
        stage.process = stage.runtime.start(&spec).await.unwrap();
        stage.start_daemon(set.prompt);
        stage
    }

    /// A new life of the daemon: nothing is left of the old one but its files.
    pub(crate) async fn restart(&mut self) {
        self.tasks.shutdown().await;
        self.notebook = Arc::default();
        self.start_daemon(None);
    }

    fn start_daemon(&mut self, with_launch: Option<&str>) {
        let (agent, spool) = agent(&self.options, &self.runtime, &self.folder);
        self.agent = agent.clone();
        let order = FollowOrder {
            session: SESSION,
            attempt: ATTEMPT,
            process: self.process.clone(),
            conversation: None,
            with_launch: with_launch.map(str::to_owned),
        };
        let notebook = self.notebook.clone();
        self.tasks.spawn(async move { agent.follow(&order, notebook).await });
        let hears = spool.run(self.notebook.clone());
        self.tasks.spawn(async move { hears.await.unwrap() });
    }

    pub(crate) fn order(&self, delivery: u32, tries: u32, text: &str) -> DeliverOrder {
        DeliverOrder { process: Some(self.process.clone()), ..crate::support::order(delivery, tries, text) }
    }

    /// One try of a delivery.
    pub(crate) async fn deliver(&self, delivery: u32, tries: u32, text: &str) -> Delivered {
        self.agent.deliver(&self.order(delivery, tries, text)).await.unwrap()
    }

    pub(crate) async fn answer(&self, number: u32, question: &str, text: &str) -> Answered {
        let order = AnswerOrder {
            session: SESSION,
            attempt: ATTEMPT,
            process: self.process.clone(),
            number,
            question: question.into(),
            text: text.into(),
        };
        self.agent.answer(&order).await.unwrap()
    }

    /// What a look sees, in short.
    pub(crate) async fn look(&self) -> Vec<String> {
        let process = Some(self.process.clone());
        let order = LookOrder { session: SESSION, attempt: ATTEMPT, process, conversation: None };
        let signals = self.agent.look(&order).await.unwrap();
        signals.iter().map(|signal| format!("{:?} {:?}", signal.source, signal.reading)).collect()
    }

    pub(crate) async fn shows(&self, text: &str) -> String {
        self.runtime.until(&self.process, |screen| screen.contains(text)).await
    }

    pub(crate) async fn at_prompt(&self) {
        let at_prompt = |screen: &str| screen.contains("│ >") && !screen.contains("working…");
        self.runtime.until(&self.process, at_prompt).await;
    }

    pub(crate) fn person_types(&self, keys: &str) {
        self.runtime.person_types(&self.process, keys).unwrap();
    }

    pub(crate) fn turns(&self) -> Vec<String> {
        self.home.turns(CONVERSATION)
    }

    /// Waits until something was reported, and returns all that was.
    pub(crate) async fn reported(&self, what: &str) -> Vec<String> {
        let reported = self.notebook.when(|reports| reports.iter().any(|report| report.contains(what)));
        tokio::time::timeout(BOUND, reported)
            .await
            .unwrap_or_else(|_| panic!("no {what} in {:?}", self.notebook.reports()))
    }

    /// Waits for a signal.
    pub(crate) async fn signal(&self, is: impl Fn(&Signal) -> bool) {
        let seen = self.notebook.when(|_| self.notebook.signals().iter().any(&is));
        if tokio::time::timeout(BOUND, seen).await.is_err() {
            panic!("it is not among {:?}", self.notebook.signals());
        }
    }

    /// Waits until nobody reads along any more.
    pub(crate) async fn follower_ends(&mut self) {
        let ended = tokio::time::timeout(BOUND, self.tasks.join_next()).await;
        ended.expect("following ends").expect("somebody followed").expect("nobody panicked");
    }

    /// Waits until the last report of one source is this.
    pub(crate) async fn last_reported(&self, source: &str, what: &str) {
        let is_last = |reports: &[String]| {
            reports.iter().rfind(|it| it.starts_with(source)).is_some_and(|it| it.contains(what))
        };
        let reported = self.notebook.when_with_source(is_last);
        if tokio::time::timeout(BOUND, reported).await.is_err() {
            panic!("{source} does not end with {what}: {:?}", self.notebook.with_source());
        }
    }
}

fn agent(options: &Options, runtime: &Arc<PtyRuntime>, folder: &TempDir) -> (Arc<CommandAgent>, Arc<Spool>) {
    let clock = Arc::new(WallClock);
    let spool = Arc::new(Spool::open(folder.path(), clock.clone()).unwrap());
    let state = folder.path().join("agents");
    let ground = Ground { runtime: runtime.clone(), clock, state, hooks: Some(spool.clone()) };
    (Arc::new(CommandAgent::new(options.clone(), ground).unwrap()), spool)
}
