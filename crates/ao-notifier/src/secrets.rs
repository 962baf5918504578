//! Masks secrets in texts and in URLs.

use std::fmt;

use reqwest::Url;

/// Shorter values would match inside ordinary words.
const SHORTEST: usize = 4;

/// Values that no error may contain.
#[derive(Clone, Default)]
pub(crate) struct ChannelSecrets(Vec<String>);

impl ChannelSecrets {
    pub(crate) fn of(secret: &str) -> ChannelSecrets {
        let mut secrets = ChannelSecrets::default();
        secrets.add(secret);
        secrets
    }

    pub(crate) fn add(&mut self, secret: &str) {
        if secret.len() >= SHORTEST {
            self.0.push(secret.to_owned());
            // The longest first, so that no part of it remains.
            self.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        }
    }

    /// Adds all parts of a URL but its host, since any of them may grant access.
    pub(crate) fn add_address(&mut self, url: &Url) {
        for part in [url.as_str(), url.path(), url.query().unwrap_or_default(), url.username()] {
            self.add(part);
        }
        self.add(url.password().unwrap_or_default());
        for segment in url.path_segments().into_iter().flatten() {
            self.add(segment);
        }
        for (_, value) in url.query_pairs() {
            self.add(&value);
        }
        let written = url.query().into_iter().flat_map(|query| query.split('&'));
        for (_, as_written) in written.filter_map(|pair| pair.split_once('=')) {
            self.add(as_written);
        }
    }

    pub(crate) fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "…"))
    }
}

impl fmt::Debug for ChannelSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChannelSecrets(…)")
    }
}

/// Masks a URL so that its owner recognises it and no one else can use it: `https://hooks.slack.com/services/…ab12`.
pub(crate) fn masked(url: &Url) -> String {
    let segments: Vec<&str> =
        url.path_segments().into_iter().flatten().filter(|part| !part.is_empty()).collect();
    let mut shown = url.origin().ascii_serialization();
    if let [first, .., _] = segments[..]
        && first.len() <= 16
        && first.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
    {
        shown = format!("{shown}/{first}");
    }
    if let Some(last) = segments.last() {
        shown = format!("{shown}/…{}", tail(last));
    }
    if url.query().is_some() {
        shown.push_str("?…");
    }
    shown
}

/// Returns the last four characters of a value that is long enough not to be revealed by them.
fn tail(secret: &str) -> String {
    let letters: Vec<char> = secret.chars().collect();
    if letters.len() < 12 { String::new() } else { letters[letters.len() - 4..].iter().collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(url: &str) -> String {
        masked(&Url::parse(url).unwrap())
    }

    #[test]
    fn an_address_is_known_again_and_of_no_use() {
        let slack = "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXab12";
        assert_eq!(shown(slack), "https://hooks.slack.com/services/…ab12");
        assert_eq!(
            shown("https://me:pass@example.com:8443/hooks/ao?key=hush"),
            "https://example.com:8443/hooks/…?…"
        );
        assert_eq!(shown("https://example.com/6f1c0b0d9e8a"), "https://example.com/…9e8a");
        assert_eq!(shown("https://example.com/6f1c0b0d9e8a/catch"), "https://example.com/…");
        assert_eq!(shown("http://127.0.0.1:9000"), "http://127.0.0.1:9000");
    }

    #[test]
    fn every_piece_of_an_address_is_hidden() {
        let mut secrets = ChannelSecrets::default();
        let url = "https://user1:pass1@example.com/hooks/abcdef?key=hush%21";
        secrets.add_address(&Url::parse(url).unwrap());
        let text = format!("{url} | /hooks/abcdef | abcdef | hush! | hush%21 | pass1 | user1");
        let hidden = secrets.hide(&text);
        assert_eq!(hidden, "… | … | … | … | … | … | …");
        assert_eq!(format!("{secrets:?}"), "ChannelSecrets(…)");
    }
}
