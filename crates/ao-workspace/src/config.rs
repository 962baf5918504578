//! Reads and writes settings in git's files: the few that are needed all the time, and our own.
//!
//! Not a full parser: a setting that is not found here may still be set, for example in an included file, and then git
//! is asked.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use ao_core::SessionId;

use crate::error::TreeError;
use crate::repository::Repository;

/// Returns the URL of `origin`, if there is one.
pub(crate) async fn origin(repository: &Repository) -> Result<Option<String>, TreeError> {
    let text = fs::read_to_string(repository.common_dir.join("config")).unwrap_or_default();
    let plain = entries(&text).into_iter().rev().find(|(key, _)| key == "remote.origin.url");
    if let Some((_, url)) = plain.filter(|(_, url)| !url.contains(['"', '\\', '#', ';'])) {
        return Ok(Some(url));
    }
    let may_be_elsewhere = entries(&text).iter().any(|(key, _)| {
        key.starts_with("include") || key == "extensions.worktreeconfig" || key.contains("origin")
    });
    if !may_be_elsewhere {
        return Ok(None);
    }
    Ok(repository.git.answer(&["config", "--get", "remote.origin.url"]).await?)
}

/// Lets each worktree have settings that the others do not see. The caller holds the repository's queue.
pub(crate) async fn allow_own_settings(repository: &Repository) -> Result<(), TreeError> {
    let text = fs::read_to_string(repository.common_dir.join("config")).unwrap_or_default();
    let on = |value: &str| matches!(value.to_ascii_lowercase().as_str(), "true" | "yes" | "on" | "1");
    if entries(&text).iter().any(|(key, value)| key == "extensions.worktreeconfig" && on(value)) {
        return Ok(());
    }
    let git = &repository.git;
    // With the extension on, this setting would apply to every worktree; git requires it to be moved, which is not ours
    // to do.
    if git.asks(&["config", "--local", "--get", "core.worktree"]).await? {
        return Err(TreeError::OwnWorktree { path: repository.root.clone() });
    }
    git.write(&["config", "--local", "extensions.worktreeConfig", "true"])
        .await
        .map_err(TreeError::tried("let worktrees have settings of their own"))?;
    Ok(())
}

/// Writes a tree's identity, after the other settings in the file. Also disables housekeeping and file monitors of git
/// there: they would run in the background, and be found working in a tree that is to be removed.
pub(crate) fn write_identity(file: &Path, session: SessionId) -> Result<(), TreeError> {
    let own = section("user", &[("name", &format!("Agent {session}")), ("email", &email(session))])
        + &section("gc", &[("auto", "0")])
        + &section("maintenance", &[("auto", "false")])
        + &section("core", &[("fsmonitor", "false")]);
    append(file, &own)
}

/// Makes a plain `git push` do what is meant by it, even if the branch is renamed: push to the remote, or, in a
/// worktree of a repository where git would not know which, to the repository itself, where the branch already is.
pub(crate) fn write_pushing(file: &Path, to_itself: bool) -> Result<(), TreeError> {
    let mut own = section("push", &[("default", "current")]);
    if to_itself {
        own += &section("remote", &[("pushDefault", ".")]);
    }
    append(file, &own)
}

/// Returns true if git finds a remote for a push that names none: the configured one, `origin`, or the only one.
pub(crate) async fn has_push_remote(repository: &Repository) -> Result<bool, TreeError> {
    let text = fs::read_to_string(repository.common_dir.join("config")).unwrap_or_default();
    let entries = entries(&text);
    if entries.iter().any(|(key, _)| key == "remote.origin.url" || key == "remote.pushdefault") {
        return Ok(true);
    }
    if !entries.iter().any(|(key, _)| key.starts_with("remote.") || key.starts_with("include")) {
        return Ok(false);
    }
    if repository.git.asks(&["config", "--get", "remote.pushDefault"]).await? {
        return Ok(true);
    }
    let remotes = repository.git.read(&["remote"]).await?;
    Ok(remotes.lines().count() == 1 || remotes.lines().any(|remote| remote == "origin"))
}

