//! Slack, by an incoming webhook.

use ao_core::notice::Notice;
use serde_json::{Value, json};

use crate::links::{Link, buttons};
use crate::words::{body, entities, fit, title, whole, with_lines};

/// What Slack takes in a header, in a section, and in the line that it shows as a push message.
const HEADER: usize = 150;
const SECTION: usize = 3000;
const LINE: usize = 4000;
/// And as the address of a button.
const ADDRESS: usize = 3000;

/// The message. Its blocks are plain text, in which Slack sees no links, mentions or formatting; the characters with which
/// those begin are escaped all the same, as the line for push messages is no block.
pub(crate) fn message(notice: &Notice, links: Vec<Link>) -> Value {
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

/// A button that leads somewhere. Slack wants a name for each, though nobody here is told that it was pressed.
fn button(link: &Link) -> Value {
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
