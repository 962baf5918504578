//! `ao issue`, with somebody in the daemon's place.

use ao::show;
use ao_api::{Imported, ImportedIssue, Issues, Problem};
use insta::assert_snapshot;
use portable_pty::CommandBuilder;
use serde_json::json as value;

use super::standin::{StandIn, json, problem};
use super::window::Window;
use super::wire::{canvas, issue, plain, variant};

#[test]
fn issues_are_listed_with_who_works_on_them() {
    let mut blocked = issue("43", "open");
    blocked.blocked_by = vec!["my-app#42".into()];
    blocked.session = None;
    blocked.priority = 0;
    blocked.title =
        "漢字 \x1b[31mred\u{202e} and a title that is too long for most windows, and goes on".into();
    let issues = [issue("42", "open"), blocked, issue("9", "closed")];
    assert_snapshot!(plain(&show::issues(&issues, canvas(110))), @"
    ISSUE  STATE    PRIORITY  SESSION  ASSIGNEE  AGE  LABELS    BLOCKED BY  TITLE
    #42    open     2         app-1    anna      10m  bug auth              Login forgets the user
    #43    blocked                     anna      10m  bug auth  my-app#42   漢字 [31mred and a title that is too…
    #9     closed   2         app-1    anna      10m  bug auth              Login forgets the user
    ");
    assert_snapshot!(plain(&show::issues(&issues, canvas(60))), @"
    ISSUE  STATE    SESSION  AGE  TITLE
    #42    open     app-1    10m  Login forgets the user
    #43    blocked           10m  漢字 [31mred and a title that…
    #9     closed   app-1    10m  Login forgets the user
    ");
}

#[test]
fn an_issue_is_shown_with_what_was_said() {
    assert_snapshot!(plain(&show::issue(&issue("42", "open"), canvas(80))), @"
    my-app#42 Login forgets the user
      open  by ben (owner), 2h ago
      session app-1
      assignee anna
      labels bug, auth
      priority 2

      After a restart.

      anna (member), 1m ago
        Seen again
        today
    ");
}

#[test]
fn the_list_asks_for_what_is_wanted() {
    let daemon = StandIn::new();
    let line = "GET /api/issues?project=my-app&state=open&label=bug%2Cauth&limit=200";
    let mut other = issue("43", "open");
    other.labels.clear();
    daemon.on(line, json(&Issues { issues: vec![issue("42", "open"), other], warnings: vec![] }));
    let said = daemon.ao(&["issue", "list", "-p", "my-app", "--label", "bug,auth", "--json"]);
    assert!(said.contains(r#""key":"42""#) && !said.contains(r#""key":"43""#), "{said}");
}

#[test]
fn what_is_wrong_in_the_files_of_issues_is_said_beside_the_list() {
    let daemon = StandIn::new();
    let warnings = vec!["/w/app/.ao/issues/7.md:3: `state` is open or closed".to_owned()];
    let line = "GET /api/issues?project=my-app&state=open&limit=200";
    daemon.on(line, json(&Issues { issues: vec![], warnings }));
    let closed = "GET /api/issues?project=my-app&state=closed&limit=10000";
    daemon.on(closed, json(&Issues { issues: vec![], warnings: vec![] }));
    assert_snapshot!(daemon.ao(&["issue", "list", "-p", "my-app"]), @r#"
    exit 0
    -- stderr --
    note: /w/app/.ao/issues/7.md:3: `state` is open or closed
    note: there is no such issue; `ao issue add "…"` creates one
    "#);
    let said = daemon.ao(&["issue", "list", "-p", "my-app", "--json"]);
    assert!(
        said.contains(r#""warnings":["/w/app/.ao/issues/7.md:3: "#) && !said.contains("stderr"),
        "{said}"
    );
}

#[test]
fn an_issue_is_written_down_with_all_that_was_said() {
    let daemon = StandIn::new();
    daemon.on("POST /api/issues", json(&issue("42", "open")));
    let args = [
        "issue",
        "add",
        "Login forgets",
        "-b",
        "- body",
        "--label",
        "a,b",
        "--priority",
        "-1",
        "--blocked-by",
        "9,#12",
        "--assignee",
        "x",
        "-p",
        "my-app",
    ];
    assert_snapshot!(daemon.ao(&args), @"
    exit 0
    -- stdout --
    my-app#42 is created: Login forgets the user
    ");
    let mut body = daemon.calls("POST").pop().unwrap().body;
    assert!(body["key"].take().as_str().unwrap().starts_with("cli-"));
    assert_eq!(
        body,
        value!({"projectId": "my-app", "title": "Login forgets", "body": "- body", "labels": ["a", "b"], "priority": -1,
            "blockedBy": ["9", "#12"], "assignee": "x", "key": null, "closed": false})
    );
    assert_snapshot!(daemon.ao(&["issue", "add", " "]), @"
    exit 1
    -- stderr --
    error: an issue needs a title, so nothing was created
    ");
}

#[test]
fn an_issue_is_changed_closed_and_labelled() {
    let daemon = StandIn::new();
    daemon.on("PATCH /api/issues/%2342?project=my-app", json(&issue("42", "open")));
    daemon.on("POST /api/issues/%2342/comments?project=my-app", json(&issue("42", "open")));
    let body = |args: &[&str]| {
        let said = daemon.ao(&[&["issue"], &args[..2], &["-p", "my-app"], &args[2..]].concat());
        assert!(said.starts_with("exit 0"), "{said}");
        let mut body = daemon.calls("PATCH").pop().unwrap().body;
        let object = body.as_object_mut().unwrap();
        object.retain(|_, value| !value.is_null() && *value != value!([]));
        body
    };
    assert_eq!(body(&["edit", "#42", "--title", "T"]), value!({"title": "T"}));
    assert_eq!(body(&["edit", "#42", "--assignee", ""]), value!({"assignee": ""}));
    assert_eq!(
        body(&["label", "#42", "+a", "-b", "c"]),
        value!({"addLabels": ["a", "c"], "removeLabels": ["b"]})
    );
    assert_eq!(body(&["close", "#42", "--comment", "done"]), value!({"state": "closed"}));
    assert_eq!(daemon.calls("POST").pop().unwrap().body["body"], "done");
    assert_eq!(body(&["reopen", "#42"]), value!({"state": "open"}));
    assert_snapshot!(daemon.ao(&["issue", "edit", "42"]), @"
    exit 1
    -- stderr --
    error: nothing to change was given
    hint: pass an option such as `--title` or `--priority`; on a terminal, an editor is opened
    ");
}

/// Whoever edits by hand sees a title and a text, and only what differs is sent.
#[test]
fn an_issue_is_edited_in_the_editor_of_whoever_is_there() {
    let daemon = StandIn::new();
    daemon.on("GET /api/issues/my-app%2342", json(&issue("42", "open")));
    daemon.on("PATCH /api/issues/my-app%2342", json(&issue("42", "open")));
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_ao"));
    command.args(["issue", "edit", "my-app#42"]);
    command.env_clear();
    command.env("PATH", std::env::var("PATH").unwrap());
    command.env("HOME", daemon.home.path());
    command.env("TMPDIR", daemon.home.path().join("tmp"));
    command.env("EDITOR", "sed -i s/forgets/keeps/");
    command.cwd(daemon.home.path());
    let mut window = Window::open(command);
    assert_eq!(window.code(), 0, "{}", window.until(|_| true));
    let body = daemon.calls("PATCH").pop().unwrap().body;
    assert_eq!((&body["title"], &body["body"]), (&value!("Login keeps the user"), &value!(null)));
}

#[test]
fn issues_are_brought_in_from_a_file() {
    let daemon = StandIn::new();
    std::fs::write(daemon.home.path().join("TODO.md"), "- [ ] one\n").unwrap();
    let issue = |id: Option<&str>, result: &str| ImportedIssue {
        id: id.map(str::to_owned),
        title: "one".into(),
        result: variant(result),
    };
    let issues = vec![issue(None, "would_be_made"), issue(Some("my-app#4"), "known")];
    daemon.on("GET /api/projects", json(&value!({"projects": []})));
    daemon.on("POST /api/issues/import", json(&Imported { issues }));
    assert_snapshot!(daemon.ao(&["issue", "import", "TODO.md", "--dry-run"]), @"
    exit 0
    -- stdout --
    RESULT         ISSUE     TITLE
    would be made  -         one
    known          my-app#4  one
    -- stderr --
    note: 1 issue would be created, 1 known already
    ");
    let body = daemon.calls("POST").pop().unwrap().body;
    assert_eq!((&body["format"], &body["dryRun"]), (&value!("markdown"), &value!(true)));
    assert!(daemon.ao(&["issue", "import", "nowhere.md"]).contains("`nowhere.md` cannot be read"));
}

#[test]
fn an_issue_that_is_not_there_has_its_own_exit_code() {
    let daemon = StandIn::new();
    daemon.on("GET /api/projects", json(&value!({"projects": []})));
    let missing = Problem::new(404, "unknown-issue", "there is no issue `99`");
    daemon.on("GET /api/issues/99", problem(&missing));
    assert_snapshot!(daemon.ao(&["issue", "show", "99"]), @"
    exit 5
    -- stderr --
    error: there is no issue `99`
    ");
}
