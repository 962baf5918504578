//! What the daemon reports, as the API has it.

use ao_api::{
    ChannelTest, Check, Checks, Cleanup, Conflict, ConflictBranch, ConflictFile, ConflictHunk, ConflictLines,
    ConflictSource, Conflicts, Decision, Hook, HookLog, HookResult, HookTested, HookTrigger, ImportOutcome,
    Imported, ImportedIssue, LeftOut, NotifyChannel, Output, Project, TreeReport, TreeWork,
};
use ao_core::ProjectId;
use ao_core::forecast::ClashSide;
use ao_core::hook::HookPoint;
use ao_daemon::channels::{ChannelReport, ChannelTrial};
use ao_daemon::cleanup::{self, CleanupReport, TreeDecision};
use ao_daemon::config::{KnownProject, ProjectChecks};
use ao_daemon::forecast::{BranchClash, ForecastBranch, ForecastReport};
use ao_daemon::jobs::{self, HookTrial};
use ao_daemon::looks::{ImportResult, Outcome};
use ao_daemon::terminals::OutputPiece;

use super::{priority, time};

/// How long a check may take that is proposed and not configured.
const PROPOSED_TIMEOUT: u64 = 30 * 60;

/// A project as it is configured. What the engine knows of it is filled in by the caller.
pub(crate) fn project(id: &ProjectId, known: &KnownProject) -> Project {
    let effective = known.effective();
    Project {
        id: id.to_string(),
        path: effective.project.path.to_string(),
        default_branch: effective.project.default_branch.clone(),
        repo: effective.project.repo.clone(),
        config: known.loaded.main_file().map(ToString::to_string),
        agent: effective.agent.to_owned(),
        runtime: effective.runtime.plugin.clone(),
        workspace: effective.workspace.plugin.clone(),
        live_sessions: 0,
        max_parallel_agents: effective.project.max_parallel_agents,
        auto_assign: false,
        stopped_by: None,
    }
}

pub(crate) fn checks(checks: ProjectChecks) -> Checks {
    match checks {
        ProjectChecks::Configured(configured) => {
            let check = configured.into_iter().map(|check| Check {
                name: check.name(),
                required: check.required,
                timeout_seconds: check.timeout.0.as_secs(),
                command: check.command,
                paths: check.paths,
                because: None,
            });
            Checks { checks: check.collect(), proposed: vec![] }
        }
        ProjectChecks::Proposed(proposed) => {
            let check = proposed.into_iter().map(|check| Check {
                name: check.name,
                command: check.command,
                required: true,
                timeout_seconds: PROPOSED_TIMEOUT,
                paths: vec![],
                because: Some(check.because),
            });
            Checks { checks: vec![], proposed: check.collect() }
        }
    }
}

pub(crate) fn imported(results: Vec<ImportResult>) -> Imported {
    let issues = results.into_iter().map(|made| ImportedIssue {
        id: made.task.map(|task| task.to_string()),
        title: made.title,
        result: same_name!(made.outcome, Outcome => ImportOutcome: Made, Known, WouldBeMade),
    });
    Imported { issues: issues.collect() }
}

pub(crate) fn output(piece: OutputPiece) -> Output {
    let OutputPiece { from, next, text, ended } = piece;
    Output { from, next, text, ended }
}

pub(crate) fn hook((project, hook): (ProjectId, ao_core::hook::Hook)) -> Hook {
    Hook {
        project_id: project.to_string(),
        point: trigger(hook.point),
        timeout_seconds: hook.timeout.as_secs(),
        may_object: hook.point.may_object(),
        command: hook.command,
    }
}

pub(super) fn trigger(point: HookPoint) -> HookTrigger {
    same_name!(
        point, HookPoint => HookTrigger: BeforeAssign, WorkspaceCreated, SessionStarted, PrCreated, ChecksCompleted,
        ReviewReceived, BeforeMerge, Merged, SessionEnded
    )
}

