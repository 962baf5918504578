//! An agent is its session, whatever it shows or leaves out, by whatever way it calls.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::forge::branch;
use crate::house::{House, Ran, until};

/// A script that tries what only a person may do, and some of what the agent itself may do, each by plain HTTP: with no token,
/// with the owner's, over TCP and over the socket. It writes `what way: status` for each.
fn tries(house: &House, other: &str) -> std::path::PathBuf {
    let url = house.daemon()["url"].as_str().unwrap().to_owned();
    let data = house.path("data").display().to_string();
    let script = format!(
        r#"#!/bin/sh
# out own
bearer="Authorization: Bearer $(cat {data}/api.token)"
json='content-type: application/json'
one() {{ # what way curl…
    what=$1; shift; way=$1; shift
    code=$(curl --silent --output $out.body --max-time 20 --write-out '%{{http_code}}' "$@")
    echo "$what $way: $code $(tr -d '\n' < $out.body | cut -c 1-300)" >> $out.partial
}}
each() {{ # what path curl…
    what=$1; shift; path=$1; shift
    one $what tcp "$@" {url}/api$path
    one $what tcp-token "$@" -H "$bearer" {url}/api$path
    one $what socket "$@" --unix-socket {data}/ao.sock http://localhost/api$path
    one $what socket-token "$@" -H "$bearer" --unix-socket {data}/ao.sock http://localhost/api$path
}}
out=$1 own=$2
each approve /pulls/my-app!1/reviews -H "$json" -d '{{"verdict":"approve"}}'
each merge /pulls/my-app!1/merge -H "$json" -d '{{}}'
each message /sessions/{other}/message -H "$json" -d '{{"text":"do as I say"}}'
each look /sessions/{other}
each token /tokens -H "$json" -d '{{}}'
each own /sessions/$own
mv $out.partial $out
"#
    );
    let path = house.path("tries.sh");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Waits for what a script has written, and shows each try with its status.
#[track_caller]
fn told(out: &Path) -> Vec<(String, String)> {
    until("everything was tried", || out.exists());
    let told = fs::read_to_string(out).unwrap();
    told.lines()
        .map(|line| line.split_once(": ").unwrap())
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .collect()
}

#[track_caller]
fn has_the_rights_of_an_agent(out: &Path) {
    let told = told(out);
    assert_eq!(told.len(), 24, "{told:#?}");
    for (what, status) in &told {
        let expected = if what.starts_with("own ") { "200" } else { "403" };
        assert!(status.starts_with(expected), "{what}: {status}\n{told:#?}");
        if expected == "403" {
            assert!(status.contains("an agent may not do that"), "{what}: {status}");
        }
    }
}

/// By four ways: as it is, without an environment, as an orphan, and as an orphan in a session of its own without one.
fn is_its_session_by_every_way(runtime: &str) {
    let house = House::new();
    let config = fs::read_to_string(house.config_file()).unwrap();
    fs::write(house.config_file(), config.replace("runtime: process", &format!("runtime: {runtime}")))
        .unwrap();
    house.start();
    branch(&house.repository(), "feature", &[("a.txt", b"a\n")]);
    house.propose("feature", "Feature");
    let other = house.session("Other", "[[say hello]]");
    house.wait_for(&other, "idle");
    let script = tries(&house, &other).display().to_string();
    let out = |way: &str| house.path(&format!("told-{way}"));
    let path = std::env::var("PATH").unwrap();
    let run = |way: &str, before: &str, after: &str| {
        format!("[[tool {before} sh {script} {} $AO_SESSION {after}]]", out(way).display())
    };
    let bare = format!("env -i PATH={path}");
    let prompt = [
        run("plain", "", ""),
        run("bare", &bare, ""),
        // The shell that starts it ends at once.
        run("orphan", "", ">/dev/null 2>&1 &"),
        run("daemon", &format!("{bare} setsid --fork"), ">/dev/null 2>&1 </dev/null &"),
    ]
    .concat();
    house.session("Curious", &prompt);
    for way in ["plain", "bare", "orphan", "daemon"] {
        has_the_rights_of_an_agent(&out(way));
    }
    assert_eq!(house.pull("1")["state"], "open");
    assert_eq!(house.pull("1")["reviews"], serde_json::json!([]));
    assert_eq!(house.turns(&other), ["[[say hello]]"]);

    // The same by the user is as it was.
    let mine = house.path("told-owner");
    let mut owner = Command::new("sh");
    owner.arg(&script).arg(&mine).arg(&other);
    house.surround(&mut owner);
    assert!(owner.status().unwrap().success());
    let refused: Vec<_> = told(&mine).into_iter().filter(|(_, status)| status.starts_with("40")).collect();
    assert_eq!(refused, []);
    assert_eq!(house.pull("1")["state"], "merged");
}

/// acceptance: G4
#[test]
fn an_agent_is_its_session_by_every_way() {
    is_its_session_by_every_way("process");
}

/// acceptance: G4
#[test]
fn an_agent_in_tmux_is_its_session_by_every_way() {
    is_its_session_by_every_way("tmux");
}

/// A daemon that comes later knows the agents of the one before.
///
/// acceptance: G4
#[test]
fn an_agent_is_its_session_to_the_next_daemon_too() {
    let house = House::new();
    house.start();
    branch(&house.repository(), "feature", &[("a.txt", b"a\n")]);
    house.propose("feature", "Feature");
    let other = house.session("Other", "[[say hello]]");
    let (go, out) = (house.path("go"), house.path("told"));
    let path = std::env::var("PATH").unwrap();
    let prompt = format!(
        "[[tool until test -e {}; do sleep 0.05; done; env -i PATH={path} sh {} {} $AO_SESSION]]",
        go.display(),
        house.path("tries.sh").display(),
        out.display()
    );
    house.session("Curious", &prompt);
    house.wait_for(&other, "idle");
    house.ao(&["stop"]).succeeds();
    house.start();
    tries(&house, &other);
    fs::write(go, "").unwrap();
    has_the_rights_of_an_agent(&out);
    assert_eq!(house.pull("1")["state"], "open");
}

/// What tmux is asked to run is no agent's child, but it is not the user's either.
///
/// acceptance: G4
#[test]
fn what_an_agent_has_tmux_run_is_not_the_owner() {
    let house = House::new();
    let config = fs::read_to_string(house.config_file()).unwrap();
    fs::write(house.config_file(), config.replace("runtime: process", "runtime: tmux")).unwrap();
    house.start();
    let url = house.daemon()["url"].as_str().unwrap().to_owned();
    let out = house.path("told");
    let curl = format!(
        "curl -s {url}/api/daemon > {0}.partial; curl -s -X POST {url}/api/daemon/stop >> {0}.partial; mv {0}.partial {0}",
        out.display()
    );
    let socket = house.path("data/tmux/socket");
    house.session("Curious", &format!("[[tool tmux -S {} run-shell -b '{curl}']]", socket.display()));
    until("it has tried", || out.exists());
    let told = fs::read_to_string(out).unwrap();
    assert_eq!(told.matches("urn:ao:not-the-owner").count(), 2, "{told}");
    house.daemon_pid();
}

/// acceptance: G4
#[test]
fn neither_a_check_nor_a_set_up_command_is_the_owner() {
    let house = House::new();
    let setup = house.path("told-setup");
    let check = house.path("told-check");
    let call = |out: &Path| {
        let sock = house.path("data/ao.sock");
        let data = house.path("data");
        format!(
            "curl -s --unix-socket {0} http://localhost/api/daemon > {1}; \
             curl -s -H \"Authorization: Bearer $(cat {2}/api.token)\" --unix-socket {0} http://localhost/api/daemon >> {1}; \
             env -i PATH=\"$PATH\" curl -s -X POST --unix-socket {0} http://localhost/api/pulls/my-app!1/merge >> {1}; \
             env -i PATH=\"$PATH\" setsid --fork sh -c 'curl -s -X POST --unix-socket {0} http://localhost/api/pulls/my-app!1/merge >> {1}; \
             touch {1}.over' & until test -e {1}.over; do sleep 0.02; done",
            sock.display(),
            out.display(),
            data.display()
        )
    };
    let project = format!(
        "    postCreate: [{}]\n    checks:\n      - name: sly\n        command: {}\n",
        serde_json::json!(call(&setup)),
        serde_json::json!(call(&check))
    );
    house.configure_project(&project, "");
    house.start();
    branch(&house.repository(), "feature", &[("a.txt", b"a\n")]);
    house.propose("feature", "Feature");
    assert!(house.checked("1"));
    let session = house.session("Say hello", "[[say hello]]");
    house.wait_for(&session, "idle");
    for out in [check, setup] {
        let told = fs::read_to_string(&out).unwrap();
        assert_eq!(told.matches("urn:ao:not-the-owner").count(), 4, "{}: {told}", out.display());
    }
    assert_eq!(house.pull("1")["state"], "open");
}

/// acceptance: G4
#[test]
fn a_hook_of_the_users_speaks_for_the_user() {
    let house = House::new();
    let out = house.path("told");
    let ao = env!("CARGO_BIN_EXE_ao");
    let command = format!(
        "{ao} api GET /daemon > {0}.partial && env -i PATH=\"$PATH\" sh -c 'curl -sf --unix-socket {1} http://localhost/api/daemon' >> \
         {0}.partial; echo $? >> {0}.partial; mv {0}.partial {0}",
        out.display(),
        house.path("data/ao.sock").display()
    );
    house.configure(&format!("hooks:\n  session-started: {}\n", serde_json::json!(command)));
    house.start();
    house.session("Say hello", "[[say hello]]");
    until("the hook has called", || out.exists());
    let told = fs::read_to_string(out).unwrap();
    assert!(told.ends_with("0\n") && told.matches("\"pid\"").count() == 2, "{told}");
}

/// Runs the tests of a program as another user than root, who may look into everything.
fn as_plain_user(program: &str) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "12345", "--regid", "12345", "--clear-groups", program]);
    command
}

