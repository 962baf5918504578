//! The catalog of the built-in plugins: the names of each slot, what they are, and the programs they need.
//!
//! The configuration, `ao plugin list`, `ao init` and the findings about missing services read it. The adapters themselves
//! are made in `daemon.rs`, `adapters.rs`, `channels.rs` and `looks/make.rs`.

use std::sync::{Arc, LazyLock};

use ao_config::catalog::{PluginCatalog, PluginInfo, PluginSlot};

static CATALOG: LazyLock<Arc<PluginCatalog>> = LazyLock::new(|| Arc::new(PluginCatalog::new(built_in())));

/// Returns the catalog of the built-in plugins.
pub fn catalog() -> Arc<PluginCatalog> {
    CATALOG.clone()
}

fn built_in() -> Vec<PluginInfo> {
    use PluginSlot as S;
    let fixed = [
        PluginInfo::new(S::Runtime, "tmux", "a pane of a private tmux server").needs("tmux"),
        PluginInfo::new(
            S::Runtime,
            "process",
            "its own process, held by a small program that outlives the daemon",
        ),
        PluginInfo::new(S::Workspace, "worktree", "a git worktree inside the repository").needs("git"),
        PluginInfo::new(S::Workspace, "clone", "its own clone").needs("git"),
        PluginInfo::new(S::Tracker, "local", "issues in the daemon's store, or as files of the repository"),
        PluginInfo::new(S::Scm, "local", "pull requests and checks of the repository itself").needs("git"),
        PluginInfo::new(S::Notifier, "desktop", "a desktop notification"),
        PluginInfo::new(S::Notifier, "slack", "a message through a Slack webhook"),
        PluginInfo::new(S::Notifier, "discord", "a message through a Discord webhook"),
        PluginInfo::new(S::Notifier, "composio", "a tool of a service connected to Composio"),
        PluginInfo::new(S::Notifier, "webhook", "JSON to a URL of yours"),
        PluginInfo::new(S::Notifier, "openclaw", "a hook of an OpenClaw gateway"),
        PluginInfo::new(S::Notifier, "telegram", "a message through a Telegram bot"),
    ];
    let missing = [
        (S::Runtime, ["docker", "kubernetes"].as_slice()),
        (S::Tracker, &["github", "linear", "gitlab", "jira"]),
        (S::Scm, &["github", "gitlab", "gitea"]),
    ];
    let missing = missing
        .into_iter()
        .flat_map(|(slot, names)| names.iter().map(move |name| PluginInfo::missing(slot, name)));
    let agents = ao_agent::known().into_iter().map(|agent| {
        let about = format!("runs `{}`", agent.program);
        PluginInfo::new(S::Agent, agent.name, about).needs(&agent.program)
    });
    fixed.into_iter().chain(agents).chain(missing).collect()
}
