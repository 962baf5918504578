//! Secrets that must not be shown to anybody, wherever they turn up.

use std::collections::BTreeSet;
use std::fmt;

use ao_core::setup::{Environment, SecretSource};

/// Shorter ones would mask half of every text, and are no secrets.
const LEAST: usize = 8;
const MASK: &str = "[secret]";

/// Variables that hold secrets wherever they are set.
pub(crate) const USUAL: [&str; 12] = [
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
    /// The secrets of this daemon's own environment, and those that a project's sessions are given. What `env.set` has in the
    /// open stands in a file that everybody reads, and is none.
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

/// Pieces of something longer: a secret that is cut in two is in neither of them.
impl Secrets {
    pub(crate) fn longest(&self) -> usize {
        self.values.first().map_or(0, String::len)
    }

    /// How much of a piece can be shown: not the end of it that may be the beginning of a secret.
    pub(crate) fn whole_part(&self, piece: &[u8]) -> usize {
        let tail = piece.len().saturating_sub(self.longest() * 2);
        let begins = |from: usize| {
            let rest = &piece[from..];
            self.values.iter().any(|secret| secret.len() > rest.len() && secret.as_bytes().starts_with(rest))
        };
        let Some(mut end) = (tail..piece.len()).find(|from| begins(*from)) else { return piece.len() };
        // A secret that is whole must not be cut by that.
        let holds = |at: usize| {
            let cut_by = |secret: &String| {
                let from = at.saturating_sub(secret.len() - 1).max(tail);
                (from..at).find(|from| piece[*from..].starts_with(secret.as_bytes()))
            };
            self.values.iter().filter_map(cut_by).min()
        };
        while let Some(before) = holds(end) {
            end = before;
        }
        end
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

    #[test]
    fn a_secret_is_shown_in_no_half_wherever_it_is_cut() {
        let set = |name: &str| match name {
            "GITHUB_TOKEN" => Some("ghp_abcghp_".to_owned()),
            "OPENAI_API_KEY" => Some("ghp_abcghp_-longer".to_owned()),
            _ => None,
        };
        let secrets = Secrets::of(None, set);
        let text = "one ghp_abcghp_ two ghp_abcghp_-longer three g\n";
        let whole = secrets.mask(text);
        for piece in 1..text.len() {
            let (mut from, mut shown) = (0, String::new());
            let mut size = piece;
            while from < text.len() {
                let end = (from + size).min(text.len());
                let bytes = &text.as_bytes()[from..end];
                let part = if end == text.len() { bytes.len() } else { secrets.whole_part(bytes) };
                shown.push_str(&secrets.mask(&text[from..from + part]));
                // Nothing can be shown of it, so more has to come.
                size = if part == 0 { size + 1 } else { piece };
                from += part;
            }
            assert_eq!(shown, whole, "in pieces of {piece}");
        }
    }
}
