//! Behaviour after a kill of the program, its shim, or both.

use ao_core::evidence::Reading;
use ao_core::input::ProcessLife;
use ao_ports::{ProcessIo, Runtime, WriteOrder, WriteOutcome};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{BOUND, Bench, deaf, gone, listen, lives};

fn kill(pid: &str, signal: Signal) {
    kill_process(Pid::from_raw(pid.trim().parse().unwrap()).unwrap(), signal).unwrap();
}

/// acceptance: S3
#[tokio::test]
async fn a_program_that_is_killed_is_reported_by_itself() {
    let mut bench = Bench::new();
    let mut spec = bench.spec("exec sleep 600");
    spec.command.io = ProcessIo::Terminal;
    let process = bench.runtime.start(&spec).await.unwrap();
    kill(&bench.json("record")["pid"].to_string(), Signal::KILL);
    assert_eq!(bench.exit().await, None);
    assert_eq!(bench.runtime.look(&process).await, ProcessLife::Gone { code: None });
    assert_eq!(bench.json("exit")["signal"], 9);
}

/// On a busy host a shim may be late to say how its program has ended.
#[tokio::test]
async fn a_look_waits_for_a_shim_that_is_late_to_say_what_became_of_its_program() {
    let bench = Bench::new();
    let process = bench.start("echo up; exec sleep 600").await;
    bench.until(&process, |output| output == "up\n").await;
    let (shim, program) = (bench.json("holder")["pid"].to_string(), bench.json("record")["pid"].to_string());
    kill(&shim, Signal::STOP);
    kill(&program, Signal::KILL);
    gone(&program).await;
    assert_eq!(bench.runtime.census().await.unwrap()[0].life, ProcessLife::Unknown, "neither alive nor dead");
    let (life, ()) = tokio::join!(bench.runtime.look(&process), async { kill(&shim, Signal::CONT) });
    assert_eq!(life, ProcessLife::Gone { code: None });
    assert_eq!(bench.json("exit")["signal"], 9);
    bench.runtime.end(&bench.end_order()).await.unwrap();
}

/// A daemon that has just begun may want an agent's output before it listens to those that were there before it.
#[tokio::test]
async fn a_wait_for_output_that_starts_before_the_link_is_notified() {
    let mut bench = Bench::new();
    let process = bench.start("echo up; read line; echo heard $line; read line; exit 4").await;
    bench.until(&process, |output| output == "up\n").await;
    bench.close();
    let runtime = deaf(bench.path());
    let waits = runtime.output(&process, 3, 100, 2 * BOUND);
    let listens = async {
        let reports = listen(&runtime);
        let order = WriteOrder { process: process.clone(), number: 1, bytes: b"you\n".to_vec() };
        assert_eq!(runtime.write(&order).await, Ok(WriteOutcome::Written));
        reports
    };
    // In this order: the first one waits before the second one listens.
    let both = async { tokio::join!(waits, listens) };
    let (heard, _reports) = tokio::time::timeout(BOUND, both).await.expect("it is told in time");
    assert_eq!(heard.unwrap().bytes, b"heard you\n");
    bench.restart();
    bench.runtime.end(&bench.end_order()).await.unwrap();
}

/// A daemon that has no descriptor left, for one, cannot reach a shim with which nothing is wrong.
#[tokio::test]
async fn a_shim_that_cannot_be_reached_for_a_while_is_heard_again() {
    let mut bench = Bench::new();
    let process = bench.start("echo up; read line; echo heard $line; read line; exit 4").await;
    bench.until(&process, |output| output == "up\n").await;
    let (socket, away) = (bench.place().join("socket"), bench.place().join("away"));
    bench.close();
    std::fs::rename(&socket, &away).unwrap();
    bench.restart();
    let waits = bench.runtime.output(&process, 3, 100, crate::support::BOUND);
    let comes_back = async {
        // A failed call cannot be observed from outside; a look, which waits for nothing, gives it the time.
        for _ in 0..3 {
            assert!(matches!(bench.runtime.look(&process).await, ProcessLife::Alive { .. }));
        }
        std::fs::rename(&away, &socket).unwrap();
        let order = WriteOrder { process: process.clone(), number: 1, bytes: b"you\n".to_vec() };
        bench.runtime.write(&order).await.unwrap();
    };
    let (piece, ()) = tokio::join!(waits, comes_back);
    assert_eq!(piece.unwrap().bytes, b"heard you\n", "who waits is woken");
    let order = WriteOrder { process, number: 2, bytes: b"\n".to_vec() };
    bench.runtime.write(&order).await.unwrap();
    assert_eq!(bench.exit().await, Some(4));
}

