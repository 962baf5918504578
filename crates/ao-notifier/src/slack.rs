//! Slack, by an incoming webhook.

use ao_core::notice::Notice;
use serde_json::{Value, json};

use crate::links::{NoticeLink, buttons};
use crate::text::{body, entities, fit, title, whole, with_lines};

/// Slack's limits of a header, of a section, and of the line that it shows as a push notification.
const HEADER: usize = 150;
const SECTION: usize = 3000;
const LINE: usize = 4000;
/// Longest URL of a button.
const ADDRESS: usize = 3000;

/// Builds the message. Its blocks are plain text, in which Slack recognises no links, mentions or formatting; their
/// special characters are escaped all the same, since the line for push notifications is no block.
pub(crate) fn message(notice: &Notice, links: Vec<NoticeLink>) -> Value {
    let (buttons, lines) = buttons(links, ADDRESS);
    let plain =
        |text: &str, most| json!({ "type": "plain_text", "emoji": false, "text": fit(text, most, entities) });
    let mut blocks = vec![json!({ "type": "header", "text": plain(&title(notice), HEADER) })];
    let text = with_lines(SECTION, &escaped(&lines), |most| fit(&body(notice), most, entities));
    let text = text.trim();
    if !text.is_empty() {
        blocks.push(json!({
            "type": "section",
            "text": { "type": "plain_text", "emoji": false, "text": text },
        }));
    }
    if !buttons.is_empty() {
        let elements: Vec<Value> = buttons.iter().map(button).collect();
        blocks.push(json!({ "type": "actions", "elements": elements }));
    }
    json!({
        "text": with_lines(LINE, &escaped(&lines), |most| fit(&whole(notice), most, entities)),
        "mrkdwn": false,
        "unfurl_links": false,
        "unfurl_media": false,
        "blocks": blocks,
    })
}

/// Builds a link button. Slack requires an id for each, although we are not notified when it is pressed.
fn button(link: &NoticeLink) -> Value {
    json!({
        "type": "button",
        "action_id": format!("open-{}", link.rel),
        "text": { "type": "plain_text", "emoji": false, "text": link.label },
        "url": link.url.as_str(),
    })
}

fn escaped(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| fit(line, usize::MAX, entities)).collect()
}
