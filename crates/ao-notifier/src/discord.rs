//! Discord, by a webhook of a channel.

use ao_core::notice::Notice;
use reqwest::Url;
use serde_json::{Value, json};

use crate::words::{fit, whole};

const CONTENT: usize = 2000;
/// No pictures of the pages that a text names.
const SUPPRESS_EMBEDS: u32 = 1 << 2;

/// The message. Nobody is mentioned by it, whatever it says.
pub(crate) fn message(notice: &Notice) -> Value {
    json!({
        "content": fit(&whole(notice), CONTENT, escape()),
        "allowed_mentions": { "parse": [] },
        "flags": SUPPRESS_EMBEDS,
    })
}

/// The address at which Discord answers when it has kept the message, not before.
pub(crate) fn waiting(mut url: Url) -> Url {
    let others: Vec<(String, String)> =
        url.query_pairs().into_owned().filter(|(key, _)| key != "wait").collect();
    url.query_pairs_mut().clear().extend_pairs(others).append_pair("wait", "true");
    url
}

/// Escapes everything with which Discord's markdown begins something, such as a link under another name. What stands in the
/// middle of an address stays, or it would lead elsewhere.
fn escape() -> impl FnMut(char) -> Option<&'static str> {
    let mut word = String::new();
    move |c| {
        if c.is_whitespace() {
            word.clear();
        } else if word.len() < "https://".len() {
            word.push(c);
        }
        let in_address = word.starts_with("http://") || word == "https://";
        Some(match c {
            '*' | '_' | '~' | '#' if in_address => return None,
            '\\' => "\\\\",
            '*' => "\\*",
            '_' => "\\_",
            '~' => "\\~",
            '`' => "\\`",
            '|' => "\\|",
            '>' => "\\>",
            '<' => "\\<",
            '#' => "\\#",
            '[' => "\\[",
            ']' => "\\]",
            '(' => "\\(",
            ')' => "\\)",
            '@' => "\\@",
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_in_the_address_stays() {
        let url = |text| Url::parse(text).unwrap();
        let asked = waiting(url("https://discord.com/api/webhooks/1/abc?thread_id=7&wait=false"));
        assert_eq!(asked, url("https://discord.com/api/webhooks/1/abc?thread_id=7&wait=true"));
        assert_eq!(waiting(url("https://a.example/b")), url("https://a.example/b?wait=true"));
    }
}
