//! The daemon in the background: finds the running one, starts one, or replaces one of another build.
//!
//! ```text
//!  ao start ──► socket answers? ──yes──► of this build? ──yes──► join it
//!                   │ no                      │ no
//!                   ▼                         ▼
//!              lock ─► ask again, until ─► ao daemon ◄── stop the old one; agents go on
//!                      the data directory
//!                      is free
//!                                                 (a service is restarted by its manager instead)
//!                                      │
//!                                      └── one line on its stdout: ready, or what went wrong
//! ```

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ao_api::client::{Client, ClientError};
use ao_api::{Daemon, Stopping};
use ao_store::{DirLock, LockHolder};
use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use crate::cli::context::{Context, outside_of_agents};
use crate::error::{CommandError, FailureKind};
use crate::service::{ALLOCATOR_SETTINGS, manager};

/// Time for an old daemon to exit before a new one takes its place.
const GOES: Duration = Duration::from_secs(20);

/// Time for a daemon that holds the data directory to answer, or to release it.
const SETTLES: Duration = Duration::from_secs(10);

/// Time for other processes to start a daemon, one after the other.
const OTHERS: Duration = Duration::from_secs(120);

/// Time for a daemon to be ready. It finds its agents again by then, and reads a long log from a snapshot.
const SPEAKS: Duration = Duration::from_secs(60);

/// A running daemon.
#[derive(Debug)]
pub(crate) struct RunningDaemon {
    pub(crate) client: Client,
    pub(crate) daemon: Daemon,
    pub(crate) how: DaemonOrigin,
}

/// The way in which the daemon came to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DaemonOrigin {
    Ran,
    Started,
    /// A daemon of another build ran, and was replaced.
    Replaced,
}

/// The first line that a new daemon prints: ready, or the error.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StartReport {
    Ready,
    Failed { code: u8, text: String, hints: Vec<String> },
}

/// Joins the running daemon, or starts one. Concurrent callers end up with the same daemon.
///
/// The first daemon reads its address from the configuration that it is started for.
pub(crate) async fn ensure(
    cx: &Context,
    mut port: Option<u16>,
    config: Option<Utf8PathBuf>,
) -> Result<RunningDaemon, CommandError> {
    let data_dir = cx.data_dir()?;
    let client = cx.client()?;
    // Errors of this first look are handled below, with more patience.
    if let Ok(Some(daemon)) = running(&client).await
        && daemon.build == build()
    {
        return Ok(RunningDaemon { client, daemon, how: DaemonOrigin::Ran });
    }
    outside_of_agents("no daemon is started or replaced")?;
    make_data_dir(&data_dir)?;
    let turn = turn(&data_dir).await?;
    // Another process may have started it while we waited for the lock.
    let how = match settled(&client, &data_dir).await? {
        Some(daemon) if daemon.build == build() => {
            return Ok(RunningDaemon { client, daemon, how: DaemonOrigin::Ran });
        }
        Some(daemon) if manager::is_service(daemon.pid).await => {
            manager::restart().await?;
            let daemon = after(&client, daemon.pid).await?;
            return Ok(RunningDaemon { client, daemon, how: DaemonOrigin::Replaced });
        }
        Some(daemon) => {
            // Keep the port, so that open pages and known addresses still work.
            port = port.or_else(|| port_of(&daemon));
            let stopping = stop(&client).await?;
            still_there(stopping.pid)?;
            DaemonOrigin::Replaced
        }
        None => DaemonOrigin::Started,
    };
    let word = tokio::task::spawn_blocking({
        let data_dir = data_dir.clone();
        move || start(&data_dir, port, config.as_deref())
    });
    word.await.map_err(|err| CommandError::new(FailureKind::Bug, err))??;
    drop(turn);
    let daemon = client.daemon().await?;
    Ok(RunningDaemon { client, daemon, how })
}

/// Waits for the daemon that a service manager starts in place of another one.
async fn after(client: &Client, before: u32) -> Result<Daemon, CommandError> {
    let until = Instant::now() + GOES;
    let daemon = loop {
        // It may not listen yet, and a call to the old one may break off.
        match running(client).await {
            Ok(Some(daemon)) if daemon.pid != before => break daemon,
            Err(err) if Instant::now() >= until => return Err(err.into()),
            Ok(_) if Instant::now() >= until => {
                let what =
                    format!("the service was restarted, but no daemon answers after {} s", GOES.as_secs());
                return Err(CommandError::new(FailureKind::TimedOut, what)
                    .hint("`ao service status` and `journalctl --user -u ao` show more"));
            }
            _ => sleep(Duration::from_millis(50)).await,
        }
    };
    if daemon.build == build() {
        return Ok(daemon);
    }
    Err(CommandError::new(FailureKind::OtherVersion, "the daemon is a service that runs another build of ao")
        .hint("`ao service install` switches it to this build; `ao service uninstall` removes it"))
}

