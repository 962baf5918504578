//! The forge in the box as its users have it: branches, pull requests, checks, reviews and issues of a plain git repository.

mod checks;
mod failures;
mod feedback;
mod growth;
mod hostile;
mod issues;
mod jobs;
mod owners;
mod queue;
mod remotes;
mod reviewer;
mod reviews;
mod tampered;
mod unchecked;
mod waiting;

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::fleet::git;
use crate::house::{House, until};

/// A branch off the one that is checked out, with one commit of these files. Whatever was checked out is so again afterwards.
pub(crate) fn branch(repository: &Path, name: &str, files: &[(&str, &[u8])]) -> String {
    let before = git(repository, &["symbolic-ref", "--short", "HEAD"]);
    git(repository, &["switch", "--quiet", "-c", name]);
    let commit = commit(repository, &format!("Work on {name}"), files);
    git(repository, &["switch", "--quiet", &before]);
    commit
}

/// A commit of these files on what is checked out.
pub(crate) fn commit(repository: &Path, message: &str, files: &[(&str, &[u8])]) -> String {
    for (path, bytes) in files {
        let path = repository.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let mut add = vec!["add", "--"];
    add.extend(files.iter().map(|(path, _)| *path));
    git(repository, &add);
    git(repository, &["commit", "--quiet", "-m", message]);
    git(repository, &["rev-parse", "HEAD"])
}

impl House {
    /// The user proposes a branch, and gets the number of the pull request.
    #[track_caller]
    pub(crate) fn propose(&self, head: &str, title: &str) -> String {
        let made = self.ao(&["pr", "create", "--head", head, "--title", title, "--json"]).succeeds().json();
        made["number"].to_string()
    }

    /// A pull request with everything.
    #[track_caller]
    pub(crate) fn pull(&self, number: &str) -> Value {
        self.ao(&["pr", "show", number, "--json"]).succeeds().json()
    }

    /// The one pull request of this title, as soon as it is there and so.
    #[track_caller]
    pub(crate) fn pull_titled(&self, title: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let mut found = Value::Null;
        until(&format!("the pull request `{title}`"), || {
            let listed = self.ao(&["pr", "list", "--state", "all", "--json"]).succeeds().json();
            let pulls = listed["pulls"].as_array().unwrap();
            let titled: Vec<_> = pulls.iter().filter(|pull| pull["title"] == title).collect();
            assert!(titled.len() < 2, "{listed}");
            found = titled.first().map_or(Value::Null, |pull| (*pull).clone());
            !found.is_null() && is_so(&found)
        });
        found
    }

    /// Waits until all checks of a pull request's present head are over, and says whether they have passed.
    #[track_caller]
    pub(crate) fn checked(&self, number: &str) -> bool {
        let mut state = String::new();
        until("the checks to end", || {
            state = self.pull(number)["checks"].as_str().unwrap().to_owned();
            state == "passed" || state == "failed"
        });
        state == "passed"
    }

    /// A worker whose agent has committed this file and proposed it under this title; with the number of the pull request.
    #[track_caller]
    pub(crate) fn worker(&self, title: &str, file: &str, text: &str) -> (String, String) {
        let prompt = format!(
            "[[tool printf '{text}' > {file} && git add {file} && git commit -qm '{title}' && git push -q && \
             ao pr create --title '{title}']]"
        );
        let session = self.session(title, &prompt);
        let pull = self.pull_titled(title, |pull| pull["session"] == session.as_str());
        (session, pull["number"].to_string())
    }

    /// Lets an agent run a command, and waits until its turn with it is over.
    #[track_caller]
    pub(crate) fn agent_runs(&self, session: &str, command: &str) {
        let mark = self.path(&format!("tmp/ran-{}", fastrand::u64(..)));
        let text = format!("[[tool {command}; echo $? > {}]]", mark.display());
        self.ao(&["send", session, &text]).succeeds();
        until(command, || fs::read_to_string(&mark).is_ok_and(|code| code.ends_with('\n')));
        assert_eq!(fs::read_to_string(&mark).unwrap(), "0\n", "{command}");
    }

    /// Says something to an agent that changes nothing, and waits until it has taken it. Whatever it was to be told before
    /// that, it has been told by then.
    #[track_caller]
    pub(crate) fn turns_until_now(&self, session: &str) -> Vec<String> {
        let marker = format!("marker {}", fastrand::u64(..));
        self.ao(&["send", session, &marker]).succeeds();
        until("the marker to be taken", || self.turns(session).iter().any(|turn| turn.contains(&marker)));
        let turns = self.turns(session);
        assert!(turns.last().unwrap().contains(&marker), "something came behind the marker: {turns:#?}");
        turns
    }
}

/// How often something stands in what an agent was told.
fn times(turns: &[String], what: &str) -> usize {
    turns.iter().map(|turn| turn.matches(what).count()).sum()
}
