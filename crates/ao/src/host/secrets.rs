//! Secrets that must not be shown to anybody, wherever they turn up.

use std::collections::BTreeSet;
use std::fmt;

use ao_core::setup::{Environment, SecretSource};

/// Shorter ones would mask half of every text, and are no secrets.
const LEAST: usize = 8;
const MASK: &str = "[secret]";

/// Variables that hold secrets wherever they are set.
const USUAL: [&str; 12] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "GITLAB_TOKEN",
    "LINEAR_API_KEY",
    "SLACK_WEBHOOK_URL",
    "DISCORD_WEBHOOK_URL",
    "TELEGRAM_BOT_TOKEN",
];

/// The values that are masked. It shows none of them.
#[derive(Default)]
pub(crate) struct Secrets {
    /// The longest first, so that none is left in half because another is a part of it.
    values: Vec<String>,
}

impl Secrets {
    /// The secrets of this daemon's own environment, and those that a project's sessions are given.
    pub(crate) fn of(
        environment: Option<&Environment>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Secrets {
        let mut values: BTreeSet<String> = USUAL.iter().filter_map(|name| variable(name)).collect();
        for secret in environment.into_iter().flat_map(|environment| &environment.secrets) {
            values.extend(match &secret.from {
                SecretSource::Env(name) => variable(name),
                SecretSource::File(path) => {
                    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
                }
            });
        }
        let mut values: Vec<String> = values.into_iter().filter(|value| value.len() >= LEAST).collect();
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Secrets { values }
    }

    pub(crate) fn mask(&self, text: &str) -> String {
        self.values.iter().fold(text.to_owned(), |text, secret| text.replace(secret, MASK))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.values.len())
    }
}

#[cfg(test)]
mod tests {
    use ao_core::setup::Secret;

    use super::*;

    /// acceptance: X5 (over the API)
    #[test]
    fn a_known_secret_is_shown_nowhere() {
        let environment = Environment {
            secrets: vec![Secret { name: "DB".into(), from: SecretSource::Env("DB_PASSWORD".into()) }],
            ..Environment::default()
        };
        let set = |name: &str| match name {
            "GITHUB_TOKEN" => Some("ghp_abcdefgh".to_owned()),
            "DB_PASSWORD" => Some("ghp_abcdefgh-and-more".to_owned()),
            "OPENAI_API_KEY" => Some("short".to_owned()),
            _ => None,
        };
        let secrets = Secrets::of(Some(&environment), set);
        assert_eq!(
            secrets.mask("a ghp_abcdefgh-and-more b ghp_abcdefgh short"),
            "a [secret] b [secret] short"
        );
        assert!(!format!("{secrets:?}").contains("ghp"));
    }
}
