//! Which lines of work will not merge with each other, as somebody who merged them all has found, and what comes of that:
//! both agents hear of it once, and a task that names files which somebody changes just now waits a while.
//!
//! It does not merge anything itself, and what it holds up it holds up for a bounded time: a forecast is not a fact.

mod paths;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::project::{Project, ProjectEvent};
use crate::session::{Phase, Role, Session};
use crate::state::State;
use crate::{ProjectId, PullId, SessionId, Timestamp};

pub(crate) use paths::named;

/// A task waits no longer than this for others to be out of its way.
pub const HOLD_MOST: Duration = Duration::from_secs(30 * 60);
/// A clash that was gone for less is the same one, and nobody is told again.
const GONE_FOR: Duration = Duration::from_secs(10 * 60);
/// How many clashes of a project are kept.
const CLASHES: usize = 500;
/// How many files of one clash, and places of one file.
const FILES: usize = 50;
const HUNKS: usize = 20;
/// How many changed files of a session are kept.
const TOUCHED: usize = 300;
/// Longer paths are cut.
const PATH: usize = 400;

/// A line of work.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// What a session has in its workspace, committed or not.
    Session(SessionId),
    /// What a pull request would merge.
    Pull(PullId),
}

/// Two lines of work that do not merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clash {
    /// The lesser of the two.
    pub a: Side,
    pub b: Side,
    pub files: Vec<ClashFile>,
}

/// A file that they do not agree on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClashFile {
    pub path: String,
    /// Where, if it is about lines. As it was when the clash was found; lines move all the time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hunks: Vec<Hunk>,
}

/// A place that they do not agree on, in the file of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    pub a: Lines,
    pub b: Lines,
}

/// Lines of a file, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    pub first: u32,
    pub count: u32,
}

/// What is done with forecasts, as the configuration says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForecastConfig {
    /// Whether agents hear of clashes.
    pub tell: bool,
    /// Whether tasks wait for those that change the same files.
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

/// What was last foreseen in a project.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Forecast {
    /// In the order of their sides.
    pub clashes: Vec<Clash>,
    /// The files that each session has changed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub touched: BTreeMap<SessionId, Vec<String>>,
    /// Clashes that are over, to tell one that comes back from one that flickers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    over: Vec<Over>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Over {
    a: Side,
    b: Side,
    at: Timestamp,
}

/// A queued session that would get into another one's way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision {
    pub with: SessionId,
    /// The files that the one names and the other changes.
    pub files: Vec<String>,
}

impl Forecast {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Forecast::default()
    }

    fn find(&self, a: &Side, b: &Side) -> Option<&Clash> {
        let (a, b) = if a <= b { (a, b) } else { (b, a) };
        let at = self.clashes.binary_search_by(|clash| (&clash.a, &clash.b).cmp(&(a, b)));
        at.ok().map(|at| &self.clashes[at])
    }
}

impl State {
    /// The clash that is foreseen between two pull requests of one project, if one is.
    pub fn clash_between(&self, a: &PullId, b: &PullId) -> Option<&Clash> {
        let project = self.projects.get(&a.project)?;
        project.forecast.find(&Side::Pull(a.clone()), &Side::Pull(b.clone()))
    }

    /// All clashes that are foreseen in a project.
    pub fn clashes_in(&self, project: &ProjectId) -> &[Clash] {
        self.projects.get(project).map_or(&[], |project| &project.forecast.clashes)
    }

    /// The session that a line of work belongs to, if it is one of ours.
    pub fn owner_of_side(&self, side: &Side) -> Option<&Session> {
        let id = match side {
            Side::Session(id) => *id,
            Side::Pull(pull) => self.pulls.get(pull)?.owner?,
        };
        self.sessions.get(&id).map(|session| &**session)
    }
}

/// What a new forecast adds to what is known: nothing, if it is the same but for lines that moved.
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
    let still: BTreeSet<(&Side, &Side)> = clashes.iter().map(|clash| (&clash.a, &clash.b)).collect();
    let over: Vec<(Side, Side)> = known
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

/// Each pair in its order, once, and no more than can be kept.
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
        // The order of merges goes by those between pull requests, so those are kept first.
        let of_pulls = |clash: &Clash| matches!((&clash.a, &clash.b), (Side::Pull(_), Side::Pull(_)));
        let (mut kept, others): (Vec<_>, Vec<_>) = clashes.into_iter().partition(of_pulls);
        kept.truncate(CLASHES);
        let room = CLASHES - kept.len();
        // The sides of sessions come before those of pull requests, so that the order holds.
        clashes = others.into_iter().take(room).chain(kept).collect();
    }
    clashes
}

fn cut(path: &str) -> String {
    path.chars().take(PATH).collect()
}

pub(crate) fn evolve(
    forecast: &mut Forecast,
    fresh: &[Clash],
    over: &[(Side, Side)],
    touched: &BTreeMap<SessionId, Vec<String>>,
    at: Timestamp,
) {
    let is = |clash: &Clash, a: &Side, b: &Side| (&clash.a, &clash.b) == (a, b);
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

/// The files that the sessions of a project change just now, by every word that names them: each end of a path, and each
/// folder that it is in. Made once for all that wait.
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

    /// Whom a queued session would get into the way of, if its task names files that another session changes. Only for
    /// tasks: who asks for a session by hand has seen what runs.
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

/// Whether a session is one that waits for files at all.
pub(crate) fn may_wait(session: &Session) -> bool {
    matches!(session.phase, Phase::Queued { .. })
        && !session.waited
        && !session.mentions.is_empty()
        && session.spec.task.is_some()
        && session.spec.role == Role::Worker
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Side::Session(session) => write!(f, "{session}"),
            Side::Pull(pull) => write!(f, "{pull}"),
        }
    }
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            0 => write!(f, "before {}", self.first),
            1 => write!(f, "{}", self.first),
            count => write!(f, "{}-{}", self.first, self.first.saturating_add(count - 1)),
        }
    }
}
