//! `ao answer`: answers the open question of a session.

use ao_api::Session;

use super::print_state;
use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::find_session;
use crate::error::CommandError;
use crate::show::plain;
use crate::ui;

/// A question that replaced another one less than this long ago cannot have been read by a user who answers without
/// its number.
const UNREAD_SECONDS: i64 = 2;

/// Answer the question that an agent asks
///
/// The possible answers depend on the dialog: `ao status SESSION` shows it, with its number. An answer with a number
/// reaches that question or none, because the agent may ask something else by then. To write to an agent that asks
/// nothing, use `ao send`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao status my-app-3     shows what it asks
  ao answer my-app-3 yes --question 4
  ao answer my-app-3 2   the second choice, of what it asks now")]
pub(crate) struct Args {
    /// The session: its name, its id, or a unique prefix of either
    #[arg(add = completers::sessions())]
    session: String,
    /// `yes`, `no`, the number of a choice, or a text, depending on the dialog
    #[arg(allow_hyphen_values = true)]
    answer: String,
    /// The number of the question [default: the open question, which is printed]
    #[arg(long, value_name = "NUMBER")]
    question: Option<u32>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    cx.call(async |client| {
        let question = match args.question {
            Some(number) => number,
            None => open_question(&find_session(client, &args.session).await?, cx)?,
        };
        print_state(&client.answer(&args.session, question, &args.answer).await?, cx)
    })
}

/// Returns the number of the open question, and prints the question if the user did not name it.
fn open_question(session: &Session, cx: &Context) -> Result<u32, CommandError> {
    let name = &session.name;
    let (Some(question), Some(number)) = (&session.status.question, session.status.question_number) else {
        return Err(CommandError::user(format!("the session `{name}` has no open question"))
            .hint(format!("`ao explain {name}` shows what it is doing")));
    };
    if session.status.asks.len() > 1 {
        let asks = session.status.asks.iter().map(|ask| format!("{}: {}", ask.number, plain(&ask.title)));
        let open = format!("`{name}` asks several questions:\n  {}", asks.collect::<Vec<_>>().join("\n  "));
        return Err(CommandError::user(open)
            .hint(format!("`ao answer {name} … --question {number}` answers one of them")));
    }
    let age = jiff::Timestamp::now().as_second() - session.status.since.as_second();
    if number > 1 && age < UNREAD_SECONDS {
        let changed = format!(
            "the question of `{name}` has just changed; it now asks, as question {number}: {}",
            plain(question)
        );
        return Err(CommandError::user(changed)
            .hint(format!("read it, and then `ao answer {name} … --question {number}`")));
    }
    if !cx.json() {
        ui::note(format!("answers question {number}: {}", plain(question)));
    }
    Ok(number)
}
