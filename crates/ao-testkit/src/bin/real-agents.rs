//! Installs the real agent programs, and runs them beside the stand-in: `cargo xtask agents`.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ao_testkit::agents::{self, AgentBox, InstallError, RealAgent};

const USAGE: &str = "usage: cargo xtask agents [NAME…] [--all] [--install | --list | --check | --record | [--program FILE] --run -- CMD…]

Installs pinned versions of the real agents into a cache, and runs one turn of each against a stand-in for the model
APIs. They run in a box: unprivileged, with a loopback device only, an empty environment, a home of its own, dummy
keys. It needs npm and root.

  NAME…           these agents [default: those of the ordinary test run]
  --all           all agents
  --install       install them and stop
  --list          list the agents and stop
  --check         check that a box can be made and stop
  --record        record the protocols of claude-code, codex, opencode, gemini and qwen for the tests of the drivers
  --run -- CMD…   run a command in a box (`ao_testkit::standin` lists the tags that the stand-in understands)
  --program FILE  with `--run`: also show this program in the box, such as target/debug/ao

Exits with 3 if this machine cannot install or run them.
AO_AGENTS_CACHE names the folder of the cache [default: agents in the target folder].";

/// The exit code for a machine that cannot install or run them.
const UNAVAILABLE: u8 = 3;

/// Time limit of all installations together.
const INSTALL_LIMIT: Duration = Duration::from_secs(600);

/// Prints a line to stdout, without the panic of `println!` when its reader has gone.
macro_rules! out {
    ($($text:tt)*) => { line(format_args!($($text)*)) };
}

fn line(text: fmt::Arguments<'_>) {
    if writeln!(io::stdout().lock(), "{text}").is_err() {
        std::process::exit(141);
    }
}

#[derive(Debug, PartialEq, Eq)]
enum AgentsTask {
    Smoke,
    Install,
    List,
    Check,
    Record,
    Run { programs: Vec<PathBuf>, command: Vec<String> },
}

fn main() -> ExitCode {
    let (chosen, task) = match arguments() {
        Ok(parsed) => parsed,
        Err(wrong) => {
            eprintln!("{wrong}\n{USAGE}");
            return ExitCode::FAILURE;
        }
    };
    if task == AgentsTask::List {
        list();
        return ExitCode::SUCCESS;
    }
    if task != AgentsTask::Install
        && let Some(obstacle) = agents::obstacle()
    {
        out!("no box can be made: {obstacle}");
        return ExitCode::from(UNAVAILABLE);
    }
    if task != AgentsTask::Check
        && let Err(code) = install(&chosen)
    {
        return code;
    }
    let result = match task {
        AgentsTask::Install | AgentsTask::List | AgentsTask::Check => Ok(ExitCode::SUCCESS),
        AgentsTask::Smoke => Ok(smoke_each(&chosen)),
        AgentsTask::Record => record_each(&chosen),
        AgentsTask::Run { programs, command } => run(&chosen, &programs, &command),
    };
    result.unwrap_or_else(|err| {
        eprintln!("error: {err}");
        ExitCode::FAILURE
    })
}

fn arguments() -> Result<(Vec<&'static RealAgent>, AgentsTask), String> {
    let (mut named, mut all, mut task) = (Vec::new(), false, AgentsTask::Smoke);
    let mut programs = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--all" => all = true,
            "--install" => task = AgentsTask::Install,
            "--list" => task = AgentsTask::List,
            "--check" => task = AgentsTask::Check,
            "--record" => task = AgentsTask::Record,
            "--program" => {
                let file = args.next().ok_or("--program needs a file")?;
                programs.push(std::path::absolute(file).map_err(|err| err.to_string())?);
            }
            "--run" => {
                let rest: Vec<String> = args.by_ref().collect();
                let command = rest.strip_prefix(&["--".to_owned()]).unwrap_or(&rest).to_vec();
                if command.is_empty() {
                    return Err("--run needs a command".into());
                }
                task = AgentsTask::Run { programs: std::mem::take(&mut programs), command };
            }
            "--help" | "-h" => {
                out!("{USAGE}");
                std::process::exit(0);
            }
            name => named.push(agents::find(name).ok_or(format!("there is no agent or option `{name}`"))?),
        }
    }
    if named.is_empty() {
        named = agents::all().iter().filter(|agent| all || agent.by_default).collect();
    }
    Ok((named, task))
}

fn list() {
    for agent in agents::all() {
        let default = if agent.by_default { "default" } else { "" };
        let state = if agents::is_installed(agent) { "installed" } else { "" };
        out!("{:<12} {:<10} {default:<8} {state}", agent.name, agent.version);
    }
}

fn install(chosen: &[&RealAgent]) -> Result<(), ExitCode> {
    let until = Instant::now() + INSTALL_LIMIT;
    for agent in chosen.iter().filter(|agent| !agents::is_installed(agent)) {
        let (name, version) = (agent.name, agent.version);
        let started = Instant::now();
        eprintln!("installing {name} {version} into {}", agents::cache().display());
        match agents::install(agent, until) {
            Ok(()) => out!("{name:<12} {version} installed in {:.1} s", started.elapsed().as_secs_f32()),
            Err(InstallError::Unavailable(why)) => {
                out!("{name} {version} cannot be installed: {why}");
                return Err(ExitCode::from(UNAVAILABLE));
            }
            Err(InstallError::Broken(why)) => {
                out!("{name} {version} was installed and does not work: {why}");
                return Err(ExitCode::FAILURE);
            }
        }
    }
    Ok(())
}

fn smoke_each(chosen: &[&RealAgent]) -> ExitCode {
    let mut failed = false;
    for agent in chosen {
        let (name, version) = (agent.name, agent.version);
        match agents::smoke(agent) {
            Ok(exchange) => {
                let (seconds, requests) = (exchange.turn.as_secs_f32(), exchange.requests);
                out!("{name:<12} {version:<10} ok, {seconds:.1} s, {requests} requests");
            }
            Err(difference) => {
                out!("{name:<12} {version:<10} FAILED: {difference}");
                failed = true;
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn record_each(chosen: &[&RealAgent]) -> io::Result<ExitCode> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("it lies in crates/");
    let mut failed = false;
    for agent in chosen {
        let folder = crates.join("ao-agent/tests/fixtures/protocol").join(agent.name);
        for line in agents::record(agent, &folder)? {
            failed |= line.contains("not recorded");
            out!("{line}");
        }
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn run(chosen: &[&RealAgent], programs: &[PathBuf], command: &[String]) -> io::Result<ExitCode> {
    let programs: Vec<&Path> = programs.iter().map(PathBuf::as_path).collect();
    let agent_box = AgentBox::open_with(chosen, &programs)?;
    eprintln!("stand-in at {}, home {}", agent_box.url(), agent_box.path("home").display());
    let status = agent_box.command(&command[0], &command[1..]).status()?;
    for request in agent_box.requests()? {
        eprintln!("request: {} {} {} {:?}", request.method, request.path, request.status, request.answer);
    }
    agent_box.close()?;
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}
