//! How far agents are trusted: what may be merged that no person has approved.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{MergeRule, RuleVerdict, glob};
use crate::pull::{ChangeSize, Maker};

/// The trust in each agent. Who is not named has the default one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    /// By the names of specialists and tools; a specialist's own name counts more than its tool's.
    pub agents: BTreeMap<String, String>,
    pub default: String,
    pub levels: BTreeMap<String, Level>,
}

/// What an agent of this trust may have merged with no person having approved it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Level {
    /// Nothing: a person always has to approve.
    pub human: bool,
    /// Changes to these files only; to any, if none is named.
    pub paths: Vec<String>,
    pub max_files: Option<u64>,
    pub max_lines: Option<u64>,
}

impl Trust {
    /// The levels that have a meaning without anybody saying one, from the least to the most.
    pub fn known_levels() -> BTreeMap<String, Level> {
        let words = ["docs/", "**/*.md"].map(String::from).to_vec();
        [
            ("none", Level { human: true, ..Level::default() }),
            ("low", Level { paths: words, max_files: Some(5), max_lines: Some(100), ..Level::default() }),
            ("medium", Level { max_files: Some(20), max_lines: Some(400), ..Level::default() }),
            ("high", Level::default()),
        ]
        .map(|(name, level)| (name.to_owned(), level))
        .into()
    }

    /// What the level of an agent is called.
    fn of(&self, agent: &Maker) -> &str {
        let named = |name: &str| {
            let same = |(known, _): &(&String, &String)| known.eq_ignore_ascii_case(name);
            self.agents.iter().find(same).map(|(_, level)| level.as_str())
        };
        let own = agent.specialist.as_deref().and_then(named);
        own.or_else(|| named(&agent.name)).unwrap_or(&self.default)
    }

    /// What it says of a change by an agent that no person has approved.
    pub(super) fn judge(&self, agent: &Maker, size: &ChangeSize) -> RuleVerdict {
        self.judge_by(agent.called(), self.of(agent), size)
    }

    /// The same of a program that nobody knows. It may be any of those that are named, so that the strictest level counts.
    pub(super) fn judge_unknown(&self, size: &ChangeSize) -> RuleVerdict {
        let judged = |level: &str| self.judge_by("a program that is not known", level, size);
        let mut named = self.agents.values().map(|level| judged(level));
        named.find(|verdict| !verdict.holds).unwrap_or_else(|| judged(&self.default))
    }

    fn judge_by(&self, who: &str, name: &str, size: &ChangeSize) -> RuleVerdict {
        let verdict = |holds, what: String| {
            RuleVerdict::new(MergeRule::Trust, holds, format!("{who} has the trust `{name}`: {what}"))
        };
        let Some(level) = self.levels.get(name) else {
            return verdict(false, "no such level is described".into());
        };
        if level.human {
            return verdict(false, "a person always has to approve".into());
        }
        let (files, lines) = (size.files.len() as u64, size.added.saturating_add(size.removed));
        let limited = !level.paths.is_empty() || level.max_files.is_some();
        if limited && size.files.is_empty() {
            return verdict(false, "the changed files are not known".into());
        }
        if let Some(most) = level.max_files.filter(|most| files > *most) {
            return verdict(false, format!("{files} files, and at most {most} without a person"));
        }
        if let Some(most) = level.max_lines.filter(|most| lines > *most) {
            return verdict(false, format!("{lines} lines, and at most {most} without a person"));
        }
        let within = |file: &&String| level.paths.iter().any(|path| glob::matches(path, file));
        match size.files.iter().find(|file| !level.paths.is_empty() && !within(file)) {
            Some(file) => verdict(false, format!("{file} is none of {}", level.paths.join(", "))),
            None => verdict(true, "this may go without a person".into()),
        }
    }
}
