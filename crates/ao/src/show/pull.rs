//! Renders pull requests: in a list, and in full.

use std::fmt::Write;

use anstyle::Style;
use ao_api::{
    Author, Comment, Pull, PullChecks, PullDetail, PullMergeability, PullReview, PullStatus, Review,
    ReviewResult, Thread, ThreadSide, Timestamp,
};

use super::check;
use super::prose::prose;
use super::table::{TableCell, TextTable};
use super::{Canvas, words};
use crate::ui;

pub fn pulls(pulls: &[Pull], canvas: Canvas) -> String {
    // The project is shown only if there are several.
    let one = pulls.windows(2).all(|pair| pair[0].project_id == pair[1].project_id);
    let mut table =
        TextTable::new(&["PR", "STATE", "CHECKS", "REVIEW", "SESSION?", "AGE", "BRANCH?", "TITLE"]);
    for pull in pulls {
        let id = if one { format!("!{}", pull.number) } else { pull.id.clone() };
        table.row([
            TableCell::styled(id, ui::TITLE),
            state(pull),
            checks_cell(pull.checks),
            review(pull.review),
            TableCell::or_dash(pull.session.as_deref()),
            TableCell::new(words::age(pull.updated_at, canvas.now)),
            TableCell::new(&pull.head_branch),
            TableCell::new(&pull.title),
        ]);
    }
    table.draw(canvas.width)
}

fn checks_cell(checks: PullChecks) -> TableCell {
    let style = match checks {
        PullChecks::None => return TableCell::styled("-", ui::FAINT),
        PullChecks::Passed => ui::GOOD,
        PullChecks::Failed => ui::ERROR,
        PullChecks::Pending => ui::BUSY,
        PullChecks::Blocked | PullChecks::Unknown => ui::FAINT,
    };
    TableCell::styled(checks, style)
}

fn state(pull: &Pull) -> TableCell {
    let (word, style) = state_word(pull);
    TableCell::styled(word, style)
}

fn state_word(pull: &Pull) -> (&'static str, Style) {
    match pull.state {
        PullStatus::Open if pull.draft => ("draft", ui::FAINT),
        PullStatus::Open if pull.mergeable == PullMergeability::Conflict => ("conflict", ui::ERROR),
        PullStatus::Open => ("open", ui::HINT),
        PullStatus::Merged => ("merged", ui::GOOD),
        PullStatus::Closed => ("closed", ui::FAINT),
        PullStatus::Unknown => ("unknown", ui::FAINT),
    }
}

fn review(review: PullReview) -> TableCell {
    let style = match review {
        PullReview::None => return TableCell::styled("-", ui::FAINT),
        PullReview::Approved => ui::GOOD,
        PullReview::ChangesRequested => ui::ERROR,
        PullReview::Commented => ui::BUSY,
        PullReview::Unknown => ui::FAINT,
    };
    TableCell::styled(words::spaced(review), style)
}

/// The parts of a pull request to render.
#[derive(Debug, Clone, Copy, Default)]
pub struct PullParts {
    /// Resolved threads and stale reviews, in full.
    pub all: bool,
    /// Only reviews and threads.
    pub only_comments: bool,
}

pub fn pull(detail: &PullDetail, parts: PullParts, canvas: Canvas) -> String {
    let mut drawn = head(detail, canvas);
    if !parts.only_comments {
        if !detail.body.trim().is_empty() {
            let _ = write!(drawn, "\n{}", prose(&detail.body, "  ", 2, canvas.width));
        }
        stack(&mut drawn, detail);
        commits(&mut drawn, detail, canvas);
        checks(&mut drawn, detail, canvas);
    }
    reviews(&mut drawn, detail, parts, canvas);
    threads(&mut drawn, detail, parts, canvas);
    drawn
}

