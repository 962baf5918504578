//! `ao config check`: everything that is wrong, at once.

use ao_config::{ConfigError, Layer, LayerKind, Loaded, Problem};
use camino::Utf8PathBuf;
use serde_json::{Value, json};

use super::no_file;
use crate::context::Context;
use crate::error::CommandError;
use crate::host::force::strange_tools;
use crate::{settings, ui};

/// Look for what is wrong with the configuration, without starting anything
///
/// Says everything that is wrong, each thing with its file, line and column. Ends with 2 if there is something.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao config check
  ao config check other.yaml
  ao config check --json | jq '.problems[].what'")]
pub(crate) struct Args {
    /// A file to look at by itself [default: what holds here]
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
    match loaded {
        Ok(loaded) if loaded.layers.is_empty() => Err(no_file()),
        Ok(loaded) => match wrong_tools(&loaded) {
            wrong if wrong.is_empty() => good(&loaded, cx),
            problems => refuse(ConfigError { problems }, cx),
        },
        Err(err) => refuse(err, cx),
    }
}

fn refuse(err: ConfigError, cx: &Context) -> Result<(), CommandError> {
    if cx.json() {
        ui::json(&json!({ "ok": false, "problems": problems(&err) }))?;
    }
    Err(err.into())
}

/// Agents that could not be what they are described to be. What an agent is made of is not known to those who read files, so
/// it is looked at here, and no line can be named.
fn wrong_tools(loaded: &Loaded) -> Vec<Problem> {
    let file = loaded.main_file().map(ToOwned::to_owned).unwrap_or_default();
    let problem = |(_, what): (String, String)| Problem {
        file: file.clone(),
        place: None,
        what,
        hint: None,
        source: None,
    };
    strange_tools(loaded).into_iter().map(problem).collect()
}

fn good(loaded: &Loaded, cx: &Context) -> Result<(), CommandError> {
    let projects: Vec<&String> = loaded.config.projects.keys().collect();
    if cx.json() {
        let warnings: Vec<Value> = loaded.warnings.iter().map(|warning| problem(&warning.0)).collect();
        let files: Vec<&Utf8PathBuf> = loaded.layers.iter().map(|layer| &layer.path).collect();
        ui::json(&json!({ "ok": true, "files": files, "projects": projects, "warnings": warnings }))?;
        return Ok(());
    }
    for warning in &loaded.warnings {
        ui::note(warning);
    }
    let good = ui::GOOD;
    for layer in &loaded.layers {
        ui::line(format_args!("{good}ok{good:#}  {}", layer.path))?;
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
