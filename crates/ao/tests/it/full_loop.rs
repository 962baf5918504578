//! The whole story, through the program itself: an issue, an agent, a pull request, a red check, news of it, a mend, a review,
//! another mend, an approval, a merge, and nothing left behind. Once in peace, and then with the daemon killed all the while.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::fleet::{git, processes_with};
use crate::house::{House, Ran};

/// How long the whole may take. Far more than it does, because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(420);

/// A file that says `bad` fails; what it says is the script of the agent that hears of it.
const CHECK: &str = r#"
    checks:
      - name: words
        command: |
          bad=$(grep -l bad feature-*.txt 2>/dev/null | head -n 1)
          [ -z "$bad" ] && exit 0
          echo "$bad:1:1: error: it says bad [[tool sed -i s/bad/good/ $bad && git commit -qam mended && git push -q]]"
          exit 1
"#;

#[test]
fn from_an_issue_to_the_merge() {
    let house = house();
    house.start();
    let story = Story::new(&house);
    story.told(1);
    story.leaves_nothing_behind();
}

/// Three stories at once, and then three more, until the daemon has died a hundred times at random moments of them.
#[test]
fn a_daemon_that_is_killed_a_hundred_times_loses_nothing_and_doubles_nothing() {
    let house = house();
    house.start();
    let story = Story::new(&house);
    let (over, deaths) = (AtomicBool::new(false), AtomicUsize::new(0));
    // The moments are not those of another machine, but the waits are.
    let seed = std::env::var("FULL_LOOP_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    eprintln!("FULL_LOOP_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    std::thread::scope(|scope| {
        let killer = scope.spawn(|| {
            while deaths.load(Ordering::Relaxed) < 100 && !over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(random.u64(20..600)));
                let Ok(pid) = pid_of(&house) else { continue };
                if kill_process(pid, Signal::KILL).is_ok() {
                    deaths.fetch_add(1, Ordering::Relaxed);
                }
                story.persist(&["start", "--port", "0"]);
            }
        });
        // However it ends, nobody goes on killing.
        let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            while deaths.load(Ordering::Relaxed) < 100 {
                story.told(3);
            }
        }));
        over.store(true, Ordering::Relaxed);
        killer.join().unwrap();
        if let Err(panic) = told {
            std::panic::resume_unwind(panic);
        }
    });
    assert!(deaths.load(Ordering::Relaxed) >= 100);
    story.persist(&["start", "--port", "0"]);
    story.leaves_nothing_behind();
}

fn house() -> House {
    let house = House::new();
    house.configure_project(CHECK, "lifecycle: { maxParallelAgents: 8, maxParallelChecks: 4 }\n");
    house
}

fn pid_of(house: &House) -> Result<Pid, ()> {
    let told = house.ao(&["api", "GET", "/daemon"]);
    if told.code != 0 {
        return Err(());
    }
    let pid = told.json()["pid"].as_i64().ok_or(())?;
    Pid::from_raw(i32::try_from(pid).map_err(|_| ())?).ok_or(())
}

/// Some stories that are told side by side.
struct Story<'a> {
    house: &'a House,
    /// The issues of all stories so far.
    issues: Mutex<Vec<String>>,
    until: Instant,
}

