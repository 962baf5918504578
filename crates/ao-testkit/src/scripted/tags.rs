//! Parses the tags of a text, in order.

use std::time::Duration;

/// One action of the agent in a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ScriptStep {
    Work(Duration),
    Tool { command: String, silent: bool },
    Ask(String),
    Deny(String),
    Say(String),
    Crash(u8),
    Kill,
    Fork(u16),
    Limit(String),
    UnknownScreen,
    Set(String),
}

/// The actions of a text without tags.
const BY_DEFAULT: [ScriptStep; 1] = [ScriptStep::Work(Duration::from_millis(50))];

/// Parses the tags of a text. An unknown tag is printed, so that a typo in a test is visible.
pub(super) fn steps(text: &str) -> Vec<ScriptStep> {
    let mut steps = Vec::new();
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once("[[") {
        let Some((tag, after)) = behind.split_once("]]") else { break };
        steps.push(step(tag.trim()).unwrap_or_else(|| ScriptStep::Say(format!("I do not know [[{tag}]]"))));
        rest = after;
    }
    if steps.is_empty() { BY_DEFAULT.to_vec() } else { steps }
}

fn step(tag: &str) -> Option<ScriptStep> {
    let (word, rest) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
    let rest = rest.trim();
    Some(match word {
        "work" => ScriptStep::Work(duration(rest)?),
        "tool" => ScriptStep::Tool { command: rest.into(), silent: false },
        "silent" => ScriptStep::Tool { command: rest.into(), silent: true },
        "busy" => {
            // `timeout` ends the loop even if this process dies.
            let seconds = duration(rest)?.as_secs_f32();
            ScriptStep::Tool {
                command: format!("timeout {seconds} sh -c 'while :; do :; done'"),
                silent: true,
            }
        }
        "ask" => ScriptStep::Ask(rest.into()),
        "deny" => ScriptStep::Deny(rest.into()),
        "say" => ScriptStep::Say(rest.into()),
        "crash" => ScriptStep::Crash(rest.parse().ok()?),
        "kill9" => ScriptStep::Kill,
        "fork" => ScriptStep::Fork(rest.parse().ok()?),
        "limit" => ScriptStep::Limit(rest.into()),
        "screen" if rest == "unknown" => ScriptStep::UnknownScreen,
        "set" => ScriptStep::Set(rest.into()),
        _ => return None,
    })
}

/// Parses `250ms`, `3s`, `2m`.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let at = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..at].parse().ok()?;
    Some(match text[at..].trim() {
        "ms" => Duration::from_millis(number),
        "s" => Duration::from_secs(number),
        "m" => Duration::from_secs(number.checked_mul(60)?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_parsed_in_order_and_an_unknown_one_is_printed() {
        let text =
            "Please [[work 250ms]] then\n[[tool echo `hi`]] [[ask May I?]][[crash 3]] [[wrok 1s]] [[open";
        let expected = [
            ScriptStep::Work(Duration::from_millis(250)),
            ScriptStep::Tool { command: "echo `hi`".into(), silent: false },
            ScriptStep::Ask("May I?".into()),
            ScriptStep::Crash(3),
            ScriptStep::Say("I do not know [[wrok 1s]]".into()),
        ];
        assert_eq!(steps(text), expected);
        assert_eq!(steps("just text"), BY_DEFAULT);
    }
}
