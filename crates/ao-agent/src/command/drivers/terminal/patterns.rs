//! Reads a screen.

use ao_core::Timestamp;
use ao_core::evidence::Reading;
use ao_ports::Screen;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use regex::{Captures, Match, Regex, RegexBuilder};

use crate::command::options::{ScreenOptions, Welcome};
use crate::text::{cut, letters};

/// Size limit of a compiled pattern, in bytes.
const PATTERN_MOST: usize = 1 << 20;
/// Most bytes of a screen that are read, from its end.
const SCREEN_MOST: usize = 64 * 1024;
/// A limit is in force if it is at most this many lines above the prompt; further up, it is history.
const LIMIT_LINES: usize = 6;
const DOING_MOST: usize = 200;
const QUESTION_MOST: usize = 4000;
/// Letters at the end of a text that suffice to recognise it.
const KNOWN_BY: usize = 24;

/// The patterns of one agent's screen.
#[derive(Debug)]
pub(in crate::command) struct ScreenPatterns {
    prompt: Option<Regex>,
    busy: Option<Regex>,
    dialog: Option<Regex>,
    limit: Option<Regex>,
    draft: Option<Regex>,
    pasted: Option<Regex>,
    /// Those of the questions of a first launch, in order.
    first_launch: Vec<Regex>,
}

/// An invalid pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the pattern `{pattern}` for `{name}` cannot be used: {why}")]
pub struct PatternError {
    name: &'static str,
    pattern: String,
    why: String,
}

/// Compiles a pattern of the configuration.
fn build(name: &'static str, pattern: &str) -> Result<Regex, PatternError> {
    let built = RegexBuilder::new(pattern).multi_line(true).size_limit(PATTERN_MOST).build();
    built.map_err(|err| PatternError { name, pattern: pattern.to_owned(), why: err.to_string() })
}

/// Compiles a pattern that may be absent.
pub(in crate::command) fn compile(
    name: &'static str,
    pattern: &Option<String>,
) -> Result<Option<Regex>, PatternError> {
    pattern.as_ref().map(|pattern| build(name, pattern)).transpose()
}

/// Returns the limit that a pattern has found, unless its time has passed.
pub(in crate::command) fn limit(found: &Captures<'_>, now: Timestamp) -> Option<Reading> {
    match found.name("time").map(|time| until(time.as_str(), now)) {
        Some(Some(until)) if until <= now => None,
        Some(until) => Some(Reading::Limited { until }),
        None => Some(Reading::Limited { until: None }),
    }
}

