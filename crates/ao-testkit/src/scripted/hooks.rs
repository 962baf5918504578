//! Running hooks as agents do: in order, with the event as JSON on stdin, and without waiting for them to draw.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// How long an exit waits for hooks that are still to be run.
const LAST_HOOKS: Duration = Duration::from_secs(5);

/// The hooks of one agent.
#[derive(Debug)]
pub(super) struct Hooks {
    command: Option<String>,
    queue: Sender<Job>,
}

enum Job {
    Run(Value),
    /// Everything before this has been run.
    Flush(Sender<()>),
}

impl Hooks {
    pub(super) fn new(command: Option<String>) -> Hooks {
        let (queue, jobs) = channel();
        if let Some(command) = command.clone() {
            thread::spawn(move || work(&command, &jobs));
        }
        Hooks { command, queue }
    }

    pub(super) fn run(&self, payload: Value, delay: Option<Duration>) {
        let Some(command) = self.command.clone() else { return };
        match delay {
            None => {
                let _ = self.queue.send(Job::Run(payload));
            }
            // Others overtake it, which is the point of a late one.
            Some(delay) => {
                thread::spawn(move || {
                    thread::sleep(delay);
                    run(&command, &payload);
                });
            }
        }
    }

    /// Waits until all that were not delayed have been run, so that a crash does not lose them by chance.
    pub(super) fn flush(&self) {
        if self.command.is_some() {
            let (done, wait) = channel();
            let _ = self.queue.send(Job::Flush(done));
            let _ = wait.recv_timeout(LAST_HOOKS);
        }
    }
}

fn work(command: &str, jobs: &Receiver<Job>) {
    for job in jobs {
        match job {
            Job::Run(payload) => run(command, &payload),
            Job::Flush(done) => {
                let _ = done.send(());
            }
        }
    }
}

/// A hook that fails is no reason to fail.
fn run(command: &str, payload: &Value) {
    let child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Ok(mut child) = child {
        if let Some(mut stdin) = child.stdin.take() {
            let _ = stdin.write_all(payload.to_string().as_bytes());
        }
        let _ = child.wait();
    }
}
