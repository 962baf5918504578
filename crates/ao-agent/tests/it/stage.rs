//! A scripted agent on a real terminal, with the adapter that reads it and types at it, and hooks that are heard.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ao_agent::hook::Spool;
use ao_agent::{CommandAgent, Ground, Keys, Options, Prompt, ScreenOptions};
use ao_core::effect::LaunchPlan;
use ao_core::evidence::Signal;
use ao_core::session::{AgentAbilities, AgentChoice, SessionRole};
use ao_core::{ConversationId, ProjectId, SessionId};
use ao_ports::{
    Agent, AnswerOrder, AnswerOutcome, Clock, DeliverOrder, DeliveryOutcome, EndOrder, FollowOrder,
    LaunchPreparation, LookOrder, ProcessRef, Runtime, Runtimes, StartSpec,
};
use ao_testkit::scripted::{AgentHome, MANIFEST, program};
use ao_testkit::{ReportLog, WallClock};
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::place::{On, Place};
use crate::support::ATTEMPT;

pub(crate) const CONVERSATION: &str = "talk";
/// Nothing takes this long, and nothing is asserted about how long it takes.
const BOUND: Duration = Duration::from_secs(30);

/// The setup of a stage.
pub(crate) struct Set<'a> {
    pub(crate) on: On,
    /// The scripted agent's settings.
    pub(crate) script: &'a str,
    pub(crate) hooks: bool,
    /// With the launch.
    pub(crate) prompt: Option<&'static str>,
    pub(crate) human_quiet_ms: u64,
    pub(crate) interrupt: Option<&'static str>,
    /// The time by which the daemon's clock is behind that of the machine, until [`Stage::catches_up`].
    pub(crate) behind: Duration,
}

impl Default for Set<'_> {
    fn default() -> Self {
        Set {
            script: "",
            hooks: true,
            on: On::Pty,
            prompt: None,
            human_quiet_ms: 0,
            interrupt: Some("\x1b"),
            behind: Duration::ZERO,
        }
    }
}

pub(crate) struct Stage {
    session: SessionId,
    place: Place,
    pub(crate) runtime: Arc<dyn Runtime>,
    pub(crate) agent: Arc<CommandAgent>,
    pub(crate) notebook: Arc<ReportLog>,
    pub(crate) process: ProcessRef,
    pub(crate) home: AgentHome,
    options: Options,
    folder: TempDir,
    clock: Arc<WallClock>,
    /// The daemon's part: one that follows, one that hears hooks.
    tasks: JoinSet<()>,
}

/// The options of the scripted agent, as a manifest would have them.
pub(crate) fn options(set: &Set<'_>, home: &AgentHome, hook: Option<PathBuf>) -> Options {
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
            human_quiet: Duration::from_millis(set.human_quiet_ms),
            ..Keys::default()
        },
        first_launch: serde_json::from_str::<Options>(MANIFEST).unwrap().first_launch,
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