pub(crate) fn hook_log(log: jobs::HookLog, text: Option<String>) -> HookLog {
    HookLog {
        id: log.id,
        at: log.at.map(time),
        what: log.what,
        ended: log.ended,
        path: log.path.to_string(),
        text,
    }
}

pub(crate) fn hook_tested(trial: HookTrial) -> HookTested {
    let results = trial.results.into_iter().map(|ran| HookResult {
        command: ran.command,
        exit_code: ran.code,
        objection: ran.objection,
        log: ran.log.to_string(),
    });
    HookTested { results: results.collect(), document: trial.document }
}

pub(crate) fn notify_channel(report: ChannelReport) -> NotifyChannel {
    // The highest first.
    let levels = report.levels.iter().map(|level| priority(*level));
    NotifyChannel {
        levels: levels.collect(),
        channel: report.channel,
        plugin: report.plugin,
        target: report.target,
        projects: report.projects.iter().map(ToString::to_string).collect(),
        quiet_until: report.quiet_until.map(time),
        waiting: report.waiting,
        last_told: report.last_told.map(time),
        last_failed: report.last_failed.map(time),
        problem: report.problem,
    }
}

pub(crate) fn channel_test(trial: ChannelTrial) -> ChannelTest {
    let ChannelTrial { channel, plugin, delivered, target, problem } = trial;
    ChannelTest { channel, plugin, delivered, target, problem }
}

pub(crate) fn cleanup(report: CleanupReport) -> Cleanup {
    let CleanupReport { dry_run, trees, freed_bytes } = report;
    Cleanup { dry_run, trees: trees.into_iter().map(tree).collect(), freed_bytes }
}

fn tree(tree: cleanup::TreeReport) -> TreeReport {
    TreeReport {
        session_id: tree.session.map(|session| session.to_string()),
        session_name: tree.session_name,
        project_id: tree.project.to_string(),
        path: tree.path,
        bytes: tree.bytes,
        ignored_bytes: tree.ignored_bytes,
        decision: same_name!(tree.decision, TreeDecision => Decision: Remove, Clean, Keep),
        reasons: tree.reasons,
        can_discard: tree.can_discard,
        work: tree.work.map(|work| TreeWork {
            files: work.files,
            files_in_all: work.files_in_all,
            commits: work.commits,
            commits_in_all: work.commits_in_all,
        }),
        rescue: tree.rescue,
    }
}

pub(crate) fn conflicts(project: &ProjectId, report: ForecastReport) -> Conflicts {
    let left_out = report.left_out.into_iter().map(|(name, why)| LeftOut { name, why });
    Conflicts {
        project: project.to_string(),
        at: time(report.at),
        branches: report.branches.into_iter().map(branch).collect(),
        clashes: report.clashes.into_iter().map(conflict).collect(),
        left_out: left_out.collect(),
    }
}

fn branch(branch: ForecastBranch) -> ConflictBranch {
    ConflictBranch {
        kind: same_name!(branch.side, ClashSide => ConflictSource: Session, Pull),
        name: branch.name,
        branch: branch.branch,
        title: branch.title,
        session: branch.session,
        files: u32::try_from(branch.files).unwrap_or(u32::MAX),
    }
}

pub(crate) fn conflict(clash: BranchClash) -> Conflict {
    let files = clash.files.into_iter().map(|(file, texts)| {
        let hunks = file.hunks.iter().enumerate().map(|(nth, hunk)| ConflictHunk {
            a: ConflictLines { first: hunk.a.first, count: hunk.a.count },
            b: ConflictLines { first: hunk.b.first, count: hunk.b.count },
            text: texts.get(nth).cloned(),
        });
        let hunks = hunks.collect();
        ConflictFile { path: file.path, kind: file.kind, hunks }
    });
    Conflict { a: clash.a, b: clash.b, files: files.collect() }
}
