//! The spool folder: lists, bounds and removes the reports in it.

use std::collections::{BTreeSet, HashMap};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, io};

use super::{UNFINISHED, WAITING};

/// Most waiting reports of one session. A session whose hooks run wild loses its own oldest reports, and no others.
const WAITING_MOST: usize = 2000;
/// Files that are unfinished after this time were left by a killed hook.
const UNFINISHED_AFTER: Duration = Duration::from_secs(60 * 60);

/// The kind of a report, as its file name has it. It only decides what to drop first: the token proves the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportKind {
    /// The agent took a text, which proves a delivery. Each of them matters.
    Taken,
    /// The agent's current state. Only the latest matters.
    State,
}

impl ReportKind {
    fn word(self) -> &'static str {
        match self {
            ReportKind::Taken => "taken",
            ReportKind::State => "state",
        }
    }
}

/// Returns the file name of a report. Names sort in order of time. Each process writes only one.
pub(super) fn name(since_1970: Duration, kind: ReportKind, session: &str) -> String {
    // The session comes from the environment, so it could be anything; ours contain nothing else.
    let plain = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let session: String = session.chars().filter(plain).take(64).collect();
    format!("{:020}-{}-{}-{session}", since_1970.as_micros(), std::process::id(), kind.word())
}

/// Creates the folders, if needed.
pub(super) fn make(folder: &Path) -> io::Result<()> {
    [UNFINISHED, WAITING].iter().try_for_each(|part| {
        let mut make = fs::DirBuilder::new();
        make.recursive(true).mode(0o700).create(folder.join(part))
    })
}

/// Returns the names of the waiting files, oldest first, after dropping surplus ones.
pub(super) fn waiting(folder: &Path) -> io::Result<Vec<String>> {
    let folder = folder.join(WAITING);
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let entry = entry?;
        // A folder is no report, and not ours to remove.
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

/// Returns the indexes of surplus reports: for each session separately, states before proofs.
fn surplus(names: &[String]) -> BTreeSet<usize> {
    let mut sessions: HashMap<&str, (Vec<usize>, Vec<usize>)> = HashMap::new();
    for (at, name) in names.iter().enumerate() {
        let mut parts = name.splitn(4, '-').skip(2);
        let (kind, session) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let (states, proofs) = sessions.entry(session).or_default();
        if kind == ReportKind::Taken.word() { proofs.push(at) } else { states.push(at) }
    }
    let too_many = |(states, proofs): (Vec<usize>, Vec<usize>)| {
        let count = (states.len() + proofs.len()).saturating_sub(WAITING_MOST);
        states.into_iter().chain(proofs).take(count)
    };
    sessions.into_values().flat_map(too_many).collect()
}

/// Removes unfinished files of killed hooks.
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

/// Removes a file. A missing file is fine.
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

    fn named(at: u64, kind: ReportKind, session: &str) -> String {
        name(Duration::from_micros(at), kind, session)
    }

    #[test]
    fn a_session_whose_hooks_run_wild_costs_the_others_nothing() {
        let first =
            [(ReportKind::Taken, "ses_a"), (ReportKind::State, "ses_a"), (ReportKind::Taken, "ses_b")];
        let mut names: Vec<String> = first.map(|(kind, session)| named(0, kind, session)).into();
        names.extend((3..WAITING_MOST as u64 + 13).map(|at| named(at, ReportKind::State, "ses_b")));
        // A foreign file belongs to no session.
        names.push("odd".into());
        let surplus: Vec<usize> = surplus(&names).into_iter().collect();
        assert_eq!(surplus, (3..14).collect::<Vec<_>>(), "the wild one's oldest states, and not its proof");
    }

    #[test]
    fn proofs_are_bounded_too() {
        let names: Vec<String> =
            (0..WAITING_MOST as u64 + 2).map(|at| named(at, ReportKind::Taken, "ses_a")).collect();
        assert_eq!(surplus(&names), BTreeSet::from([0, 1]));
    }

    #[test]
    fn a_session_of_any_name_makes_a_file_in_the_folder() {
        let name = named(1, ReportKind::State, "../../etc/-x\n");
        assert!(name.ends_with("-state-etcx"), "{name}");
    }
}
