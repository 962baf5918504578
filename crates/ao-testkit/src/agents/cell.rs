//! The box: a namespace with a loopback device only and a `/tmp` of its own, in which the stand-in and the agents run.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::catalog::RealAgent;
use crate::standin::{self, RecordedRequest};

/// The user in the box. It exists in no list of users, owns nothing outside, and is not root: agents refuse some of
/// their options to root.
const USER: u32 = 4242;

const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// A home, a repository, a stand-in, and a namespace around the agents. All processes in it end with it.
#[derive(Debug)]
pub struct AgentBox {
    dir: TempDir,
    env: Vec<(String, String)>,
    url: String,
    /// Holds the namespace.
    standin: Child,
}

/// The outcome of a command in a box.
#[derive(Debug)]
pub struct AgentRun {
    /// `None` if it took too long and was killed.
    pub status: Option<ExitStatus>,
    pub out: String,
    pub err: String,
}

/// Returns the reason that no box can be made on this machine.
pub fn lacks() -> Option<String> {
    if !cfg!(target_os = "linux") {
        return Some("network namespaces exist on Linux only".into());
    }
    if !rustix::process::geteuid().is_root() {
        return Some("only root can make a network namespace; run it with sudo".into());
    }
    let found = |name: &&str| std::env::split_paths(SYSTEM_PATH).any(|folder| folder.join(name).is_file());
    // Packages of Debian: util-linux and iproute2.
    if let Some(name) = ["unshare", "nsenter", "setpriv", "ip", "git"].iter().find(|name| !found(name)) {
        return Some(format!("`{name}` is not installed"));
    }
    let made = Command::new("unshare").args(["--net", "--mount", "ip", "link", "set", "lo", "up"]).output();
    match made {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(format!("no namespace: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(err) => Some(format!("no namespace: {err}")),
    }
}

impl AgentBox {
    /// Makes a box with the homes of these agents, an empty repository, and a running stand-in.
    pub fn open(agents: &[&RealAgent]) -> io::Result<AgentBox> {
        // Not in `/tmp`, which is another folder in the box: some agents put sockets there, whatever TMPDIR is.
        let dir = tempfile::Builder::new().prefix("ao-box-").tempdir_in("/var/tmp")?;
        chown(dir.path(), Some(USER), Some(USER))?;
        let log = dir.path().join("requests.jsonl");
        File::create(&log)?;
        chown(&log, Some(USER), Some(USER))?;
        for folder in ["home", "tmp", "work"].map(|name| dir.path().join(name)) {
            fs::create_dir(&folder)?;
            chown(&folder, Some(USER), Some(USER))?;
        }
        let mut command = Command::new("unshare");
        let script = r#"ip link set lo up && mount --bind "$0" /tmp && exec "$@""#;
        command.args(["--net", "--mount", "sh", "-c", script]).arg(dir.path().join("tmp"));
        command.args(unprivileged()).arg(standin::program()).arg("--until-eof").arg("--log").arg(&log);
        command.env_clear().env("PATH", SYSTEM_PATH);
        let mut standin = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut url = String::new();
        BufReader::new(standin.stdout.take().expect("it is piped")).read_line(&mut url)?;
        let url = url.trim().to_owned();
        if url.is_empty() {
            standin.wait()?;
            return Err(io::Error::other(
                "the stand-in did not start in the box; its program must be readable for other users and not lie in /tmp",
            ));
        }

        let mut this = AgentBox { dir, env: Vec::new(), url, standin };
        this.env = this.environment(agents);
        this.write("home/.gitconfig", "[user]\n\tname = agent\n\temail = agent@example.org\n")?;
        for (file, text) in agents.iter().flat_map(|agent| agent.home) {
            this.write(&format!("home/{file}"), &this.filled(text))?;
        }
        let made = this.command("git", &["init", "--quiet", "--initial-branch=main"]).status()?;
        if made.success() { Ok(this) } else { Err(io::Error::other("git does not run in the box")) }
    }

    /// Returns the base URL of the stand-in, inside the box.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns a path in the box: `home`, the home of the user, or `work`, the repository.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file that belongs to the user in the box.
    pub fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let path = self.path(name);
        let parents: Vec<_> =
            path.ancestors().skip(1).take_while(|parent| *parent != self.dir.path()).collect();
        for folder in parents.into_iter().rev().filter(|folder| !folder.exists()) {
            fs::create_dir(folder)?;
            chown(folder, Some(USER), Some(USER))?;
        }
        fs::write(&path, text)?;
        chown(&path, Some(USER), Some(USER))
    }

    /// Creates a command that runs in the box, in the repository.
    pub fn command<S: AsRef<std::ffi::OsStr>>(
        &self,
        program: impl AsRef<std::ffi::OsStr>,
        args: &[S],
    ) -> Command {
        let mut command = Command::new("nsenter");
        for space in ["net", "mnt"] {
            let flag = if space == "mnt" { "mount" } else { space };
            command.arg(format!("--{flag}=/proc/{}/ns/{space}", self.standin.id()));
        }
        // Entering the namespace of mounts changes the folder to its root.
        command.args(unprivileged()).arg("env").arg("--chdir").arg(self.path("work")).arg("-i");
        command.args(self.env.iter().map(|(name, value)| format!("{name}={value}")));
        command.arg(program).args(args);
        command.env_clear().env("PATH", SYSTEM_PATH);
        command
    }

    /// Runs a command to its end, without input. Kills everything in the box but the stand-in if it takes too long.
    pub fn run(&self, mut command: Command, limit: Duration) -> io::Result<AgentRun> {
        let (out, err) = (self.path("out"), self.path("err"));
        command.stdin(Stdio::null()).stdout(File::create(&out)?).stderr(File::create(&err)?);
        let mut child = command.spawn()?;
        let end = Instant::now() + limit;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if Instant::now() > end {
                self.end_agents();
                child.kill()?;
                child.wait()?;
                break None;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let text = |path: &Path| Ok::<_, io::Error>(String::from_utf8_lossy(&fs::read(path)?).into_owned());
        Ok(AgentRun { status, out: text(&out)?, err: text(&err)? })
    }

    /// Runs one turn of an agent without a person.
    pub fn turn(&self, agent: &RealAgent, prompt: &str, limit: Duration) -> io::Result<AgentRun> {
        self.run(self.command(agent.command, &agent.headless(prompt)), limit)
    }

    /// Returns the requests that the stand-in received, oldest first, without their bodies.
    pub fn requests(&self) -> io::Result<Vec<RecordedRequest>> {
        let log = fs::read_to_string(self.path("requests.jsonl"))?;
        let whole = log.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        Ok(whole.map(|line| serde_json::from_str(line).expect("the log holds requests")).collect())
    }

    fn environment(&self, agents: &[&RealAgent]) -> Vec<(String, String)> {
        let folders = agents.iter().map(|agent| agent.folder().join("bin").display().to_string());
        let path: Vec<String> = folders.chain([SYSTEM_PATH.to_owned()]).collect();
        let text = |name: &str| self.path(name).display().to_string();
        let mut env: Vec<(String, String)> = [
            ("HOME", text("home")),
            ("TMPDIR", text("tmp")),
            ("PATH", path.join(":")),
            ("USER", "agent".into()),
            ("LOGNAME", "agent".into()),
            ("SHELL", "/bin/bash".into()),
            ("LANG", "C.UTF-8".into()),
            ("LC_ALL", "C.UTF-8".into()),
            ("TERM", "xterm-256color".into()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        for (name, value) in agents.iter().flat_map(|agent| agent.env) {
            if !env.iter().any(|(known, _)| known == name) {
                env.push(((*name).to_owned(), self.filled(value)));
            }
        }
        env
    }

    fn filled(&self, text: &str) -> String {
        text.replace("{url}", &self.url).replace("{work}", &self.path("work").display().to_string())
    }

    /// Kills all processes in the namespace but the stand-in. Some agents leave helpers behind.
    fn end_agents(&self) {
        let space = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
        let Some(ours) = space(&self.standin.id().to_string()) else { return };
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(pid) = name.parse().ok().and_then(Pid::from_raw) else { continue };
            if space(&name).as_ref() == Some(&ours) && pid.as_raw_nonzero().get() as u32 != self.standin.id()
            {
                // It may have ended meanwhile.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

impl Drop for AgentBox {
    fn drop(&mut self) {
        self.end_agents();
        // It may have ended meanwhile.
        let _ = self.standin.kill();
        let _ = self.standin.wait();
    }
}

/// Runs a program with `--version`, in a clean environment and as the user of a box where possible. Returns its first
/// line.
pub(super) fn version(program: &Path) -> Result<String, String> {
    let home = tempfile::tempdir().map_err(|err| err.to_string())?;
    let root = rustix::process::geteuid().is_root();
    let mut command = if root {
        chown(home.path(), Some(USER), Some(USER)).map_err(|err| err.to_string())?;
        let mut command = Command::new("setpriv");
        command.args(&unprivileged()[1..]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.arg("--version").current_dir(home.path()).stdin(Stdio::null());
    command.env_clear().env("PATH", SYSTEM_PATH).env("HOME", home.path()).env("TMPDIR", home.path());
    let output = command.output().map_err(|err| format!("{}: {err}", program.display()))?;
    let out = String::from_utf8_lossy(&output.stdout);
    match out.lines().next() {
        Some(line) if output.status.success() => Ok(line.trim().to_owned()),
        _ => {
            let err = String::from_utf8_lossy(&output.stderr);
            let hint = "other users must be able to read it; AO_AGENTS_CACHE names another folder";
            Err(format!("`{} --version` failed: {} ({hint})", program.display(), err.trim()))
        }
    }
}

/// Returns the start of a command line that gives up all rights.
fn unprivileged() -> [String; 5] {
    let user = USER.to_string();
    [
        "setpriv".into(),
        format!("--reuid={user}"),
        format!("--regid={user}"),
        "--clear-groups".into(),
        "--no-new-privs".into(),
    ]
}
