//! The single pass over the log: finds lines with keywords and offers each to the readers.

use std::io::{self, Read};
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

use super::collector::{FailureCollector, HintLine, LogTail};
use super::window::{LineView, LogWindow};
use super::{Options, diagnostics, go, javascript, json, junit, python, rust, steps, tap, text};

/// Keywords in lower case. For every format that a reader knows, the first line contains one of them, within one
/// colour.
const WORDS: &[&str] = &[
    "error",
    "fail",
    "panic",
    "not ok",
    "traceback (",
    "exception",
    "err!",
    "fatal",
    "killed",
    "terminated",
    "segmentation",
    "core dumped",
    "timed out",
    "timeout",
    "out of memory",
    "abort",
    "sigsegv",
    "sigkill",
    "sigbus",
    "sigill",
    "sigfpe",
    "sigterm",
    "undefined reference",
    "undefined symbol",
    "not found",
    "no such file",
    "denied",
    "cannot ",
    "unable to",
    "flaky",
    "stdout ----",
    "running ",
    "doc-tests ",
    "●",
    "✖",
    ".go:",
    "##[",
    "::group::",
    "***",
    "<testsuite",
    "</testsuite",
];

/// Marks of lines that some reader may know; lines that begin with a number are read without one. Most lines with a
/// keyword have none of these nor of [`steps::DEATHS`], and are skipped after one search.
const MARKS: &[&str] = &[
    "##[",
    "::group::",
    "::error",
    "***",
    "rror:",
    "rror[",
    "rror [",
    "Failed at the",
    "Lifecycle script",
    "FAIL",
    "Running ",
    "Doc-tests ",
    "panicked at ",
    "stdout ----",
    "failures:",
    "s] ",
    "ERROR",
    "Traceback (most",
    ".py::",
    "panic: ",
    ".go:",
    "●",
    "✖",
    " failing",
    "not ok",
    ": error",
    ": fatal error",
    " - error",
    ": Error",
    "[Error",
    "undefined reference",
    "xception",
];

static SEARCH: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostFirst)
        .kind(Some(AhoCorasickKind::DFA))
        .prefilter(false)
        .build(WORDS)
        .expect("the words are few and short")
});

/// The most of the last lines that may matter.
const HINTS: usize = 24;
const TAIL_LINES: usize = 40;

pub(super) fn scan(log: impl Read, options: &Options) -> io::Result<(FailureCollector, LogTail)> {
    let mut scan = LogScan {
        window: LogWindow::new(log),
        floor: 0,
        readers: OutputReaders::default(),
        found: FailureCollector::new(options),
        hints: Vec::new(),
    };
    scan.run()?;
    let LogScan { window, mut readers, mut found, .. } = scan;
    readers.finish(&mut found);
    let tail = tail(&window);
    Ok((found, tail))
}

/// State that the readers keep between lines.
#[derive(Default)]
pub(super) struct OutputReaders {
    rust: rust::RustReader,
    pytest: python::PytestReader,
    go: go::GoReader,
    javascript: javascript::JavaScriptReader,
    diagnostics: diagnostics::DiagnosticReader,
    junit: junit::JunitReader,
}

impl OutputReaders {
    /// Offers a line to the readers in turn. The first that knows it returns the offset to continue at.
    fn read(&mut self, view: &LineView<'_>, line: &str, found: &mut FailureCollector) -> Option<usize> {
        let trimmed = line.trim_start();
        if trimmed.starts_with('{') {
            return json::read(view, &mut self.rust, &mut self.go, found);
        }
        let numbered = trimmed.starts_with(|char: char| char.is_ascii_digit());
        if !numbered && !has_any!(line, MARKS.iter().chain(&steps::DEATHS)) {
            return None;
        }
        None.or_else(|| steps::read(view, trimmed, found))
            .or_else(|| self.rust.read(view, line, found))
            .or_else(|| self.pytest.read(view, line, found))
            .or_else(|| self.go.read(view, line, found))
            .or_else(|| self.javascript.read(view, line, found))
            .or_else(|| tap::read(view, line, found))
            .or_else(|| self.diagnostics.read(view, line, found))
            .or_else(|| steps::read_death(view, trimmed, found))
    }

    fn finish(&mut self, found: &mut FailureCollector) {
        self.pytest.finish(found);
        self.go.finish(found);
    }
}

struct LogScan<R> {
    window: LogWindow<R>,
    /// Everything before this was read.
    floor: usize,
    readers: OutputReaders,
    found: FailureCollector,
    /// Offsets of lines that may matter and are still in the window.
    hints: Vec<(usize, bool)>,
}

