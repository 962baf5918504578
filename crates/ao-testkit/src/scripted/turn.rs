//! Turns of the agent, step by step.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpid, kill_process, setsid};
use serde_json::json;

use super::app::{AppEvent, SPIN, ScreenMode, ScriptedApp, now};
use super::dialog::{DialogChoice, DialogKind, OpenDialog};
use super::tags::{ScriptStep, steps};

/// Lifetime of a server: one that was never ended must not outlive its test by much.
const SERVER_LIFE: Duration = Duration::from_secs(300);

/// A running turn.
#[derive(Debug)]
pub(super) struct RunningTurn {
    number: u32,
    began: Instant,
    steps: VecDeque<ScriptStep>,
    doing: TurnActivity,
}

#[derive(Debug)]
enum TurnActivity {
    Nothing,
    Work { until: Instant },
    Tool { command: String, silent: bool, pid: Option<Pid> },
    Ask,
}

impl ScriptedApp {
    /// Continues as far as possible: with the running turn, or with the next submitted one.
    pub(super) fn go_on(&mut self) {
        while self.exit.is_none() && !matches!(self.mode, ScreenMode::Dialog(_)) {
            let Some(turn) = &mut self.turn else {
                let Some(text) = self.queued.pop_front() else { return };
                self.take(&text);
                continue;
            };
            match turn.doing {
                TurnActivity::Work { until } if Instant::now() < until => return,
                TurnActivity::Tool { .. } => return,
                _ => turn.doing = TurnActivity::Nothing,
            }
            match turn.steps.pop_front() {
                Some(step) => self.start(step),
                None => self.end_turn(),
            }
        }
    }

    /// Takes a text as a user's turn.
    fn take(&mut self, text: &str) {
        self.turns += 1;
        let turn = format!("{}-{}", self.conversation, self.turns);
        self.note(&json!({ "type": "user", "turn": turn, "text": text, "at": now() }));
        self.show(&format!("» {text}"));
        self.hook("UserPromptSubmit", json!({ "prompt": text, "prompt_id": turn }));
        let steps = match self.settings.ignore_tags {
            true => steps(""),
            false => steps(self.taken_up(text).as_deref().unwrap_or(text)),
        };
        let (began, doing) = (Instant::now(), TurnActivity::Nothing);
        self.turn = Some(RunningTurn { number: self.turns, began, steps: steps.into(), doing });
        self.idle_since = None;
    }

    /// Returns the earlier turn that a text without tags repeats, with the setting `take-up`.
    fn taken_up(&self, text: &str) -> Option<String> {
        let refers = self.settings.take_up && !text.contains("[[");
        let turns = if refers { self.home.turns(&self.conversation) } else { vec![] };
        turns.into_iter().rfind(|turn| turn.contains("[["))
    }

    fn start(&mut self, step: ScriptStep) {
        match step {
            ScriptStep::Work(time) => self.doing(TurnActivity::Work { until: Instant::now() + time }),
            ScriptStep::Tool { command, silent } => self.run_tool(command, silent),
            ScriptStep::Ask(question) => {
                let input = json!({ "tool_name": "Bash", "tool_input": { "command": question } });
                self.hook("PreToolUse", input.clone());
                self.hook("PermissionRequest", input);
                self.mode = ScreenMode::Dialog(OpenDialog::permission(&question));
                self.doing(TurnActivity::Ask);
            }
            ScriptStep::Deny(tool) => {
                self.denied += 1;
                let call = format!("{}-{}-{}", self.conversation, self.turns, self.denied);
                let input = json!({ "tool_name": tool, "tool_input": {}, "tool_use_id": call });
                self.hook("PreToolUse", input.clone());
                self.hook("PermissionDenied", input);
                self.show(&format!("● {tool} was denied"));
            }
            ScriptStep::Say(text) => {
                self.note(&json!({ "type": "assistant", "text": text }));
                self.show(&format!("● {text}"));
            }
            ScriptStep::Crash(code) => {
                self.flush_hooks();
                std::process::exit(code.into());
            }
            ScriptStep::Kill => {
                self.flush_hooks();
                let _ = kill_process(getpid(), Signal::KILL);
            }
            ScriptStep::Fork(port) => {
                let me = std::env::current_exe().unwrap_or_default();
                let apart = Command::new(me).args(["--serve-apart", &port.to_string()]).status();
                let up = apart.is_ok_and(|status| status.success());
                self.show(&format!("● {} on port {port}", if up { "serving" } else { "cannot serve" }));
            }
            ScriptStep::Limit(time) => {
                self.show(&format!("● You've hit your limit · resets {time}"));
                self.note(&json!({ "type": "limit", "resets": time }));
                self.end_turn();
            }
            ScriptStep::UnknownScreen => self.mode = ScreenMode::Unknown,
            ScriptStep::Set(setting) => {
                if let Err(why) = self.settings.set(&setting) {
                    self.show(&format!("● {why}"));
                }
            }
        }
    }

    fn doing(&mut self, doing: TurnActivity) {
        if let Some(turn) = &mut self.turn {
            turn.doing = doing;
        }
    }

    fn run_tool(&mut self, command: String, silent: bool) {
        self.hook("PreToolUse", json!({ "tool_name": "Bash", "tool_input": { "command": command } }));
        self.show(&format!("● Bash({command})"));
        let child = Command::new("sh")
            .args(["-c", &command])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(self.home.error_log())
            .spawn();
        let (happened, turn) = (self.happened.clone(), self.turns);
        let pid = child.as_ref().ok().and_then(|child| Pid::from_raw(child.id() as i32));
        thread::spawn(move || {
            let code = child.and_then(|mut child| child.wait()).ok().and_then(|status| status.code());
            let _ = happened.send(AppEvent::ToolEnded { turn, code });
        });
        self.doing(TurnActivity::Tool { command, silent, pid });
    }