pub(crate) fn plan(runtime: &str, folder: &str, prompt: Option<&str>) -> LaunchPlan {
    LaunchPlan {
        project: ProjectId::new("app"),
        name: "fix".into(),
        role: SessionRole::Worker,
        agent: AgentChoice {
            name: "scripted".into(),
            abilities: AgentAbilities::default(),
            ..AgentChoice::default()
        },
        runtime: runtime.to_owned(),
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
    pub(crate) async fn set(set: Set<'_>) -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let home = AgentHome::new(folder.path().join("home"));
        let leaves = program().with_file_name("leave-hook");
        let options = options(&set, &home, set.hooks.then_some(leaves));
        let place = Place::new(set.on, folder.path());
        place.watch().await;
        let clock = Arc::new(WallClock::behind(set.behind));
        let mut stage = Stage {
            // Unique on the host: tests run beside each other, and a runtime may find processes by it.
            session: SessionId(fastrand::u64(1..)),
            agent: agent(&options, &place.runtime(), &folder, &clock).0,
            notebook: Arc::default(),
            process: ProcessRef::new("", ""),
            runtime: place.runtime(),
            place,
            home,
            options,
            folder,
            clock,
            tasks: JoinSet::new(),
        };
        let path = stage.folder.path().display().to_string();
        let plan = plan(stage.runtime.name(), &path, set.prompt);
        let Ok(LaunchPreparation::Run { command, conversation }) =
            stage.agent.prepare(stage.session, ATTEMPT, &plan).await
        else {
            panic!("it can be run")
        };
        assert_eq!(conversation.as_ref(), Some(&plan.conversation));
        let shown = format!("{command:?}");
        assert!(command.env.get("AO_TOKEN").is_none_or(|token| !shown.contains(token)), "{shown}");
        let name = plan.name;
        let spec = StartSpec { session: stage.session, attempt: ATTEMPT, name, path, command, ports: vec![] };
        stage.process = stage.runtime.start(&spec).await.unwrap();
        stage.start_daemon(set.prompt);
        stage
    }

    /// The time that the daemon's clock was behind passes at once.
    pub(crate) fn catches_up(&self) {
        self.clock.catch_up();
    }

    /// A new life of the daemon: nothing is left of the old one but its files.
    pub(crate) async fn restart(&mut self) {
        self.tasks.shutdown().await;
        self.notebook = Arc::default();
        self.start_daemon(None);
    }

    fn start_daemon(&mut self, with_launch: Option<&str>) {
        let (agent, spool) = agent(&self.options, &self.runtime, &self.folder, &self.clock);
        self.agent = agent.clone();
        let order = FollowOrder {
            session: self.session,
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
        let process = Some(self.process.clone());
        DeliverOrder { session: self.session, process, ..crate::support::order(delivery, tries, text) }
    }

    pub(crate) fn session(&self) -> SessionId {
        self.session
    }

    /// Ends the agent's process.
    pub(crate) async fn end(&self) {
        let order = EndOrder { session: self.session, attempt: ATTEMPT, process: Some(self.process.clone()) };
        self.runtime.end(&order).await.unwrap();
    }

    /// One try of a delivery.
    pub(crate) async fn deliver(&self, delivery: u32, tries: u32, text: &str) -> DeliveryOutcome {
        self.agent.deliver(&self.order(delivery, tries, text)).await.unwrap()
    }

    /// Tries a delivery until nothing holds it any more, as the engine does.
    pub(crate) async fn writes(&self, delivery: u32, text: &str) {
        let written = async {
            while let DeliveryOutcome::Held { .. } = self.deliver(delivery, 1, text).await {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(BOUND, written).await.is_err() {
            panic!("it stays held: {:?}", self.deliver(delivery, 1, text).await);
        }
    }

    /// Tries a delivery again and again until the agent has taken it, as the engine does.
    pub(crate) async fn insists(&self, delivery: u32, text: &str) {
        let proof = format!("Taken {text:?}");
        for tries in 1..=20 {
            self.deliver(delivery, tries, text).await;
            let taken = self.notebook.when(|reports| reports.iter().any(|report| report.contains(&proof)));
            if tokio::time::timeout(Duration::from_secs(1), taken).await.is_ok() {
                return;
            }
        }
        panic!("no {proof} in {:?}", self.notebook.reports());
    }

    pub(crate) async fn answer(&self, number: u32, question: &str, text: &str) -> AnswerOutcome {
        let order = AnswerOrder {
            session: self.session,
            attempt: ATTEMPT,
            process: self.process.clone(),
            number,
            ask: None,
            question: question.into(),
            option: None,
            text: text.into(),
        };
        self.agent.answer(&order).await.unwrap()
    }

    /// Returns a short form of what a look sees.
    pub(crate) async fn look(&self) -> Vec<String> {
        let process = Some(self.process.clone());
        let order = LookOrder { session: self.session, attempt: ATTEMPT, process, conversation: None };
        let signals = self.agent.look(&order).await.unwrap();
        signals.iter().map(|signal| format!("{:?} {:?}", signal.source, signal.reading)).collect()
    }

    /// Returns the text on the terminal.
    pub(crate) async fn text(&self) -> String {
        let screen = self.runtime.screen(&self.process).await.unwrap();
        let lines: Vec<&str> = screen.lines.iter().map(|line| line.trim_end()).collect();
        lines.join("\n")
    }

    /// Waits until the screen is as wished, and returns it.
    pub(crate) async fn until(&self, is: impl Fn(&str) -> bool) -> String {
        let found = async {
            loop {
                let offset = self.runtime.screen(&self.process).await.unwrap().offset;
                let text = self.text().await;
                if is(&text) {
                    return text;
                }
                self.runtime.output(&self.process, offset, 1, BOUND).await.unwrap();
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        match tokio::time::timeout(BOUND, found).await {
            Ok(text) => text,
            Err(_) => panic!("the screen stays at:\n{}", self.text().await),
        }
    }

    pub(crate) async fn shows(&self, text: &str) -> String {
        self.until(|screen| screen.contains(text)).await
    }

    pub(crate) async fn at_prompt(&self) {
        self.until(|screen| screen.contains("│ >") && !screen.contains("working…")).await;
    }

    pub(crate) async fn person_types(&self, keys: &str) {
        self.place.person_types(&self.process, keys).await;
    }

    /// Waits until the runtime has noticed that a person types; tmux reports it once a second.
    pub(crate) async fn typing_is_noticed(&self) {
        let noticed = async {
            while self.runtime.screen(&self.process).await.unwrap().typed.is_none() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(BOUND, noticed).await.expect("the typing is noticed");
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

    /// Waits until the output is no longer followed.
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

/// Ends the process: it outlives a daemon, so it would outlive a test as well.
impl Drop for Stage {
    fn drop(&mut self) {
        // Its server is ended with all that runs in it.
        if matches!(self.place, Place::Tmux(..)) {
            return;
        }
        let order = EndOrder { session: self.session, attempt: ATTEMPT, process: Some(self.process.clone()) };
        let runtime = self.runtime.clone();
        let ends = std::thread::spawn(move || {
            let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let _ = tokio.block_on(runtime.end(&order));
        });
        let _ = ends.join();
    }
}

fn agent(
    options: &Options,
    runtime: &Arc<dyn Runtime>,
    folder: &TempDir,
    clock: &Arc<WallClock>,
) -> (Arc<CommandAgent>, Arc<Spool>) {
    let clock: Arc<dyn Clock> = clock.clone();
    let spool = Arc::new(Spool::open(folder.path(), clock.clone()).unwrap());
    let state = folder.path().join("agents");
    let ground = Ground {
        runtimes: Runtimes::from_iter([runtime.clone()]),
        clock,
        state,
        hooks: Some(spool.clone()),
        environment: Default::default(),
        places: Default::default(),
    };
    (Arc::new(CommandAgent::new(options.clone(), ground).unwrap()), spool)
}
