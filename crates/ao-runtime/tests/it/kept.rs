//! Recorded output and its limits.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use ao_ports::{ProcessIo, Runtime};

use crate::support::{BOUND, Bench, options};

#[tokio::test]
async fn the_disk_is_bounded_and_what_is_lost_is_said() {
    for io in [ProcessIo::Terminal, ProcessIo::Pipes] {
        let mut bench = Bench::new();
        let mut spec = bench.spec("stty -onlcr 2>/dev/null; seq 200000");
        spec.command.io = io;
        let process = bench.runtime.start(&spec).await.unwrap();
        assert_eq!(bench.exit().await, Some(0));
        let all: String = (1..=200_000).map(|number| format!("{number}\n")).collect();
        let keep = options(bench.path()).keep;
        let files = fs::read_dir(bench.place().join("output")).unwrap();
        let size: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
        // One piece of reading may be more than a segment is to have.
        assert!(size <= keep.total + 128 * 1024, "{size}");
        let (mut read, mut at) = (Vec::new(), 0);
        loop {
            let piece = bench.runtime.output(&process, at, 10_000, Duration::ZERO).await.unwrap();
            assert!(piece.from == at || at == 0, "only the beginning is lost");
            at = piece.from + piece.bytes.len() as u64;
            read.extend(piece.bytes);
            if piece.ended {
                break;
            }
        }
        assert_eq!(at, all.len() as u64);
        assert!(read.len() as u64 >= keep.segment && all.as_bytes().ends_with(&read));
    }
}

#[tokio::test]
async fn no_other_user_can_look_in() {
    let bench = Bench::new();
    let process = bench.start("echo secret; echo oops >&2; sleep 600").await;
    bench.until(&process, |output| output == "secret\n").await;
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let place = bench.place();
    assert_eq!(
        (mode(&place), mode(&place.join("output")), mode(&place.join("socket"))),
        (0o700, 0o700, 0o600)
    );
    for entry in fs::read_dir(place.join("output")).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
    bench.runtime.end(&bench.end_order()).await.unwrap();
    assert_eq!(mode(&place.join("log")), 0o700);
    for entry in fs::read_dir(place.join("log")).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
    assert!(!place.join("socket").exists());
}

/// The values of secrets are in the program's environment, and nowhere on disk or in arguments.
#[tokio::test]
async fn a_secret_is_nowhere_but_with_the_program() {
    let bench = Bench::new();
    let file = bench.path().join("key");
    fs::write(&file, "hunter2hunter2\n").unwrap();
    let mut spec = bench.spec("echo ${#KEY}; sleep 600");
    let from = ao_core::setup::SecretSource::File(file.display().to_string());
    spec.command.secrets = vec![ao_core::setup::SecretRef { name: "KEY".into(), from }];
    let process = bench.runtime.start(&spec).await.unwrap();
    bench.until(&process, |output| output == "14\n").await;
    let holder = bench.json("holder")["pid"].to_string();
    for what in ["cmdline", "environ"] {
        // Only root can see the environment of a shim.
        let text = fs::read(format!("/proc/{holder}/{what}")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&text).contains("hunter2"), "{what}");
    }
    for entry in fs::read_dir(bench.place()).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        assert!(!String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).contains("hunter2"), "{entry:?}");
    }
    bench.runtime.end(&bench.end_order()).await.unwrap();
}

#[tokio::test]
async fn an_ended_attempt_can_be_forgotten_and_is_not_started_again() {
    let bench = Bench::new();
    let process = bench.start("echo up; sleep 600").await;
    assert!(bench.runtime.forget(&process).await.is_err(), "it was not ended");
    bench.runtime.end(&bench.end_order()).await.unwrap();
    bench.runtime.forget(&process).await.unwrap();
    assert_eq!(fs::read_dir(bench.place()).unwrap().count(), 1);
    assert!(bench.runtime.start(&bench.spec("true")).await.is_err());
    assert_eq!(bench.runtime.census().await.unwrap(), []);
}

/// As when the disk is full: what cannot be kept is lost, and nothing else.
#[tokio::test]
async fn a_disk_that_takes_nothing_does_not_stop_the_program() {
    let mut bench = Bench::new();
    let mut spec = bench.spec("read go; seq 20000; printf finished; read go; exit 4");
    spec.command.io = ProcessIo::Terminal;
    let process = bench.runtime.start(&spec).await.unwrap();
    fs::remove_dir_all(bench.place().join("output")).unwrap();
    let go = |number| ao_ports::WriteOrder { process: process.clone(), number, bytes: b"\n".to_vec() };
    bench.runtime.write(&go(1)).await.unwrap();
    let finished = async {
        while !bench.runtime.screen(&process).await.unwrap().lines.contains(&"finished".to_owned()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(BOUND, finished).await.expect("shown in time");
    bench.runtime.write(&go(2)).await.unwrap();
    assert_eq!(bench.exit().await, Some(4));
}
