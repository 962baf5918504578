//! The single pass over the log: finds lines with keywords and has each read.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

use super::collector::{FailureCollector, HintLine, LogTail};
use super::formats::LogReader;
use super::junit::JunitReader;
use super::window::{LineView, LogWindow};
use super::{Options, Pattern, json, text};

/// Keywords in lower case. For every format that is known, the first line contains one of them, within one colour.
const WORDS: &str = "error|fail|panic|not ok|traceback (|exception|err!|fatal|killed|terminated|segmentation|core dumped|\
    timed out|timeout|out of memory|abort|sigsegv|sigkill|sigbus|sigill|sigfpe|sigterm|undefined reference|\
    undefined symbol|not found|no such file|denied|cannot |unable to|flaky|stdout ----|running |doc-tests |●|✖|.go:|\
    ##[|::group::|***|<testsuite|</testsuite";

static SEARCH: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostFirst)
        .kind(Some(AhoCorasickKind::DFA))
        .prefilter(false)
        .build(WORDS.split('|'))
        .expect("the words are few and short")
});

/// The most of the last lines that may matter.
const HINTS: usize = 24;
const TAIL_LINES: usize = 40;

pub(super) fn scan(log: impl Read, options: &Options) -> io::Result<(FailureCollector, LogTail)> {
    let mut scan = LogScan {
        window: LogWindow::new(log),
        floor: 0,
        junit: JunitReader::default(),
        reader: LogReader::new(options),
        hints: Vec::new(),
    };
    scan.run()?;
    scan.reader.go.finish(&mut scan.reader.found);
    let bytes = scan.window.bytes();
    let end = LineView::around(bytes, bytes.len(), bytes.len());
    Ok((scan.reader.found, end.surroundings(scan.window.offset, TAIL_LINES, 0)))
}

struct LogScan<R> {
    window: LogWindow<R>,
    /// Everything before this was read.
    floor: usize,
    junit: JunitReader,
    reader: LogReader,
    /// Offsets of lines that may matter and are still in the window.
    hints: Vec<(usize, bool)>,
}

impl<R: Read> LogScan<R> {
    fn run(&mut self) -> io::Result<()> {
        let mut at = self.advance(0)?;
        loop {
            let bytes = self.window.bytes();
            let hit = if self.reader.in_section {
                Some(at..at)
            } else {
                SEARCH.find(Input::new(bytes).range(at..)).map(|hit| hit.range())
            };
            match hit {
                Some(hit) if !self.window.reaches(hit.start) => at = self.advance(hit.start)?,
                Some(hit) if hit.start < bytes.len() => at = self.read(hit),
                None if !self.window.ended => {
                    // A keyword may be cut by the end of the window.
                    at = self.advance(bytes.len().saturating_sub(SEARCH.max_pattern_len()).max(at))?;
                }
                _ => break,
            }
        }
        self.keep_hints();
        Ok(())
    }

    /// Reads the line around a hit and returns the offset to continue at.
    fn read(&mut self, hit: Range<usize>) -> usize {
        let bytes = self.window.bytes();
        if !self.reader.in_section
            && let Some(next) = self.junit.read(bytes, hit.clone(), &mut self.reader.found)
        {
            self.floor = next;
            return next;
        }
        let view = LineView::around(bytes, hit.start, self.floor);
        let line = text::clean(view.raw());
        if let Some(step) = text::step(view.raw()) {
            self.reader.found.at_step = Some(step);
        }
        let next = if self.reader.in_section {
            Some(self.reader.read_section(&view, &line))
        } else if line.trim_start().starts_with('{') {
            json::read(&view, &mut self.reader)
        } else {
            self.reader.read(&view, &line)
        };
        if next.is_none()
            && let Some(outright) = hint(&line)
        {
            if self.hints.len() == 2 * HINTS {
                self.hints.drain(..HINTS);
            }
            self.hints.push((view.start, outright));
        }
        self.floor = next.unwrap_or(view.next);
        self.floor
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
            if self.reader.found.hints.len() == HINTS {
                self.reader.found.hints.pop_front();
            }
            self.reader.found.hints.push_back(HintLine { line, around, outright });
        }
    }
}

/// Returns `None` if a line that no row knows is harmless, else true if it explicitly reports an error.
fn hint(line: &str) -> Option<bool> {
    static HARMLESS: LazyLock<AhoCorasick> = LazyLock::new(|| {
        let words = "0 error|0 fail|no error|no fail|without error|errors: 0|failures: 0|failed: 0|test result: ok|\
            Compiling |Download|Running |-Werror|Installing ";
        AhoCorasick::new(words.split('|')).expect("the words are few and short")
    });
    static OUTRIGHT: Pattern =
        pattern!(r"^\s*(?:error[:\[ ]|Error:|ERROR[: ]|fatal:|FATAL|Fatal|npm ERR!|E: |\[ERROR\])");
    // Outside of the pattern, which would otherwise read every line to its end.
    (!HARMLESS.is_match(line)).then(|| OUTRIGHT.is_match(line) || line.contains(": error: "))
}
