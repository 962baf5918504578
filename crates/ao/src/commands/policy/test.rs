//! `ao policy test`: runs the test cases of a policy.

use ao_config::policy::{PolicyLayer, in_force, read_cases, read_policy};
use ao_config::read_file;
use ao_core::policy::MergeVerdict;
use camino::Utf8PathBuf;
use serde_json::{Value, json};

use super::cases::{judged, unmet};
use super::{cases_of, file};
use ao_ports::Clock;

use crate::cli::context::Context;
use crate::clock::SystemClock;
use crate::error::{CommandError, FailureKind};
use crate::show::plain;
use crate::ui;

/// Run the test cases of a policy, without a daemon
///
/// The cases of `.ao/policy.yaml` are in `.ao/policy.test.yaml`: a pull request, and the expected verdict. Exits with
/// 1 if a case fails, and with 2 if a file is invalid.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao policy test
  ao policy test draft.yaml --cases cases.yaml
  ao policy test --json | jq '.cases[] | select(.ok | not)'")]
pub(crate) struct Args {
    /// The policy [default: .ao/policy.yaml of this repository]
    file: Option<Utf8PathBuf>,
    /// The test cases [default: policy.test.yaml beside the policy]
    #[arg(long)]
    cases: Option<Utf8PathBuf>,
}

pub(super) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let path = file(args.file.as_deref(), cx)?;
    let beside = match &args.cases {
        Some(typed) => crate::system::paths::here()?.join(typed),
        None => cases_of(&path),
    };
    let policy = read_policy(&path, &read_file(&path)?)?;
    if !beside.is_file() {
        let error = CommandError::new(FailureKind::Unknown, format!("there are no cases in `{beside}`"));
        return Err(error.hint("write some: `cases: [{ name: small ones pass, expect: allowed }]`"));
    }
    let cases = read_cases(&beside, &read_file(&beside)?)?.cases;
    let counts = in_force(&[PolicyLayer { from: "file", policy: &policy }], SystemClock.now()).policy;
    let mut told: Vec<Value> = vec![];
    let mut failed = 0_u64;
    for case in &cases {
        let verdict = judged(&counts, &case.given, SystemClock.now());
        let wrong = unmet(&case.expect, &verdict);
        failed += u64::from(!wrong.is_empty());
        if cx.json() {
            let against: Vec<&str> = verdict.against().map(|rule| rule.rule.word()).collect();
            told.push(
                json!({ "name": case.name, "ok": wrong.is_empty(), "unmet": wrong, "against": against }),
            );
        } else {
            line(&case.name, &wrong, &verdict)?;
        }
    }
    if cx.json() {
        ui::json(&json!({ "ok": failed == 0, "cases": told }))?;
    } else {
        let all = ui::count(cases.len() as u64, "case");
        ui::line(format_args!("{all}, {failed} failed"))?;
    }
    match failed {
        0 => Ok(()),
        _ => Err(CommandError::user(format!("{} failed", ui::count(failed, "case")))),
    }
}

fn line(name: &str, wrong: &[String], verdict: &MergeVerdict) -> Result<(), CommandError> {
    let (good, bad, faint) = (ui::GOOD, ui::ERROR, ui::FAINT);
    if wrong.is_empty() {
        return Ok(ui::line(format_args!("{good}ok{good:#}    {}", plain(name)))?);
    }
    ui::line(format_args!("{bad}wrong{bad:#} {}", plain(name)))?;
    for wrong in wrong {
        ui::line(format_args!("        {}", plain(wrong)))?;
    }
    for rule in verdict.against() {
        ui::line(format_args!("        {faint}- {}: {}{faint:#}", rule.rule, plain(&rule.evidence)))?;
    }
    Ok(())
}
