//! What one step costs, and that it does not grow with the fleet.
//!
//! Both sizes run in turns in one process, and the ratio of their medians counts, so a slow or busy machine slows both.
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use ao_core::budget::Limits;
use ao_core::evidence::{Confidence, Reading, Signal, Source};
use ao_core::input::SpawnRequest;
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::session::{
    AgentAbilities, AgentChoice, MessageKind, NewMessage, ProcessRef, Role, Sender, SessionInput,
};
use ao_core::{Input, Moment, ProjectId, SessionId, Settings, State, TaskId, Timestamp, step};

const ROUNDS: usize = 31;
const TURNS_A_ROUND: usize = 2_000;
const LIMIT: f64 = 1.5;

fn main() -> ExitCode {
    let (mut few, mut many) = (Fleet::of(10), Fleet::of(10_000));
    let (mut few_times, mut many_times) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        few_times.push(few.round());
        many_times.push(many.round());
    }
    let (few, many) = (median(few_times), median(many_times));
    let ratio = many.as_secs_f64() / few.as_secs_f64();
    let verdict = if ratio <= LIMIT { "ok" } else { "over" };
    println!("| what | limit | measured | |");
    println!("|---|---|---|---|");
    println!(
        "| one `decide` + `evolve` with 10,000 sessions in state, over the same with 10 | {LIMIT:.1} × | {ratio:.2} × \
         ({} ns over {} ns) | {verdict} |",
        many.as_nanos(),
        few.as_nanos(),
    );
    if ratio <= LIMIT { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A state full of running agents, and the day's work on it.
struct Fleet {
    state: State,
    sessions: Vec<SessionId>,
    now: Timestamp,
    seed: u64,
}

impl Fleet {
    fn of(size: usize) -> Fleet {
        let mut fleet =
            Fleet { state: State::default(), sessions: vec![], now: Timestamp(1_700_000_000_000), seed: 1 };
        fleet.take(Input::Configure(Box::new(Settings { max_live: u32::MAX, ..Settings::default() })));
        let project = ProjectId::new("app");
        let config = ProjectConfig {
            path: "~/app".into(),
            default_branch: "main".into(),
            max_live: None,
            ..ProjectConfig::default()
        };
        fleet.take(Input::Project {
            project: project.clone(),
            input: ProjectInput::Configure(Box::new(config)),
        });
        for n in 0..size {
            fleet.start(&project, n);
        }
        fleet
    }

    fn start(&mut self, project: &ProjectId, n: usize) {
        let abilities = AgentAbilities { resume: true, ..AgentAbilities::default() };
        let request = SpawnRequest {
            project: project.clone(),
            task: Some(TaskId { project: project.clone(), key: n.to_string() }),
            role: Role::Worker,
            title: format!("task {n}"),
            prompt: format!("Do task {n}, and do it well."),
            name: None,
            branch: None,
            origin: Default::default(),
            agent: AgentChoice { name: "scripted".into(), abilities, ..AgentChoice::default() },
            runtime: "process".into(),
            workspace: "worktree".into(),
            priority: 0,
            limits: Limits::default(),
            trusted: false,
        };
        self.take(Input::Spawn(Box::new(request)));
        let session = SessionId(self.seed);
        let attempt = self.state.sessions[&session].attempt;
        let path = format!("~/app/.worktrees/{session}");
        self.tell(
            session,
            SessionInput::WorkspaceReady { attempt, path, base: "c0".into(), as_found: false },
        );
        let process = ProcessRef(session.to_string());
        self.tell(session, SessionInput::Launched { attempt, process, conversation: None });
        self.see(session, Reading::Idle);
        self.listen(session);
        self.sessions.push(session);
    }

    /// Agents at random are told something, take it, work and rest. Returns the time of one step.
    fn round(&mut self) -> Duration {
        let from = self.seed;
        let begun = Instant::now();
        for turn in 0..TURNS_A_ROUND as u64 {
            // A stride that visits them all in no order a cache could guess.
            let at = (self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ turn) as usize % self.sessions.len();
            let session = self.sessions[at];
            self.now = self.now + Duration::from_secs(11);
            let message = NewMessage {
                from: Sender::Person("ann".into()),
                kind: MessageKind::Text,
                body: "Please add a test for the empty input.".into(),
                interrupt: false,
                key: None,
            };
            self.tell(session, SessionInput::Send(message));
            self.listen(session);
            self.see(session, Reading::Working { doing: "cargo test".into() });
            self.now = self.now + Duration::from_secs(11);
            self.see(session, Reading::Idle);
        }
        begun.elapsed() / u32::try_from(self.seed - from).expect("a round is short")
    }

    fn listen(&mut self, session: SessionId) {
        let known = &self.state.sessions[&session];
        let attempt = known.attempt;
        let delivery = known.outbox.current.as_ref().expect("a delivery is under way");
        let (no, tries, text) = (delivery.no, delivery.tries, delivery.text.clone());
        self.tell(session, SessionInput::Written { attempt, delivery: no, tries });
        self.tell(
            session,
            SessionInput::Proof { attempt, delivery: None, turn: self.seed.to_string(), text },
        );
    }

    fn see(&mut self, session: SessionId, reading: Reading) {
        let attempt = self.state.sessions[&session].attempt;
        let signal =
            Signal { attempt, source: Source::Hook, at: self.now, confidence: Confidence::High, reading };
        self.tell(session, SessionInput::Signal(signal));
    }

    fn tell(&mut self, session: SessionId, input: SessionInput) {
        self.take(Input::Session { session, input });
    }

    fn take(&mut self, input: Input) {
        self.seed += 1;
        let moment = Moment { at: self.now, seed: self.seed };
        let happened = step(&mut self.state, &moment, input).expect("the day's work is never refused");
        std::hint::black_box(happened);
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
