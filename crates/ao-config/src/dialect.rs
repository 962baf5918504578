//! The dialects in which documents write a configuration, brought to the main one.
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
//! Other names of the same thing (`snake_case`, `spawn_agent`, `approved`) are in the schema, and no matter of this file.

use camino::Utf8Path;

use crate::fit::Misfit;
use crate::names::folded;
use crate::tree::{At, Entry, Map, Tree, Value};

/// Rewrites a layer. `folder` is where its file is.
pub(crate) fn to_main(tree: &mut Tree, folder: &Utf8Path) -> Result<(), Misfit> {
    let at = tree.at;
    let Some(top) = tree.as_map_mut() else {
        return Err(misfit(at, format!("a configuration is a mapping, and this is {}", tree.described())));
    };
    handlers(top);
    one_project(top, at, folder)
}

/// What dialect b keeps with its orchestrator.
fn handlers(top: &mut Map) {
    let Some(orchestrator) = entry_mut(top, "orchestrator").and_then(|entry| entry.tree.as_map_mut()) else {
        return;
    };
    let most = take(orchestrator, "maxParallelAgents");
    let handlers = take(orchestrator, "reactionHandlers");
    if let Some(most) = most {
        put(top, "lifecycle", "maxParallelAgents", most);
    }
    if let Some(Entry { tree: Tree { value: Value::Map(handlers), .. }, .. }) = handlers {
        for (kind, handler) in handlers {
            put(top, "reactions", &kind, handler);
        }
    }
}

/// Dialect c: a file for the repository it is in.
fn one_project(top: &mut Map, at: At, folder: &Utf8Path) -> Result<(), Misfit> {
    const SLOTS: [&str; 5] = ["runtime", "agent", "workspace", "tracker", "scm"];
    let has = |top: &Map, key: &str| top.keys().any(|known| folded(known) == key);
    if has(top, "projects")
        || has(top, "defaults")
        || !SLOTS.iter().chain(&["notifier"]).any(|key| has(top, key))
    {
        return Ok(());
    }
    let mut project = Map::new();
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
                    let entry = Entry { key_at: repo.key_at, tree: Tree::text(owned, repo.tree.at) };
                    project.insert("repo".into(), entry);
                } else if let Some(owner) = owner {
                    return Err(misfit(owner.key_at, "`owner` needs a `repo` beside it".into()));
                }
            }
            if slot == "agent" {
                let Some(plugin) = take(options, "plugin") else {
                    return Err(misfit(entry.key_at, "`plugin` is missing in `agent`".into()));
                };
                let rest = std::mem::replace(&mut entry.tree, plugin.tree);
                if rest.as_map().is_some_and(|rest| !rest.is_empty()) {
                    project.insert("agentConfig".into(), Entry { key_at: entry.key_at, tree: rest });
                }
            }
        }
        put(top, "defaults", slot, entry);
    }
    notifier(top)?;
    if let Some(branch) = take(top, "defaultBranch") {
        project.insert("defaultBranch".into(), branch);
    }
    project.insert("path".into(), Entry { key_at, tree: Tree::text(".", key_at) });
    let project = Tree { value: Value::Map(project), at: key_at, written: None };
    put(top, "projects", &name, Entry { key_at, tree: project });
    Ok(())
}

fn notifier(top: &mut Map) -> Result<(), Misfit> {
    let Some(entry) = take(top, "notifier") else { return Ok(()) };
    let at = entry.tree.at;
    let several = match entry.tree.value {
        Value::List(list) => list,
        _ => vec![entry.tree],
    };
    let mut names = Vec::new();
    for one in several {
        let plugin = match &one.value {
            Value::Map(options) => {
                options.iter().find(|(key, _)| folded(key) == "plugin").map(|(_, entry)| &entry.tree)
            }
            _ => Some(&one),
        };
        let Some(plugin) = plugin else {
            return Err(misfit(one.at, "`plugin` is missing in `notifier`".into()));
        };
        let name = plain(plugin)?;
        names.push(Tree::text(&name, plugin.at));
        if one.as_map().is_some_and(|options| options.len() > 1) {
            put(top, "notifiers", &name, Entry { key_at: one.at, tree: one });
        }
    }
    let names = Tree { value: Value::List(names), at, written: None };
    put(top, "defaults", "notifiers", Entry { key_at: entry.key_at, tree: names });
    Ok(())
}

/// Puts something into a mapping of the top, which is made if it is not there.
fn put(top: &mut Map, group: &str, key: &str, entry: Entry) {
    if entry_mut(top, group).is_none() {
        top.insert(group.to_owned(), Entry { key_at: entry.key_at, tree: Tree::map(entry.tree.at) });
    }
    let group = entry_mut(top, group).expect("just made");
    if group.tree.value == Value::Null {
        group.tree.value = Value::Map(Map::new());
    }
    // If the group is no mapping, that is said when it is fitted; if both are there, the main dialect's holds.
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

fn entry_mut<'a>(map: &'a mut Map, key: &str) -> Option<&'a mut Entry> {
    map.iter_mut().find(|(known, _)| folded(known) == folded(key)).map(|(_, entry)| entry)
}

fn take(map: &mut Map, key: &str) -> Option<Entry> {
    let found = map.keys().find(|known| folded(known) == folded(key))?.clone();
    map.shift_remove(&found)
}

fn plain(tree: &Tree) -> Result<String, Misfit> {
    match &tree.value {
        Value::Text(text) => Ok(text.clone()),
        Value::Number(number) => Ok(tree.written.clone().unwrap_or_else(|| number.to_string())),
        _ => Err(misfit(tree.at, format!("a name is expected here, and this is {}", tree.described()))),
    }
}

fn misfit(at: At, what: String) -> Misfit {
    Misfit { at, what, hint: None }
}
