//! Issues that are picked up without anybody's word: by whom, how many at a time, after which others, and each once.

use serde_json::Value;

use crate::house::{House, until};

/// What waits for each issue, by number.
fn planned(house: &House, list: &str) -> Vec<(String, String)> {
    let plan = house.ao(&["plan", "--json"]).succeeds().json();
    let word = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    let list = plan[list].as_array().unwrap().iter();
    list.map(|one| (word(one, "issue"), word(one, "reason"))).collect()
}

/// The sessions that there are: the issue, the agent and the state of each.
fn sessions(house: &House) -> Vec<Value> {
    let listed = house.ao(&["list", "--json"]).succeeds().json();
    listed["sessions"].as_array().unwrap().clone()
}

fn of_issue(house: &House, issue: &str) -> Vec<Value> {
    sessions(house).into_iter().filter(|session| session["issue"] == issue).collect()
}

/// acceptance: F10
#[test]
fn an_issue_that_is_blocked_is_begun_when_its_blocker_is_closed_and_each_once() {
    let house = House::bare();
    crate::fleet::make_repository(&house.repository());
    house.configure_project("    autoAssign: { excludeLabels: [later], approvalLabel: agents-welcome }", "");
    house.start();
    house.ao(&["issue", "add", "First", "--label", "later"]).succeeds();
    house.ao(&["issue", "add", "Second", "--blocked-by", "1"]).succeeds();
    until("the second to be known", || !planned(&house, "waiting").is_empty());
    assert_eq!(planned(&house, "waiting"), [("my-app#2".to_owned(), "blocked_by".to_owned())]);
    house.ao(&["plan"]).succeeds().says("it is blocked by my-app#1");
    assert!(sessions(&house).is_empty(), "{:?}", sessions(&house));

    house.ao(&["issue", "close", "1"]).succeeds();
    until("the second to begin", || of_issue(&house, "2").len() == 1);
    house.wait_for("app-2", "idle");
    assert!(house.turns("app-2")[0].contains("Second"), "{:?}", house.turns("app-2"));

    // A daemon that begins anew, and a session that ends, begin nothing a second time.
    house.ao(&["stop"]).succeeds();
    house.start();
    house.ao(&["stop", "app-2"]).succeeds();
    house.ao(&["issue", "edit", "2", "--title", "Second, in other words"]).succeeds();
    house.ao(&["issue", "add", "Third"]).succeeds();
    until("the third to begin", || of_issue(&house, "3").len() == 1);
    assert_eq!((of_issue(&house, "1").len(), of_issue(&house, "2").len()), (0, 1));
}

/// What was known when an issue was picked is not what counts when its agent is started.
#[test]
fn an_issue_that_is_gone_or_excluded_by_now_gets_no_agent() {
    let house = House::bare();
    crate::fleet::make_repository(&house.repository());
    let cap = |max: u32| {
        house.configure_project(
            "    tracker: { plugin: local, keep: files }\n    autoAssign: { excludeLabels: [later] }",
            &format!("lifecycle: {{ maxParallelAgents: {max} }}\n"),
        );
    };
    cap(1);
    house.start();
    for title in ["One", "Two", "Three", "Four"] {
        house.ao(&["issue", "add", title]).succeeds();
    }
    until("one to run and the others to wait", || {
        of_issue(&house, "1").len() == 1 && planned(&house, "next").len() == 3
    });
    house.ao(&["stop"]).succeeds();
    for file in std::fs::read_dir(house.repository().join(".ao/issues")).unwrap() {
        let path = file.unwrap().path();
        match path.file_name().unwrap().to_str().unwrap().split('-').next() {
            Some("2") => std::fs::remove_file(path).unwrap(),
            Some("3") => {
                std::fs::write(path, "---\ntitle: Three\nlabels: [later]\nstate: open\n---\n").unwrap();
            }
            _ => {}
        }
    }
    cap(4);
    house.start();
    until("the fourth to begin and the others to be let go", || {
        let waits = [planned(&house, "next"), planned(&house, "waiting")].concat();
        of_issue(&house, "4").len() == 1 && waits.is_empty()
    });
    assert_eq!((of_issue(&house, "2"), of_issue(&house, "3")), (vec![], vec![]));
}

/// What a program wrote may be a stranger's words in its mouth.
#[test]
fn an_issue_that_a_bot_wrote_waits_for_a_person() {
    let house = House::bare();
    crate::fleet::make_repository(&house.repository());
    house.configure_project("    autoAssign: true", "");
    house.start();
    let list = r#"[{"number": 9, "title": "More of it", "state": "open", "author": {"login": "app/x", "is_bot": true}}]"#;
    std::fs::write(house.path("issues.json"), list).unwrap();
    house.ao(&["issue", "import", &house.path("issues.json").display().to_string()]).succeeds();
    until("the issue to be known", || !planned(&house, "waiting").is_empty());
    assert_eq!(planned(&house, "waiting"), [("my-app#1".to_owned(), "untrusted".to_owned())]);
    house.ao(&["advise"]).succeeds().says("ao issue show 1 --project my-app");
    assert!(sessions(&house).is_empty(), "{:?}", sessions(&house));
    house.ao(&["spawn", "1"]).succeeds();
    until("it to begin", || of_issue(&house, "1").len() == 1);
}

