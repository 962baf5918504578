//! Trust in agents: what may be merged without a person's approval.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{MergeRule, RuleVerdict, glob};
use crate::pull::{ChangeSize, PullMaker};

/// The trust in each agent. Agents that are not listed have the default level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentTrust {
    /// Trust levels by name of specialist or tool; a specialist's own name takes precedence over its tool's.
    pub agents: BTreeMap<String, String>,
    pub default: String,
    pub levels: BTreeMap<String, TrustLimits>,
}

/// The limits of what an agent with this trust may have merged without a person's approval.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrustLimits {
    /// A person always has to approve.
    pub human: bool,
    /// The files that may change; any if empty.
    pub paths: Vec<String>,
    pub max_files: Option<u64>,
    pub max_lines: Option<u64>,
}

impl AgentTrust {
    /// Returns the levels that are predefined, from the least to the most trust.
    pub fn known_levels() -> BTreeMap<String, TrustLimits> {
        let words = ["docs/", "**/*.md"].map(String::from).to_vec();
        [
            ("none", TrustLimits { human: true, ..TrustLimits::default() }),
            (
                "low",
                TrustLimits {
                    paths: words,
                    max_files: Some(5),
                    max_lines: Some(100),
                    ..TrustLimits::default()
                },
            ),
            ("medium", TrustLimits { max_files: Some(20), max_lines: Some(400), ..TrustLimits::default() }),
            ("high", TrustLimits::default()),
        ]
        .map(|(name, level)| (name.to_owned(), level))
        .into()
    }

    /// Returns the name of an agent's level.
    fn of(&self, agent: &PullMaker) -> &str {
        let named = |name: &str| {
            let same = |(known, _): &(&String, &String)| known.eq_ignore_ascii_case(name);
            self.agents.iter().find(same).map(|(_, level)| level.as_str())
        };
        let own = agent.specialist.as_deref().and_then(named);
        own.or_else(|| named(&agent.name)).unwrap_or(&self.default)
    }

    /// Judges a change by an agent that no person has approved.
    pub(super) fn judge(&self, agent: &PullMaker, size: &ChangeSize) -> RuleVerdict {
        self.judge_by(agent.called(), self.of(agent), size)
    }

    /// Judges a change by an unidentified program. It may be any of the listed agents, so the strictest level counts.
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
