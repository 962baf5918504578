//! Discord, by the webhook of a channel.

use ao_core::notice::Notice;
use reqwest::Url;
use serde_json::{Value, json};

use crate::links::{NoticeLink, buttons};
use crate::text::{fit, whole, with_lines};

const CONTENT: usize = 2000;
/// Shows no previews of linked pages.
const SUPPRESS_EMBEDS: u32 = 1 << 2;
const ACTION_ROW: u32 = 1;
const BUTTON: u32 = 2;
/// A link button, the only kind that a webhook without an application may have.
const LINK_STYLE: u32 = 5;
/// Longest URL of a button.
const ADDRESS: usize = 512;

/// Builds the message. It mentions no user, regardless of its text.
pub(crate) fn message(notice: &Notice, links: Vec<NoticeLink>) -> Value {
    let (buttons, lines) = buttons(links, ADDRESS);
    let lines: Vec<String> = lines.iter().map(|line| fit(line, usize::MAX, escape())).collect();
    let mut message = json!({
        "content": with_lines(CONTENT, &lines, |most| fit(&whole(notice), most, escape())),
        "allowed_mentions": { "parse": [] },
        "flags": SUPPRESS_EMBEDS,
    });
    if !buttons.is_empty() {
        let buttons: Vec<Value> = buttons
            .iter()
            .map(|link| {
                json!({ "type": BUTTON, "style": LINK_STYLE, "label": link.label, "url": link.url.as_str() })
            })
            .collect();
        message["components"] = json!([{ "type": ACTION_ROW, "components": buttons }]);
    }
    message
}

/// Returns the URL at which Discord answers only after it has stored the message, and supports buttons.
pub(crate) fn waiting(mut url: Url) -> Url {
    let others: Vec<(String, String)> =
        url.query_pairs().into_owned().filter(|(key, _)| key != "wait" && key != "with_components").collect();
    let mut query = url.query_pairs_mut();
    query.clear().extend_pairs(others).append_pair("wait", "true").append_pair("with_components", "true");
    drop(query);
    url
}

/// Escapes every character that starts Discord's markdown, such as a link with a misleading text. Characters inside a
/// URL stay, or it would lead elsewhere.
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
        assert_eq!(
            asked,
            url("https://discord.com/api/webhooks/1/abc?thread_id=7&wait=true&with_components=true")
        );
        assert_eq!(
            waiting(url("https://a.example/b")),
            url("https://a.example/b?wait=true&with_components=true")
        );
    }
}
