//! Starting, and what a process is given.

use ao_core::input::Life;
use ao_core::setup::{Secret, SecretSource};
use ao_ports::{Io, Runtime, RuntimeError};

use crate::support::Bench;

#[tokio::test]
async fn the_exit_code_is_reported_by_itself_and_kept() {
    let mut bench = Bench::new();
    let process = bench.start("echo done; exit 3").await;
    assert_eq!(bench.exit().await, Some(3));
    assert_eq!(bench.runtime.look(&process).await, Life::Gone { code: Some(3) });
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
async fn what_it_cannot_do_it_says() {
    let bench = Bench::new();
    let mut spec = bench.spec("true");
    spec.command.secrets =
        vec![Secret { name: "TOKEN".into(), from: SecretSource::File("/nowhere/token".into()) }];
    assert!(matches!(bench.runtime.start(&spec).await, Err(RuntimeError::NoSecret { .. })));
    spec.command.secrets.clear();
    for io in [Io::Terminal, Io::Pipes] {
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
