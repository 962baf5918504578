//! One look at a project: captures every tree, compares all pairs, and reports to the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ao_core::forecast::{self as core, ClashSide};
use ao_core::{Input, ProjectId, SessionId, Timestamp};
use ao_git::Git;
use ao_git::forecast::{Branch, Excerpt, Forecast, Outlook, Scratch};
use ao_ports::{CapturedWorkspace, TreeRef};
use tokio::time::{Instant, timeout};

use super::lines::{self, LineSource, ProjectLines, WorkLine};
use super::{ForecastError, ProjectForecasts};

/// A look that takes longer is given up.
const LONGEST: Duration = Duration::from_secs(180);

/// A result this recent is returned again without another look, because a look reads every tree.
const FRESH: Duration = Duration::from_secs(2);

/// The memory of a project.
#[derive(Debug, Default)]
pub(crate) struct KnownForecast {
    forecast: Forecast,
    /// The trees as they were last captured, each as a commit.
    trees: BTreeMap<SessionId, String>,
    /// The last look at everything, when it was taken, and what there was to look at then.
    last: Option<(Instant, Vec<WorkLine>, ForecastResult)>,
}

/// The result of a look.
#[derive(Debug, Clone)]
pub(crate) struct ForecastResult {
    pub(crate) at: Timestamp,
    /// Those that were compared, each with its commit.
    pub(crate) lines: Vec<(WorkLine, String)>,
    pub(crate) outlook: Outlook,
}

/// The scratch folder of a project.
struct ScratchPlace {
    folder: PathBuf,
    scratch: Scratch,
    /// Git in the project's repository, without and with the objects of the scratch folder.
    plain: Git,
    git: Git,
}

impl ProjectForecasts {
    /// Looks at a project, and returns what was seen once the engine knows it. `moved`: only the trees of these sessions
    /// are taken anew, and those that were never taken; all of them, if absent.
    pub(crate) async fn look(
        &self,
        project: &ProjectId,
        moved: Option<&BTreeSet<SessionId>>,
    ) -> Result<ForecastResult, ForecastError> {
        let known = self.known(project);
        let mut known = known.lock().await;
        self.look_with(project, &mut known, moved).await
    }

    /// Returns a recent result, or looks at everything. Of many callers at once, one looks and all get the result.
    pub(crate) async fn recent(&self, project: &ProjectId) -> Result<ForecastResult, ForecastError> {
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
        known: &mut KnownForecast,
        moved: Option<&BTreeSet<SessionId>>,
    ) -> Result<ForecastResult, ForecastError> {
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
        let place = self.place(project, &ground).await?;
        Ok(known.forecast.explain(&place.git, a, b).await?)
    }

    async fn ground(&self, project: &ProjectId) -> Result<ProjectLines, ForecastError> {
        let id = project.clone();
        let ground = self.handle.view(move |state| lines::of(state, &id)).await?;
        ground.ok_or_else(|| ForecastError::NoProject(project.clone()))
    }

    async fn place(&self, project: &ProjectId, ground: &ProjectLines) -> Result<ScratchPlace, ForecastError> {
        let plain = Git::plain(Path::new(&ground.path));
        let common_dir = plain.read(&["rev-parse", "--path-format=absolute", "--git-common-dir"]).await?;
        // With something in front, as `..` is a name that a project may have.
        let folder = self.folder.join(format!("of-{project}"));
        let scratch = Scratch::open(&folder, Path::new(&common_dir))?;
        Ok(ScratchPlace { git: scratch.git(&plain), folder, scratch, plain })
    }

    /// Captures a workspace into the scratch folder, and returns its commit.
    async fn capture(&self, place: &ScratchPlace, kind: &str, tree: &TreeRef) -> Result<String, String> {
        let workspace = self.workspaces.get(kind).ok_or_else(|| format!("there is no workspace `{kind}`"))?;
        let CapturedWorkspace { commit, pack } =
            workspace.capture(tree).await.map_err(|err| err.to_string())?;
        let known = pack.is_empty() || matches!(place.git.commit(commit.as_str()).await, Ok(Some(_)));
        if !known {
            place.scratch.add(&place.plain, &pack).await.map_err(|err| err.to_string())?;
        }
        Ok(commit.to_string())
    }

