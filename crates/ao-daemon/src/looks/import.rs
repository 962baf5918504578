//! Issues that are brought in from a text.

use ao_core::ProjectId;
use ao_core::pull::AuthorFacts;
use ao_tracker::import;
pub use ao_tracker::import::{ImportResult, Outcome};

use super::ProjectLooks;
use crate::error::{DaemonError, ErrorKind};

/// The formats that issues come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportFormat {
    Markdown,
    /// The output of `gh issue list --json`.
    GitHub,
}

impl ProjectLooks {
    /// Brings issues in from a text, each once however often the same text comes.
    pub async fn import(
        &self,
        project: &ProjectId,
        by: &AuthorFacts,
        (format, text): (ImportFormat, &str),
        dry_run: bool,
    ) -> Result<Vec<ImportResult>, DaemonError> {
        let tracker = self.tracker(project)?;
        let drafts = match format {
            ImportFormat::Markdown => import::markdown(text),
            ImportFormat::GitHub => import::github(text),
        };
        let drafts = drafts.map_err(|err| DaemonError::new(ErrorKind::BadImport, err.to_string()))?;
        Ok(import::bring_in(&*tracker, project, by, &drafts, dry_run).await?)
    }
}
