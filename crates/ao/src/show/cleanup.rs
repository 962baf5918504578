//! Renders the workspaces on disk, and what happens to each.

use std::fmt::Write;

use ao_api::{Cleanup, Decision, TreeReport};

use super::table::{TableCell, TextTable};
use super::{Canvas, words};
use crate::ui;

pub fn cleanup(cleanup: &Cleanup, canvas: Canvas) -> String {
    if cleanup.trees.is_empty() {
        return "no workspaces to clean up\n".into();
    }
    let mut table = TextTable::new(&["SESSION", "SIZE", "IGNORED?", "DECISION", "WHERE"]);
    for tree in &cleanup.trees {
        let (decision, style) = decision(tree.decision, cleanup.dry_run);
        table.row([
            TableCell::or_dash(tree.session_name.as_ref().or(tree.session_id.as_ref())),
            TableCell::new(words::size(tree.bytes)),
            TableCell::new(words::size(tree.ignored_bytes)),
            TableCell::styled(decision, style),
            TableCell::new(&tree.path),
        ]);
        for reason in reasons(tree) {
            table.line(TableCell::styled(format!("  {reason}"), ui::FAINT));
        }
    }
    let mut drawn = table.draw(canvas.width);
    let freed = words::size(cleanup.freed_bytes);
    let _ = if cleanup.dry_run {
        writeln!(drawn, "\nwould free {freed}; nothing was changed")
    } else {
        writeln!(drawn, "\nfreed {freed}")
    };
    drawn
}

/// Renders what is lost if the work of a session is discarded.
pub fn discard(name: &str, found: &Cleanup) -> String {
    let mut drawn = String::new();
    for tree in &found.trees {
        let work = tree.work.clone().unwrap_or_default();
        let size = words::size(tree.bytes);
        let (files, commits) = (work.files_in_all, work.commits_in_all);
        if files + commits == 0 {
            let _ = writeln!(drawn, "{name} has no unsaved work ({size} in {})", tree.path);
            continue;
        }
        let _ = writeln!(drawn, "{name} has unsaved work, {size} in {}:", tree.path);
        listed(&mut drawn, "uncommitted file", &work.files, files);
        listed(&mut drawn, "unpushed commit", &work.commits, commits);
    }
    drawn
}

/// Renders the number of things, and the first ones.
fn listed(drawn: &mut String, what: &str, first: &[String], all: u64) {
    if all == 0 {
        return;
    }
    let _ = writeln!(drawn, "  {}", ui::count(all, what));
    for one in first {
        let _ = writeln!(drawn, "    {}", words::plain(one));
    }
    if all > first.len() as u64 {
        let _ = writeln!(drawn, "    … and {} more", all - first.len() as u64);
    }
}

fn decision(decision: Decision, dry_run: bool) -> (&'static str, anstyle::Style) {
    match (decision, dry_run) {
        (Decision::Remove, true) => ("remove", ui::BUSY),
        (Decision::Remove, false) => ("removed", ui::GOOD),
        (Decision::Clean, true) => ("clean", ui::BUSY),
        (Decision::Clean, false) => ("cleaned", ui::GOOD),
        (Decision::Keep, true) => ("keep", anstyle::Style::new()),
        (Decision::Keep, false) => ("kept", anstyle::Style::new()),
    }
}

fn reasons(tree: &TreeReport) -> Vec<String> {
    let mut reasons = tree.reasons.clone();
    if tree.session_id.is_none() {
        reasons.insert(0, "not created by ao, so it is never touched".into());
    }
    reasons
}
