//! `ao reactions`: the configured responses to events.

mod list;
mod test;

use ao_api::{ReactionStep, StepKind};

use crate::error::CommandError;
use crate::show::{Canvas, plain};

subcommands! {
    /// Show reactions to events, and test them
    ///
    /// Reactions are configured under `reactions`: at the top level, for a project, and for an agent. Each overrides the
    /// one before, field by field.
    #[command(after_help = "Examples:
  ao reactions list
  ao reactions list --project my-app --agent codex
  ao reactions test ci-failed --pr 7
  ao reactions test label-added --pr 7 --label needs-tests
  ao reactions test deploy-failed --session my-app-3 --data env=production")]
    pub(crate) struct Args;

    #[command(alias = "ls")]
    List(list::Args) => list::run,
    Test(test::Args) => test::run,
}

/// Parses data arguments: JSON objects, or `key=value` with JSON or text after the sign. Later ones override earlier
/// ones.
pub(super) fn data(typed: &[String]) -> Result<serde_json::Map<String, serde_json::Value>, CommandError> {
    let mut data = serde_json::Map::new();
    for one in typed {
        if one.trim_start().starts_with('{') {
            let read: serde_json::Map<_, _> = serde_json::from_str(one)
                .map_err(|err| CommandError::config(format!("`--data` is not a JSON object: {err}")))?;
            data.extend(read);
        } else if let Some((key, value)) = one.split_once('=').filter(|(key, _)| !key.is_empty()) {
            let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
            data.insert(key.to_owned(), value);
        } else {
            let error = CommandError::config(format!("`{}` is neither JSON nor `key=value`", plain(one)));
            return Err(error.hint("write `--data env=production`, or `--data '{\"env\": \"production\"}'`"));
        }
    }
    Ok(data)
}

/// Renders steps for people: one line each, with messages below.
pub(super) fn render_steps(steps: &[ReactionStep], canvas: Canvas) -> String {
    let mut lines = String::new();
    for step in steps {
        lines.push_str(&render_step(step, canvas));
    }
    lines
}

pub(super) fn render_step(step: &ReactionStep, canvas: Canvas) -> String {
    let to = step.to.as_deref().map(plain).unwrap_or_default();
    let when = match step.at {
        Some(at) => {
            format!(" in {}", crate::show::span((at.as_second() - canvas.now.as_second()).max(0) as u64))
        }
        None => String::new(),
    };
    let said = step.text.trim_end();
    let quoted = || -> String { said.lines().map(|line| format!("      {}\n", plain(line))).collect() };
    match step.step {
        StepKind::Act if to.is_empty() => format!("  {}{when}\n", plain(said)),
        StepKind::Act => format!("  {} for {to}{when}\n", plain(said)),
        StepKind::Tell => format!("  tells {to}:\n{}", quoted()),
        StepKind::Notify => format!("  notifies a person through the {to}:\n{}", quoted()),
        StepKind::Escalate if step.at.is_some() => format!("  {to} {}{when}\n", plain(said)),
        StepKind::Escalate => format!("  asks the {to}: {}\n", plain(said)),
        StepKind::Wait => format!("  {}: {}{when}\n", to, plain(said)),
        _ => format!("  {}\n", plain(said)),
    }
}
