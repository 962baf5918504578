//! Configuration errors, displayed with the line they are about.

use std::fmt;

use camino::Utf8PathBuf;

use crate::tree::TextPosition;

/// All problems found in a configuration, each with its position.
///
/// The text is for people: it shows the source line with a mark below the position. It contains no value from the
/// environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// At least one.
    pub problems: Vec<Problem>,
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub file: Utf8PathBuf,
    /// Line and column, counted from 1; absent if it concerns a file as a whole.
    pub place: Option<(usize, usize)>,
    pub what: String,
    /// Advice on how to fix it.
    pub hint: Option<String>,
    /// The line that the position is on.
    pub source: Option<String>,
}

/// A problem that has no effect until the value is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning(pub Problem);

/// The text of a file, from which lines are shown.
#[derive(Debug, Clone)]
pub(crate) struct SourceText {
    pub(crate) path: Utf8PathBuf,
    pub(crate) text: String,
}

impl ConfigError {
    pub(crate) fn about(
        file: impl Into<Utf8PathBuf>,
        what: impl Into<String>,
        hint: Option<String>,
    ) -> ConfigError {
        ConfigError {
            problems: vec![Problem { file: file.into(), place: None, what: what.into(), hint, source: None }],
        }
    }
}

impl Problem {
    pub(crate) fn at(
        sources: &[SourceText],
        at: TextPosition,
        what: impl Into<String>,
        hint: Option<String>,
    ) -> Problem {
        let source = sources.get(at.file);
        let line = source.and_then(|source| source.text.lines().nth(at.line.checked_sub(1)?));
        Problem {
            file: source.map(|source| source.path.clone()).unwrap_or_default(),
            place: (at.line > 0).then_some((at.line, at.column.max(1))),
            what: what.into(),
            hint,
            source: line.map(str::to_owned),
        }
    }
}

impl std::error::Error for ConfigError {}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, problem) in self.problems.iter().enumerate() {
            if n > 0 {
                f.write_str("\n\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.what)?;
        if let (Some((line, column)), Some(source)) = (self.place, &self.source) {
            let (shown, before) = window(source, column);
            let number = line.to_string();
            let margin = " ".repeat(number.len());
            write!(f, "\n {margin} |\n {number} | {shown}\n {margin} | {}^", " ".repeat(before))?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n hint: {hint}")?;
        }
        Ok(())
    }
}

/// Returns the part of a line around a column, and the number of characters in it before the column.
///
/// A line can be a megabyte long and can contain control characters that would take over the terminal.
fn window(line: &str, column: usize) -> (String, usize) {
    const WIDTH: usize = 100;
    const BEFORE: usize = 60;
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    let skip = column.saturating_sub(1).saturating_sub(BEFORE);
    let mut shown = line.chars().skip(skip);
    let mut text: String = shown.by_ref().take(WIDTH).map(clean).collect();
    if shown.next().is_some() {
        text.push('…');
    }
    (text.trim_end().to_owned(), column.saturating_sub(1).saturating_sub(skip))
}
