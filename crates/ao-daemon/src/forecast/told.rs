//! A forecast as the API tells it.

use std::collections::BTreeMap;

use ao_api::{
    Conflict, ConflictBranch, ConflictFile, ConflictHunk, ConflictLines, Conflicts, LeftOut, Problem,
};
use ao_core::ProjectId;
use ao_core::forecast::Side;
use ao_git::forecast::{ClashFile, Excerpt, Lines};

use super::lines::Line;
use super::{ForecastError, Forecasts, Seen};
use crate::secrets;

impl Forecasts {
    /// Everything compared, as it is now.
    pub async fn conflicts(&self, project: &ProjectId) -> Result<Conflicts, Problem> {
        let seen = self.recent(project).await.map_err(|err| problem(&err))?;
        let names: BTreeMap<String, &str> =
            seen.lines.iter().map(|(line, _)| (line.side.to_string(), line.name.as_str())).collect();
        let name = |side: &str| names.get(side).map_or(side, |name| name).to_owned();
        let clashes = seen.outlook.clashes.iter().map(|clash| Conflict {
            a: name(&clash.a),
            b: name(&clash.b),
            files: clash.files.iter().map(|file| told(file, &[])).collect(),
        });
        let left_out =
            seen.outlook.left_out.iter().map(|(name, why)| LeftOut { name: name.clone(), why: why.clone() });
        Ok(Conflicts {
            project: project.to_string(),
            at: ao_api::Timestamp::from_millisecond(seen.at.0).unwrap_or_default(),
            branches: seen.lines.iter().map(|(line, _)| branch(line, &seen)).collect(),
            clashes: clashes.collect(),
            left_out: left_out.collect(),
        })
    }

    /// What two of them do not agree on, with what it says.
    pub async fn conflict(&self, project: &ProjectId, a: &str, b: &str) -> Result<Conflict, Problem> {
        let seen = self.recent(project).await.map_err(|err| problem(&err))?;
        let (one, other) = (meant(&seen, a)?, meant(&seen, b)?);
        let explained = self.explain(project, &one.1, &other.1).await.map_err(|err| problem(&err))?;
        let files = explained.iter().map(|Excerpt { file, places }| told(file, places)).collect();
        Ok(Conflict { a: one.0.name.clone(), b: other.0.name.clone(), files })
    }
}

/// The one that somebody means. A name comes before what else it could be.
fn meant<'a>(seen: &'a Seen, word: &str) -> Result<&'a (Line, String), Problem> {
    let by_name = seen.lines.iter().find(|(line, _)| line.name == word);
    by_name.or_else(|| seen.lines.iter().find(|(line, _)| line.is_meant_by(word))).ok_or_else(|| {
        let shown: String = word.chars().take(100).collect();
        let what = format!("there is no live session, open pull request or branch `{shown}` to compare");
        let mut problem = Problem::new(404, "unknown-branch", what);
        problem.candidates = seen.lines.iter().map(|(line, _)| line.name.clone()).take(20).collect();
        problem.hint("`ao conflicts` lists all that are compared")
    })
}

fn branch(line: &Line, seen: &Seen) -> ConflictBranch {
    let files = seen.outlook.changed.get(&line.side.to_string()).map_or(0, Vec::len);
    ConflictBranch {
        name: line.name.clone(),
        kind: match line.side {
            Side::Session(_) => "session",
            Side::Pull(_) => "pull",
        }
        .into(),
        branch: line.branch.clone(),
        title: line.title.clone(),
        session: line.session.clone(),
        files: u32::try_from(files).unwrap_or(u32::MAX),
    }
}

fn told(file: &ClashFile, places: &[String]) -> ConflictFile {
    let lines = |lines: Lines| ConflictLines { first: lines.first, count: lines.count };
    let hunks = file.hunks.iter().enumerate().map(|(nth, hunk)| ConflictHunk {
        a: lines(hunk.a),
        b: lines(hunk.b),
        // Whoever may see conflicts may not see secrets that somebody's tree has.
        text: places.get(nth).map(|text| secrets::known().mask(text)),
    });
    ConflictFile { path: file.path.clone(), kind: file.kind.clone(), hunks: hunks.collect() }
}

fn problem(err: &ForecastError) -> Problem {
    let (status, word) = match err {
        ForecastError::NoProject(_) => (404, "unknown-project"),
        ForecastError::NoTarget { .. } => (422, "no-default-branch"),
        ForecastError::TooSlow(_) => (503, "too-slow"),
        ForecastError::Engine(_) => (503, "stopping"),
        ForecastError::Git(_) | ForecastError::Scratch(_) => (500, "not-compared"),
    };
    Problem::new(status, word, err.to_string())
}

#[cfg(test)]
mod tests {
    use ao_git::forecast::Hunk;

    use super::*;

    /// acceptance: X5
    #[test]
    fn what_is_known_to_be_a_secret_is_masked_in_excerpts() {
        secrets::learn([("FORECAST".to_owned(), b"conflicting-hunter2-word".to_vec())]);
        let lines = Lines { first: 1, count: 1 };
        let hunks = vec![Hunk { a: lines, b: lines }];
        let file = ClashFile { path: "a".into(), kind: "content".into(), hunks };
        let told = told(&file, &["<<<<<<< a\nkey = conflicting-hunter2-word\n".to_owned()]);
        let text = told.hunks[0].text.as_deref().unwrap();
        assert_eq!(text, "<<<<<<< a\nkey = [secret FORECAST]\n");
    }
}
