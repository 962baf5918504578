//! Policies: positions of mistakes, and merging of layers.

use ao_config::policy::{PolicyLayer, in_force, in_short, policy_path, read_cases, read_policy};
use ao_config::shape::PolicyConfig;
use ao_core::Timestamp;
use ao_core::policy::Policy;
use ao_core::pull::AuthorStanding;

/// 16 November 2026.
const NOW: Timestamp = Timestamp(1_794_830_000_000);

fn read(text: &str) -> PolicyConfig {
    read_policy(policy_path(), text).unwrap_or_else(|err| panic!("{err}"))
}

fn alone(text: &str) -> Policy {
    in_force(&[PolicyLayer { from: "file", policy: &read(text) }], NOW).policy
}

fn wrong(text: &str) -> String {
    in_short(&read_policy(policy_path(), text).unwrap_err())
}

#[test]
fn a_whole_policy_is_read_in_any_of_our_spellings() {
    let policy = alone(
        "
approvals: 2
approvers: { logins: [ann, bob] }
protected_paths:
  - { path: 'infra/**', owners: ann, approvals: 1 }
  - { paths: [ci/, '*.lock'], standings: [owner] }
max-files: 20
maxLines: 400
requiredChecks: build
requiredLabels: [ready]
forbiddenLabels: [wip]
forbidden:
  - 'console\\.log'
  - { name: no-sleep, regex: 'sleep\\(', paths: src/, except: [src/wait.rs] }
secrets: true
freeze:
  - { from: 2026-12-20, until: 2027-01-03, why: holidays }
  - { from: fri 16:00, to: mon 08:00, timezone: Europe/Berlin, why: weekend }
needsHuman: { paths: migrations/, moreLinesThan: 300, authors: [codex] }
trust: { claude-code: high, frontend: careful, default: low }
trustLevels: { careful: { paths: [web/], maxLines: 50 } }
threadsResolved: false
autoMerge: true
",
    );
    assert_eq!((policy.approvals, policy.max_files, policy.max_lines), (2, Some(20), Some(400)));
    assert!(policy.approvers.standings.is_empty(), "named people only");
    let globs: Vec<&str> = policy.protected.iter().map(|path| path.glob.as_str()).collect();
    assert_eq!(globs, ["infra/**", "ci/", "*.lock"]);
    assert_eq!(policy.protected[1].standings, [AuthorStanding::Owner].into());
    assert_eq!(policy.forbidden[0].name, "console\\.log");
    assert_eq!(policy.forbidden[1].paths, ["src/"]);
    assert_eq!((policy.freeze.len(), policy.weekly.len()), (1, 1));
    assert_eq!(policy.weekly[0].zone.name, "Europe/Berlin");
    let trust = &policy.trust[0];
    assert_eq!((trust.default.as_str(), trust.agents["frontend"].as_str()), ("low", "careful"));
    assert_eq!(trust.levels.keys().collect::<Vec<_>>(), ["careful", "high", "low"]);
    assert_eq!((policy.threads_resolved, policy.auto_merge, policy.secrets), (false, Some(true), true));
}

#[test]
fn an_empty_policy_is_the_default_one() {
    assert_eq!(alone(""), Policy::default());
    assert_eq!(alone("# nothing yet\n"), Policy::default());
    assert_eq!(in_force(&[], NOW).policy, Policy::default());
}

#[test]
fn a_mistake_is_told_with_its_place_and_the_nearest_right_word() {
    assert_eq!(
        wrong("approvals: 1\naprovers: { logins: [ann] }\n"),
        ".ao/policy.yaml:2:1: unknown key `aprovers` in the policy (did you mean `approvers`?)"
    );
    assert_eq!(
        wrong("trust: { codex: hihg }\n"),
        ".ao/policy.yaml:1:17: there is no trust level called `hihg` (did you mean `high`?)"
    );
    assert!(
        wrong("forbidden:\n  - 'a('\n")
            .starts_with(".ao/policy.yaml:2:5: this is not a valid regular expression")
    );
    assert!(
        wrong("freeze: { from: soon, until: later }\n")
            .starts_with(".ao/policy.yaml:1:17: `soon` is not a time")
    );
    assert!(wrong("protected: [{ approvers: [ann] }]\n").contains("`paths` is missing"));
    assert!(wrong("protected: [{ paths: '../x', approvers: [ann] }]\n").contains("root of the repository"));
    assert!(wrong("approvals: many\n").contains("`approvals` has to be a whole number"));
    assert!(wrong("approvals: 1\n  max: 2\n").starts_with(".ao/policy.yaml:"));
    assert!(wrong("just words\n").contains("has to be a mapping"));
    assert!(wrong(&"# x\n".repeat(400_000)).contains("larger than it may be"));
    assert!(wrong("approvals: 1\nmaxLine: 3\n").contains("did you mean `maxLines`?"));
    // `${HOME}` is not replaced in a policy.
    assert!(alone("requiredLabels: ['${HOME}']\n").required_labels.contains("${HOME}"));
}

