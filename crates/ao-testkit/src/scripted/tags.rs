//! What a text asks for: the tags in it, in their order.

use std::time::Duration;

/// One thing that the agent does in a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
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

/// What a text without tags makes the agent do.
const BY_DEFAULT: [Step; 1] = [Step::Work(Duration::from_millis(50))];

/// Reads the tags of a text. One that is not known is said back, so that a misspelt test is seen to be one.
pub(super) fn steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once("[[") {
        let Some((tag, after)) = behind.split_once("]]") else { break };
        steps.push(step(tag.trim()).unwrap_or_else(|| Step::Say(format!("I do not know [[{tag}]]"))));
        rest = after;
    }
    if steps.is_empty() { BY_DEFAULT.to_vec() } else { steps }
}

fn step(tag: &str) -> Option<Step> {
    let (word, rest) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
    let rest = rest.trim();
    Some(match word {
        "work" => Step::Work(duration(rest)?),
        "tool" => Step::Tool { command: rest.into(), silent: false },
        "silent" => Step::Tool { command: rest.into(), silent: true },
        "busy" => {
            // `timeout` ends the loop, whatever becomes of us.
            let seconds = duration(rest)?.as_secs_f32();
            Step::Tool { command: format!("timeout {seconds} sh -c 'while :; do :; done'"), silent: true }
        }
        "ask" => Step::Ask(rest.into()),
        "deny" => Step::Deny(rest.into()),
        "say" => Step::Say(rest.into()),
        "crash" => Step::Crash(rest.parse().ok()?),
        "kill9" => Step::Kill,
        "fork" => Step::Fork(rest.parse().ok()?),
        "limit" => Step::Limit(rest.into()),
        "screen" if rest == "unknown" => Step::UnknownScreen,
        "set" => Step::Set(rest.into()),
        _ => return None,
    })
}

/// `250ms`, `3s`, `2m`.
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
    fn tags_are_read_in_their_order_and_a_misspelt_one_is_said_back() {
        let text =
            "Please [[work 250ms]] then\n[[tool echo `hi`]] [[ask May I?]][[crash 3]] [[wrok 1s]] [[open";
        let expected = [
            Step::Work(Duration::from_millis(250)),
            Step::Tool { command: "echo `hi`".into(), silent: false },
            Step::Ask("May I?".into()),
            Step::Crash(3),
            Step::Say("I do not know [[wrok 1s]]".into()),
        ];
        assert_eq!(steps(text), expected);
        assert_eq!(steps("just text"), BY_DEFAULT);
    }
}
