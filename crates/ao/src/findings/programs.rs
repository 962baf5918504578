//! Finds programs that the configured runtimes and the user's own agents need and that are not installed.

use std::path::PathBuf;

use ao_config::Loaded;
use ao_daemon::config::apply::agents_of;
use ao_daemon::registry;

use super::ConfigFinding;
use crate::combination::{UnfitCombination, missing_program};
use crate::program;

/// The id of these findings. `ao doctor` checks programs itself, in more detail.
pub(crate) const PROGRAM: &str = "program";

/// Reports a missing program before a session is refused for it. A missing named agent is not reported here: each session
/// can choose its own.
pub(super) fn look(loaded: &Loaded) -> Option<ConfigFinding> {
    let config = &loaded.config;
    let mut projects = config.projects.keys().filter_map(|name| config.effective(name));
    let (project, missing) = projects.find_map(|project| {
        Some((project.clone(), missing_program(&project.runtime.plugin, &loaded.catalog)?))
    })?;
    let path: &[&str] = match project.project.runtime.is_some() {
        true => &["projects", project.name, "runtime"],
        false => &["defaults", "runtime"],
    };
    let UnfitCombination { what, hint } = missing;
    Some(ConfigFinding::warning(PROGRAM, loaded.problem_at(path, what, Some(hint))))
}

/// Reports the user's own agents whose program is missing.
pub(super) fn own_agents(loaded: &Loaded) -> Vec<ConfigFinding> {
    let agents = agents_of(loaded, &registry::built_in());
    let own = loaded.config.tools.keys().filter_map(|name| agents.get(name));
    let finding = |agent: &ao_agent::Options| {
        let ao_agent::Options { name, program, .. } = agent;
        let what = format!("the agent `{name}` is the program `{program}`, which is not installed");
        let hint = match &agent.install {
            Some(install) => install.clone(),
            None => "install it, or write its whole path".to_owned(),
        };
        ConfigFinding::warning(PROGRAM, loaded.problem(&["tools", name, "program"], &what, Some(hint)))
    };
    own.filter(|agent| find_agent(agent).is_none()).map(finding).collect()
}

/// Finds the program of an agent as the daemon does, which runs in `/`.
pub(crate) fn find_agent(agent: &ao_agent::Options) -> Option<PathBuf> {
    match agent.program.contains('/') {
        true => program::find(&format!("/{}", agent.program.trim_start_matches('/'))),
        false => program::find(&agent.program),
    }
}
