//! A secret that an agent shows, a person sends or a comment has is nowhere afterwards.

use std::fs;
use std::path::Path;

use crate::forge::{branch, commit};
use crate::house::{House, Ran, until};

const SECRET: &str = "hunter2/very+secret?indeed";
/// The same in base64.
const ENCODED: &str = "aHVudGVyMi92ZXJ5K3NlY3JldD9pbmRlZWQ=";

/// A daemon whose project gives its agents a secret, by a name that does not say so.
fn house() -> House {
    let house = House::new();
    house.configure_project("    env: { secrets: { DB: APP_DB } }", "");
    let mut command = house.command(&house.repository(), &["start", "--port", "0"]);
    command.env("APP_DB", SECRET);
    Ran::of(command.output().unwrap()).succeeds();
    house
}

/// Neither it, nor most of it, nor what it is in base64.
fn is_in(bytes: &[u8]) -> bool {
    let plain = anstream::adapter::strip_bytes(bytes).into_vec();
    let has = |word: &str| {
        [bytes, &plain].iter().any(|bytes| memchr::memmem::find(bytes, word.as_bytes()).is_some())
    };
    // Four letters may be shown to somebody who waits; a value that is cut off is no value.
    has(&SECRET[4..]) || has(&ENCODED[..ENCODED.len() - 4])
}

#[track_caller]
fn is_in_no_file(folder: &Path) {
    let mut folders = vec![folder.to_owned()];
    let mut looked_at = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                // One may go meanwhile, such as what a hook has left.
                let bytes = fs::read(entry.path()).unwrap_or_default();
                assert!(!is_in(&bytes), "{}: {}", entry.path().display(), String::from_utf8_lossy(&bytes));
                looked_at += 1;
            }
        }
    }
    assert!(looked_at > 3, "{looked_at} files in {}", folder.display());
}

fn an_agent_prints_it(runtime: &str) {
    let house = house();
    // Whole, cut in two with time enough between them to be seen in part, and in base64. It shows it as its own words too.
    // First its screen has come to rest, or what it draws would fall between the two halves.
    let over = house.path("tmp/over");
    let script = format!(
        "sleep 1; printf 'whole %s over' \"$DB\" > /dev/tty; printf 'half %s' hunter2/very > /dev/tty; sleep 0.3; \
         printf '%s over' '+secret?indeed' > /dev/tty; printf '%s' \"$DB\" | base64 > /dev/tty; \
         printf 'red %s\\033[31m%s\\033[0m over' hunter2/ 'very+secret?indeed' > /dev/tty; touch {}",
        over.display()
    );
    let prompt = format!("[[silent {script}]] [[say the key is {SECRET}]]");
    let made = house.ao(&["new", "Show it", "--runtime", runtime, "--prompt", &prompt, "--json"]);
    let session = made.succeeds().json()["session"]["name"].as_str().unwrap().to_owned();
    let logs = || house.ao(&["logs", &session]).succeeds().out;
    until("what it prints", || over.exists());
    house.wait_for(&session, "idle");
    let shown = logs();
    assert!(shown.contains("whole [secret DB] over"), "{shown}");
    assert!(shown.contains("half hunt[secret DB] over"), "{shown}");
    assert!(shown.contains("red [secret DB]"), "{shown}");
    assert!(shown.matches("[secret DB]").count() >= 4, "{shown}");

    // A person sends it, and says it on an issue.
    house.ao(&["send", &session, &format!("use {SECRET} and {ENCODED}")]).succeeds();
    until("the message", || house.turns(&session).len() == 2);
    assert!(
        house.turns(&session)[1].starts_with("use [secret DB] and [secret DB]"),
        "{:?}",
        house.turns(&session)
    );
    house.ao(&["issue", "add", "Rotate", "-b", &format!("it is {SECRET}")]).succeeds();
    house.ao(&["issue", "comment", "1", &format!("still {SECRET}")]).succeeds();
    let issue = house.ao(&["issue", "show", "1"]).succeeds().out;
    assert!(issue.contains("it is [secret DB]") && issue.contains("still [secret DB]"), "{issue}");
    house.wait_for(&session, "idle");

    for said in [
        house.ao(&["logs", &session]).succeeds().out,
        house.ao(&["status", &session, "--json"]).succeeds().out,
        house.ao(&["explain", &session]).succeeds().out,
        house.ao(&["api", "GET", &format!("/sessions/{session}/output")]).succeeds().out,
        house.ao(&["api", "GET", &format!("/sessions/{session}/messages")]).succeeds().out,
        house.ao(&["events", "export"]).succeeds().out,
    ] {
        assert!(!is_in(said.as_bytes()), "{said}");
        assert!(!said.is_empty());
    }
    is_in_no_file(&house.path("data"));
    house.ao(&["stop", "--all"]).succeeds();
    is_in_no_file(&house.path("data"));
}

