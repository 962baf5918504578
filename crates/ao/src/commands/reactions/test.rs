//! `ao reactions test`: the reaction to an event and its reason, without running it.

use std::fmt::Write;

use ao_api::{ReactionTest, ReactionTested};
use serde_json::Value;

use super::{data, render_step, render_steps};
use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::project_choice::project_about;
use crate::error::CommandError;
use crate::show::{Canvas, plain};
use crate::ui;

/// Show the reaction to an event and the reason, without running it
///
/// If the event applies now, such as a failed check of the pull request, messages are made from it; otherwise from an
/// example. `--json` shows everything: the reaction with the source of each setting, the condition with the values it
/// was evaluated with, the steps in order, what holds the agent back, and the next escalation and its time.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao reactions test ci-failed --pr 7
  ao reactions test agent-stuck --session my-app-3
  ao reactions test label-added --pr 7 --label needs-tests
  ao reactions test deploy-failed --session my-app-3 --data env=production --json | jq .steps")]
pub(crate) struct Args {
    /// The event: `ci-failed`, `label-added`, or a custom one
    event: String,
    /// The session it happens to
    #[arg(long, add = completers::sessions(), conflicts_with = "pr")]
    session: Option<String>,
    /// The pull request it happens to: `7`, `my-app!7`, a branch
    #[arg(long, value_name = "PR", alias = "pull", add = completers::pulls())]
    pr: Option<String>,
    /// The project it happens to, or of the pull request [default: the project of the current folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
    /// The label, for `label-added`
    #[arg(long)]
    label: Option<String>,
    /// The data of a custom event: `key=value`, or a JSON object
    #[arg(long, value_name = "KEY=VALUE|JSON")]
    data: Vec<String>,
    /// The details of the event
    #[arg(long)]
    detail: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let data = data(&args.data)?;
    let tested = cx.call(async |client| {
        let (session, pull) = (args.session.as_deref(), args.pr.as_deref());
        let project_id = project_about(client, session, pull, args.project.as_deref()).await?;
        let test = ReactionTest {
            event: args.event.clone(),
            session: args.session.clone(),
            pull: args.pr.clone(),
            project_id,
            label: args.label.clone(),
            data,
            detail: args.detail.clone(),
        };
        Ok(client.test_reaction(&test).await?)
    })?;
    cx.print(&tested, || ui::text(shown(&tested, Canvas::here())))
}

fn shown(tested: &ReactionTested, canvas: Canvas) -> String {
    let reaction = &tested.reaction;
    let mut text = String::new();
    let made_up = if tested.example { " (an example: there is none now)" } else { "" };
    let _ = writeln!(text, "{} on {}{made_up}", reaction.event, plain(&tested.subject));
    let how = if reaction.auto { "by itself" } else { "only if a person says so" };
    let _ = writeln!(text, "  configured: {} {how}", reaction.action);
    for (field, layer) in &reaction.from {
        let _ = writeln!(text, "  {field} is set by: {layer}");
    }
    if let Some(condition) = &tested.condition {
        let verdict = match (condition.holds, &condition.why) {
            (Some(true), _) => "holds".to_owned(),
            (Some(false), _) => "does not hold".to_owned(),
            (None, why) => format!("cannot be evaluated: {}", plain(why.as_deref().unwrap_or_default())),
        };
        let _ = writeln!(text, "condition {verdict}: {}", plain(&condition.expression));
        for (name, value) in used(&condition.expression, &condition.values) {
            let _ = writeln!(text, "  {name} is {}", plain(&value));
        }
    }
    for why in &tested.held {
        let _ = writeln!(text, "the agent is held: {}", plain(why));
    }
    let _ = writeln!(text, "would happen at once:");
    text.push_str(&render_steps(&tested.steps, canvas));
    if tested.steps.is_empty() {
        text.push_str("  nothing\n");
    }
    if let Some(then) = &tested.then {
        let _ = write!(text, "and then:\n{}", render_step(then, canvas));
    }
    text
}

/// Returns the values of the names that an expression uses.
fn used(expression: &str, values: &Value) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = vec![];
    let names = expression.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.')));
    for name in names.filter(|name| !name.is_empty()) {
        let value = name.split('.').try_fold(values, |here, part| here.get(part));
        let plain_value = value.filter(|value| !value.is_object());
        if let Some(value) = plain_value
            && !found.iter().any(|(known, _)| known == name)
        {
            found.push((name.to_owned(), value.to_string()));
        }
    }
    found
}
