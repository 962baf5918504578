//! Rewrites the other dialects in which a configuration may be written into the main one.
//!
//! | written | means |
//! |---|---|
//! | `orchestrator.max_parallel_agents` | `lifecycle.maxParallelAgents` |
//! | `orchestrator.reaction_handlers.ci_failure` | `reactions.ci-failed`; `max_retries` is `retries` |
//! | `orchestrator.reaction_handlers.review_comments` | `reactions.changes-requested`; `auto_respond` is `auto`, `require_approval_after` is `escalateAfter` |
//! | `runtime`, `agent`, `workspace`, `tracker`, `scm` at the top, with no `projects` | `defaults`, and one project |
//! | `tracker.owner`, `tracker.repo` | that project's `repo`, and its name; its `path` is the folder of the file |
//! | `notifier` | `defaults.notifiers`, and a channel if it has options |
//!
//! Other spellings of the same key or value (`snake_case`, `spawn_agent`, `approved`) are handled by the schema, not
//! here.

use camino::Utf8Path;

use crate::names::folded;
use crate::normalize::ConfigMistake;
use crate::tree::{ConfigTree, TextPosition, TreeEntry, TreeMap, TreeValue};

/// Rewrites a layer. `folder` is the folder of its file.
pub(crate) fn to_main(tree: &mut ConfigTree, folder: &Utf8Path) -> Result<(), ConfigMistake> {
    let at = tree.at;
    let Some(top) = tree.as_map_mut() else {
        return Err(mistake(
            at,
            format!("a configuration has to be a mapping, but this is {}", tree.described()),
        ));
    };
    handlers(top);
    one_project(top, at, folder)
}

/// Moves the limits and reactions that dialect b has below `orchestrator`.
fn handlers(top: &mut TreeMap) {
    let Some(orchestrator) = entry_mut(top, "orchestrator").and_then(|entry| entry.tree.as_map_mut()) else {
        return;
    };
    let most = take(orchestrator, "maxParallelAgents");
    let handlers = take(orchestrator, "reactionHandlers");
    if let Some(most) = most {
        put(top, "lifecycle", "maxParallelAgents", most);
    }
    if let Some(TreeEntry { tree: ConfigTree { value: TreeValue::Map(handlers), .. }, .. }) = handlers {
        for (kind, handler) in handlers {
            put(top, "reactions", &kind, handler);
        }
    }
}

/// Dialect c: a file that configures only the repository it is in.
fn one_project(top: &mut TreeMap, at: TextPosition, folder: &Utf8Path) -> Result<(), ConfigMistake> {
    const SLOTS: [&str; 5] = ["runtime", "agent", "workspace", "tracker", "scm"];
    let has = |top: &TreeMap, key: &str| top.keys().any(|known| folded(known) == key);
    if has(top, "projects")
        || has(top, "defaults")
        || !SLOTS.iter().chain(&["notifier"]).any(|key| has(top, key))
    {
        return Ok(());
    }
    let mut project = TreeMap::new();
    let mut name = folder.file_name().unwrap_or("project").to_owned();
    let mut key_at = at;
    for slot in SLOTS {
        let Some(mut entry) = take(top, slot) else { continue };
        if let Some(options) = entry.tree.as_map_mut() {
            if slot == "tracker" {
                let owner = take(options, "owner");
                if let Some(repo) = take(options, "repo") {
                    let repo_name = plain(&repo.tree)?;
                    let owned = match &owner {
                        Some(owner) => format!("{}/{repo_name}", plain(&owner.tree)?),
                        None => repo_name.clone(),
                    };
                    name = repo_name.rsplit('/').next().unwrap_or_default().to_owned();
                    key_at = repo.key_at;
                    let entry =
                        TreeEntry { key_at: repo.key_at, tree: ConfigTree::text(owned, repo.tree.at) };
                    project.insert("repo".into(), entry);
                } else if let Some(owner) = owner {
                    return Err(mistake(owner.key_at, "`owner` needs a `repo` beside it".into()));
                }
            }
            if slot == "agent" {
                let Some(plugin) = take(options, "plugin") else {
                    return Err(mistake(entry.key_at, "`plugin` is missing in `agent`".into()));
                };
                let rest = std::mem::replace(&mut entry.tree, plugin.tree);
                if rest.as_map().is_some_and(|rest| !rest.is_empty()) {
                    project.insert("agentConfig".into(), TreeEntry { key_at: entry.key_at, tree: rest });
                }
            }
        }
        put(top, "defaults", slot, entry);
    }
    notifier(top)?;
    if let Some(branch) = take(top, "defaultBranch") {
        project.insert("defaultBranch".into(), branch);
    }
    project.insert("path".into(), TreeEntry { key_at, tree: ConfigTree::text(".", key_at) });
    let project = ConfigTree { value: TreeValue::Map(project), at: key_at, written: None };
    put(top, "projects", &name, TreeEntry { key_at, tree: project });
    Ok(())
}