/// The next daemon reads on where the last one stopped, and a write that is repeated is not made again.
///
/// acceptance: L1, M6
#[tokio::test]
async fn the_next_daemon_goes_on_exactly_where_the_last_one_stopped() {
    let mut bench = Bench::new();
    let process = bench.start("while read line; do echo heard $line; done").await;
    let order = WriteOrder { process: process.clone(), number: 7, bytes: b"one\n".to_vec() };
    assert_eq!(bench.runtime.write(&order).await, Ok(WriteOutcome::Written));
    bench.until(&process, |output| output == "heard one\n").await;
    let pid = bench.json("record")["pid"].clone();
    bench.restart();
    assert_eq!(bench.runtime.write(&order).await, Ok(WriteOutcome::AlreadyWritten));
    let order = WriteOrder { number: 8, bytes: b"two\n".to_vec(), ..order };
    assert_eq!(bench.runtime.write(&order).await, Ok(WriteOutcome::Written));
    let piece = bench.runtime.output(&process, 10, 100, crate::support::BOUND).await.unwrap();
    assert_eq!((piece.from, piece.bytes.as_slice()), (10, b"heard two\n".as_slice()));
    assert_eq!(bench.json("record")["pid"], pid);
    bench.runtime.end(&bench.end_order()).await.unwrap();
}

#[tokio::test]
async fn the_code_is_kept_when_no_daemon_was_there() {
    let mut bench = Bench::new();
    let process = bench.start("read line; echo last; exit 5").await;
    let order = WriteOrder { process: process.clone(), number: 1, bytes: b"go\n".to_vec() };
    let holder = bench.json("holder")["pid"].to_string();
    bench.runtime.write(&order).await.unwrap();
    bench.close();
    gone(&holder).await;
    bench.restart();
    assert_eq!(bench.runtime.look(&process).await, ProcessLife::Gone { code: Some(5) });
    let piece = bench.runtime.output(&process, 0, 100, crate::support::BOUND).await.unwrap();
    assert_eq!((piece.bytes.as_slice(), piece.ended), (b"last\n".as_slice(), true));
}