    async fn look_now(
        &self,
        project: &ProjectId,
        known: &mut KnownForecast,
        moved: Option<&BTreeSet<SessionId>>,
    ) -> Result<ForecastResult, ForecastError> {
        let ground = self.ground(project).await?;
        let at = self.clock.now();
        if ground.lines.is_empty() {
            *known = KnownForecast::default();
            return Ok(ForecastResult { at, lines: vec![], outlook: Outlook::default() });
        }
        let place = self.place(project, &ground).await?;
        if Scratch::make_room(&place.folder)? {
            known.trees.clear();
        }
        let target = place.git.base_tip(&ground.default_branch).await?.ok_or_else(|| {
            ForecastError::NoTarget { project: project.clone(), branch: ground.default_branch.clone() }
        })?;
        let mut found: Vec<(WorkLine, String)> = vec![];
        let mut left_out = vec![];
        let live: BTreeSet<SessionId> =
            ground.lines.iter().filter_map(|line| session_of(&line.side)).collect();
        known.trees.retain(|session, _| live.contains(session));
        for line in ground.lines.clone() {
            match &line.from {
                LineSource::Commit(commit) => found.push((line.clone(), commit.clone())),
                LineSource::Tree { kind, tree, head } => {
                    let session = tree.session;
                    let is_fresh = moved.is_some_and(|moved| !moved.contains(&session));
                    if !(is_fresh && known.trees.contains_key(&session)) {
                        match self.capture(&place, kind, tree).await {
                            Ok(commit) => drop(known.trees.insert(session, commit)),
                            // What was committed is known all the same.
                            Err(err) if known.trees.contains_key(&session) || head.is_some() => {
                                tracing::debug!(%session, err, "a tree could not be captured");
                            }
                            Err(err) => left_out.push((line.name.clone(), err)),
                        }
                    }
                    let commit = known.trees.get(&session).cloned();
                    if let Some(commit) = commit.or_else(|| head.clone()) {
                        found.push((line.clone(), commit));
                    }
                }
            }
        }
        let branches: Vec<Branch> = found
            .iter()
            .map(|(line, tip)| Branch {
                name: line.side.to_string(),
                tip: tip.clone(),
                owner: line.owner().to_owned(),
            })
            .collect();
        let mut outlook = known.forecast.look(&place.git, &target, &branches).await?;
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
        // A tree that adds nothing to its own pull request is not listed twice.
        let same = |line: &WorkLine, tip: &str| {
            matches!(line.side, ClashSide::Session(_))
                && found.iter().any(|(other, its)| {
                    matches!(other.side, ClashSide::Pull(_)) && other.owner() == line.owner() && its == tip
                })
        };
        let doubled: BTreeSet<String> = found
            .iter()
            .filter(|(line, tip)| same(line, tip))
            .map(|(line, _)| line.side.to_string())
            .collect();
        outlook.clashes.retain(|clash| !doubled.contains(&clash.a) && !doubled.contains(&clash.b));
        Ok(ForecastResult { at, lines: found, outlook })
    }
}

fn session_of(side: &ClashSide) -> Option<SessionId> {
    match side {
        ClashSide::Session(session) => Some(*session),
        ClashSide::Pull(_) => None,
    }
}

/// Converts a result for the engine.
fn for_the_engine(seen: &ForecastResult) -> (Vec<core::Clash>, BTreeMap<SessionId, Vec<String>>) {
    let sides: BTreeMap<String, &ClashSide> =
        seen.lines.iter().map(|(line, _)| (line.side.to_string(), &line.side)).collect();
    let lines = |lines: ao_git::forecast::Lines| core::LineRange { first: lines.first, count: lines.count };
    let clashes = seen.outlook.clashes.iter().filter_map(|clash| {
        let (a, b) = (*sides.get(&clash.a)?, *sides.get(&clash.b)?);
        let files = clash.files.iter().map(|file| core::ClashedFile {
            path: file.path.clone(),
            hunks: file
                .hunks
                .iter()
                .map(|hunk| core::ClashHunk { a: lines(hunk.a), b: lines(hunk.b) })
                .collect(),
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
