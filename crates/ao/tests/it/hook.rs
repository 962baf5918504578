//! `ao hook`, as agents run it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output, Stdio};

fn hook(env: &[(&str, &str)], args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ao"))
        .arg("hook")
        .args(args)
        .env_clear()
        .envs(env.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It need not read all of it.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn spool() -> tempfile::TempDir {
    let spool = tempfile::tempdir().unwrap();
    for part in ["tmp", "new"] {
        fs::create_dir(spool.path().join(part)).unwrap();
    }
    spool
}

#[test]
fn an_event_becomes_one_whole_file_for_us_alone() {
    let spool = spool();
    let path = spool.path().to_str().unwrap();
    let env = [("AO_SESSION", "ses_4f"), ("AO_ATTEMPT", "2"), ("AO_TOKEN", "abc"), ("AO_SPOOL", path)];
    let payload = br#"{"hook_event_name":"UserPromptSubmit","prompt":"go"}"#;
    let output = hook(&env, &["SomeName"], payload);
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");

    let files: Vec<_> = fs::read_dir(spool.path().join("new")).unwrap().flatten().collect();
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let left: serde_json::Value = serde_json::from_slice(&fs::read(files[0].path()).unwrap()).unwrap();
    assert_eq!(left["session"], "ses_4f");
    assert_eq!(left["attempt"], "2");
    assert_eq!(left["event"], "SomeName");
    assert_eq!(left["payload"]["prompt"], "go");
    assert_eq!(fs::read_dir(spool.path().join("tmp")).unwrap().count(), 0);
}

#[test]
fn an_event_that_is_the_argument_is_the_payload() {
    let spool = spool();
    let path = spool.path().to_str().unwrap();
    let env = [("AO_SESSION", "ses_4f"), ("AO_ATTEMPT", "2"), ("AO_TOKEN", "abc"), ("AO_SPOOL", path)];
    let output = hook(&env, &[r#"{"type":"agent-turn-complete"}"#], b"");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let file = fs::read_dir(spool.path().join("new")).unwrap().flatten().next().unwrap().path();
    let left: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    assert_eq!(left["payload"]["type"], "agent-turn-complete");
    assert!(left["event"].is_null(), "{left}");
}

#[test]
fn an_agent_never_fails_because_of_us() {
    let nowhere =
        [("AO_SESSION", "ses_4f"), ("AO_ATTEMPT", "2"), ("AO_TOKEN", "abc"), ("AO_SPOOL", "/nowhere/at/all")];
    for (env, said) in [(&[][..], "AO_SESSION is not set"), (&nowhere[..], "/nowhere/at/all")] {
        let output = hook(env, &[], b"{}");
        assert!(output.status.success());
        assert!(output.stdout.is_empty(), "some agents take it for an answer");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains(said), "{stderr}");
    }
    let too_many = hook(&[], &["Stop", "and", "more"], b"");
    assert_eq!(too_many.status.code(), Some(2), "a mistake of whoever set it up");
}

#[test]
fn what_is_too_long_is_left_without_its_content() {
    let spool = spool();
    let path = spool.path().to_str().unwrap();
    let env = [("AO_SESSION", "ses_4f"), ("AO_ATTEMPT", "2"), ("AO_TOKEN", "abc"), ("AO_SPOOL", path)];
    let output = hook(&env, &["Stop"], &vec![b' '; 3 << 20]);
    assert!(output.status.success(), "{output:?}");
    let file = fs::read_dir(spool.path().join("new")).unwrap().flatten().next().unwrap().path();
    let left: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    assert_eq!((&left["event"], &left["payload"]), (&"Stop".into(), &serde_json::Value::Null));
}
