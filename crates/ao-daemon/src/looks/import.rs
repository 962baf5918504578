//! Issues that are brought in from a text.

use ao_api::{ImportOrder, Imported, ImportedIssue, Problem};
use ao_core::ProjectId;
use ao_core::pull::Author;
use ao_ports::Tracker;
use ao_tracker::import;

use super::Looks;
use crate::problem::{forge_problem, look_problem};

impl Looks {
    /// Brings issues in from a text, each once however often the same text comes.
    pub async fn import(
        &self,
        project: &ProjectId,
        by: &Author,
        order: &ImportOrder,
    ) -> Result<Imported, Problem> {
        bring_in(&*self.tracker(project).map_err(look_problem)?, project, by, order).await
    }
}

async fn bring_in(
    tracker: &dyn Tracker,
    project: &ProjectId,
    by: &Author,
    order: &ImportOrder,
) -> Result<Imported, Problem> {
    let drafts = match order.format.as_str() {
        "markdown" => import::markdown(&order.text),
        "github" => import::github(&order.text),
        other => {
            let what = format!("`{other}` is no format that issues come in");
            return Err(Problem::new(400, "bad-format", what).hint("there are `markdown` and `github`"));
        }
    };
    let drafts = drafts.map_err(|err| Problem::new(422, "bad-import", err.to_string()))?;
    let made = import::bring_in(tracker, project, by, &drafts, order.dry_run)
        .await
        .map_err(|err| forge_problem(&err))?;
    let issues = made.into_iter().map(|made| ImportedIssue {
        id: made.task.map(|task| task.to_string()),
        title: made.title,
        result: match made.outcome {
            import::Outcome::Made => "made",
            import::Outcome::Known => "known",
            import::Outcome::WouldBeMade => "would_be_made",
        }
        .to_owned(),
    });
    Ok(Imported { issues: issues.collect() })
}
