//! Finds keys of a second project's file that have no effect: there is one daemon, and the first file sets its global
//! keys.

use ao_config::shape::Config;
use ao_config::{Loaded, Problem};
use serde_json::Value;

use super::{ConfigFinding, MachineFacts};

/// The top-level keys that apply to the whole daemon.
const FOR_ALL: [&str; 10] = [
    "port",
    "server",
    "power",
    "dashboard",
    "lifecycle",
    "dailyBudget",
    "notifiers",
    "notificationRouting",
    "quietHours",
    "digest",
];

pub(super) fn look(loaded: &Loaded, facts: &MachineFacts) -> Vec<ConfigFinding> {
    let Some(main) = &facts.main else { return vec![] };
    let first = main.main_file().map(ToString::to_string).unwrap_or_default();
    let what = |key: &str| {
        format!("`{key}` has no effect here: `{first}` was registered first and applies to all projects")
    };
    let hint = |key: &str| {
        Some(format!("set `{key}` there, or in your own file (`ao config set --user …`), and remove it here"))
    };
    let (here, there) = (whole(&loaded.config), whole(&main.config));
    let mut found: Vec<Problem> = FOR_ALL
        .iter()
        // Equal values are no finding.
        .filter(|key| here.get(**key) != there.get(**key))
        .filter_map(|key| loaded.problem_at_top(key, what(key), hint(key)))
        .collect();
    let notifiers = ["defaults", "notifiers"];
    let differ = loaded.config.defaults.notifiers != main.config.defaults.notifiers;
    if differ && loaded.problem_at_top("defaults", "", None).is_some() && loaded.is_written(&notifiers) {
        let key = "defaults.notifiers";
        found.push(loaded.problem_at(
            &notifiers,
            what(key),
            Some(format!("set `notifiers` of the project instead, or `{key}` there")),
        ));
    }
    found.into_iter().map(|problem| ConfigFinding::warning("config", problem)).collect()
}

fn whole(config: &Config) -> Value {
    let mut whole = serde_json::to_value(config).expect("a configuration can be written");
    // Each file decides by itself whether `ao start` opens the page.
    if let Some(dashboard) = whole["dashboard"].as_object_mut() {
        dashboard.remove("open");
    }
    whole
}