/// Returns the email address of a session's commits.
pub(crate) fn email(session: SessionId) -> String {
    session.address()
}

/// Appends lines to a settings file, unless they are in it already.
pub(crate) fn append(file: &Path, lines: &str) -> Result<(), TreeError> {
    let known = match fs::read_to_string(file) {
        Ok(known) => known,
        Err(err) if err.kind() == ErrorKind::NotFound => String::new(),
        Err(err) => return Err(TreeError::file("read", file)(err)),
    };
    if known.contains(lines) {
        return Ok(());
    }
    let gap = if known.is_empty() || known.ends_with('\n') { "" } else { "\n" };
    let partial = file.with_extension("ao-partial");
    let written = || -> io::Result<()> {
        match fs::remove_file(&partial) {
            Err(err) if err.kind() != ErrorKind::NotFound => return Err(err),
            _ => {}
        }
        // Private from its first byte, and then as open as the file was: it may contain tokens.
        let mut new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&partial)?;
        new.write_all(format!("{known}{gap}{lines}").as_bytes())?;
        if let Ok(old) = fs::metadata(file) {
            new.set_permissions(old.permissions())?;
        }
        Ok(())
    };
    written().map_err(TreeError::file("write", &partial))?;
    fs::rename(&partial, file).map_err(TreeError::file("write", file))
}

/// Makes a settings file private to its owner. Git preserves that when it writes there.
pub(crate) fn close(file: &Path) -> Result<(), TreeError> {
    fs::set_permissions(file, Permissions::from_mode(0o600)).map_err(TreeError::file("close to others", file))
}

/// Formats a section as git reads it. `name` may have a subsection after its first dot.
pub(crate) fn section(name: &str, values: &[(&str, &str)]) -> String {
    let mut text = match name.split_once('.') {
        Some((name, sub)) => format!("[{name} \"{}\"]\n", sub.replace('\\', "\\\\").replace('"', "\\\"")),
        None => format!("[{name}]\n"),
    };
    for (key, value) in values {
        let value =
            value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
        text += &format!("\t{key} = \"{value}\"\n");
    }
    text
}

/// Parses a file into entries with full lowercase keys; the subsection keeps its case.
fn entries(text: &str) -> Vec<(String, String)> {
    let mut entries = Vec::new();
    let mut section = String::new();
    for line in text.lines() {
        let mut line = line.trim();
        if let Some((head, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            section = match head.split_once(' ') {
                Some((name, sub)) => {
                    format!("{}.{}", name.to_ascii_lowercase(), sub.trim().trim_matches('"'))
                }
                None => head.to_ascii_lowercase(),
            };
            line = rest.trim();
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        entries.push((format!("{section}.{}", key.trim().to_ascii_lowercase()), value.trim().to_owned()));
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_found_by_their_full_key() {
        let text = "# mine\n[core]\n\tbare = false\n[remote \"origin\"]\n\turl = /a b\n[Extensions] worktreeConfig\n";
        assert_eq!(
            entries(text),
            [("core.bare", "false"), ("remote.origin.url", "/a b"), ("extensions.worktreeconfig", "true")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
        );
    }

    #[test]
    fn appending_twice_has_no_effect() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.worktree");
        fs::write(&file, "[core]\n\tsparseCheckout = true").unwrap();
        for _ in 0..2 {
            write_identity(&file, SessionId(0x4f)).unwrap();
        }
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(text.matches("Agent ses_4f").count(), 1);
        assert!(text.starts_with("[core]\n\tsparseCheckout = true\n[user]\n"), "{text}");
    }

    #[test]
    fn odd_values_are_quoted() {
        assert_eq!(
            section("url.a\"b", &[("insteadof", "c\\d\ne")]),
            "[url \"a\\\"b\"]\n\tinsteadof = \"c\\\\d\\ne\"\n"
        );
    }
}
