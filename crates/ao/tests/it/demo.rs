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

/// The demo judges each of its tales itself, by the event log; here is what its reader is told. acceptance: F3, F7
#[test]
fn the_demo_brings_six_issues_to_their_merges_and_leaves_nothing_behind() {
    let home = Home::new();
    let told = home.run(&["demo", "--fast", "--yes"]);
    let (begin, end) = told.split_once("what happened").unwrap_or_else(|| panic!("{told}"));
    assert!(begin.starts_with("exit 0\n-- stdout --\nSix issues, six agents, one repository."), "{told}");
    assert!(!told.contains('\u{1b}'), "no colours where nobody looks");
    for moment in [
        "has a red check; it is run again first",
        "has a red check; its agent repairs it",
        "is asked for more by a reviewer; its agent answers",
        "conflicts with main; its agent rebases it",
        "touches deploy/, and waits for you",
    ] {
        assert!(begin.contains(moment), "`{moment}` is missing in\n{told}");
    }
    for line in [
        "#1 Say goodbye              a clean merge",
        "#2 Greet in capital letters a red check, repaired by its agent",
        "#3 Greet several times      a review comment, answered",
        "#4 Say good night           a conflict, rebased by its agent",
        "#5 Greet over the network   a flaky check, run again without disturbing an agent",
        "#6 Sign what is released    a protected path, which waits for you",
        "6 of 6 merged",
        "A human was needed once: for the protected path.",
        "Where to look next:",
    ] {
        assert!(end.contains(line), "`{line}` is missing in\n{told}");
    }
    assert_eq!(entries(&home.path().join("tmp")), [""; 0]);
    assert_eq!(entries(home.path()), ["tmp"], "nothing in the user's home");
    assert_eq!(left_running(&home), [0; 0]);
}

#[test]
fn what_nobody_lets_through_is_not_merged() {
    let home = Home::new();
    let told = home.run(&["demo", "--fast"]);
    assert!(told.starts_with("exit 0"), "{told}");
    assert!(told.contains("5 of 6 merged") && told.contains("there was no terminal"), "{told}");
    assert!(told.contains(" approve hello!"), "it says how: {told}");
}

#[test]
fn what_is_kept_can_be_played_with_and_removed_as_it_says() {
    let home = Home::new();
    // A place whose name a shell would take apart.
    let place = home.path().join("it's here");
    fs::create_dir(&place).unwrap();
    let output = home.ao(&["demo", "--fast", "--keep"]).env("TMPDIR", &place).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    // The daemon goes on, and has a folder of its own there until it ends.
    let kept = entries(&place).into_iter().find(|name| !name.starts_with("ao-git-")).unwrap();
    let kept = place.join(kept);
    let shell = |command: &str| {
        let ran = home.shell(command).env("TMPDIR", &place).output().unwrap();
        assert!(ran.status.success(), "{command}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    };
    // What it says one can do with it, done.
    let (_, play) = told.split_once("Look around:\n").unwrap();
    let (look, remove) = play.split_once("and when you have seen enough:\n").unwrap();
    let seen: String = look.lines().map(shell).collect();
    assert!(seen.contains("Say goodbye") && seen.contains("merged"), "{seen}");
    let approve = told.lines().find(|line| line.contains(" approve hello!")).unwrap();
    assert!(shell(approve).contains("is approved and merged into main"));
    let released = fs::read_to_string(kept.join("hello/deploy/release.sh")).unwrap();
    assert!(released.ends_with("echo signed\n"), "{released}");
    shell(remove);
    assert_eq!(entries(&place), [""; 0]);
    assert_eq!(left_running(&home), [0; 0]);
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
fn an_interrupt_ends_it_with_its_daemon_and_its_agents() {
    let home = Home::new();
    let mut demo = home.ao(&["demo"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(demo.stdout.take().unwrap());
    // By then the agents are at work.
    let mut line = String::new();
    while !line.contains("works on it") {
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
    assert_eq!(left_running(&home), [0; 0]);
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
    let mut demo = home.ao(&["demo", "--fast", "--yes"]);
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
    let told = home.run(&["demo", "--fast", "--yes"]);
    assert!(told.starts_with("exit 0"), "{told}");
}

/// The processes that were started below a home, whatever the demo made theirs.
fn left_running(home: &Home) -> Vec<i32> {
    let mark = home.path().display().to_string();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        // A daemon shows its arguments only.
        let carries = |file: &str| {
            let text = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            String::from_utf8_lossy(&text).contains(&mark)
        };
        carries("environ") || carries("cmdline")
    })
    .collect()
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
