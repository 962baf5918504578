//! `ao policy check`: every error of a policy at once.

use ao_config::policy::{PolicyLayer, in_force, read_cases, read_policy};
use ao_config::read_file;
use camino::Utf8PathBuf;
use serde_json::json;

use super::{cases_of, file};
use ao_ports::Clock;

use crate::cli::context::Context;
use crate::clock::SystemClock;
use crate::commands::config::check::refuse;
use crate::error::CommandError;
use crate::ui;

/// Check a policy for errors, without a daemon
///
/// Reads the policy of this checkout, which takes effect once it is on the base branch, and its test cases. Lists
/// every error with its file, line and column. Exits with 2 if there is one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao policy check
  ao policy check draft.yaml
  ao policy check --json | jq '.problems[].what'")]
pub(crate) struct Args {
    /// The file to check [default: .ao/policy.yaml of this repository]
    file: Option<Utf8PathBuf>,
}

pub(super) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let path = file(args.file.as_deref(), cx)?;
    let policy = match read_file(&path).and_then(|text| read_policy(&path, &text)) {
        Ok(policy) => policy,
        Err(err) => return refuse(err, &[], cx),
    };
    let cases = cases_of(&path);
    let mut files = vec![path];
    if cases.is_file() {
        if let Err(err) = read_file(&cases).and_then(|text| read_cases(&cases, &text)) {
            return refuse(err, &[], cx);
        }
        files.push(cases);
    }
    let counts = in_force(&[PolicyLayer { from: "file", policy: &policy }], SystemClock.now());
    let said: Vec<&str> =
        counts.fields.iter().filter(|field| !field.from.is_empty()).map(|field| field.key).collect();
    if cx.json() {
        return Ok(ui::json(&json!({ "ok": true, "files": files, "keys": said, "problems": [] }))?);
    }
    let good = ui::GOOD;
    for file in &files {
        ui::line(format_args!("{good}ok{good:#}  {file}"))?;
    }
    if said.is_empty() {
        ui::line("it is empty, so the default applies: one approval, and no automatic merge")?;
    } else {
        ui::line(format_args!("it says: {}", said.join(", ")))?;
    }
    Ok(())
}
