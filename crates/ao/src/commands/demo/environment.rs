//! The environment of the demo: a folder with a repository, a home and a daemon of its own, and its removal.

use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ao_api::client::Client;
use ao_core::text::shell_quoted;
use ao_ports::{EndOrder, Runtime};
use ao_runtime::{Processes, Shim};
use camino::{Utf8Path, Utf8PathBuf};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::RwLock;
use tokio::time::{Instant, sleep, timeout};

use super::sample::{self, PROJECT};
use super::{Args, failed};
use crate::client::daemon_process;
use crate::clock::SystemClock;
use crate::error::CommandError;
use crate::system::paths;

/// The name of the scripted agent in the configuration.
const SCRIPTED: &str = "scripted";
/// Time for the daemon to stop.
const GOES: Duration = Duration::from_secs(10);

pub(super) struct DemoEnvironment {
    dir: Utf8PathBuf,
    /// This program, which is the daemon and the agent too.
    program: String,
    /// The real agent that does the work, if one was named.
    pub(super) agent: Option<String>,
    pause: Duration,
    keep: bool,
    /// Held by each command while it runs, even if it is no longer awaited.
    running: Arc<RwLock<()>>,
}

impl DemoEnvironment {
    pub(super) fn new(dir: std::path::PathBuf, args: &Args) -> Result<DemoEnvironment, CommandError> {
        let utf8 = |path: std::path::PathBuf| {
            Utf8PathBuf::from_path_buf(path).map_err(|path| {
                CommandError::environment(format!("the path `{}` is no UTF-8", path.display()))
            })
        };
        Ok(DemoEnvironment {
            dir: utf8(dir)?,
            program: utf8(std::env::current_exe().map_err(CommandError::environment)?)?.into_string(),
            agent: args.agent.clone(),
            pause: Duration::from_millis(if args.fast { 20 } else { 700 }),
            keep: args.keep,
            running: Arc::default(),
        })
    }

    /// Creates the repository with its configuration, and starts a daemon for it.
    pub(super) async fn set_up(&self) -> Result<Client, CommandError> {
        let repository = self.repository();
        sample::make(&repository).await?;
        let home = self.dir.join("home");
        std::fs::create_dir_all(&home).map_err(CommandError::environment)?;
        let agent = self.agent.as_deref().unwrap_or(SCRIPTED);
        let tool = self.agent.is_none().then(|| self.scripted());
        // JSON is YAML.
        let config = format!("{:#}\n", sample::config(agent, tool, &self.dir.join("luck")));
        std::fs::write(self.config(), config).map_err(CommandError::environment)?;
        // The configuration is not part of the sample project.
        std::fs::write(repository.join(".git/info/exclude"), "agent-orchestrator.yaml\n")
            .map_err(CommandError::environment)?;
        self.ao(&["start", "--port", "0", "--no-open"]).await?;
        Ok(Client::socket(paths::way_in(&self.data_dir())?))
    }

    /// Runs `ao` in the repository as a user would, and fails if it fails.
    pub(super) async fn ao(&self, args: &[&str]) -> Result<String, CommandError> {
        let output = self.try_ao(args).await?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(failed(format!("`ao {}` failed: {}", args.join(" "), said.trim())))
    }

    /// Runs `ao`, which may fail.
    pub(super) async fn try_ao(&self, args: &[&str]) -> Result<Output, CommandError> {
        let mut command = Command::new(&self.program);
        command.args(args).current_dir(self.repository()).stdin(Stdio::null());
        // The user's own daemon, configuration and repository must play no part.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("AO_") {
                command.env_remove(name);
            }
        }
        for name in ao_git::MISLEADING {
            command.env_remove(name);
        }
        // A real agent needs the home that it signed in from.
        if self.agent.is_none() {
            command.env("HOME", self.dir.join("home"));
            for name in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
                command.env_remove(name);
            }
        }
        command.env("USER", "you").env("AO_DATA_DIR", self.data_dir()).env("AO_CONFIG", self.config());
        let running = self.running.clone().read_owned().await;
        // In a task of its own: a command that is interrupted, such as a start, runs to its end anyway.
        let ran = tokio::spawn(async move {
            let output = command.output().await;
            drop(running);
            output
        });
        ran.await.map_err(std::io::Error::other).flatten().map_err(|err| {
            CommandError::environment(format!("`{}` could not be started: {err}", self.program))
        })
    }

    /// Returns the scripted agent's configuration.
    fn scripted(&self) -> Value {
        let life = if self.keep { 3600 } else { 180 };
        let pause = self.pause.as_millis();
        let args = ["demo-agent", "--pause-ms", &pause.to_string(), "--life", &life.to_string()];
        json!({ "program": self.program, "args": args, "prompt": "lines", "io": "terminal" })
    }

    /// Stops the daemon and every agent.
    pub(super) async fn clear(&self) -> Result<(), CommandError> {
        // A command that is starting can be stopped only once it runs.
        drop(timeout(GOES, self.running.write()).await);
        self.end_daemon().await?;
        self.end_agents().await
    }

    async fn end_daemon(&self) -> Result<(), CommandError> {
        let client = Client::socket(paths::way_in(&self.data_dir())?);
        let Ok(Some(daemon)) = daemon_process::running(&client).await else { return Ok(()) };
        let Some(pid) = i32::try_from(daemon.pid).ok().and_then(Pid::from_raw) else { return Ok(()) };
        // Stopping may take longer than the time limit of an impatient user.
        let _ = self.try_ao(&["stop"]).await;
        let until = Instant::now() + GOES;
        while test_kill_process(pid).is_ok() {
            if Instant::now() > until {
                let _ = kill_process(pid, Signal::KILL);
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    async fn end_agents(&self) -> Result<(), CommandError> {
        let processes = self.data_dir().join("processes");
        if !Utf8Path::exists(&processes) {
            return Ok(());
        }
        let shim = Shim { program: self.program.clone().into(), args: vec![crate::daemon::SHIM.into()] };
        let options = ao_runtime::Options {
            grace: Duration::from_secs(1),
            ..ao_runtime::Options::new(processes, shim)
        };
        let runtime = Processes::new(options, Arc::new(SystemClock));
        for left in runtime.census().await.map_err(CommandError::environment)? {
            let order = EndOrder { session: left.session, attempt: left.attempt, process: None };
            runtime.end(&order).await.map_err(CommandError::environment)?;
        }
        Ok(())
    }

    pub(super) fn repository(&self) -> Utf8PathBuf {
        self.dir.join(PROJECT)
    }

    fn config(&self) -> Utf8PathBuf {
        self.repository().join("agent-orchestrator.yaml")
    }

    fn data_dir(&self) -> Utf8PathBuf {
        self.dir.join("data")
    }

    /// Returns the command line that runs `ao` with this daemon from anywhere.
    pub(super) fn typed(&self, args: &str) -> String {
        format!(
            "{} --data-dir {} {args}",
            shell_quoted(&self.program),
            shell_quoted(self.data_dir().as_str())
        )
    }

    /// Describes how to explore what was kept, and how to remove it.
    pub(super) fn how_to_play(&self) -> String {
        let dir = shell_quoted(self.dir.as_str());
        format!(
            "\nKept in {dir}, with its daemon. Look around:\n  cd {}\n  {}\n  {}\n  {}\nand when you have seen enough:\n  {} && {} && rm -rf {dir}\n",
            shell_quoted(self.repository().as_str()),
            self.typed("status"),
            self.typed("pr list --state all"),
            self.typed("events"),
            self.typed("stop --all"),
            self.typed("stop"),
        )
    }
}
