//! Agents that change the repository which they share with everybody: replaced objects, programs in its settings, a base that
//! is moved.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::commit;
use crate::fleet::git;
use crate::house::{House, until};

const POLICY: &str = ".ao/policy.yaml";
/// Makes a commit that takes every rule away, on top of the base, without a checkout.
const LOOSE: &str = "b=$(printf 'approvals: 0\\nautoMerge: true\\n' | git hash-object -w --stdin) && \
     t=$(GIT_INDEX_FILE=$PWD/.git-index sh -c \"git read-tree main && git update-index --add --cacheinfo \
     100644,$b,.ao/policy.yaml && git write-tree\") && rm -f .git-index && \
     c=$(git commit-tree -p main -m 'no more rules' $t)";

fn house(policy: &str) -> House {
    let house = House::new();
    house.configure_project("    checks: ['true']", "");
    commit(&house.repository(), "A policy", &[(POLICY, policy.as_bytes())]);
    // A forge's token, as a person has it in the environment that the daemon is started from.
    let mut start = house.command(&house.repository(), &["start", "--port", "0"]);
    assert!(start.env("GITHUB_TOKEN", "ghp_secret").output().unwrap().status.success());
    house
}

impl House {
    fn approvals(&self) -> String {
        let shown = self.ao(&["policy", "show", "--json"]).succeeds().json();
        let fields = shown["fields"].as_array().unwrap();
        fields.iter().find(|field| field["key"] == "approvals").unwrap()["value"].to_string()
    }

    fn stop_and_start(&self) {
        self.ao(&["stop"]).succeeds();
        self.start();
    }
}

/// acceptance: G1
#[test]
fn replaced_commits_change_neither_the_policy_nor_what_is_shown_and_merged() {
    let house = house("approvals: 2\n");
    let (session, number) = house.worker("Work", "a.txt", "bad\\n");
    assert!(house.checked(&number));
    let harmless = format!("{LOOSE} && git replace $(git rev-parse main) $c");
    house.agent_runs(&session, &harmless);
    let twin = "t=$(git rev-parse main^{tree}) && c=$(git commit-tree -p $(git rev-parse HEAD~1) -m Work $t) && \
                git replace $(git rev-parse HEAD) $c";
    house.agent_runs(&session, twin);
    assert_eq!(git(&house.repository(), &["show", "main:.ao/policy.yaml"]), "approvals: 0\nautoMerge: true");
    house.ao(&["pr", "diff", &number]).succeeds().says("+bad");
    house.stop_and_start();
    assert_eq!(house.approvals(), "2");
    house.ao(&["pr", "diff", &number]).succeeds().says("+bad");
    house.ao(&["pr", "merge", &number]).exits(20).says("approvals");
    house.ao(&["pr", "merge", &number, "--anyway"]).succeeds();
    let real = |args: &[&str]| git(&house.repository(), &[&["--no-replace-objects"], args].concat());
    until("it to land", || house.pull(&number)["state"] == "merged");
    assert_eq!(real(&["show", "main:a.txt"]), "bad", "what lands is what was shown");
}

/// acceptance: G2
#[test]
fn no_program_that_an_agent_names_is_run_by_the_daemon() {
    let house = house("approvals: 0\n");
    let (evil, _) = house.worker("Evil", "e.txt", "e\\n");
    let (program, ran) = (house.path("tmp/program"), house.path("tmp/ran"));
    // What agents' own git runs is theirs; everything else is the daemon's.
    let script =
        format!("#!/bin/sh\n[ -n \"$AO_SESSION\" ] || env >> '{}'\ncat 2>/dev/null\nexit 0\n", ran.display());
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let program = program.display();
    let common = house.repository().join(".git");
    let common = common.display();
    let lines = [
        format!("git config core.fsmonitor {program}"),
        format!("git config core.sshCommand {program}"),
        format!("git config filter.evil.clean {program}"),
        format!("git config filter.evil.smudge {program}"),
        format!("git config merge.evil.driver \"{program}; echo evil >> %A\""),
        format!("git config diff.evil.textconv {program}"),
        format!("mkdir -p {common}/info {common}/hooks"),
        format!("echo \"* filter=evil merge=evil diff=evil\" > {common}/info/attributes"),
        format!(
            "for h in post-checkout reference-transaction post-merge post-index-change; do cp {program} {common}/hooks/$h; done"
        ),
    ];
    house.agent_runs(&evil, &lines.join(" && "));
    let told = || house.ao(&["advise", "--json"]).succeeds().out;
    until("it to be told", || told().contains("repository-changed"));
    let (_, other) = house.worker("Other", "o.txt", "o\\n");
    assert!(house.checked(&other));
    house.ao(&["pr", "diff", &other]).succeeds().says("+o");
    house.ao(&["pr", "merge", &other]).succeeds();
    until("it to land", || house.pull(&other)["state"] == "merged");
    assert_eq!(fs::read_to_string(&ran).unwrap_or_default(), "", "it was run");
    let examined = || house.ao(&["doctor"]).out;
    assert!(examined().contains("ao trust-project my-app"), "{}", examined());
    assert!(!examined().contains("git may run"), "{}", examined());
    let trusted = house.ao(&["trust-project", "my-app"]).succeeds();
    for word in
        [&*format!("`{evil}`"), "`filter.evil.clean` in config", "info/attributes", "hooks/post-checkout"]
    {
        assert!(trusted.out.contains(word), "{word}: {}", trusted.out);
    }
    until("it to be over", || !told().contains("repository-changed"));
    let named = format!("filter.evil.clean = {program}");
    assert!(trusted.out.contains(&named), "{}", trusted.out);
    assert!(examined().contains("for my-app, git may run") && examined().contains(&named), "{}", examined());
}

/// acceptance: G3
#[test]
fn a_base_that_an_agent_moves_changes_nothing_before_a_person_says_so() {
    let house = house("approvals: 2\n");
    let (session, number) = house.worker("Work", "a.txt", "a\\n");
    assert!(house.checked(&number));
    let before = git(&house.repository(), &["rev-parse", "main"]);
    house.agent_runs(&session, &format!("{LOOSE} && git update-ref refs/heads/main $c"));
    let moved = git(&house.repository(), &["rev-parse", "main"]);
    assert_ne!(before, moved);
    let told = || house.ao(&["advise", "--json"]).succeeds().out;
    until("it to be told", || told().contains("repository-changed"));
    assert_eq!(house.approvals(), "2");
    house.ao(&["pr", "merge", &number, "--anyway"]);
    for restart in [false, true] {
        if restart {
            house.stop_and_start();
        }
        assert_eq!(house.approvals(), "2", "restart {restart}");
        assert_eq!(house.pull(&number)["state"], "open");
        assert_eq!(git(&house.repository(), &["rev-parse", "main"]), moved, "nothing has landed on it");
    }
    house.agent_runs(&session, "! ao trust-project my-app");
    assert_eq!(house.approvals(), "2", "an agent cannot confirm it");
    let trusted = house.ao(&["trust-project", "my-app"]).succeeds();
    for word in [&*before, &*moved, &*format!("`{session}`"), "no more rules"] {
        assert!(trusted.out.contains(word), "{word}: {}", trusted.out);
    }
    until("the new policy to count", || house.approvals() == "0");
}
