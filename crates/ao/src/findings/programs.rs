//! Finds programs that the configured runtimes need and that are not installed.

use ao_config::Loaded;

use super::ConfigFinding;
use crate::combination::{UnfitCombination, missing_program};

/// The id of these findings. `ao doctor` checks programs itself, in more detail.
pub(crate) const PROGRAM: &str = "program";

/// Reports a missing program before a session is refused for it. A missing agent is not reported here: each session can
/// choose its own.
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
