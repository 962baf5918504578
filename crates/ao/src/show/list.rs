//! Renders sessions, one per line.

use ao_api::Session;

use super::table::{Cell, Column, Table};
use super::{Canvas, words, work};
use crate::ui;

pub fn list<'a>(sessions: impl IntoIterator<Item = &'a Session>, canvas: Canvas) -> String {
    let mut table = Table::new(&[
        Column::new("SESSION"),
        Column::new("STATE"),
        Column::new("FOR"),
        Column::new("TURN"),
        Column::new("PR"),
        Column::new("CHECKS"),
        Column::optional("PROJECT"),
        Column::optional("AGENT"),
        Column::optional("BRANCH"),
        Column::new("WORKS ON"),
    ]);
    for session in sessions {
        table.row([
            Cell::styled(&session.name, ui::TITLE),
            Cell::styled(words::state(&session.status), words::style(&session.status.state)),
            Cell::new(words::age(session.status.since, canvas.now)),
            Cell::new(work::turn(&session.work)),
            Cell::new(work::pull(&session.work)),
            Cell::styled(work::checks(&session.work).0, work::checks(&session.work).1),
            Cell::new(&session.project_id),
            Cell::new(&session.agent.name),
            Cell::new(&session.branch),
            Cell::new(words::task(session)),
        ]);
    }
    table.draw(canvas.width)
}
