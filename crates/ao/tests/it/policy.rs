//! What must hold before a pull request is merged: by the file on the base branch, with the daemon and agents at work.

use std::fs;

use serde_json::Value;

use crate::fleet::git;
use crate::forge::{branch, commit};
use crate::house::{House, until};

const POLICY: &str = ".ao/policy.yaml";

/// A house whose repository has this policy on its base branch.
fn house(policy: &str, project: &str) -> House {
    let house = House::new();
    house.configure_project(project, "");
    house.says_policy(policy);
    house.start();
    house
}

impl House {
    /// Puts a policy onto the base branch.
    fn says_policy(&self, policy: &str) {
        commit(&self.repository(), "A policy", &[(POLICY, policy.as_bytes())]);
    }

    #[track_caller]
    fn explained(&self, number: &str) -> Value {
        self.ao(&["policy", "explain", number, "--json"]).succeeds().json()
    }
}

fn rule<'a>(explained: &'a Value, name: &str) -> &'a Value {
    let rules = explained["rules"].as_array().unwrap();
    rules.iter().find(|rule| rule["rule"] == name).unwrap_or_else(|| panic!("{name}: {explained}"))
}

fn against(explained: &Value) -> Vec<&str> {
    let rules = explained["rules"].as_array().unwrap().iter();
    rules.filter(|rule| rule["holds"] == false).map(|rule| rule["rule"].as_str().unwrap()).collect()
}

/// Off, nothing merges; on, only what the policy allows for the head as it is; and nobody but people approves or dismisses.
/// acceptance: F11
#[test]
fn nothing_merges_unasked_before_it_is_switched_on_and_then_only_what_is_allowed_for_this_head() {
    let checks = "    checks: [{ name: unit, command: 'grep -q good a.txt || ! test -e a.txt' }]";
    let house = house("approvals: 1\n", checks);
    let (first, off) = house.worker("First", "b.txt", "b\\n");
    assert!(house.checked(&off));
    house.ao(&["pr", "approve", &off]).succeeds();
    let explained = house.explained(&off);
    assert_eq!((explained["allowed"].clone(), explained["autoMerge"].clone()), (true.into(), false.into()));
    house.turns_until_now(&first);
    assert_eq!(house.pull(&off)["state"], "open", "it is off");
    house.ao(&["pr", "close", &off]).succeeds();

    house.says_policy("approvals: 1\nautoMerge: true\n");
    let (session, number) = house.worker("Second", "a.txt", "bad\\n");
    assert!(!house.checked(&number));
    house.ao(&["pr", "approve", &number]).succeeds();
    assert_eq!(against(&house.explained(&number)), ["checks"]);
    house.agent_runs(&session, "echo good > a.txt && git commit -qam better && git push -q");
    until("the new head to be green", || against(&house.explained(&number)) == ["approvals"]);
    let explained = house.explained(&number);
    let evidence = rule(&explained, "approvals")["evidence"].as_str().unwrap();
    assert!(evidence.contains("given on an older head"), "{evidence}");
    assert_eq!(house.pull(&number)["state"], "open", "what was approved is not what would land");
    let pull = house.pull(&number);
    let reviews = pull["reviews"].as_array().unwrap();
    assert_eq!(reviews.len(), 1, "nobody approved it anew, and nobody took the old one away: {reviews:?}");
    house.ao(&["pr", "approve", &number]).succeeds();
    until("it to land", || house.pull(&number)["state"] == "merged");
    assert_eq!(git(&house.repository(), &["show", "main:a.txt"]), "good");
}

/// acceptance: F12
#[test]
fn every_rule_is_explained_and_a_change_of_the_policy_is_judged_by_the_old_one() {
    let policy = "
approvals: 2
protected: [{ paths: infra/, approvers: [ann] }]
maxLines: 3
freeze: [{ from: 2020-01-01, until: 2099-01-01, why: release week }]
";
    let house = house(policy, "    checks: ['true']");
    let files: &[(&str, &[u8])] = &[("infra/main.tf", b"1\n2\n3\n4\n"), (POLICY, b"approvals: 0\n")];
    branch(&house.repository(), "loosen", files);
    let number = house.propose("loosen", "Loosen the rules");
    assert!(house.checked(&number));
    let explained = house.explained(&number);
    assert_eq!(against(&explained), ["approvals", "policy_file", "size", "freeze", "protected"]);
    for (name, part) in [
        ("approvals", "0 of 2 on "),
        ("policy_file", "a person always has to approve"),
        ("size", " of at most 3"),
        ("freeze", "release week, for another "),
        ("protected", "infra/ touched by infra/main.tf, not approved by ann"),
    ] {
        let rule = rule(&explained, name);
        assert!(rule["evidence"].as_str().unwrap().contains(part), "{rule}");
        assert!(rule["next"].is_string(), "{rule}");
    }
    let told = house.ao(&["policy", "explain", &number]).succeeds();
    for part in ["not allowed", "- freeze", "release week", "next: wait until the freeze is over", "+ labels"]
    {
        assert!(told.out.contains(part), "{part}: {}", told.out);
    }
    house.ao(&["pr", "merge", &number]).exits(20).says("policy, size").says("--anyway");
    assert_eq!(house.pull(&number)["state"], "open");

    // Whoever owns the repository may still decide otherwise, and then the new one counts.
    house.ao(&["pr", "merge", &number, "--anyway"]).succeeds();
    let shown = house.ao(&["policy", "show", "--json"]).succeeds().json();
    let approvals =
        shown["fields"].as_array().unwrap().iter().find(|field| field["key"] == "approvals").unwrap();
    assert_eq!(
        (approvals["value"].clone(), approvals["from"][0].clone()),
        (0.into(), ".ao/policy.yaml on main".into())
    );
}

