//! Checks the daemon: its version, its socket and its port.

use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::os::unix::fs::FileTypeExt;

use ao_api::client::{Client, ClientError, IssueQuery};
use ao_api::{Daemon, Projects};
use ao_config::Loaded;
use camino::Utf8Path;

use super::finding::DoctorFinding;
use crate::cli::context::Context;
use crate::client::daemon_process;
use crate::error::CommandError;
use crate::system::paths;
use crate::{show, ui};

pub(super) async fn running(
    data_dir: &Utf8Path,
    loaded: Option<&Loaded>,
    cx: &Context,
) -> Result<Vec<DoctorFinding>, CommandError> {
    let client = cx.client()?;
    let socket = paths::socket(data_dir);
    let mut findings = match client.daemon().await {
        Ok(daemon) => {
            let mut findings = described(&daemon, loaded);
            findings.extend(issues(&client).await);
            findings.extend(repositories(&client).await);
            return Ok(findings);
        }
        Err(err) if err.is_absence() => not_running(&socket),
        Err(ClientError::Refused(problem)) => vec![
            DoctorFinding::problem("daemon", format!("the daemon refuses to answer: {}", problem.title))
                .means("inside an agent, only its own rights apply; otherwise the daemon does not know you"),
        ],
        Err(err @ ClientError::Hung { .. }) => {
            let err = CommandError::from(err);
            let fixes = err.hints().join("; ");
            vec![
                DoctorFinding::problem("daemon", err.to_plain())
                    .means(format!("its log is {data_dir}/logs/daemon.log"))
                    .fix(fixes),
            ]
        }
        Err(err) => vec![
            DoctorFinding::problem(
                "daemon",
                format!("something answers at {socket}, but not as a daemon does: {err}"),
            )
            .fix("ao stop && ao start"),
        ],
    };
    findings.extend(left_alone(data_dir));
    findings.push(port(loaded));
    Ok(findings)
}

fn described(daemon: &Daemon, loaded: Option<&Loaded>) -> Vec<DoctorFinding> {
    let ours = env!("CARGO_PKG_VERSION");
    let mut findings = Vec::new();
    let sessions = ui::count(daemon.live_sessions.into(), "live session");
    let runs = format!("{} runs as process {}, with {sessions}", daemon.version, daemon.pid);
    findings.push(if daemon.version != ours {
        DoctorFinding::problem(
            "daemon",
            format!("the running daemon is version {}, this is {ours}", daemon.version),
        )
        .means("they may be incompatible; agents keep running while the daemon is replaced")
        .fix("ao start")
    } else if daemon.build != daemon_process::build() {
        DoctorFinding::warning("daemon", format!("{runs}; it is another build than this one"))
            .means("agents keep running while the daemon is replaced")
            .fix("ao start")
    } else {
        DoctorFinding::ok("daemon", runs)
    });
    if let Some(problem) = &daemon.config_problem {
        findings.push(
            DoctorFinding::problem(
                "config",
                "the daemon could not apply the last change of its configuration",
            )
            .means(problem.replace('\n', "\n                    "))
            .fix("fix it, then run `ao config check`; the previous configuration stays in force"),
        );
    }
    let wanted = loaded.map(|loaded| loaded.config.port);
    match (&daemon.url, wanted) {
        (Some(url), Some(port)) if !url.ends_with(&format!(":{port}")) => findings.push(
            DoctorFinding::warning(
                "port",
                format!("the daemon is at {url}, and port {port} is configured here"),
            )
            .fix("ao stop && ao start"),
        ),
        (Some(url), _) => findings.push(DoctorFinding::ok("port", format!("the dashboard is at {url}"))),
        (None, _) => {}
    }
    findings
}

/// Reports issue files that cannot be read.
async fn issues(client: &Client) -> Vec<DoctorFinding> {
    let query = IssueQuery { limit: Some(1), ..IssueQuery::default() };
    let Ok(listed) = client.issues(&query).await else { return vec![] };
    let wrong = |warning: String| {
        DoctorFinding::warning("issues", show::plain(&warning))
            .means("the issue is left out or incomplete until the file is fixed")
    };
    listed.warnings.into_iter().map(wrong).collect()
}

