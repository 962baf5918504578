//! What a step needs on the machine, and how to get it.
//!
//! A tool that is there is used as it is; only what is missing gets installed. Cargo's tools can be installed by
//! anybody. Debian's packages need root: for others we name the command and stop before anything has started.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::process::shown;

/// Something a step cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tool {
    /// The program whose presence tells.
    program: &'static str,
    source: Source,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// `cargo install --locked`, at the version this repository was tried with.
    Cargo { version: &'static str },
    /// A component of the Rust toolchain.
    Rustup { component: &'static str },
    /// A package of Debian and its children.
    Apt { package: &'static str },
}

pub(crate) const RUSTFMT: Tool = rustup("cargo-fmt", "rustfmt");
pub(crate) const CLIPPY: Tool = rustup("cargo-clippy", "clippy");
pub(crate) const NEXTEST: Tool = cargo("cargo-nextest", "0.9.143");
pub(crate) const DENY: Tool = cargo("cargo-deny", "0.20.2");
pub(crate) const FUZZ: Tool = cargo("cargo-fuzz", "0.13.2");
pub(crate) const GIT: Tool = apt("git", "git");
/// Processes that make themselves daemons are tried with it.
pub(crate) const PYTHON: Tool = apt("python3", "python3");
/// The bus on which a stand-in for logind is asked to keep the machine awake.
pub(crate) const DBUS: Tool = apt("dbus-daemon", "dbus-daemon");
/// A runtime of ours; its tests need the real one.
pub(crate) const TMUX: Tool = apt("tmux", "tmux");
/// Calls the API as programs of the same user do.
pub(crate) const CURL: Tool = apt("curl", "curl");
/// Completion is tried in the shells that people use; bash is there wherever the rest is.
pub(crate) const ZSH: Tool = apt("zsh", "zsh");
pub(crate) const FISH: Tool = apt("fish", "fish");
/// SQLite is built from its C source.
pub(crate) const CC: Tool = apt("cc", "build-essential");
/// libFuzzer is built from its C++ source.
pub(crate) const CXX: Tool = apt("c++", "build-essential");

const fn rustup(program: &'static str, component: &'static str) -> Tool {
    Tool { program, source: Source::Rustup { component } }
}

const fn cargo(program: &'static str, version: &'static str) -> Tool {
    Tool { program, source: Source::Cargo { version } }
}

const fn apt(program: &'static str, package: &'static str) -> Tool {
    Tool { program, source: Source::Apt { package } }
}

/// Makes sure that every tool is there, or says what is missing and how to get it.
pub(crate) fn ensure(needed: &[Tool]) -> Result<()> {
    let mut missing: Vec<Tool> = Vec::new();
    for tool in needed {
        if !missing.contains(tool) && !is_present(tool) {
            missing.push(*tool);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }

    let machine =
        Machine { root: is_root()?, apt: find("apt-get").is_some(), rustup: find("rustup").is_some() };
    for mut command in plan(&missing, machine)? {
        say!("── installing ──\n$ {}", shown(&command));
        let status = command.status().with_context(|| format!("failed to start `{}`", shown(&command)))?;
        ensure!(status.success(), "`{}` failed: {status}", shown(&command));
    }
    Ok(())
}

/// What decides how things can be installed.
#[derive(Debug, Clone, Copy)]
struct Machine {
    root: bool,
    apt: bool,
    rustup: bool,
}

/// The commands that bring what is missing, or an error that names what a person has to do.
fn plan(missing: &[Tool], machine: Machine) -> Result<Vec<Command>> {
    let mut commands = Vec::new();

    let mut packages = Vec::new();
    for tool in missing {
        if let Source::Apt { package } = tool.source
            && !packages.contains(&package)
        {
            packages.push(package);
        }
    }
    if !packages.is_empty() {
        let install = format!("apt-get install -y --no-install-recommends {}", packages.join(" "));
        let programs: Vec<_> =
            missing.iter().filter(|t| matches!(t.source, Source::Apt { .. })).map(|t| t.program).collect();
        let programs = programs.join(", ");
        match machine {
            Machine { apt: false, .. } => bail!(
                "missing: {programs}\nhint: install them with your system's packages (Debian calls them {})",
                packages.join(", ")
            ),
            Machine { root: false, .. } => {
                bail!(
                    "missing: {programs}\nhint: run `sudo apt-get update && sudo {install}`, then try again"
                )
            }
            Machine { root: true, .. } => {
                commands.push(command("apt-get update"));
                commands.push(command(&install));
            }
        }
    }

    for tool in missing {
        match tool.source {
            Source::Apt { .. } => {}
            Source::Rustup { component } if machine.rustup => {
                commands.push(command(&format!("rustup component add {component}")));
            }
            Source::Rustup { component } => {
                bail!("missing: {}\nhint: install `{component}` where your Rust came from", tool.program)
            }
            Source::Cargo { version } => {
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

fn is_present(tool: &Tool) -> bool {
    match tool.source {
        // The programs of rustup are there even where the component is not; only starting them tells.
        Source::Rustup { .. } => {
            Command::new(tool.program).arg("--version").output().is_ok_and(|output| output.status.success())
        }
        Source::Cargo { .. } | Source::Apt { .. } => find(tool.program).is_some(),
    }
}

/// Where a program lies. Cargo finds its subcommands in its own folder even if that is not in the `PATH`.
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

    const DEBIAN_ROOT: Machine = Machine { root: true, apt: true, rustup: true };

    fn lines(missing: &[Tool], machine: Machine) -> Result<Vec<String>, String> {
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
        let err = lines(&[NEXTEST, GIT, CC], Machine { root: false, ..DEBIAN_ROOT }).unwrap_err();
        assert_eq!(
            err,
            "missing: git, cc\nhint: run `sudo apt-get update && \
             sudo apt-get install -y --no-install-recommends git build-essential`, then try again"
        );
    }

    #[test]
    fn cargo_tools_need_no_root() {
        let commands = lines(&[DENY], Machine { root: false, ..DEBIAN_ROOT }).unwrap();
        assert_eq!(commands, ["cargo install cargo-deny --locked --version 0.20.2"]);
    }

    #[test]
    fn without_apt_the_packages_are_named() {
        let err = lines(&[CC], Machine { apt: false, ..DEBIAN_ROOT }).unwrap_err();
        assert!(err.contains("cc") && err.contains("build-essential"), "{err}");
    }
}
