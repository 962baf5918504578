//! The agents that we know how to start, as data.
//!
//! Each runs headless, one turn at a time: a message starts it again, with the same conversation where it can be named.
//! Its state is only that it runs, so no screen has to be read.

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
    use super::*;

    #[test]
    fn every_manifest_can_be_read_and_has_a_name_of_its_own() {
        let known = known();
        let names: std::collections::BTreeSet<&str> = known.iter().map(|agent| agent.name.as_str()).collect();
        assert_eq!(names.len(), known.len());
        for agent in &known {
            assert!(!agent.program.is_empty() && agent.install.is_some(), "{}", agent.name);
            assert_eq!(agent.io(), ao_ports::ProcessIo::Output, "{} finds an open stdin", agent.name);
            for args in agent.resume.iter().chain([&agent.args]) {
                let known = ["{options}", "{prompt}", "{conversation}"];
                let odd = args.iter().find(|arg| arg.contains('{') && !known.contains(&arg.as_str()));
                assert_eq!(odd, None, "{}", agent.name);
            }
        }
    }
}
