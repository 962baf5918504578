//! The environment of every git process: the variables that git needs, and nothing else.
//!
//! The daemon's own environment contains tokens of forges and agents. Git passes its environment to every program it
//! starts, so this is an allowlist.

use std::ffi::OsString;

/// Variables by which git finds its programs, its files and the user's settings.
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
    // On macOS `git` is a wrapper that looks up the real one.
    "DEVELOPER_DIR",
    // The certificates for the `git` of a Nix shell and the programs it starts.
    "NIX_SSL_CERT_FILE",
];

/// Further variables for reaching another machine in the user's name.
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
    // Credential helpers ask the keyring of the desktop.
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
];

/// Variables that are the same for every git process.
const FIXED: [(&str, &str); 9] = [
    // We parse the output of git, so it is in one language; and there is no user to answer a prompt.
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_LFS_SKIP_SMUDGE", "1"),
    // An object is identified by its id: a process that can write refs or files of the repository must not replace it.
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_GRAFT_FILE", "/dev/null"),
    // These take precedence over the programs that a repository's settings name.
    ("GIT_EDITOR", ":"),
    ("GIT_SEQUENCE_EDITOR", ":"),
    ("GIT_PAGER", "cat"),
    ("GIT_MERGE_AUTOEDIT", "no"),
];

/// Returns the environment of a git process. Includes the network variables only if it has to reach another machine.
pub(crate) fn variables(network: bool) -> Vec<(OsString, OsString)> {
    select(std::env::vars_os(), network)
}

/// Returns the number of settings that the user's environment passes to git; ours are appended to them.
pub(crate) fn settings_given() -> usize {
    std::env::var("GIT_CONFIG_COUNT").ok().and_then(|count| count.parse().ok()).unwrap_or(0)
}

fn select(all: impl Iterator<Item = (OsString, OsString)>, network: bool) -> Vec<(OsString, OsString)> {
    let is_listed = |name: &str| {
        NEEDED.contains(&name)
            || network && FOR_NETWORK.contains(&name)
            // A container or a service passes settings such as `safe.directory` to git this way.
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
    fn fixed_variables_are_not_inherited() {
        let all = [("GIT_NO_REPLACE_OBJECTS", "0"), ("GIT_GRAFT_FILE", "grafts"), ("LC_ALL", "de_DE")];
        let kept = select(all.into_iter().map(|(name, value)| (name.into(), value.into())), true);
        assert_eq!(kept, FIXED.map(|(name, value)| (OsString::from(name), OsString::from(value))));
    }
}
