//! The agent as a whole: one loop that handles events and draws the screen.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::dialog::OpenDialog;
use super::draw;
use super::home::AgentHome;
use super::hooks::HookRunner;
use super::keys::{KeyParser, PressedKey};
use super::settings::ScriptedSettings;
use super::terminal::{self, RawTerminal};
use super::turn::{RunningTurn, serve, serve_apart};

/// Period of the spinner.
pub(super) const SPIN: Duration = Duration::from_millis(120);
/// Time for which an escape waits for a sequence.
const ESCAPE: Duration = Duration::from_millis(30);
/// The most lines of the conversation on the screen.
const LOG_LINES: usize = 500;

/// An event of the main loop.
#[derive(Debug)]
pub(super) enum AppEvent {
    Typed(Vec<u8>),
    /// The terminal is gone.
    HungUp,
    /// The tool call of this turn has ended.
    ToolEnded {
        turn: u32,
        code: Option<i32>,
    },
}

/// The lower part of the screen.
#[derive(Debug)]
pub(super) enum ScreenMode {
    Prompt,
    Dialog(OpenDialog),
    Unknown,
}

/// The text in the input box.
#[derive(Debug, Default)]
pub(super) struct InputDraft {
    /// Pieces of text, each with the label that replaces it on the screen, if any.
    pieces: Vec<(String, Option<String>)>,
    pasted: usize,
}

#[derive(Debug)]
pub(super) struct ScriptedApp {
    pub(super) settings: ScriptedSettings,
    pub(super) conversation: String,
    pub(super) home: AgentHome,
    hooks: HookRunner,
    terminal: RawTerminal,
    pub(super) log: VecDeque<String>,
    pub(super) draft: InputDraft,
    pub(super) mode: ScreenMode,
    pub(super) turn: Option<RunningTurn>,
    /// Submitted while a turn was running.
    pub(super) queued: VecDeque<String>,
    pub(super) turns: u32,
    /// Number of denied tool calls.
    pub(super) denied: u32,
    pub(super) frame: usize,
    pub(super) idle_since: Option<Instant>,
    pub(super) exit: Option<u8>,
    pub(super) happened: Sender<AppEvent>,
}

/// Runs until the end, and returns the exit code.
pub(super) fn run(mut args: impl Iterator<Item = String>) -> Result<u8, String> {
    let (mut conversation, mut resume, mut prompt) = (None, false, None);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--conversation" | "--resume" => {
                resume = arg == "--resume";
                conversation = Some(args.next().ok_or(format!("{arg} needs a conversation"))?);
            }
            "--serve-apart" => return serve_apart(&args.next().unwrap_or_default()),
            "--serve" => return serve(&args.next().unwrap_or_default()),
            "--" => prompt = args.next(),
            _ => prompt = Some(arg),
        }
    }
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let home = AgentHome::new(set("SCRIPTED_HOME").ok_or("SCRIPTED_HOME is not set")?);
    std::fs::create_dir_all(home.folder()).map_err(|err| format!("SCRIPTED_HOME: {err}"))?;
    let settings = ScriptedSettings::read(&set("SCRIPTED_SCRIPT").unwrap_or_default())?;
    let starts = home.count_start().map_err(|err| format!("SCRIPTED_HOME: {err}"))?;
    if starts < u64::from(settings.die_at_start) {
        return Err("die-at-start: it exits at its start".into());
    }
    let conversation = conversation.unwrap_or_else(|| format!("c{}", std::process::id()));
    if resume && !home.transcript(&conversation).exists() {
        return Err(format!("no conversation found with the id {conversation}"));
    }
    std::thread::sleep(settings.slow_start);

    let terminal = RawTerminal::take(settings.bracketed_paste, settings.alternate_screen)?;
    let (happened, events) = channel();
    terminal::read(happened.clone());
    let mut app = ScriptedApp {
        hooks: HookRunner::new(set("SCRIPTED_HOOK")),
        conversation,
        home,
        terminal,
        log: VecDeque::new(),
        draft: InputDraft::default(),
        mode: ScreenMode::Prompt,
        turn: None,
        queued: prompt.into_iter().collect(),
        turns: 0,
        denied: 0,
        frame: 0,
        idle_since: None,
        exit: None,
        happened,
        settings,
    };
    app.begin(resume);
    Ok(app.live(&events))
}

impl ScriptedApp {
    fn begin(&mut self, resume: bool) {
        if resume {
            for text in self.home.turns(&self.conversation) {
                self.show(&format!("» {text}"));
                self.turns += 1;
            }
        }
        let source = if resume { "resume" } else { "startup" };
        self.note(&json!({ "type": source, "at": now() }));
        self.hook("SessionStart", json!({ "source": source }));
        self.open_first_dialog();
    }

