//! What a process gets of the daemon's environment: what programs need to run, and nothing that might be a secret.

use std::ffi::OsString;

use ao_ports::StartSpec;

/// By these two, whatever a process starts is known to belong to its session.
pub(super) const SESSION: &str = "AO_SESSION";
pub(super) const ATTEMPT: &str = "AO_ATTEMPT";

const ALLOWED: [&str; 22] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TERM",
    "COLORTERM",
    // Without it an agent cannot push over ssh; it lends the use of a key, and not the key.
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
];

const ALLOWED_PREFIXES: [&str; 2] = ["LC_", "XDG_"];

/// The environment of a process: the allowed part of ours, what the agent wants, and our own ids last.
pub(super) fn of(
    spec: &StartSpec,
    ours: impl Iterator<Item = (OsString, OsString)>,
) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<(OsString, OsString)> = ours
        .filter(|(name, _)| name.to_str().is_some_and(is_allowed))
        .chain(spec.command.env.iter().map(|(name, value)| (name.into(), value.into())))
        .collect();
    environment.push((SESSION.into(), spec.session.to_string().into()));
    environment.push((ATTEMPT.into(), spec.attempt.to_string().into()));
    environment
}

fn is_allowed(name: &str) -> bool {
    ALLOWED.contains(&name) || ALLOWED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_programs_need_gets_through() {
        let allowed = ["PATH", "LC_ALL", "XDG_RUNTIME_DIR", "https_proxy"];
        assert!(allowed.into_iter().all(is_allowed));
        let kept_back =
            ["GITHUB_TOKEN", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "LD_PRELOAD", "GIT_DIR", ""];
        assert!(!kept_back.into_iter().any(is_allowed));
    }
}
