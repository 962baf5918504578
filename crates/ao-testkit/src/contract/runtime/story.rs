//! The stage of a story: a runtime on its bench, a folder, sessions of its own, and the reports.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ao_core::evidence::Reading;
use ao_core::{Attempt, SessionId};
use ao_ports::{
    EndOrder, ProcessIo, ProcessRef, ProgramCommand, Report, Reporter, Runtime, RuntimeAbilities, StartSpec,
    WriteOrder, WriteOutcome,
};
use async_trait::async_trait;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::ReportLog;

/// Generous: it only decides how long a failing test takes.
pub const BOUND: Duration = Duration::from_secs(40);

/// The most sessions of one story.
const SESSIONS: u64 = 64;

/// Adds its pid to a file, and runs until [`RuntimeBench::exit`] makes it exit.
const LASTING: &str = "own=$AO_SESSION.$AO_ATTEMPT; echo $$ >> pids.$own; \
    while [ ! -e exit.$own ]; do sleep 0.05; done; exit $(cat exit.$own)";

/// An adapter's part of the contract: opens the runtime over a state of its own.
///
/// Its drop removes everything that the runtime has on the host besides the programs.
#[async_trait]
pub trait RuntimeBench: Send + Sync {
    /// Opens the runtime over the bench's state, as a daemon does when it starts, also over the state of an earlier
    /// one. Dropping the returned runtime ends that daemon without a clean shutdown.
    async fn open(&self, reporter: Arc<dyn Reporter>) -> Arc<dyn Runtime>;

    /// Returns how the programs of the stories are held.
    fn io(&self) -> ProcessIo;

    /// Prepares for the start of a program. Real programs need nothing.
    fn prepare(&self, _: &StartSpec) {}

    /// Returns how often the program of [`Story::lasting`] was started.
    fn starts(&self, spec: &StartSpec) -> usize {
        recorded_pids(spec).len()
    }

    /// Returns true if a program of [`Story::lasting`] runs.
    fn runs(&self, spec: &StartSpec) -> bool {
        recorded_pids(spec).into_iter().any(lives)
    }

