//! Installs the pinned versions into a cache. An installation can be moved: a box shows the cache at another place.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process_group};

use super::catalog::{self, NODE, PackageSource, RealAgent};
use super::namespace::{self, finish};

/// Reason that an agent is not installed.
#[derive(Debug)]
pub enum InstallError {
    /// The machine cannot install it: no package manager, or no way to the registry.
    Unavailable(String),
    /// It was installed and lacks its program.
    Broken(String),
}

impl From<io::Error> for InstallError {
    fn from(err: io::Error) -> InstallError {
        InstallError::Broken(err.to_string())
    }
}

/// Returns the folder of installed agents: `AO_AGENTS_CACHE`, or `agents` in the target folder.
pub fn cache() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("it lies in crates/");
    let folder = std::env::var_os("AO_AGENTS_CACHE").map(PathBuf::from).unwrap_or_else(|| {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
        target.join("agents")
    });
    root.join(folder)
}

/// Returns `true` if this version is installed.
pub fn is_installed(agent: &RealAgent) -> bool {
    let needs_node = matches!(agent.package, PackageSource::Script { .. });
    cache().join(agent.folder_name()).join("bin").join(agent.command).is_file()
        && (!needs_node || cache().join(node_program()).is_file())
}

/// Returns an agent for a test that runs it.
///
/// # Panics
///
/// Panics with a way out if it is not installed or no box can be made, because a test that is skipped proves nothing.
pub fn required(name: &str) -> &'static RealAgent {
    let agent = catalog::find(name).unwrap_or_else(|| panic!("there is no agent `{name}`"));
    if let Some(obstacle) = namespace::obstacle() {
        panic!("no box can be made: {obstacle}");
    }
    assert!(is_installed(agent), "{name} is not installed: run `cargo xtask agents {name}`");
    agent
}

/// Installs an agent, if it is not installed yet. Gives up at the time `until`.
pub fn install(agent: &RealAgent, until: Instant) -> Result<(), InstallError> {
    if is_installed(agent) {
        return Ok(());
    }
    let command = Path::new("bin").join(agent.command);
    match agent.package {
        PackageSource::Native { package, program } => add(&agent.folder_name(), &command, |folder| {
            npm(folder, package, agent.version, until)?;
            symlink(Path::new("../node_modules").join(placed(program)), folder.join(&command))?;
            Ok(())
        }),
        PackageSource::Script { package, program } => {
            let (node, version) = NODE;
            let node = placed(node);
            let inside = Path::new("node_modules").join(&node).join("bin/node");
            add(&node_folder(), &inside, |folder| npm(folder, &node, version, until))?;
            add(&agent.folder_name(), &command, |folder| {
                npm(folder, package, agent.version, until)?;
                let node = Path::new("..").join(node_program());
                let script = Path::new("node_modules").join(placed(program));
                let (node, script) = (node.display(), script.display());
                let run = format!("exec \"$agent/{node}\" \"$agent/{script}\" \"$@\"");
                write_program(&folder.join(&command), &run)
            })
        }
        PackageSource::Python { package, module } => add(&agent.folder_name(), &command, |folder| {
            let venv = folder.join("venv");
            run(Command::new("python3").args(["-m", "venv"]).arg(&venv), until)?;
            let pinned = format!("{package}=={}", agent.version);
            run(
                Command::new(venv.join("bin/python3")).args(["-m", "pip", "install", "--quiet", &pinned]),
                until,
            )?;
            let run = format!("exec \"$agent/venv/bin/python3\" -m {module} \"$@\"");
            write_program(&folder.join(&command), &run)
        }),
    }
}

impl RealAgent {
    /// Returns the name of its folder in the cache.
    pub(super) fn folder_name(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }
}

/// Adds a folder to the cache at once, so that a run that is cut off leaves none that is half full. `program` is a file
/// that it must have.
fn add(
    name: &str,
    program: &Path,
    fill: impl FnOnce(&Path) -> Result<(), InstallError>,
) -> Result<(), InstallError> {
    let place = cache().join(name);
    if place.join(program).is_file() {
        return Ok(());
    }
    fs::create_dir_all(cache())?;
    let folder = tempfile::Builder::new().prefix(".new-").tempdir_in(cache())?;
    fs::create_dir(folder.path().join("bin"))?;
    fill(folder.path())?;
    if !folder.path().join(program).is_file() {
        return Err(InstallError::Broken(format!("its package has no `{}`", program.display())));
    }
    // The user in a box is another one.
    let opened = Command::new("chmod").args(["-R", "a+rX"]).arg(folder.path()).status()?;
    if !opened.success() {
        return Err(InstallError::Broken("its files cannot be made readable".into()));
    }
    match fs::rename(folder.path(), &place) {
        Ok(()) => {
            let _ = folder.keep();
            Ok(())
        }
        // Another run was faster.
        Err(_) if place.join(program).is_file() => Ok(()),
        Err(err) => Err(err.into()),
    }
}

