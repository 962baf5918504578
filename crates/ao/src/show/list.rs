//! Renders sessions, one per line.

use ao_api::Session;

use super::table::{TableCell, TextTable};
use super::{Canvas, words, work};
use crate::ui;

pub fn list<'a>(sessions: impl IntoIterator<Item = &'a Session>, canvas: Canvas) -> String {
    let mut table = TextTable::new(&[
        "SESSION", "STATE", "FOR", "TURN", "PR", "CHECKS", "PROJECT?", "AGENT?", "BRANCH?", "WORKS ON",
    ]);
    for session in sessions {
        table.row([
            TableCell::styled(&session.name, ui::TITLE),
            TableCell::styled(words::state(&session.status), words::style(session.status.state)),
            TableCell::new(words::age(session.status.since, canvas.now)),
            TableCell::new(work::turn(&session.work)),
            TableCell::new(work::pull(&session.work)),
            TableCell::styled(work::checks(&session.work).0, work::checks(&session.work).1),
            TableCell::new(&session.project_id),
            TableCell::new(&session.agent.name),
            TableCell::new(&session.branch),
            TableCell::new(words::task(session)),
        ]);
    }
    table.draw(canvas.width)
}
