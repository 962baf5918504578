//! Installs the pinned versions into a cache.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::catalog::{NODE, PackageSource, RealAgent};
use super::cell;

/// Reason that an agent is not installed.
#[derive(Debug)]
pub enum InstallError {
    /// The machine cannot install it: no package manager, or no way to the registry.
    Unavailable(String),
    /// It was installed and does not work.
    Broken(String),
}

impl From<io::Error> for InstallError {
    fn from(err: io::Error) -> InstallError {
        InstallError::Broken(err.to_string())
    }
}

/// Returns the folder of installed agents: `AO_AGENTS_CACHE`, or `agents` in the target folder.
pub fn cache() -> PathBuf {
    if let Some(folder) = std::env::var_os("AO_AGENTS_CACHE") {
        return folder.into();
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("it lies in crates/");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from).join("agents")
}

/// Returns `true` if this version is installed and was seen to run.
pub fn is_installed(agent: &RealAgent) -> bool {
    agent.mark().is_file()
}

/// Installs an agent, if it is not installed yet, and checks that it runs. Returns the version that it prints.
pub fn install(agent: &RealAgent) -> Result<String, InstallError> {
    if let Ok(version) = fs::read_to_string(agent.mark()) {
        return Ok(version);
    }
    let folder = agent.folder();
    let bin = folder.join("bin");
    fs::create_dir_all(&bin)?;
    let place = bin.join(agent.command);
    match agent.package {
        PackageSource::Native { package, program } => {
            npm(&folder, package, agent.version)?;
            link(&folder.join("node_modules").join(placed(program)), &place)?;
        }
        PackageSource::Script { package, program } => {
            npm(&folder, package, agent.version)?;
            let script = folder.join("node_modules").join(placed(program));
            let text = format!("#!/bin/sh\nexec '{}' '{}' \"$@\"\n", node()?.display(), script.display());
            fs::write(&place, text)?;
            fs::set_permissions(&place, fs::Permissions::from_mode(0o755))?;
        }
        PackageSource::Python { package } => {
            let venv = folder.join("venv");
            run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
            let pinned = format!("{package}=={}", agent.version);
            run(Command::new(venv.join("bin/pip")).args(["install", "--quiet", &pinned]))?;
            link(&venv.join("bin").join(agent.command), &place)?;
        }
    }
    let version = cell::version(&place).map_err(InstallError::Broken)?;
    fs::write(agent.mark(), &version)?;
    Ok(version)
}

impl RealAgent {
    pub(super) fn folder(&self) -> PathBuf {
        cache().join(format!("{}-{}", self.name, self.version))
    }

    /// The file that is written once the program was seen to run.
    fn mark(&self) -> PathBuf {
        self.folder().join("installed")
    }
}

/// Installs Node, if it is not installed yet. Returns its program.
fn node() -> Result<PathBuf, InstallError> {
    let (package, version) = NODE;
    let package = placed(package);
    let folder = cache().join(format!("node-{version}"));
    let program = folder.join("node_modules").join(&package).join("bin/node");
    if !program.is_file() {
        npm(&folder, &package, version)?;
    }
    Ok(program)
}

/// Installs one package with its dependencies. No script of it runs.
fn npm(folder: &Path, package: &str, version: &str) -> Result<(), InstallError> {
    fs::create_dir_all(folder)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--loglevel=error"]);
    // Exact: without it, npm silently takes an older version that suits the Node of the system.
    npm.arg("--prefix").arg(folder).arg(format!("{package}@{version}"));
    run(&mut npm)
}

fn run(command: &mut Command) -> Result<(), InstallError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output();
    let output =
        output.map_err(|err| InstallError::Unavailable(format!("`{program}` does not start: {err}")))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let last = words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no message");
    Err(InstallError::Unavailable(format!("`{program}` failed: {last}")))
}

/// Returns a path of a package for this processor.
fn placed(path: &str) -> String {
    let cpu = std::env::consts::ARCH;
    let arch = if cpu == "x86_64" { "x64" } else { "arm64" };
    path.replace("{arch}", arch).replace("{cpu}", cpu)
}

fn link(program: &Path, place: &Path) -> io::Result<()> {
    match fs::remove_file(place) {
        Err(err) if err.kind() != io::ErrorKind::NotFound => Err(err),
        _ => symlink(program, place),
    }
}
