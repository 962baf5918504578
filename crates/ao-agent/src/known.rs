//! Agents that we know how to start, as data.
//!
//! Each is run without its own screen, a turn at a time: a message starts it again, and going on with the same conversation
//! where it can be told which one. What it says of its state is no more than that it runs, so it needs no reading of screens.

use crate::command::Options;

/// One manifest for each agent, in the order in which they are chosen from.
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

/// The manifests of all agents that we know.
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
            assert_eq!(agent.io(), ao_ports::Io::Output, "{} finds an open stdin", agent.name);
            for args in agent.resume.iter().chain([&agent.args]) {
                let known = ["{options}", "{prompt}", "{conversation}"];
                let odd = args.iter().find(|arg| arg.contains('{') && !known.contains(&arg.as_str()));
                assert_eq!(odd, None, "{}", agent.name);
            }
        }
    }
}
