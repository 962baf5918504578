//! TAP, with or without YAML below a failing test.

use super::collector::{FailureCollector, FailureEntry, FailureFamily, SourceLocation};
use super::junit::place_in;
use super::text;
use super::window::LineView;

pattern!(NOT_OK, r"^(\s*)not ok\b(?: \d+)?(?:\s+-)?\s*(.*?)(?:\s+#\s*(.*))?$");
pattern!(FIELD, r#"^\s*(message|error|location|at|file|line|failureType|stack):\s*(.*)$"#);
pattern!(PERL, r"^at (\S+) line (\d+)\.$");

const LINES: usize = 60;

pub(super) fn read(view: &LineView<'_>, line: &str, found: &mut FailureCollector) -> Option<usize> {
    if !line.trim_start().starts_with("not ok") {
        return None;
    }
    let parts = NOT_OK.captures(line)?;
    let directive = parts.get(3).map(|note| note.as_str().to_ascii_lowercase()).unwrap_or_default();
    if directive.starts_with("todo") || directive.starts_with("skip") {
        return Some(view.next);
    }
    let indent = parts[1].len();
    // Diagnostics are indented, or comments right below.
    let ends = |line: &str| {
        let own = line.len() - line.trim_start().len();
        !line.trim().is_empty() && own <= indent && !line.trim_start().starts_with("# ")
            || own == indent && line.trim_start().starts_with("# Subtest")
    };
    let (lines, next) = view.until(view.next, LINES, ends);
    let name = if parts[2].is_empty() { "unnamed test" } else { &parts[2] };
    if let Some(entry) = with_output(FailureEntry::test(FailureFamily::Tap, name), &lines) {
        found.certain(entry);
    }
    Some(next)
}

/// Reads the diagnostics of a test. Returns `None` if only subtests failed, because those have entries of their own.
fn with_output(entry: FailureEntry, lines: &[String]) -> Option<FailureEntry> {
    let yaml = lines.iter().position(|line| line.trim() == "---");
    let Some(begin) = yaml else {
        let message = lines.iter().map(|line| line.trim().trim_start_matches('#').trim().to_string());
        let message: Vec<String> =
            message.take_while(|line| !line.starts_with("at ") || PERL.is_match(line)).take(12).collect();
        let perl = message
            .iter()
            .find_map(|line| PERL.captures(line).map(|parts| SourceLocation::new(&parts[1], &parts[2])));
        return Some(entry.message(message).at(perl.or_else(|| place_in(&lines.join("\n")))));
    };
    let end = lines.iter().position(|line| line.trim() == "...").unwrap_or(lines.len()).max(begin);
    let fields = YamlFields(&lines[begin..end]);
    if fields.get("failureType").is_some_and(|kind| kind.concat().contains("subtestsFailed")) {
        return None;
    }
    let message = fields.get("message").or_else(|| fields.get("error")).unwrap_or_default();
    let place = fields
        .get("file")
        .map(|file| SourceLocation::new(&file.concat(), &fields.get("line").unwrap_or_default().concat()));
    let place = place.or_else(|| place_in(&fields.get("stack")?.join("\n")));
    let place = place.or_else(|| place_in(&fields.get("location").or_else(|| fields.get("at"))?.join("\n")));
    Some(entry.message(message).at(place))
}

/// The relevant fields of the simple YAML that TAP writers produce: plain and quoted scalars, and blocks.
struct YamlFields<'a>(&'a [String]);

impl YamlFields<'_> {
    fn get(&self, name: &str) -> Option<Vec<String>> {
        let at =
            self.0.iter().position(|line| FIELD.captures(line).is_some_and(|parts| &parts[1] == name))?;
        let value = FIELD.captures(&self.0[at])?[2].trim().to_string();
        if !value.starts_with(['|', '>']) {
            let quoted = value.len() >= 2 && (value.starts_with('\'') || value.starts_with('"'));
            let value = if quoted { value[1..value.len() - 1].to_string() } else { value };
            return Some(value.replace("''", "'").replace("\\n", "\n").lines().map(str::to_string).collect());
        }
        let indent = |line: &str| line.len() - line.trim_start().len();
        let own = indent(&self.0[at]);
        let block = self.0[at + 1..].iter().take_while(|line| line.trim().is_empty() || indent(line) > own);
        Some(block.map(|line| text::shorten(line.trim(), 400).into_owned()).collect())
    }
}