fn head(detail: &PullDetail, canvas: Canvas) -> String {
    let pull = &detail.pull;
    let (title, faint) = (ui::TITLE, ui::FAINT);
    let (state, style) = state_word(pull);
    let mut drawn = format!("{title}{} {}{title:#}\n", words::plain(&pull.id), words::plain(&pull.title));
    let _ = writeln!(
        drawn,
        "  {style}{state}{style:#}  {} → {}  {faint}by {}, {} ago, at {}{faint:#}",
        words::plain(&pull.head_branch),
        words::plain(&pull.base_branch),
        author(&pull.author),
        words::age(detail.created_at, canvas.now),
        words::short_commit(&pull.head)
    );
    let mut fact = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(drawn, "  {faint}{name}{faint:#} {}", words::plain(value));
        }
    };
    fact("session", pull.session.as_deref().unwrap_or_default());
    fact("labels", &pull.labels.join(", "));
    let files = ui::count(detail.files.len() as u64, "file");
    fact("changes", &format!("{files}, +{} -{}", detail.added, detail.removed));
    if let Some(commit) = &detail.merged_as {
        let by = detail.merged_by.as_deref().map_or_else(String::new, |by| format!(" by {by}"));
        fact("merged", &format!("as {}{by}", words::short_commit(commit)));
    }
    if pull.state == PullStatus::Open {
        let good = ui::GOOD;
        match &detail.blockers[..] {
            [] => {
                let _ = writeln!(drawn, "  {good}ready to merge{good:#}");
            }
            blockers => {
                let style = ui::BUSY;
                for blocker in blockers {
                    let _ = writeln!(drawn, "  {style}not yet:{style:#} {}", words::plain(blocker));
                }
            }
        }
    }
    for path in &detail.conflicts {
        let style = ui::ERROR;
        let _ = writeln!(drawn, "  {style}conflict:{style:#} {}", words::plain(path));
    }
    drawn
}

fn heading(drawn: &mut String, heading: &str) {
    let title = ui::TITLE;
    let _ = writeln!(drawn, "\n{title}{heading}{title:#}");
}

fn stack(drawn: &mut String, detail: &PullDetail) {
    if detail.stacked_on.is_none() && detail.stacked.is_empty() {
        return;
    }
    heading(drawn, "Stack");
    if let Some(below) = &detail.stacked_on {
        let _ = writeln!(drawn, "  stands on {}", words::plain(below));
    }
    for above in &detail.stacked {
        let _ = writeln!(drawn, "  {} is stacked on it", words::plain(above));
    }
}

fn commits(drawn: &mut String, detail: &PullDetail, canvas: Canvas) {
    if detail.commits.is_empty() {
        return;
    }
    heading(drawn, "Commits");
    let mut table = TextTable::new(&["", "", "?", ""]).without_heading().indented(2);
    for commit in &detail.commits {
        table.row([
            TableCell::styled(words::short_commit(&commit.commit), ui::FAINT),
            TableCell::new(words::age(commit.at, canvas.now)),
            TableCell::new(&commit.author),
            TableCell::new(&commit.title),
        ]);
    }
    drawn.push_str(&table.draw(canvas.width));
}

fn checks(drawn: &mut String, detail: &PullDetail, canvas: Canvas) {
    if detail.check_runs.is_empty() {
        return;
    }
    heading(drawn, "Checks");
    let mut table = TextTable::new(&["", "", "", "?", ""]).without_heading().indented(2);
    for run in &check::newest(&detail.check_runs) {
        table.row([
            check::state(run.state),
            TableCell::new(&run.check),
            TableCell::new(check::duration(run, canvas)),
            TableCell::styled(&run.id, ui::FAINT),
            TableCell::new(check::why(run)),
        ]);
    }
    drawn.push_str(&table.draw(canvas.width));
}

