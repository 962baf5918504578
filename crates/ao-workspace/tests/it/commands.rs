//! The project's own commands run in the workspace, can be watched, and leave nothing behind when they fail.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use ao_core::Attempt;
use ao_core::setup::{Environment, SecretRef, SecretSource};
use ao_ports::{RemoveOrder, TreeRef, WorkspaceError};
use ao_workspace::provision;

use crate::provisioned::{Bench, lives, until};
use crate::support::removal;

/// A server that has made itself a daemon: out of the group, without a parent, and with a port.
const DAEMON: &str = "import os,socket,sys,time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
s=socket.socket(); s.bind(('127.0.0.1',0)); s.listen()
open(sys.argv[1],'w').write('%d %d\\n' % (os.getpid(), s.getsockname()[1]))
time.sleep(600)";

fn daemon(file: &str) -> String {
    format!("python3 -c \"{DAEMON}\" {file}")
}

#[tokio::test]
async fn they_run_one_after_another_in_the_workspace_and_their_output_is_kept() {
    let bench =
        Bench::with_commands(&["echo one; echo two >&2; pwd -P", "printf 'no line end'", "cat"]).await;
    bench.set_up().await.unwrap();
    let log = bench.log();
    let untimed: Vec<&str> = log.lines().map(|line| line.split(" after ").next().unwrap()).collect();
    let path = bench.path().canonicalize().unwrap().display().to_string();
    let wanted = [
        "$ echo one; echo two >&2; pwd -P",
        "one",
        "two",
        &path,
        "[ao: ended with code 0",
        "$ printf 'no line end'",
        "no line end",
        "[ao: ended with code 0",
        "$ cat",
        "[ao: ended with code 0",
    ];
    assert_eq!(untimed, wanted);
    let file = bench.options.setup_log(bench.session);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(file.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
}

/// acceptance: L7
#[tokio::test]
async fn a_failed_command_is_reported_with_the_end_of_its_log_and_can_be_retried() {
    let mut bench = Bench::with_commands(&[
        "i=0; while [ $i -lt 60 ]; do i=$((i+1)); printf '\\033[31mline %s\\033[0m\\n' $i; done; test -e ready || exit 3",
        "touch never",
    ])
    .await;
    let (why, tail) = bench.failure().await;
    assert!(why.ends_with("ended with code 3"), "{why}");
    assert!(tail.starts_with("line 22\n") && tail.contains("line 60\n[ao: ended with code 3"), "{tail}");
    assert!(!bench.path().join("never").exists(), "the next one is not run");
    let err = bench.set_up().await.unwrap_err().to_string();
    assert!(err.contains(&bench.options.setup_log(bench.session).display().to_string()), "{err}");

    fs::write(bench.path().join("ready"), "").unwrap();
    bench.attempt = Attempt(2);
    bench.set_up().await.unwrap();
    assert!(bench.path().join("never").exists());
    assert_eq!(bench.log().matches("line 60").count(), 1, "the log begins anew");
}

#[tokio::test]
async fn a_missing_shell_and_a_signal_have_clear_errors() {
    let mut bench = Bench::with_commands(&["kill -9 $$"]).await;
    assert_eq!(bench.failure().await.0, "`kill -9 $$` was ended by signal 9");
    bench.options.shell = "/nowhere/sh".into();
    let (why, _) = bench.failure().await;
    assert!(why.starts_with("the shell `/nowhere/sh` could not be started; set AO_SHELL"), "{why}");
}

#[tokio::test]
async fn they_find_their_ports_and_settings_and_nothing_of_ours_in_their_environment() {
    let mut bench = Bench::with_commands(&["env"]).await;
    bench.plan.environment.set = [("MODE".into(), "dev".into()), ("PORT".into(), "1".into())].into();
    bench.plan.ports = [("PORT".into(), 4001)].into();
    bench.plan.setup.timeout = Duration::MAX;
    bench.set_up().await.unwrap();
    let log = bench.log();
    let (session, root) = (format!("AO_SESSION={}", bench.session), bench.repo.path());
    let repository = format!("AO_REPOSITORY={}", root.display());
    let workspace = format!("AO_SETUP={}", bench.plan.path);
    for line in
        ["MODE=dev", "PORT=4001", "AO_ATTEMPT=1", "GIT_TERMINAL_PROMPT=0", &session, &repository, &workspace]
    {
        assert!(log.lines().any(|known| known == line), "{line}\n{log}");
    }
    assert!(!log.contains("CARGO_MANIFEST_DIR"), "{log}");
}

#[tokio::test]
async fn a_secret_reaches_the_command_and_not_the_log() {
    let secret = "s3cr3t-value-of-the-key";
    // In two pieces, with a pause between them in which the first one has been read.
    let mut bench = Bench::with_commands(&[
        "echo \"$KEY\" > got; printf 'key=%s' \"${KEY%-of-the-key}\"; until test -e go; do sleep 0.01; done; \
         echo '-of-the-key'",
        "echo again $KEY; false s3cr3t-value-of-the-key",
    ])
    .await;
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), format!("{secret}\n")).unwrap();
    let from = SecretSource::File(file.path().display().to_string());
    bench.plan.environment.secrets = vec![SecretRef { name: "KEY".into(), from }];
    let going = async {
        until(|| bench.log().contains("\nkey=").then_some(())).await;
        fs::write(bench.path().join("go"), "").unwrap();
    };
    let (failed, ()) = tokio::join!(bench.set_up(), going);
    let told = failed.unwrap_err().to_string();
    assert_eq!(bench.read("got").trim(), secret);
    assert!(bench.log().contains("key=[secret KEY]\n") && bench.log().contains("again [secret KEY]\n"));
    for text in [bench.log(), told] {
        assert!(!text.contains("s3cr3t"), "{text}");
    }
}

