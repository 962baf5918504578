//! Renders a diff for the terminal: files, line numbers, and changed words.

use std::fmt::Write;
use std::ops::Range;

use anstyle::{AnsiColor, Style};
use ao_api::{Thread, ThreadSide};

use super::inline::changed_words;
use super::parse::{DiffHunk, DiffLine, FileChange, FileDiff, LineKind};
use super::visible::visible;
use crate::show::pull::thread;
use crate::show::{Canvas, TableCell, TextTable};
use crate::ui;

const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const PATH: Style = AnsiColor::Cyan.on_default().bold();
/// Minimum width of text, in however narrow a window.
const NARROWEST: usize = 20;

/// Settings for rendering a diff.
#[derive(Debug, Clone, Copy)]
pub struct DiffOptions<'a> {
    /// Threads to show at their lines.
    pub threads: &'a [Thread],
    pub canvas: Canvas,
}

/// Renders a whole diff.
pub fn draw(files: &[FileDiff<'_>], what: DiffOptions<'_>) -> String {
    let mut page = DiffPage { text: String::new(), what };
    for (at, file) in files.iter().enumerate() {
        if at > 0 {
            page.text.push('\n');
        }
        page.file(file);
    }
    let paths: Vec<&str> = files.iter().flat_map(|file| [&*file.old, &*file.new]).collect();
    let elsewhere = |thread: &&Thread| !thread.path.as_deref().is_some_and(|path| paths.contains(&path));
    page.rest("On the whole", &what.threads.iter().filter(elsewhere).collect::<Vec<_>>());
    page.text
}

/// Renders how much changed in each file.
pub fn stat(files: &[FileDiff<'_>], canvas: Canvas) -> String {
    const BAR: u64 = 30;
    let counts: Vec<(u64, u64)> = files.iter().map(FileDiff::counts).collect();
    let most = counts.iter().map(|(added, removed)| added + removed).max().unwrap_or(0).max(BAR);
    let mut table = TextTable::new(&["", "", "", ""]).without_heading().indented(1);
    for (file, (added, removed)) in files.iter().zip(&counts) {
        // Any change is visible, however much changed elsewhere.
        let bar = |count: u64, sign: &str| sign.repeat((count * BAR).div_ceil(most) as usize);
        let amount = if file.binary { "binary".to_owned() } else { (added + removed).to_string() };
        table.row([
            TableCell::new(title(file)),
            TableCell::new(amount),
            TableCell::styled(bar(*added, "+"), ADDED),
            TableCell::styled(bar(*removed, "-"), REMOVED),
        ]);
    }
    let total = |of: fn(&(u64, u64)) -> u64| counts.iter().map(of).sum::<u64>();
    let (added, removed) = (total(|counts| counts.0), total(|counts| counts.1));
    format!(
        "{} {}, {ADDED}+{added}{ADDED:#} {REMOVED}-{removed}{REMOVED:#}\n",
        table.draw(canvas.width),
        ui::count(files.len() as u64, "file")
    )
}

/// Renders the changed paths, one per line.
pub fn names(files: &[FileDiff<'_>]) -> String {
    files.iter().fold(String::new(), |all, file| all + &safe(file.path()) + "\n")
}

/// Describes the path: from where to where, if it was moved.
fn title(file: &FileDiff<'_>) -> String {
    match file.change {
        FileChange::Renamed | FileChange::Copied => format!("{} → {}", safe(&file.old), safe(&file.new)),
        _ => safe(file.path()),
    }
}

fn safe(line: &str) -> String {
    let mut safe = String::with_capacity(line.len());
    visible(line, |_, piece, _| safe.push_str(piece));
    safe
}

struct DiffPage<'a> {
    text: String,
    what: DiffOptions<'a>,
}

/// The layout of one file's lines.
struct LineLayout {
    /// Width of a line number.
    digits: usize,
    /// Width of the text.
    room: usize,
    /// Some of its lines end in CR LF and some do not, so line ends are shown.
    mixed_ends: bool,
}

impl<'a> DiffPage<'a> {
    fn file(&mut self, file: &FileDiff<'_>) {
        let (added, removed) = file.counts();
        let _ = write!(self.text, "{PATH}{}{PATH:#}", title(file));
        if added + removed > 0 {
            let _ = write!(self.text, "  {ADDED}+{added}{ADDED:#} {REMOVED}-{removed}{REMOVED:#}");
        }
        let changes = describe_changes(file);
        if !changes.is_empty() {
            let (faint, changes) = (ui::FAINT, changes.join(", "));
            let _ = write!(self.text, "  {faint}{changes}{faint:#}");
        }
        self.text.push('\n');
        let set = self.set(file);
        let mut shown = Vec::new();
        for hunk in &file.hunks {
            self.hunk(file, hunk, &set, &mut shown);
        }
        let rest: Vec<&Thread> =
            self.of(file).into_iter().filter(|thread| !shown.contains(&thread.id)).collect();
        self.rest("Elsewhere in this file", &rest);
    }

    fn set(&self, file: &FileDiff<'_>) -> LineLayout {
        let last = |range: (u32, u32)| range.0.saturating_add(range.1);
        let highest = file.hunks.iter().map(|hunk| last(hunk.old).max(last(hunk.new))).max().unwrap_or(0);
        let digits = highest.to_string().len().max(3);
        let gutter = 2 * digits + 5;
        let room = self.what.canvas.width.map_or(usize::MAX, |width| width.saturating_sub(gutter));
        let lines = || file.hunks.iter().flat_map(|hunk| &hunk.lines);
        let ended = |line: &DiffLine<'_>| line.text.ends_with('\r');
        let mixed_ends = lines().any(ended) && lines().any(|line| !ended(line));
        LineLayout { digits, room: room.max(NARROWEST), mixed_ends }
    }

    fn hunk(&mut self, file: &FileDiff<'_>, hunk: &DiffHunk<'_>, set: &LineLayout, shown: &mut Vec<String>) {
        let faint = ui::FAINT;
        let ((old, olds), (new, news)) = (hunk.old, hunk.new);
        let section = match safe(hunk.section) {
            section if section.is_empty() => section,
            section => format!(" {section}"),
        };
        let _ = writeln!(self.text, "{faint}@@ -{old},{olds} +{new},{news} @@{section}{faint:#}");
        let changed = changed_words(&hunk.lines);
        let threads = self.of(file);
        for (line, changed) in hunk.lines.iter().zip(&changed) {
            self.line(line, changed, set);
            let here = |thread: &&Thread| match thread.side {
                ThreadSide::Old => line.old.is_some() && line.old == thread.line,
                ThreadSide::New => line.new.is_some() && line.new == thread.line,
            };
            for thread in threads.iter().copied().filter(here) {
                shown.push(thread.id.clone());
                self.thread(thread, 2 * set.digits + 2);
            }
        }
    }

    fn line(&mut self, line: &DiffLine<'_>, changed: &[Range<usize>], set: &LineLayout) {
        let (sign, style) = match line.kind {
            LineKind::Context => (' ', Style::new()),
            LineKind::Added => ('+', ADDED),
            LineKind::Removed => ('-', REMOVED),
        };
        let (faint, digits) = (ui::FAINT, set.digits);
        let number = |number: Option<u32>| number.map_or_else(String::new, |number| number.to_string());
        let (old, new) = (number(line.old), number(line.new));
        let _ = write!(self.text, "{faint}{old:>digits$} {new:>digits$} │{faint:#} {style}{sign}{style:#}");
        let (text, end) = match line.text.strip_suffix('\r') {
            Some(text) if set.mixed_ends => (text, "␍"),
            Some(text) => (text, ""),
            None => (line.text, ""),
        };
        let marked = style.bold().invert();
        let mut now = Style::new();
        let mut column = 0;
        let out = &mut self.text;
        visible(text, |at, piece, width| {
            if column + width > set.room {
                let _ = write!(out, "{now:#}\n{faint}{:gutter$}│{faint:#}  ", "", gutter = 2 * digits + 2);
                column = 0;
                now = Style::new();
            }
            let right = if changed.iter().any(|part| part.contains(&at)) { marked } else { style };
            if right != now {
                let _ = write!(out, "{now:#}{right}");
                now = right;
            }
            out.push_str(piece);
            column += width;
        });
        let _ = write!(out, "{now:#}");
        if !end.is_empty() {
            let _ = write!(out, "{faint}{end}{faint:#}");
        }
        if line.no_newline {
            let _ = write!(out, " {faint}(no line end){faint:#}");
        }
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }

    /// Returns the threads of a file, under either of its names.
    fn of(&self, file: &FileDiff<'_>) -> Vec<&'a Thread> {
        let is_of = |thread: &&Thread| {
            thread.path.as_deref().is_some_and(|path| path == file.old || path == file.new)
        };
        self.what.threads.iter().filter(is_of).collect()
    }

    fn thread(&mut self, told: &Thread, indent: usize) {
        let drawn = thread(told, indent, self.what.canvas);
        self.text.push_str(&drawn);
    }

    fn rest(&mut self, title: &str, threads: &[&Thread]) {
        if threads.is_empty() {
            return;
        }
        let style = ui::FAINT;
        let _ = writeln!(self.text, "{style}{title}{style:#}");
        for thread in threads {
            self.thread(thread, 2);
        }
    }
}

/// Describes changes of a file other than its lines.
fn describe_changes(file: &FileDiff<'_>) -> Vec<String> {
    let mut told = Vec::new();
    match file.change {
        FileChange::Added => told.push("new".to_owned()),
        FileChange::Deleted => told.push("deleted".to_owned()),
        FileChange::Renamed => told.push("renamed".to_owned()),
        FileChange::Copied => told.push("copied".to_owned()),
        FileChange::Modified => {}
    }
    match (file.old_mode, file.new_mode) {
        (Some(old), Some(new)) if old != new => told.push(mode_change(old, new)),
        (None, Some("100755")) => told.push("executable".to_owned()),
        (None, Some("120000")) | (Some("120000"), None) => told.push("symbolic link".to_owned()),
        (None, Some("160000")) | (Some("160000"), None) => told.push("submodule".to_owned()),
        _ => {}
    }
    if file.binary {
        told.push("binary".to_owned());
    } else if file.hunks.is_empty() && matches!(file.change, FileChange::Added | FileChange::Deleted) {
        told.push("empty".to_owned());
    }
    told
}

fn mode_change(old: &str, new: &str) -> String {
    match (old, new) {
        ("100644", "100755") => "made executable".to_owned(),
        ("100755", "100644") => "no longer executable".to_owned(),
        (old, new) => format!("mode {} → {}", safe(old), safe(new)),
    }
}
