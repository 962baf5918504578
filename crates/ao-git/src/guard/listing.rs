//! The git settings in effect in a folder, as git itself reads them, cached until one of their files changes.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Most cached listings.
const REMEMBERED: usize = 256;
/// A file that was changed this shortly before it was read may change again without a new timestamp.
const UNSETTLED: Duration = Duration::from_millis(100);

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ConfigEntry {
    /// The key as git writes it: all but the middle part in lower case.
    pub(crate) key: String,
    /// Absent if only the key is there, which means true.
    pub(crate) value: Option<String>,
    /// True if it comes from the repository or a worktree, and not from the user's settings for all repositories.
    pub(crate) of_repository: bool,
}

impl ConfigEntry {
    pub(crate) fn text(&self) -> &str {
        self.value.as_deref().unwrap_or("true")
    }
}

/// All settings, in order of precedence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ConfigListing {
    pub(crate) entries: Vec<ConfigEntry>,
    /// The files that they were read from.
    files: Vec<PathBuf>,
}

impl ConfigListing {
    /// Parses the output of `git config --list -z --show-scope --show-origin` in a folder.
    pub(crate) fn parse(output: &[u8], dir: &Path) -> ConfigListing {
        let mut listing = ConfigListing::default();
        let mut fields = output.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        while let (Some(scope), Some(origin), Some(setting)) = (fields.next(), fields.next(), fields.next()) {
            let (key, value) = match setting.split_once('\n') {
                Some((key, value)) => (key, Some(value.to_owned())),
                None => (&*setting, None),
            };
            // An unknown scope is not trusted.
            let of_repository = !matches!(&*scope, "system" | "global" | "command");
            if let Some(file) = origin.strip_prefix("file:").map(|file| dir.join(file))
                && !listing.files.contains(&file)
            {
                listing.files.push(file);
            }
            listing.entries.push(ConfigEntry { key: key.to_owned(), value, of_repository });
        }
        listing
    }

    /// Returns the last value of a setting in the repository itself.
    pub(crate) fn own(&self, key: &str) -> Option<&str> {
        let own = self.entries.iter().rev().find(|entry| entry.of_repository && entry.key == key);
        own.map(ConfigEntry::text)
    }

    /// Returns true if the settings depend on the folder or on the branch.
    fn is_conditional(&self) -> bool {
        self.entries.iter().any(|entry| entry.key.starts_with("include"))
    }

    /// Returns true if missing objects are fetched on demand.
    pub(crate) fn is_partial(&self) -> bool {
        self.entries.iter().any(|entry| {
            entry.key == "extensions.partialclone"
                || entry.key.starts_with("remote.") && entry.key.ends_with(".promisor")
        })
    }
}

/// The git directories that a call uses.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct GitDirs {
    pub(crate) git_dir: PathBuf,
    /// The same as `git_dir`, except for a worktree.
    pub(crate) common_dir: PathBuf,
}

impl GitDirs {
    /// Finds the git directory as git does from a folder, or uses the given one.
    pub(crate) fn find(dir: &Path, git_dir: Option<&Path>) -> Option<GitDirs> {
        let git_dir = match git_dir {
            Some(git_dir) => dir.join(git_dir),
            None => dir.ancestors().find_map(git_dir_at)?,
        };
        let common_dir = match fs::read_to_string(git_dir.join("commondir")) {
            Ok(text) => git_dir.join(text.trim_end()),
            Err(_) => git_dir.clone(),
        };
        Some(GitDirs { git_dir, common_dir })
    }
}

fn git_dir_at(dir: &Path) -> Option<PathBuf> {
    let git = dir.join(".git");
    match fs::read_to_string(&git) {
        Ok(text) => Some(dir.join(text.strip_prefix("gitdir: ")?.trim_end())),
        Err(_) if git.join("HEAD").exists() => Some(git),
        Err(_) => (dir.join("HEAD").exists() && dir.join("objects").exists()).then(|| dir.to_owned()),
    }
}

/// Everything that determines the settings, apart from the contents of files.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ListingKey {
    place: Option<GitDirs>,
    /// Variables that the caller has set.
    variables: Vec<(&'static str, OsString)>,
}

/// Identifies the state of a file by inode, size and change time, which no program can set.
type FileIdentity = Option<(u64, u64, i64, i64)>;

