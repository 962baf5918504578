//! Generated files: the schema, the reference, and the list of variables.

use std::collections::BTreeSet;

use ao_config::env_vars::ENV_VARS;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::support::{EXAMPLES, read, wrong_with};

fn root() -> Utf8PathBuf {
    Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Parses a text the way editors do.
fn as_json(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|err| panic!("{err}\n{text}"))
}

fn validator() -> jsonschema::Validator {
    jsonschema::validator_for(&ao_config::schema()).unwrap()
}

#[test]
fn what_is_checked_in_is_what_the_code_makes() {
    for (path, text) in ao_config::generated() {
        let found = std::fs::read_to_string(root().join(path)).unwrap_or_default();
        assert!(found == text, "{path} is not what the code makes: run `cargo xtask generate`");
    }
}

#[test]
fn the_schema_is_one() {
    assert!(jsonschema::meta::is_valid(&ao_config::schema()));
    let text = ao_config::schema().to_string();
    assert!(!text.contains("\"x-"), "our own words are not for others");
}

/// Valid files, which editors must accept.
const GOOD: [&str; 10] = [
    "",
    "port: ${PORT:-3000}\n",
    "lifecycle: { stuck_after: 30m, min_free_memory: 2GB, restarts: '${N:-2}' }\n",
    "defaults: { runtime: { plugin: docker, image: node }, tracker: linear }\n",
    "projects:\n  a: { path: /x, default_branch: main, include: [.env, { pattern: x, how: reflink }], ports: { names: [P], first: 4000 } }\n",
    "projects:\n  a: { path: /x, env: { set: { A: 1, B: true, C: c }, secrets: { T: TOKEN, F: { file: x } } } }\n",
    "reactions: { bugbot-comments: { action: auto-merge, priority: urgent }, agentStuck: { auto: true } }\n",
    "reactions: { deploy_failed: { action: send_to_agent, priority: high, cooldown: 5m, rerun: 0 } }\n",
    "agentReactions: { codex: { ci-failed: { retries: 1, message: 'Look: {{ errors }}', resolveThreads: true } } }\n",
    "agent: codex\nnotifier: [{ plugin: slack, webhookUrl: x }, desktop]\n",
];

/// Invalid files, which editors must mark.
const BAD: [&str; 13] = [
    "prot: 1\n",
    "port: high\n",
    "port: 0\n",
    "defaults: { runtim: tmux }\n",
    "projects: { a: { repo: x/y } }\n",
    "projects: [a]\n",
    "reactions: { ci-faild: {} }\n",
    "reactions: { deploy-failed: { message: hello } }\n",
    "reactions: { ci-failed: { action: explode } }\n",
    "reactions: { ci-failed: { escalateAfter: soon } }\n",
    "lifecycle: { stuckAfter: 30 }\n",
    "agents: [{ id: x }]\n",
    "projects: { a: { path: /x } }\nruntime: { plugin: tmux }\n",
];

#[test]
fn the_schema_agrees_with_what_is_read() {
    let validator = validator();
    for text in EXAMPLES.iter().map(|(_, text)| *text).chain(GOOD) {
        assert_eq!(wrong_with(text), "nothing", "{text}");
        let mut json = as_json(if text.is_empty() { "{}" } else { text });
        let errors: Vec<String> =
            validator.iter_errors(&json).map(|err| format!("{}: {err}", err.instance_path())).collect();
        assert!(errors.is_empty(), "{text}: {errors:#?}");
        // The shown configuration is valid as well.
        json = as_json(&read(text).unwrap().show());
        assert!(validator.is_valid(&json), "{}", read(text).unwrap().show());
    }
    for text in BAD {
        assert_ne!(wrong_with(text), "nothing", "{text}");
        assert!(!validator.is_valid(&as_json(text)), "{text}");
    }
}

#[test]
fn every_example_of_the_documents_is_read_as_it_stands() {
    let page = std::fs::read_to_string(root().join("crates/ao/tests/fixtures/surface.md")).unwrap();
    let blocks: Vec<&str> =
        page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect();
    assert!(blocks.len() >= EXAMPLES.len());
    let validator = validator();
    for block in blocks {
        assert_eq!(wrong_with(block), "nothing", "{block}");
        assert!(validator.is_valid(&as_json(block)), "{block}");
    }
}

#[test]
fn every_variable_in_the_code_is_in_the_list() {
    let mut named = BTreeSet::new();
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir_utf8().unwrap() {
            let path = entry.unwrap().into_path();
            if path.is_dir()
                && !matches!(path.file_name(), Some("tests" | "benches" | "target" | "ao-testkit"))
            {
                folders.push(path);
            } else if path.extension() == Some("rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                for quoted in text.split('"').filter(|word| word.starts_with("AO_")) {
                    if quoted.chars().all(|c| c.is_ascii_uppercase() || c == '_') && quoted.len() > 3 {
                        named.insert(quoted.to_owned());
                    }
                }
            }
        }
    }
    assert!(named.contains("AO_SESSION"));
    let listed: BTreeSet<String> = ENV_VARS.iter().map(|variable| variable.name.to_owned()).collect();
    let missing: Vec<_> = named.difference(&listed).collect();
    assert!(missing.is_empty(), "add {missing:?} to crates/ao-config/src/env_vars.rs");
}

#[test]
fn the_reference_tells_of_every_key() {
    let page = ao_config::reference_markdown();
    let config = serde_json::to_value(ao_config::Config::default()).unwrap();
    for key in config.as_object().unwrap().keys() {
        assert!(page.contains(&format!("| `{key}` |")), "{key}");
    }
    for key in
        ["defaultBranch", "escalateAfter", "stuckAfter", "agent-needs-input", "excludeLabels", "allowRemote"]
    {
        assert!(page.contains(&format!("| `{key}` |")), "{key}");
    }
}
