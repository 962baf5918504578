//! Any bytes as a configuration file, and as a key and a value to set in one.
#![no_main]

use std::sync::Arc;

use ao_config::catalog::{PluginCatalog, PluginInfo, PluginSlot};
use ao_config::{Env, Places, edit, parse_str};
use camino::Utf8Path;
use libfuzzer_sys::fuzz_target;

/// Returns a catalog with a plugin in each slot that a configuration names.
fn catalog() -> Arc<PluginCatalog> {
    let named = [
        (PluginSlot::Runtime, "tmux"),
        (PluginSlot::Runtime, "process"),
        (PluginSlot::Agent, "claude-code"),
        (PluginSlot::Workspace, "worktree"),
        (PluginSlot::Tracker, "github"),
        (PluginSlot::Scm, "github"),
        (PluginSlot::Notifier, "desktop"),
    ];
    Arc::new(PluginCatalog::new(named.map(|(slot, name)| PluginInfo::new(slot, name, "for fuzzing"))))
}

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    let places = Places {
        env: Env::new([("SET".to_owned(), "s3cret-value".to_owned())]),
        cwd: "/repo".into(),
        home: Some("/people/ann".into()),
        catalog: catalog(),
    };
    let name = Utf8Path::new("/repo/agent-orchestrator.yaml");
    match parse_str(name, &text, &places) {
        Ok(loaded) => {
            // The shown configuration has the same meaning.
            let shown = loaded.show();
            let again = parse_str(name, &shown, &places).expect("what is shown can be read");
            assert_eq!(again.config, loaded.config);
            let _ = loaded.config.settings();
            for project in loaded.config.projects.values() {
                let _ = project.core(&places.env);
            }
        }
        Err(err) => assert!(!err.to_string().is_empty()),
    }
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    for (key, value) in [("defaults.runtime", first), ("projects.app.agentRules", first), ("port", "1")] {
        if let Ok(after) = edit::set(rest, key, value) {
            assert!(edit::set(&after, key, value).is_ok_and(|again| again == after));
        }
    }
    let _ = edit::unset(rest, "projects.app");
});
