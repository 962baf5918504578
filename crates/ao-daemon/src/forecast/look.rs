//! One look at a project: every tree as it is, all pairs compared, and the engine told.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ao_core::forecast::{self as core, Side};
use ao_core::{Input, ProjectId, SessionId, Timestamp};
use ao_git::Git;
use ao_git::forecast::{Branch, Excerpt, Forecast, Outlook, Scratch};
use ao_ports::Captured;
use tokio::time::{Instant, timeout};

use super::lines::{self, From, Ground, Line};
use super::{ForecastError, Forecasts};

/// A look that takes longer is given up.
const LONGEST: Duration = Duration::from_secs(180);

/// A result this recent is returned again without another look, because a look reads every tree.
const FRESH: Duration = Duration::from_secs(2);

/// The memory of a project.
#[derive(Debug, Default)]
pub(crate) struct Known {
    forecast: Forecast,
    /// The trees as they were last taken.
    trees: BTreeMap<SessionId, Captured>,
    /// The last look at everything, when it was taken, and what there was to look at then.
    last: Option<(Instant, Vec<Line>, Seen)>,
}

/// The result of a look.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) at: Timestamp,
    /// Those that were compared, each with its commit.
    pub(crate) lines: Vec<(Line, String)>,
    pub(crate) outlook: Outlook,
}

impl Forecasts {
    /// Looks at a project, and returns what was seen once the engine knows it. `moved`: only the trees of these sessions
    /// are taken anew, and those that were never taken; all of them, if absent.
    pub(crate) async fn look(
        &self,
        project: &ProjectId,
        moved: Option<&BTreeSet<SessionId>>,
    ) -> Result<Seen, ForecastError> {
        let known = self.known(project);
        let mut known = known.lock().await;
        self.look_with(project, &mut known, moved).await
    }

    /// Returns a recent result, or looks at everything. Of many callers at once, one looks and all get the result.
    pub(crate) async fn recent(&self, project: &ProjectId) -> Result<Seen, ForecastError> {
        let known = self.known(project);
        let mut known = known.lock().await;
        let lines = self.ground(project).await?.lines;
        if let Some((at, then, seen)) = &known.last
            && at.elapsed() < FRESH
            && *then == lines
        {
            return Ok(seen.clone());
        }
        let seen = self.look_with(project, &mut known, None).await?;
        known.last = Some((Instant::now(), lines, seen.clone()));
        Ok(seen)
    }

    async fn look_with(
        &self,
        project: &ProjectId,
        known: &mut Known,
        moved: Option<&BTreeSet<SessionId>>,
    ) -> Result<Seen, ForecastError> {
        let looked = timeout(LONGEST, self.look_now(project, known, moved)).await;
        let seen = looked.map_err(|_| ForecastError::TooSlow(project.clone()))??;
        let (clashes, touched) = for_the_engine(&seen);
        self.handle.ask(Input::Forecast { project: project.clone(), clashes, touched }).await?;
        Ok(seen)
    }

    /// Explains the conflicts of two branches, with the text.
    pub(crate) async fn explain(
        &self,
        project: &ProjectId,
        a: &str,
        b: &str,
    ) -> Result<Vec<Excerpt>, ForecastError> {
        let ground = self.ground(project).await?;
        let known = self.known(project);
        let known = known.lock().await;
        let (_, git) = self.git(project, &ground, &known).await?;
        Ok(known.forecast.explain(&git, a, b).await?)
    }

    async fn ground(&self, project: &ProjectId) -> Result<Ground, ForecastError> {
        let id = project.clone();
        let ground = self.handle.view(move |state| lines::of(state, &id)).await?;
        ground.ok_or_else(|| ForecastError::NoProject(project.clone()))
    }

    /// The scratch folder of a project, and git in its repository with that.
    async fn git(
        &self,
        project: &ProjectId,
        ground: &Ground,
        known: &Known,
    ) -> Result<(PathBuf, Git), ForecastError> {
        let git = Git::plain(Path::new(&ground.path));
        let common_dir = git.read(&["rev-parse", "--path-format=absolute", "--git-common-dir"]).await?;
        // With something in front, as `..` is a name that a project may have.
        let folder = self.folder.join(format!("of-{project}"));
        let mut scratch = Scratch::open(&folder, Path::new(&common_dir))?;
        for tree in known.trees.values() {
            scratch.reads(Path::new(&tree.objects));
        }
        Ok((folder, scratch.git(&git)))
    }

