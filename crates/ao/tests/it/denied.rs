//! What an agent was not allowed to do, as people and scripts see it.

use crate::house::{House, until};

/// acceptance: X2
#[test]
fn tool_calls_that_were_denied_are_counted_on_the_card_and_in_json() {
    let house = House::new();
    house.start();
    let session = house.session("fix", "[[deny Bash]] [[deny WebFetch]] [[say done]]");
    until("both are counted", || house.status(&session)["deniedTools"] == 2);
    assert_eq!(house.status(&session)["lastDeniedTool"], "WebFetch");
    // It goes on without them, and its turn ends well.
    house.wait_for(&session, "idle");
    house.ao(&["status", &session]).succeeds().says("2 tool calls, the last of WebFetch");
    house.ao(&["status"]).succeeds().says("2 tool calls denied");

    // A daemon that comes later knows them, and counts on.
    house.ao(&["stop"]).succeeds();
    house.start();
    assert_eq!(house.status(&session)["deniedTools"], 2);
    house.ao(&["send", &session, "[[deny Bash]]"]).succeeds();
    until("the third is counted", || house.status(&session)["deniedTools"] == 3);
}