/// The base branch can tighten what the user configured but not loosen it, and the other way round.
#[test]
fn of_two_layers_the_stricter_one_counts_key_by_key() {
    let file = read(
        "approvals: 1\napprovers: { logins: [ann, Bob] }\nmaxLines: 500\nautoMerge: true\nsecrets: false\n\
         trust: { default: high }\nthreadsResolved: false\nrequiredChecks: [build]\n",
    );
    let own = read(
        "approvals: 2\napprovers: { logins: [bob, eve] }\nmaxLines: 900\nautoMerge: false\nsecrets: true\n\
         trust: { default: none }\nthreadsResolved: true\nrequiredChecks: [test]\n",
    );
    let both = |a, b| {
        in_force(&[PolicyLayer { from: "file", policy: a }, PolicyLayer { from: "config", policy: b }], NOW)
    };
    let policy = both(&file, &own).policy;
    assert_eq!((policy.approvals, policy.max_lines), (2, Some(500)));
    assert_eq!(policy.approvers.logins, ["Bob"]);
    assert_eq!((policy.auto_merge, policy.secrets, policy.threads_resolved), (Some(false), true, true));
    assert_eq!(policy.required_checks, ["build", "test"]);
    assert_eq!(policy.trust.len(), 2, "both have to agree");
    let shown = both(&file, &read("maxFiles: 3\n"));
    let from = |key: &str| shown.fields.iter().find(|field| field.key == key).unwrap().from.clone();
    assert_eq!(from("approvals"), ["file"]);
    assert_eq!(from("maxFiles"), ["config"]);
    assert!(from("protected").is_empty());
    assert_eq!(shown.policy.approvals, 1, "what a layer leaves out it does not ask for");
}

#[test]
fn a_policy_in_the_configuration_is_checked_with_the_rest_of_it() {
    let places = crate::support::places();
    let text = "projects:\n  app:\n    path: /tmp/app\n    policy:\n      approvals: 2\n      trust: { default: lwo }\n";
    let err = ao_config::parse_str("ao.yaml".into(), text, &places).unwrap_err().to_string();
    assert!(err.contains("ao.yaml:6:25: there is no trust level called `lwo`"), "{err}");
    let text = text.replace("lwo", "low");
    let loaded = ao_config::parse_str("ao.yaml".into(), &text, &places).unwrap();
    assert_eq!(loaded.config.projects["app"].policy.as_ref().unwrap().approvals, Some(2));
}

#[test]
fn cases_are_read_and_a_case_that_expects_nothing_is_a_mistake() {
    let read = |text: &str| read_cases("policy.test.yaml".into(), text);
    let cases = read(
        "cases:\n  - name: docs go through\n    given: { files: docs/a.md, agent: codex, approvals: { ann: owner } }\n    \
         expect: allowed\n  - { name: large, given: { lines: 900 }, expect: { against: size } }\n",
    )
    .unwrap();
    assert_eq!(cases.cases.len(), 2);
    let wrong = |text: &str| in_short(&read(text).unwrap_err());
    assert!(wrong("cases: [{ name: x, expect: {} }]\n").contains("the case expects nothing"));
    assert!(wrong("cases: [{ name: x, expect: allowd }]\n").contains("did you mean `allowed`?"));
    assert!(wrong("cases: [{ name: x, given: { at: noon }, expect: allowed }]\n").contains("is not a time"));
    assert!(
        wrong("cases: [{ name: x, given: { approvals: { ann: boss } }, expect: allowed }]\n")
            .contains("is not a standing")
    );
}

#[test]
fn the_schemas_accept_what_is_read() {
    let policy = serde_json::json!({ "approvals": 1, "max_lines": 3, "forbidden": "TODO", "protected": { "paths": "a" } });
    let validator = jsonschema::validator_for(&ao_config::policy_schema()).unwrap();
    assert!(validator.is_valid(&policy));
    assert!(!validator.is_valid(&serde_json::json!({ "aprovals": 1 })));
    let cases = serde_json::json!({ "cases": [{ "name": "x", "expect": "allowed" }] });
    assert!(jsonschema::validator_for(&ao_config::policy_cases_schema()).unwrap().is_valid(&cases));
}

/// Everything on the pages can be copied.
#[test]
fn the_pages_about_policies_can_be_relied_on() {
    let pages = [include_str!("../../../../docs/policy.md"), include_str!("../../../../docs/autonomy.md")];
    let blocks = pages.iter().flat_map(|page| page.split("```yaml\n").skip(1));
    let blocks: Vec<&str> = blocks.map(|block| block.split("```").next().unwrap()).collect();
    let mut policies = 0;
    for block in &blocks {
        if block.starts_with("cases:") {
            read_cases("policy.test.yaml".into(), block).unwrap_or_else(|err| panic!("{err}\n{block}"));
        } else if block.starts_with("# agent-orchestrator.yaml") {
            crate::support::read(block).unwrap_or_else(|err| panic!("{err}\n{block}"));
        } else {
            policies += 1;
            let policy = alone(block);
            let off = block.contains("autoMerge: false") || !block.contains("autoMerge");
            assert_eq!(policy.auto_merge == Some(true), !off, "{block}");
        }
    }
    assert!(policies >= 8, "{policies}");
    // Every key and every rule is on the page.
    let page = pages[0];
    let shown = in_force(&[], NOW);
    assert!(shown.fields.iter().all(|field| page.contains(&format!("`{}`", field.key))));
}
