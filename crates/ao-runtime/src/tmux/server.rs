//! The tmux server: private, with our own configuration, and identified by its process.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use ao_core::text::single_quoted;
use ao_ports::RuntimeError;
use rustix::process::{Pid, Signal, pidfd_send_signal};
use tokio::process::Command;

use super::names::{KEEPER, OF_A_PERSON};
use super::runtime::Options;
use crate::host::ProcessRecord;
use crate::host::files::{self, failed, no_procfs};
use crate::lineage::Families;

/// The oldest tmux with everything used here: client flags, pane options, subscriptions.
const OLDEST: (u32, u32) = (3, 2);
/// Longest socket path that the kernel accepts.
const LONGEST: usize = 107;

/// The location of the server, and the commands to reach it.
#[derive(Debug, Clone)]
pub(super) struct TmuxServer {
    program: String,
    pub(super) socket: PathBuf,
    config: PathBuf,
    record: PathBuf,
    helper: Vec<String>,
    families: Arc<Families>,
}

/// The state of the server's process, by the record of the last contact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ServerState {
    /// There never was one, or its process has certainly ended.
    Gone,
    Lives(ProcessRecord),
    /// The socket is missing, but its process is alive.
    Hidden(ProcessRecord),
}

impl TmuxServer {
    pub(super) fn of(options: &Options) -> TmuxServer {
        TmuxServer {
            program: options.program.clone(),
            socket: options.state_dir.join("socket"),
            config: options.state_dir.join("tmux.conf"),
            record: options.state_dir.join("server"),
            helper: options.helper.clone(),
            families: options.families.clone(),
        }
    }

    /// Returns the command of a person's own client that shows one session.
    pub(super) fn attach(&self, session: &str) -> Vec<String> {
        let (socket, config) = (self.socket.display().to_string(), self.config.display().to_string());
        let target = format!("={session}");
        [&self.program, "-S", &socket, "-f", &config, "attach-session", "-t", &target]
            .map(str::to_owned)
            .to_vec()
    }

    /// Prepares the files that a new server needs.
    pub(super) async fn prepare(&self) -> Result<(), RuntimeError> {
        if self.socket.as_os_str().len() > LONGEST {
            let path = self.socket.display();
            return Err(RuntimeError::Failed(format!(
                "the path of the tmux socket `{path}` is too long for the system; choose a state folder with a shorter one"
            )));
        }
        self.check_version().await?;
        files::make_private(self.socket.parent().unwrap_or(Path::new("/")))?;
        // A server that starts just now may be reading it.
        files::replace(&self.config, config(&self.helper).as_bytes())
            .map_err(|err| failed("write", &self.config, &err))
    }

    async fn check_version(&self) -> Result<(), RuntimeError> {
        let output = self.client().arg("-V").stdin(Stdio::null()).output().await;
        let output = output.map_err(|err| match err.kind() {
            ErrorKind::NotFound => RuntimeError::NoProgram { program: self.program.clone() },
            _ => RuntimeError::Failed(format!("`{} -V` could not be run: {err}", self.program)),
        })?;
        let text = String::from_utf8_lossy(&output.stdout);
        match version(&text) {
            Some(version) if version < OLDEST => Err(RuntimeError::Failed(format!(
                "`{}` is {}, and {}.{} or newer is needed; install a newer one, or choose the runtime `process`",
                self.program,
                text.trim(),
                OLDEST.0,
                OLDEST.1
            ))),
            // A version without a number is built from the newest source.
            _ => Ok(()),
        }
    }

