//! Renders conflicting branches as a matrix and as a list, and the conflict between two of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use ao_api::{Conflict, ConflictBranch, ConflictFile, ConflictLines, Conflicts};

use super::Canvas;
use super::table::{TableCell, TextTable};
use super::words::{plain, plain_line, shorten};
use crate::ui;

/// A larger matrix does not fit a window.
const MATRIX: usize = 30;
/// Maximum number of places listed per file.
const PLACES: usize = 6;

/// Renders all conflicts: the branches with their counts, the matrix, and each pair with its files.
pub fn conflicts(told: &Conflicts, canvas: Canvas) -> String {
    let clashing: Vec<&ConflictBranch> = told
        .branches
        .iter()
        .filter(|branch| told.clashes.iter().any(|clash| clash.a == branch.name || clash.b == branch.name))
        .collect();
    let mut drawn = String::new();
    let all = count_branches(told.branches.iter());
    if told.clashes.is_empty() {
        let _ = match (all, told.left_out.is_empty()) {
            (_, false) => writeln!(drawn, "No conflict was found, but not all branches could be compared."),
            (1, true) => writeln!(drawn, "1 branch; there is no other to compare it with."),
            (_, true) => writeln!(drawn, "{all} branches compared; all of them merge with each other."),
        };
    } else {
        drawn += &legend(&clashing, canvas);
        if clashing.len() <= MATRIX {
            drawn += &matrix(told, &clashing);
        }
        let free = all - count_branches(clashing.iter().copied());
        if free > 0 {
            let _ = writeln!(drawn, "\n{free} more merge with all others.");
        }
        let title = ui::TITLE;
        for clash in &told.clashes {
            let _ = writeln!(drawn, "\n{title}{} × {}{title:#}", plain(&clash.a), plain(&clash.b));
            for file in &clash.files {
                let line = format!("  {}", place(file));
                let _ =
                    writeln!(drawn, "{}", canvas.width.map_or(line.clone(), |width| shorten(&line, width)));
            }
        }
        let first = &told.clashes[0];
        let _ = writeln!(drawn, "\nBoth versions: ao conflicts {} {}", plain(&first.a), plain(&first.b));
    }
    for left in &told.left_out {
        let _ = writeln!(drawn, "not compared: {}: {}", plain(&left.name), plain(&left.why));
    }
    drawn
}

/// Counts the distinct branches. A session and its own pull request have the same one.
fn count_branches<'a>(sides: impl Iterator<Item = &'a ConflictBranch>) -> usize {
    sides.map(|side| &side.branch).collect::<BTreeSet<_>>().len()
}

/// Renders the conflict between two branches, with its content.
pub fn conflict(told: &Conflict) -> String {
    let (title, faint) = (ui::TITLE, ui::FAINT);
    let mut drawn = String::new();
    for file in &told.files {
        let _ =
            writeln!(drawn, "{title}{}{title:#} {faint}{}{faint:#}", plain(&file.path), plain(&file.kind));
        for hunk in &file.hunks {
            let (a, b) = (lines(hunk.a), lines(hunk.b));
            let _ = writeln!(drawn, "  {} {a}, {} {b}", plain(&told.a), plain(&told.b));
            for line in hunk.text.as_deref().unwrap_or_default().lines() {
                let _ = writeln!(drawn, "    {}", named(told, line));
            }
        }
    }
    drawn
}

/// Replaces the commits in git's conflict markers by the names that people use.
fn named(told: &Conflict, line: &str) -> String {
    let marks = [("<<<<<<< ", &told.a), (">>>>>>> ", &told.b)];
    match marks.iter().find(|(mark, _)| line.starts_with(mark)) {
        Some((mark, name)) => format!("{mark}{}", plain(name)),
        None if line.starts_with("||||||| ") => "||||||| before".into(),
        None => plain_line(line),
    }
}

/// Renders the number of each branch.
fn legend(clashing: &[&ConflictBranch], canvas: Canvas) -> String {
    let mut table = TextTable::new(&["#", "NAME", "BRANCH?", "FILES", "TITLE"]);
    for (nth, branch) in clashing.iter().enumerate() {
        table.row([
            TableCell::new((nth + 1).to_string()),
            TableCell::new(&branch.name),
            TableCell::new(&branch.branch),
            TableCell::new(branch.files.to_string()),
            TableCell::new(&branch.title),
        ]);
    }
    table.draw(canvas.width)
}

