//! How much slower than `grep` it is to tell what failed in a log of 20 MB.
//!
//! `cargo bench -p ao-scm --bench failure` prints a table and fails if a limit is passed. Both sides read the same file,
//! in turns, and are compared by their medians, so that a noisy machine disturbs both alike.

#![expect(clippy::print_stdout, reason = "the table is the output of this program")]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use ao_scm::failure::{Options, extract_reader};

const SIZE: usize = 20 * 1024 * 1024;
const ROUNDS: usize = 11;

fn main() -> ExitCode {
    println!("{:<58} | {:>5} | {:>8} |", "what", "limit", "measured");
    let within = [
        row("a build and its tests, some of which fail / grep", 5.0, &ordinary()),
        row("words like error and failed in every harmless line / grep", 5.0, &unlucky()),
        // Nobody needs this to be fast: it only must not grow faster than the log does.
        row("every line is an error of a compiler / grep", 20.0, &hopeless()),
        row("progress bars and colours / grep", 5.0, &bars()),
    ];
    if within.iter().all(|within| *within) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn row(what: &str, limit: f64, log: &str) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    fs::write(&path, log).unwrap();
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(extracted(&path));
        bare.push(searched(&path, &dir.path().join("lines")));
    }
    let (ours, bare) = (median(ours), median(bare));
    let ratio = ours.as_secs_f64() / bare.as_secs_f64();
    let within = ratio <= limit;
    let verdict = if within { "ok" } else { "over" };
    println!("{what:<58} | {limit:>5.2} | {ratio:>8.2} | {verdict} ({ours:.1?} / {bare:.1?})");
    within
}

fn extracted(path: &Path) -> Duration {
    let start = Instant::now();
    let failure = extract_reader(File::open(path).unwrap(), &Options::default()).unwrap();
    let took = start.elapsed();
    assert!(failure.count >= 3, "what failed was not found: {failure:?}");
    took
}

/// The lines go into a file: grep stops at the first one if nobody wants them.
fn searched(path: &Path, lines: &Path) -> Duration {
    let output = File::create(lines).unwrap();
    let start = Instant::now();
    let status = Command::new("grep")
        .args(["-E", "error|FAILED|panicked"])
        .arg(path)
        .stdout(output)
        .stdin(Stdio::null())
        .status()
        .unwrap();
    let took = start.elapsed();
    assert!(status.success(), "grep found nothing");
    took
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// What fails in every log, amid lines that `noise` makes.
fn log(noise: impl Fn(&mut String, usize)) -> String {
    let mut log = String::with_capacity(SIZE + 1024);
    let (mut number, mut failures) = (0, 0);
    while log.len() < SIZE {
        noise(&mut log, number);
        number += 1;
        if log.len() / (SIZE / 20) > failures {
            failures += 1;
            writeln!(log, "test tests::number_{number} ... FAILED").unwrap();
            writeln!(log, "thread 'tests::number_{number}' (77) panicked at src/lib.rs:{number}:9:").unwrap();
            writeln!(log, "assertion `left == right` failed\n  left: {number}\n right: 6\n").unwrap();
            writeln!(log, "src/total.c:{number}:5: error: expected ‘;’ before ‘}}’ token\n").unwrap();
        }
    }
    log
}

fn ordinary() -> String {
    log(|log, number| match number % 4 {
        0 => writeln!(log, "   Compiling crate-{number} v1.{number}.0 (/build/app/crates/crate-{number})")
            .unwrap(),
        1 => writeln!(log, "test module_{number}::does_what_it_says_when_asked_{number} ... ok").unwrap(),
        2 => writeln!(
            log,
            "2026-01-01T00:00:00.{number:07}Z INFO server{{port={number}}}: a request was answered"
        )
        .unwrap(),
        _ => writeln!(
            log,
            "    at step {number} of the plan the value was {number} and the other {}",
            number * 7
        )
        .unwrap(),
    })
}

fn unlucky() -> String {
    log(|log, number| match number % 4 {
        0 => writeln!(
            log,
            "   Compiling thiserror-{number} v1.{number}.0 with error handling for failed requests"
        )
        .unwrap(),
        1 => writeln!(log, "test errors::failed_request_{number}_is_an_error ... ok").unwrap(),
        2 => writeln!(
            log,
            "{number} DEBUG retry: error count is 0 and nothing failed, no exception, cannot complain"
        )
        .unwrap(),
        _ => writeln!(
            log,
            "error handling: {number} failed attempts were recovered from, the last error was fine"
        )
        .unwrap(),
    })
}

fn hopeless() -> String {
    log(|log, number| {
        writeln!(
            log,
            "src/module_{}/file_{number}.c:{number}:{}: error: no member ‘x{number}’",
            number % 97,
            number % 80
        )
        .unwrap();
    })
}

fn bars() -> String {
    log(|log, number| {
        for percent in 0..20 {
            write!(log, "\r\x1b[2K\x1b[32mdownloading\x1b[0m {:>3}% of package-{number}", percent * 5)
                .unwrap();
        }
        log.push('\n');
    })
}