impl ScreenPatterns {
    pub(in crate::command) fn new(
        options: &ScreenOptions,
        first_launch: &[Welcome],
    ) -> Result<ScreenPatterns, PatternError> {
        // The whole question: a command that an agent asks about may contain the same text.
        let whole = |question: &str| format!(r"\A(?:{question})\z");
        let first_launch =
            first_launch.iter().map(|welcome| build("first_launch", &whole(&welcome.question)));
        Ok(ScreenPatterns {
            prompt: compile("prompt", &options.prompt)?,
            busy: compile("busy", &options.busy)?,
            dialog: compile("dialog", &options.dialog)?,
            limit: compile("limit", &options.limit)?,
            draft: compile("draft", &options.draft)?,
            pasted: compile("pasted", &options.pasted)?,
            first_launch: first_launch.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the index of the first-launch question that matches, if any.
    pub(in crate::command) fn welcome(&self, question: &str) -> Option<usize> {
        self.first_launch.iter().position(|pattern| pattern.is_match(question))
    }

    /// Returns true if nothing is known of this agent's screen, so that none is read.
    pub(in crate::command) fn are_none(&self) -> bool {
        [&self.prompt, &self.busy, &self.dialog, &self.limit].iter().all(|pattern| pattern.is_none())
    }

    pub(in crate::command) fn know_drafts(&self) -> bool {
        self.draft.is_some()
    }

    /// Derives the agent's state from its screen. A screen that matches no pattern proves nothing, least of all that it
    /// is idle.
    pub(in crate::command) fn read(&self, screen: &Screen, now: Timestamp) -> Reading {
        let text = text_of(screen);
        let prompt = last(&self.prompt, &text);
        if let Some(dialog) = captures(&self.dialog, &text)
            // A dialog above a prompt is over and was left on the screen.
            && prompt.is_none_or(|prompt| prompt.start() < whole(&dialog).end())
        {
            let question = dialog.name("question").unwrap_or_else(|| whole(&dialog)).as_str();
            let question = question.split_whitespace().collect::<Vec<_>>().join(" ");
            return Reading::Asking { question: cut(&question, QUESTION_MOST) };
        }
        if let Some(busy) = captures(&self.busy, &text) {
            let doing = busy.name("doing").map_or("", |doing| doing.as_str().trim());
            return Reading::Working { doing: cut(doing, DOING_MOST) };
        }
        if let Some(found) = captures(&self.limit, &text)
            && prompt.is_none_or(|prompt| is_near(&text, &whole(&found), &prompt))
            && let Some(reading) = limit(&found, now)
        {
            return reading;
        }
        match prompt {
            Some(_) => Reading::Idle,
            None => Reading::Unreadable { why: "the screen is none that is known".into() },
        }
    }

    /// Returns the text in the input box; `None` if no box can be seen.
    pub(in crate::command) fn draft(&self, screen: &Screen) -> Option<String> {
        let draft = self.draft.as_ref()?;
        if draft.as_str().contains(r"\n") {
            let text = text_of(screen);
            let text = draft.captures_iter(&text).last()?.name("text").map_or("", |text| text.as_str());
            return Some(text.lines().map(str::trim).collect::<Vec<_>>().join("\n").trim().to_owned());
        }
        // The lowest adjacent lines: text that was sent may look like a draft too.
        let mut lines = Vec::new();
        for line in screen.lines.iter().rev() {
            match draft.captures(line.trim_end()) {
                Some(found) => lines.push(found.name("text").map_or("", |text| text.as_str().trim_end())),
                None if lines.is_empty() => {}
                None => break,
            }
        }
        if lines.is_empty() {
            return None;
        }
        lines.reverse();
        Some(lines.join("\n").trim().to_owned())
    }

    /// Returns true if a draft is a text of ours, or the visible part of it.
    pub(in crate::command) fn is_ours(&self, draft: &str, text: &str) -> bool {
        if self.pasted.as_ref().and_then(|pasted| pasted.find(draft)).is_some_and(|it| it.as_str() == draft) {
            return true;
        }
        let (draft, text) = (letters(draft), letters(text));
        draft == text || (draft.chars().count() >= KNOWN_BY && text.ends_with(&draft))
    }
}

fn text_of(screen: &Screen) -> String {
    let lines: Vec<&str> = screen.lines.iter().map(|line| line.trim_end()).collect();
    let mut text = lines.join("\n");
    if text.len() > SCREEN_MOST {
        let from = (text.len() - SCREEN_MOST..).find(|at| text.is_char_boundary(*at));
        text.drain(..from.unwrap_or(0));
    }
    text
}

fn captures<'t>(pattern: &Option<Regex>, text: &'t str) -> Option<Captures<'t>> {
    pattern.as_ref()?.captures_iter(text).last()
}

fn last<'t>(pattern: &Option<Regex>, text: &'t str) -> Option<Match<'t>> {
    pattern.as_ref()?.find_iter(text).last()
}

fn whole<'t>(captures: &Captures<'t>) -> Match<'t> {
    captures.get(0).expect("a match has a whole")
}

fn is_near(text: &str, above: &Match<'_>, below: &Match<'_>) -> bool {
    let between = text.get(above.end()..below.start()).unwrap_or("");
    between.lines().filter(|line| !line.trim().is_empty()).count() <= LIMIT_LINES
}

/// Returns the moment that a time of day means: the nearest one, which may just have passed.
fn until(time: &str, now: Timestamp) -> Option<Timestamp> {
    let time = time_of_day(time)?;
    let now = jiff::Timestamp::from_millisecond(now.0).ok()?.to_zoned(TimeZone::system());
    let days = [now.yesterday(), Ok(now.clone()), now.tomorrow()];
    let moments = days.into_iter().flatten().filter_map(|day| day.with().time(time).build().ok());
    let nearest =
        moments.min_by_key(|at| at.timestamp().as_millisecond().abs_diff(now.timestamp().as_millisecond()));
    nearest.map(|at| Timestamp(at.timestamp().as_millisecond()))
}