/// Returns the port that a daemon listens on.
fn port_of(daemon: &Daemon) -> Option<u16> {
    daemon.url.as_ref()?.rsplit_once(':')?.1.trim_end_matches('/').parse().ok()
}

/// Returns the running daemon, if one answers.
pub(crate) async fn running(client: &Client) -> Result<Option<Daemon>, ClientError> {
    match client.daemon().await {
        Ok(daemon) => Ok(Some(daemon)),
        Err(err) if err.is_absence() => Ok(None),
        Err(err) => Err(err),
    }
}

/// Returns the running daemon, or nothing once the data directory is free. A daemon that is starting, stopping or
/// just killed, or whose socket was deleted, holds the directory for a moment without answering.
async fn settled(client: &Client, data_dir: &Utf8Path) -> Result<Option<Daemon>, CommandError> {
    let until = Instant::now() + SETTLES;
    loop {
        let late = Instant::now() >= until;
        match (running(client).await, DirLock::holder(data_dir)) {
            (Ok(Some(daemon)), _) => return Ok(Some(daemon)),
            (Ok(None), None) => return Ok(None),
            (Ok(None), Some(holder)) if late => return Err(unanswered(holder, data_dir)),
            (Err(err @ ClientError::Broken(_)), _) if late => return Err(err.into()),
            (Ok(None) | Err(ClientError::Broken(_)), _) => sleep(Duration::from_millis(20)).await,
            (Err(err), _) => return Err(err.into()),
        }
    }
}

/// Reports the process that holds a data directory without listening at its socket.
fn unanswered(holder: LockHolder, data_dir: &Utf8Path) -> CommandError {
    let (who, end) = match holder.pid {
        Some(pid) => (format!("a daemon (pid {pid})"), format!("`kill {pid}`")),
        None => ("another process".to_owned(), "that process".to_owned()),
    };
    let waited = SETTLES.as_secs();
    CommandError::new(
        FailureKind::TimedOut,
        format!("{who} holds `{data_dir}` but has not listened at its socket for {waited} s"),
    )
    .hint(format!("its log is `{}`", log_file(data_dir)))
    .hint(format!("end {end} and run `ao start` again; agents keep running meanwhile"))
}

/// Stops the daemon and waits for its exit. Its agents keep running. Returns its response.
pub(crate) async fn stop(client: &Client) -> Result<Stopping, ClientError> {
    let stopping = client.stop_daemon().await?;
    let until = Instant::now() + GOES;
    // The log is closed last, and a new daemon can open it only then.
    while is_alive(stopping.pid) && Instant::now() < until {
        sleep(Duration::from_millis(10)).await;
    }
    Ok(stopping)
}

/// Fails if a daemon has not exited after a request to stop.
pub(crate) fn still_there(pid: u32) -> Result<(), CommandError> {
    if !is_alive(pid) {
        return Ok(());
    }
    let what = format!("the daemon (pid {pid}) has not stopped after {} s", GOES.as_secs());
    Err(CommandError::new(FailureKind::TimedOut, what)
        .hint(format!("look at its log, or end it with `kill {pid}`; agents keep running")))
}

/// Returns true for a process that exists and is no zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    let process = rustix::process::Pid::from_raw(pid as i32);
    let known = process.is_some_and(|process| rustix::process::test_kill_process(process).is_ok());
    known && !matches!(state_of(pid), Some('Z' | 'X'))
}

/// Returns the state of a process as the kernel abbreviates it, such as `T` for a suspended one.
pub(crate) fn state_of(pid: u32) -> Option<char> {
    // The state follows the name, which may contain anything but ends with the last parenthesis.
    let told = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    told.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
}

/// Returns the build of this program, by its file: a version alone does not distinguish two builds.
pub(crate) fn build() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let file = std::env::current_exe().and_then(fs::metadata);
    match file {
        Ok(file) => format!("{version}-{:x}-{:x}-{:x}", file.ino(), file.mtime(), file.size()),
        Err(_) => version.to_owned(),
    }
}

pub(crate) fn make_data_dir(data_dir: &Utf8Path) -> Result<(), CommandError> {
    DirBuilder::new().recursive(true).mode(0o700).create(data_dir.join("logs")).map_err(|err| {
        CommandError::environment(format!("the folder `{data_dir}` cannot be created: {err}"))
            .hint("choose another one with `--data-dir` or AO_DATA_DIR")
    })
}