    pub(super) fn tool_ended(&mut self, of: u32, code: Option<i32>) {
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.number == of) else { return };
        if let TurnActivity::Tool { command, .. } = std::mem::replace(&mut turn.doing, TurnActivity::Nothing)
        {
            self.note(&json!({ "type": "tool", "command": command, "exit": code }));
            let input = json!({ "command": command });
            self.hook("PostToolUse", json!({ "tool_name": "Bash", "tool_input": input }));
        }
    }

    pub(super) fn chosen(&mut self, choice: DialogChoice) {
        let ScreenMode::Dialog(dialog) = std::mem::replace(&mut self.mode, ScreenMode::Prompt) else {
            return;
        };
        self.note(&json!({ "type": "choice", "question": dialog.question, "choice": choice.number() }));
        if self.settings.stale_dialog {
            self.show(&dialog.lines().join("\n"));
        }
        if dialog.exits(choice) {
            self.exit = Some(if dialog.about == DialogKind::Permission { 0 } else { 1 });
            return;
        }
        match &dialog.about {
            DialogKind::Permission if choice == DialogChoice::Number(1) => self.doing(TurnActivity::Nothing),
            DialogKind::Permission => {
                self.show("● denied");
                self.end_turn();
            }
            DialogKind::FirstLaunch(name) => {
                let _ = fs::write(self.home.folder().join(format!("accepted-{name}")), "");
                self.open_first_dialog();
            }
        }
    }

    /// Opens the next dialog of a first launch, unless it was answered at an earlier start.
    pub(super) fn open_first_dialog(&mut self) {
        let folder = self.home.folder().to_owned();
        let open = |name: &&String| !folder.join(format!("accepted-{name}")).exists();
        if let Some(name) = self.settings.first_launch.iter().find(open) {
            self.mode = ScreenMode::Dialog(OpenDialog::first_launch(name));
        }
    }

    fn end_turn(&mut self) {
        self.turn = None;
        self.hook("Stop", json!({ "stop_hook_active": false }));
        self.idle_since = Some(Instant::now());
    }

    /// Interrupts the turn. Agents run no hook then.
    pub(super) fn interrupt(&mut self) {
        if let Some(turn) = self.turn.take() {
            if let TurnActivity::Tool { pid: Some(pid), .. } = turn.doing {
                let _ = kill_process(pid, Signal::TERM);
            }
            self.note(&json!({ "type": "interrupted" }));
            self.show("● interrupted");
        }
    }

    /// Returns how long the turn has been running, if the screen shows it.
    pub(super) fn working_for(&self) -> Option<Duration> {
        let turn = self.turn.as_ref()?;
        (!matches!(turn.doing, TurnActivity::Ask)).then(|| turn.began.elapsed())
    }

    /// Returns the time until something is due.
    pub(super) fn wait(&self) -> Duration {
        const FOR_EVER: Duration = Duration::from_secs(3600);
        match (&self.mode, &self.turn) {
            (ScreenMode::Dialog(dialog), _) if !dialog.reminded => {
                self.settings.notify_after.saturating_sub(dialog.opened.elapsed())
            }
            (ScreenMode::Dialog(_), _) => FOR_EVER,
            (_, Some(turn)) => match turn.doing {
                TurnActivity::Work { until } => SPIN.min(until.saturating_duration_since(Instant::now())),
                TurnActivity::Tool { silent: true, .. } => FOR_EVER,
                _ => SPIN,
            },
            (_, None) => self
                .idle_since
                .map_or(FOR_EVER, |since| self.settings.remind_after.saturating_sub(since.elapsed())),
        }
    }

    /// Sends the notifications that are due.
    pub(super) fn remind(&mut self) {
        if let ScreenMode::Dialog(dialog) = &mut self.mode
            && !dialog.reminded
            && dialog.opened.elapsed() >= self.settings.notify_after
        {
            dialog.reminded = true;
            let message = format!("The agent needs your permission: {}", dialog.question);
            self.hook(
                "Notification",
                json!({ "notification_type": "permission_prompt", "message": message }),
            );
        }
        if self.turn.is_none() && self.idle_since.is_some_and(|it| it.elapsed() >= self.settings.remind_after)
        {
            self.idle_since = None;
            let message = "The agent is waiting for your input";
            self.hook("Notification", json!({ "notification_type": "idle_prompt", "message": message }));
        }
    }
}

/// Starts a server outside of our process tree and session, and returns when it listens.
pub(super) fn serve_apart(port: &str) -> Result<u8, String> {
    let failed = |err: std::io::Error| format!("the server cannot be started: {err}");
    // Fails for the leader of a process group, which is separate enough.
    let _ = setsid();
    let mut server = Command::new(std::env::current_exe().map_err(failed)?)
        .args(["--serve", port])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let mut line = String::new();
    let stdout = server.stdout.take().ok_or("the server cannot be heard")?;
    BufReader::new(stdout).read_line(&mut line).map_err(failed)?;
    Ok(if line.is_empty() { 1 } else { 0 })
}

pub(super) fn serve(port: &str) -> Result<u8, String> {
    let port: u16 = port.parse().map_err(|_| format!("`{port}` is no port"))?;
    let listener = TcpListener::bind(("127.0.0.1", port)).map_err(|err| err.to_string())?;
    let mut stdout = std::io::stdout();
    let _ = stdout.write_all(b"up\n").and_then(|()| stdout.flush());
    thread::spawn(move || for _ in listener.incoming() {});
    thread::sleep(SERVER_LIFE);
    Ok(0)
}
