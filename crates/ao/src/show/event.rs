//! What happened, one line each.

use ao_api::Event;
use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr;

use super::words::{plain, shorten};
use crate::ui;

/// A line for an event. `name` is what people call the one it concerns, if that is known.
pub fn event(event: &Event, name: Option<&str>, zone: &TimeZone, width: Option<usize>) -> String {
    let at = event.at.to_zoned(zone.clone()).strftime("%m-%d %H:%M:%S").to_string();
    let who = plain(name.unwrap_or(&event.concerns));
    let head = format!("{:>6} {at}  {who}  {}", event.seq, event.kind);
    let detail = match detail(event) {
        detail if detail.is_empty() => detail,
        detail => match width {
            Some(width) => shorten(&detail, width.saturating_sub(head.width() + 2)),
            None => detail,
        },
    };
    let (faint, title) = (ui::FAINT, ui::TITLE);
    let line = format!(
        "{faint}{:>6} {at}{faint:#}  {title}{who}{title:#}  {}  {faint}{detail}{faint:#}",
        event.seq, event.kind
    );
    line.trim_end().to_owned()
}

/// What it says beside its kind: the innermost of what is wrapped in words that the kind repeats.
fn detail(event: &Event) -> String {
    let mut data = &event.data;
    let word = event.kind.rsplit('.').next().unwrap_or_default();
    for outer in ["body", word] {
        data = data.get(outer).unwrap_or(data);
    }
    match data {
        serde_json::Value::Null => String::new(),
        serde_json::Value::Object(fields) if fields.is_empty() => String::new(),
        serde_json::Value::Object(fields) => {
            let told: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name}={}", flat(value))).collect();
            plain(&told.join(" "))
        }
        other => plain(&flat(other)),
    }
}

fn flat(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) if !text.is_empty() && !text.contains(char::is_whitespace) => {
            text.clone()
        }
        other => other.to_string(),
    }
}
