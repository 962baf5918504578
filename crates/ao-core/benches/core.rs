//! What one step costs, and that it does not grow with the fleet.
//!
//! Both sizes run in turns in one process, and the ratio of their medians counts, so a slow or busy machine slows both. The
//! smaller fleet is too large for a cache, too: compared with ten sessions, the delay of memory would be all that is measured.
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use ao_core::agent_report::AgentReport;
use ao_core::budget::SpendLimits;
use ao_core::evidence::{Confidence, Reading, Signal, SignalSource};
use ao_core::incident::{Incident, IncidentKind};
use ao_core::input::SpawnRequest;
use ao_core::job::{JobInput, JobOutcome};
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::pull::{AuthorFacts, AuthorStanding, ChangeSize, Mergeable, PullFacts, PullInput, PullState};
use ao_core::reaction::{ReactionAction, ReactionPatch};
use ao_core::session::{
    AgentAbilities, AgentChoice, MessageKind, NewMessage, ProcessRef, Sender, SessionInput, SessionRole,
};
use ao_core::{
    Commit, DaemonSettings, Input, JobId, Moment, ProjectId, PullId, SessionId, State, TaskId, Timestamp,
    step,
};

const ROUNDS: usize = 31;
const TURNS_A_ROUND: usize = 2_000;
const LIMIT: f64 = 1.5;

