//! A machine with git and hardly anything else.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::house::{House, Ran, free_port};

/// A search path with these programs and no others.
fn path_with(house: &House, programs: &[&str]) -> PathBuf {
    let bin = house.path("bin");
    fs::create_dir(&bin).unwrap();
    let paths = std::env::var_os("PATH").unwrap_or_default();
    for program in programs {
        let found =
            std::env::split_paths(&paths).map(|folder| folder.join(program)).find(|path| path.is_file());
        symlink(found.unwrap_or_else(|| panic!("{program} is installed")), bin.join(program)).unwrap();
    }
    bin
}

fn ao(house: &House, bin: &Path, args: &[&str]) -> Ran {
    let mut command = house.command(&house.repository(), args);
    Ran::of(command.env("PATH", bin).output().unwrap())
}

/// acceptance: N3
#[test]
fn without_tmux_and_node_a_session_runs_and_the_doctor_names_what_is_missing() {
    let house = House::with(&format!("port: {}\n", free_port()));
    let bin = path_with(&house, &["git", "sh"]);
    ao(&house, &bin, &["--version"]).succeeds();
    ao(&house, &bin, &["doctor"]).succeeds();
    // Another one that wants what is not there.
    let more = house.path("more");
    crate::fleet::make_repository(&more);
    let mut init = house.command(&more, &["init", "--agent", "claude-code", "--runtime", "tmux"]);
    Ran::of(init.env("PATH", &bin).output().unwrap()).succeeds();
    let told = Ran::of(house.command(&more, &["doctor"]).env("PATH", &bin).output().unwrap()).exits(3);
    for missing in ["tmux", "claude", "fix:"] {
        assert!(told.out.contains(missing), "{missing}: {}", told.out);
    }
    ao(&house, &bin, &["start", "--port", "0"]).succeeds();
    ao(&house, &bin, &["new", "Say hello", "--prompt", "[[say hello]]", "--name", "hello"]).succeeds();
    ao(&house, &bin, &["wait", "hello", "--for", "idle", "--timeout", "60"]).succeeds();
    ao(&house, &bin, &["new", "Too much", "--agent", "claude-code"]).exits(13).says("claude");
    ao(&house, &bin, &["new", "Too much", "--runtime", "tmux"]).exits(13).says("tmux");
    let listed = ao(&house, &bin, &["list", "--json"]).succeeds().json();
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(1), "nothing is half made");
}

#[test]
fn without_git_it_says_so() {
    let house = House::new();
    let bin = path_with(&house, &["sh"]);
    ao(&house, &bin, &["start", "--port", "0"]).exits(13).says("git");
    ao(&house, &bin, &["doctor"]).exits(3).says("git");
}
