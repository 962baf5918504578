//! Trust in the base branch and in the repository's configuration: both must be as people have left them.
//!
//! Agents share the repository's refs and files, so each of them can move the base (`git update-ref`, `git branch
//! -f`) or name a program for git to run. The last trusted state is stored in the daemon's records. While no session
//! is alive, every change is a person's. While one is, a base may be moved by a landing of ours, by a fetch or push
//! that the remote confirms, or in the user's own checkout, where git notes what was done; anything else is held
//! until a person confirms it.
//!
//! ```text
//!  refs ──► as trusted? ──► yes: they are the refs
//!               └──► no: landed, fetched, made in the user's checkout, or no session alive? ──► trusted from now on
//!                        └──► held: everything uses the previous tip, nothing lands, a person is notified
//! ```
//!
//! An agent that commits in the user's checkout passes for the user; only a sandbox keeps agents out of it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ao_core::{Commit, SessionId};
use ao_git::{ConfigFingerprint, GitError, Setting};
use ao_ports::{BaseView, LookHint, MovedBase, RecordChange, ScmError};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tracing::warn;

use super::base_tip::BaseTips;
use super::repository::{BranchRefs, LocalRepository};
use super::{LocalError, LocalScm};

const SHELF: &str = "trusted";
/// Time limit for a remote to confirm a tip, and the time for which its answer is reused.
const REMOTE: Duration = Duration::from_secs(15);
const AGAIN: Duration = Duration::from_secs(30);
/// The most new commits of a base that are listed.
const NAMED: usize = 10;
/// The most bytes that are read from the end of a checkout's reflog.
const LOG: usize = 256 * 1024;
/// Reflog entries that git writes for actions of people in a checkout.
const BY_HAND: [&str; 9] =
    ["commit", "merge", "pull", "rebase", "reset", "cherry-pick", "revert", "am", "initial pull"];

/// Reports the sessions at work in a project, which could have changed its repository.
#[async_trait]
pub trait Witness: Send + Sync + fmt::Debug {
    /// Returns the names of sessions that are alive, or were a short while ago.
    async fn at_work(&self) -> Vec<String>;
}

/// The trusted state of a repository, as stored in the daemon's records.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct TrustedBase {
    branch: String,
    here: Option<Commit>,
    origin: Option<Commit>,
    #[serde(default)]
    parts: BTreeMap<String, String>,
    #[serde(default)]
    programs: Vec<Setting>,
    /// Changes that wait for a person's confirmation.
    #[serde(default)]
    held: Vec<MovedBase>,
}

#[derive(Debug, Default)]
pub(super) struct BaseTrust {
    /// Locked only to copy or replace it. Absent before the first look.
    trusted: Mutex<Option<TrustedBase>>,
    /// The last tip that a remote was asked about, and the time.
    asked: Mutex<Option<(Commit, Instant)>>,
}

impl BaseTrust {
    fn trusted(&self) -> MutexGuard<'_, Option<TrustedBase>> {
        self.trusted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held(&self) -> Vec<MovedBase> {
        self.trusted().as_ref().map(|trusted| trusted.held.clone()).unwrap_or_default()
    }

    /// Returns the reason why nothing may land on a branch.
    pub(super) fn forbids(&self, branch: &str) -> Option<String> {
        let trusted = self.trusted();
        let trusted = trusted.as_ref().filter(|trusted| trusted.branch == branch)?;
        trusted.held.iter().find(|held| held.to.is_some()).map(|held| held.detail.clone())
    }

    /// Returns true if a base was moved to this commit and the move is not confirmed.
    pub(super) fn is_held(&self, commit: &Commit) -> bool {
        self.held().iter().any(|held| held.to.as_ref() == Some(commit))
    }
}