fn notifier(top: &mut TreeMap) -> Result<(), ConfigMistake> {
    let Some(entry) = take(top, "notifier") else { return Ok(()) };
    let at = entry.tree.at;
    let several = match entry.tree.value {
        TreeValue::List(list) => list,
        _ => vec![entry.tree],
    };
    let mut names = Vec::new();
    for one in several {
        let plugin = match &one.value {
            TreeValue::Map(options) => {
                options.iter().find(|(key, _)| folded(key) == "plugin").map(|(_, entry)| &entry.tree)
            }
            _ => Some(&one),
        };
        let Some(plugin) = plugin else {
            return Err(mistake(one.at, "`plugin` is missing in `notifier`".into()));
        };
        let name = plain(plugin)?;
        names.push(ConfigTree::text(&name, plugin.at));
        if one.as_map().is_some_and(|options| options.len() > 1) {
            put(top, "notifiers", &name, TreeEntry { key_at: one.at, tree: one });
        }
    }
    let names = ConfigTree { value: TreeValue::List(names), at, written: None };
    put(top, "defaults", "notifiers", TreeEntry { key_at: entry.key_at, tree: names });
    Ok(())
}

/// Inserts an entry into a top-level mapping, which is created if it is missing.
fn put(top: &mut TreeMap, group: &str, key: &str, entry: TreeEntry) {
    if entry_mut(top, group).is_none() {
        top.insert(
            group.to_owned(),
            TreeEntry { key_at: entry.key_at, tree: ConfigTree::map(entry.tree.at) },
        );
    }
    let group = entry_mut(top, group).expect("just made");
    if group.tree.value == TreeValue::Null {
        group.tree.value = TreeValue::Map(TreeMap::new());
    }
    // A group that is not a mapping is reported when the layer is normalized. If both dialects set a key, the main one
    // wins.
    if let Some(group) = group.tree.as_map_mut() {
        match entry_mut(group, key) {
            Some(known) => {
                let main = std::mem::replace(&mut known.tree, entry.tree);
                known.tree.overlay(main);
            }
            None => {
                group.insert(key.to_owned(), entry);
            }
        }
    }
}

fn entry_mut<'a>(map: &'a mut TreeMap, key: &str) -> Option<&'a mut TreeEntry> {
    map.iter_mut().find(|(known, _)| folded(known) == folded(key)).map(|(_, entry)| entry)
}

fn take(map: &mut TreeMap, key: &str) -> Option<TreeEntry> {
    let found = map.keys().find(|known| folded(known) == folded(key))?.clone();
    map.shift_remove(&found)
}

fn plain(tree: &ConfigTree) -> Result<String, ConfigMistake> {
    match &tree.value {
        TreeValue::Text(text) => Ok(text.clone()),
        TreeValue::Number(number) => Ok(tree.written.clone().unwrap_or_else(|| number.to_string())),
        _ => Err(mistake(tree.at, format!("a name is expected here, but this is {}", tree.described()))),
    }
}

fn mistake(at: TextPosition, what: String) -> ConfigMistake {
    ConfigMistake { at, what, hint: None }
}
