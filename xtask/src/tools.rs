//! Tools that a step needs, and their installation.
//!
//! A tool that is there is used as it is; only missing ones are installed. Cargo's tools need no special rights.
//! Debian's packages need root: without it we print the command and stop before anything has started.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::process::shown;

/// A tool that a step needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NeededTool {
    /// The program by whose presence the tool is found.
    program: &'static str,
    source: ToolSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolSource {
    /// `cargo install --locked`, at the version this repository was tested with.
    Cargo { version: &'static str },
    /// A component of the Rust toolchain.
    Rustup { component: &'static str },
    /// A package of Debian and its children.
    Apt { package: &'static str },
}

pub(crate) const RUSTFMT: NeededTool = rustup("cargo-fmt", "rustfmt");
pub(crate) const CLIPPY: NeededTool = rustup("cargo-clippy", "clippy");
pub(crate) const NEXTEST: NeededTool = cargo("cargo-nextest", "0.9.143");
pub(crate) const DENY: NeededTool = cargo("cargo-deny", "0.20.2");
pub(crate) const FUZZ: NeededTool = cargo("cargo-fuzz", "0.13.2");
pub(crate) const GIT: NeededTool = apt("git", "git");
/// Tests processes that turn themselves into daemons.
pub(crate) const PYTHON: NeededTool = apt("python3", "python3");
/// The bus on which a fake logind is asked to keep the machine awake.
pub(crate) const DBUS: NeededTool = apt("dbus-daemon", "dbus-daemon");
/// One of our runtimes; its tests need the real one.
pub(crate) const TMUX: NeededTool = apt("tmux", "tmux");
/// Calls the API like other programs of the same user.
pub(crate) const CURL: NeededTool = apt("curl", "curl");
/// Tests completion in another common shell; bash is always there.
pub(crate) const ZSH: NeededTool = apt("zsh", "zsh");
pub(crate) const FISH: NeededTool = apt("fish", "fish");
/// Runs programs as another user.
pub(crate) const SETPRIV: NeededTool = apt("setpriv", "util-linux");
/// Checks the service's unit.
pub(crate) const SYSTEMD: NeededTool = apt("systemd-analyze", "systemd");
/// Installs the real agents, for their tests.
pub(crate) const NPM: NeededTool = apt("npm", "npm");
/// The box that the real agents run in.
pub(crate) const UNSHARE: NeededTool = apt("unshare", "util-linux");
pub(crate) const MOUNT: NeededTool = apt("mount", "mount");
pub(crate) const IP: NeededTool = apt("ip", "iproute2");
/// SQLite is built from its C source.
pub(crate) const CC: NeededTool = apt("cc", "build-essential");
/// libFuzzer is built from its C++ source.
pub(crate) const CXX: NeededTool = apt("c++", "build-essential");

const fn rustup(program: &'static str, component: &'static str) -> NeededTool {
    NeededTool { program, source: ToolSource::Rustup { component } }
}

const fn cargo(program: &'static str, version: &'static str) -> NeededTool {
    NeededTool { program, source: ToolSource::Cargo { version } }
}

const fn apt(program: &'static str, package: &'static str) -> NeededTool {
    NeededTool { program, source: ToolSource::Apt { package } }
}

/// Installs missing tools, or fails with instructions if it cannot.
pub(crate) fn ensure(needed: &[NeededTool]) -> Result<()> {
    let mut missing: Vec<NeededTool> = Vec::new();
    for tool in needed {
        if !missing.contains(tool) && !is_present(tool) {
            missing.push(*tool);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }

    let machine =
        MachineRights { root: is_root()?, apt: find("apt-get").is_some(), rustup: find("rustup").is_some() };
    for mut command in plan(&missing, machine)? {
        say!("── installing ──\n$ {}", shown(&command));
        let status = command.status().with_context(|| format!("failed to start `{}`", shown(&command)))?;
        ensure!(status.success(), "`{}` failed: {status}", shown(&command));
    }
    Ok(())
}

/// The properties of the machine that decide how tools can be installed.
#[derive(Debug, Clone, Copy)]
struct MachineRights {
    root: bool,
    apt: bool,
    rustup: bool,
}

/// Returns the commands that install the missing tools, or an error with instructions.
fn plan(missing: &[NeededTool], machine: MachineRights) -> Result<Vec<Command>> {
    let mut commands = Vec::new();

    let mut packages = Vec::new();
    for tool in missing {
        if let ToolSource::Apt { package } = tool.source
            && !packages.contains(&package)
        {
            packages.push(package);
        }
    }
    if !packages.is_empty() {
        let install = format!("apt-get install -y --no-install-recommends {}", packages.join(" "));
        let programs: Vec<_> = missing
            .iter()
            .filter(|t| matches!(t.source, ToolSource::Apt { .. }))
            .map(|t| t.program)
            .collect();
        let programs = programs.join(", ");
        match machine {
            MachineRights { apt: false, .. } => bail!(
                "missing: {programs}\nhint: install them with your system's packages (Debian calls them {})",
                packages.join(", ")
            ),
            MachineRights { root: false, .. } => {
                bail!(
                    "missing: {programs}\nhint: run `sudo apt-get update && sudo {install}`, then try again"
                )
            }
            MachineRights { root: true, .. } => {
                commands.push(command("apt-get update"));
                commands.push(command(&install));
            }
        }
    }

    for tool in missing {
        match tool.source {
            ToolSource::Apt { .. } => {}
            ToolSource::Rustup { component } if machine.rustup => {
                commands.push(command(&format!("rustup component add {component}")));
            }
            ToolSource::Rustup { component } => {
                bail!("missing: {}\nhint: install `{component}` where your Rust came from", tool.program)
            }
            ToolSource::Cargo { version } => {
                let mut command =
                    command(&format!("cargo install {} --locked --version {version}", tool.program));
                // Built in a folder of its own, so that it neither fills nor locks the project's.
                command.env_remove("CARGO_TARGET_DIR");
                commands.push(command);
            }
        }
    }
    Ok(commands)
}

fn command(line: &str) -> Command {
    let mut words = line.split(' ');
    let mut command = Command::new(words.next().expect("a command has a first word"));
    command.args(words).env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn is_present(tool: &NeededTool) -> bool {
    match tool.source {
        // The programs of rustup exist even without the component; only starting them shows it.
        ToolSource::Rustup { .. } => {
            Command::new(tool.program).arg("--version").output().is_ok_and(|output| output.status.success())
        }
        ToolSource::Cargo { .. } | ToolSource::Apt { .. } => find(tool.program).is_some(),
    }
}

/// Returns the path of a program. Cargo finds its subcommands in its own folder even if that is not in the `PATH`.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    std::env::split_paths(&path)
        .chain(cargo_home.map(|home| home.join("bin")))
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

fn is_root() -> Result<bool> {
    let output = Command::new("id").arg("-u").output().context("failed to ask `id -u`")?;
    Ok(output.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBIAN_ROOT: MachineRights = MachineRights { root: true, apt: true, rustup: true };

    fn lines(missing: &[NeededTool], machine: MachineRights) -> Result<Vec<String>, String> {
        match plan(missing, machine) {
            Ok(commands) => Ok(commands.iter().map(shown).collect()),
            Err(err) => Err(err.to_string()),
        }
    }

    #[test]
    fn root_gets_everything_installed_packages_first() {
        let commands = lines(&[NEXTEST, GIT, CC, CXX, CLIPPY], DEBIAN_ROOT).unwrap();
        assert_eq!(
            commands,
            [
                "apt-get update",
                "apt-get install -y --no-install-recommends git build-essential",
                "cargo install cargo-nextest --locked --version 0.9.143",
                "rustup component add clippy",
            ]
        );
    }

    #[test]
    fn anybody_else_is_told_what_to_run_before_anything_starts() {
        let err = lines(&[NEXTEST, GIT, CC], MachineRights { root: false, ..DEBIAN_ROOT }).unwrap_err();
        assert_eq!(
            err,
            "missing: git, cc\nhint: run `sudo apt-get update && \
             sudo apt-get install -y --no-install-recommends git build-essential`, then try again"
        );
    }

    #[test]
    fn cargo_tools_need_no_root() {
        let commands = lines(&[DENY], MachineRights { root: false, ..DEBIAN_ROOT }).unwrap();
        assert_eq!(commands, ["cargo install cargo-deny --locked --version 0.20.2"]);
    }

    #[test]
    fn without_apt_the_packages_are_named() {
        let err = lines(&[CC], MachineRights { apt: false, ..DEBIAN_ROOT }).unwrap_err();
        assert!(err.contains("cc") && err.contains("build-essential"), "{err}");
    }
}
