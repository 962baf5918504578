//! A fake environment, independent of the machine.

use std::sync::{Arc, LazyLock};

use ao_config::catalog::{PluginCatalog, PluginInfo, PluginSlot};
use ao_config::{ConfigError, Env, Loaded, Places, parse_str};
use camino::Utf8Path;

/// Returns a folder, a home and an environment that do not exist.
pub(crate) fn places() -> Places {
    places_with(&[])
}

pub(crate) fn places_with(variables: &[(&str, &str)]) -> Places {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Places {
        env: Env::new(variables),
        cwd: "/repo/here".into(),
        home: Some("/people/ann".into()),
        catalog: catalog(),
    }
}

/// Returns a catalog with the names that the examples use.
pub(crate) fn catalog() -> Arc<PluginCatalog> {
    let there = [
        (PluginSlot::Runtime, &RUNTIMES[..]),
        (PluginSlot::Agent, &AGENTS),
        (PluginSlot::Workspace, &["worktree", "clone"]),
        (PluginSlot::Tracker, &["local"]),
        (PluginSlot::Scm, &["local"]),
        (
            PluginSlot::Notifier,
            &["desktop", "slack", "discord", "composio", "webhook", "openclaw", "telegram"],
        ),
    ];
    let missing = [
        (PluginSlot::Runtime, &["docker", "kubernetes"][..]),
        (PluginSlot::Tracker, &["github", "linear", "gitlab", "jira"]),
        (PluginSlot::Scm, &["github", "gitlab", "gitea"]),
    ];
    let there = there
        .into_iter()
        .flat_map(|(slot, names)| names.iter().map(move |name| PluginInfo::new(slot, *name, "of the tests")));
    let missing = missing
        .into_iter()
        .flat_map(|(slot, names)| names.iter().map(move |name| PluginInfo::missing(slot, name)));
    let options = |plugin: PluginInfo| match plugin.slot {
        PluginSlot::Tracker => PluginInfo { options: Some(&[("keep", &["store", "files"])]), ..plugin },
        PluginSlot::Scm => PluginInfo { options: Some(&[]), ..plugin },
        _ => plugin,
    };
    Arc::new(PluginCatalog::new(there.map(options).chain(missing)))
}

pub(crate) const RUNTIMES: [&str; 2] = ["tmux", "process"];
pub(crate) const AGENTS: [&str; 6] = ["claude-code", "codex", "aider", "cursor", "opencode", "gemini"];

pub(crate) fn read(text: &str) -> Result<Loaded, ConfigError> {
    parse_str(Utf8Path::new("/repo/here/agent-orchestrator.yaml"), text, &places())
}

/// Returns all mistakes in a text, as displayed.
pub(crate) fn wrong_with(text: &str) -> String {
    match parse_str(Utf8Path::new("ao.yaml"), text, &places()) {
        Ok(_) => "nothing".to_owned(),
        Err(err) => err.to_string(),
    }
}

/// The examples of the document on existing configurations, by name and unchanged.
pub(crate) static EXAMPLES: LazyLock<[(&str, &str); 3]> = LazyLock::new(|| {
    let document = include_str!("../../../ao/tests/fixtures/surface.md");
    let mut blocks =
        document.split("```yaml\n").skip(1).map(|block| block.split("```").next().unwrap_or(block));
    ["main", "specialists", "one-project"].map(|name| (name, blocks.next().expect("there are three")))
});
