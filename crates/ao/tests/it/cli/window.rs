//! A program at a terminal of its own, and the keys of a person.

use std::io::{ErrorKind, Read, Write};
use std::num::NonZero;
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

/// Longer than this nothing takes that will come at all.
const BOUND: Duration = Duration::from_secs(30);

pub(crate) struct Window {
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    shown: Arc<(Mutex<vt100::Parser>, Condvar)>,
    /// The reason why the output ended, once it has.
    end: Arc<OnceLock<String>>,
    _master: Box<dyn MasterPty + Send>,
}

impl Window {
    pub(crate) fn open(command: CommandBuilder) -> Window {
        let size = PtySize { rows: 30, cols: 110, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let child = pair.slave.spawn_command(command).unwrap();
        let (rows, columns) = (NonZero::new(30).unwrap(), NonZero::new(110).unwrap());
        let shown = Arc::new((Mutex::new(vt100::Parser::new(rows, columns, 0)), Condvar::new()));
        let mut output = pair.master.try_clone_reader().unwrap();
        let screen = shown.clone();
        let end = Arc::new(OnceLock::new());
        let ended = end.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            let end = loop {
                match output.read(&mut bytes) {
                    Ok(0) => break "its output ended".to_owned(),
                    Ok(read) => {
                        screen.0.lock().unwrap().process(&bytes[..read]);
                        screen.1.notify_all();
                    }
                    Err(err) if err.kind() == ErrorKind::Interrupted => {}
                    Err(err) => break format!("its output ended: {err}"),
                }
            };
            let _ = ended.set(end);
        });
        Window { child, keys: pair.master.take_writer().unwrap(), shown, end, _master: pair.master }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits until the screen shows something, and fails with what it shows instead.
    pub(crate) fn until(&self, what: impl Fn(&str) -> bool) -> String {
        let (parser, changed) = &*self.shown;
        let deadline = Instant::now() + BOUND;
        let mut parser = parser.lock().unwrap();
        loop {
            let text = parser.screen().contents();
            if what(&text) {
                return text;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let end = self.end.get().map_or("it is still being read", String::as_str);
            assert!(!left.is_zero(), "the screen stays at ({end}):\n{text}");
            parser = changed.wait_timeout(parser, left).unwrap().0;
        }
    }

    /// Waits for its end, and returns its exit code.
    pub(crate) fn code(&mut self) -> u32 {
        let deadline = Instant::now() + BOUND;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.exit_code();
            }
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
