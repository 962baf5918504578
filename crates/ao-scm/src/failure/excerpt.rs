//! The lines that matter, for a person and for an agent, within a limit.

use std::collections::VecDeque;

use super::found::{Entry, Hint, Tail};
use super::{Options, signature, text};

const LINE: usize = 300;
/// No item takes more than this, so that one long message leaves room for others.
const ITEM: usize = 1500;

/// Each item with where it is, its name and its message, as many as there is room for.
pub(super) fn of_entries(entries: &[&Entry], count: u32, options: &Options) -> String {
    let mut page = Page::new(options.limit);
    let share = (options.limit / entries.len().clamp(1, 8)).clamp(300, ITEM);
    let mut told = 0;
    for entry in entries.iter().take(options.items) {
        let left = count - told;
        // Room is kept for the line that says how many are left out.
        let reserve = if left > 1 { more(left).len() + 1 } else { 0 };
        if !page.block(&entry_lines(entry, share), reserve) {
            break;
        }
        told += 1;
    }
    if told < count {
        page.line(&more(count - told));
    }
    page.text
}

fn more(count: u32) -> String {
    format!("… and {count} more")
}

fn entry_lines(entry: &Entry, share: usize) -> Vec<String> {
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

/// Without any item: the last lines that look like errors with what is around them, and the end.
/// Returns the signature of what it shows, too.
pub(super) fn of_hints(hints: &VecDeque<Hint>, tail: &Tail, options: &Options) -> (String, String) {
    let outright = hints.iter().any(|hint| hint.outright);
    let chosen: Vec<&Hint> = hints.iter().filter(|hint| hint.outright || !outright).collect();
    let chosen = &chosen[chosen.len().saturating_sub(SHOWN)..];

    let mut page = Page::new(options.limit);
    if let Some(ending) = ending(options) {
        page.line(&ending);
    }
    let ending_lines = tail_lines(tail);
    let reserve: usize =
        ending_lines.iter().map(|line| line.len().min(LINE) + 1).sum::<usize>().min(options.limit / 3);
    let mut blocks: Vec<Vec<String>> = Vec::new();
    let mut shown: Vec<&str> = Vec::new();
    // The last ones are likeliest to be why, so they get their room first.
    let mut room = options.limit.saturating_sub(reserve + page.text.len());
    for hint in chosen.iter().rev() {
        if shown.contains(&hint.line.as_str()) {
            continue;
        }
        let lines: Vec<String> = hint
            .before
            .iter()
            .chain(std::iter::once(&hint.line))
            .chain(&hint.after)
            .map(|line| text::shorten(line, LINE).into_owned())
            .collect();
        let size: usize = lines.iter().map(|line| line.len() + 1).sum::<usize>() + 2;
        if size > room {
            break;
        }
        room -= size;
        shown.push(&hint.line);
        blocks.push(lines);
    }
    for block in blocks.iter().rev() {
        page.block(block, 0);
    }
    let last: Vec<&String> =
        ending_lines.iter().filter(|line| !page.text.contains(line.as_str())).copied().collect();
    page.end(&last);

    let mut parts: Vec<String> = chosen.iter().map(|hint| signature::stable(&hint.line)).collect();
    if parts.is_empty() {
        parts = ending_lines.iter().rev().take(5).map(|line| signature::stable(line)).collect();
    }
    parts.push(format!("exit {:?}", options.exit_code));
    (signature::of_parts(parts), page.text)
}

const SHOWN: usize = 12;

/// What the exit code says by itself.
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
        143 => ": it was told to end",
        _ => "",
    };
    let what = options.command.as_deref().map_or("the command".to_string(), |command| format!("`{command}`"));
    Some(format!("{} ended with exit code {code}{reason}", what.lines().next().unwrap_or_default()))
}

/// The end of the log without lines that say nothing.
fn tail_lines(tail: &Tail) -> Vec<&String> {
    let says_something = |line: &&String| line.chars().filter(|char| char.is_alphanumeric()).count() > 2;
    let lines: Vec<&String> = tail.iter().filter(says_something).collect();
    lines[lines.len().saturating_sub(15)..].to_vec()
}

/// Whole lines up to a limit.
struct Page {
    text: String,
    limit: usize,
}

impl Page {
    fn new(limit: usize) -> Page {
        Page { text: String::new(), limit }
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

    /// Adds lines after an empty one, and leaves `reserve` bytes. Returns whether at least the first line fitted.
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

    /// Adds as many of the last of these lines as there is room for.
    fn end(&mut self, lines: &[&String]) {
        let mut room = self.room().saturating_sub(2);
        let mut kept: Vec<String> = Vec::new();
        for line in lines.iter().rev() {
            let line = text::shorten(line, LINE).into_owned();
            if line.len() + 1 > room {
                break;
            }
            room -= line.len() + 1;
            kept.push(line);
        }
        kept.reverse();
        self.block(&kept, 0);
    }
}
