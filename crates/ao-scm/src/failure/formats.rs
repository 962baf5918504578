//! The table of formats: a row per kind of line that a tool prints about a failure.

use std::collections::HashMap;
use std::sync::LazyLock;

use FailureFamily::{Jest, Rust};
use Reading::{Block, Enter, Error, Likely, Nothing, Scope, Step, Test, With};
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::Captures;

use super::collector::FailureCollector;
use super::entry::{FailureEntry, FailureFamily, SourceLocation};
use super::window::LineView;
use super::{Options, Pattern, go, javascript, python, rust, tap, text};

/// The most lines of a test's output that are read.
pub(super) const LINES: usize = 400;

/// A line that some tool prints about a failure.
struct Format {
    /// The line contains one of these. Few patterns are tried on a line, and none on most.
    marks: &'static [&'static str],
    /// Its groups name the parts of the line: `name`, `scope`, `path`, `line`, `message`, `step`.
    pattern: Pattern,
    reading: Reading,
}

enum Reading {
    /// No failure, though other rows would take it for one.
    Nothing,
    /// A step begins.
    Enter,
    /// The step that failed is named, after this text, and perhaps why. The first name of the greatest worth counts.
    Step(u8, &'static str),
    /// The binary or file of the tests that follow.
    Scope(FailureFamily),
    /// A failed test, whose output is elsewhere.
    Test(FailureFamily),
    /// A failed test or suite, with its output below.
    Block(OutputBlock),
    /// An error of a compiler or linter, with the code that it shows below.
    Error,
    /// A problem that may or may not be why the check failed.
    Likely,
    /// More than these can describe. Returns `None` if another row may know the line.
    With(fn(&mut LogReader, &LogMatch<'_>) -> Option<usize>),
}

struct OutputBlock {
    family: FailureFamily,
    add: fn(&mut FailureCollector, FailureEntry),
    /// The line that is no longer output.
    end: Pattern,
    /// Spaces before every line of the output.
    indent: &'static str,
    output: fn(FailureEntry, &[String]) -> FailureEntry,
}

macro_rules! formats {
    ($($marks:expr, $pattern:literal => $reading:expr;)*) => {
        LazyLock::new(|| vec![$(Format { marks: &$marks, pattern: pattern!($pattern), reading: $reading }),*])
    };
}

/// A line is offered to the rows in this order.
static FORMATS: LazyLock<Vec<Format>> = formats! {
    // The group of a step is named after its command; nested groups have arbitrary names.
    ["##[group]", "::group::"], r"^\s*(?:##\[group\]\s*(?:Run )?|::group::)(?<step>.*)$" => Enter;
    ["##[error]", "::error"],
        r"^\s*(?:##\[error\]|::error(?: (?<properties>[^:]*(?::[^:]+)*?))?::)(?<message>.*)$" => With(annotation);
    ["***"],
        r"^\s*\S*make(?:\[\d+\])?: \*\*\* \[(?:[^\]]*?:\d+: )?(?<step>[^\]]+)\] (?:Error .*|(?<message>.+))$"
        => Step(2, "make ");
    ["***"], r"^\s*\S*make(?:\[\d+\])?: \*\*\* (?<message>.+)\. +Stop\.$" => Likely;
    ["could not compile"], r"^\s*error: could not compile `(?<step>[^`]+)`(?: (?<target>\([^)]+\)))?"
        => Step(1, "compile ");
    ["to rerun pass"], r"^\s*error: (?:test|doctest) failed, to rerun pass `(?<step>.+)`" => Step(1, "test ");
    ["npm "],
        r"^\s*npm (?:ERR!|error) (?:Failed at the \S+ |Lifecycle script `)(?<step>[^`]+?)(?: script|` failed)"
        => Step(1, "npm run ");
    // The target of ninja; the output of the compiler follows.
    ["FAILED: "], r"^\s*FAILED: (?:\[.*\] )?(?<step>\S+)$" => Step(2, "");

    ["Running "],
        r"^\s*Running \S+(?: \S+)* \((?:.*[/\\])?(?<scope>.+?)(?:-[0-9a-f]{16})?(?:\.exe)?\)$" => Scope(Rust);
    ["Doc-tests "], r"^\s*Doc-tests (?<scope>\S+)$" => Scope(Rust);
    ["error: ", "error["], r"^\s*error(?:\[(?<name>[A-Za-z0-9_:]+)\])?: (?<message>.+)$" => With(rust::error);
    ["panicked at "], r"thread '(?<name>.*?)'(?: \(\d+\))? panicked at " => With(rust::panic);
    ["... FAILED"], r"^\s*test (?<name>\S.*?)(?: - should panic)? \.\.\. FAILED" => Test(Rust);
    ["stdout ----"], r"^\s*---- (?<name>.+?) stdout ----$" => Block(OutputBlock {
        family: Rust,
        add: FailureCollector::detail,
        end: pattern!(r"^\s*(?:failures:|successes:|---- .+? stdout ----)$"),
        indent: "",
        output: rust::output,
    });
    ["failures:"], r"^\s*failures:$" => With(rust::list);
    ["s] "],
        r"^\s*(?:FLAKY|FLKY-FL) \d+/\d+ +\[ *[>\d.]+s *\] (?:\( *\d+/\d+\) )?(?<scope>\S+) (?<name>\S.*)$"
        => With(rust::flaky);
    ["s] "],
        r"^\s*(?:TRY \d+ )?(?:FAIL|(?<status>TIMEOUT|ABORT|SIG[A-Z]+|XFAIL|LEAK-FAIL|TMT)) +\[ *[>\d.]+s *\] (?:\( *\d+/\d+\) )?(?<scope>\S+) (?<name>\S.*)$"
        => Block(OutputBlock {
        family: Rust,
        add: FailureCollector::certain,
        end: pattern!(r"^(?:────|error: test run failed|\s*(?:TRY \d+ )?[A-Z][A-Z0-9/ -]* \[ *[>\d.]+s *\] )"),
        indent: "    ",
        output: rust::output,
    });

    ["FAILURES =", "ERRORS ="], r"^=+ (?:FAILURES|ERRORS) =+$" => With(python::section);
    ["FAILED ", "ERROR "],
        r"^(?:\[gw\d+\] \[ *\d+%\] )?(?:FAILED|ERROR) (?<path>\S[^:]*?\.\w+)(?:::(?<name>.+))?$"
        => With(python::outcome);
    ["ERROR: ", "FAIL: "], r"^(?:ERROR|FAIL): (?<name>\S+) \((?<scope>.+)\)" => With(python::unittest);
    ["Traceback (most recent"], r"^\s*Traceback \(most recent call last\)" => With(python::uncaught);
    [".py::"], r"^(?<path>\S[^:]*?\.py)::(?<name>.+?) (?:FAILED|ERROR)(?: +\[ *\d+%\])?$" => With(python::outcome);

    ["--- FAIL: "], r"^\s*--- FAIL: (?<name>\S+) \([\d.]+m?s\)$" => With(go::fail);
    ["FAIL"], r"^FAIL\s+(?<name>\S+)(?: \[(?<message>.+)\]|\s+[\d.]+m?s)?$" => With(go::package);
    ["panic: ", "fatal error: "], r"^(?:panic|fatal error): " => With(go::panic);
    [".go:"], r"^(?:vet: )?(?<path>\.{0,2}/?[^\s:]+\.go):(?<line>\d+):\d+: (?<message>.+)$" => Error;

    // Jest names a file, vitest a file with a test or a suite.
    ["FAIL"],
        r"^\s*FAIL\s+(?:\|[^|]+\|\s+)?(?<scope>(?:[A-Za-z]:)?[^\s:>][^:>]*?\.[^:/\\\s>]*)(?: \([\d.]+ ?m?s\))?$"
        => Scope(Jest);
    ["FAIL"],
        r"^\s*FAIL\s+(?:\|[^|]+\|\s+)?(?<path>(?:[A-Za-z]:)?[^\s:>][^:>]*?\.[^:/\\\s>]*) (?:> (?<name>.+?)|(?<suite>)\[ .*?)(?: \([\d.]+ ?m?s\))?$"
        => Block(OutputBlock {
        family: Jest,
        add: FailureCollector::certain,
        end: pattern!("⎯⎯⎯"),
        indent: "",
        output: javascript::output,
    });
    ["● "], r"^\s*● (?:Console|.*Warning:)$" => Nothing;
    ["● "], r"^\s*● (?:(?<suite>Test suite failed to run)|(?<name>.+))$" => Block(OutputBlock {
        family: Jest,
        add: FailureCollector::certain,
        end: pattern!(r"^(?:\s*(?:●|FAIL|PASS) |Test Suites:|Summary of all failing)"),
        indent: "    ",
        output: javascript::output,
    });
    ["✖ "], r"^\s*✖ (?<name>.+?)(?: \([\d.]+ ?m?s\))?$" => With(javascript::node);
    [" failing"], r"^\s+\d+ failing$" => With(javascript::mocha);

    ["not ok"], r"^\s*not ok\b(?:.*?\s)?#\s*(?i:todo|skip)" => Nothing;
    ["not ok"], r"^\s*not ok\b(?: \d+)?(?:\s+-)?\s*(?<name>.*?)(?:\s+#.*)?$" => With(tap::read);

    // eslint, below the name of the file.
    ["  error  "], r"^\s+\d+:\d+\s+error\s" => With(javascript::stylish);
    ["[Error"], r"^(?<path>(?:[A-Za-z]:)?[^\s:][^:]*?):(?<line>\d+):\d+: (?<message>.+) \[Error(?:/(?<name>\S+))?\]$"
        => Error;
    // gcc, clang, rustc in short form, javac, swiftc, mypy, tsc in colour, and very many others.
    [": error", ": fatal error", " - error", ": Error", ": internal compiler error", ": syntax error"],
        r"^(?<path>(?:[A-Za-z]:)?[^\s:][^:]*?):(?<line>\d+)(?::\d+)?:? (?:- )?(?:(?:fatal|internal compiler|syntax) )?[Ee]rror(?:\[(?<name>[A-Z]\w+)\]| (?<code>[A-Z]{1,8}\d+))?: (?<message>.+)$"
        => Error;
    // tsc, msvc, csc; and without a line msvc's linker and msbuild.
    [": error", ": fatal error"],
        r"^(?:\s*\d+>)?\s*(?<path>(?:[A-Za-z]:)?[^\s(:][^(:]*?)\((?<line>\d+)(?:,\d+)*\) ?: (?:fatal )?error (?<name>[A-Z]{1,8}\d+): (?<message>.+?)(?: \[[^\]]+\])?$"
        => Error;
    [": error", ": fatal error"],
        r"^(?:\s*\d+>)?\s*(?<path>\S+) ?: (?:fatal )?error (?<name>[A-Z]{2,8}\d+): (?<message>.+?)(?: \[[^\]]+\])?$"
        => Error;
    ["undefined reference to"],
        r"(?:(?<path>[^\s:/\\]+\.\w+):)?(?:\(\.\S+\): |(?<line>\d+): )?(?<message>undefined reference to .+)$" => Error;
    // Java and node.
    ["rror:", "rror [", "xception", "emoryError"],
        r#"^(?:Exception in thread "[^"]*" |Caused by: |Uncaught )?(?<name>(?:[a-z_][\w$]*\.)*[A-Z][\w$]*(?:Exception|Error))(?: \[\w+\])?(?:: (?<message>.*))?$"#
        => With(thrown);

    ["Segmentation fault", "Aborted", "Killed", "Terminated", "Bus error", "Illegal instruction"],
        r"^\s*(?:[^:]+: )?(?:line \d+: *)?(?:\d+ +)?(?<message>Segmentation fault|Aborted|Killed|Terminated|Bus error|Illegal instruction)(?: \(core dumped\))?(?: +(?<name>\S.*))?$"
        => Likely;
    ["signal: "], r"\(signal: \d+, (?<message>SIG[A-Z]+[^)]*)\)" => Likely;
    ["emory"], r"(?i)\b(?:out of memory|oom-kill(?:ed|er)?|heap out of memory|cannot allocate memory)\b" => Likely;
    ["imed out", "imeout", "exceeded"],
        r"(?i)\b(?:timed out after|exceeded the (?:maximum|timeout|time limit)|timeout (?:exceeded|expired|reached)|job .* timed out)\b"
        => Likely;
};

/// Finds the rows whose mark a line contains.
static MARKS: LazyLock<(AhoCorasick, Vec<usize>)> = LazyLock::new(|| {
    assert!(FORMATS.len() <= u64::BITS as usize, "the rows are a set of bits");
    let marks = || {
        FORMATS.iter().enumerate().flat_map(|(row, format)| format.marks.iter().map(move |mark| (mark, row)))
    };
    let search = AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).build(marks().map(|(mark, _)| mark));
    (search.expect("the marks are few and short"), marks().map(|(_, row)| row).collect())
});

/// A line of a format, and its parts.
pub(super) struct LogMatch<'a> {
    pub view: LineView<'a>,
    pub line: &'a str,
    parts: Captures<'a>,
}

impl LogMatch<'_> {
    pub(super) fn part(&self, name: &str) -> Option<&str> {
        self.parts.name(name).map(|part| part.as_str().trim())
    }

