//! The namespaces of a box: of the network, the mounts and the processes. Programs of util-linux make and enter them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The user of the agents. It exists in no list of users, owns nothing outside, and is not root: agents refuse some of
/// their options to root.
pub(super) const AGENT_USER: u32 = 4242;

/// The user of the stand-in: agents cannot reach it, and all processes of the agents can be killed at once.
pub(super) const STANDIN_USER: u32 = 4243;

pub(super) const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// The programs that make a box, each with its package in Debian.
const PROGRAMS: [(&str, &str); 6] = [
    ("unshare", "util-linux"),
    ("nsenter", "util-linux"),
    ("setpriv", "util-linux"),
    ("mount", "mount"),
    ("ip", "iproute2"),
    ("git", "git"),
];

/// The namespaces. The first process in them ends with `unshare`, and all others with the first.
const NAMESPACES: [&str; 6] = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];

/// The first process: mounts the folders and programs of the outside, and a `/tmp` last, because it may hide them. Then
/// it runs the stand-in and collects orphans. Its arguments are pairs of source and target, `--`, and the stand-in.
const FIRST_PROCESS: &str = r#"
set -e
ip link set lo up
while [ "$1" != -- ]; do
    mount --bind "$1" "$2"
    mount -o remount,bind,ro "$2"
    shift 2
done
shift
mount --bind "$0" /tmp
exec 3<&0 </dev/null
"$@" <&3 3<&- &
exec 3<&-
wait $!
"#;

/// Time in which the stand-in ends by itself.
const ENDING_LIMIT: Duration = Duration::from_secs(5);

/// The namespaces of one box. All processes in them end with it.
#[derive(Debug)]
pub(super) struct BoxNamespace {
    /// `unshare`, outside of the namespace of processes and inside of the others.
    holder: Child,
}

/// Returns the reason that no box can be made on this machine, with a way out.
pub fn obstacle() -> Option<String> {
    if !cfg!(target_os = "linux") {
        return Some("namespaces exist on Linux only".into());
    }
    if !rustix::process::geteuid().is_root() {
        return Some("only root can make its namespaces; run the command with sudo".into());
    }
    let is_missing =
        |name: &str| !std::env::split_paths(SYSTEM_PATH).any(|folder| folder.join(name).is_file());
    if let Some((name, package)) = PROGRAMS.iter().find(|(name, _)| is_missing(name)) {
        return Some(format!("`{name}` is missing; run `apt-get install {package}`"));
    }
    let made = system("unshare").args(NAMESPACES).args(["ip", "link", "set", "lo", "up"]).output();
    let why = match made {
        Ok(output) if output.status.success() => return None,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(err) => err.to_string(),
    };
    Some(format!("the system refuses namespaces ({why}); a container needs the capability SYS_ADMIN"))
}

impl BoxNamespace {
    /// Makes the namespaces and starts the stand-in in them. It ends when its stdin is closed; `tmp` becomes `/tmp`, and
    /// each of `mounts` is a source that is shown read-only at a target.
    pub(super) fn start(
        tmp: &Path,
        mounts: &[(PathBuf, PathBuf)],
        standin: &Command,
    ) -> io::Result<(BoxNamespace, ChildStdout)> {
        let mut command = system("unshare");
        command.args(NAMESPACES).args(["sh", "-c", FIRST_PROCESS]).arg(tmp);
        for (source, target) in mounts {
            command.arg(source).arg(target);
        }
        command
            .arg("--")
            .args(without_rights(STANDIN_USER))
            .arg(standin.get_program())
            .args(standin.get_args());
        let mut holder = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = holder.stdout.take().expect("it is piped");
        Ok((BoxNamespace { holder }, output))
    }

    /// Creates the start of a command in the namespaces, as the user of the agents.
    pub(super) fn enter(&self) -> Command {
        let mut command = system("nsenter");
        for (flag, space) in [("net", "net"), ("mount", "mnt"), ("pid", "pid_for_children")] {
            command.arg(format!("--{flag}={}", self.space(space).display()));
        }
        command.args(without_rights(AGENT_USER));
        command
    }

    /// Returns the command lines of all processes of the agents' user.
    pub(super) fn processes(&self) -> io::Result<Vec<String>> {
        let ours = fs::read_link(self.space("pid_for_children"))?;
        let mut found = Vec::new();
        for process in fs::read_dir("/proc")?.flatten() {
            let path = process.path();
            // Any of them may end meanwhile.
            let is_ours = fs::read_link(path.join("ns/pid")).is_ok_and(|space| space == ours)
                && user(&path) == Some(AGENT_USER);
            let line = if is_ours { fs::read(path.join("cmdline")).unwrap_or_default() } else { Vec::new() };
            // A process that has ended and is not collected yet has an empty command line.
            if !line.is_empty() {
                found.push(String::from_utf8_lossy(&line).replace('\0', " ").trim().to_owned());
            }
        }
        Ok(found)
    }

    /// Kills all processes of the agents' user.
    pub(super) fn kill_agents(&self) -> io::Result<()> {
        // It fails if there are none.
        self.enter().args(["sh", "-c", "kill -s KILL -- -1"]).stderr(Stdio::null()).status().map(drop)
    }

    /// Ends the stand-in, and with it all other processes. Fails if it does not end by itself.
    pub(super) fn close(&mut self) -> io::Result<()> {
        drop(self.holder.stdin.take());
        match finish(&mut self.holder, Instant::now() + ENDING_LIMIT)? {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(io::Error::other(format!("the stand-in failed: {status}"))),
            None => {
                self.holder.kill()?;
                self.holder.wait()?;
                Err(io::Error::other("the stand-in did not end by itself"))
            }
        }
    }

    fn space(&self, name: &str) -> PathBuf {
        format!("/proc/{}/ns/{name}", self.holder.id()).into()
    }
}

impl Drop for BoxNamespace {
    fn drop(&mut self) {
        // Its failure was returned, or is that of a test that has failed already.
        let _ = self.close();
    }
}

/// Waits for the end of a process. Returns `None` if it still runs at that time.
pub(super) fn finish(child: &mut Child, until: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        let status = child.try_wait()?;
        if status.is_some() || Instant::now() > until {
            return Ok(status);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the user of a process. The owner of its folder is root for an agent that hides its memory.
fn user(process: &Path) -> Option<u32> {
    let status = fs::read_to_string(process.join("status")).ok()?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_whitespace().next()?.parse().ok()
}

/// Creates a command of the system with a clean environment.
fn system(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", SYSTEM_PATH);
    command
}

/// Returns the start of a command line that gives up all rights.
fn without_rights(user: u32) -> [String; 5] {
    [
        "setpriv".into(),
        format!("--reuid={user}"),
        format!("--regid={user}"),
        "--clear-groups".into(),
        "--no-new-privs".into(),
    ]
}
