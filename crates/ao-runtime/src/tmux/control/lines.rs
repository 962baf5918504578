//! The lines of tmux's control mode.
//!
//! ```text
//!  %begin 1700000000 272 1      an answer to the next command that was not answered yet
//!  …                            its lines, as they are
//!  %end 1700000000 272 1        or %error; the same three numbers again
//!  %sessions-changed            news, only between answers
//! ```

/// What a line, or several, mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Heard {
    /// The answer to one command of ours, and whether it was done.
    Answer(Result<Vec<String>, String>),
    News(News),
}

/// What is told without being asked for, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum News {
    /// A subscription has another value.
    Changed,
    /// Somebody has come to a session, or may have: then it is not said to which.
    Came(Option<String>),
    /// Somebody has gone.
    Went,
    /// The client is to go; sometimes it is said why.
    Exit(String),
}

/// Not what tmux would say.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("tmux said something that is not understood: `{0}`")]
pub(super) struct OddLine(String);

/// Puts answers together.
#[derive(Debug, Default)]
pub(super) struct Lines {
    open: Option<Block>,
}

#[derive(Debug)]
struct Block {
    /// The three numbers that the end must have again: an agent may well put `%end` on its screen.
    guard: String,
    /// Not what tmux does on its own account, such as a hook or the attaching itself.
    ours: bool,
    lines: Vec<String>,
}

impl Lines {
    pub(super) fn take(&mut self, line: &[u8]) -> Result<Option<Heard>, OddLine> {
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
            return Ok(block.ours.then_some(Heard::Answer(answer)));
        }
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match word {
            "%begin" => {
                let flags = rest.rsplit(' ').next().and_then(|flags| flags.parse::<u32>().ok());
                let Some(flags) = flags else { return Err(OddLine(line.into_owned())) };
                self.open = Some(Block { guard: rest.to_owned(), ours: flags & 1 == 1, lines: Vec::new() });
                Ok(None)
            }
            "%subscription-changed" => Ok(Some(Heard::News(News::Changed))),
            // The client's name, the session's id, and its name.
            "%client-session-changed" => {
                let session = rest.split(' ').find(|word| word.starts_with('$')).map(str::to_owned);
                Ok(Some(Heard::News(News::Came(session))))
            }
            "%client-detached" => Ok(Some(Heard::News(News::Went))),
            "%exit" => Ok(Some(Heard::News(News::Exit(rest.to_owned())))),
            "%end" | "%error" => Err(OddLine(line.into_owned())),
            // Newer versions say more, and most of what is said is of no use here.
            _ if word.starts_with('%') => Ok(None),
            _ => Err(OddLine(line.into_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(text: &str) -> Result<Vec<Heard>, OddLine> {
        let mut lines = Lines::default();
        text.lines().filter_map(|line| lines.take(line.as_bytes()).transpose()).collect()
    }

    fn answer(lines: &[&str]) -> Heard {
        Heard::Answer(Ok(lines.iter().map(|line| (*line).to_owned()).collect()))
    }

    #[test]
    fn answers_come_in_order_with_news_between() {
        let text = "%begin 17 264 0\n%end 17 264 0\n%window-add @0\n%client-detached client-9\n%client-session-changed /dev/pts/3 $7 a name\n%session-changed $0 ao\n\
            %begin 17 272 1\n$1 %1 2835\n%end 17 272 1\n%subscription-changed typed $0 - - - : $1=17 $0=16 \n\
            %begin 17 273 1\nparse error: unknown command: bogus\n%error 17 273 1\n%exit server exited";
        assert_eq!(
            heard(text).unwrap(),
            [
                Heard::News(News::Went),
                Heard::News(News::Came(Some("$7".into()))),
                answer(&["$1 %1 2835"]),
                Heard::News(News::Changed),
                Heard::Answer(Err("parse error: unknown command: bogus".into())),
                Heard::News(News::Exit("server exited".into())),
            ]
        );
    }

    #[test]
    fn what_an_agent_shows_does_not_end_an_answer() {
        let text = "%begin 17 5 1\n%end 17 4 1\n%error\n%exit\n%begin 17 5 1\n\n%end 17 5 1";
        assert_eq!(heard(text).unwrap(), [answer(&["%end 17 4 1", "%error", "%exit", "%begin 17 5 1", ""])]);
    }

    #[test]
    fn what_is_not_of_the_protocol_is_an_error_and_what_is_new_in_it_is_not() {
        assert_eq!(heard("%something-new 1 2\n%output %1 \\033[H\n%pause %1").unwrap(), []);
        for odd in ["hello", "%end 17 5 1", "%begin", "%begin 1 2 x"] {
            assert_eq!(heard(odd), Err(OddLine(odd.into())));
        }
    }
}