#[test]
fn a_policy_that_cannot_be_read_lets_nothing_through_and_says_where() {
    let house = house("approvals: 0\nautoMerge: true\n", "    checks: ['true']");
    house.says_policy("approvals: 0\nautoMerg: true\n");
    let (_, number) = house.worker("Work", "a.txt", "a\\n");
    assert!(house.checked(&number));
    let explained = house.explained(&number);
    assert_eq!(against(&explained), ["policy"]);
    let evidence = rule(&explained, "policy")["evidence"].as_str().unwrap().to_owned();
    assert!(evidence.contains(".ao/policy.yaml:2:1: unknown key `autoMerg`"), "{evidence}");
    assert!(evidence.contains("did you mean `autoMerge`?"), "{evidence}");
    house.ao(&["policy", "show"]).succeeds().says("cannot be read").says(".ao/policy.yaml:2:1");
    house.ao(&["policy", "check"]).exits(2).says("did you mean `autoMerge`?");
    let doctor = house.ao(&["doctor", "--json"]);
    assert!(doctor.out.contains("the policy of my-app on main cannot be read"), "{}", doctor.out);
    assert_eq!(house.pull(&number)["state"], "open");
    // Mended, it goes through by itself.
    house.says_policy("approvals: 0\nautoMerge: true\n");
    until("it to land", || house.pull(&number)["state"] == "merged");
}

/// What is found is told by its place, and nowhere by its words. acceptance: X5
#[test]
fn a_secret_in_an_added_line_stands_in_the_way_and_is_never_told() {
    let token = format!("{}_{}", "ghp", "x7Kq2mZp9Lw4Vt8RbN3cYdF6hJ1sGa5QeU0o");
    let house = house(
        "approvals: 0\nsecrets: true\nforbidden: [{ name: no-todo, regex: 'TODO' }]\n",
        "    checks: ['true']\n    policy: { maxFiles: 3 }",
    );
    let text = format!("fine\ntoken = \"{token}\"\nTODO\n");
    // What git takes for binary is looked through as well.
    let binary = b"zero\0\nTODO\n";
    branch(&house.repository(), "leak", &[("src/conf.ini", text.as_bytes()), ("src/data.bin", binary)]);
    let number = house.propose("leak", "Leak");
    assert!(house.checked(&number));
    let explained = house.explained(&number);
    assert_eq!(against(&explained), ["patterns"]);
    let evidence = rule(&explained, "patterns")["evidence"].as_str().unwrap();
    let found = "src/conf.ini:2 (github-pat), src/conf.ini:3 (no-todo), src/data.bin:2 (no-todo)";
    assert_eq!(evidence, format!("found in {found}"));
    for args in [&["policy", "explain", &number][..], &["events", "--json"][..], &["policy", "show"][..]] {
        let told = house.ao(args).succeeds();
        assert!(!format!("{}{}", told.out, told.err).contains(&token), "{args:?}");
    }
    let shown = house.ao(&["policy", "show"]).succeeds();
    let line = |key: &str| shown.out.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
    assert!(
        line("maxFiles").ends_with("config") && line("secrets").contains(".ao/policy.yaml"),
        "{}",
        shown.out
    );
}

#[test]
fn a_policy_is_tried_on_the_cases_beside_it_without_a_daemon() {
    let house = House::new();
    let write = |name: &str, text: &str| {
        fs::create_dir_all(house.repository().join(".ao")).unwrap();
        fs::write(house.repository().join(".ao").join(name), text).unwrap();
    };
    house.ao(&["policy", "check"]).exits(5).says("there is no").says("docs/policy.md");
    write(
        "policy.yaml",
        "approvals: 1\nmaxLines: 100\nsecrets: true\ntrust: { codex: low, default: none }\n",
    );
    house.ao(&["policy", "check"]).succeeds().says("it says: approvals, maxLines, secrets, trust");
    house.ao(&["policy", "test"]).exits(5).says("there are no cases");
    let cases = "
cases:
  - name: an approved change goes through
    given: { agent: codex, approvals: { ann: owner } }
    expect: allowed
  - name: a large one does not
    given: { lines: 500, approvals: { ann: member } }
    expect: { against: size }
  - name: an outsider does not count, and codex is not trusted with code
    given: { agent: codex, approvals: { eve: outsider } }
    expect: { against: [approvals, trust] }
";
    write("policy.test.yaml", cases);
    house.ao(&["policy", "test"]).succeeds().says("3 cases, 0 failed");
    write("policy.test.yaml", &cases.replace("against: size", "against: labels"));
    let told = house.ao(&["policy", "test"]).exits(1);
    for part in [
        "wrong a large one does not",
        "expected `labels` to fail, and it holds",
        "`size` fails, which was not expected",
        "- size: 1 files, 500 lines of at most 100",
    ] {
        assert!(told.out.contains(part), "{part}: {}", told.out);
    }
    let json = house.ao(&["policy", "test", "--json"]).exits(1).json();
    assert_eq!((json["ok"].clone(), json["cases"][1]["ok"].clone()), (false.into(), false.into()));
    write("policy.test.yaml", "cases: [{ name: x, expct: allowed }]\n");
    house.ao(&["policy", "test"]).exits(2).says("did you mean `expect`?");
}