impl<R: Read> LogScan<R> {
    fn run(&mut self) -> io::Result<()> {
        let mut at = self.advance(0)?;
        loop {
            if self.readers.pytest.is_open() {
                at = self.read_section(at)?;
            }
            let bytes = self.window.bytes();
            let Some(hit) = SEARCH.find(Input::new(bytes).range(at..)) else {
                if self.window.ended {
                    break;
                }
                // A keyword may be cut by the end of the window.
                let longest = SEARCH.max_pattern_len();
                let end = bytes.len();
                at = self.advance(end.saturating_sub(longest).max(at))?;
                continue;
            };
            if !self.window.reaches(hit.start()) {
                at = self.advance(hit.start())?;
                continue;
            }
            at = self.read(hit.start(), hit.end());
        }
        self.keep_hints();
        Ok(())
    }

    /// Reads the line around a hit and returns the offset to continue at.
    fn read(&mut self, hit: usize, hit_end: usize) -> usize {
        let bytes = self.window.bytes();
        if let Some(next) = self.readers.junit.read(bytes, hit, hit_end, &mut self.found) {
            self.floor = next;
            return next;
        }
        let view = LineView::around(bytes, hit, self.floor);
        let raw = view.raw();
        let line = text::clean(raw);
        if let Some(step) = text::step(raw) {
            self.found.at_step = Some(step.to_string());
        }
        let next = match self.readers.read(&view, &line, &mut self.found) {
            Some(next) => next,
            None => {
                if let Some(outright) = hint(&line) {
                    let start = view.start;
                    if self.hints.len() == 2 * HINTS {
                        self.hints.drain(..HINTS);
                    }
                    self.hints.push((start, outright));
                }
                view.next
            }
        };
        self.floor = next;
        next
    }

    /// Reads line by line inside a section in which any line may matter.
    fn read_section(&mut self, mut at: usize) -> io::Result<usize> {
        while self.readers.pytest.is_open() {
            if !self.window.reaches(at) {
                at = self.advance(at)?;
            }
            let bytes = self.window.bytes();
            if at >= bytes.len() {
                break;
            }
            let view = LineView::around(bytes, at, at);
            self.readers.pytest.read_open(&text::clean(view.raw()), &mut self.found);
            // The line that ends the section may be one that another reader knows.
            at = if self.readers.pytest.is_open() { view.next } else { view.start };
            self.floor = at;
            if at == view.start && !self.readers.pytest.is_open() {
                break;
            }
        }
        Ok(at)
    }

    fn advance(&mut self, at: usize) -> io::Result<usize> {
        self.keep_hints();
        let now = self.window.advance(at)?;
        self.floor = self.floor.saturating_sub(at - now);
        Ok(now)
    }

    /// Copies the lines that may matter, with their context, before the window moves on.
    fn keep_hints(&mut self) {
        let bytes = self.window.bytes();
        let skip = self.hints.len().saturating_sub(HINTS);
        for (start, outright) in self.hints.drain(..).skip(skip) {
            let view = LineView::around(bytes, start, start);
            let line = text::clean(view.raw()).into_owned();
            let around = view.surroundings(self.window.offset, 2, 3);
            if self.found.hints.len() == HINTS {
                self.found.hints.pop_front();
            }
            self.found.hints.push_back(HintLine { line, around, outright });
        }
    }
}

/// Returns `None` if a line that no reader knows is harmless, else true if it explicitly reports an error.
fn hint(line: &str) -> Option<bool> {
    const HARMLESS: [&str; 14] = [
        "0 error",
        "0 fail",
        "no error",
        "no fail",
        "without error",
        "errors: 0",
        "failures: 0",
        "failed: 0",
        "test result: ok",
        "Compiling ",
        "Download",
        "Running ",
        "-Werror",
        "Installing ",
    ];
    const OUTRIGHT: [&str; 12] = [
        "error:", "Error:", "ERROR:", "error[", "error ", "ERROR ", "fatal:", "FATAL", "Fatal", "npm ERR!",
        "E: ", "[ERROR]",
    ];
    if has_any!(line, HARMLESS) {
        return None;
    }
    let trimmed = line.trim_start();
    Some(OUTRIGHT.iter().any(|word| trimmed.starts_with(word)) || has!(line, ": error: "))
}

fn tail<R>(window: &LogWindow<R>) -> LogTail {
    let bytes = window.bytes();
    LineView::around(bytes, bytes.len(), bytes.len()).surroundings(window.offset, TAIL_LINES, 0)
}
