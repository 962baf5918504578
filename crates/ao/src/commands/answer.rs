//! `ao answer`: answers an open ask of a session.

use ao_api::{Answer, Ask, Session};

use super::print_state;
use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::find_session;
use crate::error::CommandError;
use crate::show::{answers, plain};
use crate::ui;

/// An ask that replaced another one less than this long ago cannot have been read by a user who answers without its
/// number.
const UNREAD_SECONDS: i64 = 2;

/// Answer what an agent asks
///
/// `ao asks SESSION` shows what it asks, with the number of each ask and the possible answers. An answer with a number
/// reaches that ask or none, because the agent may ask something else by then. To write to an agent that asks nothing,
/// use `ao send`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao asks my-app-3                  shows what it asks
  ao answer my-app-3 yes --ask 4    answers ask 4
  ao answer my-app-3 yes --always   answers the only open ask, and all later ones like it
  ao answer my-app-3 2              chooses the second option of the only open ask")]
pub(crate) struct Args {
    /// The session: its name, its id, or a unique prefix of either
    #[arg(add = completers::sessions())]
    session: String,
    /// `yes`, `no`, the id, label or number of an option, or a text, depending on the ask
    #[arg(allow_hyphen_values = true, required_unless_present = "always", value_name = "OPTION")]
    answer: Option<String>,
    /// The ask: its number, the agent's id of it, or a unique prefix of that [default: the open one, which is printed]
    #[arg(long, value_name = "ID", alias = "question")]
    ask: Option<String>,
    /// Choose the option that holds for later asks too [default: the one that allows]
    #[arg(long)]
    always: bool,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    cx.call(async |client| {
        let ask = match &args.ask {
            Some(ask) => ask.clone(),
            None => open_ask(&find_session(client, &args.session).await?, cx)?.to_string(),
        };
        let (answer, always) = (args.answer.clone(), args.always);
        let answer = Answer { answer, ask: Some(ask), always, ..Answer::default() };
        print_state(&client.answer(&args.session, &answer).await?, cx)
    })
}

/// Returns the number of the only open ask, and prints the ask, because the user did not name it.
fn open_ask(session: &Session, cx: &Context) -> Result<u32, CommandError> {
    let name = &session.name;
    let ask = match &session.status.asks[..] {
        [] => {
            return Err(CommandError::user(format!("the session `{name}` asks nothing"))
                .hint(format!("`ao explain {name}` shows what it is doing")));
        }
        [ask] => ask,
        several => {
            let line = |ask: &Ask| format!("{}: {}", ask.number, plain(&ask.title));
            let open: Vec<String> = several.iter().map(line).collect();
            let number = several[0].number;
            return Err(CommandError::user(format!(
                "`{name}` asks several things:\n  {}",
                open.join("\n  ")
            ))
            .hint(format!(
                "`ao answer {name} {} --ask {number}` answers one of them",
                answers(&several[0])
            )));
        }
    };
    let (number, title) = (ask.number, plain(&ask.title));
    let age = jiff::Timestamp::now().as_second() - ask.since.as_second();
    if number > 1 && age < UNREAD_SECONDS {
        let changed = format!("what `{name}` asks has just changed; it now asks, as ask {number}: {title}");
        return Err(CommandError::user(changed)
            .hint(format!("read it, and then `ao answer {name} … --ask {number}`")));
    }
    if !cx.json() {
        ui::note(format!("answers ask {number}: {title}"));
    }
    Ok(number)
}