/// acceptance: X5
#[test]
fn an_agent_prints_a_secret_and_it_is_nowhere() {
    an_agent_prints_it("process");
}

/// acceptance: X5
#[test]
fn an_agent_in_tmux_prints_a_secret_and_it_is_nowhere() {
    an_agent_prints_it("tmux");
}

/// A value that the project passes on, in the words of set-up commands and checks: whole, and cut in two by a colour.
///
/// acceptance: X5
#[test]
fn what_is_passed_on_is_in_no_log() {
    let house = House::new();
    let says = r#"printf 'whole %s\n' "$LICENSE"; printf 'red %.12s\033[31m%s\033[0m\n' "$LICENSE" '+secret?indeed'"#;
    let project = format!(
        "    env: {{ pass: [LICENSE, NODE_ENV] }}\n    postCreate: [{says:?}, 'echo for $NODE_ENV']\n    \
         checks: [{{ name: words, command: {fails:?}, env: {{ pass: [LICENSE] }} }}]",
        fails = format!("{says}; exit 1"),
    );
    house.configure_project(&project, "");
    let mut start = house.command(&house.repository(), &["start", "--port", "0"]);
    start.env("LICENSE", SECRET).env("NODE_ENV", "production");
    Ran::of(start.output().unwrap()).succeeds();

    let session = house.session("Use it", "[[say done]]");
    house.wait_for(&session, "idle");
    let log = house.ao(&["logs", &session, "--setup"]).succeeds().out;
    assert!(log.contains("whole [secret LICENSE]") && log.contains("red [secret LICENSE]"), "{log}");
    assert!(log.contains("for production"), "a word that is in any text stays: {log}");

    branch(&house.repository(), "work", &[("b.txt", b"b")]);
    let number = house.propose("work", "Something");
    assert!(!house.checked(&number));
    let run = house.ao(&["check", "list", "--json"]).succeeds().json()["runs"][0]["id"].clone();
    let run = run.as_str().unwrap();
    let log = house.ao(&["check", "logs", run]).succeeds().out;
    assert!(log.contains("whole [secret LICENSE]") && log.contains("red [secret LICENSE]"), "{log}");
    for said in [
        log,
        house.ao(&["logs", &session, "--setup"]).succeeds().out,
        house.ao(&["api", "GET", &format!("/sessions/{session}/setup-log")]).succeeds().out,
        house.ao(&["pr", "show", &number, "--json"]).succeeds().out,
        house.ao(&["events", "export"]).succeeds().out,
    ] {
        assert!(!is_in(said.as_bytes()), "{said}");
    }
    is_in_no_file(&house.path("data"));
    house.ao(&["stop", "--all"]).succeeds();
    is_in_no_file(&house.path("data"));
}

