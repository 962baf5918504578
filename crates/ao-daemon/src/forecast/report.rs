//! Reports of a forecast.

use std::collections::BTreeMap;

use ao_core::forecast::ClashSide;
use ao_core::{ProjectId, Timestamp};
use ao_git::forecast::{ClashFile, Excerpt};

use super::lines::WorkLine;
use super::{ForecastError, ForecastResult, ProjectForecasts};
use crate::error::{DaemonError, ErrorKind};
use crate::secrets;

/// The branches of a project, and those that will not merge with each other.
#[derive(Debug)]
pub struct ForecastReport {
    pub at: Timestamp,
    pub branches: Vec<ForecastBranch>,
    pub clashes: Vec<BranchClash>,
    /// Branches that were not compared, and why.
    pub left_out: Vec<(String, String)>,
}

#[derive(Debug)]
pub struct ForecastBranch {
    pub side: ClashSide,
    pub name: String,
    pub branch: String,
    pub title: String,
    pub session: Option<String>,
    /// The number of files that it changes.
    pub files: usize,
}

/// Two branches by their names, and the files in which they clash.
#[derive(Debug)]
pub struct BranchClash {
    pub a: String,
    pub b: String,
    /// Each file with the text of its hunks, where that was asked for. Known secrets are masked.
    pub files: Vec<(ClashFile, Vec<String>)>,
}

impl ProjectForecasts {
    /// Returns all branches of a project and their conflicts, as they are now.
    pub async fn conflicts(&self, project: &ProjectId) -> Result<ForecastReport, DaemonError> {
        let seen = self.recent(project).await?;
        let names: BTreeMap<String, &str> =
            seen.lines.iter().map(|(line, _)| (line.side.to_string(), line.name.as_str())).collect();
        let name = |side: &str| names.get(side).map_or(side, |name| name).to_owned();
        let clashes = seen.outlook.clashes.iter().map(|clash| BranchClash {
            a: name(&clash.a),
            b: name(&clash.b),
            files: clash.files.iter().map(|file| (file.clone(), vec![])).collect(),
        });
        Ok(ForecastReport {
            at: seen.at,
            branches: seen.lines.iter().map(|(line, _)| branch(line, &seen)).collect(),
            clashes: clashes.collect(),
            left_out: seen.outlook.left_out.clone().into_iter().collect(),
        })
    }

    /// Returns the conflicts of two branches, with the text of each.
    pub async fn conflict(&self, project: &ProjectId, a: &str, b: &str) -> Result<BranchClash, DaemonError> {
        let seen = self.recent(project).await?;
        let (one, other) = (meant(&seen, a)?, meant(&seen, b)?);
        let explained = self.explain(project, &one.1, &other.1).await?;
        let files = explained.into_iter().map(masked).collect();
        Ok(BranchClash { a: one.0.name.clone(), b: other.0.name.clone(), files })
    }
}

/// Returns the branch that a reference means. A name comes before everything else that it could be.
fn meant<'a>(seen: &'a ForecastResult, word: &str) -> Result<&'a (WorkLine, String), DaemonError> {
    let by_name = seen.lines.iter().find(|(line, _)| line.name == word);
    by_name.or_else(|| seen.lines.iter().find(|(line, _)| line.is_meant_by(word))).ok_or_else(|| {
        let shown: String = word.chars().take(100).collect();
        let what = format!("there is no live session, open pull request or branch `{shown}` to compare");
        let mut problem = DaemonError::new(ErrorKind::UnknownBranch, what);
        problem.candidates = seen.lines.iter().map(|(line, _)| line.name.clone()).take(20).collect();
        problem.hint("`ao conflicts` lists all that are compared")
    })
}

fn branch(line: &WorkLine, seen: &ForecastResult) -> ForecastBranch {
    ForecastBranch {
        side: line.side.clone(),
        name: line.name.clone(),
        branch: line.branch.clone(),
        title: line.title.clone(),
        session: line.session.clone(),
        files: seen.outlook.changed.get(&line.side.to_string()).map_or(0, Vec::len),
    }
}

/// Masks known secrets that a tree has: a caller that may see conflicts may not see those.
fn masked(Excerpt { file, places }: Excerpt) -> (ClashFile, Vec<String>) {
    let secrets = secrets::known();
    (file, places.iter().map(|text| secrets.mask(text)).collect())
}

impl From<ForecastError> for DaemonError {
    fn from(err: ForecastError) -> DaemonError {
        let kind = match err {
            ForecastError::Engine(err) => return err.into(),
            ForecastError::NoProject(_) => ErrorKind::UnknownProject,
            ForecastError::NoTarget { .. } => ErrorKind::NoDefaultBranch,
            ForecastError::TooSlow(_) => ErrorKind::ForecastSlow,
            ForecastError::Git(_) | ForecastError::Scratch(_) => ErrorKind::NotCompared,
        };
        DaemonError::new(kind, err.to_string())
    }
}

#[cfg(test)]
mod tests {
    use ao_git::forecast::{Hunk, Lines};

    use super::*;

    /// acceptance: X5
    #[test]
    fn what_is_known_to_be_a_secret_is_masked_in_excerpts() {
        secrets::learn([("FORECAST".to_owned(), b"conflicting-hunter2-word".to_vec())]);
        let lines = Lines { first: 1, count: 1 };
        let hunks = vec![Hunk { a: lines, b: lines }];
        let file = ClashFile { path: "a".into(), kind: "content".into(), hunks };
        let places = vec!["<<<<<<< a\nkey = conflicting-hunter2-word\n".to_owned()];
        let (_, texts) = masked(Excerpt { file, places });
        assert_eq!(texts, ["<<<<<<< a\nkey = [secret FORECAST]\n"]);
    }
}
