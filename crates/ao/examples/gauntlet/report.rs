//! What a run came to, and what of it should not be.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use ao_testkit::installation::Installation;
use serde_json::Value;

use crate::run::{Issue, Ping, text};
use crate::trouble::Trouble;

#[derive(Debug)]
pub(crate) struct Report {
    issues: usize,
    kills: usize,
    pub(crate) killed: usize,
    pub(crate) took: Duration,
    merged: usize,
    escalated: usize,
    needed: usize,
    not_needed: usize,
    turns: usize,
    /// How often something was done about each kind of problem, and how often it was not the first time.
    acts: BTreeMap<String, (usize, usize)>,
    left: Vec<String>,
    faults: Vec<String>,
}

impl Report {
    pub(crate) fn new(issues: usize, kills: usize) -> Report {
        Report {
            issues,
            kills,
            killed: 0,
            took: Duration::ZERO,
            merged: 0,
            escalated: 0,
            needed: 0,
            not_needed: 0,
            turns: 0,
            acts: BTreeMap::new(),
            left: vec![],
            faults: vec![],
        }
    }

    pub(crate) fn fault(&mut self, what: String) {
        self.faults.push(what);
    }

    /// What does not hold.
    pub(crate) fn faults(&self) -> &[String] {
        &self.faults
    }

    /// Judges what happened by the log and by the repository.
    pub(crate) fn judge(&mut self, place: &Installation, issues: &[Issue], events: &[Value]) {
        self.merged = issues.iter().filter(|issue| is_merged(issue)).count();
        self.pings(issues, events);
        if self.killed < self.kills {
            self.fault(format!("the daemon was killed {} times instead of {}", self.killed, self.kills));
        }
        let mut tried: BTreeMap<String, usize> = BTreeMap::new();
        for event in events {
            match event["kind"].as_str() {
                Some("session.accepted") => self.turns += 1,
                Some("incident.acted") => {
                    let times = tried.entry(event["data"][1].to_string()).or_default();
                    *times += 1;
                    let act = self.acts.entry(text(event, "/data/1/kind")).or_default();
                    act.0 += 1;
                    act.1 += usize::from(*times > 1);
                }
                _ => {}
            }
        }
        let conflicts = self.acts.get("merge-conflicts").map_or(0, |(times, _)| *times);
        let dealt = issues.iter().filter(|issue| issue.trouble == Trouble::Conflict).count();
        if conflicts < dealt {
            self.fault(format!("{dealt} conflicts were dealt, and {conflicts} came about"));
        }
        self.main_is_green(place);
    }

    /// Nobody is called for nothing, and whoever is needed is called.
    fn pings(&mut self, issues: &[Issue], events: &[Value]) {
        let mut called = vec![0_usize; issues.len()];
        for Ping { words, about, kind } in events.iter().filter_map(Ping::of) {
            let whose = issues.iter().position(|issue| {
                let its = |value: &Option<Value>| value.as_ref().is_some_and(|it| text(it, "/id") == about);
                its(&issue.session) || its(&issue.pull)
            });
            match whose {
                Some(at) if issues[at].trouble.person_hears_of() == Some(kind.as_str()) => {
                    called[at] += 1;
                    self.needed += 1;
                }
                whose => {
                    self.not_needed += 1;
                    let whose =
                        whose.map_or(about, |at| format!("#{} ({:?})", issues[at].key, issues[at].trouble));
                    let words: String = words.chars().take(400).collect();
                    self.fault(format!("a person was called for nothing, for {whose}, of `{kind}`: {words}"));
                }
            }
        }
        for (issue, called) in issues.iter().zip(called) {
            match (issue.trouble.person_hears_of().is_some(), called) {
                (true, 0) => {
                    self.fault(format!("nobody was called for #{} ({:?})", issue.key, issue.trouble));
                }
                (true, 2..) => {
                    self.fault(format!(
                        "a person was called {called} times for #{} ({:?})",
                        issue.key, issue.trouble
                    ));
                }
                _ => {}
            }
            self.escalated += usize::from(called > 0);
        }
    }

