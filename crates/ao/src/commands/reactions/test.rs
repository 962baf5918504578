//! `ao reactions test`: what would be done, and why, without doing it.

use std::fmt::Write;

use ao_api::{ReactionTest, ReactionTested};
use serde_json::Value;

use super::{data, told, told_step};
use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::project_choice::project_about;
use crate::error::CommandError;
use crate::show::{Canvas, plain};
use crate::ui;

/// Show what would be done if something happened now, and why; nothing is done
///
/// If the thing is there now, such as a failed check of the pull request, it is what the words are made of; if not, they
/// are made of an example. `--json` tells all: the reaction with where each word of it was said, the condition with the
/// values it was judged by, the steps in order, what holds the agent back, and who would be asked next and when.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao reactions test ci-failed --pr 7
  ao reactions test agent-stuck --session my-app-3
  ao reactions test label-added --pr 7 --label needs-tests
  ao reactions test deploy-failed --session my-app-3 --data env=production --json | jq .steps")]
pub(crate) struct Args {
    /// What would happen: `ci-failed`, `label-added`, or an event of your own
    event: String,
    /// To which session
    #[arg(long, add = completers::sessions(), conflicts_with = "pr")]
    session: Option<String>,
    /// To which pull request: `7`, `my-app!7`, a branch
    #[arg(long, value_name = "PR", alias = "pull", add = completers::pulls())]
    pr: Option<String>,
    /// To which project, or the one of the pull request [default: the one of this folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
    /// Which label, for `label-added`
    #[arg(long)]
    label: Option<String>,
    /// What an event of your own is told with: `key=value`, or a JSON object
    #[arg(long, value_name = "KEY=VALUE|JSON")]
    data: Vec<String>,
    /// What would have to be known about it
    #[arg(long)]
    detail: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let data = data(&args.data)?;
    let client = cx.client()?;
    let tested = cx.wait_for(async {
        let (session, pull) = (args.session.as_deref(), args.pr.as_deref());
        let project_id = project_about(&client, session, pull, args.project.as_deref()).await?;
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
    if cx.json() {
        return Ok(ui::json(&tested)?);
    }
    Ok(ui::text(shown(&tested, Canvas::here()))?)
}

fn shown(tested: &ReactionTested, canvas: Canvas) -> String {
    let reaction = &tested.reaction;
    let mut text = String::new();
    let made_up = if tested.example { " (an example: there is none now)" } else { "" };
    let _ = writeln!(text, "{} on {}{made_up}", reaction.event, plain(&tested.subject));
    let how = if reaction.auto { "by itself" } else { "only if a person says so" };
    let _ = writeln!(text, "  configured: {} {how}", reaction.action);
    for (field, layer) in &reaction.from {
        let _ = writeln!(text, "  {field} is said by: {layer}");
    }
    if let Some(condition) = &tested.condition {
        let verdict = match (condition.holds, &condition.why) {
            (Some(true), _) => "holds".to_owned(),
            (Some(false), _) => "does not hold".to_owned(),
            (None, why) => format!("cannot be judged: {}", plain(why.as_deref().unwrap_or_default())),
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
    text.push_str(&told(&tested.steps, canvas));
    if tested.steps.is_empty() {
        text.push_str("  nothing\n");
    }
    if let Some(then) = &tested.then {
        let _ = write!(text, "and then:\n{}", told_step(then, canvas));
    }
    text
}

/// The values of the names that an expression speaks of.
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