#[derive(Debug)]
struct CachedListing {
    listing: Arc<ConfigListing>,
    files: Vec<(PathBuf, FileIdentity)>,
}

/// The listings of this process. The lock is held only briefly: calls in many folders run in parallel.
#[derive(Debug, Default)]
pub(crate) struct ListingCache(Mutex<Option<HashMap<ListingKey, CachedListing>>>);

impl ListingCache {
    pub(crate) const fn new() -> ListingCache {
        ListingCache(Mutex::new(None))
    }

    /// Returns the cached listing, if its files have not changed.
    pub(crate) fn known(
        &self,
        place: Option<&GitDirs>,
        variables: &[(&'static str, OsString)],
    ) -> Option<Arc<ConfigListing>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all = all.as_ref()?;
        let known = keys(place, variables).into_iter().find_map(|key| all.get(&key))?;
        let same = known.files.iter().all(|(file, identity)| identity_of(file) == *identity);
        same.then(|| known.listing.clone())
    }

    /// Caches a listing under the state that its files had before it was read.
    pub(crate) fn keep(
        &self,
        place: Option<&GitDirs>,
        variables: &[(&'static str, OsString)],
        listing: &Arc<ConfigListing>,
        before: &[(PathBuf, FileIdentity)],
    ) {
        let mut files = before.to_vec();
        // Included files may depend on the branch.
        let head = place.filter(|_| listing.is_conditional()).map(|place| place.git_dir.join("HEAD"));
        for file in listing.files.iter().chain(&head) {
            if !files.iter().any(|(known, _)| known == file) {
                files.push((file.clone(), identity_of(file)));
            }
        }
        if files.iter().any(|(_, identity)| is_unsettled(*identity)) {
            return;
        }
        let [shared, own] = keys(place, variables);
        let key = if listing.is_conditional() { own } else { shared };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all = all.get_or_insert_default();
        if all.len() >= REMEMBERED {
            all.clear();
        }
        all.insert(key, CachedListing { listing: listing.clone(), files });
    }
}

/// Returns the files that settings can be in, with their current state. To be called before git reads them.
pub(crate) fn files(
    place: Option<&GitDirs>,
    variables: &[(&'static str, OsString)],
) -> Vec<(PathBuf, FileIdentity)> {
    let set = |name: &str| {
        let own = variables.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
        own.or_else(|| std::env::var_os(name)).filter(|value| !value.is_empty()).map(PathBuf::from)
    };
    let mut files = vec![PathBuf::from("/etc/gitconfig")];
    files.extend(set("GIT_CONFIG_GLOBAL"));
    files.extend(set("GIT_CONFIG_SYSTEM"));
    files.extend(set("HOME").map(|home| home.join(".gitconfig")));
    let config = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
    files.extend(config.map(|config| config.join("git/config")));
    if let Some(place) = place {
        files.push(place.common_dir.join("config"));
        files.push(place.common_dir.join("config.worktree"));
        files.push(place.git_dir.join("config.worktree"));
    }
    files.into_iter().map(|file| (file.clone(), identity_of(&file))).collect()
}

/// Worktrees of one repository have the same settings unless one has a file of its own, or something depends on the
/// folder: the first key is for all of them, the second for one.
fn keys(place: Option<&GitDirs>, variables: &[(&'static str, OsString)]) -> [ListingKey; 2] {
    let variables: Vec<(&'static str, OsString)> = variables
        .iter()
        .filter(|(name, _)| name.starts_with("GIT_CONFIG") || matches!(*name, "HOME" | "XDG_CONFIG_HOME"))
        .cloned()
        .collect();
    let own = place.cloned();
    let shared = own.clone().map(|place| match place.git_dir.join("config.worktree").exists() {
        true => place,
        false => GitDirs { git_dir: place.common_dir.clone(), ..place },
    });
    [ListingKey { place: shared, variables: variables.clone() }, ListingKey { place: own, variables }]
}

fn identity_of(file: &Path) -> FileIdentity {
    let found = fs::metadata(file).ok()?;
    Some((found.ino(), found.len(), found.ctime(), found.ctime_nsec()))
}

fn is_unsettled(identity: FileIdentity) -> bool {
    let Some((_, _, seconds, nanos)) = identity else { return false };
    let changed = Duration::new(seconds.try_into().unwrap_or(0), nanos.try_into().unwrap_or(0));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(changed) < UNSETTLED
}
