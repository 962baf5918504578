//! The surface that users already know: every command, call and configuration of `fixtures/surface.md`, as written there.
//!
//! What stands in the document is taken out of it. A line that no step below runs fails the test, and so does a step whose line
//! is no longer there.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::fleet::{git, make_repository};
use crate::headless::{NAMED, STAND_IN, installed};
use crate::house::{House, Ran, bare_copy, until};

const DOCUMENT: &str = include_str!("../fixtures/surface.md");

/// A line of the document, what is run for it, and how that ends.
struct Step {
    line: &'static str,
    runs: &'static [(&'static str, i32)],
}

const fn step(line: &'static str, runs: &'static [(&'static str, i32)]) -> Step {
    Step { line, runs }
}

/// In the order in which a user would come to them. `$S` is a session that is idle.
const STEPS: &[Step] = &[
    step(
        "ao init --tracker github --agent claude-code --runtime tmux",
        &[
            ("ao init --tracker github --agent claude-code --runtime tmux", 0),
            ("ao init --tracker github --agent claude-code --runtime tmux", 1),
            ("ao init --tracker github --agent claude-code --runtime tmux --force", 0),
        ],
    ),
    step(
        "ao config set defaults.runtime process",
        &[
            ("ao config set port $PORT", 0),
            ("cat $TOOLS >>agent-orchestrator.yaml", 0),
            ("ao config set defaults.runtime process", 0),
            ("grep -q 'runtime: process' agent-orchestrator.yaml", 0),
        ],
    ),
    step(
        "ao config check",
        &[
            // The tracker is not there yet, and that is said.
            ("ao config check 2>&1 | grep -q 'the tracker `github` is not available'", 0),
            ("ao config check", 2),
            ("ao config set defaults.tracker local && ao config check", 0),
            ("ao config set defaults.tracker github", 0),
        ],
    ),
    step("ao config show", &[("ao config show", 0)]),
    step("ao config-help", &[("ao config-help", 0)]),
    step("ao doctor [--fix]", &[("ao doctor || test $? = 3", 0), ("ao doctor --fix || test $? = 3", 0)]),
    step("ao start", &[("ao start", 0), ("ao start", 0)]),
    step("ao start <url>", &[("cd .. && ao start $URL", 0)]),
    step("ao start <path>", &[("cd .. && ao start docs", 0)]),
    step(
        "ao start --issue 42",
        &[
            // An issue starts an agent only if it can be read, so there have to be some.
            ("ao start --issue 42", 1),
            ("ao config set defaults.tracker '{ plugin: local, keep: files }'", 0),
            // Pull request 5 is only where its forge keeps it.
            ("ao config set defaults.scm github", 0),
            ("mkdir -p .ao/issues", 0),
            (
                "for n in 42 43 44 45 101 102 103 123; do printf -- '---\\ntitle: Issue %s\\n---\\n' $n >.ao/issues/$n.md; done",
                0,
            ),
            ("ao start --issue 42", 0),
        ],
    ),
    step(
        "ao new \"Fix login validation bug\" --project my-app --issue 123",
        &[("ao new \"Fix login validation bug\" --project my-app --issue 123", 0)],
    ),
    step(
        "ao spawn 42 [--agent codex] [--claim-pr N] [--prompt …]",
        &[
            ("ao spawn 42 --project my-app", 0),
            ("ao spawn 43 --project my-app --agent codex", 0),
            ("ao spawn 44 --project my-app --claim-pr 5", 0),
            ("ao spawn 45 --project my-app --prompt 'Do it'", 0),
        ],
    ),
    step("ao batch-spawn 101 102 103", &[("ao batch-spawn 101 102 103 --project my-app", 0)]),
    step("ao list", &[("ao list", 0)]),
    step(
        "ao status [session] [--watch] [--json]",
        &[
            ("ao status", 0),
            ("ao status $S", 0),
            ("ao status issue-42", 0),
            ("ao status --json", 0),
            ("ao status $S --json", 0),
            ("timeout --signal=INT 2 ao status --watch || test $? = 124", 0),
        ],
    ),
    step("ao session ls", &[("ao session ls", 0)]),
    // At a real terminal; see the tests of attaching.
    step("ao attach <session>", &[("ao attach $S </dev/null >/dev/null 2>$TMPDIR/attach; test $? -ne 0", 0)]),
    step("ao logs <session> [-f]", &[("ao logs $S", 0), ("timeout 2 ao logs $S -f || test $? = 124", 0)]),
    step("ao open <session>", &[("ao open $S", 0)]),
    step("ao send <session> \"text\"", &[("ao send $S \"text\"", 0)]),
    step(
        "ao api POST /sessions/my-app-fix-auth/message -d '{\"content\":\"…\"}'",
        &[
            ("ao new 'Fix auth' --project my-app && ao wait my-app-fix-auth --for idle --timeout 60", 0),
            ("ao api POST /sessions/my-app-fix-auth/message -d '{\"content\":\"…\"}'", 0),
        ],
    ),
    step(
        "ao completion zsh",
        &[("ao completion zsh", 0), ("ao completion bash", 0), ("ao completion fish", 0)],
    ),
    step("ao dashboard", &[("ao dashboard", 0)]),
    step(
        "ao plugin list|search|install|create|test",
        &[
            ("ao plugin list", 0),
            ("ao plugin search tmux", 0),
            ("ao plugin install nothing", 1),
            ("ao plugin create nothing", 1),
            ("ao plugin test nothing", 1),
        ],
    ),
    step("ao review-check", &[("ao review-check", 0)]),
    step("ao verify", &[("ao verify", 0)]),
    step(
        "ao session kill|restore|cleanup|claim-pr",
        &[
            ("ao session kill my-app-fix-auth", 0),
            ("ao session restore my-app-fix-auth", 0),
            ("ao session cleanup --dry-run", 0),
            ("ao session cleanup", 0),
            // There is no forge here that could be asked which pull request that is.
            ("ao session claim-pr $S 7; test $? -ne 4", 0),
        ],
    ),
    step("ao add-project <path>", &[("ao add-project ../more", 0)]),
    step("ao remove-project my-app", &[("ao remove-project my-app", 1), ("ao remove-project more", 0)]),
    step("ao stop <session>", &[("ao stop $S", 0), ("ao stop $S", 0)]),
    step("ao stop --project my-app --all", &[("ao stop --project my-app --all", 0)]),
    step("ao stop", &[("ao stop", 0)]),
];

/// The commands of the document's first table, each as it is written.
fn commands() -> BTreeSet<String> {
    let table = between(DOCUMENT, "## 1. Commands", "## 2. HTTP");
    let cells = table.lines().filter_map(|line| {
        let row = line.strip_prefix("| ")?.replace("\\|", "\u{1}");
        Some(row.split('|').next()?.replace('\u{1}', "|"))
    });
    let commands = cells.flat_map(|cell| spans(&cell)).filter(|span| span.starts_with("ao "));
    commands.collect()
}

/// The calls of the document's second part: method, path, and the body that stands behind.
fn calls() -> Vec<(String, String, Option<String>)> {
    let text = between(DOCUMENT, "## 2. HTTP", "## 3. Configuration");
    let mut calls: Vec<(String, String, Option<String>)> = Vec::new();
    for span in spans(text) {
        match span.split_once(' ') {
            Some((method @ ("GET" | "POST" | "DELETE" | "PUT"), path)) => {
                calls.push((method.into(), path.into(), None));
            }
            _ if span.starts_with('{') => {
                calls.last_mut().expect("a body stands behind its call").2 = Some(span);
            }
            _ => {}
        }
    }
    calls
}

fn documents() -> Vec<String> {
    let text = between(DOCUMENT, "## 3. Configuration", "## 4. The library");
    text.split("```yaml\n").skip(1).map(|block| block.split("```").next().unwrap().to_owned()).collect()
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let text = text.split_once(from).expect("the document has this part").1;
    text.split_once(to).expect("the document has the next part").0
}

fn spans(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_line_of_the_document_has_a_step() {
    let steps: BTreeSet<String> = STEPS.iter().map(|step| step.line.to_owned()).collect();
    let commands = commands();
    assert_eq!(commands.difference(&steps).collect::<Vec<_>>(), Vec::<&String>::new(), "nobody runs these");
    assert_eq!(
        steps.difference(&commands).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "these are not in the document"
    );
    assert_eq!(calls().len(), 5);
    assert_eq!(documents().len(), 3);
}

/// acceptance: J1, J8
#[test]
fn every_command_works_as_written_where_tmux_is_installed() {
    every_command_works(&format!(":{}", std::env::var("PATH").unwrap_or_default()));
}

/// acceptance: J8, N3
#[test]
fn every_command_works_as_written_where_tmux_is_not_installed() {
    every_command_works("");
}

/// What the steps themselves call.
const USED: [&str; 12] =
    ["cat", "date", "git", "grep", "head", "mkdir", "printf", "sed", "sh", "sleep", "test", "timeout"];

/// Runs every step on a machine with stand-ins for all named agents, and with what is on this search path besides.
fn every_command_works(besides: &str) {
    let house = House::bare();
    make_repository(&house.repository());
    make_repository(&house.path("docs"));
    make_repository(&house.path("more"));
    // A pull request, where forges keep it.
    let forge = house.path("forge.git");
    bare_copy(&house.repository(), &forge);
    git(&house.repository(), &["remote", "add", "origin", &format!("file://{}", forge.display())]);
    let head = git(&house.repository(), &["rev-parse", "HEAD"]);
    git(&forge, &["update-ref", "refs/pull/5/head", &head]);
    let url_of = house.path("cloned.git");
    bare_copy(&house.repository(), &url_of);
    let bin = house.path("bin");
    fs::create_dir(&bin).unwrap();
    for (_, program) in NAMED {
        fs::write(bin.join(program), STAND_IN).unwrap();
        fs::set_permissions(bin.join(program), fs::Permissions::from_mode(0o755)).unwrap();
    }
    symlink(env!("CARGO_BIN_EXE_ao"), bin.join("ao")).unwrap();
    for program in USED {
        symlink(installed(program), bin.join(program)).unwrap();
    }
    let path = format!("{}{besides}", bin.display());
    let tools = house.path("tools.yaml");
    fs::write(
        &tools,
        format!("power: {{ preventIdleSleep: false }}\ntools:\n  scripted: {}\n", house.manifest()),
    )
    .unwrap();

    let mut session = String::new();
    for step in STEPS {
        for (line, code) in step.runs {
            let ran = sh(&house, &path, line, &session, &url_of, &tools);
            assert_eq!(ran.code, *code, "`{line}`\nstdout:\n{}\nstderr:\n{}", ran.out, ran.err);
            // From now on there is an agent that can be talked to.
            if *line == "ao start" && session.is_empty() {
                for project in ["defaults.agent scripted", "lifecycle.maxParallelAgents 30"] {
                    sh(&house, &path, &format!("ao config set {project}"), "", &url_of, &tools).succeeds();
                }
                let made = "ao new 'Something' --project my-app --prompt '[[say hello]]' --name s1";
                sh(&house, &path, made, "", &url_of, &tools).succeeds();
                session = "s1".into();
                sh(&house, &path, "ao wait s1 --for idle --timeout 60", "", &url_of, &tools).succeeds();
            }
        }
    }
}

/// A line as somebody types it into a shell in the repository.
fn sh(house: &House, path: &str, line: &str, session: &str, url: &Path, tools: &Path) -> Ran {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(house.repository());
    house.surround(&mut command);
    command
        .env("PATH", path)
        .env("S", session)
        .env("URL", format!("file://{}", url.display()))
        .env("TOOLS", tools)
        .env("PORT", free_port(house))
        .stdin(Stdio::null());
    Ran::of(command.output().unwrap())
}

/// The same free port for the whole of a house.
fn free_port(house: &House) -> String {
    let file = house.path("port");
    if let Ok(port) = fs::read_to_string(&file) {
        return port;
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    fs::write(&file, &port).unwrap();
    port
}

#[test]
fn every_call_works_as_written() {
    let house = House::new();
    house.write_issues(&[789]);
    house.start();
    let url = house.daemon()["url"].as_str().unwrap().to_owned();
    let mut id = String::new();
    for (method, path, body) in calls() {
        let address = format!("{url}{}", path.replace(":id", &id));
        let mut command = Command::new("curl");
        command.args(["--silent", "--show-error", "--fail-with-body", "-X", &method, &address]);
        if let Some(body) = &body {
            command.args(["-H", "content-type: application/json", "-d", body]);
        }
        let answer = Ran::of(command.stdin(Stdio::null()).output().unwrap()).succeeds().json();
        match (method.as_str(), path.as_str()) {
            ("POST", "/api/sessions") => {
                id = answer["session"]["id"].as_str().unwrap().to_owned();
                assert_eq!(answer["session"]["title"], "Add user export feature");
                assert_eq!(answer["session"]["issue"], "789");
            }
            ("GET", "/api/sessions/:id/status") => {
                for told in ["agent", "state", "currentTask", "branch"] {
                    assert!(answer[told].is_string(), "{told}: {answer}");
                }
                until("it has a workspace", || house.status(&id)["workspace"]["path"].is_string());
            }
            _ => {}
        }
    }
    until("it has ended", || house.state(&id) == "stopped");
}

/// A document loads as it stands. The check refuses it for the names that are not there yet, and for nothing else.
#[test]
fn every_configuration_is_understood_and_shown_in_one_form() {
    let missing = [&["tracker `github`"][..], &["runtime `docker`"], &["scm `github`", "tracker `github`"]];
    for (n, document) in documents().iter().enumerate() {
        let house = House::bare();
        fs::create_dir(house.repository()).unwrap();
        let file = house.repository().join(if n == 2 { "ao.config.yaml" } else { "agent-orchestrator.yaml" });
        fs::write(&file, document).unwrap();
        let checked = house.ao(&["config", "check", "--json"]).exits(2).json();
        let mut refused: Vec<&str> = checked["problems"]
            .as_array()
            .unwrap()
            .iter()
            .map(|problem| {
                let what = problem["what"].as_str().unwrap().strip_prefix("the ").unwrap();
                assert!(problem["line"].is_u64() && problem["hint"].is_string(), "{problem}");
                what.split_once(" is not available in this version yet").unwrap().0
            })
            .collect();
        refused.sort();
        assert_eq!(refused, missing[n]);
        let shown = house.ao(&["config", "show"]).succeeds().out;
        fs::write(house.path("my-app/agent-orchestrator.yaml"), &shown).unwrap();
        let again = house.ao(&["config", "show"]).succeeds().out;
        assert_eq!(again, shown, "what is shown is the canonical form");
    }
}
