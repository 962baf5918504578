//! What a session costs on top of the bare git and exec that nobody can do without, and how many there can be.
//!
//! `cargo bench -p ao --bench sessions` prints a table and fails if a limit is passed. Both sides of a comparison use the
//! same repository and the same program, and run in turns, so that a noisy machine disturbs both alike. Arguments choose
//! some of `one`, `burst`, `rest` and `alive`; a number is that of the sessions to hold, instead of 1,000.

#![expect(clippy::print_stdout, reason = "the table is the output of this program")]

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ao::clock::SystemClock;
use ao::daemon::{Daemon, DaemonOptions};
use ao_core::input::SpawnRequest;
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::session::{
    AgentChoice, MessageKind, NewMessage, Sender, Session, SessionInput, SessionRole, StatusWord,
};
use ao_core::setup::Origin;
use ao_core::{DaemonSettings, Input, ProjectId, SessionId, State};
use ao_ports::Clock;
use camino::Utf8PathBuf;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::unix::pipe;
use tokio::runtime::Runtime;

/// A program that speaks the line protocol in as few words as there are. It says that it is up through a pipe, which the
/// bare one does too.
const PROGRAM: &str = r#"echo up > "$READY"; echo '{"ao":"idle"}'
while read -r line; do case $line in
*'"ao":"message"'*)
    n=${line#*'"delivery":'}; n=${n%%[!0-9]*}; t=${line#*'"text":'}
    echo "{\"ao\":\"taken\",\"delivery\":$n,\"text\":${t%%[,\}]*}}"; echo '{"ao":"idle"}';;
esac; done"#;

const AGENT: &str = "small";

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let many = args.iter().find_map(|arg| arg.parse().ok()).unwrap_or(1000);
    println!("{:<52} | {:>6} | {:>8} |", "what", "limit", "measured");
    type Measure<'a> = &'a dyn Fn() -> bool;
    let rows: [(&str, Measure<'_>); 4] = [
        ("one", &|| one(&runtime)),
        ("burst", &|| burst(&runtime)),
        ("rest", &|| at_rest(&runtime)),
        ("alive", &|| alive(&runtime, many)),
    ];
    let chosen = |name: &str| args.iter().any(|arg| arg == name);
    let all = !rows.iter().any(|(name, _)| chosen(name));
    let mut within = true;
    for (_, measure) in rows.iter().filter(|(name, _)| all || chosen(name)) {
        within &= measure();
    }
    if within { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn row(what: &str, limit: f64, measured: f64, detail: &str) -> bool {
    let within = measured <= limit;
    let verdict = if within { "ok" } else { "over" };
    println!("{what:<52} | {limit:>6.2} | {measured:>8.2} | {verdict} ({detail})");
    within
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// From the wish to the first word of the program.
fn one(runtime: &Runtime) -> bool {
    const ROUNDS: usize = 25;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    runtime.block_on(async {
        let mut yard = Yard::open(1000).await;
        for n in 0..=ROUNDS {
            let start = Instant::now();
            yard.spawn(&format!("one-{n}")).await;
            yard.up(1).await;
            let spent = start.elapsed();
            let floor = yard.bare(&format!("bare-{n}")).await;
            // The first round warms both up.
            if n > 0 {
                ours.push(spent);
                bare.push(floor);
            }
        }
        yard.close().await;
    });
    let (ours, bare) = (median(ours), median(bare));
    let ratio = ours.as_secs_f64() / bare.as_secs_f64();
    row("one session / `git worktree add` and exec", 1.3, ratio, &format!("{ours:.1?} / {bare:.1?}"))
}

/// Fifty at once, against fifty bare ones one after another.
fn burst(runtime: &Runtime) -> bool {
    const MANY: usize = 50;
    let (ours, bare) = runtime.block_on(async {
        let mut yard = Yard::open(1000).await;
        // So that neither begins with a cold cache.
        yard.bare("warm").await;
        let mut bare = Duration::ZERO;
        for n in 0..MANY {
            bare += yard.bare(&format!("bare-{n}")).await;
        }
        let start = Instant::now();
        for n in 0..MANY {
            yard.spawn(&format!("burst-{n}")).await;
        }
        yard.up(MANY).await;
        let ours = start.elapsed();
        yard.close().await;
        (ours, bare)
    });
    let ratio = ours.as_secs_f64() / bare.as_secs_f64();
    row("50 sessions at once / 50 bare ones in turn", 1.0, ratio, &format!("{ours:.2?} / {bare:.2?}"))
}

/// What the daemon uses while a hundred agents do nothing.
fn at_rest(runtime: &Runtime) -> bool {
    const MANY: usize = 100;
    /// Longer than what should be is compared with what is, so that it is in it more than once.
    const WATCHED: Duration = Duration::from_secs(65);
    let share = runtime.block_on(async {
        let mut yard = Yard::open(10).await;
        for n in 0..MANY {
            yard.spawn(&format!("rest-{n}")).await;
        }
        yard.up(MANY).await;
        yard.until(|state| state.live().all(|session| has_rest_after(session, 1))).await;
        // Each is looked at once after its turn; that is over now.
        tokio::time::sleep(Duration::from_secs(35)).await;
        let (start, before) = (Instant::now(), used());
        tokio::time::sleep(WATCHED).await;
        let share = (used() - before).as_secs_f64() / start.elapsed().as_secs_f64();
        yard.close().await;
        share * 100.0
    });
    row("daemon with 100 agents at rest, % of a core", 1.0, share, "its own time, all threads")
}

/// So many at a time: started, listed, told something, stopped, and nothing left of them.
fn alive(runtime: &Runtime, many: usize) -> bool {
    let start = Instant::now();
    let detail = runtime.block_on(async {
        let mut yard = Yard::open(10).await;
        let mut sessions = Vec::new();
        for n in 0..many {
            sessions.push(yard.spawn(&format!("alive-{n}")).await);
        }
        yard.up(many).await;
        yard.until(|state| state.live().all(|session| has_rest_after(session, 1))).await;
        let started = start.elapsed();
        let listed = yard.daemon.handle.view(|state| state.live().count()).await.unwrap();
        assert_eq!(listed, many, "all are listed");
        let processes = processes_of(&yard.marker());
        assert!(processes >= many, "{processes} processes run");
        for session in &sessions {
            yard.send(*session, "and on").await;
        }
        yard.until(|state| state.live().all(|session| has_rest_after(session, 2))).await;
        let told = start.elapsed() - started;
        let troubled = yard.daemon.handle.view(|state| {
            let troubled = |session: &&Session| !session.outbox.failed.is_empty() || session.attempt.0 != 1;
            state.live().filter(troubled).count()
        });
        assert_eq!(troubled.await.unwrap(), 0, "nothing had to be tried again");
        let (marker, stopping) = (yard.marker(), Instant::now());
        yard.close().await;
        assert_eq!(processes_of(&marker), 0, "nothing is left behind");
        format!("started {started:.1?}, told {told:.1?}, stopped {:.1?}", stopping.elapsed())
    });
    println!("{:<52} | {:>6} | {:>8} | ok ({detail})", format!("{many} live sessions"), "", "");
    true
}

/// A daemon with a repository and one agent.
struct Yard {
    dir: TempDir,
    daemon: Daemon,
    ready: Lines<BufReader<pipe::Receiver>>,
    /// Holds the pipe open between two who write to it.
    _ready: pipe::Sender,
}

impl Yard {
    async fn open(files: usize) -> Yard {
        let dir = tempfile::tempdir().unwrap();
        let repository = dir.path().join("app");
        make_repository(&repository, files);
        let ready = dir.path().join("ready");
        assert!(Command::new("mkfifo").arg(&ready).status().unwrap().success());
        let receiver = pipe::OpenOptions::new().open_receiver(&ready).unwrap();
        let sender = pipe::OpenOptions::new().open_sender(&ready).unwrap();

        let data = Utf8PathBuf::from_path_buf(dir.path().join("data")).unwrap();
        let mut options = DaemonOptions::new(data, env!("CARGO_BIN_EXE_ao"));
        options.agents.push(ao_agent::Options {
            name: AGENT.into(),
            program: "sh".into(),
            args: vec!["-c".into(), PROGRAM.into()],
            env: [("READY".to_owned(), ready.display().to_string())].into(),
            ..ao_agent::Options::default()
        });
        let daemon = Daemon::start(options, Arc::new(SystemClock)).await.unwrap();
        let settings = DaemonSettings { max_live: 5000, ..DaemonSettings::default() };
        daemon.handle.ask(Input::Configure(Box::new(settings))).await.unwrap();
        let config = ProjectConfig {
            path: repository.display().to_string(),
            default_branch: "main".into(),
            ..ProjectConfig::default()
        };
        let input = ProjectInput::Configure(Box::new(config));
        daemon.handle.ask(Input::Project { project: project(), input }).await.unwrap();
        Yard { dir, daemon, ready: BufReader::new(receiver).lines(), _ready: sender }
    }

    async fn spawn(&self, name: &str) -> SessionId {
        let request = SpawnRequest {
            project: project(),
            task: None,
            role: SessionRole::Worker,
            title: name.into(),
            prompt: "get ready".into(),
            name: Some(name.into()),
            branch: None,
            origin: Origin::Base,
            agent: AgentChoice {
                name: AGENT.into(),
                abilities: self.daemon.adapters.agent(AGENT).unwrap().abilities(),
                ..AgentChoice::default()
            },
            runtime: "process".into(),
            workspace: "worktree".into(),
            priority: 0,
            limits: Default::default(),
            trusted: false,
        };
        let receipt = self.daemon.handle.ask(Input::Spawn(Box::new(request))).await.unwrap();
        receipt.events.iter().find_map(|stamped| stamped.event.session()).unwrap()
    }

    async fn send(&self, session: SessionId, text: &str) {
        let (from, body) = (Sender::Person("bench".into()), text.to_owned());
        let message = NewMessage { from, kind: MessageKind::Text, body, interrupt: false, key: None };
        let input = SessionInput::Send(message);
        self.daemon.handle.ask(Input::Session { session, input }).await.unwrap();
    }

    /// Waits until so many programs have said that they are up.
    async fn up(&mut self, many: usize) {
        for _ in 0..many {
            self.ready.next_line().await.unwrap().unwrap();
        }
    }

    /// The bare thing: a worktree, and the same program in it.
    async fn bare(&mut self, name: &str) -> Duration {
        let path = self.dir.path().join("bare").join(name);
        let start = Instant::now();
        let path_text = path.to_str().unwrap();
        git(&self.dir.path().join("app"), &["worktree", "add", "--quiet", "-b", name, path_text, "main"]);
        let mut child = Command::new("sh")
            .args(["-c", PROGRAM])
            .current_dir(&path)
            .env("READY", self.dir.path().join("ready"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        self.up(1).await;
        let spent = start.elapsed();
        drop(child.stdin.take());
        child.wait().unwrap();
        spent
    }

    async fn until(&self, so: impl Fn(&State) -> bool + Send + Clone + 'static) {
        let mut feed = self.daemon.handle.subscribe(self.daemon.last_seq().await.unwrap());
        loop {
            let look = so.clone();
            if self.daemon.handle.view(move |state| look(state)).await.unwrap() {
                return;
            }
            tokio::time::timeout(Duration::from_secs(300), feed.next()).await.expect("it goes on").unwrap();
        }
    }

    fn marker(&self) -> String {
        format!("READY={}", self.dir.path().join("ready").display())
    }

    async fn close(self) {
        let live =
            self.daemon.handle.view(|state| state.live().map(|session| session.id).collect::<Vec<_>>());
        for session in live.await.unwrap() {
            let input = SessionInput::Stop { by: "bench".into(), why: String::new() };
            self.daemon.handle.ask(Input::Session { session, input }).await.unwrap();
        }
        self.until(|state| state.live().next().is_none()).await;
        self.daemon.stop().await.unwrap();
    }
}

fn has_rest_after(session: &Session, turns: u64) -> bool {
    session.usage.turns == turns
        && session.outbox.is_empty()
        && session.status(SystemClock.now()).word == StatusWord::Idle
}

fn project() -> ProjectId {
    ProjectId::new("app")
}

fn make_repository(path: &Path, files: usize) {
    fs::create_dir(path).unwrap();
    git(path, &["init", "--quiet", "--initial-branch=main"]);
    for n in 0..files {
        let folder = path.join(format!("folder-{}", n / 50));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("file-{n}.txt")), format!("file {n}\n").repeat(100)).unwrap();
    }
    git(path, &["add", "."]);
    let commit =
        ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "commit", "--quiet", "-m", "begin"];
    git(path, &commit);
}

fn git(path: &Path, args: &[&str]) {
    let status = Command::new("git").args(args).current_dir(path).status().unwrap();
    assert!(status.success(), "git {args:?}");
}

/// The processor time of this process, which the daemon is in.
fn used() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().collect();
    let ticks = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

/// How many processes were started with this in their environment.
fn processes_of(marker: &str) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let carries = entries.filter(|entry| {
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|known| known == marker.as_bytes())
    });
    carries.count()
}
