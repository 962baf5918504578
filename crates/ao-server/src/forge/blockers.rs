//! What stands in the way of a merge, by what was just seen of a pull request.

use ao_core::pull::{Green, Mergeable, Pull, PullState};

/// One reason not to merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Blocker {
    pub(crate) what: String,
    /// Whether a person may merge all the same.
    pub(crate) yields: bool,
}

/// Returns everything that stands in the way.
pub(crate) fn blockers(pull: &Pull) -> Vec<Blocker> {
    let firm = |what: String| Blocker { what, yields: false };
    let yields = |what: String| Blocker { what, yields: true };
    match &pull.facts.state {
        PullState::Open => {}
        // What is merged has nothing in its way any more.
        PullState::Merged { .. } => return vec![],
        PullState::Closed => return vec![firm("it is closed".into())],
    }
    let mut found = Vec::new();
    if pull.facts.draft {
        found.push(firm("it is a draft".into()));
    }
    if let Mergeable::Conflict { files } = &pull.facts.mergeable {
        let base = &pull.facts.base_branch;
        let what = match files.as_slice() {
            [] => format!("it conflicts with `{base}`"),
            files => format!("it conflicts with `{base}` in {}", files.join(", ")),
        };
        found.push(firm(what));
    }
    match pull.green() {
        Green::Yes | Green::Unchecked => {}
        Green::Waiting { why } | Green::Red { why } => found.push(yields(format!("checks: {why}"))),
    }
    for review in pull.changes_requested() {
        found.push(yields(format!("{} has asked for changes", review.author.login)));
    }
    found
}

#[cfg(test)]
mod tests {
    use ao_core::pull::{
        Author, ChangeSize, CheckFacts, CheckState, PullFacts, ReviewFacts, ReviewVerdict, Standing,
    };
    use ao_core::{Commit, ProjectId, PullId, Timestamp};

    use super::*;

    fn facts() -> PullFacts {
        PullFacts {
            head_title: None,
            observed_at: Timestamp(1),
            title: "Add a thing".into(),
            url: String::new(),
            head: Commit::new("h1"),
            head_branch: "feat".into(),
            head_repo: None,
            head_author: None,
            base_branch: "main".into(),
            base_remote: None,
            base: Commit::new("b1"),
            draft: false,
            state: PullState::Open,
            author: Author { login: "my-app-1".into(), standing: Standing::Agent },
            labels: Default::default(),
            mergeable: Mergeable::Clean,
            checks: vec![],
            no_checks: true,
            reviews: vec![],
            threads: vec![],
            size: ChangeSize::default(),
        }
    }

    fn found(change: impl FnOnce(&mut PullFacts), awaits_checks: bool) -> Vec<String> {
        let mut facts = PullFacts { no_checks: !awaits_checks, ..facts() };
        change(&mut facts);
        let pull = Pull::at_a_look(&PullId { project: ProjectId::new("my-app"), number: 7 }, &facts);
        let said = |blocker: Blocker| format!("{}{}", blocker.what, if blocker.yields { "?" } else { "!" });
        blockers(&pull).into_iter().map(said).collect()
    }

    fn check(name: &str, commit: &str, state: CheckState, required: bool) -> CheckFacts {
        CheckFacts { run: None, name: name.into(), commit: Commit::new(commit), state, required }
    }

    #[test]
    fn whatever_stands_in_the_way_is_named_and_only_checks_and_reviews_yield() {
        let none: [&str; 0] = [];
        assert_eq!(found(|_| {}, false), none);
        assert_eq!(found(|_| {}, true), ["checks: no check has reported on h1 yet?"]);
        assert_eq!(found(|facts| facts.draft = true, false), ["it is a draft!"]);
        assert_eq!(found(|facts| facts.state = PullState::Closed, true), ["it is closed!"]);
        let conflict = Mergeable::Conflict { files: vec!["a.rs".into(), "b c.rs".into()] };
        let expected = ["it conflicts with `main` in a.rs, b c.rs!"];
        assert_eq!(found(|facts| facts.mergeable = conflict, false), expected);
        let passed = check("build", "h1", CheckState::Passed, true);
        assert_eq!(found(|facts| facts.checks = vec![passed.clone()], true), none);
        let optional = check("lint", "h1", CheckState::Pending, false);
        assert_eq!(found(|facts| facts.checks = vec![passed, optional], true), none);
        let pending = check("build", "h1", CheckState::Pending, true);
        assert_eq!(
            found(|facts| facts.checks = vec![pending], false),
            ["checks: still running on h1: build?"]
        );
        let before = check("build", "h0", CheckState::Passed, true);
        assert_eq!(
            found(|facts| facts.checks = vec![before], true),
            ["checks: no check has reported on h1 yet?"],
            "a check of an earlier head says nothing of this one"
        );
    }

    #[test]
    fn whoever_asked_for_changes_stands_in_the_way_until_they_say_otherwise() {
        let review = |id: &str, login: &str, standing, verdict| ReviewFacts {
            id: id.into(),
            author: Author { login: login.into(), standing },
            verdict,
            commit: Commit::new("h1"),
            body: "no".into(),
            revision: "1".into(),
        };
        let no = review("1", "anna", Standing::Owner, ReviewVerdict::ChangesRequested);
        let bot = review("2", "my-app-review", Standing::Bot, ReviewVerdict::ChangesRequested);
        let yes = review("3", "anna", Standing::Owner, ReviewVerdict::Approved);
        let asked = ["anna has asked for changes?", "my-app-review has asked for changes?"];
        assert_eq!(found(|facts| facts.reviews = vec![no.clone(), bot.clone()], false), asked);
        let asked = ["my-app-review has asked for changes?"];
        assert_eq!(found(|facts| facts.reviews = vec![no, bot, yes], false), asked);
    }
}
