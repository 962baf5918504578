//! Finds trackers and forges that are not supported yet.

use std::collections::BTreeSet;

use ao_config::shape::Plugin;
use ao_config::{Loaded, names};
use ao_daemon::config::not_available;

use super::ConfigFinding;

pub(super) fn look(loaded: &Loaded) -> Vec<ConfigFinding> {
    let mut findings = Vec::new();
    findings.extend(slot(loaded, "tracker", names::AVAILABLE_TRACKERS));
    findings.extend(slot(loaded, "scm", names::AVAILABLE_SCMS));
    findings
}

/// Checks a slot for each project. Projects without a setting of their own are reported with the default.
fn slot(loaded: &Loaded, slot: &'static str, available: &[&str]) -> Vec<ConfigFinding> {
    let config = &loaded.config;
    let mut findings = Vec::new();
    let mut by_default: BTreeSet<&str> = BTreeSet::new();
    for (name, project) in &config.projects {
        let own: Option<&Plugin> =
            if slot == "tracker" { project.tracker.as_ref() } else { project.scm.as_ref() };
        match own {
            Some(own) if !available.contains(&own.plugin.as_str()) => {
                let key = format!("projects.{name}.{slot}");
                let path = ["projects", name.as_str(), slot, "plugin"];
                let forge = project.scm.as_ref().or(config.defaults.scm.as_ref()).is_some();
                findings.push(finding(loaded, slot, &own.plugin, forge, &path, &key));
            }
            Some(_) => {}
            None => {
                by_default.insert(name);
            }
        }
    }
    let default =
        if slot == "tracker" { Some(&config.defaults.tracker) } else { config.defaults.scm.as_ref() };
    let counts = config.projects.is_empty() || !by_default.is_empty();
    if let Some(default) = default.filter(|default| counts && !available.contains(&default.plugin.as_str())) {
        let (key, path) = (format!("defaults.{slot}"), ["defaults", slot, "plugin"]);
        findings.push(finding(loaded, slot, &default.plugin, config.defaults.scm.is_some(), &path, &key));
    }
    findings
}

/// `forge` is true if a forge is configured; otherwise it follows the tracker.
fn finding(
    loaded: &Loaded,
    slot: &'static str,
    name: &str,
    forge: bool,
    path: &[&str],
    key: &str,
) -> ConfigFinding {
    let (means, way_out) = match (slot, forge) {
        ("tracker", true) => ("`ao spawn ISSUE` refuses, and no issue is assigned", "keep issues here"),
        ("tracker", false) => (
            "`ao spawn ISSUE` refuses, no issue is assigned, and there are no pull requests and checks",
            "keep issues here",
        ),
        _ => ("there are no pull requests and checks", "keep pull requests in the repository itself"),
    };
    let what = format!("{}: {means}; sessions by title (`ao new`) work", not_available(slot, name));
    let mut hint = format!("{way_out}: `ao config set {key} local`");
    if (slot, name) == ("tracker", "github") {
        hint += "; `ao issue import` imports the output of `gh issue list --json`";
    }
    ConfigFinding::warning(slot, loaded.problem_at(path, what, Some(hint)))
}
