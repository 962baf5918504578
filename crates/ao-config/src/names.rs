//! The names of built-in plugins.

/// Built-in runtimes.
pub const RUNTIMES: &[&str] = &["tmux", "process"];

/// Runtimes that files from elsewhere may name and that are not built in. They are accepted, and refused when a session
/// needs one.
pub const MISSING_RUNTIMES: &[&str] = &["docker", "kubernetes"];

/// Built-in kinds of workspaces.
pub const WORKSPACES: &[&str] = &["worktree", "clone"];

/// Known trackers.
pub const TRACKERS: &[&str] = &["github", "linear", "gitlab", "jira", "local"];

/// The trackers that work in this version. The others may be named, so that files from elsewhere still load.
pub const AVAILABLE_TRACKERS: &[&str] = &["local"];

/// Known forges.
pub const SCMS: &[&str] = &["github", "gitlab", "gitea", "local"];

/// The forges that work in this version.
pub const AVAILABLE_SCMS: &[&str] = &["local"];

/// Agents with a built-in manifest; `tools` adds to them.
pub const AGENTS: &[&str] = &[
    "claude-code",
    "codex",
    "aider",
    "cursor",
    "opencode",
    "kimicode",
    "gemini",
    "qwen",
    "copilot",
    "goose",
];

/// Notifiers that may be named without a configured channel.
pub const NOTIFIERS: &[&str] =
    &["desktop", "slack", "discord", "composio", "webhook", "openclaw", "telegram"];

/// Returns the one of `known` that `word` is most likely a misspelling of.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = folded(word);
    known
        .into_iter()
        .map(|name| {
            let name_folded = folded(name);
            let part = name_folded.len() >= 4
                && wanted.len() >= 4
                && (name_folded.starts_with(&wanted) || wanted.starts_with(&name_folded));
            let likeness = strsim::jaro_winkler(&wanted, &name_folded);
            let edits = strsim::damerau_levenshtein(&wanted, &name_folded);
            let near = part || edits <= 1 + wanted.chars().count() / 4;
            (name, likeness, near)
        })
        .filter(|(_, likeness, near)| *near || *likeness >= 0.9)
        .max_by(|(_, a, _), (_, b, _)| a.total_cmp(b))
        .map(|(name, _, _)| name)
}

/// Folds case and separators, so that `maxParallel`, `max_parallel` and `max-parallel` are equal.
pub fn folded(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect()
}

/// Derives a project name from the name of a folder.
pub fn project_name(folder: &str) -> String {
    let known = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name: String = folder.chars().map(|c| if known(c) { c } else { '-' }).collect();
    let name = name.trim_matches(|c| c == '-' || c == '.');
    if name.is_empty() { "project".into() } else { name.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_called_as_its_folder_in_plain_letters() {
        for (folder, name) in [
            ("my-app", "my-app"),
            ("My App", "My-App"),
            (".dotfiles", "dotfiles"),
            ("日本", "project"),
            ("", "project"),
        ] {
            assert_eq!(project_name(folder), name);
        }
    }

    #[test]
    fn the_nearest_word_is_found_and_a_far_one_is_not() {
        for (word, meant) in [
            ("tumx", Some("tmux")),
            ("proces", Some("process")),
            ("Docker", Some("docker")),
            ("k8s", None),
            ("kube", Some("kubernetes")),
            ("spaceship", None),
        ] {
            let runtimes = RUNTIMES.iter().chain(MISSING_RUNTIMES).copied();
            assert_eq!(nearest(word, runtimes), meant, "{word}");
        }
    }
}
