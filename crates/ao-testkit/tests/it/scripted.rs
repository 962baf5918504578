//! The scripted agent on a terminal of its own: it follows its tags, and misbehaves as configured.

use std::collections::BTreeMap;
use std::time::Duration;

use ao_core::input::ProcessLife;
use ao_core::{Attempt, SessionId};
use ao_ports::{ProcessIo, ProcessRef, ProgramCommand, Runtime, StartSpec};
use ao_testkit::pty::PtyRuntime;
use ao_testkit::scripted::{AgentHome, program};
use tempfile::TempDir;

const CONVERSATION: &str = "talk";

struct Stage {
    runtime: PtyRuntime,
    process: ProcessRef,
    home: AgentHome,
    folder: TempDir,
}

async fn stage(script: &str, args: &[&str]) -> Stage {
    let folder = tempfile::tempdir().unwrap();
    start(folder, script, args).await
}

async fn start(folder: TempDir, script: &str, args: &[&str]) -> Stage {
    let home = AgentHome::new(folder.path().join("home"));
    let set = |name: &str, value: String| (name.to_owned(), value);
    let env = BTreeMap::from([
        set("SCRIPTED_HOME", home.folder().display().to_string()),
        set("SCRIPTED_SCRIPT", script.to_owned()),
        set("SCRIPTED_HOOK", format!("cat >>{0}; echo >>{0}", folder.path().join("hooks").display())),
    ]);
    let command = ProgramCommand {
        program: program().display().to_string(),
        args: args.iter().map(ToString::to_string).collect(),
        env,
        pass: vec![],
        secrets: vec![],
        files: vec![],
        io: ProcessIo::Terminal,
    };
    let runtime = PtyRuntime::default();
    let path = folder.path().display().to_string();
    let (session, attempt) = (SessionId(1), Attempt(1));
    let spec = StartSpec { session, attempt, name: "agent".into(), path, command, ports: vec![] };
    let process = runtime.start(&spec).await.unwrap();
    Stage { runtime, process, home, folder }
}

const NEW: [&str; 2] = ["--conversation", CONVERSATION];

impl Stage {
    async fn until(&self, text: &str) -> String {
        self.runtime.until(&self.process, |screen| screen.contains(text)).await
    }

    async fn at_prompt(&self) {
        self.runtime
            .until(&self.process, |screen| screen.contains("│ >") && !screen.contains("working…"))
            .await;
    }

    fn types(&self, keys: &str) {
        self.runtime.person_types(&self.process, keys).unwrap();
    }

    async fn says(&self, text: &str) {
        self.types(&format!("\x1b[200~{text}\x1b[201~"));
        self.runtime.until(&self.process, |screen| !screen.contains("│ > \n")).await;
        self.types("\r");
    }

    /// Waits for the process to end, and returns its exit code.
    async fn end(&self) -> Option<i32> {
        let ended = async {
            let mut from = 0;
            loop {
                let piece = self.runtime.output(&self.process, from, 1 << 20, Duration::from_secs(5)).await;
                let piece = piece.unwrap();
                from += piece.bytes.len() as u64;
                if piece.ended {
                    break;
                }
            }
            loop {
                if let ProcessLife::Gone { code } = self.runtime.look(&self.process).await {
                    return code;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), ended).await.expect("it ends")
    }

    /// The names of the hooks that were run, once the last of them is among them.
    async fn hooks(&self, last: &str) -> Vec<String> {
        let read = || {
            let text = std::fs::read_to_string(self.folder.path().join("hooks")).unwrap_or_default();
            let name = |line: &str| {
                let hook: serde_json::Value = serde_json::from_str(line).ok()?;
                Some(hook["hook_event_name"].as_str()?.to_owned())
            };
            text.lines().filter_map(name).collect::<Vec<_>>()
        };
        let found = async {
            while read().last().is_none_or(|name| name != last) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), found).await.unwrap_or_else(|_| panic!("{:?}", read()));
        read()
    }
}

#[tokio::test]
async fn a_turn_begins_with_enter_and_ends_at_the_prompt() {
    let stage = stage("", &NEW).await;
    stage.at_prompt().await;
    stage.says("two\nlines [[tool true]] [[say done]]").await;
    stage.until("● done").await;
    stage.at_prompt().await;
    assert_eq!(stage.home.turns(CONVERSATION), ["two\nlines [[tool true]] [[say done]]"]);
    assert_eq!(
        stage.hooks("Stop").await,
        ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"]
    );
    stage.types("\x04");
    assert_eq!(stage.end().await, Some(0));
    stage.hooks("SessionEnd").await;
}

