//! Classifies environment variables as secrets.
//!
//! A variable is a secret by its name, or by the project's configuration. A variable that a project only passes on
//! may be a key, or a plain value like `production`. It counts as a secret unless it is clearly none, because masking
//! a common value would mask it everywhere.

use std::ffi::OsString;

use ao_core::setup::SecretRef;

use crate::environment::is_allowed;

/// Variables that hold secrets wherever they are set.
const SECRET: [&str; 5] =
    ["SLACK_WEBHOOK_URL", "DISCORD_WEBHOOK_URL", "DATABASE_URL", "AWS_ACCESS_KEY_ID", "NETRC"];
/// Suffixes of names that mark secrets: `GITHUB_TOKEN`, `ANTHROPIC_API_KEY`, `AO_TOKEN`.
const SECRET_ENDS: [&str; 10] = [
    "_TOKEN",
    "_API_KEY",
    "_APIKEY",
    "_SECRET",
    "_SECRET_KEY",
    "_ACCESS_KEY",
    "_PRIVATE_KEY",
    "_PASSWORD",
    "_PASSWD",
    "_WEBHOOK",
];
/// Last parts of names whose values are no secrets: `AWS_REGION`, `NODE_ENV`, `CARGO_HOME`.
const PLAIN_ENDS: [&str; 26] = [
    "REGION", "ZONE", "HOST", "HOSTNAME", "PORT", "USER", "USERNAME", "EMAIL", "HOME", "PATH", "DIR", "ROOT",
    "ENV", "MODE", "LEVEL", "PROFILE", "VERSION", "EDITOR", "PAGER", "DISPLAY", "SHELL", "LOG", "MODEL",
    "NAME", "BRANCH", "LOCALE",
];
/// Values of eight letters and more that are no secrets.
const PLAIN_WORDS: [&str; 11] = [
    "production",
    "development",
    "preproduction",
    "integration",
    "localhost",
    "disabled",
    "required",
    "optional",
    "xterm-256color",
    "truecolor",
    "continuous-integration",
];

/// Returns whether a variable of this name holds a secret.
pub fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET.contains(&name.as_str()) || SECRET_ENDS.iter().any(|end| name.ends_with(end))
}

/// Returns the secrets among the variables of a program: those that its project declares, those recognized by name,
/// those that its project passes on unless clearly none, and the passwords in URLs.
pub fn secrets_in(
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    named: &[SecretRef],
    pass: &[String],
) -> Vec<(String, OsString)> {
    let mut found = vec![];
    for (name, value) in environment {
        let Ok(name) = name.into_string() else { continue };
        if let Some(password) = value.to_str().and_then(password) {
            found.push((name.clone(), password.into()));
        }
        let is_passed =
            || pass.contains(&name) && !value.to_str().is_some_and(|value| is_plain(&name, value));
        if is_secret(&name) || named.iter().any(|secret| secret.name == name) || is_passed() {
            found.push((name, value));
        }
    }
    found
}

/// Returns whether a value is clearly no secret.
fn is_plain(name: &str, value: &str) -> bool {
    let last = name.rsplit('_').next().unwrap_or(name).to_ascii_uppercase();
    is_allowed(name)
        || PLAIN_ENDS.contains(&last.as_str())
        || PLAIN_WORDS.contains(&value.to_ascii_lowercase().as_str())
        || is_path(value)
        || is_number(value)
        || is_plain_address(value)
}

/// Returns whether it is a path, or several separated by colons.
fn is_path(value: &str) -> bool {
    value.split(':').all(|part| part.starts_with('/') || part.starts_with("~/") || part.starts_with("./"))
}

/// Returns whether it is a number, a version or a date.
fn is_number(value: &str) -> bool {
    value.len() <= 20 && value.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | ':' | ','))
}