    pub(super) fn text(&self, name: &str) -> &str {
        self.part(name).unwrap_or_default()
    }

    fn place(&self) -> Option<SourceLocation> {
        Some(SourceLocation::new(self.part("path")?, self.text("line")))
    }
}

/// Reads lines by the table, and keeps what was found and what later lines need.
#[derive(Default)]
pub(super) struct LogReader {
    pub found: FailureCollector,
    /// The binary or file of the tests that are read now.
    scopes: HashMap<FailureFamily, String>,
    pub go: go::GoTests,
    /// Inside of pytest's reports, where any line may matter.
    pub in_section: bool,
}

impl LogReader {
    pub(super) fn new(options: &Options) -> LogReader {
        LogReader { found: FailureCollector::new(options), ..LogReader::default() }
    }

    /// Reads a line by the first row that knows it. Returns the offset to continue at.
    pub(super) fn read(&mut self, view: &LineView<'_>, line: &str) -> Option<usize> {
        let (search, rows_of_marks) = &*MARKS;
        // Most lines have none, and looking for one is much faster than looking for all.
        if !search.is_match(line) {
            return None;
        }
        let mut rows = 0_u64;
        for mark in search.find_overlapping_iter(line) {
            rows |= 1 << rows_of_marks[mark.pattern()];
        }
        while rows != 0 {
            let format = &FORMATS[rows.trailing_zeros() as usize];
            rows &= rows - 1;
            if let Some(parts) = format.pattern.captures(line)
                && let Some(next) = self.take(format, &LogMatch { view: *view, line, parts })
            {
                return Some(next);
            }
        }
        None
    }