/// An agent's own token in an issue, also after another daemon was started.
///
/// acceptance: X5
#[test]
fn the_token_of_an_agent_is_kept_out_as_well() {
    let house = House::new();
    house.start();
    let says = r#"env | sed -n 's/^AO_TOKEN=//p' > "$HOME/token""#;
    let session = house.session("Tell", &format!("[[tool {says}]]"));
    house.wait_for(&session, "idle");
    let token = fs::read_to_string(house.path("token")).unwrap().trim().to_owned();
    assert!(token.len() > 20, "{token}");
    house.ao(&["issue", "add", &format!("it is {token}")]).succeeds();
    let issues = house.ao(&["issue", "list", "--json"]).succeeds().out;
    assert!(issues.contains("it is [secret AO_") && !issues.contains(&token), "{issues}");
    house.ao(&["stop"]).succeeds();
    house.start();
    house.ao(&["issue", "add", &format!("once more {token}")]).succeeds();
    let issues = house.ao(&["issue", "list", "--json"]).succeeds().out;
    assert!(issues.contains("once more [secret AO_") && !issues.contains(&token), "{issues}");
}

/// Titles, texts, comments and messages that have it, of people and of commits.
///
/// acceptance: X5
#[test]
fn what_is_said_of_it_is_told_to_nobody() {
    let house = house();
    let red = SECRET.replace("very", "ve\u{1b}[31mry\u{1b}[0m");
    house.ao(&["issue", "add", &format!("Rotate {SECRET}"), "-b", &format!("it is {red}")]).succeeds();
    house.ao(&["issue", "comment", "1", &format!("still {SECRET}")]).succeeds();
    house.ao(&["issue", "edit", "1", "--body", &format!("now {red}")]).succeeds();
    branch(&house.repository(), "work", &[("b.txt", b"b")]);
    let number = house.propose("work", &format!("Use {SECRET}"));
    house.ao(&["pr", "comment", &number, &format!("why {red}?")]).succeeds();
    house.ao(&["pr", "comment", &number, &format!("here {SECRET}"), "--at", "b.txt:1"]).succeeds();
    house.ao(&["pr", "edit", &number, "--body", &format!("body {red}")]).succeeds();
    // The title is that of the commit.
    crate::fleet::git(&house.repository(), &["switch", "--quiet", "-c", "other"]);
    commit(&house.repository(), &format!("Commit {SECRET}"), &[("c.txt", SECRET.as_bytes())]);
    crate::fleet::git(&house.repository(), &["switch", "--quiet", "-"]);
    let other = house.ao(&["pr", "create", "--head", "other", "--json"]).succeeds();
    assert!(!is_in(other.out.as_bytes()), "{}", other.out);
    let other = other.json()["number"].to_string();
    let session = house.session(&format!("Try {SECRET}"), &format!("[[say ok]] {red}"));
    house.wait_for(&session, "idle");

    let shown = house.ao(&["issue", "show", "1"]).succeeds().out;
    for words in ["Rotate [secret DB]", "now [secret DB]", "still [secret DB]"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let shown = house.ao(&["pr", "show", &number]).succeeds().out;
    for words in ["Use [secret DB]", "why [secret DB]?", "here [secret DB]", "body [secret DB]"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let calls = ["/issues", "/issues/1", "/pulls", "/sessions", "/pulls/1", "/pulls/2"];
    let commands: [&[&str]; 9] = [
        &["issue", "list", "--json"],
        &["issue", "show", "1", "--json"],
        &["pr", "list", "--json"],
        &["pr", "show", &number, "--json"],
        &["pr", "show", &other, "--json"],
        &["pr", "diff", &other],
        &["status"],
        &["status", &session, "--json"],
        &["events", "export"],
    ];
    let answers = calls.iter().map(|call| house.ao(&["api", "GET", call]).succeeds().out);
    for said in commands.into_iter().map(|command| house.ao(command).succeeds().out).chain(answers) {
        assert!(!is_in(said.as_bytes()), "{said}");
    }
    is_in_no_file(&house.path("data"));
    house.ao(&["stop", "--all"]).succeeds();
    is_in_no_file(&house.path("data"));
}
