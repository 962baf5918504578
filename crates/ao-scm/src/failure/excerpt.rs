//! The relevant lines, for a person and for an agent, within a limit.

use std::collections::{BTreeMap, VecDeque};

use super::collector::{HintLine, LogTail};
use super::entry::FailureEntry;
use super::window::LogLine;
use super::{Options, signature, text};

const LINE: usize = 300;
/// The most bytes of one item, so that a long message leaves room for others.
const ITEM: usize = 1500;

/// Formats items with their location, name and message, as many as there is room for.
pub(super) fn of_entries(entries: &[&FailureEntry], count: u32, options: &Options) -> String {
    let mut page = ExcerptText::new(options.limit);
    let share = (options.limit / entries.len().clamp(1, 8)).clamp(300, ITEM);
    let mut shown = 0;
    for entry in entries.iter().take(options.items) {
        let left = count - shown;
        // Reserve room for the line that counts the omitted items.
        let reserve = if left > 1 { more(left).len() + 1 } else { 0 };
        if !page.block(&entry_lines(entry, share), reserve) {
            break;
        }
        shown += 1;
    }
    if shown < count {
        page.line(&more(count - shown));
    }
    page.text
}

fn more(count: u32) -> String {
    format!("… and {count} more")
}

fn entry_lines(entry: &FailureEntry, share: usize) -> Vec<String> {
    let place = entry.place.as_ref().map(|place| match place.line {
        Some(line) => format!("{}:{line}", place.path),
        None => place.path.clone(),
    });
    let title: Vec<&str> = place.as_deref().into_iter().chain(entry.name.as_deref()).collect();
    let mut lines = Vec::new();
    let indent = if title.is_empty() { "" } else { "  " };
    if !title.is_empty() {
        lines.push(text::shorten(&title.join(" "), LINE).into_owned());
    }
    let mut size = 0;
    for line in &entry.lines {
        let line = format!("{indent}{}", text::shorten(line, LINE));
        size += line.len() + 1;
        if size > share && lines.len() > 1 {
            lines.push(format!("{indent}…"));
            break;
        }
        lines.push(line);
    }
    lines
}

/// Formats the last lines that look like errors, with their context, and the end of the log, for a log without any
/// item. Returns the signature of what it shows, too.
pub(super) fn of_hints(hints: &VecDeque<HintLine>, tail: &LogTail, options: &Options) -> (String, String) {
    let outright = hints.iter().any(|hint| hint.outright);
    let chosen: Vec<&HintLine> = hints.iter().filter(|hint| hint.outright || !outright).collect();
    let chosen = &chosen[chosen.len().saturating_sub(SHOWN)..];
    let ends = tail_lines(tail);

    let mut parts: Vec<String> = chosen.iter().map(|hint| signature::stable(&hint.line)).collect();
    if parts.is_empty() {
        parts = ends.iter().rev().take(5).map(|seen| signature::stable(&seen.line)).collect();
    }
    parts.push(format!("exit {:?}", options.exit_code));

    let mut page = ExcerptText::new(options.limit);
    if let Some(ending) = ending(options) {
        page.line(&text::shorten(&ending, LINE));
    }
    // The last ones are the likeliest cause, so they get room first; a third is for the end of the log.
    let room = page.room().saturating_sub(2);
    let mut lines = ChosenLines { lines: BTreeMap::new(), room: room - room / 3 };
    let with_around = chosen.iter().rev().map(|hint| hint.around.as_slice());
    with_around.take_while(|around| lines.add(around)).for_each(drop);
    lines.room += room / 3;
    ends.iter().rev().take_while(|seen| lines.add(std::slice::from_ref(**seen))).for_each(drop);
    for block in lines.blocks() {
        page.block(&block, 0);
    }
    (signature::of_parts(parts), page.text)
}

const SHOWN: usize = 12;

/// Lines of the log by their offset, each once, as many as there is room for.
struct ChosenLines<'a> {
    lines: BTreeMap<u64, &'a LogLine>,
    room: usize,
}

impl<'a> ChosenLines<'a> {
    /// Adds all of these lines, or none if they are too many.
    fn add(&mut self, seen: &'a [LogLine]) -> bool {
        let new = || seen.iter().filter(|seen| !self.lines.contains_key(&seen.start));
        // Each line may begin a block of its own, with an empty line before it.
        let size: usize = new().map(|seen| seen.line.len().min(LINE) + 2).sum();
        let fits = size <= self.room;
        if fits {
            self.room -= size;
            self.lines.extend(seen.iter().map(|seen| (seen.start, seen)));
        }
        fits
    }

    /// Returns the lines in order, grouped into blocks of adjacent lines.
    fn blocks(&self) -> Vec<Vec<String>> {
        let mut blocks: Vec<Vec<String>> = Vec::new();
        let mut end = None;
        for seen in self.lines.values() {
            let follows = end == Some(seen.start);
            end = Some(seen.end);
            if !follows {
                blocks.push(Vec::new());
            }
            let block = blocks.last_mut().expect("one was just begun");
            if !(seen.line.trim().is_empty() && block.is_empty()) {
                block.push(text::shorten(&seen.line, LINE).into_owned());
            }
        }
        blocks.retain(|block| !block.is_empty());
        blocks
    }
}

/// Describes the exit code.
fn ending(options: &Options) -> Option<String> {
    let code = options.exit_code?;
    let reason = match code {
        0 => return None,
        124 => ": it ran out of time",
        126 => ": a command could not be run",
        127 => ": a command was not found",
        134 => ": it aborted",
        137 => ": it was killed, perhaps for want of memory",
        139 => ": it accessed memory that is not its own",
        143 => ": it was asked to end",
        _ => "",
    };
    let what = options.command.as_deref().map_or("the command".to_string(), |command| format!("`{command}`"));
    Some(format!("{} ended with exit code {code}{reason}", what.lines().next().unwrap_or_default()))
}

/// Returns the end of the log without lines that have no text, such as progress bars.
fn tail_lines(tail: &LogTail) -> Vec<&LogLine> {
    let has_text = |seen: &&LogLine| seen.line.chars().filter(|char| char.is_alphabetic()).count() > 2;
    let lines: Vec<&LogLine> = tail.iter().filter(has_text).collect();
    lines[lines.len().saturating_sub(15)..].to_vec()
}

/// Collects whole lines up to a limit.
struct ExcerptText {
    text: String,
    limit: usize,
}

impl ExcerptText {
    fn new(limit: usize) -> ExcerptText {
        ExcerptText { text: String::new(), limit }
    }

    fn room(&self) -> usize {
        self.limit - self.text.len()
    }

    fn line(&mut self, line: &str) {
        let needed = line.len() + usize::from(!self.text.is_empty());
        if needed <= self.room() {
            if !self.text.is_empty() {
                self.text.push('\n');
            }
            self.text.push_str(line);
        }
    }

    /// Adds lines after an empty one, and leaves `reserve` bytes. Returns true if at least the first line fitted.
    fn block(&mut self, lines: &[String], reserve: usize) -> bool {
        let Some(first) = lines.first() else { return true };
        let gap = if self.text.is_empty() { 0 } else { 2 };
        if first.len() + gap + reserve > self.room() {
            return false;
        }
        if gap > 0 {
            self.text.push_str("\n\n");
        }
        self.text.push_str(first);
        for line in &lines[1..] {
            if line.len() + 1 + reserve > self.room() {
                break;
            }
            self.text.push('\n');
            self.text.push_str(line);
        }
        true
    }
}
