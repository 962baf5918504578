//! What keeps git from running programs that a repository names: in its settings, in those of a worktree, in files that
//! these include.
//!
//! ```text
//!  git config --list ──► listing (remembered by its files) ──► programs ──► settings with the highest precedence
//!                                                                 ▲
//!                          the user's own for all repositories, and what was approved
//! ```
//!
//! Whatever an agent can write to is not trusted: its worktree or clone, and the files of the repository that it shares. The
//! user's own settings for all repositories are. Attributes only choose among the programs that settings name, so that
//! those need no look here; merges and checks do without them altogether ([`crate::Git::isolated`]).
//!
//! Between our look at the settings and git's an agent can change them. For fixed names that changes nothing, since those are
//! given whether they were seen or not; for names of its own choice (`filter.x.clean`) it can win that race.

mod listing;
mod programs;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use crate::process::{Call, Fault};
use listing::{Entry, Listings};
pub(crate) use listing::{Listing, Place};
pub(crate) use programs::is_program;

/// How long git may take to list settings.
const LIST: Duration = Duration::from_secs(60);

static LISTINGS: Listings = Listings::new();

/// Settings of repositories that name programs and may do so: the user had them when the project was added, or has confirmed
/// them since. One for the process, since a clone of a project has the same ones in another place.
static APPROVED: RwLock<BTreeSet<Setting>> = RwLock::new(BTreeSet::new());

/// A setting by its key, as git writes it, and its value.
pub type Setting = (String, String);

/// Lets git run these programs wherever a repository names them in just this way.
pub fn approve(settings: impl IntoIterator<Item = Setting>) {
    let settings = settings.into_iter().filter(|(_, value)| !is_of_a_tree(value));
    APPROVED.write().unwrap_or_else(PoisonError::into_inner).extend(settings);
}

/// Whether a command is a file of whatever tree it is run in, where anybody who works in it can change it.
pub fn is_of_a_tree(command: &str) -> bool {
    let mut parts = command.split([';', '&', '|', '(', '{', '`', '\n']);
    let first = |part: &str| part.split_whitespace().next().is_some_and(is_relative);
    let climbs = |word: &str| plain(word).starts_with("./") || plain(word).starts_with("../");
    parts.any(first) || command.split_whitespace().any(climbs)
}

/// `tools/filter`, but neither a name that is looked up in `PATH` nor a whole path.
fn is_relative(program: &str) -> bool {
    let program = plain(program);
    program.contains('/') && !program.starts_with(['/', '~', '$'])
}

/// A word without what a shell, or git, has in front of it.
fn plain(word: &str) -> &str {
    word.trim_start_matches(['!', '"', '\''])
}

fn is_approved(entry: &Entry) -> bool {
    let approved = APPROVED.read().unwrap_or_else(PoisonError::into_inner);
    // A set of pairs cannot be asked for borrowed ones.
    !approved.is_empty() && approved.contains(&(entry.key.clone(), entry.text().to_owned()))
}

/// What a call gets so that it runs nothing that the repository names.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    pub(crate) settings: Vec<Setting>,
    pub(crate) variables: Vec<(&'static str, &'static str)>,
    pub(crate) listing: Arc<Listing>,
    /// Whether the repository names a program of its own that a remote is spoken to with.
    pub(crate) names_packer: bool,
    /// Whether such programs are all the user's, or approved, and there are some.
    pub(crate) approves_packer: bool,
}

impl Guard {
    /// The guard for a folder, with the variables that the caller has set. The settings are read once more only if one of
    /// their files has changed.
    pub(crate) async fn of(dir: &Path, variables: &[(&'static str, OsString)]) -> Result<Guard, Fault> {
        let git_dir = variables.iter().rev().find(|(name, _)| *name == "GIT_DIR").map(|(_, value)| value);
        let place = Place::find(dir, git_dir.map(Path::new));
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
        Ok(Guard { settings, variables, listing, names_packer, approves_packer: are_some && !names_packer })
    }

    /// The settings of the repository that name programs and may.
    pub(crate) fn approved(&self) -> Vec<Setting> {
        let entries = self.listing.entries.iter();
        let approved = entries.filter(|entry| entry.of_repository && is_approved(entry));
        approved.map(|entry| (entry.key.clone(), entry.text().to_owned())).collect()
    }
}

/// The settings that all worktrees of a repository share, by its shared git directory.
pub(crate) async fn own_settings(common_dir: &Path) -> std::io::Result<Vec<Setting>> {
    let guard =
        Guard::of(common_dir, &[("GIT_DIR", common_dir.into())]).await.map_err(|fault| match fault {
            Fault::NotRun(err) => err,
            Fault::TooSlow => std::io::Error::other("git was not done in time"),
        })?;
    let listing = &guard.listing;
    let own = listing.entries.iter().filter(|entry| entry.of_repository);
    Ok(own.map(|entry| (entry.key.clone(), entry.text().to_owned())).collect())
}

/// Reads all settings that count in a folder. To list settings runs nothing.
async fn list(dir: &Path, variables: &[(&'static str, OsString)]) -> Result<Listing, Fault> {
    let mut command = crate::git::base(false);
    command
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .args(["config", "--list", "-z", "--show-scope", "--show-origin"])
        .current_dir(dir);
    let call = Call { command, input: None, most: usize::MAX, limit: LIST, ends_when_dropped: true };
    // Where there is no repository, or a broken one, git says so itself when it is called.
    Ok(Listing::parse(&call.run().await?.stdout, dir))
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
