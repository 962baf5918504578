//! TAP, with or without YAML below a failing test.

use super::Pattern;
use super::entry::{FailureEntry, FailureFamily, SourceLocation};
use super::formats::{LogMatch, LogReader};
use super::text;

static FIELD: Pattern = pattern!(r"^\s*(message|error|location|at|file|line|failureType|stack):\s*(.*)$");
static PERL: Pattern = pattern!(r"^at (\S+) line (\d+)\.$");

const PRINTED: usize = 60;

pub(super) fn read(reader: &mut LogReader, line: &LogMatch<'_>) -> Option<usize> {
    let indent = text::indent(line.line);
    // Diagnostics are indented, or comments right below.
    let ends = |line: &str| {
        let (own, comment) = (text::indent(line), line.trim_start());
        !comment.is_empty() && own <= indent && !comment.starts_with("# ")
            || own == indent && comment.starts_with("# Subtest")
    };
    let (lines, next) = line.view.until(line.view.next, PRINTED, ends);
    let name = line.part("name").filter(|name| !name.is_empty()).unwrap_or("unnamed test");
    if let Some(entry) = output(FailureEntry::test(FailureFamily::Tap, name), &lines) {
        reader.found.certain(entry);
    }
    Some(next)
}

/// Reads the diagnostics of a test. Returns `None` if only subtests failed, because those have entries of their own.
fn output(entry: FailureEntry, lines: &[String]) -> Option<FailureEntry> {
    let yaml = lines.iter().position(|line| line.trim() == "---");
    let Some(begin) = yaml else {
        let message = lines.iter().map(|line| line.trim().trim_start_matches('#').trim().to_string());
        let message: Vec<String> =
            message.take_while(|line| !line.starts_with("at ") || PERL.is_match(line)).take(12).collect();
        let perl = message
            .iter()
            .find_map(|line| PERL.captures(line).map(|parts| SourceLocation::new(&parts[1], &parts[2])));
        return Some(entry.message(message).at(perl.or_else(|| SourceLocation::in_trace(lines))));
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
    let place = place.or_else(|| SourceLocation::in_trace(&fields.get("stack")?));
    let place =
        place.or_else(|| SourceLocation::in_trace(&fields.get("location").or_else(|| fields.get("at"))?));
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
        let own = text::indent(&self.0[at]);
        let is_in = |line: &&String| line.trim().is_empty() || text::indent(line) > own;
        let block = self.0[at + 1..].iter().take_while(is_in);
        Some(block.map(|line| text::shorten(line.trim(), 400).into_owned()).collect())
    }
}
