//! `ao open`: a session where one can look at it.

use std::process::{Command, Stdio};

use crate::context::Context;
use crate::error::CommandError;
use crate::{calls, complete, ui};

/// Open a session in the dashboard
///
/// With a desktop, its page is opened in the browser; without one, or if the daemon serves no pages, it says how to look at
/// the session from here.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao open my-app-3
  ao open my-app-3 --print   only print the address
  ao attach my-app-3         its terminal, here")]
pub(crate) struct Args {
    /// The session: its name, its id, or a beginning of either that only it has
    #[arg(add = complete::sessions())]
    session: String,
    /// Only print the address of its page
    #[arg(long)]
    print: bool,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let client = cx.client()?;
    let (session, daemon) = cx.wait_for(async {
        let session = calls::session(&client, &args.session).await?;
        Ok((session, calls::daemon(&client).await?))
    })?;
    let page = daemon
        .url
        .map(|url| format!("{}/sessions/{}", url.trim_end_matches('/'), calls::segment(&session.name)));
    if cx.json() {
        return Ok(ui::json(&serde_json::json!({ "session": session.name, "url": page }))?);
    }
    let name = &session.name;
    let Some(page) = page else {
        ui::note("the daemon serves no pages: it listens on its socket only");
        return Ok(ui::line(format_args!("ao attach {name}"))?);
    };
    if !args.print && has_desktop() && open(&page) {
        return Ok(ui::line(format_args!("opened {page}"))?);
    }
    ui::line(&page)?;
    if !args.print {
        ui::note(format_args!("open it in a browser, or look at its terminal here with `ao attach {name}`"));
    }
    Ok(())
}

/// Whether there is anything to open a window on.
fn has_desktop() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(target_os = "macos") || set("DISPLAY") || set("WAYLAND_DISPLAY")
}

/// Hands the page to the desktop, which says nothing of whether anybody sees it.
fn open(page: &str) -> bool {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = Stdio::null;
    let opened = Command::new(opener).arg(page).stdin(quiet()).stdout(quiet()).stderr(quiet()).status();
    opened.is_ok_and(|status| status.success())
}