#[tokio::test]
async fn a_closed_terminal_or_a_dropped_connection_is_not_its_end() {
    let bench = Bench::new();
    let process = bench.start("echo up; while read line; do echo heard $line; done").await;
    bench.until(&process, |output| output == "up\n").await;
    let holder = bench.json("holder")["pid"].to_string();
    for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM] {
        kill(&holder, signal);
    }
    let order = WriteOrder { process: process.clone(), number: 1, bytes: b"you\n".to_vec() };
    bench.runtime.write(&order).await.unwrap();
    bench.until(&process, |output| output.ends_with("heard you\n")).await;
    let stat = std::fs::read_to_string(format!("/proc/{holder}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    assert_eq!(fields[3], holder, "it leads a session of its own, without a terminal");
    bench.runtime.end(&bench.end_order()).await.unwrap();
}

/// The program lives on unheard, which is said, and it can still be ended.
#[tokio::test]
async fn a_program_without_its_shim_is_known_and_ended() {
    let mut bench = Bench::new();
    let process = bench.start("trap '' HUP PIPE; sh -c 'sleep 600' & echo $! up; sleep 600").await;
    let output = bench.until(&process, |output| output.ends_with("up\n")).await;
    let child = output.split_whitespace().next().unwrap().to_owned();
    let pid = bench.json("record")["pid"].to_string();
    kill(&bench.json("holder")["pid"].to_string(), Signal::KILL);
    gone(&bench.json("holder")["pid"].to_string()).await;
    for _ in 0..2 {
        assert_eq!(bench.runtime.look(&process).await, ProcessLife::Unheld);
        assert_eq!(bench.runtime.census().await.unwrap()[0].life, ProcessLife::Unheld);
        bench.reported(Reading::Unheld).await;
        assert_eq!(bench.start("echo another").await, process);
        let order = WriteOrder { process: process.clone(), number: 1, bytes: b"x".to_vec() };
        let told = bench.runtime.write(&order).await.unwrap_err().to_string();
        assert!(told.contains("has lost its shim"), "{told}");
        assert!(bench.output(&process).await.ends_with("up\n"), "what was kept is still there");
        bench.restart();
    }
    // The last one that was started says so too, and before it is asked to end anything.
    bench.reported(Reading::Unheld).await;
    bench.runtime.end(&bench.end_order()).await.unwrap();
    assert!(!lives(&pid) && !lives(&child));
    assert_eq!(bench.exit().await, None);
}

#[tokio::test]
async fn a_program_that_dies_after_its_shim_is_reported() {
    let mut bench = Bench::new();
    let process = bench.start("exec sleep 600").await;
    kill(&bench.json("holder")["pid"].to_string(), Signal::KILL);
    gone(&bench.json("holder")["pid"].to_string()).await;
    bench.reported(Reading::Unheld).await;
    kill(&bench.json("record")["pid"].to_string(), Signal::KILL);
    assert_eq!(bench.exit().await, None);
    assert_eq!(bench.runtime.look(&process).await, ProcessLife::Gone { code: None });
    bench.runtime.end(&bench.end_order()).await.unwrap();
}

/// A shim that is killed before it could write down what it had started.
#[tokio::test]
async fn leftovers_of_an_interrupted_start_are_ended_before_the_next_one() {
    let bench = Bench::new();
    bench.start("trap '' HUP PIPE; while :; do sleep 1; done").await;
    let pid = bench.json("record")["pid"].to_string();
    kill(&bench.json("holder")["pid"].to_string(), Signal::KILL);
    gone(&bench.json("holder")["pid"].to_string()).await;
    std::fs::remove_file(bench.place().join("record")).unwrap();
    // A daemon that knows nothing of it.
    let next = Bench::at(bench.path(), bench.session);
    next.start("exec sleep 600").await;
    assert!(!lives(&pid));
    assert_ne!(next.json("record")["pid"].to_string(), pid);
    next.runtime.end(&next.end_order()).await.unwrap();
}

#[tokio::test]
async fn a_hundred_come_and_go_and_leave_nothing() {
    let bench = Bench::new();
    let mut holders = Vec::new();
    let mut specs = Vec::new();
    for number in 0..100 {
        let mut spec = bench.spec("sleep 600 & exec sleep 600");
        spec.attempt = ao_core::Attempt(number + 1);
        spec.command.io = if number % 2 == 0 { ProcessIo::Terminal } else { ProcessIo::Pipes };
        specs.push(spec);
    }
    let started = specs.iter().map(|spec| bench.runtime.start(spec));
    for process in futures::future::join_all(started).await {
        process.unwrap();
    }
    assert_eq!(bench.runtime.census().await.unwrap().len(), 100);
    for spec in &specs {
        let path = bench.path().join(format!("state/{}/{}/holder", bench.session, spec.attempt));
        holders.push(std::fs::read_to_string(path).unwrap());
    }
    let orders = specs.iter().map(|spec| ao_ports::EndOrder {
        session: spec.session,
        attempt: spec.attempt,
        process: None,
    });
    let orders: Vec<_> = orders.collect();
    for ended in futures::future::join_all(orders.iter().map(|order| bench.runtime.end(order))).await {
        ended.unwrap();
    }
    for holder in holders {
        let holder: serde_json::Value = serde_json::from_str(&holder).unwrap();
        gone(&holder["pid"].to_string()).await;
    }
    let line = format!("AO_SESSION={}", bench.session);
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&environment).contains(&line), "{entry:?}");
    }
    assert_eq!(bench.runtime.census().await.unwrap(), []);
}
