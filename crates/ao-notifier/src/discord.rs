//! Discord, by a webhook of a channel.

use ao_core::notice::Notice;
use reqwest::Url;
use serde_json::{Value, json};

use crate::links::{Link, buttons};
use crate::words::{fit, whole, with_lines};

const CONTENT: usize = 2000;
/// No pictures of the pages that a text names.
const SUPPRESS_EMBEDS: u32 = 1 << 2;
const ACTION_ROW: u32 = 1;
const BUTTON: u32 = 2;
/// A button that leads to an address, which is the only kind that a webhook without an application may have.
const LINK_STYLE: u32 = 5;
/// The longest address of a button.
const ADDRESS: usize = 512;

/// The message. Nobody is mentioned by it, whatever it says.
pub(crate) fn message(notice: &Notice, links: Vec<Link>) -> Value {
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

/// The address at which Discord answers when it has kept the message, not before, and heeds buttons.
pub(crate) fn waiting(mut url: Url) -> Url {
    let others: Vec<(String, String)> =
        url.query_pairs().into_owned().filter(|(key, _)| key != "wait" && key != "with_components").collect();
    let mut query = url.query_pairs_mut();
    query.clear().extend_pairs(others).append_pair("wait", "true").append_pair("with_components", "true");
    drop(query);
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
