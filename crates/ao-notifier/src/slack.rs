//! Slack, by an incoming webhook.

use ao_core::notice::Notice;
use serde_json::{Value, json};

use crate::words::{body, entities, fit, title, whole};

/// What Slack takes in a header, in a section, and in the line that it shows as a push message.
const HEADER: usize = 150;
const SECTION: usize = 3000;
const LINE: usize = 4000;

/// The message. Its blocks are plain text, in which Slack sees no links, mentions or formatting; the characters with which
/// those begin are escaped all the same, as the line for push messages is no block.
pub(crate) fn message(notice: &Notice) -> Value {
    let plain =
        |text: &str, most| json!({ "type": "plain_text", "emoji": false, "text": fit(text, most, entities) });
    let mut blocks = vec![json!({ "type": "header", "text": plain(&title(notice), HEADER) })];
    let text = body(notice);
    if !text.is_empty() {
        blocks.push(json!({ "type": "section", "text": plain(&text, SECTION) }));
    }
    json!({
        "text": fit(&whole(notice), LINE, entities),
        "mrkdwn": false,
        "unfurl_links": false,
        "unfurl_media": false,
        "blocks": blocks,
    })
}
