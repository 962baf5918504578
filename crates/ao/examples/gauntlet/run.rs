//! One run: the issues are spawned, the people do their part, the daemon is killed, until every issue has its end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use ao_testkit::installation::Installation;
use serde_json::{Value, json};

use crate::place;
use crate::report::Report;
use crate::trouble::Trouble;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(150);

/// An issue on its way.
#[derive(Debug)]
pub(crate) struct Issue {
    pub(crate) key: String,
    pub(crate) trouble: Trouble,
    pub(crate) session: Option<Value>,
    pub(crate) pull: Option<Value>,
    /// The reviewer has asked, the provider has refused, or the person has acted: whatever this trouble has once.
    done_once: bool,
    pub(crate) over: bool,
}

struct Run<'a> {
    place: &'a Installation,
    issues: Vec<Issue>,
    /// Sessions and pull requests that a person was called for.
    called_for: BTreeSet<String>,
    seen: u64,
}

pub(crate) fn run(issues: usize, seed: u64, kills: usize) -> (Installation, Report) {
    let place = place::prepare();
    let began = Instant::now();
    let until = began + Duration::from_secs(180 + 15 * issues as u64);
    let mut random = fastrand::Rng::with_seed(seed ^ 0x6a75_6e74);
    let mut report = Report::new(issues, kills);
    let started = place.ao(&["start", "--port", "0", "--no-open"]);
    if !started.ok {
        report.fault(format!("the daemon does not start: {}", started.err));
        return (place, report);
    }
    let mut run = Run { place: &place, issues: vec![], called_for: BTreeSet::new(), seen: 0 };
    for (number, trouble) in (1..).zip(Trouble::dealt(issues, seed)) {
        run.begin(number, trouble, &mut report);
    }
    let mut next_kill = Instant::now() + Duration::from_millis(random.u64(1_000..4_000));
    // The daemon is killed as often as it is to be, also when everything has its end already: what was merged and told stays so.
    while run.issues.iter().any(|issue| !issue.over) || report.killed < kills {
        if Instant::now() > until {
            let left = run.issues.iter().filter(|issue| !issue.over).map(told).collect::<Vec<_>>();
            if !left.is_empty() {
                report.fault(format!("not over after {} s: {}", began.elapsed().as_secs(), left.join("; ")));
            }
            break;
        }
        if report.killed < kills && Instant::now() > next_kill {
            report.killed += usize::from(place.kill_daemon());
            let started = place.ao(&["start", "--port", "0", "--no-open"]);
            if !started.ok {
                report.fault(format!("the daemon does not start again: {}", started.err));
                break;
            }
            next_kill = Instant::now() + Duration::from_millis(random.u64(2_000..9_000));
        }
        run.look();
        run.act();
        std::thread::sleep(LOOK);
    }
    report.took = began.elapsed();
    run.tidy_up();
    match run.events_after(0) {
        Ok(events) => report.judge(run.place, &run.issues, &events),
        Err(why) => report.fault(format!("the log cannot be read, so nothing can be judged by it: {why}")),
    }
    (place, report)
}

/// An issue in a few words, for whoever has to find out why it has no end.
fn told(issue: &Issue) -> String {
    let word = |value: &Option<Value>, at: &str| {
        value.as_ref().and_then(|value| value.pointer(at)).map(Value::to_string).unwrap_or_default()
    };
    format!(
        "#{} {:?}: {} {} pull {} {} {}",
        issue.key,
        issue.trouble,
        word(&issue.session, "/name"),
        word(&issue.session, "/status/state"),
        word(&issue.pull, "/number"),
        word(&issue.pull, "/checks"),
        word(&issue.pull, "/mergeable"),
    )
}

