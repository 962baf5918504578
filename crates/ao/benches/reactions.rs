//! How soon an agent has the news that is meant for it: a comment, a failed check, in a fleet of a hundred.
//!
//! `cargo bench -p ao --bench reactions` prints a table and fails if a limit is passed. Arguments choose some of `comment` and
//! `check`. The agents are scripted, and idle when the news comes; an agent has it when it has proven so.

#![expect(clippy::print_stdout, reason = "the table is the output of this program")]

mod yard;

use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;
use std::time::Duration;

use ao_api::client::{Client, EventStream};
use ao_api::{NewCheckRun, NewComment, Timestamp};
use serde_json::{Value, json};

use self::yard::{Yard, row};

const FLEET: usize = 100;
/// How long one piece of news may take before the measure itself has failed.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    println!("{:<58} | {:>8} | {:>8} |", "what", "limit", "measured");
    type Measure = fn(&Fleet) -> bool;
    let rows: [(&str, Measure); 2] = [("comment", comment), ("check", check)];
    let chosen = |name: &str| args.iter().any(|arg| arg == name);
    let all = !rows.iter().any(|(name, _)| chosen(name));
    let fleet = Fleet::new();
    let mut within = true;
    for (_, measure) in rows.iter().filter(|(name, _)| all || chosen(name)) {
        within &= measure(&fleet);
    }
    if within { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Fails on the agents' work and passes on the base, once it is to.
const CHECK: &str = "test ! -e \"$RED\" || ! ls work-* || { echo 'error: it is red'; exit 1; }";

/// A hundred agents, each with an open pull request, all of them idle.
struct Fleet {
    yard: Yard,
    runtime: tokio::runtime::Runtime,
    members: Vec<Member>,
}

struct Member {
    session: String,
    pull: String,
    /// What it has written.
    file: String,
}

/// From the comment's being taken in to the proof that the agent has it.
fn comment(fleet: &Fleet) -> bool {
    fleet.measure("comment added → idle agent has it, p99 of 100, ms", async |client, member| {
        let began = Timestamp::now();
        let comment = NewComment {
            body: "Please look at this.".into(),
            path: Some(member.file.clone()),
            line: Some(1),
            ..NewComment::default()
        };
        client.comment_on_pull(&member.pull.as_str().into(), &comment).await.unwrap();
        began
    })
}

/// From the check's end to the proof that the agent knows of it.
fn check(fleet: &Fleet) -> bool {
    fs::write(fleet.yard.path("red"), "").unwrap();
    fleet.measure("check finished → idle agent has it, p99 of 100, ms", async |client, member| {
        let request = NewCheckRun { pull: Some(member.pull.clone()), again: true, ..NewCheckRun::default() };
        let run = client.run_checks(&request).await.unwrap().runs.remove(0);
        let mut from = 0;
        loop {
            let part = client.check_log(run.id.as_str(), from, true).await.unwrap();
            from = part.next;
            if part.ended {
                return client.check_run(run.id.as_str()).await.unwrap().ended_at.unwrap();
            }
        }
    })
}

impl Fleet {
    fn new() -> Fleet {
        let yard = Yard::with(json!({
            "path": ".",
            "checks": [{ "name": "test", "command": CHECK }],
            "reactions": { "ci-failed": { "rerun": 0 } },
        }));
        let red = yard.path("red").display().to_string();
        let config = yard.path("app/agent-orchestrator.yaml");
        let text = fs::read_to_string(&config).unwrap().replace("$RED", &red);
        fs::write(&config, text).unwrap();
        yard.start();
        for n in 0..FLEET {
            let prompt = format!(
                "[[tool echo {n} > work-{n}.txt && git add . && git commit -qm 'Work {n}' && ao pr create --title 'Work {n}']]"
            );
            yard.ao(&["new", &format!("Work {n}"), "--prompt", &prompt]);
        }
        yard.until("all are idle", |sessions| {
            sessions.len() == FLEET && sessions.iter().all(|session| session["status"]["state"] == "idle")
        });
        let listed: Value =
            serde_json::from_str(&yard.ao(&["pr", "list", "--limit", "200", "--json"])).unwrap();
        let pulls = listed["pulls"].as_array().unwrap();
        let member = |pull: &Value| Member {
            session: pull["session"].as_str().unwrap().to_owned(),
            pull: pull["number"].to_string(),
            file: pull["title"].as_str().unwrap().replace("Work ", "work-") + ".txt",
        };
        let members: Vec<Member> = pulls.iter().map(member).collect();
        assert_eq!(members.len(), FLEET, "{}", yard.complaints());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Fleet { yard, runtime, members }
    }

    fn measure(&self, what: &str, news: impl AsyncFn(&Client, &Member) -> Timestamp) -> bool {
        let mut times: Vec<Duration> = self.runtime.block_on(async {
            let client = Client::socket(self.yard.path("data/ao.sock"));
            let ids = ids(&client).await;
            let mut events = client.events(None, None).await.unwrap();
            let mut times = Vec::new();
            for member in &self.members {
                let began = news(&client, member).await;
                let taken = taken(&mut events, &ids[&member.session]);
                let taken = tokio::time::timeout(PATIENCE, taken).await.expect("the agent hears of it");
                // The moment as the daemon has it: our own reading of the feed is not part of it.
                times.push(taken.duration_since(began).try_into().unwrap_or_default());
            }
            times
        });
        times.sort();
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let detail = format!("half within {:.1} ms", ms(times[times.len() / 2]));
        row(what, 100.0, ms(times[(times.len() * 99).div_ceil(100) - 1]), &detail)
    }
}

/// The ids of the sessions by their names.
async fn ids(client: &Client) -> BTreeMap<String, String> {
    let listed: Value = client.get("/api/sessions").await.unwrap();
    let sessions = listed["sessions"].as_array().unwrap();
    let word = |session: &Value, key: &str| session[key].as_str().unwrap().to_owned();
    sessions.iter().map(|session| (word(session, "name"), word(session, "id"))).collect()
}

/// When the next message was taken by a session.
async fn taken(events: &mut EventStream, session: &str) -> Timestamp {
    loop {
        let event = events.next().await.unwrap().expect("the daemon goes on");
        if event.kind == "session.accepted" && event.session_id.as_deref() == Some(session) {
            return event.at;
        }
    }
}
