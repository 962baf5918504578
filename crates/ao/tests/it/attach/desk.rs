//! A person at a terminal in which `ao` runs.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::tcgetattr;
use tokio::time::Instant;

use crate::fleet::PATIENCE;

pub(super) struct Desk {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keyboard: Arc<Mutex<Box<dyn Write + Send>>>,
    /// The other end, by which the modes of the terminal are seen. It also keeps them when nobody else has it.
    tty: File,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Desk {
    pub(super) fn with(data_dir: &Path, (columns, rows): (u16, u16), args: &[&str]) -> Desk {
        let pair = native_pty_system().openpty(pty_size((columns, rows))).unwrap();
        let tty = File::open(pair.master.tty_name().unwrap()).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_ao"));
        command.args(args);
        command.env_clear();
        command.env("AO_DATA_DIR", data_dir);
        command.env("TERM", "xterm-256color");
        command.cwd(data_dir);
        let child = pair.slave.spawn_command(command).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let keyboard = pair.master.take_writer().unwrap();
        let of = |size| NonZero::new(size).unwrap();
        let screen = Arc::new(Mutex::new(vt100::Parser::new(of(rows), of(columns), 0)));
        let shown = screen.clone();
        std::thread::spawn(move || {
            let mut space = [0; 16 * 1024];
            while let Ok(count @ 1..) = reader.read(&mut space) {
                shown.lock().unwrap().process(&space[..count]);
            }
        });
        Desk { child, master: pair.master, keyboard: Arc::new(Mutex::new(keyboard)), tty, screen }
    }

    /// Types apart: a terminal takes only so much until somebody reads it.
    pub(super) fn types(&self, keys: &str) {
        let (keyboard, keys) = (self.keyboard.clone(), keys.to_owned());
        std::thread::spawn(move || {
            let mut keyboard = keyboard.lock().unwrap();
            keyboard.write_all(keys.as_bytes()).and_then(|()| keyboard.flush())
        });
    }

    pub(super) fn resize(&self, size: (u16, u16)) {
        let of = |size| NonZero::new(size).unwrap();
        self.screen.lock().unwrap().screen_mut().set_size(of(size.1), of(size.0));
        self.master.resize(pty_size(size)).unwrap();
    }

    pub(super) fn signal(&self, signal: Signal) {
        let pid = self.child.process_id().and_then(|pid| Pid::from_raw(pid as i32)).unwrap();
        kill_process(pid, signal).unwrap();
    }

    pub(super) fn screen(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    pub(super) fn in_alternate_screen(&self) -> bool {
        self.screen.lock().unwrap().screen().alternate_screen()
    }

    pub(super) fn wants_bracketed_paste(&self) -> bool {
        self.screen.lock().unwrap().screen().bracketed_paste()
    }

    /// How the terminal treats what is typed and shown.
    pub(super) fn modes(&self) -> String {
        let modes = tcgetattr(&self.tty).unwrap();
        format!("{:?} {:?} {:?}", modes.input_modes, modes.output_modes, modes.local_modes)
    }

    pub(super) async fn until_shown(&self, text: &str) {
        self.until(&format!("`{text}` is shown"), |desk| desk.screen().contains(text)).await;
    }

    pub(super) async fn until(&self, what: &str, so: impl Fn(&Desk) -> bool) {
        until(what, async || if so(self) { Ok(()) } else { Err(self.screen()) }).await;
    }

    /// Waits for the program to end.
    pub(super) async fn exit_code(&mut self) -> u32 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                // What it said last may still be on its way to the screen.
                tokio::time::sleep(Duration::from_millis(50)).await;
                return status.exit_code();
            }
            assert!(Instant::now() < deadline, "it does not end; its screen:\n{}", self.screen());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something holds, of which nobody tells.
pub(super) async fn until(what: &str, mut so: impl AsyncFnMut() -> Result<(), String>) {
    let deadline = Instant::now() + PATIENCE;
    while let Err(instead) = so().await {
        assert!(Instant::now() < deadline, "it never came to this: {what}; instead:\n{instead}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn pty_size((cols, rows): (u16, u16)) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}
