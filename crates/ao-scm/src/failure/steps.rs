//! The failed step, as named by the tool that ran it: a build service, make, ninja, cargo, npm; and killed programs.

use super::collector::{FailureCollector, FailureEntry, FailureFamily, SourceLocation};
use super::window::LineView;

pattern!(MAKE, r"^(?:\S*make|mingw32-make|gmake)(?:\[\d+\])?: \*\*\* \[(?:[^\]]*?:\d+: )?([^\]]+)\] (.+)$");
pattern!(MAKE_STOP, r"^(?:\S*make)(?:\[\d+\])?: \*\*\* (.+)\. +Stop\.$");
pattern!(RERUN, r"^error: (?:test|doctest) failed, to rerun pass `(.+)`");
pattern!(NOT_COMPILED, r"^error: could not compile `([^`]+)`(?: \(([^)]+)\))?");
pattern!(NPM, r"^npm (?:ERR!|error) (?:Failed at the \S+ (\S+) script|Lifecycle script `(.+?)` failed)");
pattern!(WORKFLOW, r"^::error(?: ([^:]*(?::[^:]+)*?))?::(.*)$");
pattern!(
    SIGNAL,
    r"(?x)
    ^(?:[^:]+:\ )?(?:line\ \d+:\ *)?(?:\d+\ +)?(Segmentation\ fault|Aborted|Killed|Terminated|Bus\ error|Illegal\ instruction)
    (?:\ \(core\ dumped\))?(?:\ +(\S.*))?$
    | \(signal:\ \d+,\ (SIG[A-Z]+[^)]*)\)"
);
pattern!(MEMORY, r"(?i)\b(?:out of memory|oom-kill(?:ed|er)?|heap out of memory|cannot allocate memory)\b");
pattern!(
    TIMEOUT,
    r"(?i)^(?:error: )?.*\b(?:timed out after|exceeded the (?:maximum|timeout|time limit)|timeout (?:exceeded|expired|reached)|job .* timed out)\b"
);

pub(super) fn read(view: &LineView<'_>, line: &str, found: &mut FailureCollector) -> Option<usize> {
    match line.as_bytes().first()? {
        b'#' if line.starts_with("##[") => marker(line, found)?,
        b':' if line.starts_with("::group::") => found.at_step = Some(line[9..].trim().to_string()),
        b':' if line.starts_with("::error") => annotation(line, found)?,
        _ if has!(line, "***") => make(line, found)?,
        b'e' if line.starts_with("error: could not compile") => {
            let parts = NOT_COMPILED.captures(line)?;
            let target = parts.get(2).map_or(String::new(), |target| format!(" ({})", target.as_str()));
            found.name_step(1, &format!("compile {}{target}", &parts[1]));
        }
        b'e' if has!(line, "to rerun pass") => {
            found.name_step(1, &format!("test {}", &RERUN.captures(line)?[1]));
        }
        b'n' if line.starts_with("npm ") => {
            let parts = NPM.captures(line)?;
            let script = parts.get(1).or(parts.get(2))?;
            found.name_step(1, &format!("npm run {}", script.as_str()));
        }
        b'F' if line.starts_with("FAILED: ") => {
            // The target of ninja; the output of the compiler follows.
            let target = line[8..].trim();
            if target.contains(' ') && !target.starts_with('[') {
                return None;
            }
            found.name_step(2, target.split("] ").last().unwrap_or(target));
        }
        _ => return None,
    }
    Some(view.next)
}

fn marker(line: &str, found: &mut FailureCollector) -> Option<()> {
    if let Some(group) = line.strip_prefix("##[group]") {
        // The group of a step is named after its command; nested groups have arbitrary names.
        let group = group.trim();
        found.at_step = Some(group.strip_prefix("Run ").unwrap_or(group).to_string());
    } else if let Some(error) = line.strip_prefix("##[error]") {
        found.step_failed();
        if !is_consequence(error) {
            found.likely(FailureEntry::error(FailureFamily::Other, error.trim()));
        }
    } else {
        return None;
    }
    Some(())
}

fn annotation(line: &str, found: &mut FailureCollector) -> Option<()> {
    let parts = WORKFLOW.captures(line)?;
    let property = |name: &str| {
        let properties = parts.get(1)?.as_str();
        properties.split(',').find_map(|property| property.trim().strip_prefix(name)?.strip_prefix('='))
    };
    let message = unescape(&parts[2]);
    let lines: Vec<String> = message.lines().map(str::to_string).collect();
    let entry = FailureEntry::error(FailureFamily::Diagnostic, "").name(property("title")).message(lines);
    match property("file") {
        Some(file) => {
            let place = SourceLocation {
                path: file.to_string(),
                line: property("line").and_then(|line| line.parse().ok()),
            };
            found.certain(entry.at(Some(place)));
        }
        None => {
            found.step_failed();
            if !is_consequence(&message) {
                found.likely(entry);
            }
        }
    }
    Some(())
}

fn unescape(message: &str) -> String {
    message.replace("%0D", "").replace("%0A", "\n").replace("%25", "%")
}

fn make(line: &str, found: &mut FailureCollector) -> Option<()> {
    if let Some(parts) = MAKE.captures(line) {
        found.name_step(2, &format!("make {}", &parts[1]));
        let why = &parts[2];
        if !why.starts_with("Error ") {
            found.likely(FailureEntry::error(FailureFamily::Other, why).name(Some(parts[1].trim())));
        }
    } else {
        let parts = MAKE_STOP.captures(line)?;
        found.likely(FailureEntry::error(FailureFamily::Other, &parts[1]));
    }
    Some(())
}

/// Marks of lines about programs that were killed by the system, or ran out of a resource.
pub(super) const DEATHS: [&str; 11] = [
    "Segmentation",
    "Aborted",
    "Killed",
    "Terminated",
    "Bus error",
    "Illegal",
    "signal:",
    "exceeded",
    "emory",
    "imed out",
    "imeout",
];

/// Reads a line about a program that was killed by the system, or ran out of a resource.
pub(super) fn read_death(view: &LineView<'_>, line: &str, found: &mut FailureCollector) -> Option<usize> {
    if !has_any!(line, DEATHS) {
        return None;
    }
    if let Some(parts) = SIGNAL.captures(line) {
        let (what, program) = match parts.get(3) {
            Some(signal) => (signal.as_str(), None),
            None => (parts.get(1)?.as_str(), parts.get(2).map(|program| program.as_str().trim())),
        };
        let program = program.filter(|program| !program.is_empty());
        let shown = program.map(|_| line.to_string());
        found.likely(FailureEntry::error(FailureFamily::Other, what).name(program).with(shown));
    } else if MEMORY.is_match(line) || TIMEOUT.is_match(line) {
        found.likely(FailureEntry::error(FailureFamily::Other, line));
    } else {
        return None;
    }
    Some(view.next)
}

/// Returns true if a message only reports that something failed before.
pub(super) fn is_consequence(message: &str) -> bool {
    const SIGNS: [&str; 14] = [
        "could not compile",
        "test failed, to rerun",
        "aborting due to",
        "test run failed",
        "Process completed with exit code",
        "exit code",
        "exit status",
        "build failed",
        "targets failed",
        "target failed",
        "previous error",
        "command failed",
        "warnings emitted",
        "subcommand failed",
    ];
    has_any!(message, SIGNS)
}
