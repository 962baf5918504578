//! Renders the result of a simulation: a summary, and each action with its time.

use std::fmt::Write as _;

use ao_config::shape::{Config, Priority};
use ao_core::Timestamp;
use serde_json::json;

use super::action::{ActionKind, SimulatedAction};
use super::counted;
use crate::cli::context::Context;
use crate::error::CommandError;
use crate::ui::{FAINT, TITLE};
use crate::{show, ui};

/// Number of actions shown by default.
const SHOWN: usize = 40;

/// Returns the channels that an action's notice goes to; none if there is no notice, or no receiver.
fn channels_of(config: &Config, deed: &SimulatedAction) -> Vec<String> {
    let ActionKind::Notice { level, project, channel, .. } = &deed.what else { return vec![] };
    if let Some(channel) = channel {
        return vec![channel.clone()];
    }
    let own = project.as_ref().and_then(|project| config.projects.get(project));
    if let Some(own) = own.and_then(|project| project.notifiers.clone()) {
        return own;
    }
    let priority = match level.as_str() {
        "urgent" => Priority::Urgent,
        "action" => Priority::Action,
        "warning" => Priority::Warning,
        _ => Priority::Info,
    };
    let routed = config.notification_routing.channels(priority);
    routed.unwrap_or(&config.defaults.notifiers).to_vec()
}

pub(super) fn print(
    deeds: &[SimulatedAction],
    config: &Config,
    complete: bool,
    all: bool,
    cx: &Context,
) -> Result<(), CommandError> {
    let reactions = counted(deeds.iter().filter_map(|deed| match &deed.what {
        ActionKind::Reaction { event, action, .. } => Some((event.clone(), action.clone())),
        _ => None,
    }));
    let escalations = counted(deeds.iter().filter_map(|deed| match &deed.what {
        ActionKind::Escalation { event, to, .. } => Some((event.clone(), to.clone())),
        _ => None,
    }));
    let notices = counted(deeds.iter().flat_map(|deed| channels_of(config, deed)));
    let count = |is: fn(&ActionKind) -> bool| deeds.iter().filter(|deed| is(&deed.what)).count();
    let messages = count(|what| matches!(what, ActionKind::Message { .. }));
    let merges = count(|what| matches!(what, ActionKind::Merge {}));
    let waits = count(|what| matches!(what, ActionKind::Wait { .. }));
    let doubts = count(|what| matches!(what, ActionKind::Doubt { .. }));
    let people = count(|what| matches!(what, ActionKind::Notice { .. }));
    let jobs = count(|what| matches!(what, ActionKind::Job { .. }));
    if cx.json() {
        let pairs = |counts: &std::collections::BTreeMap<(String, String), usize>, second: &str| {
            let rows = counts
                .iter()
                .map(|((event, by), times)| json!({ "event": event, second: by, "times": times }));
            rows.collect::<Vec<_>>()
        };
        let deeds = deeds.iter().map(|deed| {
            let mut value = serde_json::to_value(deed).unwrap_or_default();
            if matches!(deed.what, ActionKind::Notice { .. }) {
                value["channels"] = json!(channels_of(config, deed));
            }
            value
        });
        return Ok(ui::json(&json!({
            "complete": complete,
            "summary": {
                "reactions": pairs(&reactions, "action"),
                "escalations": pairs(&escalations, "to"),
                "messages": messages,
                "notices": people,
                "noticesByChannel": notices,
                "jobs": jobs,
                "merges": merges,
                "doubts": doubts,
                "waits": waits,
            },
            "deeds": deeds.collect::<Vec<_>>(),
        }))?);
    }
    let mut text = format!("{TITLE}What it would do{TITLE:#}\n");
    if deeds.is_empty() {
        text.push_str("  nothing: no event triggers a reaction\n");
    }
    for ((event, action), times) in &reactions {
        let _ = writeln!(text, "  {event:<20} {action:<16} {}", often(*times));
    }
    for ((event, to), times) in &escalations {
        let _ = writeln!(text, "  {event:<20} {:<16} {}", format!("asks: {to}"), often(*times));
    }
    for (what, times) in [
        ("failures that may be flaky", doubts),
        ("messages to agents", messages),
        ("jobs", jobs),
        ("merges", merges),
        ("sessions that wait for a slot", waits),
        ("notices to people", people),
    ] {
        if times > 0 {
            let _ = writeln!(text, "  {what:<37} {}", often(times));
        }
    }
    for (channel, times) in &notices {
        let _ = writeln!(text, "    by {:<34} {}", show::plain(channel), often(*times));
    }
    if people > 0 && notices.is_empty() {
        text.push_str("    by no channel: `defaults.notifiers` names none\n");
    }
    let shown = if all { deeds.len() } else { deeds.len().min(SHOWN) };
    if shown > 0 {
        let _ = writeln!(text, "\n{TITLE}In which order{TITLE:#}");
    }
    for deed in &deeds[..shown] {
        let _ = writeln!(
            text,
            "  {FAINT}{}{FAINT:#}  {:<14} {}",
            clock(deed.at),
            show::plain(&deed.about),
            show::plain(&words(deed, config))
        );
    }
    if shown < deeds.len() {
        let _ = writeln!(text, "  {FAINT}and {} more; `--all` shows them{FAINT:#}", deeds.len() - shown);
    }
    Ok(ui::text(text)?)
}

/// Renders an action in one line.
fn words(deed: &SimulatedAction, config: &Config) -> String {
    match &deed.what {
        ActionKind::Reaction { event, action, why } => format!("{event}: {action} ({why})"),
        ActionKind::Doubt { event } => format!("{event}: no reaction until it is confirmed"),
        ActionKind::Escalation { event, to, why } => format!("{event}: escalated to the {to} ({why})"),
        ActionKind::Message { text } => format!("message to its agent: {}", short(text)),
        ActionKind::Notice { level, text, .. } => {
            let by = channels_of(config, deed);
            let by = if by.is_empty() { "nobody".to_owned() } else { by.join(", ") };
            format!("{level} to {by}: {}", short(text))
        }
        ActionKind::Job { order } => format!("ao {order}"),
        ActionKind::Merge {} => "goes into the merge queue".into(),
        ActionKind::Wait { why } => format!("waits: {why}"),
    }
}

fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(110) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

fn often(times: usize) -> String {
    format!("{times} ×")
}

/// Renders the day and the time, in UTC.
fn clock(at: Timestamp) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(at) => at.strftime("%m-%d %H:%M").to_string(),
        Err(_) => at.0.to_string(),
    }
}
