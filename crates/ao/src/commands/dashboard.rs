//! `ao dashboard`: opens the page in a browser, signed in.

use ao_api::client::Client;
use serde_json::json;

use crate::cli::context::Context;
use crate::error::CommandError;
use crate::system::desktop;
use crate::ui;

/// Open the dashboard in a browser
///
/// The address contains a code that is valid for one sign-in within a minute. The code is in the fragment after `#`,
/// which browsers never send. Without a desktop, prints the address to be opened elsewhere: over ssh, forward the
/// port first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao dashboard
  ao dashboard --no-open                    only print the address
  ssh -L 3000:127.0.0.1:3000 my-server      then open what `ao dashboard` prints there")]
pub(crate) struct Args {
    /// Print the address and open nothing
    #[arg(long)]
    no_open: bool,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    cx.call(async |client| {
        let url = client.daemon().await?.url.ok_or_else(|| {
            CommandError::config("the running daemon has no address for browsers").hint(
                "look at `port` and `dashboard.enabled` with `ao config show`, then `ao stop && ao start`",
            )
        })?;
        let address = address(client, &url).await?;
        let opened =
            if args.no_open || !desktop::is_there() { None } else { Some(desktop::open(&address).await) };
        let is_open = matches!(opened, Some(Ok(())));
        if cx.json() {
            ui::json(&json!({ "url": address, "opened": is_open }))?;
            return Ok(());
        }
        if is_open {
            // Without the sign-in code: terminals are copied, logged and shared.
            ui::line(format_args!("Opened {url}"))?;
            return Ok(());
        }
        if let Some(Err(err)) = opened {
            ui::note(format_args!("no browser was opened: {err}"));
        }
        ui::line(address)?;
        ui::note("it is valid for one sign-in within a minute");
        Ok(())
    })
}

/// Returns the address that signs a browser in, once. The code is in the fragment after `#`, which browsers never
/// send.
pub(crate) async fn address(client: &Client, url: &str) -> Result<String, CommandError> {
    let code = client.sign_in().await?.token;
    Ok(format!("{}/#code={code}", url.trim_end_matches('/')))
}
