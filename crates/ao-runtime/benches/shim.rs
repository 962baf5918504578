//! The cost of a shim: in memory, in speed, and at the start of a process.
//!
//! `cargo bench -p ao-runtime` prints a table and fails if a limit is passed. Both sides of a comparison run in turns and
//! are compared by their medians, so that a noisy machine disturbs both alike. The memory is that of the released `ao`, which
//! `cargo xtask bench` names, as its size is what counts.

#![expect(clippy::print_stdout, reason = "the table is the output of this program")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ao_core::{Attempt, SessionId};
use ao_ports::{EndOrder, Frame, ProcessIo, Runtime, StartSpec, ViewOptions, WriteOrder};
use ao_runtime::{Options, Processes, Shim};
use ao_testkit::WallClock;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tempfile::TempDir;

/// Bytes that a program prints.
const BYTES: usize = 96 << 20;
const ROUNDS: usize = 5;
const STARTS: usize = 40;
/// Shims beside which the memory of one is measured, with itself.
const FLEET: usize = 6;

fn main() -> ExitCode {
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    println!("{:<58} | {:>5} | {:>8} |", "what", "limit", "measured");
    let within = tokio.block_on(async { [memory().await, throughput().await, start().await] });
    if within.iter().all(|within| *within) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn row(what: &str, limit: f64, measured: f64, told: &str) -> bool {
    let within = measured <= limit;
    println!("{what:<58} | {limit:>5.2} | {measured:>8.2} | {} ({told})", if within { "ok" } else { "over" });
    within
}

/// One idle shim of a program on a terminal, with a screen full of text behind it.
///
/// The pages of the program itself count as private while no other process has them, and the kernel maps more or fewer of
/// them around each one that is needed. So it is measured beside a few others, as in any fleet.
async fn memory() -> bool {
    let (shim, name) = match std::env::var_os("AO_RELEASED") {
        Some(program) => (Shim { program: program.into(), args: vec!["shim".into()] }, "ao"),
        None => (own_shim(), "ao-shim, as AO_RELEASED is not set"),
    };
    let mut fleet = Vec::new();
    let mut private = Vec::new();
    for _ in 0..FLEET {
        let one = BenchRuntime::new(shim.clone());
        one.fill().await;
        private.push(one.private_memory());
        fleet.push(one);
    }
    for one in fleet {
        one.end().await;
    }
    let (alone, last) = (private[0], private[FLEET - 1]);
    let told = format!("{last} kB of {name}; {alone} kB if there is nothing else of it on the host");
    row("private memory of one idle shim, in MB", 2.0, last as f64 / 1000.0, &told)
}

/// A program that puts out lines as fast as it can, to a viewer, and the same to a bare loop.
async fn throughput() -> bool {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("lines");
    let line = "a line of output such as compilers and tests print by the thousand, 0123456789\n";
    fs::write(&file, line.repeat(BYTES / line.len())).unwrap();
    let script = format!("read go; exec cat '{}'", file.display());
    let (mut ours, mut bare, mut shown) = (Vec::new(), Vec::new(), 0.0);
    for _ in 0..ROUNDS {
        bare.push(bare_terminal(&script));
        let (took, share) = through_a_shim(&script).await;
        ours.push(took);
        shown += share / ROUNDS as f64;
    }
    let (ours, bare) = (median(ours), median(bare));
    let speed = |took: Duration| BYTES as f64 / took.as_secs_f64() / 1e6;
    let told = format!(
        "{:.0} MB/s / {:.0} MB/s, {:.1} % shown to the viewer",
        speed(ours),
        speed(bare),
        shown * 100.0
    );
    // Output that the viewer was not shown counts as still to come.
    let ratio = ours.as_secs_f64() / bare.as_secs_f64() / shown;
    row("lines to a viewer / to a bare loop on a terminal", 1.5, ratio, &told)
}

fn bare_terminal(script: &str) -> Duration {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    tcsetwinsize(&master, Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let slave: OwnedFd = ioctl_tiocgptpeer(&master, flags).unwrap();
    let mut child = Command::new("sh")
        .args(["-c", script])
        .stdin(slave.try_clone().unwrap())
        .stdout(slave.try_clone().unwrap())
        .stderr(slave)
        .spawn()
        .unwrap();
    let mut master = File::from(master);
    let start = Instant::now();
    master.write_all(b"go\n").unwrap();
    let mut space = vec![0; 64 * 1024];
    while master.read(&mut space).is_ok_and(|count| count > 0) {}
    let took = start.elapsed();
    child.wait().unwrap();
    took
}

/// Returns the time it took, and the share that the viewer was shown.
async fn through_a_shim(script: &str) -> (Duration, f64) {
    let bench = BenchRuntime::new(own_shim());
    let process = bench.start(ProcessIo::Terminal, script).await;
    let mut view = bench.runtime.connect(&process, ViewOptions::default()).await.unwrap();
    assert!(matches!(view.next().await, Ok(Some(Frame::Keyframe { .. }))));
    let start = Instant::now();
    let order = WriteOrder { process, number: 1, bytes: b"go\n".to_vec() };
    bench.runtime.write(&order).await.unwrap();
    let (mut shown, mut end) = (0, 0);
    loop {
        match view.next().await.unwrap().expect("an end is told") {
            Frame::Output { from, bytes } => {
                shown += bytes.len() as u64;
                end = from + bytes.len() as u64;
            }
            Frame::Keyframe { from, .. } => end = from,
            Frame::Control { .. } => {}
            Frame::Ended { .. } => break,
        }
    }
    let took = start.elapsed();
    bench.end().await;
    (took, shown as f64 / end as f64)
}

/// From the wish to a program that runs. What is added is two more programs to start: the shim, and its last step.
async fn start() -> bool {
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let bench = BenchRuntime::new(own_shim());
        let start = Instant::now();
        bench.start(ProcessIo::Terminal, "exec sleep 600").await;
        ours.push(start.elapsed());
        bench.end().await;
        let start = Instant::now();
        let mut child =
            Command::new("sh").args(["-c", "exec sleep 600"]).stdin(Stdio::null()).spawn().unwrap();
        bare.push(start.elapsed());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let added = median(ours.clone()).saturating_sub(median(bare.clone()));
    let told = format!("{:.1?} / {:.1?}", median(ours), median(bare));
    row("start of a process over a bare one, in ms", 50.0, added.as_secs_f64() * 1000.0, &told)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn own_shim() -> Shim {
    Shim { program: env!("CARGO_BIN_EXE_ao-shim").into(), args: vec![] }
}

struct BenchRuntime {
    dir: TempDir,
    session: SessionId,
    runtime: Processes,
}

impl BenchRuntime {
    fn new(shim: Shim) -> BenchRuntime {
        let dir = tempfile::tempdir().unwrap();
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        let options =
            Options { grace: Duration::from_secs(1), ..Options::new(dir.path().join("state"), shim) };
        BenchRuntime {
            session: SessionId(nanos),
            runtime: Processes::new(options, Arc::new(WallClock::default())),
            dir,
        }
    }

    async fn start(&self, io: ProcessIo, script: &str) -> ao_core::session::ProcessRef {
        let command = ao_ports::ProgramCommand {
            program: "sh".into(),
            args: vec!["-c".into(), script.into()],
            env: BTreeMap::new(),
            pass: vec![],
            secrets: vec![],
            files: vec![],
            io,
        };
        let path = self.dir.path().display().to_string();
        let (session, attempt, name, ports) = (self.session, Attempt(1), "bench".into(), vec![]);
        self.runtime.start(&StartSpec { session, attempt, name, path, command, ports }).await.unwrap()
    }

    /// Runs something that fills the screen and then rests.
    async fn fill(&self) {
        let process = self.start(ProcessIo::Terminal, "seq 5000; exec sleep 600").await;
        while self.runtime.screen(&process).await.unwrap().lines.iter().all(|line| line != "5000") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Memory that only the shim has, in kB.
    fn private_memory(&self) -> u64 {
        let holder = self.dir.path().join(format!("state/{}/1/holder", self.session));
        let holder: serde_json::Value = serde_json::from_slice(&fs::read(holder).unwrap()).unwrap();
        let rollup = fs::read_to_string(format!("/proc/{}/smaps_rollup", holder["pid"])).unwrap();
        let private = rollup
            .lines()
            .filter(|line| line.starts_with("Private_Clean") || line.starts_with("Private_Dirty"));
        private.map(|line| line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()).sum()
    }

    async fn end(&self) {
        let order = EndOrder { session: self.session, attempt: Attempt(1), process: None };
        self.runtime.end(&order).await.unwrap();
    }
}
