//! The result of one check.

use std::fmt;

use anstyle::Style;
use serde::Serialize;
use serde_json::{Value, json};

use crate::ui;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FindingLevel {
    Ok,
    /// A part may not work, or not as well as it could.
    Warning,
    /// A configured part does not work.
    Problem,
}

/// The result of one check: what was found, its consequence, and the fix.
pub(super) struct DoctorFinding {
    id: &'static str,
    level: FindingLevel,
    what: String,
    means: Option<String>,
    fix: Option<String>,
    /// Fixes it safely and returns what was done.
    mend: Option<FixAction>,
    mended: Option<Result<String, String>>,
}

type FixAction = Box<dyn FnOnce() -> Result<String, String>>;

impl DoctorFinding {
    pub(super) fn ok(id: &'static str, what: impl Into<String>) -> DoctorFinding {
        DoctorFinding::new(id, FindingLevel::Ok, what)
    }

    pub(super) fn warning(id: &'static str, what: impl Into<String>) -> DoctorFinding {
        DoctorFinding::new(id, FindingLevel::Warning, what)
    }

    pub(super) fn problem(id: &'static str, what: impl Into<String>) -> DoctorFinding {
        DoctorFinding::new(id, FindingLevel::Problem, what)
    }

    fn new(id: &'static str, level: FindingLevel, what: impl Into<String>) -> DoctorFinding {
        DoctorFinding { id, level, what: what.into(), means: None, fix: None, mend: None, mended: None }
    }

    pub(super) fn means(mut self, means: impl Into<String>) -> DoctorFinding {
        self.means = Some(means.into());
        self
    }

    pub(super) fn fix(mut self, fix: impl Into<String>) -> DoctorFinding {
        self.fix = Some(fix.into());
        self
    }

    /// Sets what `--fix` does about it.
    pub(super) fn mended_by(
        mut self,
        mend: impl FnOnce() -> Result<String, String> + 'static,
    ) -> DoctorFinding {
        self.mend = Some(Box::new(mend));
        self
    }

    pub(super) fn level(&self) -> FindingLevel {
        match self.mended {
            Some(Ok(_)) => FindingLevel::Ok,
            _ => self.level,
        }
    }

    pub(super) fn can_be_mended(&self) -> bool {
        self.mend.is_some()
    }

    pub(super) fn mend(&mut self) {
        if let Some(mend) = self.mend.take() {
            self.mended = Some(mend());
        }
    }

    pub(super) fn json(&self) -> Value {
        let fixed = self.mended.as_ref().and_then(|mended| mended.as_ref().ok());
        json!({
            "id": self.id, "level": self.level(), "what": self.what, "means": self.means, "fix": self.fix, "fixed": fixed,
        })
    }
}

impl fmt::Display for DoctorFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (style, word): (Style, &str) = match (&self.mended, self.level) {
            (Some(Ok(_)), _) => (ui::GOOD, "fixed"),
            (_, FindingLevel::Ok) => (ui::GOOD, "ok"),
            (_, FindingLevel::Warning) => (ui::BUSY, "warning"),
            (_, FindingLevel::Problem) => (ui::ERROR, "problem"),
        };
        write!(f, "{style}{word:<8}{style:#} {:<10} {}", self.id, self.what)?;
        let margin = " ".repeat(20);
        if let Some(means) = &self.means {
            write!(f, "\n{margin}{means}")?;
        }
        match (&self.mended, &self.fix) {
            (Some(Ok(done)), _) => write!(f, "\n{margin}done: {done}"),
            (Some(Err(err)), Some(fix)) => {
                write!(f, "\n{margin}could not be done: {err}\n{margin}fix: {fix}")
            }
            (_, Some(fix)) => write!(f, "\n{margin}fix: {fix}"),
            _ => Ok(()),
        }
    }
}
