//! The tmux server: private, with a configuration of our own, and known again by its process.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use ao_ports::RuntimeError;
use rustix::process::{Pid, Signal, pidfd_send_signal};
use tokio::process::Command;

use super::names::{KEEPER, OF_A_PERSON, quoted};
use super::runtime::Options;
use crate::host::Record;
use crate::host::files::{self, failed, no_procfs};
use crate::lineage::Families;

/// The oldest tmux that has all that is used here: flags of clients, options of panes, subscriptions.
const OLDEST: (u32, u32) = (3, 2);
/// The kernel takes no longer name for a socket.
const LONGEST: usize = 107;

/// Where the server is, and how it is spoken to.
#[derive(Debug, Clone)]
pub(super) struct Server {
    program: String,
    pub(super) socket: PathBuf,
    config: PathBuf,
    record: PathBuf,
    helper: Vec<String>,
    families: Arc<Families>,
}

/// Whether the server's process lives, by what was written down when it was last spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Standing {
    /// There never was one, or its process has certainly ended.
    Gone,
    Lives(Record),
    /// The socket is not there, but the process that had it is.
    Hidden(Record),
}

impl Server {
    pub(super) fn of(options: &Options) -> Server {
        Server {
            program: options.program.clone(),
            socket: options.state_dir.join("socket"),
            config: options.state_dir.join("tmux.conf"),
            record: options.state_dir.join("server"),
            helper: options.helper.clone(),
            families: options.families.clone(),
        }
    }

    /// The command of a person's own client, with which one session is shown.
    pub(super) fn attach(&self, session: &str) -> Vec<String> {
        let (socket, config) = (self.socket.display().to_string(), self.config.display().to_string());
        let target = format!("={session}");
        [&self.program, "-S", &socket, "-f", &config, "attach-session", "-t", &target]
            .map(str::to_owned)
            .to_vec()
    }

    /// Makes ready what a server needs that is about to start.
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
            // One that has no number is built from the newest source.
            _ => Ok(()),
        }
    }

    /// The control client's command. It starts a server if it may and there is none.
    pub(super) fn control(&self, starts: bool) -> Command {
        let mut command = self.client();
        if !starts {
            // One that has just gone is not replaced by one that nobody asked for.
            command.arg("-N");
        }
        command
            .arg("-u")
            .arg("-S")
            .arg(&self.socket)
            .arg("-f")
            .arg(&self.config)
            // It has no size, and does not ask for its size to be ignored. So it is one whom those who do ask are ignored
            // for: tmux heeds them again where there is nobody else, and then who only looks would change a terminal.
            .args(["-C", "new-session", "-A", "-s", KEEPER, "-f", "no-output", "--", "true"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // What a terminal sends to the daemon's group is not meant for the server. Nor is the client killed when it is
            // dropped: it goes when its stdin is closed, and one that goes before tmux knows it would take the server along.
            .process_group(0);
        command
    }

    /// A client without anything of the daemon's environment that tmux does not need: whatever the server has, every pane
    /// could see.
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

    /// The pids of the control clients that sit in our own session, by a client that is none.
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
        let said = String::from_utf8_lossy(&output.stderr);
        // Without that session nobody can sit in it.
        if !output.status.success() && !said.contains("can't find session") {
            return Err(said.trim().to_owned());
        }
        let clients = String::from_utf8_lossy(&output.stdout);
        Ok(clients.lines().filter_map(|line| line.strip_prefix("1 ")?.parse().ok()).collect())
    }

    pub(super) fn keep(&self, pid: i32) -> Result<Record, RuntimeError> {
        let record = Record::of(pid, "tmux", &self.program).map_err(|err| no_procfs(&err))?;
        self.families.add_tmux_server(&record);
        files::write(&self.record, &record).map_err(|err| failed("write", &self.record, &err))?;
        Ok(record)
    }

    pub(super) fn standing(&self) -> Result<Standing, RuntimeError> {
        let record: Option<Record> =
            files::read(&self.record).map_err(|err| failed("read", &self.record, &err))?;
        let Some(record) = record else { return Ok(Standing::Gone) };
        if !record.lives()? {
            return Ok(Standing::Gone);
        }
        // A name that leads to no socket is as good as none.
        let is_socket = fs::symlink_metadata(&self.socket)
            .is_ok_and(|found| std::os::unix::fs::FileTypeExt::is_socket(&found.file_type()));
        Ok(if is_socket { Standing::Lives(record) } else { Standing::Hidden(record) })
    }
}

/// Sends a signal to a server, if it is still the one.
pub(super) fn signal(record: &Record, signal: Signal) {
    if Pid::from_raw(record.pid).is_some()
        && let Some(pidfd) = record.pidfd()
        && let Err(err) = pidfd_send_signal(&pidfd, signal)
    {
        tracing::debug!(%err, pid = record.pid, "the tmux server was not reached by a signal");
    }
}

/// Everything that could come from a person's own configuration is said here, and that is never read.
fn config(helper: &[String]) -> String {
    let helper: Vec<String> = helper.iter().map(|word| quoted(word)).collect();
    let helper = quoted(&helper.join(" "));
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

/// The version in `tmux 3.3a` or `tmux next-3.5`.
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
