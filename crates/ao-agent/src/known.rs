//! The agents that we know how to start, as data.
//!
//! Each can run headless, one turn at a time: a message starts it again, with the same conversation where it can be named.
//! Those that have a protocol stay between their turns and are spoken to by that, where the runtime can hold them.

use crate::command::Options;

/// One manifest for each agent, in order of preference.
const MANIFESTS: [&str; 10] = [
    include_str!("../manifests/claude-code.json"),
    include_str!("../manifests/codex.json"),
    include_str!("../manifests/opencode.json"),
    include_str!("../manifests/gemini.json"),
    include_str!("../manifests/aider.json"),
    include_str!("../manifests/cursor.json"),
    include_str!("../manifests/copilot.json"),
    include_str!("../manifests/qwen.json"),
    include_str!("../manifests/kimicode.json"),
    include_str!("../manifests/goose.json"),
];

/// Returns the manifests of all known agents.
pub fn known() -> Vec<Options> {
    let read =
        |json: &&str| serde_json::from_str(json).expect("a manifest of ours is right: there is a test");
    MANIFESTS.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ao_core::session::AgentMode;
    use ao_ports::{ProcessIo, RuntimeAbilities};

    use super::*;
    use crate::command::Prompt;

    #[test]
    fn the_agents_with_a_protocol_are_spoken_to_by_it_where_there_are_pipes() {
        let pipes = RuntimeAbilities { pipes: true, remembers_writes: true, ..RuntimeAbilities::default() };
        let by_protocol = |runtime| {
            let known = known().into_iter().filter(move |agent| agent.default_mode(runtime).is_some());
            known.map(|agent| agent.name).collect::<Vec<_>>()
        };
        assert_eq!(by_protocol(pipes), ["claude-code", "codex", "opencode", "gemini", "qwen"]);
        assert_eq!(by_protocol(RuntimeAbilities { pipes: false, ..pipes }), [""; 0]);
        for agent in known() {
            let Some(options) = agent.in_mode(AgentMode::Protocol) else { continue };
            assert_eq!((options.prompt, options.io()), (Prompt::Lines, ProcessIo::Pipes), "{}", agent.name);
            // Each profile is one that both ways have.
            let profiles = |options: &Options| options.permissions.keys().cloned().collect::<BTreeSet<_>>();
            assert_eq!(profiles(&options), profiles(&agent), "{}", agent.name);
        }
    }

    #[test]
    fn every_manifest_can_be_read_and_has_a_name_of_its_own() {
        let known = known();
        let names: std::collections::BTreeSet<&str> = known.iter().map(|agent| agent.name.as_str()).collect();
        assert_eq!(names.len(), known.len());
        for agent in &known {
            assert!(!agent.program.is_empty() && agent.install.is_some(), "{}", agent.name);
            assert_eq!(agent.io(), ao_ports::ProcessIo::Output, "{} finds an open stdin", agent.name);
            agent.check().unwrap();
            let modes: Vec<Options> = agent.modes().filter_map(|mode| agent.in_mode(mode)).collect();
            for agent in modes.iter().chain([agent]) {
                for args in agent.resume.iter().chain([&agent.args]) {
                    let known = ["{options}", "{prompt}", "{conversation}"];
                    let odd = args.iter().find(|arg| arg.contains('{') && !known.contains(&arg.as_str()));
                    assert_eq!(odd, None, "{}", agent.name);
                }
            }
        }
    }
}
