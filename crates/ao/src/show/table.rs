//! Renders tables, with columns as wide as needed and the window allows.

use std::fmt::{Display, Write};

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use super::words::{plain, shorten};
use crate::ui;

/// Spaces between two columns.
const GAP: usize = 2;
/// Minimum width of the last column, if others can be dropped for it.
const LAST: usize = 24;

/// A column.
#[derive(Debug, Clone, Copy)]
struct TableColumn {
    title: &'static str,
    /// Dropped if the window is too narrow, the rightmost first.
    optional: bool,
}

/// The content of one cell.
#[derive(Debug, Clone, Default)]
pub struct TableCell {
    text: String,
    style: Style,
}

impl TableCell {
    pub fn new(text: impl Display) -> TableCell {
        TableCell::styled(text, Style::new())
    }

    pub fn styled(text: impl Display, style: Style) -> TableCell {
        TableCell { text: plain(&text.to_string()), style }
    }

    /// Renders an absent value visibly, as a dash.
    pub fn or_dash(text: Option<impl Display>) -> TableCell {
        match text {
            Some(text) => TableCell::new(text),
            None => TableCell::styled("-", ui::FAINT),
        }
    }

    fn width(&self) -> usize {
        self.text.width()
    }
}

/// Rows under their columns. Only the last column is shortened.
#[derive(Debug, Clone)]
pub struct TextTable {
    columns: Vec<TableColumn>,
    rows: Vec<TableRow>,
    indent: usize,
    heading: bool,
}

#[derive(Debug, Clone)]
enum TableRow {
    Cells(Vec<TableCell>),
    /// A line across all columns.
    Line(TableCell),
}

impl TextTable {
    /// Returns an empty table. A column whose title ends in `?` is dropped if the window is too narrow.
    pub fn new(titles: &[&'static str]) -> TextTable {
        let column = |title: &&'static str| match title.strip_suffix('?') {
            Some(title) => TableColumn { title, optional: true },
            None => TableColumn { title, optional: false },
        };
        TextTable { columns: titles.iter().map(column).collect(), rows: vec![], indent: 0, heading: true }
    }

    /// Omits the titles of the columns.
    #[must_use]
    pub fn without_heading(mut self) -> TextTable {
        self.heading = false;
        self
    }

    #[must_use]
    pub fn indented(mut self, columns: usize) -> TextTable {
        self.indent = columns;
        self
    }

    pub fn row(&mut self, cells: impl Into<Vec<TableCell>>) {
        let cells = cells.into();
        debug_assert_eq!(cells.len(), self.columns.len(), "a row has a cell for each column");
        self.rows.push(TableRow::Cells(cells));
    }

    /// Adds a line that belongs to the previous row.
    pub fn line(&mut self, cell: TableCell) {
        self.rows.push(TableRow::Line(cell));
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Renders the table for a window of this width.
    pub fn draw(&self, width: Option<usize>) -> String {
        let mut widths = self.widths();
        let mut shown: Vec<usize> = (0..self.columns.len()).filter(|column| widths[*column] > 0).collect();
        if let Some(width) = width {
            self.fit(width, &mut shown, &mut widths);
        }
        let mut drawn = String::new();
        if self.heading && self.rows.iter().any(|row| matches!(row, TableRow::Cells(_))) {
            let titles: Vec<TableCell> =
                self.columns.iter().map(|column| TableCell::styled(column.title, ui::FAINT)).collect();
            self.draw_row(&mut drawn, &titles, &shown, &widths);
        }
        for row in &self.rows {
            match row {
                TableRow::Cells(cells) => self.draw_row(&mut drawn, cells, &shown, &widths),
                TableRow::Line(cell) => {
                    let indent = self.indent + GAP;
                    let room = width.map_or(usize::MAX, |width| width.saturating_sub(indent));
                    let text = shorten(&cell.text, room);
                    let style = cell.style;
                    let _ = writeln!(drawn, "{:indent$}{style}{text}{style:#}", "");
                }
            }
        }
        drawn
    }

    /// Returns the natural width of each column. An empty column has none.
    fn widths(&self) -> Vec<usize> {
        let widest = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| match row {
                TableRow::Cells(cells) => cells.get(column),
                TableRow::Line(_) => None,
            });
            cells.map(TableCell::width).max().unwrap_or(0)
        };
        let title = |column: usize| if self.heading { self.columns[column].title.width() } else { 0 };
        let with_title = |column| match widest(column) {
            0 => 0,
            width => width.max(title(column)),
        };
        (0..self.columns.len()).map(with_title).collect()
    }

    /// Drops optional columns, then shortens the last one.
    fn fit(&self, width: usize, shown: &mut Vec<usize>, widths: &mut [usize]) {
        let needed = |shown: &[usize], widths: &[usize]| {
            let Some((last, others)) = shown.split_last() else { return 0 };
            let others: usize = others.iter().map(|column| widths[*column] + GAP).sum();
            self.indent + others + widths[*last].min(LAST)
        };
        while needed(shown, widths) > width
            && let Some(at) = shown.iter().rposition(|column| self.columns[*column].optional)
        {
            shown.remove(at);
        }
        if let Some((last, others)) = shown.split_last() {
            let others: usize = others.iter().map(|column| widths[*column] + GAP).sum();
            let room = width.saturating_sub(self.indent + others);
            widths[*last] = widths[*last].min(room.max(8));
        }
    }

    fn draw_row(&self, drawn: &mut String, cells: &[TableCell], shown: &[usize], widths: &[usize]) {
        let indent = self.indent;
        let _ = write!(drawn, "{:indent$}", "");
        for (at, column) in shown.iter().enumerate() {
            let TableCell { text, style } = &cells[*column];
            let last = at + 1 == shown.len();
            let text = if last { shorten(text, widths[*column]) } else { text.clone() };
            if !text.is_empty() {
                let _ = write!(drawn, "{style}{text}{style:#}");
            }
            if !last {
                let gap = widths[*column].saturating_sub(text.width()) + GAP;
                let _ = write!(drawn, "{:gap$}", "");
            }
        }
        drawn.truncate(drawn.trim_end_matches(' ').len());
        drawn.push('\n');
    }
}
