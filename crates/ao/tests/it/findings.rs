//! What is configured and cannot work: `ao config check`, `ao start` and `ao doctor` say it alike.

use std::fs;

use serde_json::Value;

use crate::fleet::{git, make_repository};
use crate::house::House;

/// What was found, in words: of each of the three commands.
struct Said {
    check: Vec<String>,
    start: Vec<String>,
    doctor: Vec<String>,
}

fn texts(list: &Value, key: &str) -> Vec<String> {
    let mut texts: Vec<String> = list
        .as_array()
        .unwrap_or_else(|| panic!("{list}"))
        .iter()
        .map(|found| found[key].as_str().unwrap().to_owned())
        .collect();
    texts.sort();
    texts
}

impl House {
    /// Asks the three commands in a folder.
    fn ask_all(&self, folder: &str) -> Said {
        let folder = self.path(folder);
        let check = self.ao_in(&folder, &["config", "check", "--json"]).json();
        let start = self.ao_in(&folder, &["start", "--port", "0", "--json"]).succeeds().json();
        // The machine may lack something else.
        let doctor = self.ao_in(&folder, &["doctor", "--json"]).json();
        let ids = ["tracker", "scm", "notifier", "config", "project"];
        let found: Vec<Value> = doctor["checks"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|check| check["level"] != "ok" && ids.contains(&check["id"].as_str().unwrap()))
            .cloned()
            .collect();
        let doctor = texts(&found.into(), "what");
        let mut found = texts(&check["warnings"], "what");
        if check["ok"] == false {
            found.extend(texts(&check["problems"], "what"));
        }
        Said { check: found, start: texts(&start["warnings"], "what"), doctor }
    }
}

/// acceptance: J8
#[test]
fn a_branch_that_no_session_can_work_on_starts_nothing() {
    let house = House::new();
    house.start();
    for (branch, why) in
        [("main", "changes land on"), ("bad name", "no name"), ("a..b", "no name"), ("-x", "no name")]
    {
        let branch = format!("--branch={branch}");
        house.ao(&["new", "It", &branch]).exits(1).says(why);
    }
    let listed = house.ao(&["list", "--json"]).succeeds().json();
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(0), "nothing is half made");
}

/// acceptance: J8 (trackers, forges, channels, a desktop, keys without effect)
#[test]
fn check_start_and_doctor_say_the_same_of_what_cannot_work() {
    for (project, more, place, words) in [
        (
            "    tracker: github",
            "",
            "projects.my-app.tracker",
            "the tracker `github` is not available in this version yet",
        ),
        (
            "    tracker: jira",
            "",
            "projects.my-app.tracker",
            "the tracker `jira` is not available in this version yet",
        ),
        (
            "    scm: gitlab",
            "",
            "projects.my-app.scm",
            "the scm `gitlab` is not available in this version yet",
        ),
        (
            "    notifiers: [slack]",
            "",
            "",
            "the notifier `slack` cannot send: notifier `slack` has no `webhookUrl`",
        ),
        ("    notifiers: [telegram]", "", "", "TELEGRAM_BOT_TOKEN"),
        (
            "    notifiers: [hook]",
            "notifiers: { hook: { plugin: webhook } }\n",
            "",
            "notifier `hook` has no `url`",
        ),
        (
            "    notifiers: [desktop]",
            "",
            "",
            "the notifier `desktop` shows nothing: there is no desktop here",
        ),
    ] {
        let house = House::new();
        house.configure_project(project, more);
        let Said { check, start, doctor } = house.ask_all("my-app");
        assert_eq!(check.len(), 1, "{project}: {check:?}");
        assert!(check[0].contains(words), "{project}: {check:?}");
        assert_eq!(start, check);
        assert_eq!(doctor.len(), 1, "{doctor:?}");
        // The doctor names the place in the same line.
        let file = house.config_file();
        let text = fs::read_to_string(&file).unwrap();
        let line = 1 + text.lines().position(|line| line.trim_start() == project.trim_start()).unwrap();
        let line = if more.is_empty() { line } else { text.lines().count() };
        assert_eq!(doctor[0], format!("{}:{line}: {}", file.display(), check[0]));
        // People see the place, the reason and the way out, and are not told that all is well.
        // A name that is not there is refused; what lacks something on this machine is a warning.
        let (word, code) = if place.is_empty() { ("warning", 0) } else { ("problem", 2) };
        let told =
            house.ao(&["config", "check"]).exits(code).says(&format!("agent-orchestrator.yaml:{line}:"));
        assert!(!told.out.contains("ok  "), "{}", told.out);
        let told = house.ao(&["start"]).succeeds().says(&format!("{word}:")).says(&format!("1 {word} above"));
        if project.contains("tracker") {
            assert!(!told.out.contains("ao spawn ISSUE"), "{}", told.out);
            assert!(told.err.contains(&format!("ao config set {place} local")), "{}", told.err);
        }
    }
}

