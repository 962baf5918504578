//! Installs the real agent programs, and runs commands beside them and the stand-in: `cargo xtask agents`.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ao_testkit::agents::{self, AgentBox, InstallError, RealAgent};

const USAGE: &str = "usage: cargo xtask agents [--all] [NAME…] [--list | --ready | --try | --record | --run -- CMD…]

Installs pinned versions of the real agents into a cache, and checks that they run.

  NAME…           these agents [default: those of the ordinary test run]
  --all           all agents
  --list          list the agents and stop
  --ready         also check that a box can be made; exit with 3 if this machine cannot
  --try           run one turn of each against the stand-in
  --record        record the protocols of claude-code, codex, opencode, gemini and qwen for the tests of the drivers
  --run -- CMD…   run a command in a box: unprivileged, with a loopback device only, an empty environment, a home of its
                  own, dummy keys, and a stand-in for the model APIs (see `ao_testkit::standin` for its tags)

AO_AGENTS_CACHE names the folder of the cache [default: agents in the target folder].";

/// The exit code for a machine that cannot install them.
const UNAVAILABLE: u8 = 3;

/// Time limit of a turn with `--try`.
const TURN_LIMIT: Duration = Duration::from_secs(120);

/// Prints a line to stdout, without the panic of `println!` when its reader has gone.
macro_rules! out {
    ($($text:tt)*) => { line(format_args!($($text)*)) };
}

fn line(text: fmt::Arguments<'_>) {
    if writeln!(io::stdout().lock(), "{text}").is_err() {
        std::process::exit(141);
    }
}

#[derive(Debug)]
enum AgentsTask {
    Install,
    List,
    Ready,
    Try,
    Record,
    Run(Vec<String>),
}

fn main() -> ExitCode {
    let (chosen, task) = match arguments() {
        Ok(parsed) => parsed,
        Err(wrong) => {
            eprintln!("{wrong}\n{USAGE}");
            return ExitCode::FAILURE;
        }
    };
    if let AgentsTask::List = task {
        for agent in agents::all() {
            let state = if agents::is_installed(agent) { "installed" } else { "" };
            out!(
                "{:<12} {:<10} {:<8} {state}",
                agent.name,
                agent.version,
                if agent.by_default { "default" } else { "" }
            );
        }
        return ExitCode::SUCCESS;
    }
    if let Err(code) = install(&chosen) {
        return code;
    }
    let needs_box = !matches!(task, AgentsTask::Install | AgentsTask::List);
    if let Some(why) = agents::lacks().filter(|_| needs_box) {
        out!("no box can be made: {why}");
        return ExitCode::from(UNAVAILABLE);
    }
    let result = match task {
        AgentsTask::Install | AgentsTask::List | AgentsTask::Ready => Ok(ExitCode::SUCCESS),
        AgentsTask::Try => try_each(&chosen),
        AgentsTask::Record => record_each(&chosen),
        AgentsTask::Run(command) => run(&chosen, &command),
    };
    result.unwrap_or_else(|err| {
        eprintln!("error: {err}");
        ExitCode::FAILURE
    })
}

fn arguments() -> Result<(Vec<&'static RealAgent>, AgentsTask), String> {
    let (mut named, mut all, mut task) = (Vec::new(), false, AgentsTask::Install);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--all" => all = true,
            "--list" => task = AgentsTask::List,
            "--ready" => task = AgentsTask::Ready,
            "--try" => task = AgentsTask::Try,
            "--record" => task = AgentsTask::Record,
            "--run" => {
                let rest: Vec<String> = args.by_ref().collect();
                let command = rest.strip_prefix(&["--".to_owned()]).unwrap_or(&rest).to_vec();
                if command.is_empty() {
                    return Err("--run needs a command".into());
                }
                task = AgentsTask::Run(command);
            }
            "--help" | "-h" => {
                out!("{USAGE}");
                std::process::exit(0);
            }
            name => named.push(agents::find(name).ok_or(format!("there is no agent `{name}`"))?),
        }
    }
    if named.is_empty() {
        named = agents::all().iter().filter(|agent| all || agent.by_default).collect();
    }
    Ok((named, task))
}

fn install(chosen: &[&RealAgent]) -> Result<(), ExitCode> {
    for agent in chosen {
        let started = Instant::now();
        if !agents::is_installed(agent) {
            eprintln!("installing {} {} into {}", agent.name, agent.version, agents::cache().display());
        }
        match agents::install(agent) {
            Ok(version) => out!("{:<12} {version} ({:.1} s)", agent.name, started.elapsed().as_secs_f32()),
            Err(InstallError::Unavailable(why)) => {
                out!("{:<12} cannot be installed: {why}", agent.name);
                return Err(ExitCode::from(UNAVAILABLE));
            }
            Err(InstallError::Broken(why)) => {
                out!("{:<12} does not run: {why}", agent.name);
                return Err(ExitCode::FAILURE);
            }
        }
    }
    Ok(())
}

fn run(chosen: &[&RealAgent], command: &[String]) -> io::Result<ExitCode> {
    let cell = AgentBox::open(chosen)?;
    eprintln!("stand-in at {}, home {}", cell.url(), cell.path("home").display());
    let status = cell.command(&command[0], &command[1..]).status()?;
    for request in cell.requests()? {
        eprintln!("request: {} {} {} {:?}", request.method, request.path, request.status, request.answer);
    }
    Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
}

fn try_each(chosen: &[&RealAgent]) -> io::Result<ExitCode> {
    let mut failed = false;
    for agent in chosen {
        let cell = AgentBox::open(&[agent])?;
        let started = Instant::now();
        let turn = cell.turn(agent, "[[say hello]]", TURN_LIMIT)?;
        let requests = cell.requests()?.into_iter().filter(|request| !request.prompt.is_empty()).count();
        let reply = agent.reply(&turn.out);
        let ended =
            turn.status.map_or_else(|| "killed after its time".to_owned(), |status| status.to_string());
        let took = started.elapsed().as_secs_f32();
        let passed = turn.status.is_some_and(|status| status.success()) && reply.contains("hello");
        failed |= !passed;
        out!("{:<12} {ended}, {requests} requests, {took:.1} s, reply {reply:?}", agent.name);
        if !passed {
            out!("{}\n{}", turn.out, turn.err);
        }
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
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
