//! An agent that reviews: what it sees, what it may say, what it may not do, and how it ends.

use std::fs;

use crate::fleet::git;
use crate::house::{House, until};

#[test]
fn a_reviewer_reads_a_closed_checkout_and_ends_with_its_review() {
    let house = House::new();
    house.start();
    let (worker, _) = house.worker("Two lines", "two.txt", "one\\ntwo\\n");
    let head = house.pull("1")["head"].as_str().unwrap().to_owned();
    let seen = house.path("tmp/seen");
    // It notes what it finds about itself, tries what it must not do, and then says what it was asked to say.
    let prompt = format!(
        "[[tool exec > {} 2>&1; pwd; git rev-parse HEAD; ls -ld . two.txt; \
         if test $(id -u) -ne 0; then touch new.txt; echo touch=$?; echo x > two.txt; echo write=$?; fi; \
         ao pr approve 1; echo approve=$?; ao pr merge 1 --anyway; echo merge=$?; ao pr close 1; echo close=$?; \
         ao pr review 1 --request-changes -b 'Two things.' --at two.txt:1 'Not one.' --at two.txt:2 'Not two.']]",
        seen.display()
    );
    let begun = house.ao(&["review", "1", "--agent", "scripted", "--prompt", &prompt, "--json"]).succeeds();
    let name = begun.json()["session"]["name"].as_str().unwrap().to_owned();
    until("its review", || house.pull("1")["review"] == "changes_requested");
    let pull = house.pull("1");
    let threads = pull["threads"].as_array().unwrap();
    let found: Vec<_> = threads
        .iter()
        .map(|thread| {
            let comment = &thread["comments"][0];
            let author = &comment["author"];
            assert_eq!((&author["login"], &author["standing"]), (&name.as_str().into(), &"bot".into()));
            (
                thread["path"].as_str().unwrap(),
                thread["line"].as_u64().unwrap(),
                comment["body"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(found, [("two.txt", 1, "Not one."), ("two.txt", 2, "Not two.")]);
    assert_eq!(pull["reviews"][0]["commit"], head.as_str());

    let seen = fs::read_to_string(seen).unwrap();
    let tree = seen.lines().next().unwrap().to_owned();
    assert_eq!(seen.lines().nth(1), Some(head.as_str()), "{seen}");
    // Rights to write bind everybody but root.
    let modes: Vec<&str> = seen.lines().skip(2).take(2).map(|line| &line[..10]).collect();
    assert_eq!(modes, ["dr-xr-xr-x", "-r--r--r--"], "{seen}");
    assert!(!seen.contains("touch=0\n") && !seen.contains("write=0\n"), "{seen}");
    for refused in ["approve=17", "merge=17", "close=17"] {
        assert!(seen.contains(&format!("an agent may not do that\nhint: a program that an agent started has the agent's rights, whatever token it sends; ask the person who runs the daemon\n{refused}\n")), "{seen}");
    }
    assert_eq!((&pull["state"], &pull["head"]), (&"open".into(), &head.as_str().into()));

    until("its end", || house.state(&name) == "stopped");
    until("its checkout to go", || !std::path::Path::new(&tree).exists());
    until("its branch to go", || !git(&house.repository(), &["branch", "--all"]).contains("review"));
    // What it found is news to the one who is reviewed.
    until("the worker to hear of it", || {
        let turns = house.turns(&worker);
        ["Not one.", "Not two.", "Two things."].iter().all(|words| super::times(&turns, words) == 1)
    });
    assert_eq!(fs::read_to_string(house.repository().join("README.md")).unwrap(), "# app\n");
}

#[test]
fn a_reviewer_of_one_head_is_not_started_twice_and_a_merged_pull_request_has_none() {
    let house = House::new();
    house.start();
    super::branch(&house.repository(), "feature", &[("a.txt", b"a\n")]);
    house.propose("feature", "Feature");
    let first = house.ao(&["review", "1", "--agent", "scripted", "--prompt", "[[work 60s]]"]).succeeds();
    let again = house.ao(&["review", "1", "--agent", "scripted"]).succeeds();
    assert!(
        first.out.contains(" reviews !1") && again.out.contains(" reviews already !1"),
        "{first:?} {again:?}"
    );
    house.ao(&["pr", "merge", "1"]).succeeds();
    house.ao(&["review", "1", "--agent", "scripted"]).exits(1).says("is merged or closed");
    house.ao(&["review", "9", "--agent", "scripted"]).exits(5);
}
