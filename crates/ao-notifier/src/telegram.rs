//! Telegram, by a bot.

use ao_core::notice::Notice;
use reqwest::Url;
use serde_json::{Value, json};

use crate::links::{NoticeLink, buttons};
use crate::settings::{ChannelError, FoundSetting};
use crate::text::{as_it_is, fit, whole, with_lines};

pub(crate) const API: &str = "https://api.telegram.org";
const TEXT: usize = 4096;
/// Longest URL of a button. Telegram documents no limit.
const ADDRESS: usize = 2048;

/// Builds the message. It has no `parse_mode`, so nothing in it is markup.
pub(crate) fn message(notice: &Notice, chat: &str, links: Vec<NoticeLink>) -> Value {
    let (buttons, lines) = buttons(links, ADDRESS);
    let text = without_mentions(&whole(notice));
    let mut message = json!({
        "chat_id": chat,
        "text": with_lines(TEXT, &lines, |most| fit(&text, most, as_it_is)),
        "link_preview_options": { "is_disabled": true },
    });
    if !buttons.is_empty() {
        let row: Vec<Value> =
            buttons.iter().map(|link| json!({ "text": link.label, "url": link.url.as_str() })).collect();
        message["reply_markup"] = json!({ "inline_keyboard": [row] });
    }
    message
}

/// Builds the URL of a bot. The token is checked to have Telegram's format, so that nothing else gets into the URL.
pub(crate) fn address(api: &FoundSetting, token: &FoundSetting) -> Result<Url, ChannelError> {
    let well_formed = token.value.split_once(':').is_some_and(|(bot, key)| {
        !bot.is_empty()
            && bot.bytes().all(|byte| byte.is_ascii_digit())
            && !key.is_empty()
            && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    });
    if !well_formed {
        return Err(token.wrong("is not the token of a bot; @BotFather gives one such as `123456:ABC-def`"));
    }
    let mut url = api.secret_address()?;
    url.set_path(&format!("{}/bot{}/sendMessage", url.path().trim_end_matches('/'), token.value));
    Ok(url)
}

/// Describes the chat by the beginning of its name or number.
pub(crate) fn target(chat: &str) -> String {
    let letters: Vec<char> = chat.chars().collect();
    let shown: String = if letters.len() < 6 { String::new() } else { letters[..4].iter().collect() };
    format!("@chat {shown}…")
}

/// Prevents mentions: Telegram takes `@name` at the beginning of a word for one in any text. An invisible joiner
/// prevents that, and an address such as `git@host` stays as it is, so that it can be copied.
fn without_mentions(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        out.push(c);
        if c == '@' && !before.is_alphanumeric() {
            out.push('\u{2060}');
        }
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_mentions_and_addresses_stay_whole() {
        assert_eq!(
            without_mentions("@everyone, (@ann): git@host"),
            "@\u{2060}everyone, (@\u{2060}ann): git@host"
        );
    }

    #[test]
    fn a_chat_is_known_by_its_beginning() {
        assert_eq!(target("123456789"), "@chat 1234…");
        assert_eq!(target("-1001234567890"), "@chat -100…");
        assert_eq!(target("42"), "@chat …");
    }
}