impl Story<'_> {
    fn new(house: &House) -> Story<'_> {
        Story { house, issues: Mutex::default(), until: Instant::now() + PATIENCE }
    }

    /// Tells so many more stories, side by side, to their ends.
    fn told(&self, tales: usize) {
        let issues: Vec<String> = (0..tales).map(|_| self.issue()).collect();
        for issue in &issues {
            self.begun(issue);
        }
        let mut steps: BTreeMap<&str, u32> = issues.iter().map(|issue| (issue.as_str(), 0)).collect();
        while steps.values().any(|step| *step < 4) {
            for (issue, step) in &mut steps {
                if self.goes_on(issue, *step) {
                    *step += 1;
                }
            }
            self.in_time("the stories to end", &format!("{steps:?}"));
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Another issue. It comes from a list, which makes one however often it is brought in.
    fn issue(&self) -> String {
        let number = self.issues.lock().unwrap().len() + 1;
        let list = self.house.path("list.md");
        fs::write(&list, format!("- [ ] Feature number {number}\n  It should say good.\n")).unwrap();
        let brought = self.persist(&["issue", "import", &list.display().to_string(), "--json"]).json();
        let id = brought["issues"][0]["id"].as_str().unwrap();
        let key = id.split_once('#').unwrap().1.to_owned();
        self.issues.lock().unwrap().push(key.clone());
        key
    }

    /// A session for the issue, whose agent writes something bad and proposes it.
    fn begun(&self, issue: &str) {
        let prompt = format!(
            "[[tool echo bad > feature-{issue}.txt && git add . && git commit -qm 'Feature {issue}' && git push -q && \
             until ao pr create; do sleep 0.1; done]]"
        );
        loop {
            if self.house.ao(&["spawn", issue, "--prompt", &prompt]).code == 0
                || self.session(issue).is_some()
            {
                return;
            }
            self.in_time("a session to begin", issue);
        }
    }

    /// Does what is to be done next, if it can be.
    fn goes_on(&self, issue: &str, step: u32) -> bool {
        let Some(pull) = self.pull(issue) else { return false };
        let number = pull["number"].to_string();
        let green = pull["checks"] == "passed";
        let text = self.text(issue, &pull);
        match step {
            // Its agent may have heard of the review before we have heard that it was given.
            0 if text == "good\nplease\n" => true,
            0 => green && text == "good\n" && self.reviewed(&number, issue),
            // The merge ends the agent, so its reply comes first.
            1 => {
                let done = green && text == "good\nplease\n" && self.is_answered(&number);
                done && self.ao(&["pr", "approve", &number])
            }
            2 if pull["state"] == "merged" => true,
            2 => pull["review"] == "approved" && self.ao(&["pr", "merge", &number, "--squash"]),
            3 => self.session(issue).is_none_or(|session| session["status"]["state"] == "merged"),
            _ => false,
        }
    }

    /// A person asks for something at a line. What is asked for once is there once, however often it takes to say it.
    fn reviewed(&self, number: &str, issue: &str) -> bool {
        let mend = format!(
            "[[tool echo please >> feature-{issue}.txt && git commit -qam please && git push -q && \
             until ao pr reply {number} t1 'Done, thank you.'; do sleep 0.1; done]]"
        );
        let review = json!({
            "verdict": "request_changes",
            "body": "",
            "key": format!("review of {issue}"),
            "comments": [{ "path": format!("feature-{issue}.txt"), "line": 1, "body": format!("Be polite. {mend}") }],
        });
        self.ao(&["api", "POST", &format!("/pulls/{number}/reviews"), "-d", &review.to_string()])
    }

    /// Returns true once the agent has replied in the review thread.
    fn is_answered(&self, number: &str) -> bool {
        let shown = self.house.ao(&["pr", "show", number, "--json"]);
        shown.code == 0 && shown.json()["threads"][0]["comments"].as_array().is_some_and(|all| all.len() > 1)
    }

    fn leaves_nothing_behind(&self) {
        let repository = self.house.repository();
        // Whoever was killed last may still have a tree to clear away.
        loop {
            let trees = git(&repository, &["worktree", "list", "--porcelain"]);
            let branches = git(&repository, &["branch", "--format=%(refname:short)"]);
            if trees.matches("worktree ").count() == 1 && branches.trim() == "main" {
                break;
            }
            self.in_time("all trees and branches to go", &format!("{trees}\n{branches}"));
            std::thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(
            git(&repository, &["status", "--porcelain"]),
            "?? agent-orchestrator.yaml",
            "the user's checkout follows"
        );
        let subjects = git(&repository, &["log", "--format=%s", "main"]);
        let issues = self.issues.lock().unwrap().clone();
        for issue in &issues {
            let text = fs::read_to_string(repository.join(format!("feature-{issue}.txt"))).unwrap();
            assert_eq!(text, "good\nplease\n");
            let landed =
                subjects.lines().filter(|line| line.starts_with(&format!("Feature {issue} "))).count();
            assert_eq!(landed, 1, "{subjects}");
        }
        // Each merge has closed its issue, whenever the daemon died.
        loop {
            let open = self.house.ao(&["issue", "list", "--json"]).succeeds().json();
            if open["issues"].as_array().unwrap().is_empty() {
                break;
            }
            self.in_time("all issues to be closed", &open.to_string());
            std::thread::sleep(Duration::from_millis(100));
        }
        let pulls =
            self.house.ao(&["pr", "list", "--state", "all", "--limit", "1000", "--json"]).succeeds().json();
        assert_eq!(pulls["pulls"].as_array().unwrap().len(), self.issues.lock().unwrap().len(), "{pulls}");
        for pull in pulls["pulls"].as_array().unwrap() {
            assert_eq!(pull["state"], "merged");
            let shown =
                self.house.ao(&["pr", "show", &pull["number"].to_string(), "--json"]).succeeds().json();
            let threads = shown["threads"].as_array().unwrap();
            assert_eq!(threads.len(), 1, "{shown}");
            let comments: Vec<_> = threads[0]["comments"]
                .as_array()
                .unwrap()
                .iter()
                .map(|it| it["author"]["standing"].as_str().unwrap())
                .collect();
            assert_eq!(comments, ["owner", "agent"], "asked once and answered once");
            let asked = shown["reviews"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|it| it["verdict"] == "changes_requested")
                .count();
            assert_eq!(asked, 1, "{shown}");
        }
        for turns in self.turns() {
            let of = |what: &str| turns.iter().filter(|turn| turn.contains(what)).count();
            assert_eq!((of("ao pr create"), of("it says bad"), of("Be polite.")), (1, 1, 1), "{turns:#?}");
        }
        let checkouts = self.house.path("data/checks/trees");
        let left: Vec<_> =
            fs::read_dir(&checkouts).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        assert_eq!(left, [""; 0].map(std::path::PathBuf::from), "no checkout of a check is left");
        // Other tests have a check of that name too, in folders of their own.
        let here = |pid: &i32| {
            fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(self.house.path("")))
        };
        let processes: Vec<i32> = processes_with("AO_CHECK=words").into_iter().filter(here).collect();
        assert_eq!(processes, [0; 0], "and none of its processes");
        self.persist(&["stop"]);
    }

    /// What each agent has taken as turns.
    fn turns(&self) -> Vec<Vec<String>> {
        let home = self.house.path("agents");
        let transcripts = fs::read_dir(&home).unwrap().flatten().map(|entry| entry.path());
        let transcripts = transcripts.filter(|path| path.extension().is_some_and(|kind| kind == "jsonl"));
        let names = transcripts.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned());
        let home = ao_testkit::scripted::AgentHome::new(&home);
        let turns: Vec<_> = names.map(|name| home.turns(&name)).filter(|turns| !turns.is_empty()).collect();
        assert_eq!(turns.len(), self.issues.lock().unwrap().len());
        turns
    }

    fn session(&self, issue: &str) -> Option<Value> {
        let listed = self.house.ao(&["list", "--json"]);
        if listed.code != 0 {
            return None;
        }
        let listed = listed.json();
        listed["sessions"].as_array()?.iter().find(|session| session["issue"] == issue).cloned()
    }

    fn pull(&self, issue: &str) -> Option<Value> {
        let listed = self.house.ao(&["pr", "list", "--state", "all", "--json"]);
        if listed.code != 0 {
            return None;
        }
        let title = format!("Feature {issue}");
        listed.json()["pulls"].as_array()?.iter().find(|pull| pull["title"] == title.as_str()).cloned()
    }

    /// What the file says at the pull request's head.
    fn text(&self, issue: &str, pull: &Value) -> String {
        let at = format!("{}:feature-{issue}.txt", pull["head"].as_str().unwrap_or_default());
        let shown =
            Command::new("git").args(["show", &at]).current_dir(self.house.repository()).output().unwrap();
        String::from_utf8_lossy(&shown.stdout).into_owned()
    }

    fn ao(&self, args: &[&str]) -> bool {
        self.house.ao(args).code == 0
    }

    /// Does it until it is done: the daemon may have died meanwhile.
    fn persist(&self, args: &[&str]) -> Ran {
        loop {
            let ran = self.house.ao(args);
            if ran.code == 0 {
                return ran;
            }
            self.in_time(&format!("{args:?}"), &ran.err);
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    #[track_caller]
    fn in_time(&self, what: &str, detail: &str) {
        assert!(Instant::now() < self.until, "{what}: not in {} s: {detail}", PATIENCE.as_secs());
    }
}