    /// Makes a program of [`Story::lasting`] exit. Returns once it has exited.
    async fn exit(&self, spec: &StartSpec, code: u8) {
        let (partial, file) = (own_file(spec, "partial"), own_file(spec, "exit"));
        std::fs::write(&partial, code.to_string()).expect("the code is written");
        std::fs::rename(partial, file).expect("the code is there");
        let begun = Instant::now();
        while self.runs(spec) {
            assert!(begun.elapsed() < BOUND, "the program did not exit within {BOUND:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

fn own_file(spec: &StartSpec, kind: &str) -> PathBuf {
    Path::new(&spec.path).join(format!("{kind}.{}.{}", spec.session, spec.attempt))
}

fn recorded_pids(spec: &StartSpec) -> Vec<i32> {
    let text = std::fs::read_to_string(own_file(spec, "pids")).unwrap_or_default();
    text.lines().map(number).collect()
}

/// One runtime, and the operations of a story.
pub struct Story<B> {
    /// Before the bench, so that it is dropped first: no daemon must see its bench removed.
    runtime: Option<Arc<dyn Runtime>>,
    bench: B,
    reports: Arc<ReportLog>,
    folder: TempDir,
    first: u64,
}

impl<B: RuntimeBench> Story<B> {
    pub async fn begin(bench: B) -> Story<B> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        // Unique on the host: tests run concurrently, and processes of a session are found by its id.
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos() as u64;
        let unique =
            nanos ^ (u64::from(std::process::id()) << 40) ^ (NEXT.fetch_add(1, Ordering::Relaxed) << 32);
        let reports = Arc::<ReportLog>::default();
        let folder = tempfile::tempdir().expect("a folder for the story");
        let runtime = Some(bench.open(reports.clone()).await);
        Story { runtime, bench, reports, folder, first: unique & !(SESSIONS - 1) }
    }

    pub fn bench(&self) -> &B {
        &self.bench
    }

    pub fn runtime(&self) -> &Arc<dyn Runtime> {
        self.runtime.as_ref().expect("a daemon is there")
    }

    pub fn abilities(&self) -> RuntimeAbilities {
        self.runtime().abilities()
    }

    pub fn io(&self) -> ProcessIo {
        self.bench.io()
    }

    /// Returns the folder in which the programs of this story start.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Ends the daemon without a clean shutdown.
    pub fn daemon_ends(&mut self) {
        self.runtime = None;
    }

    pub async fn daemon_starts(&mut self) {
        self.runtime = Some(self.bench.open(self.reports.clone()).await);
    }

    pub async fn restart(&mut self) {
        self.daemon_ends();
        self.daemon_starts().await;
    }

    pub fn session(&self, number: u64) -> SessionId {
        assert!(number < SESSIONS);
        SessionId(self.first + number)
    }

    /// Returns the spec of a shell script, for the first session by default.
    ///
    /// On a terminal it runs raw and without echo, so that bytes are the same as on pipes. Without input, the script
    /// reads from a pipe in its folder if it was made by [`Story::heard`].
    pub fn spec(&self, script: &str) -> StartSpec {
        let script = match self.io() {
            ProcessIo::Terminal => format!("stty raw -echo; {script}"),
            ProcessIo::Pipes | ProcessIo::Output => script.to_owned(),
        };
        StartSpec {
            session: self.session(0),
            attempt: Attempt(1),
            name: "a story".into(),
            path: self.folder().display().to_string(),
            ports: vec![],
            command: ProgramCommand {
                program: "sh".into(),
                args: vec!["-c".into(), script],
                env: BTreeMap::new(),
                pass: vec![],
                secrets: vec![],
                files: vec![],
                io: self.io(),
            },
        }
    }

    /// Returns the spec of a program that runs until it is ended, or until [`RuntimeBench::exit`] makes it exit.
    pub fn lasting(&self) -> StartSpec {
        self.spec(LASTING)
    }

    pub async fn start(&self, script: &str) -> ProcessRef {
        self.start_spec(&self.spec(script)).await
    }

    pub async fn start_spec(&self, spec: &StartSpec) -> ProcessRef {
        self.bench.prepare(spec);
        self.runtime().start(spec).await.expect("it starts")
    }

    /// Starts a program of [`Story::lasting`], and waits until it runs.
    pub async fn start_lasting(&self, spec: &StartSpec) -> ProcessRef {
        let process = self.start_spec(spec).await;
        until("the program", async || (self.bench.starts(spec) > 0).then_some(())).await;
        process
    }

    /// Ends the process of a spec.
    pub async fn end_spec(&self, spec: &StartSpec) {
        let order = EndOrder { session: spec.session, attempt: spec.attempt, process: None };
        self.runtime().end(&order).await.expect("it ends");
    }

    /// Returns a script that reads the input of [`Story::tell`] on its stdin.
    pub fn heard(&self, script: &str) -> String {
        match self.io() {
            ProcessIo::Terminal | ProcessIo::Pipes => script.to_owned(),
            ProcessIo::Output => format!("mkfifo told; exec 0<>told; {script}"),
        }
    }

    /// Sends input to a program whose script was made by [`Story::heard`].
    pub async fn tell(&self, process: &ProcessRef, number: u64, bytes: &[u8]) {
        if self.io() != ProcessIo::Output {
            self.write(process, number, bytes).await;
            return;
        }
        let told = std::fs::OpenOptions::new().write(true).open(self.folder().join("told"));
        told.and_then(|mut told| told.write_all(bytes)).expect("the program has its pipe open");
    }

    pub async fn write(&self, process: &ProcessRef, number: u64, bytes: &[u8]) -> WriteOutcome {
        let order = WriteOrder { process: process.clone(), number, bytes: bytes.to_vec() };
        self.runtime().write(&order).await.expect("it is written")
    }

    pub async fn end(&self) {
        let order = EndOrder { session: self.session(0), attempt: Attempt(1), process: None };
        self.runtime().end(&order).await.expect("it ends");
    }

    /// Returns all recorded output.
    pub async fn output(&self, process: &ProcessRef) -> String {
        let piece = self.runtime().output(process, 0, usize::MAX, Duration::ZERO).await.expect("it is read");
        String::from_utf8_lossy(&piece.bytes).into_owned()
    }

    /// Waits until the output contains a text.
    pub async fn until_output(&self, process: &ProcessRef, text: &str) -> String {
        let look = async || match self.output(process).await {
            output if output.contains(text) => Ok(output),
            output => Err(format!("{output:?}")),
        };
        until_ok("the output", look).await
    }

    /// Waits until a file of the story's folder has a whole line, and returns all of it.
    pub async fn until_file(&self, name: &str) -> String {
        let path = self.folder().join(name);
        let read = async || std::fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n'));
        until(name, read).await
    }

    /// Returns the next reported exit, and skips other reports.
    pub async fn exit(&mut self) -> (SessionId, Attempt, Option<i32>) {
        let next = async {
            loop {
                let report = self.reports.next().await;
                if let Report::Signal { session, signal } = report
                    && let Reading::Exited { code } = signal.reading
                {
                    return (session, signal.attempt, code);
                }
            }
        };
        tokio::time::timeout(BOUND, next).await.expect("an exit is reported in time")
    }

    /// Returns the reports that were not read yet.
    pub fn reported(&mut self) -> Vec<Report> {
        self.reports.unread()
    }
}

impl<B> std::fmt::Debug for Story<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Story")
            .field("first", &self.first)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

/// Kills leftover processes, also after a failure.
impl<B> Drop for Story<B> {
    fn drop(&mut self) {
        let ours: Vec<String> =
            (0..SESSIONS).map(|number| format!("AO_SESSION={}", SessionId(self.first + number))).collect();
        for pid in pids() {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let is_ours = |entry: &[u8]| ours.iter().any(|known| known.as_bytes() == entry);
            if environment.split(|byte| *byte == 0).any(is_ours)
                && let Some(pid) = Pid::from_raw(pid)
            {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// Waits for something, with a bound.
pub async fn until<T>(what: &str, mut seen: impl AsyncFnMut() -> Option<T>) -> T {
    until_ok(what, async || seen().await.ok_or("it was not there")).await
}

/// Waits for something, and panics with the last observation if it does not come.
pub async fn until_ok<T, E: Display>(what: &str, mut look: impl AsyncFnMut() -> Result<T, E>) -> T {
    let begun = Instant::now();
    loop {
        match look().await {
            Ok(seen) => return seen,
            Err(last) if begun.elapsed() > BOUND => panic!("waited for {what} in vain; at last: {last}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

/// Returns true if a process exists and has not ended.
pub fn lives(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z')))
}

pub(super) fn pids() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

pub(super) fn number(text: &str) -> i32 {
    text.trim().parse().expect("a number")
}
