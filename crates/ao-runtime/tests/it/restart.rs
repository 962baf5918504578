//! A daemon that is restarted finds what the one before it started.

use std::fs;

use ao_core::input::ProcessLife;
use ao_ports::{Runtime, WriteOrder};

use crate::support::{ATTEMPT, Bench, gone, lives};

#[tokio::test]
async fn a_running_process_is_found_again_and_still_hears_and_is_heard() {
    let mut bench = Bench::new();
    let process = bench.start("echo up; while read line; do echo heard $line; done").await;
    bench.until(&process, |output| output == "up\n").await;
    bench.restart();
    let census = bench.runtime.census().await.unwrap();
    let [entry] = &census[..] else { panic!("{census:?}") };
    assert_eq!((&entry.process, entry.life), (&process, ProcessLife::Alive { busy: false }));
    assert_eq!((entry.session, entry.attempt), (bench.session, ATTEMPT));
    assert_eq!(bench.start("echo another").await, process);
    let order = WriteOrder { process: process.clone(), number: 1, bytes: b"you\n".to_vec() };
    bench.runtime.write(&order).await.unwrap();
    assert_eq!(bench.until(&process, |output| output.contains("you")).await, "up\nheard you\n");

    let pid = record(&bench)["pid"].to_string();
    bench.runtime.end(&bench.end_order()).await.unwrap();
    assert!(!lives(&pid));
    assert_eq!(bench.exit().await, None, "its end is reported, though it was started by another");
}

#[tokio::test]
async fn the_code_is_kept_for_a_daemon_that_was_not_the_one_to_start_it() {
    let mut bench = Bench::new();
    let process = bench.start("read line; exit 3").await;
    bench.restart();
    let order = WriteOrder { process: process.clone(), number: 1, bytes: b"go\n".to_vec() };
    bench.runtime.write(&order).await.unwrap();
    assert_eq!(bench.exit().await, Some(3));
    assert_eq!(bench.runtime.look(&process).await, ProcessLife::Gone { code: Some(3) });
}

#[tokio::test]
async fn a_reused_pid_is_not_ours() {
    let mut bench = Bench::new();
    let process = bench.start("exit 0").await;
    bench.exit().await;
    // While there is a shim, it counts as being about to write the exit down that is taken away here.
    gone(&bench.json("holder")["pid"].to_string()).await;
    // A living process with the pid, first of another start and then of another boot. Start times count hundredths of a
    // second, so this process may well have begun in the same one as the process that is gone.
    let me = std::process::id();
    for (start, boot) in [(1, None), (own_start(), Some("another"))] {
        let mut record = record(&bench);
        record["pid"] = me.into();
        record["start"] = start.into();
        if let Some(boot) = boot {
            record["boot"] = boot.into();
        }
        fs::write(bench.place().join("record"), record.to_string()).unwrap();
        fs::remove_file(bench.place().join("exit")).unwrap();
        bench.restart();
        assert_eq!(bench.exit().await, None, "it is reported as an end that nobody has seen");
        assert_eq!(bench.runtime.look(&process).await, ProcessLife::Gone { code: None });
    }
    bench.runtime.end(&bench.end_order()).await.unwrap();
}

/// The daemon dies after the process was started and before that was written down.
#[tokio::test]
async fn a_start_that_was_cut_off_is_not_made_twice() {
    let mut bench = Bench::new();
    let process = bench.start("echo up; sleep 600").await;
    bench.until(&process, |output| output == "up\n").await;
    let before = record(&bench);
    let folder = bench.path().join("state").join(bench.session.to_string()).join("1");
    fs::remove_file(folder.join("record")).unwrap();
    bench.restart();
    let census = bench.runtime.census().await.unwrap();
    assert_eq!(census[0].life, ProcessLife::Unknown, "neither alive nor dead");
    assert_eq!(bench.start("echo up; sleep 600").await, process);
    assert_eq!(record(&bench), before);
    assert_eq!(bench.output(&process).await, "up\n");
    bench.runtime.end(&bench.end_order()).await.unwrap();
}

fn record(bench: &Bench) -> serde_json::Value {
    let path = bench.path().join("state").join(bench.session.to_string()).join("1/record");
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// When this process was started, by the kernel's count.
fn own_start() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().parse().unwrap()
}
