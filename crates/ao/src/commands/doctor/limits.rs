//! Checks the system limits that many agents run into.

use std::fs;

use rustix::process::{Resource, getrlimit};

use super::finding::DoctorFinding;

/// The daemon raises its own limit to the highest that is allowed; some files are open for each agent.
const FILES: u64 = 4096;
/// Agents and their tools watch whole repositories.
const WATCHES: u64 = 65_536;
const INSTANCES: u64 = 128;

pub(super) fn all() -> Vec<DoctorFinding> {
    let highest = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let mut findings = vec![files(highest)];
    let kernel =
        |name: &str| fs::read_to_string(format!("/proc/sys/fs/inotify/{name}")).ok()?.trim().parse().ok();
    if let (Some(watches), Some(instances)) = (kernel("max_user_watches"), kernel("max_user_instances")) {
        findings.push(watching(watches, instances));
    }
    findings
}

fn files(highest: u64) -> DoctorFinding {
    if highest >= FILES {
        return DoctorFinding::ok("files", "enough files can be open at a time");
    }
    DoctorFinding::warning("files", format!("only {highest} files can be open at a time"))
        .means("the daemon runs out of them with a few dozen agents")
        .fix(format!("ulimit -Hn {FILES}; or `* hard nofile {FILES}` in /etc/security/limits.conf"))
}

fn watching(watches: u64, instances: u64) -> DoctorFinding {
    if watches >= WATCHES && instances >= INSTANCES {
        return DoctorFinding::ok("watches", "enough files can be watched");
    }
    let settings = [
        (watches < WATCHES).then_some("fs.inotify.max_user_watches=524288"),
        (instances < INSTANCES).then_some("fs.inotify.max_user_instances=512"),
    ];
    let settings: Vec<&str> = settings.into_iter().flatten().collect();
    DoctorFinding::warning("watches", format!("only {watches} files can be watched, by {instances} watchers"))
        .means("agents and their tools watch whole repositories, and miss changes when there are too few")
        .fix(format!(
            "printf '{}\\n' | sudo tee /etc/sysctl.d/60-ao.conf && sudo sysctl --system",
            settings.join("\\n")
        ))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn limits_that_are_too_low_come_with_the_command_that_raises_them() {
        assert_snapshot!(files(1024).json(), @r#"{"fix":"ulimit -Hn 4096; or `* hard nofile 4096` in /etc/security/limits.conf","fixed":null,"id":"files","level":"warning","means":"the daemon runs out of them with a few dozen agents","what":"only 1024 files can be open at a time"}"#);
        assert_snapshot!(watching(8192, 512).json()["fix"], @r#""printf 'fs.inotify.max_user_watches=524288\\n' | sudo tee /etc/sysctl.d/60-ao.conf && sudo sysctl --system""#);
        assert_eq!(files(FILES).json()["level"], "ok");
        assert_eq!(watching(WATCHES, INSTANCES).json()["level"], "ok");
    }
}
