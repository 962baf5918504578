//! The demo, as `cargo xtask demo` runs it.

use std::fs;
use std::path::Path;

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
    assert!(end.contains("notices   1 raised, 1 sent"), "{told}");
    assert_eq!(entries(&home.path().join("tmp")), [""; 0]);
    assert_eq!(entries(home.path()), ["tmp"], "nothing in the user's home");
}

#[test]
fn what_is_kept_can_be_looked_at() {
    let home = Home::new();
    let told = home.run(&["demo", "--fast", "--keep"]);
    assert!(told.starts_with("exit 0"), "{told}");
    let kept = home.path().join("tmp").join(&entries(&home.path().join("tmp"))[0]);
    let data = kept.join("data").display().to_string();
    assert!(told.contains(&format!(
        "ao events export --data-dir {}",
        data.replace(&home.path().display().to_string(), "[home]")
    )));
    let exported = home.run(&["events", "export", "--data-dir", &data]);
    assert!(exported.contains(r#""kind":"session.workspace_removed""#), "{exported}");
    assert_eq!(fs::read_to_string(kept.join("hello/greeting.txt")).unwrap().lines().next(), Some("Hello."));
}

#[test]
fn without_git_it_says_so() {
    let home = Home::new();
    let output = home.ao(&["demo"]).env("PATH", "/nonexistent").output().unwrap();
    let told = home.told(&output);
    assert!(told.starts_with("exit 3"), "{told}");
    assert!(told.contains("hint: the demo needs the program `git`; install it"), "{told}");
}