/// acceptance: L6
#[test]
fn of_many_issues_only_so_many_run_and_the_rest_is_a_queue_that_survives_a_restart() {
    let house = House::with("lifecycle: { maxParallelAgents: 4 }\n");
    house.configure_project("    autoAssign: true", "lifecycle: { maxParallelAgents: 4 }\n");
    house.start();
    for n in 1..=12 {
        house
            .ao(&["issue", "add", &format!("Issue {n}"), "--priority", if n == 12 { "9" } else { "0" }])
            .succeeds();
    }
    let running = || sessions(&house).len();
    until("four to run", || running() == 4);
    until("the others to wait", || planned(&house, "next").len() == 8);
    let waiting = planned(&house, "next");
    assert!(waiting.iter().all(|(_, reason)| reason == "cap"), "{waiting:?}");
    assert_eq!(waiting[0].0, "my-app#12", "the urgent one is first");
    assert!(house.agents().len() <= 4);
    house.ao(&["plan"]).succeeds().says("4 of 4 slots").says("my-app#12").says("round 2");
    house.ao(&["plan", "--mermaid"]).succeeds().says("graph LR").says("round 2");

    house.ao(&["stop"]).succeeds();
    house.start();
    assert_eq!(planned(&house, "next"), waiting, "the queue is what it was");
    let one = sessions(&house)[0]["name"].as_str().unwrap().to_owned();
    house.ao(&["session", "kill", &one]).succeeds();
    until("the urgent one to begin", || of_issue(&house, "12").len() == 1);
    assert!(house.agents().len() <= 4);
}

/// Too little memory: nothing is begun, and the plan says why.
///
/// acceptance: L6
#[test]
fn without_memory_issues_wait_and_say_so() {
    let house = House::bare();
    crate::fleet::make_repository(&house.repository());
    let lifecycle = |size: &str| format!("lifecycle: {{ minFreeMemory: {size} }}\n");
    house.configure_project("    autoAssign: true", &lifecycle("900TB"));
    house.start();
    house.ao(&["issue", "add", "One"]).succeeds();
    let waits = [("my-app#1".to_owned(), "memory".to_owned())];
    until("it to wait for memory", || planned(&house, "next") == waits);
    house.ao(&["plan"]).succeeds().says("of memory are free");
    assert_eq!((planned(&house, "running"), house.agents()), (vec![], vec![]));
    house.configure_project("    autoAssign: true", &lifecycle("1MB"));
    until("it to begin", || planned(&house, "running").len() == 1);
}

/// The example of the documents, as it is written but for the programs that it names, which are scripted here.
#[test]
fn labels_route_issues_to_the_specialists_of_the_documents() {
    let house = House::bare();
    crate::fleet::make_repository(&house.repository());
    let surface = include_str!("../fixtures/surface.md");
    let start = surface.find("agents:\n  - id: frontend-specialist").unwrap();
    let example = &surface[start..start + surface[start..].find("```").unwrap()];
    let example =
        example.replace("runtime: tmux", "runtime: process").replace("runtime: docker", "runtime: process");
    let mut text =
        String::from("defaults: { runtime: process, agent: scripted, tracker: local, notifiers: [] }\n");
    text += "projects:\n  my-app:\n    path: .\n    sessionPrefix: app\npower: { preventIdleSleep: false }\n";
    let tools = ["scripted", "claude-code", "aider"].map(|tool| {
        format!(
            "  {tool}: {}\n",
            house.manifest().replace("\"name\":\"scripted\"", &format!("\"name\":\"{tool}\""))
        )
    });
    text += &format!("tools:\n{}", tools.concat());
    text += &example.replace("  auto_assign: true", "  auto_assign: true\n  enabled: false");
    std::fs::write(house.config_file(), text).unwrap();
    house.start();
    house.ao(&["issue", "add", "Round corners", "--label", "ui"]).succeeds();
    house.ao(&["issue", "add", "A faster query", "--label", "api"]).succeeds();
    house.ao(&["issue", "add", "Say it in words", "--label", "docs"]).succeeds();
    until("all to begin", || sessions(&house).len() == 3);
    let plan = house.ao(&["plan", "--json"]).succeeds().json();
    let of = |issue: &str| {
        let running = plan["running"].as_array().unwrap();
        let found = running.iter().find(|one| one["issue"] == issue);
        found.and_then(|one| one["agent"].as_str()).unwrap_or_default().to_owned()
    };
    assert_eq!(of("my-app#1"), "frontend-specialist", "{plan}");
    assert_eq!(of("my-app#2"), "backend-specialist", "{plan}");
    assert_eq!(of("my-app#3"), "scripted", "{plan}");
    house.wait_for("app-1", "idle");
    let told = house.turns("app-1");
    assert!(told[0].contains("What you are good at: react-development, css-styling."), "{told:?}");
}