impl LocalScm {
    /// Returns the refs, with the base at its trusted tip.
    pub(super) async fn trusted(&self, mut refs: BranchRefs) -> Result<BranchRefs, LocalError> {
        let Some(witness) = self.options.witness.clone() else { return Ok(refs) };
        let branch = &self.options.default_branch;
        let theirs = format!("origin/{branch}");
        let (here, origin) = (refs.heads.get(branch).cloned(), refs.remotes.get(&theirs).cloned());
        let around = self.around().await;
        let known = self.known_trust().await?.filter(|known| known.branch == *branch);
        let Some(before) = known else {
            // The first look at a project: it is as the user has left it.
            let around = around.unwrap_or_default();
            let ConfigFingerprint { parts, programs } = around;
            let first = TrustedBase { branch: branch.clone(), here, origin, parts, programs, held: vec![] };
            self.put_trust(first).await?;
            return Ok(refs);
        };
        let parts = around.as_ref().map_or_else(|| before.parts.clone(), |around| around.parts.clone());
        if (before.here == here && before.origin == origin && before.parts == parts) && before.held.is_empty()
        {
            return Ok(refs);
        }
        let mut at_work = witness.at_work().await;
        if at_work.is_empty() && before.held.is_empty() {
            let programs = around.map_or_else(|| before.programs.clone(), |around| around.programs);
            self.put_trust(TrustedBase { here, origin, parts, programs, ..before }).await?;
            return Ok(refs);
        }
        // The sessions at the time of the move, not the current ones.
        if let Some(held) = before.held.first() {
            at_work.clone_from(&held.at_work);
        }
        let mut now = TrustedBase { held: vec![], ..before.clone() };
        if self.is_fetched(&before, origin.as_ref()).await? {
            now.origin = origin;
        } else {
            now.held.push(self.moved("origin", &before.origin, &origin, &at_work).await);
        }
        if self.is_moved_rightly(&before, &now, here.as_ref()).await? {
            now.here = here;
        } else {
            now.held.push(self.moved("", &before.here, &here, &at_work).await);
        }
        let changed = around.map(|around| around.changed_since(&before.parts)).unwrap_or_default();
        if !changed.is_empty() {
            now.held.push(self.changed(&changed, &at_work));
        }
        set(&mut refs.heads, branch, now.here.as_ref());
        set(&mut refs.remotes, &theirs, now.origin.as_ref());
        if now != before {
            self.put_trust(now).await?;
            self.hint(LookHint::Project(self.options.project.clone()));
        }
        Ok(refs)
    }

    /// Records the tip to which a landing of ours has moved the base.
    pub(super) async fn landed_at(&self, branch: &str, commit: &Commit) -> Result<(), LocalError> {
        let known = self.trust.trusted().clone();
        match known.filter(|known| known.branch == branch && self.options.witness.is_some()) {
            Some(known) => self.put_trust(TrustedBase { here: Some(commit.clone()), ..known }).await,
            None => Ok(()),
        }
    }

    /// Returns the tip that all decisions use, and the changes that wait for confirmation.
    pub(super) async fn base_view(&self) -> Result<BaseView, LocalError> {
        let mut writing = self.pulls.writing().await;
        if self.is_behind() || self.has_base_moved().await {
            self.look(&mut writing).await?;
        }
        let refs = writing.refs.clone().unwrap_or_default();
        let tip = BaseTips::default().of(&self.repository, &refs, &self.options.default_branch).await?;
        let programs = self.trust.trusted().as_ref().map_or_else(Vec::new, |known| known.programs.clone());
        Ok(BaseView { tip: tip.map(|tip| tip.commit), held: self.trust.held(), programs })
    }

    /// Trusts the current state: a person has looked at it.
    pub(super) async fn confirm(&self) -> Result<Vec<MovedBase>, LocalError> {
        let mut writing = self.pulls.writing().await;
        let held = self.trust.held();
        let refs = self.repository.refs().await?;
        let branch = &self.options.default_branch;
        let around = self.around().await.unwrap_or_default();
        let ConfigFingerprint { parts, programs } = around;
        let (here, origin) = (refs.heads.get(branch), refs.remotes.get(&format!("origin/{branch}")));
        let (here, origin) = (here.cloned(), origin.cloned());
        self.put_trust(TrustedBase { branch: branch.clone(), here, origin, parts, programs, held: vec![] })
            .await?;
        self.look(&mut writing).await?;
        self.hint(LookHint::Project(self.options.project.clone()));
        Ok(held)
    }

