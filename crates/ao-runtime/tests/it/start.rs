//! Starting, and what a process is given.

use ao_core::input::ProcessLife;
use ao_core::setup::{SecretRef, SecretSource};
use ao_ports::{ProcessIo, Runtime, RuntimeError};

use crate::support::Bench;

#[tokio::test]
async fn the_exit_code_is_reported_by_itself_and_kept() {
    let mut bench = Bench::new();
    let process = bench.start("echo done; exit 3").await;
    assert_eq!(bench.exit().await, Some(3));
    assert_eq!(bench.runtime.look(&process).await, ProcessLife::Gone { code: Some(3) });
    assert_eq!(bench.output(&process).await, "done\n");
}

#[tokio::test]
async fn a_second_start_of_the_same_attempt_returns_the_same_process() {
    let mut bench = Bench::new();
    let first = bench.start("echo once; exit 0").await;
    assert_eq!(bench.start("echo twice").await, first);
    assert_eq!(bench.exit().await, Some(0));
    // Alive or not.
    assert_eq!(bench.start("echo thrice").await, first);
    assert_eq!(bench.output(&first).await, "once\n");
}

#[tokio::test]
async fn it_gets_our_ids_and_the_allowed_part_of_our_environment() {
    let mut bench = Bench::new();
    let mut spec = bench.spec("pwd; echo $AO_SESSION $AO_ATTEMPT $MINE; env | grep -c CARGO; echo err >&2");
    spec.command.env.insert("MINE".into(), "mine".into());
    let process = bench.runtime.start(&spec).await.unwrap();
    bench.exit().await;
    let folder = bench.path().canonicalize().unwrap();
    assert!(std::env::vars().any(|(name, _)| name.contains("CARGO")), "there is something to keep back");
    assert_eq!(bench.output(&process).await, format!("{}\n{} 1 mine\n0\n", folder.display(), bench.session));
}

#[tokio::test]
async fn it_leads_a_group_of_its_own() {
    let mut bench = Bench::new();
    let process = bench.start("cut -d' ' -f5 /proc/$$/stat; echo $$").await;
    bench.exit().await;
    let output = bench.output(&process).await;
    let (group, pid) = output.trim().split_once('\n').unwrap();
    assert_eq!(group, pid);
}

#[tokio::test]
async fn impossible_starts_are_errors() {
    let bench = Bench::new();
    let mut spec = bench.spec("true");
    spec.command.secrets =
        vec![SecretRef { name: "TOKEN".into(), from: SecretSource::File("/nowhere/token".into()) }];
    assert!(matches!(bench.runtime.start(&spec).await, Err(RuntimeError::NoSecret { .. })));
    spec.command.secrets.clear();
    for io in [ProcessIo::Terminal, ProcessIo::Pipes] {
        spec.command.io = io;
        spec.command.program = "no-such-program".into();
        let told = bench.runtime.start(&spec).await;
        assert_eq!(told, Err(RuntimeError::NoProgram { program: "no-such-program".into() }));
        spec.command.program = "sh".into();
        spec.path = "/nonexistent".into();
        let told = bench.runtime.start(&spec).await.unwrap_err().to_string();
        assert_eq!(told, "the folder `/nonexistent` is not there");
        spec.path = bench.spec("").path;
    }
    // A start that failed can be made again.
    assert!(bench.runtime.start(&bench.spec("true")).await.is_ok());
}

#[tokio::test]
async fn two_daemons_that_start_the_same_start_it_once() {
    let bench = Bench::new();
    let other = Bench::at(bench.path(), bench.session);
    let script = "echo $$; exec sleep 600";
    let (one, two) = tokio::join!(bench.start(script), other.start(script));
    assert_eq!(one, two);
    let output = bench.until(&one, |output| output.ends_with('\n')).await;
    assert_eq!(output.trim(), bench.json("record")["pid"].to_string());
    bench.runtime.end(&bench.end_order()).await.unwrap();
    assert_eq!(bench.output(&one).await, output, "and nobody else wrote anything");
}

/// The daemon gives up at any moment of it, and the next one asks for the same again.
#[tokio::test]
async fn a_start_that_was_given_up_is_made_once() {
    for millis in [0, 1, 2, 3, 5, 8, 13] {
        let mut bench = Bench::new();
        let spec = bench.spec("echo $$; exec sleep 600");
        let _ =
            tokio::time::timeout(std::time::Duration::from_millis(millis), bench.runtime.start(&spec)).await;
        bench.restart();
        let process = bench.runtime.start(&spec).await.unwrap();
        let output = bench.until(&process, |output| output.ends_with('\n')).await;
        assert_eq!(output.trim(), bench.json("record")["pid"].to_string());
        let carry = members(&bench);
        assert_eq!(carry, [output.trim()], "given up after {millis} ms");
        bench.runtime.end(&bench.end_order()).await.unwrap();
        assert!(members(&bench).is_empty());
    }
}

/// An end that comes while the start is under way is the last word.
#[tokio::test]
async fn an_end_in_the_middle_of_a_start_leaves_nothing() {
    for millis in [0, 1, 2, 3, 5, 8, 13] {
        let bench = Bench::new();
        let spec = bench.spec("exec sleep 600");
        let _ =
            tokio::time::timeout(std::time::Duration::from_millis(millis), bench.runtime.start(&spec)).await;
        bench.runtime.end(&bench.end_order()).await.unwrap();
        assert!(members(&bench).is_empty(), "ended after {millis} ms");
        assert!(bench.runtime.start(&spec).await.is_err());
        assert!(members(&bench).is_empty());
    }
}

/// The processes that carry the session in their environment.
fn members(bench: &Bench) -> Vec<String> {
    let line = format!("AO_SESSION={}", bench.session);
    let carries = |pid: &String| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|known| known == line.as_bytes())
            && crate::support::lives(pid)
    };
    let all = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    all.filter(carries).collect()
}