/// Lists the programs that git may run for each project, and the repository changes that wait for confirmation.
async fn repositories(client: &Client) -> Vec<DoctorFinding> {
    let mut findings = vec![];
    let Ok(Projects { projects }) = client.projects().await else { return findings };
    for project in projects {
        let Ok(trust) = client.repository_trust(&project.id).await else { continue };
        let id = &project.id;
        if !trust.programs.is_empty() {
            let programs = show::plain(&trust.programs.join("; "));
            findings.push(DoctorFinding::ok("git", format!("for {id}, git may run: {programs}")));
        }
        findings.extend(trust.waiting.iter().map(|what| {
            DoctorFinding::problem("repository", format!("{id}: {}", show::plain(what)))
                .means("nothing is merged until you confirm it")
                .fix(format!("ao trust-project {id}"))
        }));
    }
    findings
}

/// Reports that no daemon runs, which is no fault. A socket without a listener is a leftover.
fn not_running(socket: &Utf8Path) -> Vec<DoctorFinding> {
    let is_socket = socket.symlink_metadata().is_ok_and(|found| found.file_type().is_socket());
    if !is_socket {
        return vec![DoctorFinding::ok("daemon", "none runs; `ao start` starts one")];
    }
    let stale = socket.to_owned();
    vec![
        DoctorFinding::warning("daemon", format!("none runs, but an earlier one left its socket: {socket}"))
            .means("it did not clean up; `ao start` takes the socket over")
            .fix(format!("rm {socket}"))
            .mended_by(move || {
                // A daemon may have started to listen meanwhile.
                if std::os::unix::net::UnixStream::connect(&stale).is_ok() {
                    return Ok("a daemon listens there now; it was left".into());
                }
                std::fs::remove_file(&stale)
                    .map(|()| format!("removed {stale}"))
                    .map_err(|err| err.to_string())
            }),
    ]
}

/// Reports agents that run without a daemon. That is by design, but a daemon should watch them.
fn left_alone(data_dir: &Utf8Path) -> Option<DoctorFinding> {
    let children = |folder: &Utf8Path| -> Vec<_> {
        folder.read_dir_utf8().into_iter().flatten().flatten().map(|entry| entry.path().to_owned()).collect()
    };
    let attempts = children(&data_dir.join("processes")).into_iter().flat_map(|session| children(&session));
    let alone = attempts.filter(|attempt| holds(attempt)).count();
    (alone > 0).then(|| {
        let agents = ui::count(alone as u64, "agent");
        DoctorFinding::warning("agents", format!("{agents} of an earlier daemon still run"))
            .means("they keep running, but their questions and exits go unnoticed")
            .fix("ao start")
    })
}

/// Returns true if the shim that wrote this record is still alive.
fn holds(attempt: &Utf8Path) -> bool {
    let record = std::fs::read(attempt.join("holder")).ok();
    let record: Option<serde_json::Value> = record.and_then(|text| serde_json::from_slice(&text).ok());
    let Some(pid) = record.and_then(|record| record.get("pid")?.as_u64()) else { return false };
    let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    words.split(|byte| *byte == 0).nth(1) == Some(crate::daemon::SHIM.as_bytes())
}

/// Checks that the dashboard's port is free.
fn port(loaded: Option<&Loaded>) -> DoctorFinding {
    let (address, port) = match loaded {
        Some(loaded) => (loaded.config.server.listen, loaded.config.port),
        None => (IpAddr::V4(Ipv4Addr::LOCALHOST), 3000),
    };
    match TcpListener::bind((address, port)) {
        Ok(_) => DoctorFinding::ok("port", format!("{port} is free for the dashboard")),
        Err(err) => {
            DoctorFinding::problem("port", format!("port {port} cannot be used for the dashboard: {err}"))
                .means("the daemon does not start while the port is in use")
                .fix(format!(
                    "ao config set port {}; or stop the other program: `ss -ltnp 'sport = :{port}'`",
                    port.wrapping_add(1).max(1024)
                ))
        }
    }
}