/// acceptance: G4
#[test]
fn nobody_looks_into_the_daemon_or_a_holder() {
    let home = tempfile::tempdir().unwrap();
    let (path, ao) = (std::env::var_os("PATH").unwrap(), home.path().join("ao"));
    fs::copy(env!("CARGO_BIN_EXE_ao"), &ao).unwrap();
    let data = home.path().join("data");
    let surround = |command: &mut Command| {
        command.env_clear().env("PATH", &path).env("HOME", home.path()).env("TMPDIR", home.path());
        command.env("AO_DATA_DIR", &data).env("GITHUB_TOKEN", "not-for-you").current_dir(home.path());
        command.stdin(Stdio::null());
    };
    assert!(as_plain_user("true").status().unwrap().success());
    if rustix::process::geteuid().is_root() {
        rustix::fs::chown(
            home.path(),
            Some(rustix::fs::Uid::from_raw(12345)),
            Some(rustix::fs::Gid::from_raw(12345)),
        )
        .unwrap();
    }
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let as_user = |program: &str, args: &[&str]| {
        let mut command = as_plain_user(program);
        surround(command.args(args));
        Ran::of(command.output().unwrap())
    };
    let program = ao.display().to_string();
    let mut daemon = as_plain_user(&program);
    surround(daemon.args(["daemon", "--port", "0"]).stdout(Stdio::null()).stderr(Stdio::null()));
    let mut daemon = daemon.spawn().unwrap();
    until("the daemon answers", || as_user(&program, &["api", "GET", "/daemon"]).code == 0);
    let about = as_user(&program, &["api", "GET", "/daemon"]).succeeds().json();
    let pid = about["pid"].as_i64().unwrap();
    let url = about["url"].as_str().unwrap().to_owned();
    for file in ["environ", "mem", "maps", "fd/0", "cwd/."] {
        let read = as_user("head", &["-c", "1", &format!("/proc/{pid}/{file}")]);
        assert!(read.code != 0 && read.err.contains("denied"), "{file}: {read:?}");
    }
    // The user is still known by a connection.
    as_user("curl", &["-sf", &format!("{url}/api/daemon")]).succeeds();
    as_user(&program, &["stop"]).succeeds();
    daemon.wait().unwrap();
}
