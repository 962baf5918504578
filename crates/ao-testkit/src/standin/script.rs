//! Parses the tags of a prompt.

use std::time::Duration;

use serde_json::Value;

/// The way the stand-in answers one prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ModelScript {
    /// The answers in order; the last one is a text.
    pub(super) steps: Vec<ModelStep>,
    /// Time before each answer.
    pub(super) wait: Duration,
    /// Time over which a text is spread.
    pub(super) spread: Duration,
    /// `true` if a command asks to leave the agent's sandbox.
    pub(super) escalate: bool,
    pub(super) trouble: Option<PlayedTrouble>,
}

/// One answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ModelStep {
    Say(String),
    Run { command: String, background: bool },
    Write { file: String, text: String },
    Question { text: String, options: Vec<String> },
    Tool { name: String, arguments: Value },
}

/// A failure of the API that is played instead of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlayedTrouble {
    pub(super) kind: TroubleKind,
    /// The number of requests that meet it.
    pub(super) times: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TroubleKind {
    Status(u16),
    /// A usage limit that ends so long after the first request that met it.
    Limit(Duration),
    Hang,
    Stall,
    Cut,
}

const CLOSING: &str = "DONE: all scripted steps ran.";

impl ModelScript {
    /// Parses a prompt. An unknown tag is answered as a text, so that a typo in a test is visible.
    pub(super) fn parse(prompt: &str) -> ModelScript {
        let mut script = ModelScript::default();
        let mut rest = prompt;
        while let Some((_, behind)) = rest.split_once("[[") {
            let Some((tag, after)) = split_tag(behind) else { break };
            if script.add(tag.trim()).is_none() {
                script.steps.push(ModelStep::Say(format!("stand-in: unknown tag [[{tag}]]")));
            }
            rest = after;
        }
        if script.steps.is_empty() {
            script.steps = by_default();
        }
        if !matches!(script.steps.last(), Some(ModelStep::Say(_))) {
            script.steps.push(ModelStep::Say(CLOSING.into()));
        }
        script
    }

    fn add(&mut self, tag: &str) -> Option<()> {
        let (word, rest) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        let rest = rest.trim();
        let first_and_rest = || rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let trouble = |kind, times: &str| {
            let times = if times.is_empty() { u32::MAX } else { times.trim().parse().ok()? };
            Some(Some(PlayedTrouble { kind, times }))
        };
        match word {
            "say" => self.steps.push(ModelStep::Say(rest.into())),
            "run" | "sh" => self.steps.push(ModelStep::Run { command: rest.into(), background: false }),
            "background" => self.steps.push(ModelStep::Run { command: rest.into(), background: true }),
            "write" => {
                let (file, text) = first_and_rest();
                self.steps.push(ModelStep::Write { file: file.into(), text: text.into() });
            }
            "fill" => {
                let (file, bytes) = first_and_rest();
                let text = "0123456789abcde\n".chars().cycle().take(bytes.trim().parse().ok()?).collect();
                self.steps.push(ModelStep::Write { file: file.into(), text });
            }
            "question" => {
                let mut parts = rest.split('|').map(|part| part.trim().to_owned());
                let text = parts.next()?;
                let mut options: Vec<String> = parts.collect();
                if options.is_empty() {
                    options = vec!["yes".into(), "no".into()];
                }
                self.steps.push(ModelStep::Question { text, options });
            }
            "tool" => {
                let (name, arguments) = first_and_rest();
                let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
                let arguments = serde_json::from_str(arguments).ok()?;
                self.steps.push(ModelStep::Tool { name: name.into(), arguments });
            }
            "ask" => self.escalate = true,
            "slow" => self.wait = seconds(rest)?,
            "drip" => self.spread = seconds(rest)?,
            "http" => {
                let (code, times) = first_and_rest();
                self.trouble = trouble(TroubleKind::Status(code.parse().ok()?), times)?;
            }
            "limit" => self.trouble = trouble(TroubleKind::Limit(seconds(rest)?), "")?,
            "hang" => self.trouble = trouble(TroubleKind::Hang, rest)?,
            "stall" => self.trouble = trouble(TroubleKind::Stall, rest)?,
            "cut" => self.trouble = trouble(TroubleKind::Cut, rest)?,
            _ => return None,
        }
        Some(())
    }
}

/// Splits behind the end of the tag. The JSON of a `tool` tag may contain `]]`.
fn split_tag(behind: &str) -> Option<(&str, &str)> {
    if let Some(start) = behind.strip_prefix("tool ").and_then(|_| behind.find('{')) {
        let mut values = serde_json::Deserializer::from_str(&behind[start..]).into_iter::<Value>();
        if let Some(Ok(_)) = values.next() {
            let end = start + values.byte_offset();
            let (blanks, after) = behind[end..].split_once("]]")?;
            if blanks.trim().is_empty() {
                return Some((&behind[..end], after));
            }
        }
    }
    behind.split_once("]]")
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}

fn by_default() -> Vec<ModelStep> {
    let commit = "git add -A && git commit -q -m 'stand-in commit' && git log --oneline -1";
    vec![
        ModelStep::Write { file: "hello.txt".into(), text: "hello from the stand-in\n".into() },
        ModelStep::Run { command: commit.into(), background: false },
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn steps(prompt: &str) -> Vec<ModelStep> {
        ModelScript::parse(prompt).steps
    }

    #[test]
    fn steps_run_in_the_order_given_and_end_with_a_text() {
        let run = |command: &str| ModelStep::Run { command: command.into(), background: false };
        assert_eq!(
            steps("do [[run a]] then [[sh b]] and [[fill f 20]]"),
            [
                run("a"),
                run("b"),
                ModelStep::Write { file: "f".into(), text: "0123456789abcde\n0123".into() },
                ModelStep::Say(CLOSING.into())
            ]
        );
        assert_eq!(steps("[[say hello world]]"), [ModelStep::Say("hello world".into())]);
        assert_eq!(steps("no tag").len(), 3);
    }

    #[test]
    fn json_may_contain_the_end_of_a_tag() {
        assert_eq!(
            steps(r#"[[tool T {"a":[[1]]}]] [[say x]]"#)[0],
            ModelStep::Tool { name: "T".into(), arguments: json!({ "a": [[1]] }) }
        );
        assert_eq!(steps("[[tool T]]")[0], ModelStep::Tool { name: "T".into(), arguments: json!({}) });
    }

    #[test]
    fn trouble_has_a_number_of_times() {
        let trouble = |prompt| ModelScript::parse(prompt).trouble.unwrap();
        assert_eq!(trouble("[[http 529 2]]"), PlayedTrouble { kind: TroubleKind::Status(529), times: 2 });
        assert_eq!(trouble("[[hang]]"), PlayedTrouble { kind: TroubleKind::Hang, times: u32::MAX });
        let limit = TroubleKind::Limit(Duration::from_secs(300));
        assert_eq!(trouble("[[limit 300]] [[say x]]").kind, limit);
    }

    #[test]
    fn a_typo_is_shown() {
        assert_eq!(steps("[[sya x]]"), [ModelStep::Say("stand-in: unknown tag [[sya x]]".into())]);
    }
}
