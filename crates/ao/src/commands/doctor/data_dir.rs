//! Checks the data directory: that it exists, is private, writable, on a local disk, and has free space.

use std::fs::{self, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::time::{Duration, SystemTime};

use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::statvfs;
use rustix::process::geteuid;

use super::finding::DoctorFinding;

const MEGABYTE: u64 = 1 << 20;
/// With less free space than this, a day of agents fills the disk.
const ROOM: u64 = 1024 * MEGABYTE;
/// With less free space than this, the event log itself cannot be written.
const LAST_ROOM: u64 = 64 * MEGABYTE;
/// Logs larger than this are reported.
const LOGS: u64 = 1024 * MEGABYTE;
/// Files beyond this number are not counted.
const FILES: usize = 100_000;

pub(super) fn data_dir(folder: &Utf8Path) -> Vec<DoctorFinding> {
    let Ok(found) = fs::metadata(folder) else {
        // The directory does not exist yet, but its disk is known.
        let nearest = folder.ancestors().find(|folder| folder.exists()).unwrap_or(folder);
        return [Some(absent(folder)), far_away(nearest), room(nearest)].into_iter().flatten().collect();
    };
    if !found.is_dir() {
        return vec![
            DoctorFinding::problem("data", format!("{folder} is not a folder"))
                .fix("move it away, or name another folder with `--data-dir` or AO_DATA_DIR"),
        ];
    }
    let mut findings = vec![access(folder, &found)];
    findings.extend(far_away(folder));
    findings.extend(room(folder));
    findings.extend(logs(&folder.join("logs")));
    findings.extend(clock(folder));
    findings.extend(log(folder));
    findings
}

/// Checks the event log as `ao events check` does.
fn log(folder: &Utf8Path) -> Option<DoctorFinding> {
    if !folder.join("ao.db").exists() {
        return None;
    }
    let looked = ao_store::Store::open_read_only(folder).and_then(|store| store.check());
    let (first, more) = match &looked {
        Ok(report) => match report.problems.first() {
            Some(first) => (first.clone(), report.problems.len() - 1),
            None => {
                let events = crate::ui::count(report.events, "event");
                return Some(DoctorFinding::ok("log", format!("the event log is sound, with {events}")));
            }
        },
        Err(err) => (err.to_string(), 0),
    };
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let restore = match ao_store::last_backup(&folder.join("ao.db")) {
        Some(backup) => format!("restore the last intact backup, `{backup}`"),
        None => "restore a backup".to_owned(),
    };
    Some(
        DoctorFinding::problem("log", format!("the event log is damaged: {first}{more}"))
            .means("it holds all state of ao, and must not be written to any more")
            .fix(format!("ao events check; then {restore}: ao events backup --help")),
    )
}

fn absent(folder: &Utf8Path) -> DoctorFinding {
    let make = folder.to_owned();
    DoctorFinding::warning("data", format!("{folder} does not exist yet"))
        .means("`ao start` creates it")
        .fix(format!("mkdir -p -m 700 {folder}"))
        .mended_by(move || {
            let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&make);
            made.map(|()| format!("made {make}")).map_err(|err| err.to_string())
        })
}

fn access(folder: &Utf8Path, found: &fs::Metadata) -> DoctorFinding {
    if found.uid() != geteuid().as_raw() {
        return DoctorFinding::problem("data", format!("{folder} belongs to another user"))
            .fix(format!("sudo chown -R \"$USER\" {folder}; or name another folder with AO_DATA_DIR"));
    }
    if tempfile::tempfile_in(folder).is_err() {
        return DoctorFinding::problem("data", format!("{folder} cannot be written to"))
            .means("nothing can be stored, so nothing starts")
            .fix(format!("chmod 700 {folder}; check that the disk is not full or read-only: df {folder}"));
    }
    if found.permissions().mode() & 0o077 != 0 {
        let close: Utf8PathBuf = folder.to_owned();
        return DoctorFinding::problem("data", format!("{folder} is open to other users of this machine"))
            .means("it holds the output of agents, and the daemon's socket")
            .fix(format!("chmod 700 {folder}"))
            .mended_by(move || {
                let closed = fs::set_permissions(&close, Permissions::from_mode(0o700));
                closed.map(|()| format!("chmod 700 {close}")).map_err(|err| err.to_string())
            });
    }
    DoctorFinding::ok("data", format!("{folder} exists and is private"))
}

