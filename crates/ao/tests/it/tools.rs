//! Agents of one's own, as they are described under `tools`.

use std::fs;

use ao_testkit::scripted;
use insta::assert_snapshot;

use crate::house::House;
use crate::place::Place;

#[test]
fn what_is_wrong_is_told_with_its_place_and_the_nearest_key() {
    let place = Place::new();
    let app = place.repository("my-app");
    let text = "projects: { my-app: { path: . } }\ntools:\n  mine:\n    program: ./mine\n    promt: typed\n    \
        screen: { busy: '(' }\n  typed:\n    program: x\n    prompt: typed\n    io: pipes\n";
    fs::write(app.join("agent-orchestrator.yaml"), text).unwrap();
    assert_snapshot!(place.run(&app, &["config", "check"]), @"
    exit 2
    -- stderr --
    error: [home]/my-app/agent-orchestrator.yaml:5:5: unknown key `promt` in `tools.mine`
       |
     5 |     promt: typed
       |     ^
     hint: did you mean `prompt`?

    [home]/my-app/agent-orchestrator.yaml:6:21: `busy` is not a valid regular expression: unclosed group
       |
     6 |     screen: { busy: '(' }
       |                     ^

    [home]/my-app/agent-orchestrator.yaml:10:9: `tools.typed` is invalid: `typed` is to be typed at, which needs a terminal; leave `io` out, or say `terminal`
        |
     10 |     io: pipes
        |         ^
    ");
    // A change that would make it wrong is not made.
    let good = "projects: { my-app: { path: . } }\ntools:\n  mine: { program: ./mine }\n";
    fs::write(app.join("agent-orchestrator.yaml"), good).unwrap();
    let set = |key: &str, value: &str| place.run(&app, &["config", "set", key, value]);
    for (key, value, expected) in [
        ("tools.mine.io", "trminal", "did you mean `terminal`?"),
        ("tools.mine.hoks", "true", "did you mean `hooks`?"),
        ("tools.mine.prompt", "typed", "nothing would prove that `mine` takes a message"),
    ] {
        let said = set(key, value);
        assert!(!said.starts_with("exit 0") && said.contains(expected), "{said}");
        assert_eq!(fs::read_to_string(app.join("agent-orchestrator.yaml")).unwrap(), good);
    }
    assert!(set("tools.mine.end-of-options", "end").starts_with("exit 0"));
    let shown = place.run(&app, &["config", "show"]);
    assert!(shown.contains("endOfOptions: "), "{shown}");
}

#[test]
fn every_key_is_explained_in_every_spelling() {
    let place = Place::new();
    let app = place.repository("my-app");
    assert_snapshot!(place.run(&app, &["config-help", "tools.mine.hooks"]), @"
    exit 0
    -- stdout --
    tools.<name>.hooks
        `true` or `false`, by default false
        Whether the program runs `ao hook` to report its turns and its state.

    Example:
      ao config set tools.mine.hooks false
    ");
    let told = place.run(&app, &["config-help", "tools.mine.first_launch"]);
    assert!(told.contains("tools.<name>.firstLaunch") && told.contains("firstLaunch[].question"), "{told}");
    let all = place.run(&app, &["config-help"]);
    for key in ["tools.<name>.program", "tools.<name>.keys.humanQuietMs", "dailyBudget", "hooks"] {
        assert!(all.lines().any(|line| line == key), "`{key}` is not listed");
    }
}

/// The same agent described in each way of writing keys does its work.
#[test]
fn an_agent_described_in_any_spelling_works() {
    let kebab = |text: &str| {
        text.replace("first_launch", "first-launch").replace("conversation_file", "conversation-file")
    };
    let camel = |text: &str| {
        text.replace("first_launch", "firstLaunch").replace("conversation_file", "conversationFile")
    };
    assert!(scripted::MANIFEST.contains("first_launch"));
    for spelled in [&kebab as &dyn Fn(&str) -> String, &camel] {
        let house = House::new();
        let text = fs::read_to_string(house.config_file()).unwrap();
        fs::write(house.config_file(), spelled(&text)).unwrap();
        house.ao(&["config", "check"]).succeeds();
        house.start();
        let session = house.session("Say hello", "[[say hello]]");
        house.wait_for(&session, "idle");
    }
}

#[test]
fn own_agents_are_listed_among_the_plugins() {
    let place = Place::new();
    let app = place.repository("my-app");
    let text = "projects: { my-app: { path: . } }\ntools: { mine: { program: ./mine }, codex: { program: my-codex } }\n";
    fs::write(app.join("agent-orchestrator.yaml"), text).unwrap();
    let listed = place.run(&app, &["plugin", "list"]);
    for (name, program) in [("mine", "./mine"), ("codex", "my-codex")] {
        let lines: Vec<&str> =
            listed.lines().filter(|line| line.split_whitespace().nth(1) == Some(name)).collect();
        assert!(matches!(lines[..], [one] if one.contains(program)), "{listed}");
    }
    assert!(place.run(&app, &["plugin", "search", "mine"]).contains("your own agent"));
}
