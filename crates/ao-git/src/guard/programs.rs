//! Everything that a repository's settings can have git run, and what is put in its place.
//!
//! The list is git's own: every variable of git-config(1), gitattributes(5), githooks(5) and gitcredentials(7) whose value is
//! a command, and those of Git LFS, which reads the same files. Programs for commands that nobody here calls (`difftool`,
//! `mergetool`, `sendemail`, `instaweb`, `man.*`, `browser.*`, `guitool`) are left out, and aliases never stand for a command
//! that git has.

use super::listing::{Entry, Listing};

/// Settings that every git of ours gets, whatever anybody has set. None of them can be lost to somebody who changes a file
/// between our look and git's.
const ALWAYS: [(&str, &str); 8] = [
    ("core.fsmonitor", "false"),
    // The user's hooks know nothing of agents' trees, and an agent's are programs of an agent.
    ("core.hooksPath", "/dev/null"),
    // It tells parents and trees of commits, and git believes it without a look at the commits.
    ("core.commitGraph", "false"),
    ("log.showSignature", "false"),
    ("maintenance.auto", "false"),
    // A submodule has settings of its own.
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("push.recurseSubmodules", "no"),
];

/// Settings that the user may have for all repositories. A repository's own value gives way to that, or to git's default.
const DEFAULTS: [(&str, &[&str], &str); 6] = [
    ("core.askPass", &["core.askpass"], ""),
    ("gpg.openpgp.program", &["gpg.openpgp.program", "gpg.program"], "gpg"),
    ("gpg.x509.program", &["gpg.x509.program"], "gpgsm"),
    ("gpg.ssh.program", &["gpg.ssh.program"], "ssh-keygen"),
    ("core.sshCommand", &["core.sshcommand"], "ssh"),
    ("protocol.ext.allow", &["protocol.ext.allow"], "never"),
];

/// Settings of a repository that name a program: first and last part of the key, with or without a part between, and what
/// git gets instead unless the user has a value for all repositories.
const NAMED: [(&str, bool, &str, &str); 22] = [
    // An empty filter is none.
    ("filter", true, "clean", ""),
    ("filter", true, "smudge", ""),
    ("filter", true, "process", ""),
    // A driver cannot be taken away, and an empty one would keep one side in silence: this one leaves a conflict.
    ("merge", true, "driver", "exit 1"),
    ("diff", false, "external", "exit 1"),
    ("diff", true, "command", "exit 1"),
    ("diff", true, "textconv", "cat"),
    // No helper has an empty name, so that the remote cannot be reached at all.
    ("remote", true, "vcs", ""),
    ("submodule", true, "update", "checkout"),
    ("gpg", true, "defaultkeycommand", "exit 1"),
    ("core", false, "alternaterefscommand", ":"),
    ("gc", false, "recentobjectshook", ":"),
    ("interactive", false, "difffilter", "cat"),
    ("trailer", true, "command", ":"),
    ("trailer", true, "cmd", ":"),
    // Hooks by settings, which newer versions of git know.
    ("hook", true, "command", ":"),
    ("uploadpack", false, "packobjectshook", ""),
    ("lfs", true, "path", "false"),
    ("lfs", true, "clean", ""),
    ("lfs", true, "smudge", ""),
    ("lfs", false, "standalonetransferagent", ""),
    ("lfs", true, "standalonetransferagent", ""),
];

/// Whether a setting of a repository names a program, or decides whether one is run.
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

/// What git gets in place of a program that a repository names.
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

/// Whether a setting names a helper that gives git credentials.
fn is_helper(key: &str) -> bool {
    key.starts_with("credential.") && key.ends_with(".helper")
}

/// Whether a setting names the program that packs or unpacks objects at the other end of a remote. For a folder of this
/// machine that is a program here.
pub(super) fn is_packer(key: &str) -> bool {
    key.starts_with("remote.") && (key.ends_with(".uploadpack") || key.ends_with(".receivepack"))
}

/// The settings by which git runs nothing that a repository names, in the order in which it has to read them.
pub(super) fn settings(listing: &Listing, approved: impl Fn(&Entry) -> bool) -> Vec<(String, String)> {
    let mut settings: Vec<(String, String)> =
        ALWAYS.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let is_trusted = |entry: &&Entry| !entry.of_repository || approved(entry);
    let trusted = |key: &str| listing.entries.iter().filter(is_trusted).rfind(|entry| entry.key == key);
    for (key, names, default) in DEFAULTS {
        let value = names.iter().find_map(|name| trusted(name)).map(|entry| entry.text().to_owned());
        let value = value.or_else(|| (key == "core.sshCommand").then(ssh_given).flatten());
        settings.push((key.to_owned(), value.unwrap_or_else(|| default.to_owned())));
    }
    // An empty helper ends the list so far; then those that count are told again.
    settings.push(("credential.helper".to_owned(), String::new()));
    let helpers = listing.entries.iter().filter(|entry| is_helper(&entry.key)).filter(is_trusted);
    settings.extend(helpers.map(|entry| (entry.key.clone(), entry.text().to_owned())));
    for entry in listing.entries.iter().filter(|entry| entry.of_repository && !approved(entry)) {
        let Some(instead) = replaced(&entry.key) else { continue };
        let value = trusted(&entry.key).map_or(instead, |entry| entry.text());
        if let Some(filter) = entry.key.strip_prefix("filter.").and_then(|key| key.rsplit_once('.'))
            && value.is_empty()
        {
            // Or files that it is for could not be read at all.
            settings.push((format!("filter.{}.required", filter.0), "false".to_owned()));
        }
        settings.push((entry.key.clone(), value.to_owned()));
    }
    settings
}

/// The program that the user's environment names for `ssh`, which a setting would have precedence over.
fn ssh_given() -> Option<String> {
    let program = std::env::var("GIT_SSH").ok().filter(|program| !program.is_empty())?;
    Some(format!("'{}'", program.replace('\'', r"'\''")))
}

/// The variables that do the same for what no setting can undo.
pub(super) fn variables(
    listing: &Listing,
    approved: impl Fn(&Entry) -> bool,
) -> Vec<(&'static str, &'static str)> {
    let mut variables = vec![];
    let mut own = listing.entries.iter().filter(|entry| entry.of_repository && !approved(entry));
    // The first proxy that fits a host counts, so that one that comes later cannot replace it.
    if own.any(|entry| entry.key == "core.gitproxy") {
        variables.push(("GIT_PROXY_COMMAND", ""));
    }
    variables
}