fn main() -> ExitCode {
    println!("| what | limit | measured | |");
    println!("|---|---|---|---|");
    let sessions = compare(
        "one `decide` + `evolve` with 10,000 sessions in state, over the same with 1,000",
        [Fleet::of(1_000), Fleet::of(10_000)],
        Fleet::round,
    );
    let incidents = compare(
        "one step with 10,000 open incidents, over the same with 1,000",
        [Fleet::with_incidents(1_000), Fleet::with_incidents(10_000)],
        Fleet::round_of_problems,
    );
    if sessions && incidents { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Lets both sizes take turns, and says whether the larger one is fast enough.
fn compare(what: &str, fleets: [Fleet; 2], round: fn(&mut Fleet) -> Duration) -> bool {
    let [mut few, mut many] = fleets;
    let (mut few_times, mut many_times) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        few_times.push(round(&mut few));
        many_times.push(round(&mut many));
    }
    let (few, many) = (median(few_times), median(many_times));
    let ratio = many.as_secs_f64() / few.as_secs_f64();
    let verdict = if ratio <= LIMIT { "ok" } else { "over" };
    println!(
        "| {what} | {LIMIT:.1} × | {ratio:.2} × ({} ns over {} ns) | {verdict} |",
        many.as_nanos(),
        few.as_nanos(),
    );
    ratio <= LIMIT
}

/// A state full of running agents, and the day's work on it.
struct Fleet {
    state: State,
    sessions: Vec<SessionId>,
    pulls: Vec<PullId>,
    now: Timestamp,
    seed: u64,
}

impl Fleet {
    fn of(size: usize) -> Fleet {
        let mut fleet = Fleet {
            state: State::default(),
            sessions: vec![],
            pulls: vec![],
            now: Timestamp(1_700_000_000_000),
            seed: 1,
        };
        fleet.take(Input::Configure(Box::new(DaemonSettings {
            max_live: u32::MAX,
            ..DaemonSettings::default()
        })));
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
            role: SessionRole::Worker,
            title: format!("task {n}"),
            prompt: format!("Do task {n}, and do it well."),
            name: None,
            branch: None,
            origin: Default::default(),
            agent: AgentChoice { name: "scripted".into(), abilities, ..AgentChoice::default() },
            runtime: "process".into(),
            workspace: "worktree".into(),
            priority: 0,
            limits: SpendLimits::default(),
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
        let process = ProcessRef::new("process", session.to_string());
        self.tell(session, SessionInput::Launched { attempt, process, conversation: None });
        self.see(session, Reading::Idle);
        self.listen(session);
        self.sessions.push(session);
    }

    /// The same few agents, and so many pull requests of theirs that each has a problem with a timer.
    fn with_incidents(size: usize) -> Fleet {
        let mut fleet = Fleet::of(10);
        // A command is run for each, so that none of them fills an agent's outbox.
        let patch = ReactionPatch {
            action: Some(ReactionAction::Run),
            command: Some("true".into()),
            attempts: Some(u32::MAX),
            escalate_after: Some(Duration::from_secs(365 * 86_400)),
            ..ReactionPatch::default()
        };
        let reactions = [(IncidentKind::MergeConflicts, patch)].into();
        let settings = DaemonSettings { max_live: u32::MAX, reactions, ..DaemonSettings::default() };
        fleet.take(Input::Configure(Box::new(settings)));
        for n in 0..size {
            let pull = PullId { project: ProjectId::new("app"), number: n as u64 };
            fleet.look(&pull, 0, false);
            let session = fleet.sessions[n % fleet.sessions.len()];
            fleet.take(Input::Pull { pull: pull.clone(), input: PullInput::Claim { session } });
            fleet.look(&pull, 0, true);
            fleet.pulls.push(pull);
        }
        let is_conflict = |incident: &&Incident| incident.key.kind == IncidentKind::MergeConflicts;
        let conflicts = fleet.state.incidents.values().filter(is_conflict).count();
        assert_eq!(conflicts, size, "each has its problem");
        fleet
    }

    /// Problems at random go away and come back on another base. Returns the time of one step.
    fn round_of_problems(&mut self) -> Duration {
        let from = self.seed;
        let begun = Instant::now();
        for turn in 0..TURNS_A_ROUND as u64 / 4 {
            let at = (self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ turn) as usize % self.pulls.len();
            let pull = self.pulls[at].clone();
            self.look(&pull, self.seed, false);
            self.look(&pull, self.seed, true);
        }
        begun.elapsed() / u32::try_from(self.seed - from).expect("a round is short")
    }

    /// The forge is looked at, and whatever is ordered is done.
    fn look(&mut self, pull: &PullId, base: u64, conflict: bool) {
        self.now = self.now + Duration::from_secs(1);
        let facts = PullFacts {
            observed_at: self.now,
            title: "Fix login".into(),
            url: "https://forge.invalid/7".into(),
            head: Commit::new("c1"),
            head_branch: format!("feat/{}", pull.number),
            head_repo: None,
            head_author: None,
            head_title: None,
            no_checks: false,
            // Not where its sessions land, so that only the problem moves.
            base_branch: "next".into(),
            base_remote: Some("origin".into()),
            base: Commit::new(&format!("b{base}")),
            draft: false,
            state: PullState::Open,
            author: AuthorFacts { login: "agent".into(), standing: AuthorStanding::Agent },
            labels: Default::default(),
            mergeable: match conflict {
                true => Mergeable::Conflict { files: vec!["src/lib.rs".into()] },
                false => Mergeable::Clean,
            },
            checks: vec![],
            reviews: vec![],
            threads: vec![],
            size: ChangeSize::default(),
        };
        self.take(Input::Pull { pull: pull.clone(), input: PullInput::Seen(Box::new(facts)) });
        let ordered: Vec<JobId> = self.state.jobs.keys().copied().collect();
        for job in ordered {
            let outcome = JobOutcome::Done { said: String::new() };
            self.take(Input::Job { job, input: JobInput::Done { tries: 0, outcome } });
        }
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
            SessionInput::Reported {
                attempt,
                source: SignalSource::Hook,
                at: self.now,
                report: AgentReport::taken(&self.seed.to_string(), &text),
            },
        );
    }

    fn see(&mut self, session: SessionId, reading: Reading) {
        let attempt = self.state.sessions[&session].attempt;
        let signal = Signal {
            attempt,
            source: SignalSource::Hook,
            at: self.now,
            confidence: Confidence::High,
            reading,
        };
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
