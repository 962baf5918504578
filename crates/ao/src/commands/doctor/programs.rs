//! Checks the programs that are needed: git, the runtimes, and the agents.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use ao_config::Loaded;
use ao_config::catalog::{PluginInfo, PluginSlot};
use ao_daemon::config::apply::agents_of;
use ao_daemon::registry;

use super::finding::DoctorFinding;
use crate::findings::find_agent;
use crate::program;

/// The oldest supported git.
const GIT: (u32, u32) = (2, 36);
/// Time for a program to print its version.
const LIMIT: Duration = Duration::from_secs(10);

pub(super) async fn git() -> Vec<DoctorFinding> {
    let install = install("git");
    let asked = async {
        let mut git = program::git(Path::new(".")).await?;
        git.arg("version");
        program::ask(git, LIMIT).await
    };
    let Ok(output) = asked.await else {
        return vec![
            DoctorFinding::problem("git", "git is not installed")
                .means("every session works on a branch of a git repository; nothing can start without it")
                .fix(install),
        ];
    };
    let said = program::text(&output.stdout);
    let found = match version(&said) {
        Some(version) if version >= GIT => DoctorFinding::ok("git", said),
        Some(_) => {
            DoctorFinding::problem("git", format!("{said} is too old; 2.36 or newer is needed")).fix(install)
        }
        None => DoctorFinding::warning("git", format!("cannot parse git's version: `{said}`")).fix(install),
    };
    vec![found, identity().await]
}

/// Checks the user's git identity. Agents commit under their own.
async fn identity() -> DoctorFinding {
    let mut missing = Vec::new();
    for key in ["user.name", "user.email"] {
        let asked = async {
            let mut git = program::git(Path::new(".")).await?;
            git.args(["config", "--get", key]);
            program::ask(git, LIMIT).await
        };
        let set = asked.await.is_ok_and(|output| output.status.success());
        if !set {
            missing.push(key);
        }
    }
    match missing.is_empty() {
        true => DoctorFinding::ok("identity", "git knows your name and email"),
        false => DoctorFinding::warning(
            "identity",
            format!("git does not know your {}", missing.join(" and ")),
        )
        .means("agents commit under their own names, but your commits and merges need yours")
        .fix("git config --global user.name 'Your Name' && git config --global user.email you@example.com"),
    }
}

/// Parses `git version 2.47.3 (…)`.
fn version(said: &str) -> Option<(u32, u32)> {
    let number = said.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut parts = number.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??))
}

/// Checks the programs of the runtimes.
pub(super) async fn runtimes(loaded: Option<&Loaded>) -> Vec<DoctorFinding> {
    let wanted = match loaded {
        Some(loaded) => {
            names(loaded, |project| project.runtime.plugin.clone(), &loaded.config.defaults.runtime.plugin)
        }
        None => BTreeSet::new(),
    };
    let catalog = registry::catalog();
    let without = catalog.of(PluginSlot::Runtime).find(|runtime| runtime.program.is_none());
    let without = without.map_or("", |runtime| &runtime.name);
    let finding = |runtime: &PluginInfo| {
        let (name, is_wanted) = (&runtime.name, wanted.contains(&runtime.name));
        let Some(program) = runtime.program.as_deref() else {
            let is_used = is_wanted || wanted.is_empty();
            return is_used
                .then(|| DoctorFinding::ok("runtime", "agents can run in ao's built-in terminals"));
        };
        match (is_wanted, program::is_there(runtime)) {
            (true, true) => Some(DoctorFinding::ok("runtime", format!("{program} is installed"))),
            (true, false) => {
                let what = format!("agents are to run in {name}, and `{program}` is not installed");
                let other = format!("or run agents without it: `ao config set defaults.runtime {without}`");
                Some(DoctorFinding::problem("runtime", what).fix(format!("{}; {other}", install(program))))
            }
            // The default runtime is missing, and no configuration asks for another.
            (false, false) if loaded.is_none() => {
                let means = "it is not needed: agents run in ao's built-in terminals, and outlive the daemon there too";
                let what = format!("{program} is not installed");
                Some(DoctorFinding::warning("runtime", what).means(means).fix(install(program)))
            }
            (false, false) => {
                let what = format!("{program} is not installed, and not needed here");
                Some(DoctorFinding::ok("runtime", what))
            }
            (false, true) => None,
        }
    };
    catalog.of(PluginSlot::Runtime).filter_map(finding).collect()
}

