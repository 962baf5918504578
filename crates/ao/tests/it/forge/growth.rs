//! What is kept of changes that are over, for how long.

use super::branch;
use crate::fleet::git;
use crate::house::{House, until};

/// The commits of a merged change are kept for a while beside what landed; those of an open one for as long as it is open.
#[test]
fn commits_of_a_merged_change_are_released_after_their_time() {
    let house = House::new();
    house.configure("lifecycle: { keepRescues: 1s }\n");
    house.start();
    for name in ["merged", "open"] {
        branch(&house.repository(), name, &[(name, b"one\n")]);
        house.propose(name, name);
    }
    house.ao(&["pr", "merge", "1"]).succeeds();
    let kept = || {
        git(&house.repository(), &["for-each-ref", "--format=%(refname)", "refs/ao/pulls", "refs/ao/archive"])
    };
    // The daemon looks once a minute, and when it starts.
    until("they are released", || {
        house.ao(&["stop"]).succeeds();
        house.start();
        kept() == "refs/ao/pulls/2/head"
    });
}