/// Returns whether it is a URL in which nothing is long enough to be a key.
fn is_plain_address(value: &str) -> bool {
    let Some((_, rest)) = value.split_once("://") else { return false };
    let (_, path) = rest.split_once('/').unwrap_or((rest, ""));
    !rest.contains(['@', '?']) && path.split('/').all(|part| part.len() < 16)
}

/// Returns the password in a URL: `postgres://me:password@host/db`.
fn password(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("://")?;
    let place = rest.split(['/', '?', '#']).next()?;
    let (user, _) = place.rsplit_once('@')?;
    // Without a colon, the user part is the key.
    Some(user.split_once(':').map_or(user, |(_, password)| password))
}

#[cfg(test)]
mod tests {
    use ao_core::setup::SecretSource;

    use super::*;

    fn found(environment: &[(&str, &str)], named: &[SecretRef], pass: &[&str]) -> Vec<String> {
        let environment = environment.iter().map(|(name, value)| (name.into(), value.into()));
        let pass: Vec<String> = pass.iter().map(|name| (*name).to_owned()).collect();
        let found = secrets_in(environment, named, &pass).into_iter();
        found.map(|(name, value)| format!("{name}={}", value.display())).collect()
    }

    #[test]
    fn a_secret_is_known_by_its_name_or_because_its_project_says_so() {
        let named = [SecretRef { name: "DB".into(), from: SecretSource::Env("X".into()) }];
        let environment =
            ["DB", "GITHUB_TOKEN", "MY_API_KEY", "SLACK_WEBHOOK_URL", "AO_TOKEN", "PATH", "TOKENS", "KEYMAP"];
        let found = found(&environment.map(|name| (name, "x")), &named, &[]);
        assert_eq!(found, ["DB=x", "GITHUB_TOKEN=x", "MY_API_KEY=x", "SLACK_WEBHOOK_URL=x", "AO_TOKEN=x"]);
    }

    /// acceptance: X5
    #[test]
    fn what_is_passed_on_is_a_secret_unless_it_is_plain_to_see() {
        for (name, value) in [
            ("LICENSE", "abcd-efgh-ijkl"),
            ("NPM_AUTH", "correct horse battery"),
            ("SIGNING", "hunter2hunter2"),
            ("PIN_OF_CARD", "123456789012345678901234"),
            ("HOOK", "https://hooks.example.org/services/T0000/B0000/XXXXXXXXXXXXXXXXXXXX"),
            ("FEED", "https://example.org/?key=abc"),
        ] {
            assert_eq!(found(&[(name, value)], &[], &[name]), [format!("{name}={value}")]);
            assert!(found(&[(name, value)], &[], &[]).is_empty(), "{name}");
        }
        for (name, value) in [
            ("NODE_ENV", "production"),
            ("STAGE", "Production"),
            ("AWS_REGION", "eu-central-1"),
            ("GOPATH", "/srv/go:/opt/go"),
            ("TOOLS", "~/tools"),
            ("BUILD", "2026.11.17-1204"),
            ("REGISTRY", "https://registry.example.org/npm/"),
            ("DOCKER_HOST", "unix:///var/run/docker.sock"),
            ("DOCKER", "unix:///var/run/docker.sock"),
            ("PATH", "/usr/bin"),
            ("LANG", "en_GB.UTF-8"),
        ] {
            assert!(found(&[(name, value)], &[], &[name]).is_empty(), "{name}={value}");
        }
    }

    #[test]
    fn of_an_address_the_password_alone_is_a_secret_too() {
        let environment =
            [("https_proxy", "http://me:swordfish@proxy:8080"), ("DATABASE_URL", "postgres://u:p%2Fw@h/db")];
        let all = ["https_proxy=swordfish", "DATABASE_URL=p%2Fw", "DATABASE_URL=postgres://u:p%2Fw@h/db"];
        assert_eq!(found(&environment, &[], &[]), all);
        assert_eq!(found(&[("URL", "https://key-alone@example.org")], &[], &[]), ["URL=key-alone"]);
        assert!(found(&[("URL", "https://example.org/@me")], &[], &[]).is_empty());
    }
}