    /// Returns true if something has changed since the last look, as far as files show.
    async fn has_base_moved(&self) -> bool {
        let Some(known) = self.trust.trusted().clone() else { return true };
        let is_at = |name: String, known: Option<&Commit>| {
            let found = ao_git::refs::find(self.repository.common_dir.as_std_path(), &name);
            found.is_none_or(|found| found.as_deref() == known.map(Commit::as_str))
        };
        let same_refs = is_at(format!("refs/heads/{}", known.branch), known.here.as_ref())
            && is_at(format!("refs/remotes/origin/{}", known.branch), known.origin.as_ref());
        !same_refs || self.around().await.is_some_and(|around| around.parts != known.parts)
    }

    async fn around(&self) -> Option<ConfigFingerprint> {
        let found = ConfigFingerprint::of(self.repository.common_dir.as_std_path()).await;
        found.inspect_err(|err| warn!(%err, "the settings of the repository could not be compared")).ok()
    }

    async fn known_trust(&self) -> Result<Option<TrustedBase>, LocalError> {
        let known = self.trust.trusted().clone();
        if known.is_some() {
            return Ok(known);
        }
        let key = self.options.project.to_string();
        let Some(text) = self.pulls.records().get(SHELF, &key).await? else { return Ok(None) };
        let read: TrustedBase =
            serde_json::from_str(&text).map_err(|err| LocalError::Unreadable { key, err })?;
        ao_git::approve(read.programs.iter().cloned());
        *self.trust.trusted() = Some(read.clone());
        Ok(Some(read))
    }

    /// Stores the trusted state before it takes effect.
    async fn put_trust(&self, trusted: TrustedBase) -> Result<(), LocalError> {
        let body = serde_json::to_string(&trusted).expect("it is text");
        let change = RecordChange::put(SHELF, self.options.project.to_string(), body);
        self.pulls.records().change(vec![change]).await?;
        ao_git::approve(trusted.programs.iter().cloned());
        *self.trust.trusted() = Some(trusted);
        Ok(())
    }

    /// Returns true if origin's base is unchanged, or is confirmed by the remote.
    async fn is_fetched(&self, before: &TrustedBase, origin: Option<&Commit>) -> Result<bool, LocalError> {
        let Some(origin) = origin else { return Ok(before.origin.is_none() || before.here.is_some()) };
        if before.origin.as_ref() == Some(origin) {
            return Ok(true);
        }
        // A push of what is trusted here.
        if let Some(here) = &before.here
            && self.repository.is_ancestor(origin, here).await?
        {
            return Ok(true);
        }
        {
            let mut asked = self.trust.asked.lock().unwrap_or_else(PoisonError::into_inner);
            if asked.as_ref().is_some_and(|(tip, at)| tip == origin && at.elapsed() < AGAIN) {
                return Ok(false);
            }
            *asked = Some((origin.clone(), Instant::now()));
        }
        // If the address of the remote has changed, its answer proves nothing.
        let around = self.around().await.unwrap_or_default();
        let names_remote = |name: &String| name.contains("remote.origin.") || name.contains("`url.");
        if around.changed_since(&before.parts).iter().any(names_remote) {
            return Ok(false);
        }
        Ok(self.repository.at_remote(&self.options.default_branch, origin).await)
    }

