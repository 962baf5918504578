//! The folder that hooks leave their reports in: what waits there, how much of it is kept, and how it is removed.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{UNFINISHED, WAITING};

/// How many reports of one session may wait. One whose hooks run wild loses its own oldest words, and nobody else's.
const WAITING_MOST: usize = 2000;
/// Whatever was not finished by then was left by a hook that was killed.
const UNFINISHED_AFTER: Duration = Duration::from_secs(60 * 60);

/// What a report says, as its file's name has it. Only for what to drop first: whom a report is from is proven by its token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The agent took a text, which proves a delivery. Each of them matters.
    Taken,
    /// What the agent does. Only the latest matters.
    State,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Taken => "taken",
            Kind::State => "state",
        }
    }
}

/// The name of a report's file. Sorted by name they are in the order of time. One process leaves one.
pub(super) fn name(since_1970: Duration, kind: Kind, session: &str) -> String {
    // A session's name comes from the environment, so it could be anything; ours have nothing else in them.
    let plain = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let session: String = session.chars().filter(plain).take(64).collect();
    format!("{:020}-{}-{}-{session}", since_1970.as_micros(), std::process::id(), kind.word())
}

/// Makes the folders, unless they are there.
pub(super) fn make(folder: &Path) -> io::Result<()> {
    [UNFINISHED, WAITING].iter().try_for_each(|part| {
        let mut make = fs::DirBuilder::new();
        make.recursive(true).mode(0o700).create(folder.join(part))
    })
}

/// The names of the files that wait, oldest first, without what is too much.
pub(super) fn waiting(folder: &Path) -> io::Result<Vec<String>> {
    let folder = folder.join(WAITING);
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let entry = entry?;
        // A folder is nobody's report, and not ours to remove.
        if entry.file_type().is_ok_and(|kind| !kind.is_dir())
            && let Ok(name) = entry.file_name().into_string()
        {
            names.push(name);
        }
    }
    names.sort_unstable();
    let surplus = surplus(&names);
    if surplus.is_empty() {
        return Ok(names);
    }
    tracing::warn!(
        too_many = surplus.len(),
        "hooks run wild; the oldest reports of their sessions are dropped"
    );
    for at in &surplus {
        if let Err(err) = remove(&folder.join(&names[*at])) {
            tracing::warn!(%err, name = names[*at], "a report that is one too many cannot be removed");
        }
    }
    let kept = names.into_iter().enumerate().filter(|(at, _)| !surplus.contains(at));
    Ok(kept.map(|(_, name)| name).collect())
}

/// The places of those that are too many: of each session by itself, and of states before proofs.
fn surplus(names: &[String]) -> BTreeSet<usize> {
    let mut sessions: HashMap<&str, (Vec<usize>, Vec<usize>)> = HashMap::new();
    for (at, name) in names.iter().enumerate() {
        let mut parts = name.splitn(4, '-').skip(2);
        let (kind, session) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let (states, proofs) = sessions.entry(session).or_default();
        if kind == Kind::Taken.word() { proofs.push(at) } else { states.push(at) }
    }
    let too_many = |(states, proofs): (Vec<usize>, Vec<usize>)| {
        let count = (states.len() + proofs.len()).saturating_sub(WAITING_MOST);
        states.into_iter().chain(proofs).take(count)
    };
    sessions.into_values().flat_map(too_many).collect()
}

/// Removes what hooks that were killed have not finished.
pub(super) fn sweep(folder: &Path, now: SystemTime) -> io::Result<()> {
    for entry in fs::read_dir(folder.join(UNFINISHED))? {
        let entry = entry?;
        let changed = entry.metadata().and_then(|facts| facts.modified());
        let age = changed.ok().and_then(|changed| now.duration_since(changed).ok()).unwrap_or_default();
        if age >= UNFINISHED_AFTER && entry.file_type().is_ok_and(|kind| !kind.is_dir()) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Removes a file. One that is gone is fine.
pub(super) fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(err) if err.kind() != io::ErrorKind::NotFound => Err(err),
        _ => Ok(()),
    }
}

pub(super) fn place(folder: &Path, name: &str) -> PathBuf {
    folder.join(WAITING).join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(at: u64, kind: Kind, session: &str) -> String {
        name(Duration::from_micros(at), kind, session)
    }

    #[test]
    fn a_session_whose_hooks_run_wild_costs_the_others_nothing() {
        let first = [(Kind::Taken, "ses_a"), (Kind::State, "ses_a"), (Kind::Taken, "ses_b")];
        let mut names: Vec<String> = first.map(|(kind, session)| named(0, kind, session)).into();
        names.extend((3..WAITING_MOST as u64 + 13).map(|at| named(at, Kind::State, "ses_b")));
        // One that is none of ours belongs to nobody.
        names.push("odd".into());
        let surplus: Vec<usize> = surplus(&names).into_iter().collect();
        assert_eq!(surplus, (3..14).collect::<Vec<_>>(), "the wild one's oldest states, and not its proof");
    }

    #[test]
    fn proofs_are_bounded_too() {
        let names: Vec<String> =
            (0..WAITING_MOST as u64 + 2).map(|at| named(at, Kind::Taken, "ses_a")).collect();
        assert_eq!(surplus(&names), BTreeSet::from([0, 1]));
    }

    #[test]
    fn a_session_of_any_name_makes_a_file_in_the_folder() {
        let name = named(1, Kind::State, "../../etc/-x\n");
        assert!(name.ends_with("-state-etcx"), "{name}");
    }
}
