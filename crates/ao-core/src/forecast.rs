//! Predicted conflicts between branches, and their consequences: both agents get one message, and a task that names
//! files in use by another session waits for a while.
//!
//! The merges that find the conflicts are made elsewhere. A prediction is not a fact, so every hold has a time limit.

mod paths;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::project::{Project, ProjectEvent};
use crate::session::{Phase, Session, SessionRole};
use crate::state::State;
use crate::{ProjectId, PullId, SessionId, Timestamp};

pub(crate) use paths::named;

/// The longest time that a task waits for files in use by others.
pub const HOLD_MOST: Duration = Duration::from_secs(30 * 60);
/// A clash that was gone for less than this counts as the same one, and is not reported again.
const GONE_FOR: Duration = Duration::from_secs(10 * 60);
/// The number of clashes per project that are stored.
const CLASHES: usize = 500;
/// The number of files per clash and of hunks per file that are stored.
const FILES: usize = 50;
const HUNKS: usize = 20;
/// The number of changed files per session that are stored.
const TOUCHED: usize = 300;
/// The length at which paths are cut.
const PATH: usize = 400;

/// One side of a clash.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClashSide {
    /// The contents of a session's workspace, committed or not.
    Session(SessionId),
    /// The head of a pull request.
    Pull(PullId),
}

/// Two sides that do not merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clash {
    /// The lesser of the two.
    pub a: ClashSide,
    pub b: ClashSide,
    pub files: Vec<ClashedFile>,
}

/// A file with conflicting changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClashedFile {
    pub path: String,
    /// The conflicting lines, as they were when the clash was found; lines move all the time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hunks: Vec<ClashHunk>,
}

/// A conflict within a file, with the lines of each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClashHunk {
    pub a: LineRange,
    pub b: LineRange,
}

/// A range of lines in a file, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRange {
    pub first: u32,
    pub count: u32,
}

/// Settings for the use of forecasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForecastConfig {
    /// Agents are informed of clashes.
    pub tell: bool,
    /// Tasks wait for sessions that change the same files.
    pub hold: bool,
}

impl Default for ForecastConfig {
    fn default() -> ForecastConfig {
        ForecastConfig { tell: true, hold: true }
    }
}

impl ForecastConfig {
    pub(crate) fn is_default(&self) -> bool {
        *self == ForecastConfig::default()
    }
}

/// The latest forecast of a project.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ConflictForecast {
    /// The clashes, sorted by their sides.
    pub clashes: Vec<Clash>,
    /// The files that each session has changed.
    pub touched: BTreeMap<SessionId, Vec<String>>,
    /// Recent clashes that are over, to distinguish a new clash from one that flickers.
    over: Vec<Over>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Over {
    a: ClashSide,
    b: ClashSide,
    at: Timestamp,
}

/// A queued session whose task names files that another session changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision {
    pub with: SessionId,
    /// The files that the task names and the other session changes.
    pub files: Vec<String>,
}

impl ConflictForecast {
    fn find(&self, a: &ClashSide, b: &ClashSide) -> Option<&Clash> {
        let (a, b) = if a <= b { (a, b) } else { (b, a) };
        let at = self.clashes.binary_search_by(|clash| (&clash.a, &clash.b).cmp(&(a, b)));
        at.ok().map(|at| &self.clashes[at])
    }
}

impl State {
    /// Returns the predicted clash between two pull requests of one project.
    pub fn clash_between(&self, a: &PullId, b: &PullId) -> Option<&Clash> {
        let project = self.projects.get(&a.project)?;
        project.forecast.find(&ClashSide::Pull(a.clone()), &ClashSide::Pull(b.clone()))
    }

    /// Returns all predicted clashes of a project.
    pub fn clashes_in(&self, project: &ProjectId) -> &[Clash] {
        self.projects.get(project).map_or(&[], |project| &project.forecast.clashes)
    }

