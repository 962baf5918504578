//! What people say on a pull request reaches its agent once, and what they say instead once more.

use std::fs;

use serde_json::Value;

use crate::house::{House, until};

/// A comment at a line, its edit, the words of a review, and their edit. acceptance: F5
#[test]
fn a_comment_reaches_the_agent_once_and_its_edit_once_more() {
    let house = House::new();
    house.start();
    let told = house.path("told.txt");
    let prompt = format!(
        "[[tool (echo one > words.txt && echo two >> words.txt && git add . && git commit -qm 'Add words' && \
         ao pr create) > {} 2>&1]]",
        told.display()
    );
    let session = house.session("Add words", &prompt);
    let shown = || -> Value { house.ao(&["pr", "show", "1", "--json"]).succeeds().json() };
    until("the agent has proposed it", || {
        fs::read_to_string(&told).is_ok_and(|told| told.contains("my-app!1"))
    });
    until("it belongs to the session", || shown()["session"] == session.as_str());
    let turns_with = |what: &str| {
        let turns = house.turns(&session);
        turns.into_iter().filter(|turn| turn.contains(what)).collect::<Vec<_>>()
    };

    // What is asked of the agent here is none of its business: nobody edits what somebody else has said.
    let refused = house.path("refused.txt");
    let tried =
        format!("[[tool ao pr comment 1 --edit c1 mine > {0} 2>&1; echo exit $? >> {0}]]", refused.display());
    house.ao(&["pr", "comment", "1", &format!("Say please. {tried}"), "--at", "words.txt:2"]).succeeds();
    until("the comment reaches the agent", || turns_with("Say please").len() == 1);
    until("the agent has tried", || fs::read_to_string(&refused).is_ok_and(|said| said.contains("exit ")));
    let said = fs::read_to_string(&refused).unwrap();
    assert!(said.contains("`c1` was written by") && said.contains("exit 1"), "{said}");
    let comment = shown()["threads"][0]["comments"][0].clone();
    assert_eq!((&comment["id"], &comment["editedAt"]), (&"c1".into(), &Value::Null));
    let author = format!("{} (owner)", comment["author"]["login"].as_str().unwrap());
    let place = format!("words.txt:2, {author}, ao://my-app/pulls/1#c1 [quoted: ");
    assert!(turns_with("Say please")[0].contains(&place), "{:?}", turns_with("Say please"));

    house.ao(&["pr", "comment", "1", "--edit", "c1", "Say please, and thank you."]).succeeds();
    // The same words again are no news.
    house.ao(&["pr", "comment", "1", "--edit", "c1", "Say please, and thank you."]).succeeds();
    until("the edit reaches the agent", || turns_with("and thank you").len() == 1);
    assert!(turns_with("and thank you")[0].contains(&place), "{:?}", turns_with("and thank you"));

    house.ao(&["pr", "request-changes", "1", "-b", "Not like this."]).succeeds();
    until("the review reaches the agent", || turns_with("Not like this").len() == 1);
    house.ao(&["pr", "comment", "1", "--edit", "r1", "Not like that."]).succeeds();
    until("its edit reaches the agent", || turns_with("Not like that").len() == 1);
    assert!(turns_with("Not like that")[0].contains(&author));

    // Whatever was queued before has come by then.
    house.ao(&["send", &session, "That is all."]).succeeds();
    let turns = house.turns(&session);
    let of = |what: &str| turns.iter().filter(|turn| turn.contains(what)).count();
    let counts = ["Say please. ", "Say please, and", "Not like this", "Not like that"].map(of);
    assert_eq!((counts, turns.len()), ([1; 4], 6), "{turns:#?}");
    let told = house.ao(&["pr", "show", "1"]).succeeds().says("c1 ").says("r1 ");
    assert_eq!(told.out.matches(", edited ").count(), 2, "{}", told.out);
}
