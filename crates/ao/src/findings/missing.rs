//! Finds configured names that no plugin has yet.

use ao_config::catalog::{MissingPlugin, PluginSlot};
use ao_config::{Loaded, Problem};

use super::{ConfigFinding, FindingSeverity};

/// A name in `refused` prevents a start, because sessions need it.
pub(super) fn look(loaded: &Loaded, refused: &[Problem]) -> Vec<ConfigFinding> {
    let finding = |missing: &MissingPlugin| {
        let is_refused = refused.iter().any(|problem| problem.what == missing.problem.what);
        let mut problem = missing.problem.clone();
        if let Some(means) = consequence(loaded, missing) {
            problem.what += &format!(": {means}; sessions by title (`ao new`) work");
        }
        let severity = if is_refused { FindingSeverity::Error } else { FindingSeverity::Problem };
        ConfigFinding { id: missing.slot.word(), severity, problem }
    };
    loaded.missing.iter().map(finding).collect()
}

fn consequence(loaded: &Loaded, missing: &MissingPlugin) -> Option<&'static str> {
    let config = &loaded.config;
    let own = match &missing.path[..] {
        [top, project, ..] if top == "projects" => {
            config.projects.get(project).and_then(|it| it.scm.as_ref())
        }
        _ => None,
    };
    match missing.slot {
        PluginSlot::Tracker if own.or(config.defaults.scm.as_ref()).is_some() => {
            Some("`ao spawn ISSUE` refuses, and no issue is assigned")
        }
        // The forge follows the tracker.
        PluginSlot::Tracker => {
            Some("`ao spawn ISSUE` refuses, no issue is assigned, and there are no pull requests and checks")
        }
        PluginSlot::Scm => Some("there are no pull requests and checks"),
        _ => None,
    }
}
