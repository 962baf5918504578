//! Writes notices as lines to a terminal, or to wherever stderr goes.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use ao_core::notice::Notice;
use ao_ports::{Notifier, NotifierAbilities, NotifyError};
use async_trait::async_trait;

/// Writes each notice as one line.
pub struct TerminalNotifier {
    /// Shared with the writing thread: a terminal that is stopped with Ctrl-S must not stop the daemon.
    out: Arc<Mutex<dyn Write + Send>>,
}

impl TerminalNotifier {
    pub fn new(out: impl Write + Send + 'static) -> TerminalNotifier {
        TerminalNotifier { out: Arc::new(Mutex::new(out)) }
    }

    pub fn stderr() -> TerminalNotifier {
        TerminalNotifier::new(io::stderr())
    }
}

#[async_trait]
impl Notifier for TerminalNotifier {
    fn abilities(&self) -> NotifierAbilities {
        NotifierAbilities { buttons: false, dedupes: false }
    }

    async fn notify(&self, notice: &Notice) -> Result<(), NotifyError> {
        let (out, line) = (self.out.clone(), line(notice));
        let written = tokio::task::spawn_blocking(move || {
            let mut out = out.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            out.write_all(line.as_bytes()).and_then(|()| out.flush())
        });
        written
            .await
            .map_err(|err| NotifyError::Failed(err.to_string()))?
            .map_err(|err| NotifyError::Failed(format!("the notice could not be written: {err}")))
    }
}

/// Formats the notice on one line. Its text may come from outside, so no control character in it reaches the terminal.
fn line(notice: &Notice) -> String {
    let words: Vec<&str> = notice
        .text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    format!("{}: {}: {}\n", notice.level.word(), notice.subject, words.join(" "))
}

impl fmt::Debug for TerminalNotifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TerminalNotifier").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use ao_core::incident::Subject;
    use ao_core::notice::NoticeLevel;
    use ao_core::{NoticeId, SessionId};

    use super::*;

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Broken;

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn notice(level: NoticeLevel, text: &str) -> Notice {
        Notice::new(NoticeId(1), level, Subject::Session(SessionId(0x4f)), "1", text)
    }

    #[tokio::test]
    async fn each_notice_is_one_harmless_line() {
        let paper = Paper::default();
        let notifier = TerminalNotifier::new(paper.clone());
        notifier.notify(&notice(NoticeLevel::Urgent, "May I run\n`rm`?\r\n")).await.unwrap();
        notifier.notify(&notice(NoticeLevel::Info, "\u{1b}[2Jall\u{7} done\u{9b}0m")).await.unwrap();
        let written = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
        assert_eq!(written, "urgent: ses_4f: May I run `rm`?\ninfo: ses_4f: [2Jall done 0m\n");
    }

    #[tokio::test]
    async fn a_broken_terminal_is_an_error() {
        let err = TerminalNotifier::new(Broken).notify(&notice(NoticeLevel::Info, "a")).await.unwrap_err();
        assert!(matches!(err, NotifyError::Failed(_)));
    }
}
