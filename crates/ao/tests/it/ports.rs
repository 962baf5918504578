//! Ports that sessions lease.

use crate::house::{House, free_port, until};

/// A project that can be told no other port: the second session waits, and is told for whom.
///
/// acceptance: L8
#[test]
fn who_waits_for_an_exclusive_port_is_told_who_holds_it() {
    let house = House::new();
    let ports = format!("    ports: {{ names: [PORT], first: {}, exclusive: true }}", free_port());
    house.configure_project(&ports, "");
    house.start();
    let holder = house.session("First", "[[say hello]]");
    house.wait_for(&holder, "idle");
    let waiting = house.session("Second", "[[say hello]]");
    assert_eq!(house.state(&waiting), "queued");
    let words = format!("all ports of its project are in use by `{holder}`");
    for command in ["status", "explain"] {
        let told = house.ao(&[command, &waiting]).succeeds().out;
        assert!(told.contains(&words), "{command}: {told}");
    }
    assert!(house.ao(&["status", &waiting, "--json"]).succeeds().out.contains(&holder));

    house.ao(&["stop", &holder]).succeeds();
    house.wait_for(&waiting, "idle");
    until("it has the port", || !house.ao(&["explain", &waiting]).succeeds().out.contains("in use by"));
}
