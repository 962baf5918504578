//! The box: a home, a repository, a stand-in, and namespaces around the agents.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::catalog::RealAgent;
use super::install::cache;
use super::namespace::{AGENT_USER, BoxNamespace, STANDIN_USER, SYSTEM_PATH, finish};
use crate::standin::{self, RecordedRequest};

/// A home, a repository, a stand-in, and namespaces around the agents. All processes in it end with it.
#[derive(Debug)]
pub struct AgentBox {
    // Dropped first: its processes write to the folder.
    namespace: BoxNamespace,
    dir: TempDir,
    env: Vec<(String, String)>,
    url: String,
}

/// The outcome of a command in a box.
#[derive(Debug)]
pub struct AgentRun {
    /// `None` if it took too long and was killed.
    pub status: Option<ExitStatus>,
    pub out: String,
    pub err: String,
}

impl AgentBox {
    /// Makes a box with the homes of these agents, an empty repository, and a running stand-in.
    pub fn open(agents: &[&RealAgent]) -> io::Result<AgentBox> {
        AgentBox::open_with(agents, &[])
    }

    /// Makes a box in which these programs of the outside can be run by their names, too.
    pub fn open_with(agents: &[&RealAgent], programs: &[&Path]) -> io::Result<AgentBox> {
        // Not in `/tmp`, which is another folder in the box: some agents put sockets there, whatever TMPDIR is.
        let dir = tempfile::Builder::new().prefix("ao-box-").tempdir_in("/var/tmp")?;
        chown(dir.path(), Some(AGENT_USER), Some(AGENT_USER))?;
        // The stand-in, which is another user, has to reach its files.
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711))?;
        for folder in ["home", "tmp", "work"].map(|name| dir.path().join(name)) {
            fs::create_dir(&folder)?;
            chown(&folder, Some(AGENT_USER), Some(AGENT_USER))?;
        }
        let log = dir.path().join("requests.jsonl");
        File::create(&log)?;
        chown(&log, Some(STANDIN_USER), Some(STANDIN_USER))?;

        // Mounted, because the user in the box may not be able to reach the places outside.
        let (agents_folder, bin) = (dir.path().join("agents"), dir.path().join("bin"));
        fs::create_dir_all(cache())?;
        fs::create_dir(&agents_folder)?;
        fs::create_dir(&bin)?;
        let mut mounts = vec![(cache(), agents_folder)];
        let standin = standin::program();
        for program in programs.iter().copied().chain([standin.as_path()]) {
            let target = bin.join(program.file_name().expect("a program has a name"));
            File::create(&target)?;
            mounts.push((program.to_owned(), target));
        }
        let mut command = Command::new(&mounts.last().expect("the stand-in is the last").1);
        command.arg("--until-eof").arg("--log").arg(&log);
        let (namespace, output) = BoxNamespace::start(&dir.path().join("tmp"), &mounts, &command)?;
        let mut url = String::new();
        BufReader::new(output).read_line(&mut url)?;
        let url = url.trim().to_owned();
        if url.is_empty() {
            return Err(io::Error::other("the stand-in did not start in the box"));
        }

        let mut this = AgentBox { namespace, dir, env: Vec::new(), url };
        this.env = this.environment(agents);
        this.write("home/.gitconfig", "[user]\n\tname = agent\n\temail = agent@example.org\n")?;
        for (file, text) in agents.iter().flat_map(|agent| agent.home) {
            this.write(&format!("home/{file}"), &this.filled(text))?;
        }
        let made = this.command("git", ["init", "--quiet", "--initial-branch=main"]).status()?;
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
            chown(folder, Some(AGENT_USER), Some(AGENT_USER))?;
        }
        fs::write(&path, text)?;
        chown(&path, Some(AGENT_USER), Some(AGENT_USER))
    }

    /// Creates a command that runs in the box, in the repository. Run `env` for other variables.
    pub fn command<S: AsRef<OsStr>>(
        &self,
        program: impl AsRef<OsStr>,
        args: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = self.namespace.enter();
        // Entering the namespace of mounts changes the folder to its root.
        command.arg("env").arg("--chdir").arg(self.path("work")).arg("-i");
        command.args(self.env.iter().map(|(name, value)| format!("{name}={value}")));
        command.arg(program).args(args);
        command
    }

    /// Runs a command to its end, without input. Kills everything in the box but the stand-in if it takes too long.
    pub fn run(&self, mut command: Command, limit: Duration) -> io::Result<AgentRun> {
        let files = TempDir::new()?;
        let (out, err) = (files.path().join("out"), files.path().join("err"));
        command.stdin(Stdio::null()).stdout(File::create(&out)?).stderr(File::create(&err)?);
        let mut child = command.spawn()?;
        let status = finish(&mut child, Instant::now() + limit)?;
        if status.is_none() {
            self.namespace.kill_agents()?;
            child.kill()?;
            child.wait()?;
        }
        let text = |path: &Path| Ok::<_, io::Error>(String::from_utf8_lossy(&fs::read(path)?).into_owned());
        Ok(AgentRun { status, out: text(&out)?, err: text(&err)? })
    }

    /// Runs one turn of an agent without a person.
    pub fn turn(&self, agent: &RealAgent, prompt: &str, limit: Duration) -> io::Result<AgentRun> {
        self.run(self.command(agent.command, agent.headless(prompt)), limit)
    }

    /// Returns the requests that the stand-in received, oldest first, without their bodies.
    pub fn requests(&self) -> io::Result<Vec<RecordedRequest>> {
        let log = fs::read_to_string(self.path("requests.jsonl"))?;
        let whole = log.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        Ok(whole.map(|line| serde_json::from_str(line).expect("the log holds requests")).collect())
    }

    /// Waits until the requests meet a condition, and returns them. The error lists those that came.
    pub fn wait_for(
        &self,
        limit: Duration,
        condition: impl Fn(&[RecordedRequest]) -> bool,
    ) -> io::Result<Vec<RecordedRequest>> {
        let until = Instant::now() + limit;
        loop {
            let requests = self.requests()?;
            if condition(&requests) {
                return Ok(requests);
            }
            if Instant::now() > until {
                let seen: Vec<_> =
                    requests.iter().map(|request| (&request.path, &request.turns, &request.answer)).collect();
                let why = format!("the awaited request did not come; those that came: {seen:#?}");
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the command lines of all processes in the box, without the stand-in.
    pub fn processes(&self) -> io::Result<Vec<String>> {
        self.namespace.processes()
    }

    /// Ends all processes in the box and removes its folder. A box that is dropped does the same and ignores errors.
    pub fn close(mut self) -> io::Result<()> {
        self.namespace.close()?;
        self.dir.close()
    }

    fn environment(&self, agents: &[&RealAgent]) -> Vec<(String, String)> {
        let text = |name: &str| self.path(name).display().to_string();
        let own = |agent: &&RealAgent| text(&format!("agents/{}/bin", agent.folder_name()));
        let path: Vec<String> =
            [text("bin")].into_iter().chain(agents.iter().map(own)).chain([SYSTEM_PATH.into()]).collect();
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
}

impl AgentRun {
    pub fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}
