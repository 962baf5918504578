//! Advice about pull requests, their checks and their base.

use super::{About, Advice, AdviceKind, Known, others_wait, shell};
use crate::incident::{IncidentKind, Subject};
use crate::outside::{cut, one_line};
use crate::pull::Pull;
use crate::state::State;

/// How much of a title is told.
const TITLE: usize = 80;

/// Checks that the base itself fails: nobody who fails them like it can get any further.
pub(super) fn base_red(known: &Known<'_>) -> Vec<Advice> {
    let state = known.state;
    let red = state.incidents.values().filter(|incident| incident.key.kind == IncidentKind::BaseRed);
    let of = red.filter_map(|incident| {
        let Subject::Project(id) = &incident.key.subject else { return None };
        let known = state.projects.get(id)?.base.checks.get(&incident.key.problem)?;
        let (branch, check) = (one_line(&known.branch), one_line(&known.check));
        let held = open_pulls(state)
            .filter(|pull| pull.id.project == *id && pull.facts.base_branch == known.branch)
            .filter(|pull| pull.failures.contains_key(&known.check))
            .count();
        let what = format!("the base is red: `{check}` fails on `{branch}` itself");
        let why = match held {
            1 => "one pull request fails it for that reason, and its agent is not woken".into(),
            held => format!("{held} pull requests fail it for that reason, and their agents are not woken"),
        };
        let command = format!(
            "ao new {} --project {}",
            shell(&format!("Mend {} on {}", known.check, known.branch)),
            shell(id.as_str())
        );
        let one = Advice::new(AdviceKind::BaseRed, Some(id), About::Project(id.clone()), what, why);
        Some(one.unblocks(held).command(command))
    });
    of.collect()
}

/// Pull requests that are ready, that lack one thing, or that others wait for.
pub(super) fn pulls(known: &Known<'_>) -> Vec<Advice> {
    open_pulls(known.state).filter_map(|pull| of_pull(known, pull)).collect()
}

fn of_pull(known: &Known<'_>, pull: &Pull) -> Option<Advice> {
    let (state, now) = (known.state, known.now);
    let project = state.projects.get(&pull.id.project)?;
    let verdict = state.verdict(pull, now);
    let against: Vec<_> = verdict.against().collect();
    let waiting = behind(known, pull);
    let (id, title) = (&pull.id, one_line(&cut(&pull.facts.title, TITLE)));
    let named = shell(&id.to_string());
    let advice = |kind, what, why| {
        Advice::new(kind, Some(&id.project), About::Pull(id.clone()), what, why).unblocks(waiting)
    };
    // What is in the queue, or goes there by itself, is on its way.
    let by_itself = verdict.auto_merge.unwrap_or(false)
        || state.reaction(&IncidentKind::ApprovedAndGreen, &Subject::Pull(id.clone())).auto;
    if against.is_empty() {
        let queued = project.queue.entry(id).is_some();
        if by_itself || queued || pull.approvals().is_empty() {
            return None;
        }
        let what = format!("{id} is approved and green, one command away: {title}");
        let why = format!("nothing stands in the way of its merge{}", others_wait(waiting));
        return Some(advice(AdviceKind::Merge, what, why).command(format!("ao pr merge {named}")));
    }
    let open: Vec<_> = pull.facts.threads.iter().filter(|thread| !thread.resolved).collect();
    let only_threads = against.iter().all(|rule| matches!(rule.rule, "threads" | "changes_requested"));
    if let ([thread], true) = (&open[..], only_threads) {
        let place = match (&thread.path, thread.line) {
            (Some(path), Some(line)) => format!(" at {}:{line}", one_line(path)),
            (Some(path), None) => format!(" at {}", one_line(path)),
            (None, _) => String::new(),
        };
        let who = thread.comments.first().map_or("somebody", |comment| comment.author.login.as_str());
        let what = format!("one thread{place} is all that blocks the merge of {id}: {title}");
        let why = format!(
            "{} asks something there, and everything else is as it should be{}",
            one_line(who),
            others_wait(waiting)
        );
        return Some(advice(AdviceKind::Thread, what, why).command(format!("ao pr show {named}")));
    }
    if waiting > 0 {
        let what = match waiting {
            1 => format!("{id} blocks one other: {title}"),
            waiting => format!("{id} blocks {waiting} others: {title}"),
        };
        let why: Vec<String> =
            against.iter().map(|rule| format!("{}: {}", rule.rule, one_line(&rule.evidence))).collect();
        return Some(advice(AdviceKind::Blocks, what, why.join("; ")).command(format!("ao pr show {named}")));
    }
    None
}

/// Failures that have been chance before.
pub(super) fn flaky(known: &Known<'_>) -> Vec<Advice> {
    let state = known.state;
    let failed = state.incidents.values().filter(|incident| {
        incident.key.kind == IncidentKind::CiFailed && incident.absent.is_none() && incident.doubt.is_none()
    });
    let of = failed.filter_map(|incident| {
        let Subject::Pull(id) = &incident.key.subject else { return None };
        let flake = state.projects.get(&id.project)?.flakes.get(&incident.key.problem)?;
        let check = one_line(&flake.check);
        let what = format!("the failure of `{check}` on {id} is one that has been chance before");
        let why = format!(
            "it went away by itself {}: {}",
            if flake.times == 1 { "once".into() } else { format!("{} times", flake.times) },
            one_line(&cut(&flake.excerpt, TITLE))
        );
        let command = format!("ao check rerun {} --pull {}", shell(&flake.check), shell(&id.to_string()));
        let one = Advice::new(AdviceKind::Flaky, Some(&id.project), About::Pull(id.clone()), what, why);
        let waiting = state.pulls.get(id).map_or(0, |pull| behind(known, pull));
        Some(one.unblocks(waiting).command(command))
    });
    of.collect()
}

/// How many wait for a pull request: those that are stacked on it, and the tasks that its own task blocks.
pub(super) fn behind(known: &Known<'_>, pull: &Pull) -> usize {
    let state = known.state;
    let on_top = |other: &&Pull| {
        other.id.project == pull.id.project
            && other.id != pull.id
            && other.facts.base_branch == pull.facts.head_branch
    };
    let stacked = open_pulls(state).filter(on_top).count();
    let owner = pull.owner.and_then(|owner| state.sessions.get(&owner));
    let task = owner.and_then(|owner| owner.spec.task.as_ref());
    stacked + task.map_or(0, |task| known.waiters.behind(task))
}

fn open_pulls(state: &State) -> impl Iterator<Item = &Pull> {
    state.pulls.values().map(|pull| &**pull).filter(|pull| pull.is_open())
}
