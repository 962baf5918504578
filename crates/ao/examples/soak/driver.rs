//! Keeping the slots full: one issue after the other, each merged by itself.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use ao_api::client::{Client, EventStream};
use ao_api::{NewIssue, NewSession, Spawned};
use ao_testkit::installation::Installation;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::kills::Victim;
use crate::measure::Minute;
use crate::say;

/// The longest time without a merge that is no fault: an agent that was killed is begun again after a while.
const STALLS: Duration = Duration::from_secs(180);

/// The time between two looks at who needs a person.
const LOOKS: Duration = Duration::from_secs(5);

/// A soak at work.
pub(crate) struct Soak {
    home: Installation,
    client: Client,
    slots: usize,
    spawned: u32,
    /// Pull requests that were merged, by what their events concern. Each counts once, however often it is told.
    merged: BTreeSet<String>,
    /// The place in the event log up to which it was read.
    seen: u64,
    restored: u32,
}

/// The end of a soak.
pub(crate) struct Outcome {
    pub(crate) minutes: Vec<Minute>,
    pub(crate) faults: Vec<String>,
}

impl Soak {
    pub(crate) async fn begin(slots: usize) -> Soak {
        let home = Installation::new("ao-soak-");
        home.write("helpers/propose.sh", PROPOSE);
        home.write("app/README.md", "features\n");
        home.commit_all();
        home.configure(&config(&home, slots));
        let started = home.ao(&["start", "--port", "0", "--no-open"]);
        assert!(started.ok, "{}", started.err);
        let client = Client::socket(home.path("data/ao.sock"));
        Soak { home, client, slots, spawned: 0, merged: BTreeSet::new(), seen: 0, restored: 0 }
    }

    /// Merges for so long, then lets what is on its way come to its end.
    pub(crate) async fn run(&mut self, time: Duration, kills: usize, seed: u64) -> Outcome {
        let mut random = fastrand::Rng::with_seed(seed);
        let (began, mut faults, mut minutes) = (Instant::now(), vec![], Vec::<Minute>::new());
        let pause = time.div_f64(kills.max(1) as f64);
        let (mut killed, mut before, mut last_merge) = (0, 0, Instant::now());
        let mut events = self.listen().await;
        let mut looked = Instant::now();
        while began.elapsed() < time {
            while self.on_their_way() < self.slots && self.spawn().await {}
            if killed < kills && began.elapsed() >= pause * killed as u32 {
                let victim = Victim::choose(&mut random);
                killed += usize::from(victim.kill(&self.home, &mut random));
                self.revive(&mut faults);
            }
            if kills > 0 && looked.elapsed() > LOOKS {
                self.restore();
                looked = Instant::now();
            }
            let count = self.merged.len();
            self.hear(&mut events, Duration::from_millis(100)).await;
            if self.merged.len() > count {
                last_merge = Instant::now();
            } else if last_merge.elapsed() > STALLS {
                faults.push(format!("nothing was merged for {} s", STALLS.as_secs()));
                break;
            }
            if began.elapsed() >= Duration::from_secs(60) * (minutes.len() as u32 + 1) {
                let merged = self.merged.len() as u32;
                let minute = Minute::measure(&self.home, merged - before);
                minutes.push(minute);
                before = merged;
                say(&minute.line(minutes.len()));
            }
        }
        if kills > 0 {
            let (spawned, merged, restored) = (self.spawned, self.merged.len(), self.restored);
            say(&format!(
                "{killed} killed, {spawned} spawned, {merged} merged, {restored} restored by a person"
            ));
        }
        self.finish(&mut events, &mut faults).await;
        Outcome { minutes, faults }
    }

    pub(crate) fn keep(self) -> PathBuf {
        self.home.ao(&["stop"]);
        self.home.keep()
    }

    fn on_their_way(&self) -> usize {
        self.spawned as usize - self.merged.len()
    }

    /// Begins one more. A daemon that was just killed cannot.
    async fn spawn(&mut self) -> bool {
        let number = self.spawned + 1;
        let issue = NewIssue { title: format!("Feature {number}"), ..NewIssue::default() };
        let Ok(issue) = self.client.add_issue(&issue).await else { return false };
        let helper = self.home.path("helpers/propose.sh");
        let wish = NewSession {
            issue: Some(issue.key.clone()),
            prompt: Some(format!("[[tool sh {} {number}]]", helper.display())),
            ..NewSession::default()
        };
        let spawned: Result<Spawned, _> = self.client.post("/api/sessions", &wish).await;
        // Whether it was heard is not known when the connection breaks; asked for again, it is the same session.
        let spawned = match spawned {
            Ok(_) => true,
            Err(_) => {
                self.revive(&mut vec![]);
                self.client.post::<Spawned>("/api/sessions", &wish).await.is_ok()
            }
        };
        self.spawned += u32::from(spawned);
        spawned
    }

