//! The environment of every git process: what git needs, and nothing else.
//!
//! The daemon's own environment has tokens of forges and agents in it. Git hands its environment on to whatever it starts, so
//! a variable is listed here or git does not get it.

use std::ffi::OsString;

/// What git needs to find its programs, its files and the user's own settings.
const NEEDED: [&str; 20] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "TZ",
    "XDG_CONFIG_HOME",
    "GIT_EXEC_PATH",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
    "EMAIL",
    // On macOS `git` itself is a program that looks up the real one.
    "DEVELOPER_DIR",
    // Where the `git` of a Nix shell and the programs it starts find certificates.
    "NIX_SSL_CERT_FILE",
];

/// What it needs beyond that to reach another machine in the user's name.
const FOR_NETWORK: [&str; 30] = [
    "SSH_AUTH_SOCK",
    "SSH_ASKPASS",
    "SSH_ASKPASS_REQUIRE",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_ASKPASS",
    "GIT_PROXY_COMMAND",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_SSL_CERT",
    "GIT_SSL_KEY",
    "GIT_SSL_NO_VERIFY",
    "GIT_HTTP_LOW_SPEED_LIMIT",
    "GIT_HTTP_LOW_SPEED_TIME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    // Helpers that keep credentials ask the keyring of the desktop for them.
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
];

/// Variables that are the same for every git of ours.
const FIXED: [(&str, &str); 9] = [
    // What git says is read by us, so it says it in one language, and it has nobody to ask.
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_LFS_SKIP_SMUDGE", "1"),
    // An object is what its id says: whoever can write refs or files in a repository could swap it for another one.
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_GRAFT_FILE", "/dev/null"),
    // These have precedence over programs that a repository's settings name for the same thing.
    ("GIT_EDITOR", ":"),
    ("GIT_SEQUENCE_EDITOR", ":"),
    ("GIT_PAGER", "cat"),
    ("GIT_MERGE_AUTOEDIT", "no"),
];

/// The variables of a git process. Those for other machines only if it has to reach one.
pub(crate) fn variables(network: bool) -> Vec<(OsString, OsString)> {
    select(std::env::vars_os(), network)
}

/// The number of settings that the user's environment gives git, for the next ones to be put behind.
pub(crate) fn settings_given() -> usize {
    std::env::var("GIT_CONFIG_COUNT").ok().and_then(|count| count.parse().ok()).unwrap_or(0)
}

fn select(all: impl Iterator<Item = (OsString, OsString)>, network: bool) -> Vec<(OsString, OsString)> {
    let is_listed = |name: &str| {
        NEEDED.contains(&name)
            || network && FOR_NETWORK.contains(&name)
            // How a container or a service gives git settings for all it runs, such as `safe.directory`.
            || name == "GIT_CONFIG_COUNT"
            || name.starts_with("GIT_CONFIG_KEY_")
            || name.starts_with("GIT_CONFIG_VALUE_")
    };
    let kept = all.filter(|(name, _)| name.to_str().is_some_and(is_listed));
    kept.chain(FIXED.map(|(name, value)| (name.into(), value.into()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// acceptance: G2
    #[test]
    fn no_secret_is_in_the_environment_of_git() {
        let given = [
            ("PATH", true, true),
            ("HOME", true, true),
            ("GIT_CONFIG_GLOBAL", true, true),
            ("GIT_CONFIG_COUNT", true, true),
            ("GIT_CONFIG_KEY_0", true, true),
            ("GIT_CONFIG_VALUE_0", true, true),
            ("GIT_COMMITTER_NAME", true, true),
            ("SSH_AUTH_SOCK", false, true),
            ("https_proxy", false, true),
            ("GIT_SSH_COMMAND", false, true),
            ("GIT_ASKPASS", false, true),
            ("GITHUB_TOKEN", false, false),
            ("GH_TOKEN", false, false),
            ("ANTHROPIC_API_KEY", false, false),
            ("OPENAI_API_KEY", false, false),
            ("AWS_SECRET_ACCESS_KEY", false, false),
            ("AO_TOKEN", false, false),
            ("GIT_EXTERNAL_DIFF", false, false),
            ("GIT_DIR", false, false),
            ("GIT_INDEX_FILE", false, false),
            ("GIT_OBJECT_DIRECTORY", false, false),
            ("GIT_ALTERNATE_OBJECT_DIRECTORIES", false, false),
            ("GIT_TEMPLATE_DIR", false, false),
            ("GIT_TRACE", false, false),
            ("LD_PRELOAD", false, false),
            ("INVOCATION_ID", false, false),
        ];
        let all = || given.iter().map(|(name, ..)| (OsString::from(name), OsString::from("value")));
        for (name, here, afar) in given {
            for (network, wanted) in [(false, here), (true, afar)] {
                let has = select(all(), network).iter().any(|(kept, _)| kept == name);
                assert_eq!(has, wanted, "{name}, network {network}");
            }
        }
    }

    #[test]
    fn what_is_fixed_is_not_taken_from_whoever_started_us() {
        let all = [("GIT_NO_REPLACE_OBJECTS", "0"), ("GIT_GRAFT_FILE", "grafts"), ("LC_ALL", "de_DE")];
        let kept = select(all.into_iter().map(|(name, value)| (name.into(), value.into())), true);
        assert_eq!(kept, FIXED.map(|(name, value)| (OsString::from(name), OsString::from(value))));
    }
}
