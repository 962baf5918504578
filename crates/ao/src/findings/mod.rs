//! Finds settings that cannot work: one list for `ao config check`, `ao start` and `ao doctor`.
//!
//! ```text
//!  Loaded (files, with places) ─┐
//!  MachineFacts, repositories ──┴─► of ─► ConfigFinding (severity, place, reason, fix)
//! ```
//!
//! Each kind of finding has its own file. An error stops a start. A problem fails `ao config check`, and the setting is refused
//! where it is used. A warning is shown.

mod bases;
mod channels;
mod facts;
mod ignored;
mod missing;
mod programs;

use ao_config::{ConfigError, Loaded, Problem};
use ao_daemon::config::apply::strange_tools;
use ao_daemon::registry;
use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::context::Context;
use crate::combination::{UnworkableSettings, unworkable};
use crate::error::CommandError;
use crate::ui;

pub(crate) use self::facts::{MachineFacts, desktop};
pub(crate) use self::programs::{PROGRAM, find_agent};

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FindingSeverity {
    /// A part of the configuration does not work; the rest does.
    Warning,
    /// A configured name does not exist; sessions that do not need it work.
    Problem,
    /// Nothing should be started with this.
    Error,
}

/// A setting that cannot work, with its place, the reason and the fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigFinding {
    /// A short id of the kind of finding.
    pub(crate) id: &'static str,
    pub(crate) severity: FindingSeverity,
    pub(crate) problem: Problem,
}

impl ConfigFinding {
    pub(crate) fn warning(id: &'static str, problem: Problem) -> ConfigFinding {
        ConfigFinding { id, severity: FindingSeverity::Warning, problem }
    }

    pub(crate) fn error(id: &'static str, problem: Problem) -> ConfigFinding {
        ConfigFinding { id, severity: FindingSeverity::Error, problem }
    }

    /// Prints it for people.
    pub(crate) fn print(&self) {
        match self.severity {
            FindingSeverity::Warning => ui::warning(&self.problem),
            FindingSeverity::Problem | FindingSeverity::Error => ui::problem(&self.problem),
        }
    }

    pub(crate) fn json(&self) -> Value {
        let Problem { file, place, what, hint, .. } = &self.problem;
        json!({
            "id": self.id,
            "severity": self.severity,
            "file": file,
            "line": place.map(|(line, _)| line),
            "column": place.map(|(_, column)| column),
            "what": what,
            "hint": hint,
        })
    }
}

/// Finds everything that cannot work on this machine, errors first.
pub(crate) async fn of(loaded: &Loaded, cx: &Context) -> Result<Vec<ConfigFinding>, CommandError> {
    let facts = &MachineFacts::gather(loaded, &cx.data_dir()?).await;
    let UnworkableSettings { mut refused, mut doubtful } = unworkable(loaded, &registry::built_in());
    let mut findings: Vec<ConfigFinding> = tools(loaded).chain(missing::look(loaded, &refused)).collect();
    let is_other = |problem: &Problem| loaded.missing.iter().all(|it| it.problem.what != problem.what);
    refused.retain(is_other);
    doubtful.retain(|warning| is_other(&warning.0));
    findings.extend(refused.into_iter().map(|problem| ConfigFinding::error("runtime", problem)));
    findings.extend(doubtful.into_iter().map(|warning| ConfigFinding::warning("runtime", warning.0)));
    findings
        .extend(loaded.warnings.iter().map(|warning| ConfigFinding::warning("config", warning.0.clone())));
    findings.extend(projects(loaded));
    findings.extend(channels::look(loaded, facts));
    findings.extend(programs::look(loaded));
    findings.extend(programs::own_agents(loaded));
    findings.extend(bases::look(loaded).await);
    findings.extend(ignored::look(loaded, facts));
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    Ok(findings)
}

/// Like [`of`], and refuses a configuration with errors.
pub(crate) async fn without_errors(
    loaded: &Loaded,
    cx: &Context,
) -> Result<Vec<ConfigFinding>, CommandError> {
    let (wrong, others): (Vec<_>, Vec<_>) =
        of(loaded, cx).await?.into_iter().partition(|finding| finding.severity == FindingSeverity::Error);
    match wrong.is_empty() {
        true => Ok(others),
        false => Err(ConfigError { problems: wrong.into_iter().map(|wrong| wrong.problem).collect() }.into()),
    }
}

/// Finds invalid descriptions of agents.
fn tools(loaded: &Loaded) -> impl Iterator<Item = ConfigFinding> {
    strange_tools(loaded).into_iter().map(|problem| ConfigFinding::error("agent", problem))
}

/// Finds a configuration without projects.
fn projects(loaded: &Loaded) -> Option<ConfigFinding> {
    if !loaded.config.projects.is_empty() || loaded.layers.is_empty() {
        return None;
    }
    let what = "no project is named, and the file is not at the root of a git repository, so there is nothing to work on";
    let hint =
        "name one with `ao add-project PATH`, or move the file to the root of its repository".to_owned();
    Some(ConfigFinding::warning("project", loaded.problem_at(&["projects"], what, Some(hint))))
}
