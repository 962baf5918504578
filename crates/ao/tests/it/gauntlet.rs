//! A small gauntlet: six issues in trouble at once, with the daemon killed on the way.

use std::path::Path;
use std::process::{Command, Stdio};

/// It judges itself: nobody called for nothing, nobody left uncalled, `main` never red, nothing left behind.
#[test]
fn six_issues_in_trouble_come_through_with_no_person_called_for_nothing() {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let ran = Command::new(profile.join("examples/gauntlet"))
        .args(["--issues", "6", "--seed", "3", "--kills", "2"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{told}");
    for held in ["0 not needed", "killed 2 of 2 times", "leftovers    0"] {
        assert!(told.contains(held), "`{held}` is missing in\n{told}");
    }
}
