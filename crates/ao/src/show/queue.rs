//! Renders merge queues as tables: each entry with its base and what it waits for.

use std::fmt::Write;

use ao_api::{MergeQueue, MergeQueues, QueuedPull, QueuedState};

use super::table::{TableCell, TextTable};
use super::{Canvas, words};
use crate::ui;

/// Renders the queues of all projects.
pub fn merge_queues(queues: &MergeQueues, canvas: Canvas) -> String {
    let mut drawn = String::new();
    for queue in queues.queues.iter().filter(|queue| !queue.entries.is_empty() || queue.paused.is_some()) {
        if !drawn.is_empty() {
            drawn.push('\n');
        }
        drawn.push_str(&one(queue, canvas));
    }
    drawn
}

fn one(queue: &MergeQueue, canvas: Canvas) -> String {
    let title = ui::TITLE;
    let (project, branch) = (words::plain(&queue.project_id), words::plain(&queue.branch));
    let mut drawn = format!("{title}{project}{title:#} onto {branch}");
    if let Some(base) = &queue.base {
        let _ = write!(drawn, " at {}", words::plain(words::short_commit(base)));
    }
    if let Some(why) = &queue.paused {
        let busy = ui::BUSY;
        let _ = write!(drawn, " {busy}paused{busy:#}: {}", words::plain(why));
    }
    drawn.push('\n');
    if queue.entries.is_empty() {
        return drawn;
    }
    let mut table = TextTable::new(&["#", "PR", "STATE", "PRIORITY?", "SINCE?", "TESTED ON", "WAITS FOR"]);
    for (place, entry) in queue.entries.iter().enumerate() {
        let style = match entry.state {
            QueuedState::Held | QueuedState::Failed => ui::BUSY,
            QueuedState::Landing | QueuedState::Tested => ui::HINT,
            QueuedState::Waiting | QueuedState::Testing | QueuedState::Unknown => ui::FAINT,
        };
        let since = canvas.now.as_second() - entry.since.as_second();
        table.row([
            TableCell::new((place + 1).to_string()),
            TableCell::new(&entry.id),
            TableCell::styled(entry.state, style),
            TableCell::new(match entry.requested_by {
                Some(_) => "now".to_owned(),
                None => entry.priority.to_string(),
            }),
            TableCell::new(words::span(u64::try_from(since).unwrap_or(0))),
            TableCell::or_dash(tested_on(entry)),
            TableCell::new(&entry.waits),
        ]);
    }
    drawn + &table.draw(canvas.width)
}

/// Describes the base of an entry's test, what is ahead, and the earlier entries of its batch: `4f1c2d3 + my-app!3 +
/// my-app!4`.
fn tested_on(entry: &QueuedPull) -> Option<String> {
    let base = entry.base.as_deref()?;
    let mates = entry.batch.iter().take_while(|mate| **mate != entry.id);
    let others = entry.ahead.iter().chain(mates).map(|id| format!(" + {id}"));
    Some(others.fold(words::short_commit(base).to_owned(), |told, other| told + &other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_shows_what_each_is_tested_on_and_what_it_waits_for() {
        let canvas = Canvas::here();
        let entry = |id: &str, state: QueuedState, ahead: &[&str], batch: &[&str], waits: &str| QueuedPull {
            id: id.into(),
            title: "x".into(),
            head: "h".into(),
            priority: 0,
            requested_by: None,
            since: canvas.now,
            state,
            waits: waits.into(),
            base: (state != QueuedState::Held).then(|| "0123456789abcdef".into()),
            ahead: ahead.iter().map(ToString::to_string).collect(),
            batch: batch.iter().map(ToString::to_string).collect(),
            tries: 0,
            session: None,
        };
        let queue = MergeQueue {
            project_id: "app".into(),
            branch: "main".into(),
            base: Some("0123456789abcdef".into()),
            paused: Some("a release\u{1b}[31m".into()),
            configured: true,
            parallel: 2,
            batch: 2,
            entries: vec![
                entry("app!1", QueuedState::Testing, &[], &[], "its checks"),
                entry("app!3", QueuedState::Tested, &["app!1"], &["app!2", "app!3"], "app!1 to land"),
                entry("app!4", QueuedState::Held, &[], &[], "approvals (0 of 1)"),
            ],
        };
        let drawn = merge_queues(&MergeQueues { queues: vec![queue] }, Canvas { width: None, ..canvas });
        assert!(drawn.contains("onto main at 0123456789ab") && drawn.contains("paused"), "{drawn}");
        assert!(!drawn.contains("\u{1b}[31m"), "what others wrote steers no terminal");
        assert!(drawn.contains("0123456789ab + app!1 + app!2  app!1 to land"), "{drawn}");
        assert!(drawn.contains("approvals (0 of 1)"), "{drawn}");
        assert_eq!(merge_queues(&MergeQueues { queues: vec![] }, Canvas::here()), "");
    }
}
