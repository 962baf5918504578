//! Finds programs that the configured runtimes need and that are not installed.

use ao_config::Loaded;

use super::ConfigFinding;
use crate::program;

/// The id of these findings. `ao doctor` checks programs itself, in more detail.
pub(crate) const PROGRAM: &str = "program";

/// Reports a missing tmux before a session is refused for it. A missing agent is not reported here: each session can
/// choose its own.
pub(super) fn look(loaded: &Loaded) -> Option<ConfigFinding> {
    let config = &loaded.config;
    let mut projects = config.projects.keys().filter_map(|name| config.effective(name));
    let wants = projects.find(|project| project.runtime.plugin == "tmux")?;
    if program::find("tmux").is_some() {
        return None;
    }
    let path: &[&str] = match wants.project.runtime.is_some() {
        true => &["projects", wants.name, "runtime"],
        false => &["defaults", "runtime"],
    };
    let what = "the runtime `tmux` needs the program `tmux`, which is not installed";
    let hint = "install tmux, or use the built-in terminal: `ao config set defaults.runtime process`";
    Some(ConfigFinding::warning(PROGRAM, loaded.problem_at(path, what, Some(hint.to_owned()))))
}