fn reviews(drawn: &mut String, detail: &PullDetail, parts: PullParts, canvas: Canvas) {
    // A comment review without text only groups its threads.
    let says = |review: &&Review| review.verdict != ReviewResult::Commented || !review.body.trim().is_empty();
    let reviews: Vec<&Review> = detail.reviews.iter().filter(says).collect();
    if reviews.is_empty() {
        return;
    }
    heading(drawn, "Reviews");
    for review in reviews {
        let faint = ui::FAINT;
        let style = match review.verdict {
            _ if review.stale => faint,
            ReviewResult::Approved => ui::GOOD,
            ReviewResult::ChangesRequested => ui::ERROR,
            ReviewResult::Commented | ReviewResult::Unknown => ui::BUSY,
        };
        let stale = match review.stale {
            true => format!(", stale: given on {}", words::short_commit(&review.commit)),
            false => String::new(),
        };
        let _ = writeln!(
            drawn,
            "  {faint}{}{faint:#} {style}{}{style:#} {}{faint}{}{}{stale}{faint:#}",
            words::plain(&review.id),
            words::spaced(review.verdict),
            author(&review.author),
            ago(review.at, canvas),
            edited(review.edited_at, canvas)
        );
        if !review.body.trim().is_empty() && (parts.all || !review.stale) {
            drawn.push_str(&prose(&review.body, "    ", 4, canvas.width));
        }
    }
}

fn threads(drawn: &mut String, detail: &PullDetail, parts: PullParts, canvas: Canvas) {
    if detail.threads.is_empty() {
        return;
    }
    heading(drawn, "Threads");
    let shown = detail.threads.iter().filter(|thread| parts.all || !thread.resolved);
    for told in shown {
        drawn.push_str(&thread(told, 2, canvas));
    }
    let resolved = detail.threads.iter().filter(|thread| thread.resolved).count();
    if resolved > 0 && !parts.all {
        let (faint, count) = (ui::FAINT, ui::count(resolved as u64, "resolved thread"));
        let _ = writeln!(drawn, "  {faint}{count}; `--all` shows them{faint:#}");
    }
}

/// Renders a thread with its comments, indented.
pub(super) fn thread(thread: &Thread, indent: usize, canvas: Canvas) -> String {
    let (title, faint) = (ui::TITLE, ui::FAINT);
    let mut drawn = format!("{:indent$}{title}{}{title:#}", "", words::plain(&thread.id));
    if let Some(path) = &thread.path {
        let _ = write!(drawn, " {}", words::plain(path));
        if let Some(line) = thread.line {
            let _ = write!(drawn, ":{line}");
        }
        if thread.side == ThreadSide::Old {
            drawn.push_str(" (before)");
        }
    }
    if thread.outdated {
        let _ = write!(drawn, " {faint}outdated{faint:#}");
    }
    if thread.resolved {
        let good = ui::GOOD;
        let by = thread.resolved_by.as_deref().map_or_else(String::new, |by| format!(" by {by}"));
        let _ = write!(drawn, " {good}resolved{good:#}{}", words::plain_line(&by));
    }
    drawn.push('\n');
    if let Some(context) = thread.context.as_deref().filter(|context| !context.trim().is_empty()) {
        let before = format!("{:indent$}  {faint}│{faint:#} ", "");
        drawn.push_str(&prose(context, &before, indent + 4, canvas.width));
    }
    for comment in &thread.comments {
        drawn.push_str(&render_comment(comment, indent + 2, canvas));
    }
    drawn
}

fn render_comment(comment: &Comment, indent: usize, canvas: Canvas) -> String {
    let faint = ui::FAINT;
    let (id, who) = (words::plain(&comment.id), author(&comment.author));
    let when = ago(comment.at, canvas) + &edited(comment.edited_at, canvas);
    let mut drawn = format!("{:indent$}{faint}{id}{faint:#} {who}{faint}{when}{faint:#}\n", "");
    drawn.push_str(&prose(&comment.body, &" ".repeat(indent + 2), indent + 2, canvas.width));
    drawn
}

/// Renders an author and their role in the project: `anna (member)`.
pub(super) fn author(author: &Author) -> String {
    format!("{} ({})", words::plain(&author.login), author.standing)
}

fn ago(at: Option<Timestamp>, canvas: Canvas) -> String {
    at.map_or_else(String::new, |at| format!(", {} ago", words::age(at, canvas.now)))
}

fn edited(at: Option<Timestamp>, canvas: Canvas) -> String {
    at.map_or_else(String::new, |at| format!(", edited {} ago", words::age(at, canvas.now)))
}
