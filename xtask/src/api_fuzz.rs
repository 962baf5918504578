//! `cargo xtask api-fuzz`: calls a real daemon with valid and invalid requests, generated from the description of the
//! API.
//!
//! Schemathesis generates the calls from `docs/openapi.json`. No response may be a 5xx error, and each must be one that
//! the description lists. An invalid request that looks valid may be refused: the description cannot express
//! everything.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::process::{cargo, root, shown, success_if, target, watch};
use crate::tools;

/// The version that this repository was tested with.
const SCHEMATHESIS: &str = "4.32.5";
/// Calls that are not tested: endless streams, the end of the daemon, and notices on the desktop.
const LEFT_OUT: &[&str] =
    &["/api/events", "/api/sessions/{id}/terminal", "/api/daemon/stop", "/api/notify/test"];
/// The time limit for the daemon to start, and to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// Call the API with generated requests.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Seconds to run for.
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// Seed of the generated calls; the same seed repeats them.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    tools::ensure(&[tools::PYTHON, tools::GIT, tools::CC])?;
    let program = schemathesis()?;
    let built = watch(cargo("build --package ao"))?;
    ensure!(built.status.success(), "ao does not build");

    let place = tempfile::tempdir()?;
    let daemon = FuzzDaemon::start(place.path())?;
    daemon.prepare(place.path())?;
    let mut command = Command::new(program);
    command.current_dir(place.path()).arg("run").arg(root().join("docs/openapi.json"));
    command.args(["--url", &daemon.url, "--seed", &args.seed.to_string()]);
    command.args([
        "--max-time",
        &args.seconds.to_string(),
        "--rate-limit",
        "150/s",
        "--request-timeout",
        "30",
    ]);
    // The first for the reason above, the others because all calls are about the same session, which stays when it has
    // ended.
    let checks = "positive_data_acceptance,ensure_resource_availability,use_after_free";
    command.args(["--exclude-checks", checks]);
    command.args(["--generation-database", "none"]);
    command.args(["--continue-on-failure", "--no-color"]);
    for path in LEFT_OUT {
        command.args(["--exclude-path", path]);
    }
    let finished = watch(command)?;
    let survived = daemon.end()?;
    if !survived {
        say!("the daemon did not live to see the end");
    }
    Ok(success_if(survived && finished.status.success()))
}

/// Returns the program; installs it below the target folder if it is missing.
fn schemathesis() -> Result<PathBuf> {
    let home = target().join(format!("schemathesis-{SCHEMATHESIS}"));
    let program = home.join("bin/schemathesis");
    if program.exists() {
        return Ok(program);
    }
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(&home);
    let mut install = Command::new(home.join("bin/pip"));
    install.args(["install", "--quiet", &format!("schemathesis=={SCHEMATHESIS}")]);
    for mut command in [venv, install] {
        say!("$ {}", shown(&command));
        let status = command.status().with_context(|| format!("failed to start `{}`", shown(&command)))?;
        if !status.success() {
            // An incomplete installation would be used the next time.
            fs::remove_dir_all(&home).ok();
            bail!("`{}` failed\nhint: Debian has venv in `python3-venv`", shown(&command));
        }
    }
    Ok(program)
}

/// A daemon for this test only.
struct FuzzDaemon {
    child: Child,
    url: String,
}

impl FuzzDaemon {
    fn start(place: &Path) -> Result<FuzzDaemon> {
        let mut command = Command::new(target().join("debug/ao"));
        command.args(["daemon", "--port", "0"]).env_clear().env("HOME", place).env("NO_COLOR", "1");
        command
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("AO_DATA_DIR", place.join("data"));
        say!("$ {}", shown(&command));
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let mut told = BufReader::new(child.stderr.take().context("the daemon has an output")?);
        let mut heard = String::new();
        let url = loop {
            let mut line = String::new();
            if told.read_line(&mut line)? == 0 {
                child.wait()?;
                bail!("the daemon did not come up\n{heard}");
            }
            if let Some((_, url)) = line.split_once("the daemon is ready at ") {
                break url.split(';').next().unwrap_or_default().trim().to_owned();
            }
            heard += &line;
        };
        // Reads on, so that the daemon does not block on a full pipe.
        std::thread::spawn(move || std::io::copy(&mut told, &mut std::io::sink()));
        Ok(FuzzDaemon { child, url })
    }

    /// Creates a project with a session to call about, whose agent ends on its own.
    fn prepare(&self, place: &Path) -> Result<()> {
        let repository = place.join("my-app");
        fs::create_dir(&repository)?;
        let git = |line: &str| {
            let mut command = Command::new("git");
            command.current_dir(&repository).args(["-c", "user.name=ao", "-c", "user.email=ao@localhost"]);
            command.args(line.split(' '));
            let status = command.status()?;
            ensure!(status.success(), "`{}` failed", shown(&command));
            Ok(())
        };
        git("init --quiet --initial-branch main")?;
        git("commit --quiet --allow-empty --message start")?;
        let config = repository.join("agent-orchestrator.yaml");
        fs::write(
            &config,
            "projects:\n  my-app: { path: ., defaultBranch: main }\n\
             defaults: { agent: brief, runtime: process, tracker: local, notifiers: [] }\n\
             orchestrator: { enabled: false }\npower: { preventIdleSleep: false }\n\
             tools:\n  brief: { program: \"true\" }\n",
        )?;
        self.post("/api/projects", &format!("{{\"config\":{:?}}}", config.display().to_string()))?;
        self.post("/api/sessions", r#"{"projectId":"my-app","title":"one","name":"my-app-one"}"#)?;
        // Invented names would only ever be refused.
        Ok(fs::write(place.join("schemathesis.toml"), "[parameters]\n\"path.id\" = \"my-app-one\"\n")?)
    }

    fn post(&self, path: &str, body: &str) -> Result<()> {
        let script = "import sys, urllib.request as u\n\
            r = u.Request(sys.argv[1], sys.argv[2].encode(), {'content-type': 'application/json'})\n\
            try: u.urlopen(r)\n\
            except u.HTTPError as e: sys.exit(e.read().decode())";
        let mut command = Command::new("python3");
        command.args(["-c", script, &format!("{}{path}", self.url), body]);
        let output = command.output()?;
        let refused = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "the daemon refused `{path}`: {refused}");
        Ok(())
    }

    /// Ends it, and returns `true` if it was still running.
    fn end(mut self) -> Result<bool> {
        let lived = self.child.try_wait()?.is_none();
        // Uses the shell's `kill`, because std can only send SIGKILL and our code has no `unsafe`.
        Command::new("sh").args(["-c", &format!("kill -s TERM {}", self.child.id())]).status()?;
        let began = Instant::now();
        while self.child.try_wait()?.is_none() {
            if began.elapsed() > PATIENCE {
                self.child.kill()?;
                self.child.wait()?;
                bail!("the daemon did not end within {} s", PATIENCE.as_secs());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(lived)
    }
}

impl Drop for FuzzDaemon {
    fn drop(&mut self) {
        // Leaves no process behind after an error. It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