    /// Returns the command of the control client. It starts a server if it may and there is none.
    pub(super) fn control(&self, starts: bool) -> Command {
        let mut command = self.client();
        if !starts {
            // A server that has just gone is not replaced without a request.
            command.arg("-N");
        }
        command
            .arg("-u")
            .arg("-S")
            .arg(&self.socket)
            .arg("-f")
            .arg(&self.config)
            // It has no size, and does not set `ignore-size`. So clients that do set it are ignored in its favour: tmux
            // respects them again if there is no other client, and then a read-only viewer would resize a terminal.
            .args(["-C", "new-session", "-A", "-s", KEEPER, "-f", "no-output", "--", "true"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Signals that a terminal sends to the daemon's group are not meant for the server. Nor is the client
            // killed on drop: it exits when its stdin is closed, and one that goes before tmux knows it would take the
            // server along.
            .process_group(0);
        command
    }

    /// Returns a client with only the variables that tmux needs: every pane can see the environment of the server.
    fn client(&self) -> Command {
        let mut command = Command::new(&self.program);
        let needed = ["PATH", "HOME", "USER", "TMPDIR"];
        command
            .env_clear()
            .envs(needed.iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
            .env("SHELL", "/bin/sh")
            .env("LC_ALL", "C.UTF-8");
        command
    }

    /// Returns the pids of the control clients in our own session, using an ordinary client.
    pub(super) async fn control_clients(&self) -> Result<Vec<i32>, String> {
        let target = format!("={KEEPER}");
        let format = "#{client_control_mode} #{client_pid}";
        let output = self
            .client()
            .arg("-S")
            .arg(&self.socket)
            .args(["list-clients", "-t", &target, "-F", format])
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .map_err(|err| err.to_string())?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        // Without that session there are no clients in it.
        if !output.status.success() && !stderr.contains("can't find session") {
            return Err(stderr.trim().to_owned());
        }
        let clients = String::from_utf8_lossy(&output.stdout);
        Ok(clients.lines().filter_map(|line| line.strip_prefix("1 ")?.parse().ok()).collect())
    }

    pub(super) fn keep(&self, pid: i32) -> Result<ProcessRecord, RuntimeError> {
        let record = ProcessRecord::of(pid, "tmux", &self.program).map_err(|err| no_procfs(&err))?;
        self.families.add_tmux_server(&record);
        files::write(&self.record, &record).map_err(|err| failed("write", &self.record, &err))?;
        Ok(record)
    }

    pub(super) fn standing(&self) -> Result<ServerState, RuntimeError> {
        let record: Option<ProcessRecord> =
            files::read(&self.record).map_err(|err| failed("read", &self.record, &err))?;
        let Some(record) = record else { return Ok(ServerState::Gone) };
        if !record.lives()? {
            return Ok(ServerState::Gone);
        }
        // A path that is not a socket counts as missing.
        let is_socket = fs::symlink_metadata(&self.socket)
            .is_ok_and(|found| std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()));
        Ok(if is_socket { ServerState::Lives(record) } else { ServerState::Hidden(record) })
    }
}

/// Sends a signal to a server, if it is still the same process.
pub(super) fn signal(record: &ProcessRecord, signal: Signal) {
    if Pid::from_raw(record.pid).is_some()
        && let Some(pidfd) = record.pidfd()
        && let Err(err) = pidfd_send_signal(&pidfd, signal)
    {
        tracing::debug!(%err, pid = record.pid, "the tmux server was not reached by a signal");
    }
}

/// Sets every option that a person's own configuration could set; that one is never read.
fn config(helper: &[String]) -> String {
    let helper: Vec<String> = helper.iter().map(|word| single_quoted(word)).collect();
    let helper = single_quoted(&helper.join(" "));
    format!(
        "# Written by ao; changes are lost.
set -s exit-empty off
set -s exit-unattached off
set -s escape-time 10
set -s set-clipboard off
set -s default-terminal screen-256color
set -g default-shell /bin/sh
set -g default-command ''
set -g update-environment ''
set -g destroy-unattached off
set -g status off
set -g base-index 0
set -g pane-base-index 0
set -g history-limit 10000
set -g window-size latest
set -g allow-rename off
set -g automatic-rename off
set -g remain-on-exit on
set -gq remain-on-exit-format ''
set -g @ao_helper {helper}
# The end of an agent is told. What a person has opened besides goes when it ends.
set-hook -g pane-died 'if -F \"#{{@ao_place}}\" {{ run-shell -b \"exec #{{@ao_helper}} died #{{q:@ao_place}} \\\"#{{pane_dead_status}}\\\"\" }} {{ if -F \"{OF_A_PERSON}\" {{ kill-pane }} }}'
"
    )
}

/// Parses the version in `tmux 3.3a` or `tmux next-3.5`.
fn version(text: &str) -> Option<(u32, u32)> {
    let word = text.trim().strip_prefix("tmux ")?.trim_start_matches("next-");
    let (major, minor) = word.split_once('.')?;
    let digits: String = minor.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, digits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(version("tmux 3.3a\n"), Some((3, 3)));
        assert_eq!(version("tmux next-3.10"), Some((3, 10)));
        assert_eq!(version("tmux master"), None);
        assert!(version("tmux 2.9") < Some(OLDEST) && version("tmux 3.10") > Some(OLDEST));
    }
}
