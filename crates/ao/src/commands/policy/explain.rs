//! `ao policy explain`: the verdict on a pull request, rule by rule.

use std::fmt::Write;

use ao_api::PolicyVerdict;

use crate::cli::context::Context;
use crate::commands::pr::PullArg;
use crate::error::CommandError;
use crate::show::plain;
use crate::ui;

/// Show the policy's verdict on a pull request: every rule, its evidence, and what to do next
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao policy explain 7
  ao policy explain my-app!7 --json | jq '.rules[] | select(.holds | not)'")]
pub(crate) struct Args {
    #[command(flatten)]
    which: PullArg,
}

pub(super) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let verdict =
        cx.call(async |client| Ok(client.policy_verdict(&args.which.named(client).await?).await?))?;
    cx.print(&verdict, || ui::text(render(&verdict)))
}

fn render(verdict: &PolicyVerdict) -> String {
    let (good, bad, faint) = (ui::GOOD, ui::ERROR, ui::FAINT);
    let mut text = String::new();
    let head: String = verdict.head.chars().take(12).collect();
    let sum = match (verdict.allowed, verdict.auto_merge) {
        (true, true) => format!("{good}allowed{good:#}, and merged automatically"),
        (true, false) => format!("{good}allowed{good:#}, to be merged by a person: automatic merge is off"),
        (false, _) => format!("{bad}not allowed{bad:#}"),
    };
    let _ = writeln!(text, "{} at {}: {sum}", plain(&verdict.pull), plain(&head));
    if !verdict.written {
        let _ = writeln!(text, "{faint}there is no policy; this is the default one{faint:#}");
    }
    let width = verdict.rules.iter().map(|rule| rule.rule.to_string().len()).max().unwrap_or_default();
    for rule in &verdict.rules {
        let mark = if rule.holds { format!("{good}+{good:#}") } else { format!("{bad}-{bad:#}") };
        let _ = writeln!(text, "  {mark} {:width$}  {}", rule.rule, plain(&rule.evidence));
        if let Some(next) = &rule.next {
            let _ = writeln!(text, "    {:width$}  {faint}next: {}{faint:#}", "", plain(next));
        }
    }
    text
}
