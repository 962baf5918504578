//! A session for an issue is started only if the issue can be read.

use serde_json::Value;

use crate::house::House;

/// The ways in which people ask for a session of an issue.
fn asks<'a>(issue: &'a str, body: &'a str) -> [Vec<&'a str>; 5] {
    [
        vec!["spawn", issue],
        vec!["new", "Do it", "--issue", issue],
        vec!["batch-spawn", issue],
        vec!["start", "--issue", issue],
        vec!["api", "POST", "/sessions", "-d", body],
    ]
}

impl House {
    fn sessions(&self) -> Vec<Value> {
        let listed = self.ao(&["list", "--json"]).succeeds().json();
        listed["sessions"].as_array().unwrap().clone()
    }
}

/// acceptance: J2
#[test]
fn an_issue_that_does_not_exist_starts_nothing() {
    let house = House::new();
    house.start();
    house.ao(&["issue", "add", "The only one"]).succeeds();
    for issue in ["999", "not-an-issue", "GH-12"] {
        let body = format!(r#"{{"projectId":"my-app","issue":"{issue}"}}"#);
        for args in asks(issue, &body) {
            house.ao(&args).exits(5).says(&format!("there is no issue `{issue}` in the project `my-app`"));
        }
        // The tracker was asked, and has answered.
        house.ao(&["spawn", issue, "--force"]).exits(5);
    }
    assert_eq!(house.sessions(), Vec::<Value>::new());
    // Of several, those that exist are started, and the others are named.
    house.ao(&["batch-spawn", "1", "999"]).exits(5).says("1 of 2 issues got no session");
    assert_eq!(house.sessions().len(), 1);
}

/// acceptance: J2
#[test]
fn an_issue_whose_file_cannot_be_read_starts_nothing() {
    let house = House::new();
    house.configure_project("    tracker: { plugin: local, keep: files }", "");
    let issues = house.repository().join(".ao/issues");
    std::fs::create_dir_all(&issues).unwrap();
    std::fs::write(issues.join("2.md"), "---\ntitle: Wrong\ntitle: Twice\n---\n").unwrap();
    house.start();
    for args in [&["spawn", "2"][..], &["spawn", "2", "--force"]] {
        let ran = house.ao(args);
        assert_ne!(ran.code, 0);
        ran.says("2.md");
    }
    assert_eq!(house.sessions(), Vec::<Value>::new());
}

/// acceptance: J2
#[test]
fn a_tracker_that_cannot_be_asked_starts_nothing_unless_it_is_forced() {
    let house = House::new();
    house.configure_project("    tracker: github", "");
    house.start();
    let body = r#"{"projectId":"my-app","issue":"42"}"#;
    for args in asks("42", body) {
        house
            .ao(&args)
            .exits(1)
            .says("the tracker `github` is not available in this version yet")
            .says("--force");
    }
    assert_eq!(house.sessions(), Vec::<Value>::new());

    let forced = [
        &["spawn", "42", "--force"][..],
        &["new", "Do it", "--issue", "43", "--force"],
        &["batch-spawn", "44", "--force"],
        &["start", "--issue", "45", "--force"],
        &["api", "POST", "/sessions", "-d", r#"{"projectId":"my-app","issue":"46","force":true}"#],
    ];
    for args in forced {
        house.ao(args).succeeds();
    }
    let mut issues: Vec<String> =
        house.sessions().iter().map(|session| session["issue"].as_str().unwrap().to_owned()).collect();
    issues.sort();
    assert_eq!(issues, ["42", "43", "44", "45", "46"]);
}

#[test]
fn an_issue_is_found_by_its_project_and_by_githubs_number() {
    let house = House::new();
    house.start();
    house.ao(&["issue", "add", "Ours"]).succeeds();
    let list = r#"[{"number": 789, "title": "Add user export feature", "state": "open"}]"#;
    std::fs::write(house.path("issues.json"), list).unwrap();
    house.ao(&["issue", "import", &house.path("issues.json").display().to_string()]).succeeds();
    let spawned = house.ao(&["spawn", "GH-789", "--json"]).succeeds().json();
    assert_eq!(spawned["session"]["issue"], "2");
    assert_eq!(spawned["session"]["title"], "Add user export feature");
    // Whatever it is called, it is one issue.
    house.ao(&["spawn", "my-app#2"]).succeeds().says("has a session already");
    house.ao(&["issue", "show", "GH-789"]).succeeds().says("Add user export feature");
    house.ao(&["spawn", "docs#2"]).exits(5).says("there is no project `docs`");
    house.ao(&["spawn", "docs#2", "--project", "my-app"]).exits(1).says("is not of the project `my-app`");
}

#[test]
fn a_start_with_an_unknown_issue_fails_and_says_so() {
    let house = House::new();
    house.ao(&["start", "--port", "0", "--issue", "7"]).exits(5).says("there is no issue `7`");
    assert_eq!(house.sessions(), Vec::<Value>::new());
}