/// Renders the number of conflicting files of each pair.
fn matrix(told: &Conflicts, clashing: &[&ConflictBranch]) -> String {
    let files: BTreeMap<(&str, &str), usize> = told
        .clashes
        .iter()
        .flat_map(|clash| {
            let (a, b) = (clash.a.as_str(), clash.b.as_str());
            [((a, b), clash.files.len()), ((b, a), clash.files.len())]
        })
        .collect();
    // Two columns each, so that thirty of them fit a narrow window.
    let wide = if clashing.len() > 9 || files.values().any(|count| *count > 9) { 2 } else { 1 };
    let cell = |text: String| format!(" {text:>wide$}");
    let mut drawn = String::from("\n  ");
    drawn.extend((1..=clashing.len()).map(|nth| cell(nth.to_string())));
    for (nth, row) in clashing.iter().enumerate() {
        let _ = write!(drawn, "\n{:>2}", nth + 1);
        drawn.extend(clashing.iter().map(|column| {
            cell(match files.get(&(row.name.as_str(), column.name.as_str())) {
                _ if row.name == column.name => "\\".into(),
                Some(count) => (*count).min(99).to_string(),
                None => "·".into(),
            })
        }));
    }
    drawn + "\n"
}

/// Renders a file with its places on both sides.
fn place(file: &ConflictFile) -> String {
    let path = plain(&file.path);
    if file.hunks.is_empty() {
        return format!("{path}  {}", plain(&file.kind));
    }
    let mut places: Vec<String> =
        file.hunks.iter().take(PLACES).map(|hunk| format!("{} / {}", lines(hunk.a), lines(hunk.b))).collect();
    if file.hunks.len() > PLACES {
        places.push(format!("and {} more", file.hunks.len() - PLACES));
    }
    format!("{path}:{}", places.join(", "))
}

fn lines(lines: ConflictLines) -> String {
    match lines.count {
        0 => format!("before {}", lines.first),
        1 => lines.first.to_string(),
        count => format!("{}-{}", lines.first, lines.first.saturating_add(count - 1)),
    }
}

#[cfg(test)]
mod tests {
    use ao_api::{ConflictHunk, ConflictSource, Timestamp};

    use super::*;

    fn told() -> Conflicts {
        let branch = |name: &str| ConflictBranch {
            name: name.into(),
            kind: ConflictSource::Session,
            branch: format!("agent/{name}"),
            title: "Mend the\u{1b}[31m form".into(),
            session: Some(name.into()),
            files: 2,
        };
        let lines = |first, count| ConflictLines { first, count };
        let hunk = ConflictHunk { a: lines(5, 1), b: lines(5, 3), text: None };
        let file = ConflictFile { path: "src/form.rs".into(), kind: "contents".into(), hunks: vec![hunk] };
        Conflicts {
            project: "app".into(),
            at: Timestamp::UNIX_EPOCH,
            branches: ["app-1", "app-2", "app-3"].map(branch).into(),
            clashes: vec![Conflict { a: "app-1".into(), b: "app-3".into(), files: vec![file] }],
            left_out: vec![],
        }
    }

    fn canvas(width: Option<usize>) -> Canvas {
        Canvas { now: Timestamp::UNIX_EPOCH, width }
    }

    #[test]
    fn who_clashes_is_numbered_and_the_rest_is_counted() {
        let drawn = anstream::adapter::strip_str(&conflicts(&told(), canvas(Some(80)))).to_string();
        assert!(drawn.contains("\n   1 2\n 1 \\ 1\n 2 1 \\\n"), "{drawn}");
        assert!(drawn.contains("app-1 × app-3\n  src/form.rs:5 / 5-7\n"), "{drawn}");
        assert!(drawn.contains("1 more merge with all others"), "{drawn}");
        assert!(drawn.lines().all(|line| line.chars().count() <= 80), "{drawn}");
        assert!(!drawn.contains('\u{1b}'), "what others wrote does not steer the terminal");
    }

    #[test]
    fn a_session_and_its_own_pull_request_are_one_branch() {
        let mut told = Conflicts { clashes: vec![], ..told() };
        let pull =
            ConflictBranch { name: "app!1".into(), kind: ConflictSource::Pull, ..told.branches[0].clone() };
        told.branches.push(pull);
        assert!(conflicts(&told, canvas(None)).starts_with("3 branches compared; "));
        told.branches.retain(|side| side.branch == "agent/app-1");
        assert_eq!(conflicts(&told, canvas(None)), "1 branch; there is no other to compare it with.\n");
    }

    #[test]
    fn git_s_marks_get_the_names_that_people_know() {
        let mut conflict = told().clashes.remove(0);
        let text = "<<<<<<< 0123\nfive\n||||||| 4567\n5\n=======\nFIVE\u{1b}[2J\n>>>>>>> 89ab\n";
        conflict.files[0].hunks[0].text = Some(text.into());
        let drawn = anstream::adapter::strip_str(&super::conflict(&conflict)).to_string();
        assert!(drawn.contains("    <<<<<<< app-1\n    five\n    ||||||| before\n    5\n"), "{drawn}");
        assert!(drawn.contains("    >>>>>>> app-3\n"), "{drawn}");
    }
}