fn node_folder() -> String {
    format!("node-{}", NODE.1)
}

/// Returns the path of Node in the cache.
fn node_program() -> PathBuf {
    Path::new(&node_folder()).join("node_modules").join(placed(NODE.0)).join("bin/node")
}

/// Writes a program that runs a shell command, in which `$agent` is the folder of the agent, wherever it is.
fn write_program(place: &Path, run: &str) -> Result<(), InstallError> {
    fs::write(place, format!("#!/bin/sh\nagent=$(dirname \"$0\")/..\n{run}\n"))?;
    Ok(fs::set_permissions(place, fs::Permissions::from_mode(0o755))?)
}

/// Installs one package with its dependencies. No script of it runs.
fn npm(folder: &Path, package: &str, version: &str, until: Instant) -> Result<(), InstallError> {
    let mut npm = Command::new("npm");
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--loglevel=error"]);
    // By default, it tries for many minutes where there is no network.
    npm.args(["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"]);
    // Exact: without it, npm silently takes an older version that suits the Node of the system.
    npm.arg("--prefix").arg(folder).arg(format!("{package}@{version}"));
    run(&mut npm, until)
}

/// Runs a package manager. Kills it with its children if it takes too long.
fn run(command: &mut Command, until: Instant) -> Result<(), InstallError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let errors = tempfile::NamedTempFile::new()?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors.reopen()?).process_group(0);
    let mut child = command.spawn().map_err(|err| match err.kind() {
        io::ErrorKind::NotFound => {
            InstallError::Unavailable(format!("`{program}` is missing; run `apt-get install {program}`"))
        }
        _ => InstallError::Unavailable(format!("`{program}` does not start: {err}")),
    })?;
    let Some(status) = finish(&mut child, until)? else {
        if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            // It may have ended meanwhile.
            let _ = kill_process_group(group, Signal::KILL);
        }
        child.wait()?;
        return Err(InstallError::Unavailable(format!("`{program}` took too long")));
    };
    if status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&fs::read(errors.path())?).into_owned();
    Err(InstallError::Unavailable(format!("`{program}` failed: {}", summary(&errors))))
}

/// Returns the first lines of the errors of npm or pip that name the reason. The last ones name a log file.
fn summary(errors: &str) -> String {
    let lines = errors.lines().map(|line| line.strip_prefix("npm error").unwrap_or(line).trim());
    let is_detail =
        |line: &str| line.is_empty() || line.starts_with("errno ") || line.starts_with("syscall ");
    let lines: Vec<&str> = lines.filter(|line| !is_detail(line)).take(2).collect();
    if lines.is_empty() { "no message".into() } else { lines.join("; ") }
}

/// Returns a path of a package for this processor.
fn placed(path: &str) -> String {
    let cpu = std::env::consts::ARCH;
    let arch = if cpu == "x86_64" { "x64" } else { "arm64" };
    path.replace("{arch}", arch).replace("{cpu}", cpu)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    fn reason(result: Result<(), InstallError>) -> String {
        match result {
            Ok(()) => "none".into(),
            Err(InstallError::Unavailable(why)) => format!("unavailable: {why}"),
            Err(InstallError::Broken(why)) => format!("broken: {why}"),
        }
    }

    fn shell(script: &str, until: Instant) -> String {
        reason(run(Command::new("sh").args(["-c", script]), until))
    }

    #[test]
    fn a_missing_program_is_named_with_a_way_to_get_it() {
        assert_eq!(
            reason(run(&mut Command::new("no-such-npm"), soon())),
            "unavailable: `no-such-npm` is missing; run `apt-get install no-such-npm`"
        );
    }

    #[test]
    fn a_failure_is_summed_up_by_its_first_lines() {
        let lines =
            ["npm error code E404", "", "npm error errno 3", "npm error 404 Not Found", "npm error log"];
        let script = format!("printf '{}' >&2; exit 1", lines.join("\\n"));
        assert_eq!(shell(&script, soon()), "unavailable: `sh` failed: code E404; 404 Not Found");
        assert_eq!(shell("exit 1", soon()), "unavailable: `sh` failed: no message");
    }

    #[test]
    fn an_installation_that_takes_too_long_is_ended_with_its_children() {
        let started = Instant::now();
        let until = started + Duration::from_millis(100);
        assert_eq!(shell("sleep 60 & wait", until), "unavailable: `sh` took too long");
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn paths_of_packages_have_the_processor_in_them() {
        assert!(!placed("node-linux-{arch}/{cpu}").contains('{'));
        assert!(node_program().starts_with(node_folder()));
    }
}