    async fn look_now(
        &self,
        project: &ProjectId,
        known: &mut Known,
        moved: Option<&BTreeSet<SessionId>>,
    ) -> Result<Seen, ForecastError> {
        let ground = self.ground(project).await?;
        let at = self.clock.now();
        if ground.lines.is_empty() {
            *known = Known::default();
            return Ok(Seen { at, lines: vec![], outlook: Outlook::default() });
        }
        let (folder, git) = self.git(project, &ground, known).await?;
        if Scratch::make_room(&folder)? {
            known.trees.clear();
        }
        let target = git.base_tip(&ground.default_branch).await?.ok_or_else(|| ForecastError::NoTarget {
            project: project.clone(),
            branch: ground.default_branch.clone(),
        })?;
        let mut found: Vec<(Line, String)> = vec![];
        let mut left_out = vec![];
        let live: BTreeSet<SessionId> =
            ground.lines.iter().filter_map(|line| session_of(&line.side)).collect();
        known.trees.retain(|session, _| live.contains(session));
        for line in ground.lines.clone() {
            match &line.from {
                From::Commit(commit) => found.push((line.clone(), commit.clone())),
                From::Tree { kind, order, head } => {
                    let is_fresh = moved.is_some_and(|moved| !moved.contains(&order.session));
                    if !(is_fresh && known.trees.contains_key(&order.session)) {
                        let taken = match self.workspaces.get(kind) {
                            Some(workspace) => workspace.capture(order, &folder.to_string_lossy()).await,
                            None => continue,
                        };
                        match taken {
                            Ok(taken) => drop(known.trees.insert(order.session, taken)),
                            // What was committed is known all the same.
                            Err(err) if known.trees.contains_key(&order.session) || head.is_some() => {
                                tracing::debug!(session = %order.session, %err, "a tree could not be taken as it is");
                            }
                            Err(err) => left_out.push((line.name.clone(), err.to_string())),
                        }
                    }
                    let commit = known.trees.get(&order.session).map(|taken| taken.commit.clone());
                    if let Some(commit) = commit.or_else(|| head.clone()) {
                        found.push((line.clone(), commit));
                    }
                }
            }
        }
        // Clones that have come since have objects of their own.
        let (_, git) = self.git(project, &ground, known).await?;
        let branches: Vec<Branch> = found
            .iter()
            .map(|(line, tip)| Branch {
                name: line.side.to_string(),
                tip: tip.clone(),
                owner: line.owner().to_owned(),
            })
            .collect();
        let mut outlook = known.forecast.look(&git, &target, &branches).await?;
        let names: BTreeMap<String, &str> =
            found.iter().map(|(line, _)| (line.side.to_string(), line.name.as_str())).collect();
        for (name, why) in &mut outlook.left_out {
            let parts = name.split(" with ").map(|part| names.get(part).copied().unwrap_or(part));
            *name = parts.collect::<Vec<_>>().join(" with ");
            if why.is_empty() {
                *why = "its commit is not in the repository".into();
            }
        }
        outlook.left_out.extend(left_out);
        // A tree without more than its own pull request has is not told twice.
        let same = |line: &Line, tip: &str| {
            matches!(line.side, Side::Session(_))
                && found.iter().any(|(other, its)| {
                    matches!(other.side, Side::Pull(_)) && other.owner() == line.owner() && its == tip
                })
        };
        let doubled: BTreeSet<String> = found
            .iter()
            .filter(|(line, tip)| same(line, tip))
            .map(|(line, _)| line.side.to_string())
            .collect();
        outlook.clashes.retain(|clash| !doubled.contains(&clash.a) && !doubled.contains(&clash.b));
        Ok(Seen { at, lines: found, outlook })
    }
}

fn session_of(side: &Side) -> Option<SessionId> {
    match side {
        Side::Session(session) => Some(*session),
        Side::Pull(_) => None,
    }
}

/// Converts a result for the engine.
fn for_the_engine(seen: &Seen) -> (Vec<core::Clash>, BTreeMap<SessionId, Vec<String>>) {
    let sides: BTreeMap<String, &Side> =
        seen.lines.iter().map(|(line, _)| (line.side.to_string(), &line.side)).collect();
    let lines = |lines: ao_git::forecast::Lines| core::Lines { first: lines.first, count: lines.count };
    let clashes = seen.outlook.clashes.iter().filter_map(|clash| {
        let (a, b) = (*sides.get(&clash.a)?, *sides.get(&clash.b)?);
        let files = clash.files.iter().map(|file| core::ClashFile {
            path: file.path.clone(),
            hunks: file.hunks.iter().map(|hunk| core::Hunk { a: lines(hunk.a), b: lines(hunk.b) }).collect(),
        });
        Some(core::Clash { a: a.clone(), b: b.clone(), files: files.collect() })
    });
    let touched = seen.lines.iter().filter_map(|(line, _)| {
        let session = session_of(&line.side)?;
        let files = seen.outlook.changed.get(&line.side.to_string())?;
        (!files.is_empty()).then(|| (session, files.clone()))
    });
    (clashes.collect(), touched.collect())
}
