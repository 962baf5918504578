//! Ending all of it, for good.

use ao_core::Attempt;
use ao_core::input::ProcessLife;
use ao_ports::{EndOrder, Runtime, RuntimeError};

use crate::support::{Bench, lives};

fn pids(output: &str) -> Vec<String> {
    output.split_whitespace().map(str::to_owned).collect()
}

#[tokio::test]
async fn the_whole_group_goes_down_to_the_grandchildren() {
    let mut bench = Bench::new();
    let process = bench.start("sh -c 'sleep 600 & echo $!; echo $$; wait' & echo $$; wait").await;
    let all = pids(&bench.until(&process, |output| output.lines().count() == 3).await);
    assert!(all.iter().all(|pid| lives(pid)));
    bench.runtime.end(&bench.end_order()).await.unwrap();
    assert!(!all.iter().any(|pid| lives(pid)), "nothing of it runs when `end` returns");
    assert_eq!(bench.exit().await, None, "ended by a signal");
}

/// A process that has made itself a daemon, with a session and a group of its own and no parent, and that holds a port.
///
/// acceptance: L5
#[tokio::test]
async fn a_double_forked_server_goes_too_and_its_port_is_free() {
    let bench = Bench::new();
    let server = "import os,socket,time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
s=socket.socket(); s.bind(('127.0.0.1',0)); s.listen()
print(os.getpid(), s.getsockname()[1], flush=True)
time.sleep(600)";
    let mut spec = bench.spec("python3 -c \"$0\"; sleep 600");
    spec.command.args.push(server.into());
    let process = bench.runtime.start(&spec).await.unwrap();
    let told = pids(&bench.until(&process, |output| output.ends_with('\n')).await);
    let port: u16 = told[1].parse().unwrap();
    assert!(lives(&told[0]));
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    bench.runtime.end(&bench.end_order()).await.unwrap();
    assert!(!lives(&told[0]));
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[tokio::test]
async fn who_does_not_listen_is_killed_after_the_grace() {
    let bench = Bench::new();
    let process = bench.start("trap '' TERM; echo $$; while :; do sleep 1; done").await;
    let pid = bench.until(&process, |output| output.ends_with('\n')).await;
    bench.runtime.end(&bench.end_order()).await.unwrap();
    assert!(!lives(&pid));
}

#[tokio::test]
async fn who_listens_may_tidy_up() {
    let mut bench = Bench::new();
    let process = bench.start("trap 'echo tidy; exit 7' TERM; echo up; while :; do sleep 0.01; done").await;
    bench.until(&process, |output| output == "up\n").await;
    bench.runtime.end(&bench.end_order()).await.unwrap();
    assert_eq!(bench.exit().await, Some(7));
    assert_eq!(bench.output(&process).await, "up\ntidy\n");
    assert_eq!(bench.runtime.look(&process).await, ProcessLife::Gone { code: Some(7) });
}

#[tokio::test]
async fn a_start_that_comes_after_the_end_starts_nothing() {
    let mut bench = Bench::new();
    for _ in 0..2 {
        bench.runtime.end(&bench.end_order()).await.unwrap();
        assert!(matches!(
            bench.runtime.start(&bench.spec("touch started")).await,
            Err(RuntimeError::Failed(_))
        ));
        bench.restart();
    }
    assert!(!bench.path().join("started").exists());
    assert_eq!(bench.runtime.census().await.unwrap(), []);
}

#[tokio::test]
async fn another_attempt_is_not_touched() {
    let bench = Bench::new();
    let mut spec = bench.spec("echo $$; sleep 600");
    spec.attempt = Attempt(2);
    let process = bench.runtime.start(&spec).await.unwrap();
    let pid = bench.until(&process, |output| output.ends_with('\n')).await;
    bench.start("sleep 600").await;
    bench.runtime.end(&bench.end_order()).await.unwrap();
    assert!(lives(&pid));
    bench.runtime.end(&EndOrder { attempt: Attempt(2), ..bench.end_order() }).await.unwrap();
    assert!(!lives(&pid));
}
