//! A daemon in a process of its own, killed in the middle: this test binary once more, playing that role.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use ao_core::session::DeliveryStage;

use crate::fleet::{Fleet, Plan};

/// Starts a daemon over a prepared fleet, waits until it has come so far, and kills it.
pub(crate) fn daemon(fleet: &Fleet, so_far: &str) {
    let mut daemon = Command::new(std::env::current_exe().unwrap())
        .args(["killed::plays_the_daemon", "--exact", "--nocapture"])
        .env("FLEET", fleet.path(""))
        .env("FLEET_RUNTIME", fleet.plan.runtime)
        .env("FLEET_SCRIPT", &fleet.plan.script)
        .env("FLEET_SO_FAR", so_far)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(daemon.stdout.take().unwrap()).lines();
    let came = lines.map_while(Result::ok).any(|line| line.ends_with("so far"));
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    assert!(came, "the daemon never came so far: {so_far}");
}

#[tokio::test]
async fn plays_the_daemon() {
    // Run as a test among others there is nothing to play.
    let Ok(dir) = std::env::var("FLEET") else { return };
    let set = |name| std::env::var(name).unwrap();
    let runtime = if set("FLEET_RUNTIME") == "tmux" { "tmux" } else { "process" };
    let plan = Plan::on(runtime).script(&set("FLEET_SCRIPT"));
    let mut fleet = Fleet::of_another(plan, PathBuf::from(dir));
    fleet.open().await;
    fleet.configure().await;
    match set("FLEET_SO_FAR").as_str() {
        "three idle" => {
            for n in 0..3 {
                fleet.idle(&format!("fix-{n}")).await;
            }
        }
        _ => {
            let session = fleet.spawn("fix", "get ready").await;
            fleet
                .until_session(session, "it is written", |session| {
                    let current = session.outbox.current.as_ref();
                    current.is_some_and(|delivery| matches!(delivery.stage, DeliveryStage::Written { .. }))
                })
                .await;
        }
    }
    let mut out = std::io::stdout();
    writeln!(out, "so far").and_then(|()| out.flush()).unwrap();
    std::future::pending::<()>().await;
}
