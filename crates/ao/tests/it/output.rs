//! What agents print, over HTTP.

use std::process::Stdio;

use crate::house::{House, Ran, until};

#[test]
fn whoever_waits_for_the_output_of_a_session_without_a_process_waits_for_the_process() {
    let house = House::with("lifecycle: { maxParallelAgents: 1 }\n");
    house.start();
    let first = house.session("First", "[[say hello]]");
    house.wait_for(&first, "idle");
    let queued = house.ao(&["new", "Second", "--prompt", "[[say moin]]", "--json"]).succeeds().json();
    let second = queued["session"]["name"].as_str().unwrap().to_owned();
    assert_eq!(house.state(&second), "queued");
    let path = format!("/sessions/{second}/output?from=0&wait=true");
    let now = house.ao(&["api", "GET", &path.replace("&wait=true", "")]).succeeds().json();
    assert_eq!((&now["text"], &now["ended"]), (&"".into(), &false.into()));
    let mut command = house.command(&house.repository(), &["api", "GET", &path]);
    let mut asked = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A second question of the same kind is answered, and the first one is not.
    for _ in 0..5 {
        house.status(&first);
    }
    assert!(asked.try_wait().unwrap().is_none(), "it waits");
    house.ao(&["stop", &first]).succeeds();
    until("it is answered", || asked.try_wait().unwrap().is_some());
    let told = Ran::of(asked.wait_with_output().unwrap()).succeeds().json();
    // What comes first may be no text: a terminal is told how it is to behave.
    assert!(told["next"].as_u64().is_some_and(|next| next > 0) && told["ended"] == false, "{told}");
}