    /// Returns the session that owns a side, if it is one of ours.
    pub fn owner_of_side(&self, side: &ClashSide) -> Option<&Session> {
        let id = match side {
            ClashSide::Session(id) => *id,
            ClashSide::Pull(pull) => self.pulls.get(pull)?.owner?,
        };
        self.sessions.get(&id).map(|session| &**session)
    }
}

/// Decides the events of a new forecast. It is no news if only lines moved.
pub(crate) fn decide(
    known: &Project,
    now: Timestamp,
    clashes: Vec<Clash>,
    touched: BTreeMap<SessionId, Vec<String>>,
) -> Option<ProjectEvent> {
    let (known, clashes) = (&known.forecast, bounded(clashes));
    let paths = |clash: &Clash| clash.files.iter().map(|file| file.path.clone()).collect::<BTreeSet<_>>();
    let (mut found, mut changed) = (vec![], vec![]);
    for clash in &clashes {
        match known.find(&clash.a, &clash.b) {
            Some(before) if paths(before) == paths(clash) => {}
            Some(_) => changed.push(clash.clone()),
            None => {
                let gone = known.over.iter().find(|over| (&over.a, &over.b) == (&clash.a, &clash.b));
                match gone.is_some_and(|over| now.since(over.at) < GONE_FOR) {
                    true => changed.push(clash.clone()),
                    false => found.push(clash.clone()),
                }
            }
        }
    }
    let still: BTreeSet<(&ClashSide, &ClashSide)> =
        clashes.iter().map(|clash| (&clash.a, &clash.b)).collect();
    let over: Vec<(ClashSide, ClashSide)> = known
        .clashes
        .iter()
        .filter(|clash| !still.contains(&(&clash.a, &clash.b)))
        .map(|clash| (clash.a.clone(), clash.b.clone()))
        .collect();
    let mut moved: BTreeMap<SessionId, Vec<String>> = BTreeMap::new();
    for (session, mut files) in touched.clone() {
        files.truncate(TOUCHED);
        files.iter_mut().for_each(|path| *path = cut(path));
        if known.touched.get(&session).map_or(&[][..], Vec::as_slice) != files {
            moved.insert(session, files);
        }
    }
    let gone = known.touched.keys().filter(|session| !touched.contains_key(session));
    moved.extend(gone.map(|session| (*session, vec![])));
    let same = found.is_empty() && changed.is_empty() && over.is_empty() && moved.is_empty();
    (!same).then_some(ProjectEvent::Foreseen { found, changed, over, touched: moved })
}

/// Normalizes the clashes: each pair sorted, once, and within the limit.
fn bounded(mut clashes: Vec<Clash>) -> Vec<Clash> {
    for clash in &mut clashes {
        if clash.a > clash.b {
            std::mem::swap(&mut clash.a, &mut clash.b);
            let hunks = clash.files.iter_mut().flat_map(|file| &mut file.hunks);
            hunks.for_each(|hunk| std::mem::swap(&mut hunk.a, &mut hunk.b));
        }
        clash.files.truncate(FILES);
        for file in &mut clash.files {
            file.path = cut(&file.path);
            file.hunks.truncate(HUNKS);
        }
    }
    clashes.sort_by(|one, other| (&one.a, &one.b).cmp(&(&other.a, &other.b)));
    clashes.dedup_by(|one, other| (&one.a, &one.b) == (&other.a, &other.b));
    if clashes.len() > CLASHES {
        // The merge order depends on clashes between pull requests, so those are kept first.
        let of_pulls =
            |clash: &Clash| matches!((&clash.a, &clash.b), (ClashSide::Pull(_), ClashSide::Pull(_)));
        let (mut kept, others): (Vec<_>, Vec<_>) = clashes.into_iter().partition(of_pulls);
        kept.truncate(CLASHES);
        let room = CLASHES - kept.len();
        // The sides of sessions sort before those of pull requests, so this keeps the order.
        clashes = others.into_iter().take(room).chain(kept).collect();
    }
    clashes
}

