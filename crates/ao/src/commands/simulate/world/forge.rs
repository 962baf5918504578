//! The forge of the made-up world: pull requests, their checks and reviews, and their fate.

use ao_core::pull::{PullFacts, PullInput};
use ao_core::{Input, PullId, SessionId};
use serde_json::json;

use super::{MINUTE, SimulatedPull, SimulatedWorld, WorldEvent};

impl SimulatedWorld {
    pub(super) fn propose(&mut self, session: SessionId, branch: &str) {
        let number = self.pulls.len() as u64 + 1;
        let Some(session_of) = self.simulation.state.sessions.get(&session) else { return };
        let project = session_of.spec.project.clone();
        let base =
            self.projects.iter().find(|it| it.id == project).map(|it| it.base.clone()).unwrap_or_default();
        let facts = json!({
            "observed_at": 0, "title": format!("Change {number}"), "url": format!("ao://{project}/pulls/{number}"),
            "head": format!("{number}-1"), "head_branch": branch, "head_repo": null, "base_branch": base,
            "base": "base", "draft": false, "state": "open", "mergeable": "clean", "labels": [],
            "author": { "login": "agent", "standing": "agent" },
            "size": { "files": [format!("src/part{}.rs", number % 4)], "added": 40, "removed": 10 },
            "checks": [], "reviews": [], "threads": [],
        });
        let flaky = self.chance(15);
        self.pulls.insert(
            number,
            SimulatedPull { project: project.clone(), facts, session, flaky, commits: 1, reviewed: 0 },
        );
        self.seen(number);
        let pull = PullId { project, number };
        self.simulation.take(Input::Pull { pull, input: PullInput::Claim { session } });
        let run = self.about(5 * MINUTE);
        self.later(run, WorldEvent::Checked { pull: number, can_fail: true });
    }

    /// Reports the state of a pull request to the core.
    fn seen(&mut self, number: u64) {
        let Some(proposal) = self.pulls.get_mut(&number) else { return };
        proposal.facts["observed_at"] = self.simulation.now.0.into();
        // The facts are built as JSON, so that absent fields take their defaults.
        let Ok(facts) = serde_json::from_value::<PullFacts>(proposal.facts.clone()) else { return };
        let pull = PullId { project: proposal.project.clone(), number };
        self.simulation.take(Input::Pull { pull, input: PullInput::Seen(Box::new(facts)) });
    }

    fn is_open(&self, number: u64) -> bool {
        self.pulls.get(&number).is_some_and(|proposal| proposal.facts["state"] == "open")
    }

    fn report(&mut self, number: u64, passed: bool, run: &str) {
        let Some(proposal) = self.pulls.get_mut(&number) else { return };
        let head = proposal.facts["head"].clone();
        let state = match passed {
            true => json!("passed"),
            false => json!({ "failed": {
                "signature": "a test", "excerpt": "test a_test ... FAILED", "url": "", "log": null,
            } }),
        };
        proposal.facts["checks"] =
            json!([{ "name": "test", "commit": head, "required": true, "run": run, "state": state }]);
        self.seen(number);
        if passed {
            let read = self.about(30 * MINUTE);
            self.later(read, WorldEvent::Reviewed { pull: number });
        }
    }

    pub(super) fn checked(&mut self, number: u64, can_fail: bool) {
        if !self.is_open(number) {
            return;
        }
        let flaky = self.pulls.get(&number).is_some_and(|proposal| proposal.flaky);
        let fails = flaky || (can_fail && self.chance(30));
        self.report(number, !fails, "1");
    }

    pub(super) fn rerun(&mut self, number: u64) {
        if !self.is_open(number) {
            return;
        }
        let flaky = self.pulls.get_mut(&number).is_some_and(|proposal| std::mem::take(&mut proposal.flaky));
        self.report(number, flaky, "2");
    }

    pub(super) fn reviewed(&mut self, number: u64) {
        if !self.is_open(number) {
            return;
        }
        let asks = self.chance(30);
        let Some(proposal) = self.pulls.get_mut(&number) else { return };
        proposal.reviewed += 1;
        let asks = asks && proposal.reviewed == 1;
        let (id, commit) = (format!("r{}", proposal.reviewed), proposal.facts["head"].clone());
        let verdict = if asks { "changes_requested" } else { "approved" };
        let body = if asks { "Please add a test for the empty case." } else { "" };
        let review = json!({
            "id": id, "author": { "login": "reviewer", "standing": "member" }, "verdict": verdict,
            "commit": commit, "body": body, "revision": "1",
        });
        proposal.facts["reviews"] = json!([review]);
        self.seen(number);
    }

    /// Pushes new commits, which fix most problems.
    pub(super) fn mended(&mut self, number: u64) {
        if !self.is_open(number) {
            return;
        }
        let Some(proposal) = self.pulls.get_mut(&number) else { return };
        proposal.commits += 1;
        proposal.facts["head"] = format!("{number}-{}", proposal.commits).into();
        proposal.facts["checks"] = json!([]);
        proposal.facts["mergeable"] = "clean".into();
        let run = self.about(5 * MINUTE);
        self.seen(number);
        let can_fail = self.chance(25);
        self.later(run, WorldEvent::Checked { pull: number, can_fail });
    }

    /// Merges it into the base, which makes some of the others conflict.
    pub(super) fn landed(&mut self, number: u64) {
        if !self.is_open(number) {
            return;
        }
        let Some(proposal) = self.pulls.get_mut(&number) else { return };
        proposal.facts["state"] = json!({ "merged": { "commit": format!("m{number}") } });
        let (project, files) = (proposal.project.clone(), proposal.facts["size"]["files"].clone());
        self.seen(number);
        let others: Vec<u64> = self.pulls.keys().copied().filter(|other| *other != number).collect();
        for other in others {
            let touches = self
                .pulls
                .get(&other)
                .is_some_and(|it| it.project == project && it.facts["size"]["files"] == files);
            if self.is_open(other) && touches && self.chance(60) {
                if let Some(proposal) = self.pulls.get_mut(&other) {
                    proposal.facts["base"] = format!("base after {number}").into();
                    proposal.facts["mergeable"] = json!({ "conflict": { "files": files } });
                }
                self.seen(other);
            }
        }
    }
}