/// Checks the configured agents; without a configuration, the installed ones.
pub(super) fn agents(loaded: Option<&Loaded>) -> Vec<DoctorFinding> {
    let Some(loaded) = loaded else { return vec![any_agent()] };
    let config = &loaded.config;
    let mut wanted = names(loaded, |project| project.agent.to_owned(), &config.defaults.agent);
    wanted.extend(names(loaded, |project| project.orchestrator.to_owned(), &config.defaults.agent));
    // A specialist stands for the agent that it is based on.
    let specialists: BTreeSet<String> =
        config.agents.iter().map(|specialist| specialist.id.clone()).collect();
    wanted.extend(config.agents.iter().map(|specialist| specialist.tool.clone()));
    wanted.extend(config.tools.keys().cloned());
    let agents = agents_of(loaded, &registry::built_in());
    let named = wanted.iter().filter(|name| !specialists.contains(*name));
    named.filter_map(|name| agents.get(name)).map(agent).collect()
}

fn agent(agent: &ao_agent::Options) -> DoctorFinding {
    let ao_agent::Options { name, program, install, .. } = agent;
    match find_agent(agent) {
        Some(path) => DoctorFinding::ok("agent", format!("{name} is {}", path.display())),
        None => DoctorFinding::problem(
            "agent",
            format!("{name} is configured, and its program `{program}` is not installed"),
        )
        .means("sessions with it cannot start")
        .fix(install.as_deref().map_or("install it, or write its whole path in `tools`".to_owned(), get)),
    }
}

fn any_agent() -> DoctorFinding {
    let catalog = registry::catalog();
    let there: Vec<&str> =
        catalog.of(PluginSlot::Agent).filter(|it| program::is_there(it)).map(|it| it.name.as_str()).collect();
    if !there.is_empty() {
        return DoctorFinding::ok("agent", format!("installed: {}", there.join(", ")));
    }
    let first = catalog.of(PluginSlot::Agent).next().and_then(|agent| agent.install.as_deref());
    DoctorFinding::problem("agent", "no agent is installed")
        .means("`ao demo` shows what happens without one; real work needs one")
        .fix(get(first.unwrap_or_default()))
}

/// Returns the command that installs something, with what that command needs.
fn get(command: &str) -> String {
    let tool = command.split_whitespace().next().unwrap_or_default();
    let package = match tool {
        "npm" => "npm",
        "pipx" => "pipx",
        _ => return command.to_owned(),
    };
    match program::find(tool) {
        Some(_) => command.to_owned(),
        None => format!("{}, then: {command}", install(package)),
    }
}

/// Returns the value that each project uses for a setting, or the default if there are no projects.
fn names(
    loaded: &Loaded,
    of: impl Fn(&ao_config::Effective<'_>) -> String,
    default: &str,
) -> BTreeSet<String> {
    let config = &loaded.config;
    if config.projects.is_empty() {
        return BTreeSet::from([default.to_owned()]);
    }
    config.projects.keys().filter_map(|name| config.effective(name)).map(|project| of(&project)).collect()
}

/// Returns the command that installs a package on this system.
pub(super) fn install(package: &str) -> String {
    for (manager, command) in [
        ("apt-get", "sudo apt-get install"),
        ("dnf", "sudo dnf install"),
        ("pacman", "sudo pacman -S"),
        ("zypper", "sudo zypper install"),
        ("apk", "sudo apk add"),
        ("brew", "brew install"),
    ] {
        if program::find(manager).is_some() {
            return format!("{command} {package}");
        }
    }
    format!("install {package} with your system's package manager")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_git_says_them() {
        assert_eq!(version("git version 2.47.3"), Some((2, 47)));
        assert_eq!(version("git version 2.39.5 (Apple Git-154)"), Some((2, 39)));
        assert_eq!(version("git version 3.0.rc1"), Some((3, 0)));
        assert_eq!(version("something else"), None);
    }
}
