//! The settings that count in a folder, as git itself reads them, remembered as long as their files stay what they are.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// So many listings are remembered.
const REMEMBERED: usize = 256;
/// A file that was changed so shortly before it was read may change again without a trace.
const UNSETTLED: Duration = Duration::from_millis(100);

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    /// As git writes it: all but the middle part in small letters.
    pub(crate) key: String,
    /// Absent if the key alone is there, which means yes.
    pub(crate) value: Option<String>,
    /// Whether it is of the repository or of a worktree, and not of the user for all repositories.
    pub(crate) of_repository: bool,
}

impl Entry {
    pub(crate) fn text(&self) -> &str {
        self.value.as_deref().unwrap_or("true")
    }
}

/// All settings, in the order in which they count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    pub(crate) entries: Vec<Entry>,
    /// The files that they were read from.
    files: Vec<PathBuf>,
}

impl Listing {
    /// Reads what `git config --list -z --show-scope --show-origin` says in a folder.
    pub(crate) fn parse(told: &[u8], dir: &Path) -> Listing {
        let mut listing = Listing::default();
        let mut fields = told.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        while let (Some(scope), Some(origin), Some(setting)) = (fields.next(), fields.next(), fields.next()) {
            let (key, value) = match setting.split_once('\n') {
                Some((key, value)) => (key, Some(value.to_owned())),
                None => (&*setting, None),
            };
            // What is of none of the known kinds is nobody's whom we know.
            let of_repository = !matches!(&*scope, "system" | "global" | "command");
            if let Some(file) = origin.strip_prefix("file:").map(|file| dir.join(file))
                && !listing.files.contains(&file)
            {
                listing.files.push(file);
            }
            listing.entries.push(Entry { key: key.to_owned(), value, of_repository });
        }
        listing
    }

    /// The last value of a setting that the repository has itself.
    pub(crate) fn own(&self, key: &str) -> Option<&str> {
        let own = self.entries.iter().rev().find(|entry| entry.of_repository && entry.key == key);
        own.map(Entry::text)
    }

    /// Whether what counts depends on where one is, or on the branch.
    fn is_conditional(&self) -> bool {
        self.entries.iter().any(|entry| entry.key.starts_with("include"))
    }

    /// Whether objects that are missing are to be fetched.
    pub(crate) fn is_partial(&self) -> bool {
        self.entries.iter().any(|entry| {
            entry.key == "extensions.partialclone"
                || entry.key.starts_with("remote.") && entry.key.ends_with(".promisor")
        })
    }
}

/// The git directory that a call is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) git_dir: PathBuf,
    /// The same, unless it is that of a worktree.
    pub(crate) common_dir: PathBuf,
}

impl Place {
    /// The place that git would find from a folder, or is told to use.
    pub(crate) fn find(dir: &Path, git_dir: Option<&Path>) -> Option<Place> {
        let git_dir = match git_dir {
            Some(git_dir) => dir.join(git_dir),
            None => dir.ancestors().find_map(git_dir_at)?,
        };
        let common_dir = match fs::read_to_string(git_dir.join("commondir")) {
            Ok(text) => git_dir.join(text.trim_end()),
            Err(_) => git_dir.clone(),
        };
        Some(Place { git_dir, common_dir })
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

/// What decides which settings count, apart from the contents of files.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    place: Option<Place>,
    /// What the caller has set itself.
    variables: Vec<(&'static str, OsString)>,
}

/// A file by what changes with it. Nobody can set the time of its last change of state.
type Identity = Option<(u64, u64, i64, i64)>;

#[derive(Debug)]
struct Known {
    listing: Arc<Listing>,
    files: Vec<(PathBuf, Identity)>,
}

/// The listings of this process. A lock for a moment: calls in many folders go on beside each other.
#[derive(Debug, Default)]
pub(crate) struct Listings(Mutex<Option<HashMap<Key, Known>>>);

impl Listings {
    pub(crate) const fn new() -> Listings {
        Listings(Mutex::new(None))
    }

    /// The listing of a place, if its files are what they were.
    pub(crate) fn known(
        &self,
        place: Option<&Place>,
        variables: &[(&'static str, OsString)],
    ) -> Option<Arc<Listing>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all = all.as_ref()?;
        let known = keys(place, variables).into_iter().find_map(|key| all.get(&key))?;
        let same = known.files.iter().all(|(file, identity)| identity_of(file) == *identity);
        same.then(|| known.listing.clone())
    }

    /// Remembers a listing by the files as they were before it was read.
    pub(crate) fn keep(
        &self,
        place: Option<&Place>,
        variables: &[(&'static str, OsString)],
        listing: &Arc<Listing>,
        before: &[(PathBuf, Identity)],
    ) {
        let mut files = before.to_vec();
        // What is included may depend on the branch.
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
        all.insert(key, Known { listing: listing.clone(), files });
    }
}

/// The files that settings can be in, as they are now. To be taken before git reads them.
pub(crate) fn files(
    place: Option<&Place>,
    variables: &[(&'static str, OsString)],
) -> Vec<(PathBuf, Identity)> {
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

/// Worktrees of one repository have the same settings unless they have a file of their own, or something depends on where
/// one is: the first key is for all of them, the second for one.
fn keys(place: Option<&Place>, variables: &[(&'static str, OsString)]) -> [Key; 2] {
    let variables: Vec<(&'static str, OsString)> = variables
        .iter()
        .filter(|(name, _)| name.starts_with("GIT_CONFIG") || matches!(*name, "HOME" | "XDG_CONFIG_HOME"))
        .cloned()
        .collect();
    let own = place.cloned();
    let shared = own.clone().map(|place| match place.git_dir.join("config.worktree").exists() {
        true => place,
        false => Place { git_dir: place.common_dir.clone(), ..place },
    });
    [Key { place: shared, variables: variables.clone() }, Key { place: own, variables }]
}

fn identity_of(file: &Path) -> Identity {
    let found = fs::metadata(file).ok()?;
    Some((found.ino(), found.len(), found.ctime(), found.ctime_nsec()))
}

fn is_unsettled(identity: Identity) -> bool {
    let Some((_, _, seconds, nanos)) = identity else { return false };
    let changed = Duration::new(seconds.try_into().unwrap_or(0), nanos.try_into().unwrap_or(0));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(changed) < UNSETTLED
}