/// acceptance: J8 (programs of own agents, default branches, required checks)
#[test]
fn what_the_machine_or_the_repository_lacks_is_named_with_its_line() {
    let house = House::new();
    let policy = house.repository().join(".ao/policy.yaml");
    fs::create_dir(policy.parent().unwrap()).unwrap();
    fs::write(&policy, "requiredChecks: [docs]\n").unwrap();
    git(&house.repository(), &["add", ".ao"]);
    git(&house.repository(), &["commit", "--quiet", "-m", "Policy"]);
    let project = "    checks: [{ name: tests, command: 'true' }]\n    policy: { requiredChecks: [test] }";
    house.configure_project(project, "  mine: { program: no-such-agent }\n");
    let told = house.ao(&["config", "check"]).succeeds();
    let text = fs::read_to_string(house.config_file()).unwrap();
    for (begins, words) in [
        ("  mine:", "the agent `mine` is the program `no-such-agent`, which is not installed"),
        ("    policy:", "`requiredChecks` names `test`, which is no check of `my-app`"),
    ] {
        let line = 1 + text.lines().position(|line| line.starts_with(begins)).unwrap();
        let place =
            told.err.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{}", told.err));
        assert!(place.contains(&format!("agent-orchestrator.yaml:{line}:")), "{place}");
    }
    for words in ["did you mean `tests`?", "policy.yaml: `requiredChecks` names `docs`"] {
        assert!(told.err.contains(words), "{words}: {}", told.err);
    }
    house
        .ao(&["doctor"])
        .exits(3)
        .says("mine is configured, and its program `no-such-agent` is not installed");

    house.configure_project("    defaultBranch: mian", "");
    house
        .ao(&["config", "check"])
        .exits(2)
        .says("the repository of `my-app` has no branch `mian`")
        .says("ao config set projects.my-app.defaultBranch main");
    let line = 1 + fs::read_to_string(house.config_file())
        .unwrap()
        .lines()
        .position(|line| line.ends_with("mian"))
        .unwrap();
    house
        .ao(&["doctor"])
        .exits(3)
        .says(&format!("agent-orchestrator.yaml:{line}: the repository of `my-app`"));
}

/// acceptance: J8
#[test]
fn a_refusal_names_the_next_step() {
    let house = House::new();
    house.start();
    house.ao(&["issue", "add", "Done already"]).succeeds();
    house.ao(&["issue", "close", "1"]).succeeds();
    house.ao(&["spawn", "1"]).exits(1).says("my-app#1 is closed").says("`ao issue reopen my-app#1`");
    house.ao(&["spawn", "99"]).exits(5).says("`ao issue list --project my-app`");
    house.ao(&["pr", "show", "99"]).exits(5).says("`ao pr list --state all`");
    house.ao(&["issue", "show", "99"]).exits(5).says("`ao issue list --state all`");
    let session = house.session("Soon over", "[[say hello]]");
    house.ao(&["stop", &session]).succeeds();
    let restore = format!("ao session restore {session}");
    for command in ["resume", "pause"] {
        house.ao(&[command, &session]).exits(1).says("has ended: stopped by").says(&restore);
    }
    let name = git(&house.repository(), &["symbolic-ref", "--short", "HEAD"]);
    git(&house.repository(), &["switch", "--quiet", "-c", "later"]);
    git(&house.repository(), &["commit", "--quiet", "--allow-empty", "-m", "Later"]);
    git(&house.repository(), &["switch", "--quiet", &name]);
    house.ao(&["pr", "create", "--head", "later", "--title", "Later", "--draft"]).succeeds();
    house.ao(&["pr", "merge", "1"]).exits(20).says("a draft").says("`ao pr ready`");
}

