//! Lines of JSON: messages of cargo and rustc, events of Rust's test harness, and of `go test -json`.

use memchr::memmem;
use serde_json::Value;

use super::collector::FailureCollector;
use super::entry::{FailureEntry, FailureFamily, SourceLocation};
use super::formats::LogReader;
use super::window::LineView;
use super::{rust, text};

pub(super) fn read(view: &LineView<'_>, reader: &mut LogReader) -> Option<usize> {
    // A line may begin with a time.
    let raw = view.raw().trim_ascii();
    let raw = &raw[memchr::memchr(b'{', raw)?..];
    let has = |needle: &str| memmem::find(raw, needle.as_bytes()).is_some();
    let json = || serde_json::from_slice::<Value>(raw).unwrap_or_default();
    if has(r#""$message_type""#) || has(r#""reason""#) {
        if has(r#""level":"error"#) {
            compiler(&json(), &mut reader.found);
        }
    } else if has(r#""Action":"#) {
        reader.go.event(&json(), view, &mut reader.found);
    } else if has(r#""event":"#) && has(r#""type":"#) {
        harness(&json(), reader)?;
    } else {
        return None;
    }
    Some(view.next)
}

fn compiler(json: &Value, found: &mut FailureCollector) {
    // Cargo wraps what rustc prints.
    let diagnostic = if json["message"].is_object() { &json["message"] } else { json };
    let Some(message) = diagnostic["message"].as_str() else { return };
    let spans = diagnostic["spans"].as_array().map_or(&[][..], Vec::as_slice);
    let is_error = diagnostic["level"].as_str().is_some_and(|level| level.starts_with("error"));
    if !is_error || spans.is_empty() && text::is_consequence(message) {
        return;
    }
    let span = spans.iter().find(|span| span["is_primary"] == true).or(spans.first());
    let place = span.and_then(|span| {
        let line = span["line_start"].as_u64().and_then(|line| line.try_into().ok());
        Some(SourceLocation { path: span["file_name"].as_str()?.to_string(), line })
    });
    // The first two lines repeat the message and the location.
    let is_title = |line: &String| {
        line.starts_with("error") || line.trim_start().starts_with("--> ") || line.trim() == "|"
    };
    let shown = lines(&diagnostic["rendered"]).into_iter().filter(|line| !is_title(line)).take(12);
    let entry = FailureEntry::error("").message(lines(&diagnostic["message"]));
    found.certain(entry.name(diagnostic["code"]["code"].as_str()).at(place).with(shown));
}

fn harness(event: &Value, reader: &mut LogReader) -> Option<()> {
    if event["event"].as_str()? == "failed"
        && let Some(name) = event["name"].as_str()
    {
        let entry = FailureEntry::test(FailureFamily::Rust, name).scope(reader.scope(FailureFamily::Rust));
        let mut entry = rust::output(entry, &lines(&event["stdout"]));
        if entry.lines.is_empty() {
            entry = rust::output(entry, &lines(&event["message"]));
        }
        reader.found.certain(entry);
    }
    Some(())
}

fn lines(text: &Value) -> Vec<String> {
    let lines = text.as_str().unwrap_or_default().lines().take(1000);
    lines.map(|line| text::clean(line.as_bytes()).into_owned()).collect()
}
