//! Advice about pull requests, their checks and their base.

use super::{AdviceItem, AdviceKind, AdviceSubject, Known, others_wait, shell, since};
use crate::health::flake_of;
use crate::incident::{IncidentKind, ProblemId, Subject};
use crate::outside::{cut, one_line};
use crate::policy::MergeRule;
use crate::pull::{ChecksVerdict, Pull};
use crate::work::{CheckSummary, WorkStage, WorkTurn, open_pulls};

/// The number of bytes of a title that are shown.
const TITLE: usize = 80;

/// Reports checks that fail on the base itself, because every change that fails them the same way is held.
pub(super) fn base_red(known: &Known<'_>) -> Vec<AdviceItem> {
    let state = known.state;
    let red = state.incidents.values().filter(|incident| incident.key.kind == IncidentKind::BaseRed);
    let of = red.filter_map(|incident| {
        let Subject::Project(id) = &incident.key.subject else { return None };
        let ProblemId::BaseCheck { branch, check } = &incident.key.problem else { return None };
        let known = state.projects.get(id)?.base.get(branch, check)?;
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
        let one =
            AdviceItem::new(AdviceKind::BaseRed, Some(id), AdviceSubject::Project(id.clone()), what, why);
        Some(one.unblocks(held).command(command))
    });
    of.collect()
}

/// Reports pull requests that are ready, lack one thing, or block others.
pub(super) fn pulls(known: &Known<'_>) -> Vec<AdviceItem> {
    open_pulls(known.state).filter_map(|pull| of_pull(known, pull)).collect()
}

fn of_pull(known: &Known<'_>, pull: &Pull) -> Option<AdviceItem> {
    let work = known.pull(pull);
    let (id, title) = (&pull.id, one_line(&cut(&pull.facts.title, TITLE)));
    let waiting = work.unblocks as usize;
    let advice = |kind, what, why| {
        let command =
            work.step.command.clone().unwrap_or_else(|| format!("ao pr show {}", shell(&id.to_string())));
        let one = AdviceItem::new(kind, Some(&id.project), AdviceSubject::Pull(id.clone()), what, why);
        Some(one.unblocks(waiting).command(command))
    };
    let others = others_wait(waiting);
    let since = since(known.now, work.step.since);
    if let Some((place, who)) = only_thread(known, pull) {
        let what = format!("one thread{place} is all that blocks the merge of {id}: {title}");
        let why = format!("{who} asks something there, and everything else is as it should be{others}");
        let command = format!("ao pr show {}", shell(&id.to_string()));
        return advice(AdviceKind::Thread, what, why).map(|one| one.command(command));
    }
    match (work.step.turn, work.step.stage) {
        (WorkTurn::You, WorkStage::Merge) if !pull.approvals().is_empty() => {
            let green = if pull.green() == ChecksVerdict::Yes { " and green" } else { "" };
            let what = format!("{id} is approved{green}, one command away: {title}");
            advice(AdviceKind::Merge, what, format!("nothing stands in the way of its merge{others}"))
        }
        (WorkTurn::You, WorkStage::Merge) => {
            let why = format!("its policy allows it, and nothing merges it unasked{others}");
            advice(AdviceKind::Merge, format!("{id} waits for you to merge it: {title}"), why)
        }
        (WorkTurn::You, WorkStage::Review | WorkStage::Decision) => {
            let what = format!("{id} {}: {title}", work.step.says);
            let checks = match work.checks {
                CheckSummary::Green => "its checks pass",
                CheckSummary::None => "it has no checks",
                CheckSummary::Red | CheckSummary::Pending => "its checks are not through",
                CheckSummary::Blocked => "its checks cannot run",
            };
            let then = work.step.then.as_ref().map(|then| format!("; then `{then}`")).unwrap_or_default();
            advice(AdviceKind::Review, what, format!("for {since}, and {checks}{others}{then}"))
        }
        _ if waiting > 0 && work.step.turn != WorkTurn::Queue => {
            let what = match waiting {
                1 => format!("{id} blocks one other: {title}"),
                waiting => format!("{id} blocks {waiting} others: {title}"),
            };
            advice(AdviceKind::Blocks, what, format!("it {}", work.step.says))
        }
        _ => None,
    }
}

/// Returns the location of the only open thread of a pull request and its author, if that is the only obstacle to its
/// merge.
fn only_thread(known: &Known<'_>, pull: &Pull) -> Option<(String, String)> {
    let verdict = known.state.verdict(pull, known.now);
    let mut against = verdict.against().peekable();
    against.peek()?;
    let threads_only =
        against.all(|rule| matches!(rule.rule, MergeRule::Threads | MergeRule::ChangesRequested));
    let open: Vec<_> = pull.facts.threads.iter().filter(|thread| !thread.resolved).collect();
    let ([thread], true) = (&open[..], threads_only) else { return None };
    let place = match (&thread.path, thread.line) {
        (Some(path), Some(line)) => format!(" at {}:{line}", one_line(path)),
        (Some(path), None) => format!(" at {}", one_line(path)),
        (None, _) => String::new(),
    };
    let who = thread.comments.first().map_or("a reviewer", |comment| comment.author.login.as_str());
    Some((place, one_line(who)))
}

/// Reports failures that were flaky before.
pub(super) fn flaky(known: &Known<'_>) -> Vec<AdviceItem> {
    let state = known.state;
    let failed = state.incidents.values().filter(|incident| {
        incident.key.kind == IncidentKind::CiFailed && incident.absent.is_none() && incident.doubt.is_none()
    });
    let of = failed.filter_map(|incident| {
        let Subject::Pull(id) = &incident.key.subject else { return None };
        let flake = flake_of(&state.projects.get(&id.project)?.flakes, &incident.key.problem)?;
        let check = one_line(&flake.check);
        let what = format!("the failure of `{check}` on {id} is one that has been chance before");
        let why = format!(
            "it went away by itself {}: {}",
            if flake.times == 1 { "once".into() } else { format!("{} times", flake.times) },
            one_line(&cut(&flake.excerpt, TITLE))
        );
        let command = format!("ao check rerun {} --pull {}", shell(&flake.check), shell(&id.to_string()));
        let one =
            AdviceItem::new(AdviceKind::Flaky, Some(&id.project), AdviceSubject::Pull(id.clone()), what, why);
        let waiting = state.pulls.get(id).map_or(0, |pull| behind(known, pull));
        Some(one.unblocks(waiting).command(command))
    });
    of.collect()
}

/// Returns the number of things that wait for a pull request.
pub(super) fn behind(known: &Known<'_>, pull: &Pull) -> usize {
    known.waiters.behind_pull(known.state, pull) as usize
}