    pub(super) fn scope(&self, family: FailureFamily) -> &str {
        self.scopes.get(&family).map_or("", String::as_str)
    }

    fn take(&mut self, format: &Format, line: &LogMatch<'_>) -> Option<usize> {
        let message = line.part("message");
        match &format.reading {
            Nothing => {}
            Enter => self.found.at_step = Some(line.text("step").to_string()),
            Step(worth, before) => {
                let step = line.text("step");
                self.found.name_step(*worth, &format!("{before}{step} {}", line.text("target")));
                if let Some(message) = message {
                    self.found.likely(FailureEntry::error(message).name(Some(step)));
                }
            }
            Scope(family) => {
                self.scopes.insert(*family, line.text("scope").to_string());
            }
            Test(family) => {
                self.found.certain(FailureEntry::test(*family, line.text("name")).scope(self.scope(*family)));
            }
            Block(block) => return self.block(block, &format.pattern, line),
            Error if text::is_consequence(line.text("message")) => return None,
            Error => {
                let code =
                    line.view.below(3, |line| line.trim().is_empty() || !line.starts_with([' ', '\t']));
                let entry =
                    FailureEntry::error(line.text("message")).name(line.part("name").or(line.part("code")));
                self.found.certain(entry.at(line.place()).with(code));
            }
            Likely => {
                let (name, whole) = (line.part("name"), line.line.trim_start());
                let entry = FailureEntry::error(message.unwrap_or(whole)).name(name);
                self.found.likely(entry.with(name.map(|_| whole.to_string())));
            }
            With(read) => return read(self, line),
        }
        Some(line.view.next)
    }

