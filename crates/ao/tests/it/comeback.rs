//! A daemon that was killed, doubled, suspended or cut off from its socket, and what the commands say of it.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::house::{House, Ran, until};

/// A port that no outgoing connection of anybody's is given: those are above.
fn quiet_port() -> u16 {
    let first = 20_000 + (std::process::id() % 10_000) as u16;
    (first..32_000).find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

#[test]
fn a_start_right_after_a_kill_succeeds_every_time_on_the_same_port() {
    let house = House::with(&format!("port: {}\n", quiet_port()));
    house.ao(&["start"]).succeeds();
    let url = house.daemon()["url"].clone();
    for _ in 0..15 {
        signal(house.daemon_pid(), Signal::KILL);
        house.ao(&["start"]).succeeds().says("The daemon has started");
        assert_eq!(house.daemon()["url"], url);
    }
}

#[test]
fn of_two_daemons_at_once_one_stays_and_the_other_names_it() {
    let house = House::with(&format!("port: {}\n", quiet_port()));
    for _ in 0..15 {
        let daemon = || {
            let config = house.config_file();
            let args = ["daemon", "--config", config.to_str().unwrap()];
            let mut command = house.command(&house.repository(), &args);
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let mut both: Vec<Child> = vec![daemon(), daemon()];
        until("one of the two has given up", || {
            both.iter_mut().any(|daemon| daemon.try_wait().unwrap().is_some())
        });
        let loser = both.iter_mut().position(|daemon| daemon.try_wait().unwrap().is_some()).unwrap();
        let loser = both.remove(loser);
        let mut winner = both.remove(0);
        until("the other one answers", || house.ao(&["status"]).code == 0);
        assert_eq!(house.daemon_pid(), winner.id() as i32);
        let told = Ran::of(loser.wait_with_output().unwrap());
        told.exits(1).says(&format!("pid {}", winner.id())).says("ao status");
        signal(winner.id() as i32, Signal::TERM);
        assert!(winner.wait().unwrap().success());
    }
}

#[test]
fn a_start_joins_the_daemon_whose_socket_was_deleted() {
    let house = House::with(&format!("port: {}\n", quiet_port()));
    house.ao(&["start"]).succeeds();
    let (pid, socket) = (house.daemon_pid(), house.path("data").join("ao.sock"));
    fs::remove_file(&socket).unwrap();
    house.ao(&["start"]).succeeds().says(&format!("The daemon runs (pid {pid})"));
    house.ao(&["status"]).succeeds();
}

#[test]
fn a_daemon_whose_data_directory_is_gone_makes_room_for_another_one() {
    let house = House::with(&format!("port: {}\n", quiet_port()));
    house.ao(&["start"]).succeeds();
    let pid = house.daemon_pid();
    fs::rename(house.path("data"), house.path("elsewhere")).unwrap();
    house.ao(&["start"]).succeeds().says("The daemon has started");
    assert_ne!(house.daemon_pid(), pid);
}

#[test]
fn every_command_says_in_time_that_the_daemon_is_suspended() {
    let house = House::new();
    house.start();
    let session = house.session("one", "get ready");
    let pid = house.daemon_pid();
    signal(pid, Signal::STOP);
    let commands: &[&[&str]] = &[
        &["status"],
        &["start"],
        &["stop"],
        &["stop", "--all"],
        &["list"],
        &["wait", &session, "--for", "idle"],
        &["events", "--follow"],
        &["doctor"],
    ];
    thread::scope(|scope| {
        let told: Vec<_> = commands
            .iter()
            .map(|args| {
                let house = &house;
                (args, scope.spawn(move || (Instant::now(), house.ao(args), Instant::now())))
            })
            .collect();
        for (args, told) in told {
            let (began, told, ended) = told.join().unwrap();
            // Far more than the ten seconds that it takes, and far less than for ever.
            assert!(ended - began < Duration::from_secs(60), "{args:?} took too long");
            let said = format!("{}{}", told.out, told.err);
            assert_ne!(told.code, 0, "{args:?}: {said}");
            for word in [&format!("pid {pid}"), "is suspended", &format!("kill -CONT {pid}")] {
                assert!(said.contains(word), "{args:?} does not say `{word}`: {said}");
            }
        }
    });
    signal(pid, Signal::CONT);
    // What was told to have failed does not happen afterwards.
    house.ao(&["status"]).succeeds();
    assert_eq!(house.daemon_pid(), pid);
    assert_ne!(house.state(&session), "stopped");
}
