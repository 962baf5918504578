//! Lines of JSON: messages of cargo and rustc, events of Rust's test harness, and of `go test -json`.

use std::borrow::Cow;

use memchr::memmem;
use serde::Deserialize;

use super::collector::{FailureCollector, FailureEntry, FailureFamily, SourceLocation};
use super::window::LineView;
use super::{go, rust, text};

pub(super) fn read(
    view: &LineView<'_>,
    rust: &mut rust::RustReader,
    go: &mut go::GoReader,
    found: &mut FailureCollector,
) -> Option<usize> {
    let raw = view.raw().trim_ascii();
    let has = |needle: &[u8]| memmem::find(raw, needle).is_some();
    // A line may begin with a time.
    let start = memchr::memchr(b'{', raw)?;
    let raw = &raw[start..];
    if has(br#""$message_type""#) || has(br#""reason""#) {
        if has(br#""level":"error"#) {
            compiler(raw, found);
        }
        return Some(view.next);
    }
    if has(br#""Action":"#) {
        go.event(raw, view, found);
        return Some(view.next);
    }
    if has(br#""event":"#) && has(br#""type":"#) {
        harness(raw, rust, found)?;
        return Some(view.next);
    }
    None
}

#[derive(Deserialize)]
struct CargoMessage<'a> {
    #[serde(borrow)]
    message: RustcDiagnostic<'a>,
}

#[derive(Deserialize)]
struct RustcDiagnostic<'a> {
    #[serde(borrow)]
    message: Cow<'a, str>,
    #[serde(borrow)]
    level: Cow<'a, str>,
    #[serde(borrow)]
    code: Option<RustcCode<'a>>,
    #[serde(borrow, default)]
    spans: Vec<RustcSpan<'a>>,
    #[serde(borrow)]
    rendered: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct RustcCode<'a> {
    #[serde(borrow)]
    code: Cow<'a, str>,
}

#[derive(Deserialize)]
struct RustcSpan<'a> {
    #[serde(borrow)]
    file_name: Cow<'a, str>,
    line_start: u32,
    #[serde(default)]
    is_primary: bool,
}

fn compiler(raw: &[u8], found: &mut FailureCollector) {
    let diagnostic = serde_json::from_slice::<CargoMessage<'_>>(raw)
        .map(|cargo| cargo.message)
        .or_else(|_| serde_json::from_slice::<RustcDiagnostic<'_>>(raw));
    let Ok(diagnostic) = diagnostic else { return };
    let consequence = diagnostic.spans.is_empty() && super::steps::is_consequence(&diagnostic.message);
    if !diagnostic.level.starts_with("error") || consequence {
        return;
    }
    let span = diagnostic.spans.iter().find(|span| span.is_primary).or(diagnostic.spans.first());
    let place =
        span.map(|span| SourceLocation { path: span.file_name.to_string(), line: Some(span.line_start) });
    let rendered = diagnostic.rendered.as_deref().unwrap_or_default();
    // The first two lines repeat the message and the location.
    let shown = lines(rendered).into_iter().filter(|line| !is_title(line)).take(12);
    let entry = FailureEntry::error(FailureFamily::Diagnostic, "")
        .message(lines(&diagnostic.message))
        .name(diagnostic.code.as_ref().map(|code| &*code.code))
        .at(place)
        .with(shown);
    found.certain(entry);
}

fn is_title(line: &str) -> bool {
    line.starts_with("error") || line.trim_start().starts_with("--> ") || line.trim() == "|"
}

#[derive(Deserialize)]
struct HarnessEvent<'a> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    stdout: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<Cow<'a, str>>,
}

fn harness(raw: &[u8], rust: &rust::RustReader, found: &mut FailureCollector) -> Option<()> {
    let event: HarnessEvent<'_> = serde_json::from_slice(raw).ok()?;
    let (Some(name), "failed") = (event.name, &*event.event) else { return Some(()) };
    let printed = lines(event.stdout.as_deref().unwrap_or_default());
    let entry =
        rust::with_output(FailureEntry::test(FailureFamily::Rust, &name).scope(&rust.binary), &printed);
    let entry = match event.message {
        Some(message) if entry.lines.is_empty() => rust::with_output(entry, &lines(&message)),
        _ => entry,
    };
    found.certain(entry);
    Some(())
}

fn lines(text: &str) -> Vec<String> {
    text.lines().take(1000).map(|line| text::clean(line.as_bytes()).into_owned()).collect()
}
