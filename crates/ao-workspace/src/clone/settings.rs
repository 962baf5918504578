//! Copies the user's settings for the source into a clone.

use std::fs;
use std::path::Path;

use crate::config;
use crate::error::TreeError;
use crate::repository::Repository;

/// Settings for files, remotes and merges. Not the user's identity, and nothing that runs hooks.
const TAKEN: [&str; 17] = [
    "core.autocrlf",
    "core.eol",
    "core.safecrlf",
    "core.filemode",
    "core.ignorecase",
    "core.symlinks",
    "core.sshcommand",
    "core.excludesfile",
    "core.attributesfile",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "index.sparse",
    "extensions.partialclone",
    "remote.origin.pushurl",
    "remote.origin.promisor",
    "remote.origin.partialclonefilter",
    "commit.gpgsign",
];

/// The same, by their prefix.
const TAKEN_WHOLE: [&str; 11] = [
    "credential.",
    "http.",
    "https.",
    "url.",
    "lfs.",
    "filter.",
    "diff.",
    "merge.",
    "pull.",
    "push.",
    "submodule.",
];

/// Files that belong to the settings.
const FILES: [&str; 3] = ["info/exclude", "info/attributes", "info/sparse-checkout"];

/// Copies the user's settings for the source into a clone of it.
pub(super) async fn bring(source: &Repository, git_dir: &Path) -> Result<(), TreeError> {
    let output = source.git.read(&["config", "--list", "-z", "--show-scope"]).await?;
    let mut fields = output.split('\0');
    let mut lines = String::new();
    while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        let taken = TAKEN.contains(&key) || TAKEN_WHOLE.iter().any(|start| key.starts_with(start));
        let Some((section, name)) = key.rsplit_once('.').filter(|_| taken) else { continue };
        if matches!(scope, "local" | "worktree") {
            lines += &config::section(section, &[(name, value)]);
        }
    }
    if lines.contains("partialclone") {
        // Without it git reads a repository of the oldest format, which has no extensions.
        lines += &config::section("core", &[("repositoryformatversion", "1")]);
    }
    config::append(&git_dir.join("config"), &lines)?;
    let info = git_dir.join("info");
    fs::create_dir_all(&info).map_err(TreeError::file("make", &info))?;
    for name in FILES {
        let from = source.common_dir.join(name);
        if from.is_file() {
            fs::copy(&from, git_dir.join(name)).map_err(TreeError::file("copy", &from))?;
        }
    }
    Ok(())
}