impl Run<'_> {
    fn begin(&mut self, number: usize, trouble: Trouble, report: &mut Report) {
        let key = number.to_string();
        let added = self.place.ao(&["issue", "add", &format!("Feature {key}")]);
        let prompt = trouble.prompt(&key, &self.place.path("helpers").display().to_string());
        let mut args = vec!["spawn", &key, "--prompt", &prompt];
        args.extend(trouble.agent().iter().flat_map(|agent| ["--agent", agent]));
        let spawned = self.place.ao(&args);
        if !added.ok || !spawned.ok {
            report.fault(format!("#{key} cannot be begun: {}{}", added.err, spawned.err));
        }
        self.issues.push(Issue { key, trouble, session: None, pull: None, done_once: false, over: false });
    }

    fn look(&mut self) {
        // A daemon that was just killed says nothing; what it would have said is heard at the next look.
        for event in self.events_after(self.seen).unwrap_or_default() {
            self.seen = self.seen.max(event["seq"].as_u64().unwrap_or_default());
            self.called_for.extend(Ping::of(&event).map(|ping| ping.about));
        }
        let Some(listed) = self.place.json(&["list", "--json"]) else { return };
        let Some(pulls) = self.place.json(&["pr", "list", "--state", "all", "--limit", "1000", "--json"])
        else {
            return;
        };
        let by = |list: &Value, name: &str, at: &str| -> BTreeMap<String, Value> {
            let all = list[name].as_array().cloned().unwrap_or_default();
            all.into_iter().filter_map(|it| Some((it[at].as_str()?.to_owned(), it))).collect()
        };
        let (sessions, pulls) = (by(&listed, "sessions", "issue"), by(&pulls, "pulls", "title"));
        for issue in &mut self.issues {
            if let Some(session) = sessions.get(&issue.key) {
                issue.session = Some(session.clone());
            }
            if let Some(pull) = pulls.get(&format!("Feature {}", issue.key)) {
                issue.pull = Some(pull.clone());
            }
        }
    }

    /// The reviewer, the provider and the person do what is theirs.
    fn act(&mut self) {
        for issue in &mut self.issues {
            if issue.over {
                continue;
            }
            let Some(session) = &issue.session else { continue };
            let (id, name) = (text(session, "/id"), text(session, "/name"));
            let state = text(session, "/status/state");
            if issue.trouble.person_hears_of().is_some() && !issue.done_once && self.called_for.contains(&id)
            {
                issue.done_once = match issue.trouble {
                    Trouble::Asks => self.place.ao(&["answer", &name, "yes"]).ok,
                    _ => self.place.ao(&["stop", &name, "--why", "it cannot be helped"]).ok,
                };
            }
            if issue.trouble == Trouble::Limited && !issue.done_once && state == "idle" {
                let limit = format!("[[limit {}]]", clock(8));
                issue.done_once = self.place.ao(&["send", &name, &limit]).ok;
            }
            if !issue.trouble.merges() {
                issue.over = issue.done_once && state == "stopped";
                continue;
            }
            let Some(pull) = &issue.pull else { continue };
            if pull["state"] == "merged" {
                issue.over = true;
                continue;
            }
            let number = pull["number"].to_string();
            if issue.trouble == Trouble::Comment && !issue.done_once {
                issue.done_once = asked(self.place, &issue.key, &number);
                continue;
            }
            // Somebody changes the same place on main by hand.
            if issue.trouble == Trouble::Conflict && !issue.done_once {
                issue.done_once = self.place.helps("by-hand.sh", &issue.key);
                continue;
            }
            let polite = issue.trouble != Trouble::Comment || is_polite(self.place, &issue.key, pull);
            if polite
                && pull["checks"] == "passed"
                && pull["review"] != "approved"
                && pull["mergeable"] != "conflict"
            {
                // Nothing that was asked for is merged before whoever asked has said that it is done.
                if issue.trouble == Trouble::Comment {
                    self.place.ao(&["pr", "resolve", &number, "t1"]);
                }
                self.place.ao(&["pr", "approve", &number, "--head", &text(pull, "/head")]);
            }
        }
    }

    /// What a user does in the evening: clears away what has ended, and stops the daemon.
    fn tidy_up(&self) {
        let until = Instant::now() + Duration::from_secs(60);
        while Instant::now() < until {
            self.place.ao(&["start", "--port", "0", "--no-open"]);
            self.place.ao(&["session", "cleanup"]);
            let trees = self.place.git(&["worktree", "list", "--porcelain"]);
            if trees.matches("worktree ").count() == 1 {
                break;
            }
            std::thread::sleep(LOOK);
        }
    }

    fn events_after(&self, seq: u64) -> Result<Vec<Value>, String> {
        let told = self.place.ao(&["events", "--after", &seq.to_string(), "--json"]);
        if !told.ok {
            return Err(told.err);
        }
        let event = |line: &str| serde_json::from_str(line).map_err(|err| format!("{err} in `{line}`"));
        told.out.lines().map(event).collect()
    }
}

/// A call for a person.
pub(crate) struct Ping {
    pub(crate) words: String,
    /// The session or the pull request that it is about.
    pub(crate) about: String,
    /// The kind of the problem that it tells of, if it tells of one.
    pub(crate) kind: String,
}

impl Ping {
    /// The call that an event is, if it is one.
    pub(crate) fn of(event: &Value) -> Option<Ping> {
        let notice = event["data"].get("raised")?.get("notice")?;
        // A review is told of only if the change still waits for it after a while.
        let is_review = notice["incident"]["kind"] == "review-needed";
        if !matches!(notice["level"].as_str(), Some("action" | "urgent")) || is_review {
            return None;
        }
        let about =
            notice["subject"].as_object().and_then(|subject| subject.values().next()).and_then(Value::as_str);
        Some(Ping {
            words: text(notice, "/text"),
            about: about.unwrap_or("host").to_owned(),
            kind: text(notice, "/incident/kind"),
        })
    }
}

pub(crate) fn text(value: &Value, at: &str) -> String {
    value.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// A reviewer asks for something at a line. What is asked for once is there once, however often it takes to say it.
fn asked(place: &Installation, issue: &str, number: &str) -> bool {
    let helpers = place.path("helpers");
    let mend = format!("[[tool sh {}/polite.sh {issue} {number}]]", helpers.display());
    let review = json!({
        "verdict": "request_changes",
        "body": "",
        "key": format!("review of {issue}"),
        "comments": [{ "path": format!("feature-{issue}.txt"), "line": 1, "body": format!("Be polite. {mend}") }],
    });
    place.ao(&["api", "POST", &format!("/pulls/{number}/reviews"), "-d", &review.to_string()]).ok
}

/// Whether what was asked for is there at the head.
fn is_polite(place: &Installation, issue: &str, pull: &Value) -> bool {
    let shown = place.git(&["grep", "-c", "", &text(pull, "/head"), "--", &format!("feature-{issue}.txt")]);
    shown.ends_with(":2")
}

/// So many seconds from now, as an agent's screen tells it.
fn clock(seconds: i64) -> String {
    let then = jiff::Zoned::now() + jiff::Span::new().seconds(seconds);
    then.strftime("%H:%M:%S").to_string()
}
