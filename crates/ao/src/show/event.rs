//! Renders events, one line each: time, subject, and what happened.

use std::collections::BTreeMap;

use ao_api::Event;
use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr;

use super::event_words;
use super::words::{plain, shorten};
use crate::ui;

/// Renders an event. `names` maps session ids to names.
pub fn event(
    event: &Event,
    names: &BTreeMap<String, String>,
    zone: &TimeZone,
    width: Option<usize>,
) -> String {
    let at = event.at.to_zoned(zone.clone()).strftime("%m-%d %H:%M:%S").to_string();
    let who = plain(&named(&concerned(event), names));
    let said = match event_words::describe(&event.kind, &event.data) {
        Some(said) => plain(&named(&said, names)),
        // An event of a newer daemon.
        None => event.kind.replace(['.', '_'], " "),
    };
    let head = format!("{:>6} {at}  {who}  ", event.seq);
    let said = match width {
        Some(width) => shorten(&said, width.saturating_sub(head.width())),
        None => said,
    };
    let (faint, title) = (ui::FAINT, ui::TITLE);
    format!("{faint}{:>6} {at}{faint:#}  {title}{who}{title:#}  {said}", event.seq)
}

/// Returns true if the event contains ids of sessions without a known name.
pub fn nameless(event: &Event, names: &BTreeMap<String, String>) -> bool {
    let said = event_words::describe(&event.kind, &event.data).unwrap_or_default();
    ids(&format!("{} {said}", event.concerns)).any(|id| !names.contains_key(id))
}

/// Returns the subject. Notices and jobs are about others, and their own numbers mean nothing to people.
fn concerned(event: &Event) -> String {
    match event.kind.split_once('.').map(|(aggregate, _)| aggregate) {
        Some("notice" | "job" | "host") => "ao".to_owned(),
        _ => event.concerns.clone(),
    }
}

/// Replaces the ids of sessions by their names.
fn named(text: &str, names: &BTreeMap<String, String>) -> String {
    let mut told = text.to_owned();
    for id in ids(text) {
        told = told.replace(id, names.get(id).map_or("a forgotten session", String::as_str));
    }
    told
}

/// Returns the ids of sessions in a text.
fn ids(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| {
        word.strip_prefix("ses_")
            .is_some_and(|hex| !hex.is_empty() && hex.chars().all(|c| c.is_ascii_hexdigit()))
    })
}