fn time_of_day(text: &str) -> Option<Time> {
    let text = text.trim().to_ascii_lowercase();
    let (digits, half) = match text.find(['a', 'p']) {
        Some(at) => (text[..at].trim(), Some(&text[at..=at])),
        None => (text.as_str(), None),
    };
    let mut parts = digits.split(':').map(|part| part.trim().parse::<i8>().ok());
    let hour = parts.next()??;
    let (minute, second) = (parts.next().unwrap_or(Some(0))?, parts.next().unwrap_or(Some(0))?);
    if parts.next().is_some() {
        return None;
    }
    let hour = match half {
        Some("a") => hour % 12,
        Some(_) => hour % 12 + 12,
        None => hour,
    };
    Time::new(hour, minute, second, 0).ok()
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan;

    use super::*;

    fn patterns() -> ScreenPatterns {
        ScreenPatterns::new(
            &ScreenOptions {
                prompt: Some(r"^│ >( |$)".into()),
                busy: Some(r"^✻ (?P<doing>\w+)…".into()),
                dialog: Some(r"^│ (?P<question>[^\n]*)\n│ [❯ ] 1\. ".into()),
                limit: Some(r"resets (?P<time>[0-9:]+ ?(am|pm)?)".into()),
                draft: Some(r"^│ [> ](?: (?P<text>.*))?$".into()),
                pasted: Some(r"\[Pasted text #\d+ \+\d+ lines\]".into()),
            },
            &[],
        )
        .unwrap()
    }

    fn screen(text: &str) -> Screen {
        Screen {
            lines: text.lines().map(str::to_owned).collect(),
            cursor: (0, 0),
            size: (80, 24),
            offset: 0,
            bracketed_paste: true,
            alternate: false,
            typed: None,
        }
    }

    fn read(text: &str) -> String {
        format!("{:?}", patterns().read(&screen(text), Timestamp(0)))
    }

    /// acceptance: S10
    #[test]
    fn an_unknown_screen_is_never_idle() {
        assert_eq!(read("░▒▓"), "Unreadable { why: \"the screen is none that is known\" }");
        assert_eq!(read(""), "Unreadable { why: \"the screen is none that is known\" }");
    }

    #[test]
    fn a_spinner_above_the_prompt_is_work_and_a_prompt_alone_is_not() {
        assert_eq!(read("✻ thinking…\n│ >"), "Working { doing: \"thinking\" }");
        assert_eq!(read("● done\n│ > draft"), "Idle");
    }

    #[test]
    fn a_dialog_above_the_prompt_was_left_standing() {
        let dialog = "│ May I?\n│ ❯ 1. Yes\n│   2. No";
        assert_eq!(read(dialog), "Asking { question: \"May I?\" }");
        assert_eq!(read(&format!("│ >\n{dialog}")), "Asking { question: \"May I?\" }");
        assert_eq!(read(&format!("{dialog}\n● denied\n│ >")), "Idle");
    }

    #[test]
    fn the_draft_is_what_stands_in_the_lowest_box() {
        let draft = |text: &str| patterns().draft(&screen(text));
        assert_eq!(draft("│ > old\n╰──\n│ > one\n│   two\n╰──").as_deref(), Some("one\ntwo"));
        assert_eq!(draft("│ >").as_deref(), Some(""));
        assert_eq!(draft("nothing"), None);
    }

    #[test]
    fn a_draft_is_ours_by_its_letters_or_by_a_long_end() {
        let patterns = patterns();
        let text = "Please look at `src/main.rs`:\n\tit has two problems, and both are old.";
        assert!(patterns.is_ours(&text.replace(['\n', '\t'], "  "), text));
        assert!(patterns.is_ours("has two problems, and both are old.", text));
        assert!(patterns.is_ours("[Pasted text #1 +2 lines]", text));
        assert!(!patterns.is_ours("old.", text));
        assert!(!patterns.is_ours("[Pasted text #1 +2 lines] and mine", text));
        assert!(!patterns.is_ours("something else that is long enough to be known", text));
    }

    #[test]
    fn a_time_of_day_is_the_nearest_one() {
        let at = |time: &str| jiff::civil::date(2026, 11, 15).at(time.parse().unwrap(), 0, 0, 0);
        let stamp = |when: jiff::civil::DateTime| {
            Timestamp(when.to_zoned(TimeZone::system()).unwrap().timestamp().as_millisecond())
        };
        let (evening, three) = (stamp(at("20")), at("3") + 1.day());
        assert_eq!(until("3am", evening), Some(stamp(three)));
        assert_eq!(until("19:00", evening), Some(stamp(at("19"))));
        assert_eq!(until("9 pm", evening), Some(stamp(at("21"))));
        assert_eq!(until("21:00:00", evening), Some(stamp(at("21"))));
        assert_eq!(until("25:00", evening), None);
        assert_eq!(until("1:2:3:4", evening), None);
        let shown = screen("● You've hit your limit · resets 9pm\n│ >");
        assert_eq!(patterns().read(&shown, evening), Reading::Limited { until: Some(stamp(at("21"))) });
        assert_eq!(patterns().read(&shown, stamp(at("22"))), Reading::Idle);
    }

    /// As Claude Code 2.1.325 draws them, at a width of 100.
    #[test]
    fn the_screens_of_claude_code_are_read() {
        let known = crate::known().into_iter().find(|agent| agent.name == "claude-code").unwrap();
        let options = known.in_mode(ao_core::session::AgentMode::Terminal).unwrap();
        let patterns = ScreenPatterns::new(&options.screen, &options.first_launch).unwrap();
        let rule = "─".repeat(100);
        let history = "▝▜██████▀  Opus 5.5 · API Usage Billing\n❯ write it\n\n";
        let input = |draft: &str| {
            format!(
                "                ◐ medium · /effort\n{rule}\n❯\u{a0}{draft}\n{rule}\n  ⏵⏵ accept edits on (shift+tab to cycle)\n"
            )
        };
        let read = |text: &str| format!("{:?}", patterns.read(&screen(text), Timestamp(0)));
        assert_eq!(
            read(&format!("{history}✻ Shenaniganing…\n\n{}", input(""))),
            "Working { doing: \"Shenaniganing\" }"
        );
        let idle =
            format!("{history}● done it\n\n✻ Cogitated for 8s · done 10:10 PM\n\n{}", input("a draft"));
        assert_eq!(read(&idle), "Idle");
        assert_eq!(patterns.draft(&screen(&idle)).as_deref(), Some("a draft"));
        assert_eq!(patterns.draft(&screen(&input(""))).as_deref(), Some(""));
        assert_eq!(patterns.draft(&screen(&input("one\n  two\n  three"))).as_deref(), Some("one\ntwo\nthree"));
        assert!(patterns.is_ours("[Pasted text #1 +29 lines]", "any"));
        let dialog = format!(
            "{history}● Stand-in step\n  ⎿  $ curl -s 127.0.0.1:1/x\n\n{rule}\n Bash command\n\n   curl -s 127.0.0.1:1/x\n\n \
             This command requires approval\n\n Do you want to proceed?\n ❯ 1. Yes\n   2. Yes, and don’t ask again for: curl *\n   \
             3. Yes, and switch to auto mode\n   4. No\n\n Esc to cancel · Tab to amend"
        );
        assert_eq!(read(&dialog), "Asking { question: \"Do you want to proceed?\" }");
        // Its third option for a command is not "No".
        assert_eq!(options.keys.answers["no"], "\u{1b}");
    }

    #[test]
    fn a_pattern_that_is_none_or_too_large_is_named() {
        for wrong in ["(", r"(\w{500}){500}"] {
            let options = ScreenOptions { busy: Some(wrong.into()), ..ScreenOptions::default() };
            let err = ScreenPatterns::new(&options, &[]).unwrap_err().to_string();
            assert!(err.starts_with(&format!("the pattern `{wrong}` for `busy`")), "{err}");
        }
    }
}
