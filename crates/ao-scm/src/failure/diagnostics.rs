//! Compilers and linters: `file:line:column: error: message` and its relatives, and linkers.

use super::collector::{FailureCollector, FailureEntry, FailureFamily, SourceLocation};
use super::steps::is_consequence;
use super::text;
use super::window::LineView;

// gcc, clang, rustc in short form, javac, swiftc, mypy, and very many others.
pattern!(
    COLON,
    r"^((?:[A-Za-z]:)?[^\s:][^:]*?):(\d+)(?::(\d+))?:? (?:- )?(?:(?:fatal|internal compiler|syntax) )?[Ee]rror(?:\[([A-Z]\w+)\]| ([A-Z]{1,8}\d+))?: (.+)$"
);
// tsc, msvc, csc.
pattern!(
    PARENTHESES,
    r"^(?:\s*\d+>)?\s*((?:[A-Za-z]:)?[^\s(:][^(:]*?)\((\d+)(?:,\d+)*\) ?: (?:fatal )?error ([A-Z]{1,8}\d+): (.+?)(?: \[[^\]]+\])?$"
);
// msvc's linker, msbuild.
pattern!(NO_LINE, r"^(?:\s*\d+>)?\s*(\S+) ?: (?:fatal )?error ([A-Z]{2,8}\d+): (.+?)(?: \[[^\]]+\])?$");
pattern!(STYLISH, r"^\s+(\d+):(\d+)\s+error\s+(.+?)(?:\s{2,}(\S+))?$");
pattern!(UNIX, r"^((?:[A-Za-z]:)?[^\s:][^:]*?):(\d+):(\d+): (.+) \[Error(?:/(\S+))?\]$");
pattern!(LINKER, r"(?:([^\s:/\\]+\.\w+):)?(?:\(\.\S+\): |(\d+): )?(undefined reference to .+)$");
// Java's uncaught exceptions.
pattern!(
    EXCEPTION,
    r#"^(?:Exception in thread "[^"]*" |Caused by: )?((?:[a-z_][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error))(?:: (.*))?$"#
);
pattern!(JAVA_FRAME, r"^\s+at .+\((\w+\.(?:java|kt|scala|groovy)):(\d+)\)$");
// Uncaught errors of node: a location, the code, the message.
pattern!(THROWN, r"^(?:Uncaught )?([A-Z]\w*(?:Error|Exception))(?: \[\w+\])?: (.+)$");
pattern!(NODE_FRAME, r"^\s+at .*?\(?((?:file://)?(?:[A-Za-z]:)?[^\s():]+):(\d+):\d+\)?$");

#[derive(Default)]
pub(super) struct DiagnosticReader {
    /// The file that a linter names above its errors.
    file: Option<String>,
}

impl DiagnosticReader {
    pub(super) fn read(
        &mut self,
        view: &LineView<'_>,
        line: &str,
        found: &mut FailureCollector,
    ) -> Option<usize> {
        let entry = if has!(line, "rror") {
            self.diagnostic(view, line).or_else(|| thrown(view, line, found))?
        } else if has!(line, "undefined reference to") {
            let parts = LINKER.captures(line)?;
            let place = parts.get(1).map(|file| SourceLocation {
                path: file.as_str().to_string(),
                line: parts.get(2).and_then(|line| line.as_str().parse().ok()),
            });
            FailureEntry::error(FailureFamily::Diagnostic, &parts[3]).at(place)
        } else if has!(line, "xception") {
            thrown(view, line, found)?
        } else {
            return None;
        };
        if entry.kind == ao_ports::FailureKind::Error && !entry.lines.is_empty() {
            found.certain(entry);
        }
        Some(view.next)
    }

    fn diagnostic(&mut self, view: &LineView<'_>, line: &str) -> Option<FailureEntry> {
        if line.starts_with(' ') && has!(line, " error ") {
            let parts = STYLISH.captures(line)?;
            let file = self.stylish_file(view)?;
            let place = SourceLocation::new(&file, &parts[1]);
            let rule = parts.get(4).map(|rule| rule.as_str());
            return Some(
                FailureEntry::error(FailureFamily::Diagnostic, parts[3].trim()).name(rule).at(Some(place)),
            );
        }
        if line.ends_with(']')
            && has!(line, "[Error")
            && let Some(parts) = UNIX.captures(line)
        {
            let rule = parts.get(5).map(|rule| rule.as_str());
            let place = SourceLocation::new(&parts[1], &parts[2]);
            return Some(
                FailureEntry::error(FailureFamily::Diagnostic, &parts[4]).name(rule).at(Some(place)),
            );
        }
        const SIGNS: [&str; 6] = [
            ": error",
            ": fatal error",
            " - error",
            ": Error",
            ": internal compiler error",
            ": syntax error",
        ];
        if has_any!(line, SIGNS) {
            if let Some(parts) = COLON.captures(line) {
                if is_consequence(&parts[6]) {
                    return None;
                }
                let code = parts.get(4).or(parts.get(5)).map(|code| code.as_str());
                let place = SourceLocation::new(&parts[1], &parts[2]);
                let entry =
                    FailureEntry::error(FailureFamily::Diagnostic, &parts[6]).name(code).at(Some(place));
                return Some(entry.with(code_below(view)));
            }
            if let Some(parts) = PARENTHESES.captures(line) {
                let place = SourceLocation::new(&parts[1], &parts[2]);
                return Some(
                    FailureEntry::error(FailureFamily::Diagnostic, &parts[4])
                        .name(Some(&parts[3]))
                        .at(Some(place)),
                );
            }
            let parts = NO_LINE.captures(line)?;
            let place = SourceLocation { path: parts[1].to_string(), line: None };
            return Some(
                FailureEntry::error(FailureFamily::Diagnostic, &parts[3])
                    .name(Some(&parts[2]))
                    .at(Some(place)),
            );
        }
        None
    }

    /// Returns the nearest line above that is not indented. Lines in between were read before, with the same file.
    fn stylish_file(&mut self, view: &LineView<'_>) -> Option<String> {
        for line in view.before().take(200) {
            if line.trim().is_empty() {
                self.file = None;
                break;
            }
            if !line.starts_with(' ') {
                self.file = Some(line.trim().to_string());
                break;
            }
            if STYLISH.is_match(&line) {
                break;
            }
        }
        self.file.clone()
    }
}

/// Returns the code that a compiler shows below its message.
fn code_below(view: &LineView<'_>) -> Vec<String> {
    view.below(3, |line| line.trim().is_empty() || !line.starts_with([' ', '\t']))
}

/// Reads an uncaught exception. It is a likely cause only, because it may also have been logged.
fn thrown(view: &LineView<'_>, line: &str, found: &mut FailureCollector) -> Option<FailureEntry> {
    let (parts, frames) = match EXCEPTION.captures(line) {
        Some(parts) => (parts, &*JAVA_FRAME),
        None => (THROWN.captures(line)?, &*NODE_FRAME),
    };
    let below = view.below(20, |line| line.trim().is_empty());
    let place = below.iter().find_map(|line| {
        let parts = frames.captures(line)?;
        let place = SourceLocation::new(&parts[1], &parts[2]);
        (!text::is_foreign(&place.path)).then_some(place)
    });
    // Without a stack it is an ordinary line.
    place.as_ref()?;
    let message = parts.get(2).map_or("", |message| message.as_str());
    let message = if message.is_empty() { &parts[1] } else { message };
    found.likely(FailureEntry::error(FailureFamily::Other, message).name(Some(&parts[1])).at(place));
    Some(FailureEntry::error(FailureFamily::Other, ""))
}
