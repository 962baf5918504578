//! `ao open`: opens a session in the dashboard.

use super::dashboard;

use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::find_session;
use crate::error::CommandError;
use crate::system::desktop;
use crate::ui;

/// Open a session in the dashboard
///
/// Opens the session's page in the browser. Without a desktop, or if the daemon serves no pages, prints how to look
/// at the session from the terminal.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao open my-app-3
  ao open my-app-3 --print   only print the address
  ao attach my-app-3         its terminal, here")]
pub(crate) struct Args {
    /// The session: its name, its id, or a unique prefix of either
    #[arg(add = completers::sessions())]
    session: String,
    /// Print the address of its page and open nothing
    #[arg(long)]
    print: bool,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    cx.call(async |client| {
        let session = find_session(client, &args.session).await?;
        let name = &session.name;
        let Some(url) = client.daemon().await?.url else {
            ui::note("the daemon has no address for browsers; this shows its terminal here");
            return Ok(ui::line(format_args!("ao attach {name}"))?);
        };
        let signed_in = dashboard::address(client, &url).await?;
        let page = format!("{signed_in}&session={}", ao_api::segment(name));
        let opened = !args.print && desktop::is_there() && desktop::open(&page).await.is_ok();
        if cx.json() {
            return Ok(ui::json(&serde_json::json!({ "session": name, "url": page, "opened": opened }))?);
        }
        if opened {
            // Without the sign-in code: terminals are copied, logged and shared.
            return Ok(ui::line(format_args!("opened {name} at {url}"))?);
        }
        ui::line(&page)?;
        ui::note(format_args!(
            "it is valid for one sign-in within a minute; `ao attach {name}` shows its terminal here"
        ));
        Ok(())
    })
}