#[tokio::test]
async fn a_secret_that_cannot_be_read_fails_the_set_up_before_any_command() {
    let mut bench = Bench::with_commands(&["touch ran"]).await;
    let from = SecretSource::File("/nowhere/key".into());
    bench.plan.environment.secrets = vec![SecretRef { name: "KEY".into(), from }];
    let (why, _) = bench.failure().await;
    assert!(why.contains("`KEY`") && why.contains("/nowhere/key"), "{why}");
    assert!(!bench.path().join("ran").exists());
}

#[tokio::test]
async fn the_log_can_be_read_while_a_command_runs() {
    let bench = Bench::with_commands(&["echo begun; until test -e go; do sleep 0.01; done"]).await;
    let watching = async {
        until(|| bench.log().contains("begun\n").then_some(())).await;
        fs::write(bench.path().join("go"), "").unwrap();
    };
    tokio::join!(bench.set_up(), watching).0.unwrap();
}

#[tokio::test]
async fn a_long_output_is_cut_in_its_middle() {
    let mut bench =
        Bench::with_commands(&["echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo last"]).await;
    bench.options.log_limit = 64 << 10;
    bench.set_up().await.unwrap();
    let log = bench.log();
    assert!(log.len() <= 64 << 10, "{}", log.len());
    assert!(log.contains("\nfirst\n") && log.contains("left out here") && log.contains("xlast\n"));
}

#[tokio::test]
async fn one_that_takes_too_long_is_ended_with_all_it_has_started() {
    let mut bench = Bench::new().await;
    bench.desk("fix").await;
    // The first command's daemon too: what was set up in part is set up anew.
    bench.commands(&[
        &daemon("daemon"),
        "trap '' TERM; sleep 600 & env -i sleep 600 & echo $! $$ > pids; echo waiting; wait; sleep 600",
    ]);
    // The time that the commands need to start depends on the machine.
    let mut told = (String::new(), String::new());
    for seconds in [1, 4, 16, 60] {
        bench.plan.setup.timeout = Duration::from_secs(seconds);
        told = bench.failure().await;
        if bench.log().contains("waiting\n") {
            break;
        }
    }
    let (why, tail) = told;
    assert!(why.contains("s together; make them faster"), "{why}");
    assert!(tail.contains("waiting\n[ao: took too long"), "{tail}");
    let mut all = bench.words("pids").await;
    all.push(bench.words("daemon").await[0].clone());
    assert!(!all.iter().any(|pid| lives(pid)), "nothing of it runs when it has failed");
}

