//! What matters now, as a user is told it.

use serde_json::Value;

use crate::house::{House, until};

#[test]
fn advice_names_who_waits_and_the_command_that_helps() {
    let house = House::new();
    house.start();
    house.ao(&["advise"]).succeeds().says("Nothing needs you now");
    house.ao(&["plan"]).succeeds().says("Nothing runs and nothing waits");
    let session = house.session("Tidy up", "[[ask Allow `rm -r build`?]] [[say done]]");
    until("it to ask", || house.state(&session) == "needs_input");
    let advice = house.ao(&["advise", "--json"]).succeeds().json();
    let first = &advice["advice"][0];
    assert_eq!(
        (&first["kind"], &first["subject"]),
        (&Value::from("answer"), &Value::from(session.as_str())),
        "{advice}"
    );
    let command = first["do"].as_str().unwrap();
    house.ao(&["advise", "--project", "my-app"]).succeeds().says("waits for your answer").says(command);
    house.ao(&["advise", "--project", "other"]).exits(5).says("there is no project `other`");
    // It shows the question, and leaves the answer to whoever has read it.
    let words: Vec<&str> = command.split_whitespace().skip(1).collect();
    house.ao(&words).succeeds().says("Allow `rm -r build`?");
    house.ao(&["answer", &session, "yes"]).succeeds();
    house.wait_for(&session, "idle");
    house.ao(&["advise"]).succeeds().says("Nothing needs you now");
}
