//! Reads the output of the program: records it, and feeds it to the terminal when there is time.

use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::holder::ProgramHolder;
use super::terminal::TerminalSize;
use crate::recording::Keyframe;

/// Time for which a possible secret is held back from viewers. Bytes split by a buffer boundary follow at once.
const EASE: Duration = Duration::from_millis(20);

impl ProgramHolder {
    /// Reads the output of the program, at most `most` bytes.
    pub(super) fn read_output(&mut self, most: usize) {
        let mut space = std::mem::take(&mut self.space);
        let mut left = most;
        while left > 0 && self.output_is_open {
            let mut count = 0;
            // A terminal returns little at a time, and the processing costs more than the reads.
            while count < space.len() {
                match rustix::io::read(self.program.output(), &mut space[count..]) {
                    Ok(0) => self.output_is_open = false,
                    Ok(more) => {
                        count += more;
                        continue;
                    }
                    Err(Errno::INTR) => continue,
                    Err(Errno::AGAIN) => left = 0,
                    Err(_) => self.output_is_open = false,
                }
                break;
            }
            left = left.saturating_sub(count);
            self.keep_redacted(&space[..count]);
        }
        self.space = space;
        self.easing = self.redactor.can_ease().then(|| Instant::now() + EASE);
    }

    fn keep_redacted(&mut self, bytes: &[u8]) {
        if self.redactor.is_empty() {
            self.keep(bytes);
        } else {
            let shown = self.redactor.push(bytes);
            self.keep(&shown);
        }
    }

    /// Shows viewers a little of the held-back bytes, once the output has paused: they are most likely the end of a
    /// prompt.
    pub(super) fn ease(&mut self) {
        if self.easing.is_some_and(|at| at <= Instant::now()) {
            self.easing = None;
            let shown = self.redactor.ease();
            self.keep(&shown);
        }
    }

    /// Flushes the held-back bytes at the end of the output, masked as usual.
    pub(super) fn finish_output(&mut self) {
        self.easing = None;
        let shown = self.redactor.finish();
        self.keep(&shown);
        let shown = self.errors_redactor.finish();
        self.log(&shown);
    }

    fn keep(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.log(bytes);
        if self.kept.is_full() {
            self.cut();
        }
        // A full disk must not stop the program. Readers notice the gap by its offset.
        if self.kept.append(bytes).is_err() {
            self.catch_up();
            if let Some(terminal) = &mut self.terminal {
                terminal.feed(bytes);
                self.input.add(terminal.answers());
            }
        }
    }

    /// Records the output that people are shown of a program on pipes.
    fn log(&mut self, bytes: &[u8]) {
        if let Some(log) = self.log.as_mut().filter(|_| !bytes.is_empty()) {
            let _ = log.append_plain(bytes);
        }
    }

    /// Feeds the terminal the output that it has not processed yet. In large pieces, because of lines that scroll away
    /// only the end counts.
    pub(super) fn catch_up(&mut self) {
        let (Some(terminal), offset) = (&mut self.terminal, self.kept.offset()) else { return };
        while self.fed < offset {
            match self.kept.read(self.fed, &mut self.space) {
                Some(count) => {
                    terminal.feed(&self.space[..count]);
                    self.fed += count as u64;
                }
                // It could not be recorded.
                None => self.fed = offset,
            }
        }
        self.input.add(terminal.answers());
    }

    pub(super) fn is_behind(&self) -> bool {
        self.terminal.is_some() && self.fed < self.kept.offset()
    }

    pub(super) fn cut(&mut self) {
        self.catch_up();
        let keyframe = match &self.terminal {
            Some(terminal) => {
                let size = terminal.size();
                Keyframe { size: (size.0, size.1), bytes: terminal.keyframe() }
            }
            None => Keyframe::default(),
        };
        let _ = self.kept.cut(&keyframe);
    }

    pub(super) fn resize(&mut self, size: TerminalSize) {
        let size = size.sane();
        self.catch_up();
        let Some(terminal) = &mut self.terminal else { return };
        if terminal.size() != size && self.program.resize(size).is_ok() {
            terminal.resize(size);
            // The recording before and after has different sizes.
            self.cut();
        }
    }

    pub(super) fn read_errors(&mut self) {
        let mut space = std::mem::take(&mut self.space);
        while self.errors_are_open {
            let Some(errors) = self.program.errors() else { break };
            match rustix::io::read(errors, &mut space[..]) {
                Ok(0) => self.errors_are_open = false,
                Ok(count) => {
                    let shown = self.errors_redactor.push(&space[..count]);
                    self.log(&shown);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => self.errors_are_open = false,
            }
        }
        self.space = space;
    }
}
