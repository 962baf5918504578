//! What is said on a pull request: who hears it, and how often.

use ao_core::outside::NOTE;
use serde_json::Value;

use super::times;
use crate::house::{House, until};

/// Everything that was said, as an agent is to be told of it: where, by whom, at which address, and the words.
fn said(pull: &Value) -> Vec<String> {
    let mut said = vec![];
    for thread in pull["threads"].as_array().unwrap() {
        let place = match (thread["path"].as_str(), thread["line"].as_u64()) {
            (Some(path), Some(line)) => format!("{path}:{line}"),
            (Some(path), None) => path.to_owned(),
            _ => "on the pull request".to_owned(),
        };
        for comment in thread["comments"].as_array().unwrap() {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            let (login, standing) = (text(&comment["author"]["login"]), text(&comment["author"]["standing"]));
            let (url, body) = (text(&comment["url"]), text(&comment["body"]));
            assert!(url.starts_with("ao://my-app/pulls/1#"), "{url}");
            said.push(format!("{place}, {login} ({standing}), {url} {NOTE}\n> {body}"));
        }
    }
    said
}

/// acceptance: F5
#[test]
fn each_comment_reaches_the_agent_once_with_its_place_its_author_and_its_address() {
    let house = House::new();
    house.start();
    let (session, _) = house.worker("Ten lines", "ten.txt", "1\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\n9\\n10\\n");
    // A bot says four things: three as they come, and the last one in its review, with which it ends.
    let bot = "[[tool for n in 1 2 3; do ao pr comment 1 \"bot says $n\" --at ten.txt:$n; done && \
               ao pr review 1 --comment --at ten.txt:4 'bot says 4']]";
    house.ao(&["review", "1", "--agent", "scripted", "--prompt", bot]).succeeds();
    until("the bot's review", || house.pull("1")["threads"].as_array().unwrap().len() == 4);
    let words: [&[&str]; 6] = [
        &["comment", "1", "person says 1", "--at", "ten.txt:5"],
        &["comment", "1", "person says 2", "--at", "ten.txt:6"],
        // To a person and to a bot.
        &["reply", "1", "t5", "person says 3"],
        &["reply", "1", "t1", "person says 4"],
        &["comment", "1", "person says 5, on the whole"],
        &["review", "1", "--comment", "-b", "person says 6, in a review"],
    ];
    for args in words {
        house.ao(&[&["pr"], args].concat()).succeeds();
    }
    let turns = house.turns_until_now(&session);
    let pull = house.pull("1");
    let said = said(&pull);
    assert_eq!(said.len(), 9, "{said:#?}");
    for comment in &said {
        assert_eq!(times(&turns, comment), 1, "{comment}\n{turns:#?}");
    }
    for body in (1..=4).map(|n| format!("bot says {n}")).chain((1..=6).map(|n| format!("person says {n}"))) {
        assert_eq!(times(&turns, &body), 1, "{body}: {turns:#?}");
    }
    let bots = said.iter().filter(|comment| comment.contains(" (bot), ")).count();
    assert_eq!(bots, 4, "{said:#?}");
    // A review without a line has the address of the pull request, and says what it was about.
    let owner = pull["reviews"].as_array().unwrap().last().unwrap()["author"]["login"].as_str().unwrap();
    let (head, url) = (pull["head"].as_str().unwrap(), pull["url"].as_str().unwrap());
    let review = format!("review of {head}, {owner} (owner), {url} {NOTE}\n> person says 6, in a review");
    assert_eq!(times(&turns, &review), 1, "{review}\n{turns:#?}");
}

/// acceptance: F6
#[test]
fn the_agents_own_reply_does_not_wake_it() {
    let house = House::new();
    house.start();
    let (session, _) = house.worker("A word", "word.txt", "bad\\n");
    let ask = "Say good. [[tool echo good > word.txt && git commit -qam Mended && git push -q && \
               ao pr reply 1 t1 'Mended.' --resolve]]";
    house.ao(&["pr", "comment", "1", ask, "--at", "word.txt:1"]).succeeds();
    until("its answer", || house.pull("1")["threads"][0]["resolved"] == true);
    let comments = house.pull("1")["threads"][0]["comments"].clone();
    let standings: Vec<_> = comments.as_array().unwrap().iter().map(|it| &it["author"]["standing"]).collect();
    assert_eq!(standings, ["owner", "agent"]);
    let turns = house.turns_until_now(&session);
    assert_eq!(turns.len(), 3, "a task, a comment, a marker: {turns:#?}");
    // A thread that is resolved is over; one that a person goes on with is not.
    house.ao(&["pr", "resolve", "1", "t1", "--undo"]).succeeds();
    house.ao(&["pr", "reply", "1", "t1", "Better."]).succeeds();
    let turns = house.turns_until_now(&session);
    assert_eq!(times(&turns, "Say good."), 1, "{turns:#?}");
    assert_eq!(times(&turns, "> Better."), 1, "{turns:#?}");
    assert_eq!(times(&turns, "> Mended."), 0, "{turns:#?}");
}

#[test]
fn an_approval_is_of_one_commit_and_stale_when_the_head_moves() {
    let house = House::new();
    house.start();
    let (session, _) = house.worker("A word", "word.txt", "one\\n");
    let read = house.pull("1")["head"].as_str().unwrap().to_owned();
    house.ao(&["pr", "approve", "1"]).succeeds();
    assert_eq!(house.pull("1")["review"], "approved");
    house.agent_runs(&session, "echo two >> word.txt && git commit -qam Two && git push -q");
    let moved = house.pull("1");
    assert_ne!(moved["head"], read.as_str(), "what was pushed is seen at once");
    assert_eq!((&moved["review"], &moved["reviews"][0]["stale"]), (&"none".into(), &true.into()));
    assert_eq!(moved["reviews"][0]["commit"], read.as_str());
    // Nobody approves or merges what nobody saw.
    house.ao(&["pr", "approve", "1", "--head", &read[..10]]).exits(1).says(&read[..7]);
    house.ao(&["pr", "merge", "1", "--head", &read]).exits(20);
    assert_eq!(house.pull("1")["state"], "open");
    house.ao(&["pr", "approve", "1"]).succeeds();
    assert_eq!(house.pull("1")["review"], "approved");
}