    /// Returns true if the local branch was moved by a landing, a pull or a person.
    async fn is_moved_rightly(
        &self,
        before: &TrustedBase,
        now: &TrustedBase,
        here: Option<&Commit>,
    ) -> Result<bool, LocalError> {
        if before.here.as_ref() == here {
            return Ok(true);
        }
        let Some(here) = here else { return Ok(false) };
        let is_landing = |entry: &std::sync::Arc<super::pull_records::PullEntry>| {
            entry.pull.landing.as_ref().is_some_and(|landing| landing.commit == *here)
        };
        if self.pulls.open().iter().any(is_landing) {
            return Ok(true);
        }
        let follows = match &before.here {
            Some(before) => self.repository.is_ancestor(before, here).await?,
            None => true,
        };
        // A pull, or a fetch into the branch.
        if let Some(origin) = now.origin.as_ref().filter(|_| follows)
            && self.repository.is_ancestor(here, origin).await?
        {
            return Ok(true);
        }
        Ok(self.repository.is_made_by_hand(before.here.as_ref(), here))
    }

    async fn moved(
        &self,
        place: &str,
        from: &Option<Commit>,
        to: &Option<Commit>,
        at_work: &[String],
    ) -> MovedBase {
        let branch = match place {
            "" => self.options.default_branch.clone(),
            remote => format!("{remote}/{}", self.options.default_branch),
        };
        let at = |commit: &Option<Commit>| commit.as_ref().map_or("nowhere".to_owned(), Commit::to_string);
        let commits = match (from, to) {
            (Some(from), Some(to)) => self.repository.come(from, to).await,
            _ => String::new(),
        };
        let detail = format!(
            "`{branch}` was moved from {} to {}, by no landing, push or fetch and not in your own checkout.\n\
             At work in the project: {}.\n{commits}Until you confirm it, the policy and the tip before stay in force, \
             and nothing is merged.\nIf it was you: `ao trust-project {}`. If not, put it back: `git update-ref \
             refs/{}/{branch} {}`.",
            at(from),
            at(to),
            names(at_work),
            self.options.project,
            if place.is_empty() { "heads" } else { "remotes" },
            at(from),
        );
        let what = format!("base {branch}");
        MovedBase { what, from: from.clone(), to: to.clone(), at_work: at_work.to_vec(), detail }
    }

    fn changed(&self, parts: &[String], at_work: &[String]) -> MovedBase {
        let detail = format!(
            "In the repository was changed what decides which programs git runs: {}.\nAt work in the project: {}.\n\
             The daemon's git runs none of it. Your own git does, so look at it before you work there.\nIf it was you: \
             `ao trust-project {}`.",
            parts.join(", "),
            names(at_work),
            self.options.project,
        );
        let what = "configuration of the repository".to_owned();
        MovedBase { what, from: None, to: None, at_work: at_work.to_vec(), detail }
    }
}

impl LocalRepository {
    /// Returns true if the remote's branch is at a commit, or past it.
    async fn at_remote(&self, branch: &str, commit: &Commit) -> bool {
        let name = format!("refs/heads/{branch}");
        let args = ["ls-remote", "--quiet", "origin", &name];
        let output = match tokio::time::timeout(REMOTE, self.git.read(&args)).await {
            Ok(Ok(output)) => output,
            Ok(Err(err)) => {
                warn!(%err, "origin could not be asked where its base is");
                return false;
            }
            Err(_) => return false,
        };
        let Some(tip) = output.split_whitespace().next().map(Commit::new) else { return false };
        tip == *commit || self.is_ancestor(commit, &tip).await.unwrap_or(false)
    }

    /// Returns true if the reflog of the user's checkout leads from one tip to the other by actions of people.
    fn is_made_by_hand(&self, from: Option<&Commit>, to: &Commit) -> bool {
        leads(&end_of(self.common_dir.join("logs/HEAD").as_std_path()), from, to)
    }

    /// Returns the commits that one tip has and another has not, in a few lines.
    async fn come(&self, from: &Commit, to: &Commit) -> String {
        let (most, not) = (format!("-{NAMED}"), format!("^{from}"));
        let args = ["log", "--format=%h %an: %s", &most, to.as_str(), &not, "--"];
        let output: Result<String, GitError> = self.git.read(&args).await;
        match output.unwrap_or_default() {
            output if output.is_empty() => String::new(),
            output => format!("New there:\n{output}\n"),
        }
    }
}

