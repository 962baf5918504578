//! The agents that people have: by which program each is there, and how one gets it.

use crate::program;

/// An agent that is known by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KnownAgent {
    /// As it is configured.
    pub(crate) name: &'static str,
    /// The program that is looked for.
    pub(crate) program: &'static str,
    /// The command that installs it.
    pub(crate) install: &'static str,
}

const fn known(name: &'static str, program: &'static str, install: &'static str) -> KnownAgent {
    KnownAgent { name, program, install }
}

/// In the order in which they are chosen from.
pub(crate) const KNOWN_AGENTS: [KnownAgent; 10] = [
    known("claude-code", "claude", "npm install -g @anthropic-ai/claude-code"),
    known("codex", "codex", "npm install -g @openai/codex"),
    known("opencode", "opencode", "npm install -g opencode-ai"),
    known("gemini", "gemini", "npm install -g @google/gemini-cli"),
    known("aider", "aider", "pipx install aider-chat"),
    known("cursor", "cursor-agent", "curl -fsS https://cursor.com/install | bash"),
    known("copilot", "copilot", "npm install -g @github/copilot"),
    known("qwen", "qwen", "npm install -g @qwen-code/qwen-code"),
    known("kimicode", "kimi", "npm install -g @moonshot-ai/kimi-code"),
    known("goose", "goose", "npm install -g @aaif/goose"),
];

pub(crate) fn by_name(name: &str) -> Option<KnownAgent> {
    KNOWN_AGENTS.into_iter().find(|agent| agent.name == name)
}

/// The first one that is installed.
pub(crate) fn installed() -> Option<KnownAgent> {
    KNOWN_AGENTS.into_iter().find(|agent| program::find(agent.program).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_that_can_be_configured_is_known() {
        for name in ao_config::names::AGENTS {
            assert!(by_name(name).is_some(), "{name} cannot be looked for");
        }
        for agent in KNOWN_AGENTS {
            assert!(ao_config::names::AGENTS.contains(&agent.name), "{} cannot be configured", agent.name);
        }
    }
}
