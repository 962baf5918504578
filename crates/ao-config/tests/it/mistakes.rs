//! Every mistake is shown at its position, with a correction.

use ao_config::catalog::MissingPlugin;
use camino::Utf8Path;
use insta::assert_snapshot;

use super::support::{places, read, wrong_with};

#[test]
fn an_unknown_key_comes_with_the_nearest_right_one() {
    assert_snapshot!(wrong_with("defaults:\n  runtim: tmux\n"), @r"
    ao.yaml:2:3: unknown key `runtim` in `defaults`
       |
     2 |   runtim: tmux
       |   ^
     hint: did you mean `runtime`?
    ");
    assert_snapshot!(wrong_with("projects:\n  app:\n    path: /x\n    default_brnch: main\n"), @r"
    ao.yaml:4:5: unknown key `default_brnch` in `app`
       |
     4 |     default_brnch: main
       |     ^
     hint: did you mean `defaultBranch`?
    ");
    assert_snapshot!(wrong_with("reactions:\n  ci-faild:\n    auto: true\n"), @r"
    ao.yaml:2:3: unknown key `ci-faild` in `reactions`
       |
     2 |   ci-faild:
       |   ^
     hint: did you mean `ci-failed`? a custom event needs a name less like it, and an `action`
    ");
    assert_snapshot!(wrong_with("power:\n  spaceship: true\n"), @r"
    ao.yaml:2:3: unknown key `spaceship` in `power`
       |
     2 |   spaceship: true
       |   ^
     hint: known here: preventIdleSleep
    ");
}

#[test]
fn a_wrong_type_is_told_in_words() {
    assert_snapshot!(wrong_with("port: high\n"), @r"
    ao.yaml:1:7: `port` has to be a whole number, but is `high`
       |
     1 | port: high
       |       ^
    ");
    assert_snapshot!(wrong_with("power:\n  preventIdleSleep: often\n"), @r"
    ao.yaml:2:21: `preventIdleSleep` has to be `true` or `false`, but is `often`
       |
     2 |   preventIdleSleep: often
       |                     ^
    ");
    assert_snapshot!(wrong_with("projects: [my-app]\n"), @r"
    ao.yaml:1:11: `projects` has to be a mapping, but is a list
       |
     1 | projects: [my-app]
       |           ^
    ");
    assert_snapshot!(wrong_with("defaults:\n  notifiers: desktop\n"), @r"
    ao.yaml:2:14: `notifiers` has to be a list, but is `desktop`
       |
     2 |   notifiers: desktop
       |              ^
    ");
    assert_snapshot!(wrong_with("defaults:\n  runtime: [tmux]\n"), @r"
    ao.yaml:2:12: `runtime` has to be a string or a mapping, but is a list
       |
     2 |   runtime: [tmux]
       |            ^
    ");
}

#[test]
fn times_sizes_and_numbers_have_to_make_sense() {
    assert_snapshot!(wrong_with("lifecycle:\n  stuckAfter: 10 parsecs\n"), @r"
    ao.yaml:2:15: `10 parsecs` is not a duration: write a number and a unit, such as `30s`, `15m`, `2h` or `7d`
       |
     2 |   stuckAfter: 10 parsecs
       |               ^
    ");
    assert_snapshot!(wrong_with("lifecycle:\n  stuckAfter: 30\n"), @r"
    ao.yaml:2:15: `stuckAfter` has to be a duration, but is `30`
       |
     2 |   stuckAfter: 30
       |               ^
     hint: add a unit, such as `30s`, `15m` or `2h`
    ");
    assert_snapshot!(wrong_with("lifecycle:\n  minFreeMemory: lots\n"), @r"
    ao.yaml:2:18: `lots` is not a size: write a number and a unit, such as `512MB` or `2GB`
       |
     2 |   minFreeMemory: lots
       |                  ^
    ");
    assert_snapshot!(wrong_with("port: 0\n"), @r"
    ao.yaml:1:7: `port` has to be at least 1, but is 0
       |
     1 | port: 0
       |       ^
    ");
    assert_snapshot!(wrong_with("port: 70000\n"), @r"
    ao.yaml:1:7: `port` can be at most 65535, but is 70000
       |
     1 | port: 70000
       |       ^
    ");
    assert_snapshot!(wrong_with("lifecycle:\n  restarts: -1\n"), @r"
    ao.yaml:2:13: `restarts` has to be at least 0, but is -1
       |
     2 |   restarts: -1
       |             ^
    ");
    assert_snapshot!(wrong_with("lifecycle:\n  restarts: 99999999999\n"), @r"
    ao.yaml:2:13: `restarts` can be at most 4294967295, but is 99999999999
       |
     2 |   restarts: 99999999999
       |             ^
    ");
}

#[test]
fn unknown_names_come_with_the_nearest_right_one() {
    assert_snapshot!(wrong_with("defaults:\n  runtime: tumx\n"), @r"
    ao.yaml:2:12: there is no runtime called `tumx`
       |
     2 |   runtime: tumx
       |            ^
     hint: did you mean `tmux`?
    ");
    assert_snapshot!(wrong_with("defaults:\n  agent: claude\n"), @r"
    ao.yaml:2:10: there is no agent called `claude`
       |
     2 |   agent: claude
       |          ^
     hint: did you mean `claude-code`?
    ");
    assert_snapshot!(wrong_with("defaults:\n  notifiers: [desktop, slak]\n"), @r"
    ao.yaml:2:24: there is no notifier called `slak`
       |
     2 |   notifiers: [desktop, slak]
       |                        ^
     hint: did you mean `slack`?
    ");
    assert_snapshot!(wrong_with("notifiers:\n  team: { plugin: slakc }\n"), @r"
    ao.yaml:2:19: there is no notifier called `slakc`
       |
     2 |   team: { plugin: slakc }
       |                   ^
     hint: did you mean `slack`?
    ");
    assert_snapshot!(wrong_with("notificationRouting:\n  urgent: [pager]\n"), @r"
    ao.yaml:2:12: there is no notifier called `pager`
       |
     2 |   urgent: [pager]
       |            ^
     hint: known names: desktop, slack, discord, composio, webhook, openclaw, telegram
    ");
    assert_snapshot!(wrong_with("reactions:\n  approved: { action: notfy }\n"), @r"
    ao.yaml:2:23: `action` cannot be `notfy`
       |
     2 |   approved: { action: notfy }
       |                       ^
     hint: did you mean `notify`?
    ");
    assert_snapshot!(wrong_with("agents:\n  - id: x\n    tool: codx\n"), @r"
    ao.yaml:3:11: there is no agent called `codx`
       |
     3 |     tool: codx
       |           ^
     hint: did you mean `codex`?
    ");
}

#[test]
fn names_of_ones_own_are_known() {
    let text = "notifiers:\n  team: { plugin: slack }\ntools:\n  mine: { program: mine }\nagents:\n  - { id: expert, tool: mine }\n\
        defaults: { agent: expert, notifiers: [team] }\norchestrator: { agent: mine }\n";
    assert_eq!(wrong_with(text), "nothing");
}

#[test]
fn two_of_the_same_are_one_too_many() {
    assert_snapshot!(wrong_with("port: 1\nport: 2\n"), @r"
    ao.yaml:2:1: `port` appears twice
       |
     2 | port: 2
       | ^
    ");
    assert_snapshot!(wrong_with("reactions:\n  ci-failed: {}\n  ci_failed: {}\n"), @r"
    ao.yaml:3:3: `ci-failed` and `ci_failed` are the same key: remove one
       |
     3 |   ci_failed: {}
       |   ^
    ");
    assert_snapshot!(wrong_with("projects:\n  a: { path: /x }\n  b: { path: /x/y/.. }\n"), @r"
    ao.yaml:3:14: `b` and `a` have the same path
       |
     3 |   b: { path: /x/y/.. }
       |              ^
     hint: two projects cannot share a checkout: remove one
    ");
    assert_snapshot!(wrong_with("agents:\n  - { id: x, tool: codex }\n  - { id: x, tool: aider }\n"), @r"
    ao.yaml:3:11: there is another agent called `x`
       |
     3 |   - { id: x, tool: aider }
       |           ^
    ");
}

#[test]
fn text_that_is_no_yaml_is_shown() {
    assert_snapshot!(wrong_with("defaults:\n\truntime: tmux\n"), @r"
    ao.yaml:2:2: tabs disallowed within this context (block indentation)
       |
     2 |  runtime: tmux
       |  ^
     hint: YAML is indented by spaces, never by tabs
    ");
    assert_snapshot!(wrong_with("defaults: [\n"), @r"
    ao.yaml:1:11: unclosed bracket '['
       |
     1 | defaults: [
       |           ^
    ");
    assert_snapshot!(wrong_with("port: 1\n---\nport: 2\n"), @r"
    ao.yaml:2:1: a configuration is one document: remove everything after `---`
       |
     2 | ---
       | ^
    ");
    assert_snapshot!(wrong_with("- port\n"), @r"
    ao.yaml:1:1: a configuration has to be a mapping, but this is a list
       |
     1 | - port
       | ^
    ");
    assert_snapshot!(wrong_with("? [a]\n: b\n"), @r"
    ao.yaml:1:3: a key has to be a string
       |
     1 | ? [a]
       |   ^
    ");
}

#[test]
fn references_that_lead_nowhere_are_shown() {
    assert_snapshot!(wrong_with("port: ${PORT}\n"), @r"
    ao.yaml:1:7: the variable `PORT` is not set
       |
     1 | port: ${PORT}
       |       ^
     hint: set it, or write `${PORT:-…}` with a fallback
    ");
    assert_snapshot!(wrong_with("defaults:\n  agent: ${AGENT\n"), @r"
    ao.yaml:2:10: `${` is not closed by a `}`
       |
     2 |   agent: ${AGENT
       |          ^
     hint: write `$${` for a literal `${`
    ");
    assert_snapshot!(wrong_with("port: ${PORT:-many}\n"), @r"
    ao.yaml:1:7: `port` has to be a whole number, but is `${PORT:-many}`
       |
     1 | port: ${PORT:-many}
       |       ^
    ");
}

#[test]
fn projects_have_to_make_sense() {
    assert_snapshot!(wrong_with("projects:\n  my app: { path: /x }\n"), @r"
    ao.yaml:2:3: `my app` is not a valid project name: use letters, digits, `-`, `_` and `.` only
       |
     2 |   my app: { path: /x }
       |   ^
    ");
    assert_snapshot!(wrong_with("projects:\n  app:\n    repo: a/b\n"), @r"
    ao.yaml:3:5: `path` is missing in `app`
       |
     3 |     repo: a/b
       |     ^
    ");
    assert_snapshot!(wrong_with("projects:\n  app:\n"), @r"
    ao.yaml:2:3: `path` is missing in `app`
       |
     2 |   app:
       |   ^
    ");
    assert_snapshot!(wrong_with("projects:\n  app:\n    path: /x\n    ports: { names: [A, B], first: 4000, last: 4000 }\n"), @r"
    ao.yaml:4:12: 2 ports do not fit between 4000 and 4000
       |
     4 |     ports: { names: [A, B], first: 4000, last: 4000 }
       |            ^
    ");
    assert_snapshot!(wrong_with("projects:\n  app:\n    path: ~bob/x\n"), @r"
    ao.yaml:3:11: `~bob/x` is the home folder of another user: write the full path
       |
     3 |     path: ~bob/x
       |           ^
    ");
    assert_snapshot!(wrong_with("projects:\n  app:\n    path: /x\n    env: { secrets: { A: { env: B, file: c } } }\n"), @r"
    ao.yaml:4:26: the secret `A` needs exactly one of `env` and `file`
       |
     4 |     env: { secrets: { A: { env: B, file: c } } }
       |                          ^
    ");
    assert_snapshot!(wrong_with("reactions:\n  label-added: { condition: label is bug }\n"), @r"
    ao.yaml:2:29: `condition` is not a valid condition: `label is bug` is not a valid expression: mismatched input 'is'
       |
     2 |   label-added: { condition: label is bug }
       |                             ^
     hint: write one such as `label == 'needs-tests'`, and combine several with `&&` or `||`
    ");
}

#[test]
fn dialects_do_not_mix_in_silence() {
    assert_snapshot!(wrong_with("projects:\n  a: { path: /x }\nruntime: { plugin: tmux }\n"), @r"
    ao.yaml:3:1: unknown key `runtime` in the configuration
       |
     3 | runtime: { plugin: tmux }
       | ^
     hint: did you mean `runtime` in `defaults`?
    ");
    assert_snapshot!(wrong_with("agent: { model: x }\n"), @r"
    ao.yaml:1:1: `plugin` is missing in `agent`
       |
     1 | agent: { model: x }
       | ^
    ");
}

#[test]
fn the_daemon_is_not_opened_to_others_by_chance() {
    assert_snapshot!(wrong_with("server:\n  listen: 0.0.0.0\n"), @r"
    ao.yaml:2:11: other computers can reach `0.0.0.0`
       |
     2 |   listen: 0.0.0.0
       |           ^
     hint: if you want that, set `server.allowRemote: true`
    ");
    assert_eq!(wrong_with("server: { listen: 0.0.0.0, allowRemote: true }\n"), "nothing");
}

#[test]
fn several_mistakes_are_told_at_once() {
    assert_snapshot!(wrong_with("prot: 1\nreactions:\n  ci-failed:\n    retires: 2\n    escalateAfter: soon\n"), @r"
    ao.yaml:1:1: unknown key `prot` in the configuration
       |
     1 | prot: 1
       | ^
     hint: did you mean `port`?

    ao.yaml:4:5: unknown key `retires` in `ci-failed`
       |
     4 |     retires: 2
       |     ^
     hint: did you mean `retries`?

    ao.yaml:5:20: `soon` is not a duration: write a number and a unit, such as `30s`, `15m`, `2h` or `7d`
       |
     5 |     escalateAfter: soon
       |                    ^
    ");
}

/// Returns all mistakes in the agents that a text describes, as displayed.
fn wrong_tools(text: &str) -> String {
    let loaded = ao_config::parse_str(Utf8Path::new("ao.yaml"), text, &places()).unwrap();
    let wrong: Vec<String> = loaded.wrong_tools().iter().map(|(_, problem)| problem.to_string()).collect();
    wrong.join("\n\n")
}

#[test]
fn what_is_wrong_with_an_agent_of_ones_own_is_told_at_its_place_and_stops_no_other() {
    let text = "tools:\n  mine:\n    program: ./mine\n    promt: typed\n    io: pip\n    screen: { busy: '(' }\n    \
        keys: { human-quiet: 3 }\n  plain: { program: sh }\n  none: { args: [a] }\n  odd: 7\n";
    assert_snapshot!(wrong_tools(text), @"
    ao.yaml:4:5: unknown key `promt` in `tools.mine`
       |
     4 |     promt: typed
       |     ^
     hint: did you mean `prompt`?

    ao.yaml:5:9: `io` cannot be `pip`
       |
     5 |     io: pip
       |         ^
     hint: did you mean `pipes`?

    ao.yaml:6:21: `busy` is not a valid regular expression: unclosed group
       |
     6 |     screen: { busy: '(' }
       |                     ^

    ao.yaml:7:13: unknown key `human-quiet` in `keys`
       |
     7 |     keys: { human-quiet: 3 }
       |             ^
     hint: did you mean `humanQuietMs`?

    ao.yaml:10:8: `tools.odd` has to be a mapping, but is `7`
        |
     10 |   odd: 7
        |        ^

    ao.yaml:9:9: `program` is missing in `tools.none`
       |
     9 |   none: { args: [a] }
       |         ^
    ");
    let loaded = ao_config::parse_str(Utf8Path::new("ao.yaml"), text, &places()).unwrap();
    assert_eq!(loaded.config.tools["plain"]["program"], "sh");
}

#[test]
fn keys_of_an_agent_of_ones_own_are_known_in_every_spelling() {
    for first_launch in ["firstLaunch", "first_launch", "first-launch"] {
        for quiet in ["humanQuietMs", "human_quiet_ms", "human-quiet-ms"] {
            let text = format!(
                "tools:\n  mine:\n    program: x\n    env: {{ N: 1 }}\n    keys: {{ {quiet}: 5, answers: {{ yes: 1 }} }}\n    \
                 {first_launch}: [{{ question: a, answer: b }}]\n"
            );
            let loaded = ao_config::parse_str(Utf8Path::new("ao.yaml"), &text, &places()).unwrap();
            assert_eq!(loaded.wrong_tools(), []);
            let mine = &loaded.config.tools["mine"];
            assert_eq!((&mine["keys"]["humanQuietMs"], &mine["env"]["N"]), (&5.into(), &"1".into()));
            assert_eq!(mine["firstLaunch"][0]["answer"], "b");
        }
    }
}

#[test]
fn a_name_that_no_plugin_has_yet_loads_and_is_listed_with_its_place_and_a_way_out() {
    let text = "plugins: [{ name: hal }]\n\
        defaults: { runtime: docker, tracker: linear, scm: gitea, agent: hal, notifiers: [hal] }\n\
        projects: { a: { path: /a, runtime: process, tracker: local, scm: local, agent: codex, notifiers: [] } }\n\
        agents: [{ id: x, tool: codex, runtime: kubernetes }]\n\
        notifiers: { team: { plugin: hal } }\n";
    let missing = read(text).unwrap_or_else(|err| panic!("{err}")).missing;
    let line =
        |it: &MissingPlugin| format!("{}: {:?} {}", it.path.join("."), it.problem.place, it.problem.what);
    // Also those that no project uses.
    assert_snapshot!(missing.iter().map(line).collect::<Vec<_>>().join("\n"), @r"
    defaults.runtime.plugin: Some((2, 22)) the runtime `docker` is not available in this version yet
    defaults.tracker.plugin: Some((2, 39)) the tracker `linear` is not available in this version yet
    defaults.scm.plugin: Some((2, 52)) the scm `gitea` is not available in this version yet
    defaults.agent: Some((2, 66)) the agent `hal` comes from a plugin, and ao cannot run those yet
    defaults.notifiers.0: Some((2, 83)) the notifier `hal` comes from a plugin, and ao cannot run those yet
    agents.0.runtime.plugin: Some((4, 41)) the runtime `kubernetes` is not available in this version yet
    notifiers.team.plugin: Some((5, 30)) the notifier `hal` comes from a plugin, and ao cannot run those yet
    ");
    let hints: Vec<&str> = missing.iter().filter_map(|it| it.problem.hint.as_deref()).collect();
    assert_eq!(hints[0], "use `tmux` or `process`, such as `ao config set defaults.runtime tmux`");
    assert_eq!(hints[1], "use `local`: `ao config set defaults.tracker local`");
    assert_eq!(hints[5], "use `tmux` or `process`", "a part of a list has no key");
}
