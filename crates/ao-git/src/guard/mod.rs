//! Keeps git from running programs that a repository names: in its settings, in those of a worktree, or in files that
//! these include.
//!
//! ```text
//!  git config --list ──► listing (remembered by its files) ──► programs ──► settings with the highest precedence
//!                                                                 ▲
//!                          the user's own for all repositories, and what was approved
//! ```
//!
//! Nothing that an agent can write to is trusted: its worktree or clone, and the files of the repository that it
//! shares. The user's own settings for all repositories are. Attributes only choose among the programs that settings
//! name, so they need no check here; merges and checks run without them altogether ([`crate::Git::isolated`]).
//!
//! Between our reading of the settings and git's, an agent can change them. For fixed names that has no effect, since
//! those are always overridden; for names of its own choice (`filter.x.clean`) it can win that race.

mod listing;
mod programs;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use crate::process::{CallFault, GitCall};
use listing::{ConfigEntry, ListingCache};
pub(crate) use listing::{ConfigListing, GitDirs};
pub(crate) use programs::is_program;

/// Time limit for listing settings.
const LIST: Duration = Duration::from_secs(60);

static LISTINGS: ListingCache = ListingCache::new();

/// Repository settings that name programs and may do so: they were there when the user added the project, or the user
/// has confirmed them since. One set per process, since a clone of a project has the same settings in another place.
static APPROVED: RwLock<BTreeSet<Setting>> = RwLock::new(BTreeSet::new());

/// A setting: the key, as git writes it, and the value.
pub type Setting = (String, String);

/// Lets git run these programs wherever a repository names them in exactly this way.
pub fn approve(settings: impl IntoIterator<Item = Setting>) {
    let settings = settings.into_iter().filter(|(_, value)| !is_of_a_tree(value));
    APPROVED.write().unwrap_or_else(PoisonError::into_inner).extend(settings);
}

/// Returns true if a command is a file of the tree it runs in, where anyone with access to the tree can change it.
pub fn is_of_a_tree(command: &str) -> bool {
    let mut parts = command.split([';', '&', '|', '(', '{', '`', '\n']);
    let first = |part: &str| part.split_whitespace().next().is_some_and(is_relative);
    let climbs = |word: &str| plain(word).starts_with("./") || plain(word).starts_with("../");
    parts.any(first) || command.split_whitespace().any(climbs)
}

/// Matches `tools/filter`, but neither a name that is looked up in `PATH` nor an absolute path.
fn is_relative(program: &str) -> bool {
    let program = plain(program);
    program.contains('/') && !program.starts_with(['/', '~', '$'])
}

/// Strips the prefix that a shell, or git, gives to a word.
fn plain(word: &str) -> &str {
    word.trim_start_matches(['!', '"', '\''])
}

fn is_approved(entry: &ConfigEntry) -> bool {
    let approved = APPROVED.read().unwrap_or_else(PoisonError::into_inner);
    // A set of pairs cannot be queried with borrowed ones.
    !approved.is_empty() && approved.contains(&(entry.key.clone(), entry.text().to_owned()))
}

/// The settings and variables that keep a call from running programs of the repository.
#[derive(Debug, Clone)]
pub(crate) struct ProgramGuard {
    pub(crate) settings: Vec<Setting>,
    pub(crate) variables: Vec<(&'static str, &'static str)>,
    pub(crate) listing: Arc<ConfigListing>,
    /// True if the repository names an unapproved program to talk to a remote.
    pub(crate) names_packer: bool,
    /// True if it names such programs and all of them are the user's, or approved.
    pub(crate) approves_packer: bool,
}

impl ProgramGuard {
    /// Builds the guard for a folder, with the variables that the caller has set. The settings are read again only if
    /// one of their files has changed.
    pub(crate) async fn of(
        dir: &Path,
        variables: &[(&'static str, OsString)],
    ) -> Result<ProgramGuard, CallFault> {
        let git_dir = variables.iter().rev().find(|(name, _)| *name == "GIT_DIR").map(|(_, value)| value);
        let place = GitDirs::find(dir, git_dir.map(Path::new));
        let listing = match LISTINGS.known(place.as_ref(), variables) {
            Some(listing) => listing,
            None => {
                let before = listing::files(place.as_ref(), variables);
                let listing = Arc::new(list(dir, variables).await?);
                LISTINGS.keep(place.as_ref(), variables, &listing, &before);
                listing
            }
        };
        let settings = programs::settings(&listing, is_approved);
        let variables = programs::variables(&listing, is_approved);
        let mut packers = listing.entries.iter().filter(|entry| programs::is_packer(&entry.key)).peekable();
        let are_some = packers.peek().is_some();
        let names_packer = packers.any(|entry| entry.of_repository && !is_approved(entry));
        Ok(ProgramGuard {
            settings,
            variables,
            listing,
            names_packer,
            approves_packer: are_some && !names_packer,
        })
    }

    /// Returns the approved settings of the repository that name programs.
    pub(crate) fn approved(&self) -> Vec<Setting> {
        let entries = self.listing.entries.iter();
        let approved = entries.filter(|entry| entry.of_repository && is_approved(entry));
        approved.map(|entry| (entry.key.clone(), entry.text().to_owned())).collect()
    }
}

/// Returns the settings that all worktrees of a repository share, by its common git directory.
pub(crate) async fn own_settings(common_dir: &Path) -> std::io::Result<Vec<Setting>> {
    let guard =
        ProgramGuard::of(common_dir, &[("GIT_DIR", common_dir.into())]).await.map_err(
            |fault| match fault {
                CallFault::NotRun(err) => err,
                CallFault::TooSlow => std::io::Error::other("git was not done in time"),
            },
        )?;
    let listing = &guard.listing;
    let own = listing.entries.iter().filter(|entry| entry.of_repository);
    Ok(own.map(|entry| (entry.key.clone(), entry.text().to_owned())).collect())
}

/// Reads all settings in effect in a folder. ConfigListing settings runs no program.
async fn list(dir: &Path, variables: &[(&'static str, OsString)]) -> Result<ConfigListing, CallFault> {
    let mut command = crate::git::base(false);
    command
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .args(["config", "--list", "-z", "--show-scope", "--show-origin"])
        .current_dir(dir);
    let call = GitCall { command, input: None, most: usize::MAX, limit: LIST, ends_when_dropped: true };
    // If there is no repository, or a broken one, git reports that itself when it is called.
    Ok(ConfigListing::parse(&call.run().await?.stdout, dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_that_no_tree_brings_along_can_be_approved() {
        for (command, of_a_tree) in [
            ("git-lfs filter-process", false),
            ("git-lfs clean -- %f", false),
            ("/usr/bin/tool --base=%O %A %B", false),
            ("!f() { echo x; }; f", false),
            ("sed s/a/b/ ", false),
            ("git update-ref refs/heads/x y; cat", false),
            ("cat; tools/run", true),
            ("./tools/clean.sh %f", true),
            ("tools/clean.sh", true),
            ("sh -c 'cd x && ../run'", true),
            ("!./helper", true),
            ("~/bin/helper", false),
        ] {
            assert_eq!(is_of_a_tree(command), of_a_tree, "{command}");
        }
    }
}
