//! Runs hooks as agents do: in order, with the event as JSON on stdin, without blocking the screen.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// Time that an exit waits for pending hooks.
const LAST_HOOKS: Duration = Duration::from_secs(5);

/// The hooks of one agent.
#[derive(Debug)]
pub(super) struct HookRunner {
    command: Option<String>,
    queue: Sender<HookJob>,
}

enum HookJob {
    Run(Value),
    /// Acknowledges that all earlier hooks have run.
    Flush(Sender<()>),
}

impl HookRunner {
    pub(super) fn new(command: Option<String>) -> HookRunner {
        let (queue, jobs) = channel();
        if let Some(command) = command.clone() {
            thread::spawn(move || work(&command, &jobs));
        }
        HookRunner { command, queue }
    }

    pub(super) fn run(&self, payload: Value, delay: Option<Duration>) {
        let Some(command) = self.command.clone() else { return };
        match delay {
            None => {
                let _ = self.queue.send(HookJob::Run(payload));
            }
            // Others overtake it, which is the purpose of a delay.
            Some(delay) => {
                thread::spawn(move || {
                    thread::sleep(delay);
                    run(&command, &payload);
                });
            }
        }
    }

    /// Waits until all hooks without a delay have run, so that a crash does not lose them by chance.
    pub(super) fn flush(&self) {
        if self.command.is_some() {
            let (done, wait) = channel();
            let _ = self.queue.send(HookJob::Flush(done));
            let _ = wait.recv_timeout(LAST_HOOKS);
        }
    }
}

fn work(command: &str, jobs: &Receiver<HookJob>) {
    for job in jobs {
        match job {
            HookJob::Run(payload) => run(command, &payload),
            HookJob::Flush(done) => {
                let _ = done.send(());
            }
        }
    }
}

/// Runs a hook. A failure is ignored.
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
