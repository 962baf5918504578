//! The daemon and the repository in numbers.

use std::fs;
use std::path::Path;

use ao_testkit::installation::Installation;

/// One minute of a soak.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Minute {
    pub(crate) merges: u32,
    resident_kb: u64,
    descriptors: usize,
    loose_refs: usize,
    loose_objects: usize,
    packs: usize,
    database_kb: u64,
}

pub(crate) fn heading() -> String {
    "minute | merges |  per s | memory MB |  fds | loose refs | loose objects | packs | database MB"
        .to_owned()
}

impl Minute {
    /// Measures at the end of a minute in which so many changes were merged.
    pub(crate) fn measure(home: &Installation, merges: u32) -> Minute {
        let process = home.daemon_pid().map(|pid| format!("/proc/{pid}")).unwrap_or_default();
        let status = fs::read_to_string(format!("{process}/status")).unwrap_or_default();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let git = home.path("app/.git");
        Minute {
            merges,
            resident_kb: resident
                .and_then(|told| told.trim().trim_end_matches("kB").trim().parse().ok())
                .unwrap_or_default(),
            descriptors: fs::read_dir(format!("{process}/fd")).map_or(0, Iterator::count),
            loose_refs: files_below(&git.join("refs")),
            loose_objects: loose_objects(&git.join("objects")),
            packs: fs::read_dir(git.join("objects/pack")).map_or(0, |entries| {
                let is_pack = |name: &str| Path::new(name).extension().is_some_and(|end| end == "pack");
                entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_pack)).count()
            }),
            database_kb: ["ao.db", "ao.db-wal"]
                .iter()
                .filter_map(|name| fs::metadata(home.path("data").join(name)).ok())
                .map(|file| file.len() / 1024)
                .sum(),
        }
    }

    pub(crate) fn line(&self, number: usize) -> String {
        format!(
            "{number:>6} | {:>6} | {:>6.2} | {:>9.1} | {:>4} | {:>10} | {:>13} | {:>5} | {:>11.1}",
            self.merges,
            f64::from(self.merges) / 60.0,
            self.resident_kb as f64 / 1024.0,
            self.descriptors,
            self.loose_refs,
            self.loose_objects,
            self.packs,
            self.database_kb as f64 / 1024.0,
        )
    }
}

fn files_below(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| if entry.path().is_dir() { files_below(&entry.path()) } else { 1 }).sum()
}

fn loose_objects(objects: &Path) -> usize {
    let folders = fs::read_dir(objects).into_iter().flatten().flatten();
    let two_digits = folders.filter(|folder| folder.file_name().len() == 2);
    two_digits.map(|folder| fs::read_dir(folder.path()).map_or(0, Iterator::count)).sum()
}
