//! The agent as a whole: one loop that takes what happens and draws what is.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::dialog::Dialog;
use super::draw;
use super::home::Home;
use super::hooks::Hooks;
use super::keys::{Key, Keys};
use super::settings::Settings;
use super::terminal::{self, Terminal};
use super::turn::{Turn, serve, serve_apart};

/// How often the spinner turns.
pub(super) const SPIN: Duration = Duration::from_millis(120);
/// How long an escape waits for what may follow it.
const ESCAPE: Duration = Duration::from_millis(30);
/// How many lines of what was said stay on the screen.
const LOG_LINES: usize = 500;

/// What the loop waits for.
#[derive(Debug)]
pub(super) enum Happened {
    Typed(Vec<u8>),
    /// The terminal is gone.
    HungUp,
    /// The tool call of this turn has ended.
    ToolEnded {
        turn: u32,
        code: Option<i32>,
    },
}

/// What the lower part of the screen is.
#[derive(Debug)]
pub(super) enum Mode {
    Prompt,
    Dialog(Dialog),
    Unknown,
}

/// The text in the input box.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// Each with what is shown in its place, if that is something else.
    pieces: Vec<(String, Option<String>)>,
    pasted: usize,
}

#[derive(Debug)]
pub(super) struct App {
    pub(super) settings: Settings,
    pub(super) conversation: String,
    pub(super) home: Home,
    hooks: Hooks,
    terminal: Terminal,
    pub(super) log: VecDeque<String>,
    pub(super) draft: Draft,
    pub(super) mode: Mode,
    pub(super) turn: Option<Turn>,
    /// Submitted while a turn was running.
    pub(super) queued: VecDeque<String>,
    pub(super) turns: u32,
    /// How many tool calls were not allowed.
    pub(super) denied: u32,
    pub(super) frame: usize,
    pub(super) idle_since: Option<Instant>,
    pub(super) exit: Option<u8>,
    pub(super) happened: Sender<Happened>,
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
    let home = Home::new(set("SCRIPTED_HOME").ok_or("SCRIPTED_HOME is not set")?);
    std::fs::create_dir_all(home.folder()).map_err(|err| format!("SCRIPTED_HOME: {err}"))?;
    let settings = Settings::read(&set("SCRIPTED_SCRIPT").unwrap_or_default())?;
    let starts = home.count_start().map_err(|err| format!("SCRIPTED_HOME: {err}"))?;
    if starts < u64::from(settings.die_at_start) {
        return Err("it was told to die at its start".into());
    }
    let conversation = conversation.unwrap_or_else(|| format!("c{}", std::process::id()));
    if resume && !home.transcript(&conversation).exists() {
        return Err(format!("no conversation found with the id {conversation}"));
    }
    std::thread::sleep(settings.slow_start);

    let terminal = Terminal::take(settings.bracketed_paste, settings.alternate_screen)?;
    let (happened, events) = channel();
    terminal::read(happened.clone());
    let mut app = App {
        hooks: Hooks::new(set("SCRIPTED_HOOK")),
        conversation,
        home,
        terminal,
        log: VecDeque::new(),
        draft: Draft::default(),
        mode: Mode::Prompt,
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

impl App {
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

    fn live(&mut self, events: &Receiver<Happened>) -> u8 {
        let mut keys = Keys::new(self.settings.bracketed_paste);
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
                Ok(Happened::Typed(bytes)) => {
                    for key in keys.push(&bytes) {
                        self.press(key);
                    }
                }
                Ok(Happened::ToolEnded { turn, code }) => self.tool_ended(turn, code),
                Ok(Happened::HungUp) if self.settings.outlive_terminal => {}
                Ok(Happened::HungUp) | Err(RecvTimeoutError::Disconnected) => self.exit = Some(0),
                Err(RecvTimeoutError::Timeout) => {
                    for key in keys.settle() {
                        self.press(key);
                    }
                    self.frame += 1;
                }
            }
        }
    }

    fn press(&mut self, key: Key) {
        match &mut self.mode {
            Mode::Unknown => self.mode = Mode::Prompt,
            Mode::Dialog(dialog) => {
                if let Some(choice) = dialog.press(&key) {
                    self.chosen(choice);
                }
            }
            Mode::Prompt => self.edit(key),
        }
    }

    fn edit(&mut self, key: Key) {
        match key {
            Key::Enter if self.draft.is_empty() => {}
            Key::Enter => {
                let swallowed = self.settings.never_submit || self.settings.swallow_enters > 0;
                self.settings.swallow_enters = self.settings.swallow_enters.saturating_sub(1);
                self.note(&json!({ "type": "enter", "swallowed": swallowed }));
                if !swallowed {
                    self.queued.push_back(self.draft.text());
                    self.draft = Draft::default();
                }
            }
            Key::Escape => self.interrupt(),
            Key::Char(c) => self.draft.add(&c.to_string()),
            Key::Paste(text) => self.draft.paste(text, self.settings.collapse_paste),
            Key::Backspace => self.draft.backspace(),
            Key::Control('u') => self.draft = Draft::default(),
            Key::Control('c') if !self.draft.is_empty() => self.draft = Draft::default(),
            Key::Control('c' | 'd') => self.exit = Some(0),
            Key::Up | Key::Down | Key::Control(_) => {}
        }
        let _ = self.home.keep_draft(&self.conversation, &self.draft.text());
    }

    fn draw(&mut self) {
        self.terminal.pause = self.settings.slow_redraw;
        let (columns, rows) = self.terminal.size();
        let (lines, cursor) = draw::frame(self, columns, rows);
        self.terminal.draw(&lines, cursor);
    }

    /// Puts lines into the part of the screen that shows what was said.
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

impl Draft {
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
