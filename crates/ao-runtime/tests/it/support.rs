//! A runtime on a throw-away folder, and what it reports.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ao_core::evidence::Reading;
use ao_core::{Attempt, SessionId};
use ao_ports::{EndOrder, ProcessIo, ProcessRef, ProgramCommand, Report, Runtime, StartSpec};
use ao_runtime::{Options, OutputLimits, Processes, Shim};
use ao_testkit::{ReportLog, WallClock};
use tempfile::TempDir;

/// Generous: it only decides how long a failing test takes.
pub(crate) const BOUND: Duration = Duration::from_secs(20);

pub(crate) const ATTEMPT: Attempt = Attempt(1);
pub(crate) const SIZE: (u16, u16) = (80, 24);

pub(crate) struct Bench {
    dir: PathBuf,
    /// Removes the folder, if it is the bench's own.
    _own: Option<TempDir>,
    pub(crate) session: SessionId,
    pub(crate) runtime: Processes,
    reports: Arc<ReportLog>,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_owned();
        // Unique on the host: tests run beside each other, and members are found by this id.
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        let session =
            SessionId(nanos ^ (u64::from(std::process::id()) << 40) ^ NEXT.fetch_add(1, Ordering::Relaxed));
        Bench { _own: Some(dir), ..Bench::at(&path, session) }
    }

    /// Creates a runtime on an existing folder.
    pub(crate) fn at(dir: &Path, session: SessionId) -> Bench {
        let (runtime, reports) = open(dir);
        Bench { dir: dir.to_owned(), _own: None, session, runtime, reports }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.dir
    }

    /// Drops the runtime and opens a new one on the same folder, as a restarted daemon does.
    pub(crate) fn restart(&mut self) {
        (self.runtime, self.reports) = open(&self.dir);
    }

    pub(crate) fn spec(&self, script: &str) -> StartSpec {
        StartSpec {
            session: self.session,
            attempt: ATTEMPT,
            name: "test".into(),
            path: self.dir.display().to_string(),
            ports: vec![],
            command: ProgramCommand {
                program: "sh".into(),
                args: vec!["-c".into(), script.into()],
                env: BTreeMap::new(),
                pass: vec![],
                secrets: vec![],
                files: vec![],
                io: ProcessIo::Pipes,
            },
        }
    }

    pub(crate) async fn start(&self, script: &str) -> ProcessRef {
        self.runtime.start(&self.spec(script)).await.unwrap()
    }

    pub(crate) fn end_order(&self) -> EndOrder {
        EndOrder { session: self.session, attempt: ATTEMPT, process: None }
    }

    /// Returns the folder of the first attempt's state.
    pub(crate) fn place(&self) -> PathBuf {
        self.dir.join(format!("state/{}/{ATTEMPT}", self.session))
    }

    /// One of the files there.
    pub(crate) fn json(&self, name: &str) -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(self.place().join(name)).unwrap()).unwrap()
    }

    /// Drops the runtime, as a daemon that ends does. Until the restart there is one that knows of nothing.
    pub(crate) fn close(&mut self) {
        (self.runtime, self.reports) = open(&self.dir.join("elsewhere"));
    }

    /// The next that is reported.
    pub(crate) async fn report(&mut self) -> Report {
        tokio::time::timeout(BOUND, self.reports.next()).await.expect("a report in time")
    }

    /// Waits for the next report, which has to be this.
    pub(crate) async fn reported(&mut self, reading: Reading) {
        match self.report().await {
            Report::Signal { signal, .. } => assert_eq!(signal.reading, reading),
            other => panic!("{other:?}"),
        }
    }

    /// The next exit that is reported for this session.
    pub(crate) async fn exit(&mut self) -> Option<i32> {
        match self.report().await {
            Report::Signal { session, signal } if session == self.session && signal.attempt == ATTEMPT => {
                match signal.reading {
                    Reading::Exited { code } => code,
                    other => panic!("{other:?}"),
                }
            }
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn output(&self, process: &ProcessRef) -> String {
        String::from_utf8(self.runtime.output(process, 0, usize::MAX, Duration::ZERO).await.unwrap().bytes)
            .unwrap()
    }

    /// Waits until the output fulfils a condition, and returns it.
    pub(crate) async fn until(&self, process: &ProcessRef, enough: impl Fn(&str) -> bool) -> String {
        let wait = async {
            loop {
                let output = self.output(process).await;
                if enough(&output) {
                    return output;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(BOUND, wait).await.expect("the output in time")
    }
}

/// Short waits, and little kept, so that tests see what happens when there is more.
pub(crate) fn options(dir: &Path) -> Options {
    let shim = Shim { program: env!("CARGO_BIN_EXE_ao-shim").into(), args: vec![] };
    Options {
        grace: Duration::from_millis(300),
        size: SIZE,
        keep: OutputLimits { segment: 16 << 10, total: 128 << 10 },
        ..Options::new(dir.join("state"), shim)
    }
}

fn open(dir: &Path) -> (Processes, Arc<ReportLog>) {
    let runtime = deaf(dir);
    let reports = listen(&runtime);
    (runtime, reports)
}

/// A runtime that does not listen to what was started before.
pub(crate) fn deaf(dir: &Path) -> Processes {
    Processes::new(options(dir), Arc::new(WallClock::default()))
}

pub(crate) fn listen(runtime: &Processes) -> Arc<ReportLog> {
    let reports = Arc::<ReportLog>::default();
    runtime.watch(reports.clone()).unwrap();
    reports
}

/// Waits until a process is gone.
pub(crate) async fn gone(pid: &str) {
    let wait = async {
        while lives(pid) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(BOUND, wait).await.expect("gone in time");
}

/// Returns true if a process exists and has not ended.
pub(crate) fn lives(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
        .is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.trim_start().starts_with('Z'))
}
