//! Who gets in, and how far: over TCP, and with the token of an agent.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::house::{House, Ran, until};

/// A call as `curl` makes it: the status, and what was answered.
fn call(args: &[&str]) -> (u16, String) {
    let output = Command::new("curl")
        .args(["--silent", "--show-error", "--max-time", "10", "--write-out", "\n%{http_code}"])
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("curl runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (body, code) = text.rsplit_once('\n').expect("the status comes last");
    (code.parse().unwrap(), body.to_owned())
}

/// acceptance: X6
#[test]
fn strangers_are_refused_at_every_door() {
    let house = House::new();
    house.start();
    let session = house.session("Say hello", "[[say hello]]");
    house.wait_for(&session, "idle");
    let url = house.daemon()["url"].as_str().unwrap().to_owned();
    let port = url.rsplit(':').next().unwrap().to_owned();
    let sessions = format!("{url}/api/sessions");
    let terminal = format!("{url}/api/sessions/{session}/terminal");
    let message = format!("{url}/api/sessions/{session}/message");
    let upgrade = [
        "-H",
        "Connection: Upgrade",
        "-H",
        "Upgrade: websocket",
        "-H",
        "Sec-WebSocket-Version: 13",
        "-H",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ];

    // The same user with a program that is no browser.
    assert_eq!(call(&[&sessions]).0, 200);
    // A page of somebody else's, in the user's own browser.
    let page = ["-H", "Origin: https://evil.example", "-H", "Sec-Fetch-Site: cross-site"];
    for address in [&sessions, &terminal, &message] {
        for method in ["GET", "POST", "DELETE"] {
            let mut args = vec!["-X", method, "-d", "{}", "-H", "content-type: text/plain"];
            args.extend(page);
            args.push(address);
            let (status, _) = call(&args);
            assert!(matches!(status, 401 | 403 | 405 | 415), "{method} {address}: {status}");
        }
    }
    // A browser that has not signed in, on a page of our own.
    let own = format!("Origin: {url}");
    let (status, _) = call(&["-H", &own, "-H", "Sec-Fetch-Site: same-origin", &sessions]);
    assert_eq!(status, 401);
    // A name that somebody lets point to this machine.
    let foreign = format!("Host: evil.example:{port}");
    assert!(matches!(call(&["-H", &foreign, &sessions]).0, 400 | 403 | 421));
    // Terminals are behind the same door.
    for stranger in [
        &["-H", "Origin: https://evil.example"] as &[&str],
        &["-H", &foreign],
        &["-H", "Authorization: Bearer wrong"],
    ] {
        let mut args: Vec<&str> = upgrade.to_vec();
        args.extend(stranger);
        args.push(&terminal);
        let (status, _) = call(&args);
        assert!(matches!(status, 400 | 401 | 403 | 421), "{stranger:?}: {status}");
    }
    // A wrong token is worse than none.
    assert_eq!(call(&["-H", "Authorization: Bearer wrong", &sessions]).0, 401);
    let token = fs::read_to_string(house.path("data/api.token")).unwrap();
    let bearer = format!("Authorization: Bearer {}", token.trim());
    assert_eq!(call(&["-H", &bearer, &sessions]).0, 200);
    // Nobody else can read what lets one in.
    for file in ["data/api.token", "data/ao.sock"] {
        assert_eq!(fs::metadata(house.path(file)).unwrap().permissions().mode() & 0o077, 0, "{file}");
    }
    // A token in an address would end up in logs.
    let in_address = format!("{sessions}?token={}", token.trim());
    let (status, _) = call(&["-H", &own, &in_address]);
    assert_eq!(status, 401);
    assert!(!fs::read_to_string(house.path("data/logs/daemon.log")).unwrap().contains(token.trim()));
}

/// acceptance: X6
#[test]
fn an_address_that_others_reach_is_refused_unless_it_is_allowed() {
    let house = House::with("server: { listen: 0.0.0.0 }\n");
    house.ao(&["start", "--port", "0"]).exits(2).says("allowRemote");
    house.configure("server: { listen: 0.0.0.0, allowRemote: true }\n");
    house.start();
    let url = house.daemon()["url"].as_str().unwrap().to_owned();
    let port = url.rsplit(':').next().unwrap();
    assert_eq!(
        call(&["-H", "Authorization: Bearer wrong", &format!("http://127.0.0.1:{port}/api/sessions")]).0,
        401
    );
}

/// acceptance: X8
#[test]
fn an_agent_can_ask_about_itself_and_touch_nobody_else() {
    let house = House::new();
    touches_nobody_else(&house, |commands| {
        let prompt: String = commands.iter().map(|command| format!("[[tool {command}]]")).collect();
        let mine = house.session("Curious", &prompt);
        house.wait_for(&mine, "idle");
    });
}

/// acceptance: X8
#[test]
fn an_agent_without_hooks_can_do_no_more_than_one_with_them() {
    let house = House::with("  plain: { program: sh, prompt: argument, args: [-c, \"{prompt}\"] }\n");
    touches_nobody_else(&house, |commands| {
        house
            .ao(&["new", "Curious", "--agent", "plain", "--prompt", &commands.join("\n"), "--json"])
            .succeeds();
    });
}

#[test]
fn who_says_that_they_are_an_agent_and_cannot_prove_it_is_refused() {
    let house = House::new();
    house.start();
    for args in [&["list"][..], &["stop"], &["api", "GET", "/daemon"], &["start"]] {
        let mut command = house.command(&house.repository(), args);
        command.env("AO_SESSION", "ses_1").env("AO_ATTEMPT", "1");
        Ran::of(command.output().unwrap()).exits(17).says("AO_TOKEN");
    }
    house.daemon_pid();
}

/// acceptance: X8
#[test]
fn the_token_of_an_agent_is_given_to_its_owner_and_is_out_with_the_next_agent() {
    let house = House::new();
    house.start();
    let session = house.session("Say hello", "[[say hello]]");
    house.wait_for(&session, "idle");
    let url = house.daemon()["url"].as_str().unwrap().to_owned();
    let wish = format!("{{\"session\":\"{session}\"}}");
    let bearer = || {
        let given = house.ao(&["api", "POST", "/tokens", "-d", &wish]).succeeds().json();
        format!("Authorization: Bearer {}", given["token"].as_str().expect("a token"))
    };
    let first = bearer();
    let own = format!("{url}/api/sessions/{session}");
    assert_eq!(call(&["-H", &first, &own]).0, 200);
    assert_eq!(call(&["-H", &first, &format!("{url}/api/daemon")]).0, 403);
    house.ao(&["stop", &session]).succeeds();
    house.ao(&["api", "POST", "/tokens", "-d", &wish]).exits(1).says("only while it has an agent");
    house.ao(&["session", "restore", &session]).succeeds();
    house.wait_for(&session, "idle");
    assert_eq!(call(&["-H", &first, &own]).0, 401);
    assert_eq!(call(&["-H", &bearer(), &own]).0, 200);
}

/// Another user of this machine who opens 4,200 connections and says nothing, and asks without a pause besides.
const FLOOD: &str = r#"
port=$1 ready=$2
ulimit -n 4500 || exit 3
for i in $(seq 4200); do { exec {fd}<>/dev/tcp/127.0.0.1/$port; } 2>/dev/null; done
for i in 1 2; do
    (end=$((SECONDS + 60)); while [ $SECONDS -lt $end ]; do curl -s --max-time 5 http://127.0.0.1:$port/healthz http://127.0.0.1:$port/api/sessions; done) >/dev/null 2>&1 &
done
echo $$ > $ready
sleep 60
"#;

#[test]
fn as_root_another_user_who_takes_every_connection_does_not_shut_the_owner_out() {
    let house = House::new();
    house.start();
    let url = house.daemon()["url"].as_str().unwrap().to_owned();
    let port = url.rsplit(':').next().unwrap();
    let shared = tempfile::tempdir().unwrap();
    fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let ready = shared.path().join("ready");
    let mut flood = Command::new("setpriv");
    flood.args([
        "--reuid",
        "12345",
        "--regid",
        "12345",
        "--clear-groups",
        "bash",
        "-c",
        FLOOD,
        "flood",
        port,
    ]);
    flood.arg(&ready).current_dir("/").stdin(Stdio::null()).process_group(0);
    let mut flood = flood.spawn().unwrap();
    until("the other user has connected", || ready.exists() || flood.try_wait().unwrap().is_some());
    assert!(ready.exists(), "the other user could not connect");
    // `call` gives up after ten seconds.
    for round in 0..10 {
        assert_eq!(call(&[&format!("{url}/api/sessions")]).0, 200, "round {round}");
        assert_eq!(call(&[&url]).0, 200, "round {round}");
        house.ao(&["status"]).succeeds();
    }
    let group = rustix::process::Pid::from_raw(flood.id().cast_signed()).unwrap();
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
    flood.wait().unwrap();
}

/// Lets an agent run commands, and looks at what became of them.
fn touches_nobody_else(house: &House, try_all: impl FnOnce(&[String])) {
    house.start();
    let other = house.session("Other", "[[say hello]]");
    house.wait_for(&other, "idle");
    let ao = env!("CARGO_BIN_EXE_ao");
    let data = house.path("data").display().to_string();
    let out = house.path("told");
    let run = |args: &str| {
        format!("{ao} --data-dir {data} {args} >>{0} 2>&1; echo \"{args}: $?\" >>{0}", out.display())
    };
    let commands = [
        run("why $AO_SESSION"),
        run(&format!("status {other}")),
        run(&format!("send {other} hello --timeout 5")),
        run(&format!("stop {other}")),
        run(&format!("explain {other}")),
        run(&format!("answer {other} yes")),
        run("session cleanup"),
        run("stop"),
        run("start --no-orchestrator"),
        run("api POST /tokens -d {}"),
    ];
    try_all(&commands);
    until("it has tried everything", || {
        fs::read_to_string(&out).unwrap_or_default().contains("api POST /tokens -d {}: ")
    });
    let told = fs::read_to_string(&out).unwrap();
    let codes: Vec<&str> = told
        .lines()
        .filter_map(|line| line.rsplit_once(": "))
        .filter(|(_, code)| code.parse::<i32>().is_ok())
        .map(|(_, code)| code)
        .collect();
    assert_eq!(codes, ["0", "17", "17", "17", "17", "17", "17", "17", "17", "17"], "{told}");
    assert_eq!(house.state(&other), "idle");
    assert_eq!(house.turns(&other), ["[[say hello]]"]);
}
