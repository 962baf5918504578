//! Parses the lines of tmux's control mode.
//!
//! ```text
//!  %begin 1700000000 272 1      an answer to the next command that was not answered yet
//!  …                            its lines, as they are
//!  %end 1700000000 272 1        or %error; the same three numbers again
//!  %sessions-changed            news, only between answers
//! ```

/// The meaning of one or several lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ParsedLine {
    /// The answer to one of our commands: its lines, or the error.
    Answer(Result<Vec<String>, String>),
    Event(TmuxEvent),
}

/// A notification of tmux, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum TmuxEvent {
    /// The value of a subscription has changed.
    Changed,
    /// A client has attached to a session, or may have: then the session is unknown.
    Came(Option<String>),
    /// A client has detached.
    Went,
    /// The client has to exit, sometimes with a reason.
    Exit(String),
}

/// A line that is not part of the protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("tmux said something that is not understood: `{0}`")]
pub(super) struct OddLine(String);

/// Assembles answers from lines.
#[derive(Debug, Default)]
pub(super) struct LineParser {
    open: Option<AnswerBlock>,
}

#[derive(Debug)]
struct AnswerBlock {
    /// The three numbers that the end must repeat: an agent may well print `%end` on its screen.
    guard: String,
    /// False for blocks that tmux sends on its own account, such as for a hook or the attach itself.
    ours: bool,
    lines: Vec<String>,
}

impl LineParser {
    pub(super) fn take(&mut self, line: &[u8]) -> Result<Option<ParsedLine>, OddLine> {
        let line = String::from_utf8_lossy(line);
        if let Some(block) = &mut self.open {
            let done = match line.split_once(' ') {
                Some(("%end", guard)) if guard == block.guard => true,
                Some(("%error", guard)) if guard == block.guard => false,
                _ => {
                    block.lines.push(line.into_owned());
                    return Ok(None);
                }
            };
            let block = self.open.take().expect("it is open");
            let answer = if done { Ok(block.lines) } else { Err(block.lines.join("; ")) };
            return Ok(block.ours.then_some(ParsedLine::Answer(answer)));
        }
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match word {
            "%begin" => {
                let flags = rest.rsplit(' ').next().and_then(|flags| flags.parse::<u32>().ok());
                let Some(flags) = flags else { return Err(OddLine(line.into_owned())) };
                self.open =
                    Some(AnswerBlock { guard: rest.to_owned(), ours: flags & 1 == 1, lines: Vec::new() });
                Ok(None)
            }
            "%subscription-changed" => Ok(Some(ParsedLine::Event(TmuxEvent::Changed))),
            // The client's name, the session's id, and its name.
            "%client-session-changed" => {
                let session = rest.split(' ').find(|word| word.starts_with('$')).map(str::to_owned);
                Ok(Some(ParsedLine::Event(TmuxEvent::Came(session))))
            }
            "%client-detached" => Ok(Some(ParsedLine::Event(TmuxEvent::Went))),
            "%exit" => Ok(Some(ParsedLine::Event(TmuxEvent::Exit(rest.to_owned())))),
            "%end" | "%error" => Err(OddLine(line.into_owned())),
            // Newer versions send more, and most notifications do not matter here.
            _ if word.starts_with('%') => Ok(None),
            _ => Err(OddLine(line.into_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(text: &str) -> Result<Vec<ParsedLine>, OddLine> {
        let mut lines = LineParser::default();
        text.lines().filter_map(|line| lines.take(line.as_bytes()).transpose()).collect()
    }

    fn answer(lines: &[&str]) -> ParsedLine {
        ParsedLine::Answer(Ok(lines.iter().map(|line| (*line).to_owned()).collect()))
    }

    #[test]
    fn answers_come_in_order_with_news_between() {
        let text = "%begin 17 264 0\n%end 17 264 0\n%window-add @0\n%client-detached client-9\n%client-session-changed /dev/pts/3 $7 a name\n%session-changed $0 ao\n\
            %begin 17 272 1\n$1 %1 2835\n%end 17 272 1\n%subscription-changed typed $0 - - - : $1=17 $0=16 \n\
            %begin 17 273 1\nparse error: unknown command: bogus\n%error 17 273 1\n%exit server exited";
        assert_eq!(
            heard(text).unwrap(),
            [
                ParsedLine::Event(TmuxEvent::Went),
                ParsedLine::Event(TmuxEvent::Came(Some("$7".into()))),
                answer(&["$1 %1 2835"]),
                ParsedLine::Event(TmuxEvent::Changed),
                ParsedLine::Answer(Err("parse error: unknown command: bogus".into())),
                ParsedLine::Event(TmuxEvent::Exit("server exited".into())),
            ]
        );
    }

    #[test]
    fn a_screen_with_percent_end_does_not_end_an_answer() {
        let text = "%begin 17 5 1\n%end 17 4 1\n%error\n%exit\n%begin 17 5 1\n\n%end 17 5 1";
        assert_eq!(heard(text).unwrap(), [answer(&["%end 17 4 1", "%error", "%exit", "%begin 17 5 1", ""])]);
    }

    #[test]
    fn foreign_lines_are_errors_and_new_notifications_are_not() {
        assert_eq!(heard("%something-new 1 2\n%output %1 \\033[H\n%pause %1").unwrap(), []);
        for odd in ["hello", "%end 17 5 1", "%begin", "%begin 1 2 x"] {
            assert_eq!(heard(odd), Err(OddLine(odd.into())));
        }
    }
}