/// Waits until no other process is starting a daemon.
async fn turn(data_dir: &Utf8Path) -> Result<File, CommandError> {
    let path = data_dir.join("start.lock");
    let failed = |err| CommandError::environment(format!("cannot lock `{data_dir}`: {err}"));
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
    let file = file.map_err(failed)?;
    let until = Instant::now() + OTHERS;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < until => sleep(Duration::from_millis(20)).await,
            Err(TryLockError::WouldBlock) => {
                let what = format!("another `ao start` has been running for {} s", OTHERS.as_secs());
                return Err(CommandError::new(FailureKind::TimedOut, what)
                    .hint(format!("`fuser {path}` shows its process; end it and try again")));
            }
            Err(TryLockError::Error(err)) => return Err(failed(err)),
        }
    }
}

/// Starts a daemon that outlives this process, and waits for its first line.
fn start(data_dir: &Utf8Path, port: Option<u16>, config: Option<&Utf8Path>) -> Result<(), CommandError> {
    let program = std::env::current_exe().map_err(CommandError::environment)?;
    let log = log_file(data_dir);
    let last_words = OpenOptions::new().create(true).append(true).mode(0o600).open(&log);
    let last_words =
        last_words.map_err(|err| CommandError::environment(format!("`{log}` cannot be written: {err}")))?;
    let mut command = Command::new(&program);
    command.arg("daemon").arg("--data-dir").arg(data_dir).arg("--background");
    if let Some(port) = port {
        command.arg("--port").arg(port.to_string());
    }
    if let Some(config) = config {
        command.arg("--config").arg(config);
    }
    // A folder of its own: a daemon must not keep a disk from being unmounted. A group of its own keeps Ctrl-C from
    // it.
    command.current_dir("/").env_remove("AO_CONFIG").process_group(0);
    // Agents' processes are found and ended by these variables. A daemon is never one of them.
    for name in ["AO_SESSION", "AO_ATTEMPT", "AO_TOKEN", "AO_SPOOL", "AO_JOB"] {
        command.env_remove(name);
    }
    command.envs(ALLOCATOR_SETTINGS);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(last_words);
    // The daemon and its agents must not inherit the files that our shell has open.
    ao_process::descriptors::keep_from_children().map_err(CommandError::environment)?;
    let mut child = command.spawn().map_err(|err| {
        CommandError::environment(format!("`{}` cannot be started: {err}", program.display()))
    })?;
    let word = first_word(&mut child, SPEAKS).map_err(|err| err.hint(format!("its log is `{log}`")))?;
    match word {
        Some(StartReport::Ready) => Ok(()),
        Some(StartReport::Failed { code, text, hints }) => {
            // The process is reaped before its failure is reported.
            let _ = child.wait();
            let error = CommandError::new(FailureKind::of_exit_code(code), text);
            Err(hints.into_iter().fold(error, CommandError::hint))
        }
        None => {
            let status = child.wait().map(|status| status.to_string()).unwrap_or_default();
            Err(CommandError::environment(format!("the daemon exited at once: {status}"))
                .hint(format!("its log is `{log}`")))
        }
    }
}

/// Returns its first line; nothing if it has exited without one. Kills it if it prints nothing in time.
fn first_word(child: &mut Child, limit: Duration) -> Result<Option<StartReport>, CommandError> {
    let Some(stdout) = child.stdout.take() else { return Ok(None) };
    let (sender, heard) = mpsc::channel();
    // Reading cannot be cancelled, so it has a thread of its own, which ends with the pipe or with us.
    thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(stdout).read_line(&mut line);
        let _ = sender.send(read.map(|_| line));
    });
    match heard.recv_timeout(limit) {
        Ok(line) => Ok(serde_json::from_str(&line.map_err(CommandError::environment)?).ok()),
        Err(_) => {
            let _ = child.kill();
            let _ = child.wait();
            let what = format!("the daemon was not ready after {} s and was stopped", limit.as_secs());
            Err(CommandError::new(FailureKind::TimedOut, what))
        }
    }
}

/// Returns the path of the daemon's log.
pub(crate) fn log_file(data_dir: &Utf8Path) -> Utf8PathBuf {
    data_dir.join("logs/daemon.log")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn child(script: &str) -> Child {
        Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn a_daemon_that_says_nothing_is_ended_in_time() {
        let mut silent = child("exec sleep 600");
        let err = first_word(&mut silent, Duration::from_millis(50)).unwrap_err();
        assert_eq!(err.kind(), FailureKind::TimedOut);
        assert!(!is_alive(silent.id()), "nothing of it is left");
    }

    #[test]
    fn a_first_word_is_heard_and_so_is_an_end_without_one() {
        let limit = Duration::from_secs(60);
        let mut ready = child("echo '\"ready\"'");
        assert!(matches!(first_word(&mut ready, limit), Ok(Some(StartReport::Ready))));
        let mut gone = child("exit 3");
        assert!(matches!(first_word(&mut gone, limit), Ok(None)));
        for mut child in [ready, gone] {
            child.wait().unwrap();
        }
    }
}
