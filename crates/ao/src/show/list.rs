//! Sessions, one a line.

use ao_api::Session;

use super::table::{Cell, Column, Table};
use super::{Canvas, words};
use crate::ui;

pub fn list<'a>(sessions: impl IntoIterator<Item = &'a Session>, canvas: Canvas) -> String {
    let mut table = Table::new(&[
        Column::new("SESSION"),
        Column::new("STATE"),
        Column::new("FOR"),
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
            Cell::new(&session.project_id),
            Cell::new(&session.agent.name),
            Cell::new(&session.branch),
            Cell::new(words::task(session)),
        ]);
    }
    table.draw(canvas.width)
}
