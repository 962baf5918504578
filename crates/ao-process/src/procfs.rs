//! Reads processes from `/proc`.

use std::fs;
use std::io::{self, ErrorKind};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

/// Milliseconds that the kernel may take to load a program. It takes microseconds on a host that is not overloaded.
const LOADING: u32 = 200;

/// A process as read from `/proc/<pid>/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessStat {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    /// The session leader. All processes of one terminal share it.
    pub session: i32,
    /// Ended, but not yet reaped by its parent.
    pub zombie: bool,
    /// Processor time used, in clock ticks.
    pub used: u64,
    /// Processor time of its reaped children, in clock ticks.
    pub reaped: u64,
    pub start: u64,
}

/// Reads one process. Returns `None` if no process has this pid.
pub fn stat(pid: i32) -> io::Result<Option<ProcessStat>> {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(text) => parse(&text)
            .map(Some)
            .ok_or_else(|| io::Error::new(ErrorKind::InvalidData, format!("odd `/proc/{pid}/stat`: {text}"))),
        // The process ended before the file was opened, or while it was read.
        Err(err) if err.kind() == ErrorKind::NotFound || !fs::exists(format!("/proc/{pid}"))? => Ok(None),
        Err(err) => Err(err),
    }
}

/// Reads all processes of the host.
pub fn all() -> io::Result<Vec<ProcessStat>> {
    let mut processes = Vec::new();
    for entry in fs::read_dir("/proc")? {
        if let Some(pid) = entry?.file_name().to_str().and_then(|name| name.parse().ok())
            && let Some(process) = stat(pid)?
        {
            processes.push(process);
        }
    }
    Ok(processes)
}

/// Reads all descendants of a process, top down: the cost grows with the tree, not with the host.
pub fn below(pid: i32) -> Vec<ProcessStat> {
    let mut found = Vec::new();
    let mut open = vec![pid];
    while let Some(parent) = open.pop() {
        for child in children(parent) {
            open.push(child);
            // A process that ended meanwhile is not an error.
            found.extend(stat(child).ok().flatten());
        }
    }
    found
}

fn children(pid: i32) -> Vec<i32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let pids =
        |list: String| list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>();
    lists.flat_map(pids).collect()
}

/// Reads the environment that a process was started with. Returns `None` if it has ended or we may not look.
///
/// A process that is just replacing its program shows none for a moment, so it is read again: a search for marks in
/// environments would miss it.
pub fn environment(pid: i32) -> Option<Vec<u8>> {
    let read = || fs::read(format!("/proc/{pid}/environ")).ok();
    let mut environment = read()?;
    for _ in 0..LOADING {
        if !environment.is_empty() {
            break;
        }
        let is_loading = is_loading(pid);
        // Also if it is not loading: it may have finished after the last read.
        environment = read()?;
        if !is_loading {
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
    Some(environment)
}

/// Returns `true` for a process whose new program is not in place yet: the end of its environment is not set.
fn is_loading(pid: i32) -> bool {
    const KERNEL_THREAD: u64 = 0x0020_0000;
    let Ok(text) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok());
    let ended = fields.first().is_none_or(|state| matches!(*state, "Z" | "X"));
    !ended && number(6).is_some_and(|flags| flags & KERNEL_THREAD == 0) && number(48) == Some(0)
}

/// Returns the id of this boot of the host. Start times cannot be compared across boots.
pub fn boot() -> io::Result<String> {
    // Constant while we run, and asked for often.
    static BOOT: OnceLock<String> = OnceLock::new();
    if let Some(id) = BOOT.get() {
        return Ok(id.clone());
    }
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(BOOT.get_or_init(|| id.trim().to_owned()).clone())
}

fn parse(text: &str) -> Option<ProcessStat> {
    // The name is in parentheses and may contain anything, parentheses included.
    let (front, back) = text.rsplit_once(')')?;
    let pid = front.split_once(' ')?.0.parse().ok()?;
    let fields: Vec<&str> = back.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(ProcessStat {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        zombie: matches!(*fields.first()?, "Z" | "X"),
        used: number(11)? + number(12)?,
        reaped: number(13)? + number(14)?,
        start: number(19)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Marks in the environment are how stray processes are found, so a fresh one must not pass for unmarked.
    #[test]
    fn the_environment_of_a_process_that_has_just_started_is_read() {
        for round in 0..500 {
            let mut sleep = std::process::Command::new("sleep");
            let mut child = sleep.arg("60").env("MARK", "here").spawn().expect("`sleep` is there");
            let environment = environment(i32::try_from(child.id()).expect("a pid"));
            child.kill().expect("it is ours");
            child.wait().expect("it is ours");
            let environment = environment.expect("it lived");
            assert!(environment.split(|byte| *byte == 0).any(|entry| entry == b"MARK=here"), "round {round}");
        }
    }

    #[test]
    fn a_name_with_brackets_and_spaces_is_passed_over() {
        let text = "42 (a) b (c)) S 1 40 39 0 -1 4194304 1 2 3 4 50 7 5 6 20 0 1 0 123456 1000 2 18446744073709551615";
        let stat = ProcessStat {
            pid: 42,
            parent: 1,
            group: 40,
            session: 39,
            zombie: false,
            used: 57,
            reaped: 11,
            start: 123_456,
        };
        assert_eq!(parse(text), Some(stat));
        assert_eq!(parse("42 (x"), None);
        assert_eq!(parse("42 (x) S 1"), None);
    }
}