    /// Every commit that `main` ever was passes the check.
    fn main_is_green(&mut self, place: &Installation) {
        let app = place.path("app");
        for commit in place.git(&["rev-list", "--first-parent", "main"]).lines() {
            let tree = place.path("tree");
            let tree_arg = tree.display().to_string();
            place.git(&["worktree", "add", "--quiet", "--force", "--detach", &tree_arg, commit]);
            let checked = Command::new("sh").arg("check.sh").current_dir(&tree).env_remove("LUCK").output();
            place.git(&["worktree", "remove", "--force", &tree_arg]);
            if !checked.is_ok_and(|output| output.status.success()) {
                self.fault(format!("main was red at {commit} in {}", app.display()));
            }
        }
    }

    /// What is left once everything has ended: trees, branches, refs, processes, sockets.
    pub(crate) fn leftovers(&mut self, place: &Installation) {
        let mut left = Vec::new();
        let lines = |args: &[&str]| place.git(args).lines().map(str::to_owned).collect::<Vec<_>>();
        let trees = lines(&["worktree", "list", "--porcelain"]);
        left.extend(trees.iter().filter(|line| line.starts_with("worktree ")).skip(1).cloned());
        left.extend(lines(&["for-each-ref", "--format=%(refname)"]).into_iter().filter(|name| {
            // The last state of each workspace can be brought back for a while, and what a pull request speaks of outlives its
            // branch: both are meant to stay.
            let kept = ["refs/ao/rescue/", "refs/ao/pulls/", "refs/ao/archive/"];
            let stays = kept.iter().any(|prefix| name.starts_with(prefix));
            name != "refs/heads/main" && !stays
        }));
        left.extend(lines(&["status", "--porcelain"]));
        let stopped = place.ao(&["stop"]);
        if !stopped.ok {
            left.push(format!("a daemon that does not stop: {}", stopped.err));
        }
        let alive = place.quiet_within(Duration::from_secs(20));
        left.extend(alive.into_iter().map(|pid| format!("process {pid}: {}", command_line(pid))));
        sockets(&place.path("data"), &mut left);
        sockets(&place.path("tmp"), &mut left);
        let checkouts = fs::read_dir(place.path("data/checks/trees")).into_iter().flatten().flatten();
        left.extend(checkouts.map(|entry| format!("checkout {}", entry.path().display())));
        self.faults.extend(left.iter().map(|left| format!("left behind: {left}")));
        self.left = left;
    }
}

fn is_merged(issue: &Issue) -> bool {
    issue.pull.as_ref().is_some_and(|pull| pull["state"] == "merged")
}

fn command_line(pid: i32) -> String {
    let shown =
        Command::new("ps").args(["-o", "args=", "-p", &pid.to_string()]).stdin(Stdio::null()).output();
    shown.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}

fn sockets(folder: &Path, left: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => sockets(&entry.path(), left),
            Ok(kind) if kind.is_socket() => left.push(format!("socket {}", entry.path().display())),
            _ => {}
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per_merge = |number: f64| if self.merged == 0 { 0.0 } else { number / self.merged as f64 };
        writeln!(f, "  merged       {} of {}", self.merged, self.issues)?;
        writeln!(f, "  escalated    {}", self.escalated)?;
        writeln!(
            f,
            "  human pings  {} needed, {} not needed; {:.2} per merged change",
            self.needed,
            self.not_needed,
            per_merge((self.needed + self.not_needed) as f64)
        )?;
        let acts: Vec<String> = self
            .acts
            .iter()
            .map(|(kind, (times, again))| format!("{kind} {times} ({again} again)"))
            .collect();
        writeln!(f, "  acts         {}", acts.join(", "))?;
        writeln!(f, "  daemon       killed {} of {} times", self.killed, self.kills)?;
        writeln!(
            f,
            "  time         {:.1} s per merge, {:.0} s in all",
            per_merge(self.took.as_secs_f64()),
            self.took.as_secs_f64()
        )?;
        writeln!(
            f,
            "  cost         {:.1} turns per merge, {} in all",
            per_merge(self.turns as f64),
            self.turns
        )?;
        writeln!(f, "  leftovers    {}", self.left.len())?;
        for fault in &self.faults {
            writeln!(f, "  FAULT        {fault}")?;
        }
        Ok(())
    }
}
