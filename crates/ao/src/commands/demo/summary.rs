//! The end of the demo: checks that each issue went as planned, and prints a summary.

use std::fmt::Write as _;

use super::environment::DemoEnvironment;
use super::failed;
use super::git::git;
use super::run::{DemoRun, PersonState};
use super::sample::DemoIssue;
use crate::error::CommandError;
use crate::ui::{self, FAINT, GOOD, TITLE};

pub(super) async fn sum_up(story: &mut DemoRun<'_>, stage: &DemoEnvironment) -> Result<(), CommandError> {
    if stage.agent.is_none() {
        for tale in DemoIssue::ALL {
            happened(story, tale)?;
        }
        check_other_notices(story)?;
    }
    main_is_green(stage).await?;
    let took = story.view.elapsed();
    let mut text =
        format!("\n{TITLE}  {:<28}{:<52}{:>6}{:>8}{TITLE:#}\n", "issue", "what happened", "turns", "merged");
    for (number, tale) in (1..).zip(DemoIssue::ALL) {
        let merged = match story.part(tale).merged_after {
            Some(seconds) => format!("{seconds:.0} s"),
            None => "no".into(),
        };
        let _ = writeln!(
            text,
            "  #{number} {:<25}{:<52}{:>6}{merged:>8}",
            tale.title(),
            tale.shows(),
            story.turns(tale),
        );
    }
    let landed = DemoIssue::ALL.into_iter().filter(|tale| story.is_merged(*tale)).count();
    let _ = writeln!(
        text,
        "\n{GOOD}{landed} of {} merged{GOOD:#} in {took:.0} s; main passed its check at every step.",
        DemoIssue::ALL.len()
    );
    let _ = writeln!(
        text,
        "A human was needed {}: {}",
        times(needed(story)),
        match story.person {
            PersonState::Away =>
                "for the protected path, but there was no terminal (`--yes` approves in your place).",
            _ if needed(story) == 0 => "nothing waited for a person.",
            _ if story.history.asked_besides(&ids_of(story, DemoIssue::Protected)).is_empty() => {
                "for the protected path."
            }
            _ => "for the protected path, and where the agents needed help.",
        }
    );
    let _ = writeln!(
        text,
        "{FAINT}The demo played the reviewer, who gave {}; {} are in the log.{FAINT:#}",
        ui::count(story.reviews as u64, "review"),
        ui::count(story.history.events as u64, "event"),
    );
    text.push_str(
        "\nWhere to look next:\n  ao demo --keep        the same, and keeps everything to explore\n  \
         ao init && ao start   in your own repository\n  ao help               lists every command; see the README for the documentation\n",
    );
    Ok(ui::text(text)?)
}

/// Counts how often a person was needed according to the log: for the protected change, and for other notices.
fn needed(story: &DemoRun<'_>) -> usize {
    let ids = ids_of(story, DemoIssue::Protected);
    let waited = is_approved(story) || !story.is_merged(DemoIssue::Protected);
    story.history.asked_about(&ids).max(usize::from(waited)) + story.history.asked_besides(&ids).len()
}

/// Returns true if a person approved the protected change while it was open.
fn is_approved(story: &DemoRun<'_>) -> bool {
    let pull = story.part(DemoIssue::Protected).pull.as_ref();
    pull.is_some_and(|pull| story.history.is_approved(&pull.id))
}

/// Returns the names of an issue in the log.
fn ids_of<'a>(story: &'a DemoRun<'_>, tale: DemoIssue) -> Vec<&'a str> {
    let part = story.part(tale);
    let ids = [part.pull.as_ref().map(|pull| &pull.id), part.session.as_ref().map(|session| &session.id)];
    ids.into_iter().flatten().map(String::as_str).collect()
}

/// Checks that everything but the protected change went through without a person.
fn check_other_notices(story: &DemoRun<'_>) -> Result<(), CommandError> {
    match story.history.asked_besides(&ids_of(story, DemoIssue::Protected)).as_slice() {
        [] => Ok(()),
        asked => Err(failed(format!("a person was asked without need, about {}", asked.join(", ")))),
    }
}

fn times(number: usize) -> String {
    match number {
        0 => "never".into(),
        1 => "once".into(),
        2 => "twice".into(),
        number => format!("{number} times"),
    }
}

/// Checks the events of an issue.
fn happened(story: &DemoRun<'_>, tale: DemoIssue) -> Result<(), CommandError> {
    let told = |kind: &str| story.times(tale, &format!("incident.acted {kind}"));
    let doubted = story.times(tale, "incident.doubted ci-failed");
    let (woken, merged) = (story.turns(tale).saturating_sub(1), story.is_merged(tale));
    let away = matches!(story.person, PersonState::Away);
    let is_so = match tale {
        DemoIssue::Clean => merged && woken == 0,
        DemoIssue::Red => merged && told("ci-failed") == 1 && woken == 1,
        DemoIssue::Review => merged && told("changes-requested") == 1 && woken == 1,
        DemoIssue::Conflict => merged && told("merge-conflicts") == 1 && woken == 1,
        DemoIssue::Flaky => merged && doubted > 0 && told("ci-failed") == 0 && woken == 0,
        // If it landed without approval, the path was not protected.
        DemoIssue::Protected => (if merged { is_approved(story) } else { away }) && woken == 0,
    };
    if is_so {
        return Ok(());
    }
    let word = match (tale, is_approved(story)) {
        (DemoIssue::Protected, true) => ", a person has approved it",
        (DemoIssue::Protected, false) => ", no person has approved it",
        _ => "",
    };
    let heard = ["ci-failed", "changes-requested", "merge-conflicts"].map(told);
    Err(failed(format!(
        "`{}` should show {}; merged: {merged}{word}, its agent was woken {} (checks, reviews, conflicts: {heard:?}, doubts: {doubted})",
        tale.title(),
        tale.shows(),
        times(woken as usize),
    )))
}

/// Checks that every commit that `main` ever pointed to passes the check.
async fn main_is_green(stage: &DemoEnvironment) -> Result<(), CommandError> {
    let repository = stage.repository();
    let commits = git(&repository, &["rev-list", "--first-parent", "main"]).await?;
    // A clone instead of a worktree: the daemon may be removing the last worktree, with its parent folder.
    let clone = repository.join(".git/demo");
    git(&repository, &["clone", "--quiet", "--shared", "--no-checkout", ".", clone.as_str()]).await?;
    for commit in commits.lines() {
        git(&clone, &["checkout", "--quiet", "--detach", commit]).await?;
        let checked = tokio::process::Command::new("sh").arg("check.sh").current_dir(&clone).output().await;
        let checked = checked.map_err(CommandError::environment)?;
        if !checked.status.success() {
            let said = String::from_utf8_lossy(&checked.stdout);
            return Err(failed(format!("main was red at {commit}:\n{said}")));
        }
    }
    std::fs::remove_dir_all(&clone).map_err(CommandError::environment)?;
    Ok(())
}