    /// Starts the daemon again if it was killed.
    fn revive(&self, faults: &mut Vec<String>) {
        let started = self.home.ao(&["start", "--port", "0", "--no-open"]);
        if !started.ok {
            faults.push(format!("the daemon does not start again: {}", started.err));
        }
    }

    /// Does as a person does who is told that an agent was restarted in vain.
    fn restore(&mut self) {
        for session in self.needing_a_person() {
            self.restored += u32::from(self.home.ao(&["session", "restore", &session]).ok);
        }
    }

    async fn listen(&self) -> Option<EventStream> {
        self.client.events(Some(self.seen), None).await.ok()
    }

    /// Hears what has happened, for so long at most.
    async fn hear(&mut self, events: &mut Option<EventStream>, limit: Duration) {
        let until = Instant::now() + limit;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            let Some(stream) = events else {
                sleep(left.min(Duration::from_millis(20))).await;
                *events = self.listen().await;
                continue;
            };
            match timeout(left, stream.next()).await {
                Ok(Ok(Some(event))) => {
                    self.seen = event.seq;
                    if event.kind == "pull.merged" {
                        self.merged.insert(event.concerns);
                        // The slot is free: fill it before anything else is heard.
                        return;
                    }
                }
                Ok(_) => *events = None,
                Err(_) => return,
            }
        }
    }

    /// Waits until everything is merged, or a person was told why not; then nothing may be left or doubled.
    async fn finish(&mut self, events: &mut Option<EventStream>, faults: &mut Vec<String>) {
        let until = Instant::now() + STALLS;
        while self.on_their_way() > self.needing_a_person().len() && Instant::now() < until {
            self.hear(events, Duration::from_millis(500)).await;
        }
        let (left, told) = (self.on_their_way(), self.needing_a_person().len());
        if left > told {
            faults.push(format!("{} issues have no end, and nobody was told", left - told));
        }
        if told > 0 {
            say(&format!("{told} issues wait for a person"));
        }
        // Each change has a title of its own, so a change that landed twice, or not at all, shows.
        let log = self.home.git(&["log", "--first-parent", "--format=%s", "main"]);
        let titles: Vec<&str> = log.lines().filter(|title| title.starts_with("Feature ")).collect();
        let features: BTreeSet<&str> = titles.iter().filter_map(|title| title.split(' ').nth(1)).collect();
        let (merged, landed, features) = (self.merged.len(), titles.len(), features.len());
        if merged != landed || landed != features {
            faults.push(format!("{merged} merges were told, {landed} commits landed, for {features} issues"));
        }
    }

    /// The names of the sessions that wait for a person.
    fn needing_a_person(&self) -> Vec<String> {
        let listed = self.home.json(&["list", "--json"]).unwrap_or_default();
        let sessions = listed["sessions"].as_array().cloned().unwrap_or_default();
        let wait = sessions.iter().filter(|session| session["work"]["turn"] == "you");
        wait.filter_map(|session| session["name"].as_str().map(str::to_owned)).collect()
    }
}

fn config(home: &Installation, slots: usize) -> Value {
    let mut agent = home.scripted_agent();
    // An agent that is killed and told to go on remembers what it was at.
    agent["env"]["SCRIPTED_SCRIPT"] = "take-up".into();
    json!({
        "defaults": { "runtime": "process", "agent": "scripted", "tracker": "local", "notifiers": [] },
        "projects": { "app": {
            "path": ".",
            "sessionPrefix": "app",
            "checks": [{ "name": "words", "command": "test -e README.md" }],
            "policy": { "approvals": 0, "autoMerge": true, "trust": { "default": "high" } },
        } },
        "orchestrator": { "enabled": false },
        "power": { "preventIdleSleep": false },
        "lifecycle": { "maxParallelAgents": slots, "maxParallelChecks": 2, "minFreeMemory": "1MB" },
        "tools": { "scripted": agent },
    })
}

/// Changes one file of a few, so that the tree stays as large as it is. Can be run again after any part of it.
const PROPOSE: &str = "set -e
n=$1
file=part-$((n % 64)).txt
grep -qx \"feature $n\" $file 2>/dev/null || echo \"feature $n\" > $file
git add .
git diff --cached --quiet || git commit -qm \"Feature $n\"
git push -q
i=0
until ao pr create --title \"Feature $n\"; do i=$((i + 1)); [ $i -lt 150 ] || exit 1; sleep 0.2; done
";
