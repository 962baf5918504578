//! Lists every program that a repository's settings can make git run, and its replacement.
//!
//! The list follows git's documentation: every variable of git-config(1), gitattributes(5), githooks(5) and
//! gitcredentials(7) whose value is a command, and those of Git LFS, which reads the same files. Programs of commands
//! that we never call (`difftool`, `mergetool`, `sendemail`, `instaweb`, `man.*`, `browser.*`, `guitool`) are left out,
//! and an alias never replaces a command of git.

use super::listing::{ConfigEntry, ConfigListing};

/// Settings that every git process gets, regardless of any other. A change of a file between our reading and git's
/// cannot undo them.
const ALWAYS: [(&str, &str); 8] = [
    ("core.fsmonitor", "false"),
    // The user's hooks are not made for agents' trees, and an agent's hooks are programs of an agent.
    ("core.hooksPath", "/dev/null"),
    // The commit graph names parents and trees of commits, and git believes it without reading the commits.
    ("core.commitGraph", "false"),
    ("log.showSignature", "false"),
    ("maintenance.auto", "false"),
    // A submodule has settings of its own.
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("push.recurseSubmodules", "no"),
];

/// Settings that the user may have for all repositories. They, or else git's default, replace the value of a
/// repository.
const DEFAULTS: [(&str, &[&str], &str); 6] = [
    ("core.askPass", &["core.askpass"], ""),
    ("gpg.openpgp.program", &["gpg.openpgp.program", "gpg.program"], "gpg"),
    ("gpg.x509.program", &["gpg.x509.program"], "gpgsm"),
    ("gpg.ssh.program", &["gpg.ssh.program"], "ssh-keygen"),
    ("core.sshCommand", &["core.sshcommand"], "ssh"),
    ("protocol.ext.allow", &["protocol.ext.allow"], "never"),
];

/// Repository settings that name a program: first and last part of the key, whether there is a part between, and the
/// value that git gets instead unless the user has one for all repositories.
const NAMED: [(&str, bool, &str, &str); 22] = [
    // An empty filter is none.
    ("filter", true, "clean", ""),
    ("filter", true, "smudge", ""),
    ("filter", true, "process", ""),
    // A driver cannot be removed, and an empty one would silently keep one side: this one leaves a conflict.
    ("merge", true, "driver", "exit 1"),
    ("diff", false, "external", "exit 1"),
    ("diff", true, "command", "exit 1"),
    ("diff", true, "textconv", "cat"),
    // No helper has an empty name, so the remote becomes unreachable.
    ("remote", true, "vcs", ""),
    ("submodule", true, "update", "checkout"),
    ("gpg", true, "defaultkeycommand", "exit 1"),
    ("core", false, "alternaterefscommand", ":"),
    ("gc", false, "recentobjectshook", ":"),
    ("interactive", false, "difffilter", "cat"),
    ("trailer", true, "command", ":"),
    ("trailer", true, "cmd", ":"),
    // Hooks by settings, which newer versions of git support.
    ("hook", true, "command", ":"),
    ("uploadpack", false, "packobjectshook", ""),
    ("lfs", true, "path", "false"),
    ("lfs", true, "clean", ""),
    ("lfs", true, "smudge", ""),
    ("lfs", false, "standalonetransferagent", ""),
    ("lfs", true, "standalonetransferagent", ""),
];

/// Returns true if a repository setting names a program, or decides whether one is run.
pub(crate) fn is_program(key: &str) -> bool {
    replaced(key).is_some()
        || is_helper(key)
        || is_packer(key)
        || key == "core.gitproxy"
        || DEFAULTS.iter().any(|(_, keys, _)| keys.contains(&key))
        || (key.starts_with("filter.") && key.ends_with(".required"))
        || matches!(
            key,
            "core.fsmonitor" | "core.hookspath" | "core.editor" | "sequence.editor" | "core.pager"
        )
}

/// Returns the value that git gets in place of a program that a repository names.
fn replaced(key: &str) -> Option<&'static str> {
    let (first, rest) = key.split_once('.')?;
    let (between, last) = match rest.rsplit_once('.') {
        Some((between, last)) => (Some(between), last),
        None => (None, rest),
    };
    let found = NAMED.iter().find(|(section, has_between, name, _)| {
        *section == first && *has_between == between.is_some() && *name == last
    });
    found.map(|(.., value)| *value)
}

/// Returns true if a setting names a credential helper.
fn is_helper(key: &str) -> bool {
    key.starts_with("credential.") && key.ends_with(".helper")
}

/// Returns true if a setting names the program that packs or unpacks objects at the other end of a remote. For a remote
/// in a local folder that is a local program.
pub(super) fn is_packer(key: &str) -> bool {
    key.starts_with("remote.") && (key.ends_with(".uploadpack") || key.ends_with(".receivepack"))
}

/// Returns the settings that keep git from running programs of the repository, in the order in which git has to read
/// them.
pub(super) fn settings(
    listing: &ConfigListing,
    approved: impl Fn(&ConfigEntry) -> bool,
) -> Vec<(String, String)> {
    let mut settings: Vec<(String, String)> =
        ALWAYS.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let is_trusted = |entry: &&ConfigEntry| !entry.of_repository || approved(entry);
    let trusted = |key: &str| listing.entries.iter().filter(is_trusted).rfind(|entry| entry.key == key);
    for (key, names, default) in DEFAULTS {
        let value = names.iter().find_map(|name| trusted(name)).map(|entry| entry.text().to_owned());
        let value = value.or_else(|| (key == "core.sshCommand").then(ssh_given).flatten());
        settings.push((key.to_owned(), value.unwrap_or_else(|| default.to_owned())));
    }
    // An empty helper clears the list; then the trusted ones are added again.
    settings.push(("credential.helper".to_owned(), String::new()));
    let helpers = listing.entries.iter().filter(|entry| is_helper(&entry.key)).filter(is_trusted);
    settings.extend(helpers.map(|entry| (entry.key.clone(), entry.text().to_owned())));
    for entry in listing.entries.iter().filter(|entry| entry.of_repository && !approved(entry)) {
        let Some(instead) = replaced(&entry.key) else { continue };
        let value = trusted(&entry.key).map_or(instead, |entry| entry.text());
        if let Some(filter) = entry.key.strip_prefix("filter.").and_then(|key| key.rsplit_once('.'))
            && value.is_empty()
        {
            // Otherwise the files that it applies to could not be read at all.
            settings.push((format!("filter.{}.required", filter.0), "false".to_owned()));
        }
        settings.push((entry.key.clone(), value.to_owned()));
    }
    settings
}

/// Returns the program that the user's environment names for `ssh`, which a setting would override.
fn ssh_given() -> Option<String> {
    let program = std::env::var("GIT_SSH").ok().filter(|program| !program.is_empty())?;
    Some(format!("'{}'", program.replace('\'', r"'\''")))
}

/// Returns the variables that do the same where no setting can.
pub(super) fn variables(
    listing: &ConfigListing,
    approved: impl Fn(&ConfigEntry) -> bool,
) -> Vec<(&'static str, &'static str)> {
    let mut variables = vec![];
    let mut own = listing.entries.iter().filter(|entry| entry.of_repository && !approved(entry));
    // The first proxy that matches a host wins, so a later setting cannot replace it.
    if own.any(|entry| entry.key == "core.gitproxy") {
        variables.push(("GIT_PROXY_COMMAND", ""));
    }
    variables
}
