//! Settings: how the agent misbehaves.

use std::collections::BTreeMap;
use std::time::Duration;

use super::tags::duration;

/// The settings, with their defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScriptedSettings {
    pub(super) swallow_enters: u32,
    pub(super) never_submit: bool,
    pub(super) lost_hooks: Vec<String>,
    pub(super) delayed_hooks: BTreeMap<String, Duration>,
    pub(super) stale_dialog: bool,
    pub(super) outlive_terminal: bool,
    pub(super) first_launch: Vec<String>,
    pub(super) slow_start: Duration,
    pub(super) die_at_start: u32,
    pub(super) slow_redraw: Duration,
    pub(super) bracketed_paste: bool,
    pub(super) collapse_paste: Option<usize>,
    pub(super) alternate_screen: bool,
    pub(super) ignore_tags: bool,
    /// A text without tags repeats the last turn that had some, like an agent that was asked to go on.
    pub(super) take_up: bool,
    pub(super) notify_after: Duration,
    pub(super) remind_after: Duration,
}

impl Default for ScriptedSettings {
    fn default() -> ScriptedSettings {
        ScriptedSettings {
            swallow_enters: 0,
            never_submit: false,
            lost_hooks: Vec::new(),
            delayed_hooks: BTreeMap::new(),
            stale_dialog: false,
            outlive_terminal: false,
            first_launch: Vec::new(),
            slow_start: Duration::ZERO,
            die_at_start: 0,
            slow_redraw: Duration::ZERO,
            bracketed_paste: true,
            collapse_paste: None,
            alternate_screen: false,
            ignore_tags: false,
            take_up: false,
            notify_after: Duration::from_secs(6),
            remind_after: Duration::from_secs(60),
        }
    }
}

impl ScriptedSettings {
    /// Parses `SCRIPTED_SCRIPT`.
    pub(super) fn read(script: &str) -> Result<ScriptedSettings, String> {
        let mut settings = ScriptedSettings::default();
        let from_file;
        let script = match script.strip_prefix('@') {
            Some(path) => {
                from_file = std::fs::read_to_string(path).map_err(|err| format!("{path}: {err}"))?;
                from_file.as_str()
            }
            None => script,
        };
        for line in script.split(['\n', ';']).map(str::trim) {
            if !line.is_empty() && !line.starts_with('#') {
                settings.set(line)?;
            }
        }
        Ok(settings)
    }

    /// Changes one setting.
    pub(super) fn set(&mut self, line: &str) -> Result<(), String> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let wrong = || format!("the setting `{line}` is not understood");
        let time = |text: &str| duration(text).ok_or_else(wrong);
        match word {
            "swallow-enters" => self.swallow_enters = rest.parse().map_err(|_| wrong())?,
            "never-submit" => self.never_submit = true,
            "lose-hook" => self.lost_hooks.push(rest.into()),
            "delay-hook" => {
                let (event, by) = rest.split_once(char::is_whitespace).ok_or_else(wrong)?;
                self.delayed_hooks.insert(event.into(), time(by.trim())?);
            }
            "stale-dialog" => self.stale_dialog = true,
            "outlive-terminal" => self.outlive_terminal = true,
            "first-launch" => self.first_launch.extend(rest.split_whitespace().map(str::to_owned)),
            "slow-start" => self.slow_start = time(rest)?,
            "die-at-start" => self.die_at_start = rest.parse().map_err(|_| wrong())?,
            "slow-redraw" => self.slow_redraw = time(rest)?,
            "no-bracketed-paste" => self.bracketed_paste = false,
            "collapse-paste" => self.collapse_paste = Some(rest.parse().map_err(|_| wrong())?),
            "alternate-screen" => self.alternate_screen = true,
            "ignore-tags" => self.ignore_tags = true,
            "take-up" => self.take_up = true,
            "notify-after" => self.notify_after = time(rest)?,
            "remind-after" => self.remind_after = time(rest)?,
            _ => return Err(wrong()),
        }
        Ok(())
    }

    pub(super) fn loses(&self, event: &str) -> bool {
        self.lost_hooks.iter().any(|lost| lost == event || lost == "*")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_one_per_line_or_separated_by_semicolons() {
        let settings =
            ScriptedSettings::read("swallow-enters 2; never-submit\n# a word\ndelay-hook Stop 2s").unwrap();
        assert_eq!(settings.swallow_enters, 2);
        assert!(settings.never_submit);
        assert_eq!(settings.delayed_hooks["Stop"], Duration::from_secs(2));
        let err = ScriptedSettings::read("swallow 2").unwrap_err();
        assert_eq!(err, "the setting `swallow 2` is not understood");
    }
}
