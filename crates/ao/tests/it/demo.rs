//! The demo, as `cargo xtask demo` runs it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::Home;

fn entries(path: &Path) -> Vec<String> {
    fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// The demo checks each of its steps itself and fails if one does not happen; here is what its reader is told.
#[test]
fn the_demo_tells_the_life_of_a_session_and_leaves_nothing_behind() {
    let home = Home::new();
    let told = home.run(&["demo", "--fast"]);
    let (begin, end) = told.split_once("All of it happened").unwrap_or_else(|| panic!("{told}"));
    assert!(begin.starts_with("exit 0\n-- stdout --\nThe life of one session."), "{told}");
    assert!(!told.contains('\u{1b}'), "no colours where nobody looks");
    let life = [
        "= queued  waits for a free slot",
        "= setting_up",
        "= starting",
        "= idle",
        "= working  a turn is running: writing a greeting",
        "meanwhile the agent has committed, as Agent ses_",
        "it is the same process; nothing was started or said twice",
        "= needs_input",
        "! urgent: ses_",
        "= stopped  stopped by you",
        "it has uncommitted changes; it has commits that nothing else keeps",
        "its last state is at refs/ao/rescue/ses_",
    ];
    let mut rest = begin;
    for moment in life {
        let at =
            rest.find(moment).unwrap_or_else(|| panic!("`{moment}` is missing or out of order in\n{told}"));
        rest = &rest[at..];
    }
    assert!(end.contains("messages  2 queued, 2 accepted with proof"), "{told}");
    assert!(end.contains("notices   2 raised, 2 sent"), "{told}");
    assert_eq!(entries(&home.path().join("tmp")), [""; 0]);
    assert_eq!(entries(home.path()), ["tmp"], "nothing in the user's home");
}

#[test]
fn what_is_kept_can_be_looked_at() {
    let home = Home::new();
    // A place whose name a shell would take apart.
    let place = home.path().join("it's here");
    fs::create_dir(&place).unwrap();
    let output = home.ao(&["demo", "--fast", "--keep"]).env("TMPDIR", &place).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}");
    let kept = place.join(&entries(&place)[0]);
    // What it says one can do with it, done.
    let command = told.lines().last().unwrap();
    let exported = Command::new("sh").args(["-c", command]).env_clear().output().unwrap();
    let exported = home.told(&exported);
    assert!(exported.contains(r#""kind":"session.workspace_removed""#), "{command}\n{exported}");
    assert_eq!(fs::read_to_string(kept.join("hello/greeting.txt")).unwrap().lines().next(), Some("Hello."));
}

#[test]
fn without_git_it_says_so() {
    let home = Home::new();
    let output = home.ao(&["demo"]).env("PATH", "/nonexistent").output().unwrap();
    let told = home.told(&output);
    assert!(told.starts_with("exit 3"), "{told}");
    assert!(
        told.contains("error: the program `git` was not found\nhint: install git 2.36 or newer"),
        "{told}"
    );
}

#[test]
fn an_interrupt_ends_it_and_its_agent() {
    let home = Home::new();
    let mut demo = home.ao(&["demo"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(demo.stdout.take().unwrap());
    // By then the agent is at work.
    let mut line = String::new();
    while !line.contains("= working") {
        line.clear();
        assert_ne!(told.read_line(&mut line).unwrap(), 0, "it ended too early");
    }
    let kill = Command::new("sh").args(["-c", &format!("kill -INT {}", demo.id())]).status().unwrap();
    assert!(kill.success());
    // Read on, or the demo would end for want of a reader.
    io::copy(&mut told, &mut io::sink()).unwrap();
    let output = demo.wait_with_output().unwrap();
    assert_eq!(home.told(&output), "exit 130\n-- stderr --\nerror: interrupted");
    assert_eq!(entries(&home.path().join("tmp")), [""; 0]);
}

/// As git sets them for a hook, or a user for a bare repository of dot files.
#[test]
fn a_repository_that_the_environment_points_at_is_left_alone() {
    let home = Home::new();
    let bystander = home.path().join("bystander");
    fs::create_dir(&bystander).unwrap();
    for line in ["init --quiet", "-c user.name=You -c user.email=you@x commit --quiet --allow-empty -m mine"]
    {
        let status = Command::new("git").args(line.split(' ')).current_dir(&bystander).status().unwrap();
        assert!(status.success());
    }
    let before = contents(&bystander);
    let git_dir = bystander.join(".git");
    let mut demo = home.ao(&["demo", "--fast"]);
    demo.env("GIT_DIR", &git_dir)
        .env("GIT_INDEX_FILE", git_dir.join("index"))
        .env("GIT_WORK_TREE", &bystander);
    let told = home.told(&demo.output().unwrap());
    assert!(told.starts_with("exit 0"), "{told}");
    assert!(contents(&bystander) == before, "{told}");
}

#[test]
fn hooks_that_the_user_has_set_for_all_repositories_do_not_run_in_it() {
    let home = Home::new();
    let hook = home.path().join("hooks/pre-commit");
    fs::create_dir(home.path().join("hooks")).unwrap();
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let config = format!("[core]\n\thooksPath = {}\n", home.path().join("hooks").display());
    fs::write(home.path().join(".gitconfig"), config).unwrap();
    let told = home.run(&["demo", "--fast"]);
    assert!(told.starts_with("exit 0"), "{told}");
}

/// Every file below a folder, with what is in it.
fn contents(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for name in entries(path) {
        let path = path.join(name);
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}