    fn block(&mut self, block: &OutputBlock, pattern: &Pattern, line: &LogMatch<'_>) -> Option<usize> {
        let is_file = block.family == Jest;
        if is_file && self.scope(Jest).is_empty() && line.part("path").is_none() {
            return None;
        }
        let (lines, next) = line.view.until(line.view.next, LINES, |line| block.end.is_match(line));
        // Tests with the same error share the output.
        let also: Vec<_> = lines.iter().map_while(|line| pattern.captures(line)).collect();
        let unindented = |line: &String| line.strip_prefix(block.indent).unwrap_or(line).to_string();
        let printed: Vec<String> = lines[also.len()..].iter().map(unindented).collect();
        for parts in std::iter::once(&line.parts).chain(&also) {
            let part = |name: &str| parts.name(name).map(|part| part.as_str());
            let scope = part("scope").or(part("path")).unwrap_or(self.scope(block.family));
            let entry = match part("name") {
                Some(name) => FailureEntry::test(block.family, name),
                None => FailureEntry::error("").name(part("suite").filter(|suite| !suite.is_empty())),
            };
            let mut entry = (block.output)(entry.scope(scope), &printed);
            entry.place = entry.place.or_else(|| is_file.then(|| SourceLocation::new(scope, "")));
            if let (true, Some(status)) = (entry.lines.is_empty(), part("status")) {
                let why = if matches!(status, "TIMEOUT" | "TMT") { "timed out" } else { status };
                entry = entry.message(vec![why.to_string()]);
            }
            (block.add)(&mut self.found, entry);
        }
        Some(next)
    }
}