    fn live(&mut self, events: &Receiver<AppEvent>) -> u8 {
        let mut keys = KeyParser::new(self.settings.bracketed_paste);
        loop {
            self.go_on();
            self.remind();
            if let Some(code) = self.exit {
                self.hook("SessionEnd", json!({ "reason": "prompt_input_exit" }));
                self.hooks.flush();
                return code;
            }
            self.draw();
            let wait = if keys.waits() { ESCAPE } else { self.wait() };
            match events.recv_timeout(wait) {
                Ok(AppEvent::Typed(bytes)) => {
                    for key in keys.push(&bytes) {
                        self.press(key);
                    }
                }
                Ok(AppEvent::ToolEnded { turn, code }) => self.tool_ended(turn, code),
                Ok(AppEvent::HungUp) if self.settings.outlive_terminal => {}
                Ok(AppEvent::HungUp) | Err(RecvTimeoutError::Disconnected) => self.exit = Some(0),
                Err(RecvTimeoutError::Timeout) => {
                    for key in keys.settle() {
                        self.press(key);
                    }
                    self.frame += 1;
                }
            }
        }
    }

    fn press(&mut self, key: PressedKey) {
        match &mut self.mode {
            ScreenMode::Unknown => self.mode = ScreenMode::Prompt,
            ScreenMode::Dialog(dialog) => {
                if let Some(choice) = dialog.press(&key) {
                    self.chosen(choice);
                }
            }
            ScreenMode::Prompt => self.edit(key),
        }
    }

    fn edit(&mut self, key: PressedKey) {
        match key {
            PressedKey::Enter if self.draft.is_empty() => {}
            PressedKey::Enter => {
                let swallowed = self.settings.never_submit || self.settings.swallow_enters > 0;
                self.settings.swallow_enters = self.settings.swallow_enters.saturating_sub(1);
                self.note(&json!({ "type": "enter", "swallowed": swallowed }));
                if !swallowed {
                    self.queued.push_back(self.draft.text());
                    self.draft = InputDraft::default();
                }
            }
            PressedKey::Escape => self.interrupt(),
            PressedKey::Char(c) => self.draft.add(&c.to_string()),
            PressedKey::Paste(text) => self.draft.paste(text, self.settings.collapse_paste),
            PressedKey::Backspace => self.draft.backspace(),
            PressedKey::Control('u') => self.draft = InputDraft::default(),
            PressedKey::Control('c') if !self.draft.is_empty() => self.draft = InputDraft::default(),
            PressedKey::Control('c' | 'd') => self.exit = Some(0),
            PressedKey::Up | PressedKey::Down | PressedKey::Control(_) => {}
        }
        let _ = self.home.keep_draft(&self.conversation, &self.draft.text());
    }

    fn draw(&mut self) {
        self.terminal.pause = self.settings.slow_redraw;
        let (columns, rows) = self.terminal.size();
        let (lines, cursor) = draw::frame(self, columns, rows);
        self.terminal.draw(&lines, cursor);
    }

    /// Adds lines to the conversation on the screen.
    pub(super) fn show(&mut self, text: &str) {
        self.log.extend(text.split('\n').map(str::to_owned));
        while self.log.len() > LOG_LINES {
            self.log.pop_front();
        }
    }

    /// Adds an entry to the transcript.
    pub(super) fn note(&self, entry: &Value) {
        let _ = self.home.add(&self.conversation, entry);
    }

    pub(super) fn hook(&self, event: &str, more: Value) {
        if self.settings.loses(event) {
            return;
        }
        let mut payload = json!({
            "hook_event_name": event,
            "session_id": self.conversation,
            "transcript_path": self.home.transcript(&self.conversation),
            "cwd": std::env::current_dir().unwrap_or_default(),
        });
        if let (Some(payload), Value::Object(more)) = (payload.as_object_mut(), more) {
            payload.extend(more);
        }
        self.hooks.run(payload, self.settings.delayed_hooks.get(event).copied());
    }

    pub(super) fn flush_hooks(&self) {
        self.hooks.flush();
    }
}

impl InputDraft {
    fn add(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some((piece, None)) => piece.push_str(text),
            _ => self.pieces.push((text.to_owned(), None)),
        }
    }

    fn paste(&mut self, text: String, collapse: Option<usize>) {
        let lines = text.lines().count();
        if collapse.is_none_or(|most| lines <= most) {
            return self.add(&text);
        }
        self.pasted += 1;
        let label = format!("[Pasted text #{} +{lines} lines]", self.pasted);
        self.pieces.push((text, Some(label)));
    }

    fn backspace(&mut self) {
        let Some((text, label)) = self.pieces.last_mut() else { return };
        text.pop();
        if text.is_empty() || label.is_some() {
            self.pieces.pop();
        }
    }

    fn is_empty(&self) -> bool {
        self.text().trim().is_empty()
    }

    fn text(&self) -> String {
        self.pieces.iter().map(|(text, _)| text.as_str()).collect()
    }

    pub(super) fn shown(&self) -> String {
        self.pieces.iter().map(|(text, label)| label.as_deref().unwrap_or(text)).collect()
    }
}

/// Milliseconds since 1970.
pub(super) fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map(|since| since.as_millis() as u64).unwrap_or_default()
}