/// acceptance: J8
#[test]
fn a_setting_that_a_channel_does_not_have_is_refused_by_all_three() {
    let house = House::with("notifiers:\n  team: { plugin: slack, webhokUrl: 'https://hooks.example/x' }\n");
    let words = "`webhokUrl` is not a setting of notifier `team`";
    house.ao(&["config", "check"]).exits(2).says(words).says("agent-orchestrator.yaml:");
    house.ao(&["start", "--port", "0"]).exits(2).says(words);
    house.ao(&["doctor"]).exits(3).says(words);
    house.ao(&["status"]).exits(6);
    assert!(!house.path("data/ao.sock").exists(), "nothing was started");
}

#[test]
fn what_works_has_no_warning_and_a_default_that_nobody_wrote_has_none_either() {
    let house = House::new();
    let Said { check, start, doctor } = house.ask_all("my-app");
    assert_eq!((check, start, doctor), (vec![], vec![], vec![]));
    house.ao(&["config", "check"]).succeeds().says("ok  ");
    house.ao(&["start"]).succeeds().says("ao spawn ISSUE");
    let text = fs::read_to_string(house.config_file()).unwrap();
    fs::write(house.config_file(), text.replace(", notifiers: []", "")).unwrap();
    let told = house.ao(&["config", "check", "--json"]).succeeds().json();
    assert_eq!(told["warnings"], Value::Array(vec![]), "nobody has written `desktop`");
}

/// acceptance: J8 (keys without effect)
#[test]
fn keys_of_a_second_project_that_have_no_say_are_named() {
    let house = House::with("lifecycle: { maxParallelAgents: 3 }\n");
    house.start();
    let docs = house.path("docs");
    make_repository(&docs);
    let text = house.usual_config("docs")
        + "port: 4567\nlifecycle: { maxParallelAgents: 3 }\nnotifiers:\n  team: { plugin: webhook, url: 'https://x.example' }\n";
    fs::write(docs.join("agent-orchestrator.yaml"), &text).unwrap();
    let Said { check, start, doctor } = house.ask_all("docs");
    assert_eq!(check, start);
    assert_eq!(doctor.len(), check.len());
    let keys: Vec<&str> = check.iter().filter_map(|what| what.split('`').nth(1)).collect();
    assert_eq!(keys, ["notifiers", "port"], "the same number of agents is no matter: {check:?}");
    let line = 1 + text.lines().position(|line| line.starts_with("port:")).unwrap();
    house
        .ao_in(&docs, &["config", "check"])
        .succeeds()
        .says(&format!("docs/agent-orchestrator.yaml:{line}:"))
        .says(&format!("`{}` was registered first", house.config_file().display()));
    // The first one speaks for all, so all that it says has its effect.
    let told = house.ao(&["config", "check", "--json"]).succeeds().json();
    assert_eq!(told["warnings"], Value::Array(vec![]));
}

/// acceptance: J8
#[test]
fn a_first_file_says_what_is_not_there_yet_and_advertises_only_what_works() {
    let house = House::bare();
    make_repository(&house.repository());
    house
        .ao(&["init", "--tracker", "github", "--agent", "claude-code", "--runtime", "process"])
        .succeeds()
        .says("the tracker `github` is not available in this version yet")
        .says("ao config set defaults.tracker local");
    house.ao(&["init", "--agent", "claude-code", "--runtime", "process", "--force"]).succeeds();
    let text = fs::read_to_string(house.config_file()).unwrap();
    for name in ["github", "linear", "jira", "gitlab"] {
        assert!(!text.contains(name), "{text}");
    }
    let told = house.ao(&["config", "check", "--json"]).succeeds().json();
    // The machine may lack the agent's program.
    let ids = texts(&told["warnings"], "id");
    assert!(ids.iter().all(|id| id == "agent" || id == "runtime"), "{told}");
}
