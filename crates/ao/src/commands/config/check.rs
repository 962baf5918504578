//! `ao config check`: every error at once.

use ao_config::{ConfigError, Layer, LayerKind, Loaded, Problem};
use camino::Utf8PathBuf;
use serde_json::{Value, json};

use super::no_file;
use crate::cli::context::Context;
use crate::config::settings;
use crate::error::CommandError;
use crate::findings::{ConfigFinding, FindingSeverity};
use crate::{findings, ui};

/// Check the configuration without starting anything
///
/// Lists every error with its file, line and column, also names that are not available in this version, and warns about
/// valid settings that do not work here. Exits with 2 if there is an error.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao config check
  ao config check other.yaml
  ao config check --json | jq '.problems[].what'")]
pub(crate) struct Args {
    /// A single file to check [default: the configuration in use here]
    file: Option<Utf8PathBuf>,
}

pub(super) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let places = settings::places(cx)?;
    let loaded = match &args.file {
        Some(file) => {
            let path = places.cwd.join(file);
            ao_config::load_files(vec![Layer { kind: LayerKind::Project, path }], &places)
        }
        None => ao_config::load(&places),
    };
    let loaded = match loaded {
        Ok(loaded) if loaded.layers.is_empty() => return Err(no_file()),
        Ok(loaded) => loaded,
        Err(err) => return refuse(err, &[], cx),
    };
    let findings = cx.wait_for(findings::of(&loaded, cx))?;
    let is_warning = |finding: &ConfigFinding| finding.severity == FindingSeverity::Warning;
    let (warnings, wrong): (Vec<_>, Vec<_>) = findings.into_iter().partition(is_warning);
    let problems: Vec<Problem> = wrong.into_iter().map(|wrong| wrong.problem).collect();
    match problems.is_empty() {
        true => good(&loaded, &warnings, cx),
        false => refuse(ConfigError { problems }, &warnings, cx),
    }
}

/// Reports the errors of a file, for programs with the place of each.
pub(in crate::commands) fn refuse(
    err: ConfigError,
    warnings: &[ConfigFinding],
    cx: &Context,
) -> Result<(), CommandError> {
    if cx.json() {
        let warnings: Vec<Value> = warnings.iter().map(ConfigFinding::json).collect();
        ui::json(&json!({ "ok": false, "problems": problems(&err), "warnings": warnings }))?;
    } else {
        warnings.iter().for_each(ConfigFinding::print);
    }
    Err(err.into())
}

fn good(loaded: &Loaded, warnings: &[ConfigFinding], cx: &Context) -> Result<(), CommandError> {
    let projects: Vec<&String> = loaded.config.projects.keys().collect();
    if cx.json() {
        let warnings: Vec<Value> = warnings.iter().map(ConfigFinding::json).collect();
        let files: Vec<&Utf8PathBuf> = loaded.layers.iter().map(|layer| &layer.path).collect();
        ui::json(&json!({ "ok": true, "files": files, "projects": projects, "warnings": warnings }))?;
        return Ok(());
    }
    warnings.iter().for_each(ConfigFinding::print);
    let (good, bad) = (ui::GOOD, ui::BUSY);
    for layer in &loaded.layers {
        match warnings.iter().filter(|warning| warning.problem.file == layer.path).count() {
            0 => ui::line(format_args!("{good}ok{good:#}  {}", layer.path))?,
            found => {
                let found = ui::count(found as u64, "warning");
                ui::line(format_args!("{bad}{found}{bad:#}  {}", layer.path))?;
            }
        }
    }
    let names = projects.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
    let names = if names.is_empty() { names } else { format!(": {names}") };
    ui::line(format_args!("{}{names}", ui::count(projects.len() as u64, "project")))?;
    Ok(())
}

fn problems(err: &ConfigError) -> Vec<Value> {
    err.problems.iter().map(problem).collect()
}

fn problem(problem: &Problem) -> Value {
    json!({
        "file": problem.file,
        "line": problem.place.map(|(line, _)| line),
        "column": problem.place.map(|(_, column)| column),
        "what": problem.what,
        "hint": problem.hint,
    })
}
