//! The known agents: their programs and how to install them, from their manifests.

use std::sync::LazyLock;

use ao_agent::Options;

use crate::program;

/// In order of preference.
static KNOWN: LazyLock<Vec<Options>> = LazyLock::new(ao_agent::known);

pub(crate) fn all() -> &'static [Options] {
    &KNOWN
}

/// Returns the default agent if none is installed.
pub(crate) fn usual() -> &'static Options {
    &KNOWN[0]
}

pub(crate) fn by_name(name: &str) -> Option<&'static Options> {
    all().iter().find(|agent| agent.name == name)
}

/// Returns the first agent that is installed.
pub(crate) fn installed() -> Option<&'static Options> {
    all().iter().find(|agent| program::find(&agent.program).is_some())
}

/// Returns the command that installs an agent, if known.
pub(crate) fn install(agent: &Options) -> String {
    agent.install.clone().unwrap_or_else(|| format!("install `{}`", agent.program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_that_can_be_configured_is_known_and_the_other_way_round() {
        for name in ao_config::names::AGENTS {
            assert!(by_name(name).is_some(), "{name} cannot be started");
        }
        for agent in all() {
            assert!(
                ao_config::names::AGENTS.contains(&agent.name.as_str()),
                "{} cannot be configured",
                agent.name
            );
        }
    }
}