fn cut(path: &str) -> String {
    path.chars().take(PATH).collect()
}

pub(crate) fn evolve(
    forecast: &mut ConflictForecast,
    fresh: &[Clash],
    over: &[(ClashSide, ClashSide)],
    touched: &BTreeMap<SessionId, Vec<String>>,
    at: Timestamp,
) {
    let is = |clash: &Clash, a: &ClashSide, b: &ClashSide| (&clash.a, &clash.b) == (a, b);
    for clash in fresh {
        forecast.clashes.retain(|known| !is(known, &clash.a, &clash.b));
        forecast.over.retain(|over| (&over.a, &over.b) != (&clash.a, &clash.b));
    }
    forecast.clashes.extend(fresh.iter().cloned());
    forecast.clashes.sort_by(|one, other| (&one.a, &one.b).cmp(&(&other.a, &other.b)));
    forecast.over.retain(|over| at.since(over.at) < GONE_FOR);
    for (a, b) in over {
        forecast.clashes.retain(|known| !is(known, a, b));
        forecast.over.push(Over { a: a.clone(), b: b.clone(), at });
    }
    let excess = forecast.over.len().saturating_sub(CLASHES);
    forecast.over.drain(..excess);
    for (session, files) in touched {
        match files.is_empty() {
            true => drop(forecast.touched.remove(session)),
            false => drop(forecast.touched.insert(*session, files.clone())),
        }
    }
}

/// The files that the sessions of a project are changing, indexed by every text that may name them: each suffix of a
/// path, and each folder above it. Built once for all waiting sessions.
#[derive(Debug, Default)]
pub(crate) struct InUse<'a>(BTreeMap<&'a str, Vec<(SessionId, &'a str)>>);

impl<'a> InUse<'a> {
    pub(crate) fn in_project(state: &'a State, id: &ProjectId) -> InUse<'a> {
        let mut in_use = InUse::default();
        let project = state.projects.get(id).filter(|project| project.config.conflict_forecast.hold);
        for (session, touched) in project.iter().flat_map(|project| &project.forecast.touched) {
            let known = state.sessions.get(session).filter(|known| known.is_live());
            if known.is_none_or(|known| matches!(known.phase, Phase::Queued { .. })) {
                continue;
            }
            for path in touched {
                for word in paths::words_for(path) {
                    in_use.0.entry(word).or_default().push((*session, path));
                }
            }
        }
        in_use
    }

    /// Returns the session that already changes files named by the task of a queued session. Applies to tasks only: a
    /// person who spawns a session by hand has seen what runs.
    pub(crate) fn collision(&self, session: &Session) -> Option<Collision> {
        const NAMED: usize = 10;
        if !may_wait(session) {
            return None;
        }
        let meant = session.mentions.iter().filter_map(|word| self.0.get(word.as_str())).flatten();
        let meant: BTreeSet<(SessionId, &str)> =
            meant.filter(|(with, _)| *with != session.id).copied().collect();
        let with = meant.first()?.0;
        let files = meant.iter().filter(|(other, _)| *other == with).map(|(_, path)| (*path).to_owned());
        Some(Collision { with, files: files.take(NAMED).collect() })
    }
}

/// Returns whether a session is of the kind that waits for files.
pub(crate) fn may_wait(session: &Session) -> bool {
    matches!(session.phase, Phase::Queued { .. })
        && !session.waited
        && !session.mentions.is_empty()
        && session.spec.task.is_some()
        && session.spec.role == SessionRole::Worker
}

impl fmt::Display for ClashSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClashSide::Session(session) => write!(f, "{session}"),
            ClashSide::Pull(pull) => write!(f, "{pull}"),
        }
    }
}

impl fmt::Display for LineRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            0 => write!(f, "before {}", self.first),
            1 => write!(f, "{}", self.first),
            count => write!(f, "{}-{}", self.first, self.first.saturating_add(count - 1)),
        }
    }
}
