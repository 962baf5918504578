//! `ao doctor`: finds what is missing or wrong on this machine, with its consequence and the command that fixes it.
//!
//! Changes nothing without `--fix`, and with it only what is safe.

mod config;
mod daemon;
mod data_dir;
mod finding;
mod limits;
mod programs;

use ao_config::Loaded;
use serde_json::json;

use self::finding::{DoctorFinding, FindingLevel};
use crate::cli::context::Context;
use crate::config::settings;
use crate::error::CommandError;
use crate::ui;

/// Check this machine for problems
///
/// Each line names one check. Below a problem stand its consequence and the command that fixes it. Exits with 3 if
/// there is a problem; warnings do not count.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao doctor
  ao doctor --fix     also makes folders, sets permissions, removes a stale socket
  ao doctor --json | jq '.checks[] | select(.level != \"ok\")'")]
pub(crate) struct Args {
    /// Fix what can be fixed safely, and list what was done
    #[arg(long)]
    fix: bool,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let mut findings = cx.wait_for(look(cx))?;
    if args.fix {
        findings.iter_mut().for_each(DoctorFinding::mend);
    }
    let problems = findings.iter().filter(|finding| finding.level() == FindingLevel::Problem).count();
    if cx.json() {
        let checks: Vec<_> = findings.iter().map(DoctorFinding::json).collect();
        ui::json(&json!({ "ok": problems == 0, "checks": checks }))?;
    } else {
        for finding in &findings {
            ui::line(finding)?;
        }
    }
    let warnings = findings.iter().filter(|finding| finding.level() == FindingLevel::Warning).count();
    if problems == 0 {
        if !cx.json() && warnings == 0 {
            ui::line("Nothing is wrong")?;
        }
        return Ok(());
    }
    let error = CommandError::environment(format!("{} found", ui::count(problems as u64, "problem")));
    let mendable = findings.iter().any(DoctorFinding::can_be_mended);
    Err(match mendable && !args.fix {
        true => error.hint("`ao doctor --fix` fixes what is safe to fix"),
        false => error,
    })
}

/// Runs all checks, in the order in which they are shown.
async fn look(cx: &Context) -> Result<Vec<DoctorFinding>, CommandError> {
    let data_dir = cx.data_dir()?;
    let loaded = settings::load(cx);
    // Without a readable configuration, check what applies without any.
    let known: Option<&Loaded> = loaded.as_ref().ok().filter(|loaded| !loaded.layers.is_empty());

    let mut findings = programs::git().await;
    let found = match known {
        Some(known) => crate::findings::of(known, cx).await?,
        None => vec![],
    };
    findings.extend(config::file(&loaded, &found).await);
    findings.extend(config::projects(known).await);
    findings.extend(programs::runtimes(known).await);
    findings.extend(programs::agents(known));
    findings.extend(data_dir::data_dir(&data_dir));
    findings.extend(daemon::running(&data_dir, known, cx).await?);
    findings.extend(limits::all());
    Ok(findings)
}