#[tokio::test]
async fn a_dialog_takes_its_choice_and_nothing_else() {
    let stage = stage("notify-after 10ms", &[&NEW[..], &["[[ask May I?]] [[say yes]]"]].concat()).await;
    stage.until("│ ❯ 1. Yes").await;
    stage.types("\x1b[200~text\x1b[201~");
    stage.types("9x\x1b[B");
    stage.until("│ ❯ 2. No").await;
    stage.hooks("Notification").await;
    stage.types("1");
    stage.until("● yes").await;
    assert_eq!(stage.home.choices(CONVERSATION), ["May I?: 1"]);
    assert_eq!(stage.home.turns(CONVERSATION).len(), 1);
    let hooks = stage.hooks("Stop").await;
    assert_eq!(hooks[2..5], ["PreToolUse", "PermissionRequest", "Notification"]);
}

#[tokio::test]
async fn enters_are_swallowed_and_drafts_are_kept_as_configured() {
    let stage = stage("swallow-enters 1; collapse-paste 2", &NEW).await;
    stage.at_prompt().await;
    stage.types("\x1b[200~a\nb\nc\x1b[201~");
    stage.until("[Pasted text #1 +3 lines]").await;
    stage.types("\r!");
    stage.until("lines]!").await;
    assert_eq!(stage.home.draft(CONVERSATION), "a\nb\nc!");
    stage.types("\r");
    stage.until("1 turns").await;
    assert_eq!(stage.home.turns(CONVERSATION), ["a\nb\nc!"]);
    assert_eq!(stage.home.enters(CONVERSATION), [true, false]);
}

#[tokio::test]
async fn a_conversation_is_resumed_if_there_is_one() {
    let first = stage("", &NEW).await;
    first.at_prompt().await;
    first.says("hello [[crash 7]]").await;
    assert_eq!(first.end().await, Some(7));
    let second = start(first.folder, "", &["--resume", CONVERSATION]).await;
    second.until("» hello").await;
    second.says("[[kill9]]").await;
    assert!(second.end().await != Some(0));
    let none = stage("", &["--resume", "another"]).await;
    assert_eq!(none.end().await, Some(1));
}

#[tokio::test]
async fn a_first_launch_would_exit_by_default() {
    let stage = stage("first-launch trust onboarding", &NEW).await;
    stage.until("│ ❯ 2. No, exit").await;
    stage.types("1");
    stage.until("│ ❯ 3. Exit").await;
    stage.types("\r");
    assert_eq!(stage.end().await, Some(1));
    let again = start(stage.folder, "first-launch trust onboarding", &NEW).await;
    again.until("Choose the text style").await;
}

#[tokio::test]
async fn hooks_are_lost_and_starts_fail_as_configured() {
    let stage = stage("die-at-start 1; lose-hook Stop", &NEW).await;
    assert_eq!(stage.end().await, Some(1));
    let script = "die-at-start 1; lose-hook Stop; alternate-screen; slow-redraw 1ms; no-bracketed-paste";
    let again = start(stage.folder, script, &NEW).await;
    again.at_prompt().await;
    let screen = again.runtime.screen(&again.process).await.unwrap();
    assert!(screen.alternate && !screen.bracketed_paste);
    again.types("[[screen unknown]]\r");
    again.until("░▒▓ ░▒▓").await;
    again.types("x");
    again.at_prompt().await;
    again.types("[[limit 17:42]]\r");
    again.until("resets 17:42").await;
    again.at_prompt().await;
    again.types("\x04");
    assert!(!again.hooks("SessionEnd").await.contains(&"Stop".to_owned()));
}

#[tokio::test]
async fn a_server_can_leave_the_process_tree() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let prompt = format!("[[fork {port}]]");
    let stage = stage("", &[&NEW[..], &[prompt.as_str()]].concat()).await;
    stage.until(&format!("serving on port {port}")).await;
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    end_server(port);
}

/// Ends the one process that was started with exactly these arguments.
fn end_server(port: u16) {
    let wanted = format!("--serve\0{port}\0");
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
        let line = std::fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        if line.ends_with(&wanted) {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}
