//! What the kernel tells of processes.

use std::fs;
use std::io::{self, ErrorKind};
use std::sync::OnceLock;

/// A process as `/proc/<pid>/stat` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    pub pid: i32,
    pub parent: i32,
    pub group: i32,
    /// The leader of its session: all that one terminal holds have the same.
    pub session: i32,
    /// Ended, and waits for its parent to notice.
    pub zombie: bool,
    /// Processor time used, in ticks.
    pub used: u64,
    /// What its children had used that have ended and that it has waited for, in ticks.
    pub reaped: u64,
    pub start: u64,
}

/// Reads one process, `None` if there is none with this pid.
pub fn stat(pid: i32) -> io::Result<Option<Stat>> {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(text) => parse(&text)
            .map(Some)
            .ok_or_else(|| io::Error::new(ErrorKind::InvalidData, format!("odd `/proc/{pid}/stat`: {text}"))),
        // Gone before the file was opened, or while it was read.
        Err(err) if err.kind() == ErrorKind::NotFound || !fs::exists(format!("/proc/{pid}"))? => Ok(None),
        Err(err) => Err(err),
    }
}

/// Reads every process that is there.
pub fn all() -> io::Result<Vec<Stat>> {
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

/// Reads all that runs below a process, from there downwards: the cost is that of the tree, not of the host.
pub fn below(pid: i32) -> Vec<Stat> {
    let mut found = Vec::new();
    let mut open = vec![pid];
    while let Some(parent) = open.pop() {
        for child in children(parent) {
            open.push(child);
            // Gone meanwhile, which is no failure.
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

/// The environment that a process was started with. `None` if it is gone, or not ours to look into.
pub fn environment(pid: i32) -> Option<Vec<u8>> {
    fs::read(format!("/proc/{pid}/environ")).ok()
}

/// Which boot of this host it is; start times mean nothing across boots.
pub fn boot() -> io::Result<String> {
    // The same for as long as we run, and asked for often.
    static BOOT: OnceLock<String> = OnceLock::new();
    if let Some(id) = BOOT.get() {
        return Ok(id.clone());
    }
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(BOOT.get_or_init(|| id.trim().to_owned()).clone())
}

fn parse(text: &str) -> Option<Stat> {
    // The name stands in brackets and may hold anything, brackets too.
    let (front, back) = text.rsplit_once(')')?;
    let pid = front.split_once(' ')?.0.parse().ok()?;
    let fields: Vec<&str> = back.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Stat {
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

    #[test]
    fn a_name_with_brackets_and_spaces_is_passed_over() {
        let text = "42 (a) b (c)) S 1 40 39 0 -1 4194304 1 2 3 4 50 7 5 6 20 0 1 0 123456 1000 2 18446744073709551615";
        let stat = Stat {
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