/// Reports a network disk: it does not keep the guarantees about locks and order that the event log relies on.
#[cfg(target_os = "linux")]
fn far_away(folder: &Utf8Path) -> Option<DoctorFinding> {
    let kind = rustix::fs::statfs(folder.as_std_path()).ok()?.f_type;
    // From `linux/magic.h`; the width of the field differs between machines.
    let name = match kind as u32 {
        0x6969 => "NFS",
        0xff53_4d42 | 0xfe53_4d42 | 0x517b => "SMB",
        0x0102_1997 => "9P",
        0x00c3_6400 => "Ceph",
        0x5346_414f | 0x6b41_4653 => "AFS",
        _ => return None,
    };
    Some(
        DoctorFinding::warning("disk", format!("{folder} is on another machine ({name})"))
            .means("the event log needs a disk of this machine: locks over the network cannot be trusted")
            .fix("set AO_DATA_DIR to a folder on a local disk"),
    )
}

#[cfg(not(target_os = "linux"))]
fn far_away(_: &Utf8Path) -> Option<DoctorFinding> {
    None
}

fn room(folder: &Utf8Path) -> Option<DoctorFinding> {
    let disk = statvfs(folder.as_std_path()).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let said = format!("{} MB are free on the disk of {folder}", free / MEGABYTE);
    Some(match free {
        free if free >= ROOM => DoctorFinding::ok("disk", said),
        free if free >= LAST_ROOM => DoctorFinding::warning("disk", said)
            .means("each session has its own checkout, which takes space")
            .fix("`ao session cleanup --all` removes workspaces without unsaved work"),
        _ => DoctorFinding::problem("disk", said)
            .means("nothing can be stored on a full disk, so no sessions start")
            .fix("free some space: `ao session cleanup --all` removes workspaces without unsaved work"),
    })
}

fn logs(folder: &Utf8Path) -> Option<DoctorFinding> {
    let (size, whole) = size(folder);
    if size < LOGS && whole {
        return None;
    }
    let at_least = if whole { "" } else { "at least " };
    Some(
        DoctorFinding::warning("logs", format!("{folder} holds {at_least}{} MB", size / MEGABYTE))
            .fix(format!("find {folder} -type f -mtime +30 -delete")),
    )
}

/// Returns the size of a folder in bytes, and whether every file was counted.
fn size(folder: &Utf8Path) -> (u64, bool) {
    let (mut bytes, mut seen) = (0, 0);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = folder.read_dir_utf8() else { continue };
        for entry in entries.flatten() {
            seen += 1;
            if seen > FILES {
                return (bytes, false);
            }
            let Ok(found) = entry.path().symlink_metadata() else { continue };
            if found.is_dir() {
                folders.push(entry.path().to_owned());
            } else {
                bytes += found.len();
            }
        }
    }
    (bytes, true)
}

/// Reports a clock that went back: the event log was written later than now.
fn clock(folder: &Utf8Path) -> Option<DoctorFinding> {
    let written = fs::metadata(folder.join("ao.db")).ok()?.modified().ok()?;
    let ahead = written.duration_since(SystemTime::now()).ok()?;
    (ahead > Duration::from_secs(60)).then(|| {
        DoctorFinding::warning(
            "clock",
            format!("the event log was written {} minutes from now", ahead.as_secs() / 60),
        )
        .means("the clock of this machine went back; timeouts and limits will be wrong")
        .fix("timedatectl set-ntp true")
    })
}