/// Returns true if a reflog leads from one commit to another by entries of people, regardless of entries in between.
/// `old new name <address> time zone\tdone`
fn leads(log: &str, from: Option<&Commit>, to: &Commit) -> bool {
    let mut at = to.as_str();
    for line in log.lines().rev() {
        let Some((entry, done)) = line.split_once('\t') else { continue };
        let mut words = entry.split(' ');
        let (Some(old), Some(new)) = (words.next(), words.next()) else { continue };
        let address = entry.rsplit_once('<').and_then(|(_, rest)| rest.split('>').next()).unwrap_or_default();
        let by_hand = BY_HAND
            .iter()
            .any(|verb| done.strip_prefix(verb).is_some_and(|rest| rest.starts_with([':', ' ', '('])));
        if new != at || !by_hand || SessionId::of_address(address).is_some() {
            continue;
        }
        if from.is_none_or(|from| from.as_str() == old) {
            return true;
        }
        at = old;
    }
    false
}

/// Returns the last lines of a file.
fn end_of(file: &Path) -> String {
    let bytes = std::fs::read(file).unwrap_or_default();
    let start = bytes.len().saturating_sub(LOG);
    String::from_utf8_lossy(&bytes[start..]).into_owned()
}

fn names(at_work: &[String]) -> String {
    match at_work.is_empty() {
        true => "no known session".to_owned(),
        false => at_work.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
    }
}

fn set(refs: &mut BTreeMap<String, Commit>, name: &str, commit: Option<&Commit>) {
    match commit {
        Some(commit) => drop(refs.insert(name.to_owned(), commit.clone())),
        None => drop(refs.remove(name)),
    }
}

impl LocalScm {
    /// Returns the reason why nothing lands now, as an answer to a merge request.
    pub(super) fn held_back(&self, branch: &str) -> Option<String> {
        let why = self.trust.forbids(branch)?;
        let first = why.lines().next().unwrap_or_default();
        Some(format!("{first} Look at it, and then `ao trust-project {}`", self.options.project))
    }

    /// Refuses to test on a base that waits for confirmation.
    pub(super) fn may_test_on(&self, base: &Commit) -> Result<(), ScmError> {
        match self.trust.is_held(base) {
            true => Err(ScmError::refused(self.held_back(&self.options.default_branch).unwrap_or_default())),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
    const C: &str = "cccccccccccccccccccccccccccccccccccccccc";

    /// acceptance: G3
    #[test]
    fn only_reflog_entries_of_people_count_as_theirs() {
        let entry = |old: &str, new: &str, who: &str, done: &str| {
            format!("{old} {new} Ann <{who}> 1700000000 +0000\t{done}\n")
        };
        let ann = "ann@example.invalid";
        let agent = SessionId(3).address();
        for (log, leads_there) in [
            (entry(A, B, ann, "commit: x"), true),
            (entry(A, C, ann, "commit (amend): x") + &entry(C, B, ann, "merge y: Fast-forward"), true),
            (entry(A, B, ann, "pull --rebase origin main: Fast-forward"), true),
            (entry(A, B, ann, "rebase (finish): returning to refs/heads/main"), true),
            (entry(A, B, ann, "reset: moving to x"), true),
            (entry(A, B, ann, ""), false),
            (format!("{A} {B} Ann <{ann}> 1700000000 +0000\n"), false),
            (entry(A, B, &agent, "commit: x"), false),
            (entry(A, C, ann, "") + &entry(C, B, ann, "commit: x"), false),
            (entry(C, B, ann, "commit: x"), false),
            (entry(A, B, ann, "commit: x") + &entry(B, C, ann, "checkout: moving from main to y"), true),
            (entry(A, C, ann, "commit: y") + &entry(C, A, ann, "checkout: moving from y to main"), false),
            (entry(A, B, ann, "checkout: moving from main to x"), false),
            (String::new(), false),
        ] {
            assert_eq!(leads(&log, Some(&Commit::new(A)), &Commit::new(B)), leads_there, "{log}");
        }
    }
}
