//! Finds trackers and forges that are not supported yet.

use std::collections::BTreeSet;

use ao_config::Loaded;
use ao_config::catalog::{PluginCatalog, PluginSlot};
use ao_config::shape::Plugin;

use super::ConfigFinding;

pub(super) fn look(loaded: &Loaded) -> Vec<ConfigFinding> {
    let mut findings = Vec::new();
    findings.extend(slot(loaded, PluginSlot::Tracker, "tracker"));
    findings.extend(slot(loaded, PluginSlot::Scm, "scm"));
    findings
}

/// Checks a slot for each project. Projects without a setting of their own are reported with the default.
fn slot(loaded: &Loaded, of: PluginSlot, slot: &'static str) -> Vec<ConfigFinding> {
    let missing = |plugin: &Plugin| !loaded.catalog.has(of, &plugin.plugin);
    let config = &loaded.config;
    let mut findings = Vec::new();
    let mut by_default: BTreeSet<&str> = BTreeSet::new();
    for (name, project) in &config.projects {
        let own: Option<&Plugin> =
            if slot == "tracker" { project.tracker.as_ref() } else { project.scm.as_ref() };
        match own {
            Some(own) if missing(own) => {
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
    if let Some(default) = default.filter(|default| counts && missing(default)) {
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
    let of = if slot == "tracker" { PluginSlot::Tracker } else { PluginSlot::Scm };
    let missing = PluginCatalog::not_available(of, name);
    let what = format!("{missing}: {means}; sessions by title (`ao new`) work");
    let mut hint = format!("{way_out}: `ao config set {key} local`");
    if (slot, name) == ("tracker", "github") {
        hint += "; `ao issue import` imports the output of `gh issue list --json`";
    }
    ConfigFinding::warning(slot, loaded.problem_at(path, what, Some(hint)))
}
