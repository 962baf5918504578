//! The smoke exchange: one turn in which an agent writes a file and replies.

use std::fs;
use std::time::{Duration, Instant};

use super::agent_box::AgentBox;
use super::catalog::RealAgent;
use crate::standin::{RecordedRequest, turns_with};

/// Enough for the slowest agent on a busy machine.
const TURN_LIMIT: Duration = Duration::from_secs(150);

/// The figures of an exchange that went well.
#[derive(Debug)]
pub struct SmokeExchange {
    /// The time from the start of the program to its end.
    pub turn: Duration,
    /// The number of its requests, with those for titles and the like.
    pub requests: usize,
}

/// Runs one turn of an agent in a box of its own, and compares its reply, its file and its requests with the script. The
/// error describes the difference.
pub fn smoke(agent: &RealAgent) -> Result<SmokeExchange, String> {
    let name = agent.name;
    let agent_box = AgentBox::open(&[agent]).map_err(|err| format!("no box: {err}"))?;
    let prompt = format!("[[write note.txt written by {name}]] [[say {name} is done]]");
    let started = Instant::now();
    let turn = agent_box.turn(agent, &prompt, TURN_LIMIT).map_err(|err| err.to_string())?;
    let took = started.elapsed();
    let requests = agent_box.requests().map_err(|err| err.to_string())?;

    let expect = |holds: bool, what: &str| {
        if holds { Ok(()) } else { Err(format!("{what}\n{turn:#?}\n{:#?}", outline(&requests))) }
    };
    expect(turn.status.is_some(), "the turn took too long")?;
    expect(turn.succeeded(), "the program failed")?;
    expect(agent.reply(&turn.out) == format!("{name} is done"), "its reply is another one")?;
    let note = fs::read_to_string(agent_box.path("work/note.txt")).unwrap_or_default();
    expect(note.trim_end() == format!("written by {name}"), "it did not write the file")?;

    let of_the_turn =
        |request: &&RecordedRequest| !request.tools.is_empty() && request.prompt.contains("[[write ");
    let steps: Vec<&RecordedRequest> = requests.iter().filter(of_the_turn).collect();
    let results: Vec<usize> = steps.iter().map(|request| request.results).collect();
    expect(results == [0, 1], "it sent other requests than one for the call and one with its result")?;
    expect(steps.iter().all(|request| !request.system.is_empty()), "a request has no system prompt")?;
    expect(turns_with(&requests, "is done") == 1, "the prompt is not in the conversation once")?;
    expect(
        requests.iter().all(|request| request.status == 200),
        "the stand-in lacks something that it asked for",
    )?;
    agent_box.close().map_err(|err| format!("the box was not closed: {err}"))?;
    Ok(SmokeExchange { turn: took, requests: requests.len() })
}

/// Returns the requests without their long texts.
fn outline(requests: &[RecordedRequest]) -> Vec<String> {
    let line = |request: &RecordedRequest| {
        let RecordedRequest { method, path, status, turns, results, answer, .. } = request;
        format!("{method} {path} {status}: {results} results after {turns:?}, answer {answer:?}")
    };
    requests.iter().map(line).collect()
}