#[tokio::test]
async fn a_cancelled_set_up_leaves_nothing_running() {
    let mut bench = Bench::new().await;
    bench.desk("fix").await;
    let second = format!("{}; sleep 600 & echo $! $$ > pids; wait", daemon("daemon"));
    bench.commands(&["true", &second]);
    let mut all = tokio::select! {
        done = bench.set_up() => panic!("{done:?}"),
        all = async { [bench.words("pids").await, bench.words("daemon").await].concat() } => all,
    };
    all.pop();
    until(|| (!all.iter().any(|pid| lives(pid))).then_some(())).await;
}

#[tokio::test]
async fn a_server_that_is_left_on_purpose_is_not_waited_for_and_lives_on() {
    let mut bench = Bench::new().await;
    bench.desk("fix").await;
    bench.commands(&[&daemon("daemon"), "echo done"]);
    bench.set_up().await.unwrap();
    let told = bench.words("daemon").await;
    assert!(lives(&told[0]));
    assert!(
        bench.log().contains("still holds this output") && bench.log().contains("done\n"),
        "{}",
        bench.log()
    );

    // The next set-up begins anew, so the server of the last one goes.
    bench.commands(&["true"]);
    bench.set_up().await.unwrap();
    assert!(!lives(&told[0]));
    let port: u16 = told[1].parse().unwrap();
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[tokio::test]
async fn teardown_runs_in_the_workspace_and_leaves_nothing_running() {
    let mut bench = Bench::new().await;
    bench.desk("fix").await;
    let teardown = |commands: Vec<String>| {
        let (options, path) = (bench.options.clone(), bench.path().to_owned());
        let tree = TreeRef { session: bench.session, ..bench.repo.tree(&path) };
        let order = RemoveOrder { teardown: commands, ..removal(tree) };
        async move { provision::teardown(&options, &order, &path).await }
    };
    teardown(vec![daemon("daemon"), "until test -s daemon; do sleep 0.01; done; echo bye".into()])
        .await
        .unwrap();
    assert!(!lives(&bench.words("daemon").await[0]));
    let log = bench.options.teardown_log(bench.session);
    assert!(fs::read_to_string(&log).unwrap().contains("bye\n[ao: ended with code 0"));
    assert!(bench.log().is_empty(), "the log of the set-up is another one");

    let Err(WorkspaceError::Failed(why)) = teardown(vec!["echo no; exit 7".into()]).await else {
        panic!("it must fail")
    };
    assert!(why.contains("ended with code 7") && why.contains(&log.display().to_string()), "{why}");
    assert!(why.ends_with(']') && why.contains("\nno\n"), "{why}");
}

#[tokio::test]
async fn teardown_has_the_environment_of_its_order_and_tells_no_secret() {
    let mut bench = Bench::new().await;
    bench.desk("fix").await;
    let key = bench.options.logs.with_file_name("key");
    fs::write(&key, "hush-hush\n").unwrap();
    let secret = SecretRef { name: "KEY".into(), from: SecretSource::File(key.display().to_string()) };
    let environment = Environment {
        pass: vec!["CARGO_MANIFEST_DIR".into()],
        set: [("STAGE".to_owned(), "review".to_owned())].into(),
        secrets: vec![secret],
    };
    let show = "echo \"$KEY $STAGE $AO_REPOSITORY ${CARGO_MANIFEST_DIR:+passed}\" | tee told; exit 7";
    let (session, path) = (bench.session, bench.path().to_owned());
    let tree = TreeRef { session, ..bench.repo.tree(&path) };
    let order = RemoveOrder { environment, teardown: vec![show.into()], ..removal(tree) };
    let failure = provision::teardown(&bench.options, &order, &path).await.unwrap_err().to_string();
    let root = bench.repo.path().display().to_string();
    assert_eq!(bench.read("told").trim(), format!("hush-hush review {root} passed"));
    let log = fs::read_to_string(bench.options.teardown_log(session)).unwrap();
    assert!(log.contains(&format!("review {root} passed")), "{log}");
    assert!(!log.contains("hush-hush") && !failure.contains("hush-hush"), "{log}{failure}");
}