/// Reads an error that a tool reports to the service that runs it.
fn annotation(reader: &mut LogReader, line: &LogMatch<'_>) -> Option<usize> {
    let property = |name: &str| {
        let mut properties = line.text("properties").split(',');
        properties.find_map(|property| property.trim().strip_prefix(name)?.strip_prefix('='))
    };
    let message = line.text("message").replace("%0D", "").replace("%0A", "\n").replace("%25", "%");
    let entry = FailureEntry::error("").name(property("title"));
    let entry = entry.message(message.lines().map(str::to_string).collect());
    reader.found.step_failed();
    if let Some(file) = property("file") {
        reader.found.certain(entry.at(Some(SourceLocation::new(file, property("line").unwrap_or_default()))));
    } else if !text::is_consequence(&message) {
        reader.found.likely(entry);
    }
    Some(line.view.next)
}

/// Reads an uncaught exception. It is a likely cause only, because it may also have been logged; without a stack it is
/// an ordinary line.
fn thrown(reader: &mut LogReader, line: &LogMatch<'_>) -> Option<usize> {
    let below = line.view.below(20, |line| line.trim().is_empty());
    let mut frames = below.iter().filter(|line| line.trim_start().starts_with("at "));
    let place = frames.find_map(|line| SourceLocation::own(line))?;
    let message = line.part("message").filter(|message| !message.is_empty()).unwrap_or(line.text("name"));
    reader.found.likely(FailureEntry::error(message).name(line.part("name")).at(Some(place)));
    Some(line.view.next)
}
