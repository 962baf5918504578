//! The live view: one line per issue, updated in place on a terminal, or one line per change elsewhere.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};
use std::time::Instant;

use super::sample::DemoIssue;
use crate::error::CommandError;
use crate::ui::{self, BUSY, FAINT, GOOD, TITLE};

/// The state of one issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IssueState {
    pub(super) tone: StateTone,
    pub(super) words: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StateTone {
    Quiet,
    Busy,
    Good,
}

pub(super) struct LiveView {
    began: Instant,
    /// Lines are updated in place.
    live: bool,
    drawn: bool,
    scenes: Vec<IssueState>,
}

impl LiveView {
    pub(super) fn new() -> LiveView {
        let live = io::stdout().is_terminal() && ui::size().is_some();
        let waits = IssueState { tone: StateTone::Quiet, words: "not begun".into() };
        LiveView { began: Instant::now(), live, drawn: false, scenes: vec![waits; DemoIssue::ALL.len()] }
    }

    pub(super) fn elapsed(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// Shows a state that may have passed already.
    pub(super) fn moment(&mut self, tale: DemoIssue, scene: IssueState) -> Result<(), CommandError> {
        let mut scenes = self.scenes.clone();
        if let Some(at) = DemoIssue::ALL.iter().position(|it| *it == tale) {
            scenes[at] = scene;
        }
        self.show(scenes)
    }

    /// Shows the current state of all issues.
    pub(super) fn show(&mut self, scenes: Vec<IssueState>) -> Result<(), CommandError> {
        let before = std::mem::replace(&mut self.scenes, scenes);
        if self.live {
            return self.draw();
        }
        for (tale, (scene, before)) in DemoIssue::ALL.into_iter().zip(self.scenes.iter().zip(&before)) {
            if scene != before {
                let since = self.elapsed();
                ui::line(format_args!("{since:>6.1} s  {}", line(tale, scene, usize::MAX)))?;
            }
        }
        Ok(())
    }

    /// Prints a text below; later lines are drawn below that.
    pub(super) fn say(&mut self, words: &str) -> Result<(), CommandError> {
        self.drawn = false;
        Ok(ui::line(words)?)
    }

    fn draw(&mut self) -> Result<(), CommandError> {
        let width = ui::width().unwrap_or(80).saturating_sub(1);
        let mut frame = String::new();
        if self.drawn {
            let _ = write!(frame, "\u{1b}[{}A", DemoIssue::ALL.len() + 1);
        }
        for (tale, scene) in DemoIssue::ALL.into_iter().zip(&self.scenes) {
            let _ = writeln!(frame, "\r\u{1b}[2K{}", line(tale, scene, width));
        }
        let _ = writeln!(frame, "\r\u{1b}[2K{FAINT}{:>5.1} s{FAINT:#}", self.elapsed());
        self.drawn = true;
        let mut out = anstream::stdout().lock();
        out.write_all(frame.as_bytes())?;
        Ok(out.flush()?)
    }
}

/// `#2 Greet in capital letters   a check failed; it is run again`
fn line(tale: DemoIssue, scene: &IssueState, width: usize) -> String {
    let number = DemoIssue::ALL.iter().position(|it| *it == tale).unwrap_or_default() + 1;
    let head = format!("#{number} {:<26}", tale.title());
    let words = scene.words.lines().next().unwrap_or_default();
    let words: String = words.chars().take(width.saturating_sub(head.chars().count())).collect();
    match scene.tone {
        StateTone::Quiet => format!("{TITLE}{head}{TITLE:#}{FAINT}{words}{FAINT:#}"),
        StateTone::Busy => format!("{TITLE}{head}{TITLE:#}{BUSY}{words}{BUSY:#}"),
        StateTone::Good => format!("{TITLE}{head}{TITLE:#}{GOOD}{words}{GOOD:#}"),
    }
}
