//! `ao api`: any call of the daemon's HTTP API.

use std::io::{IsTerminal, Read, Write};

use ao_api::client::{Client, ClientError, Method};

use crate::cli::context::Context;
use crate::error::CommandError;

/// Call the daemon's HTTP API as yourself
///
/// Prints the body of the response unchanged, or pretty-printed at a terminal. A refusal is also printed to stderr,
/// and exits with the code of the corresponding command. `ao api GET /openapi.json` describes all calls.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao api GET /sessions
  ao api POST /sessions/my-app-fix-auth/message -d '{\"content\":\"Export to CSV format\"}'
  ao api POST /sessions -d @wish.json
  ao api GET '/events?after=1000'        a stream; Ctrl-C ends it")]
pub(crate) struct Args {
    /// GET, POST, PUT, PATCH or DELETE
    #[arg(value_parser = method)]
    method: Method,
    /// The path, with or without a leading `/api`
    path: String,
    /// The body as JSON; `@FILE` reads it from a file, `-` from stdin
    #[arg(long, short, value_name = "JSON", allow_hyphen_values = true)]
    data: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let body = args.data.as_deref().map(body).transpose()?;
    cx.call(async |client| call(client, args.method.clone(), &full(&args.path), body).await)
}

async fn call(
    client: &Client,
    method: Method,
    path: &str,
    body: Option<Vec<u8>>,
) -> Result<(), CommandError> {
    let mut answer = client.stream(method, path, body).await?;
    let mut out = std::io::stdout();
    if answer.content_type().is_some_and(|kind| kind.starts_with("text/event-stream")) {
        while let Some(chunk) = answer.chunk().await? {
            out.write_all(&chunk)?;
            out.flush()?;
        }
        return Ok(());
    }
    let answer = answer.whole().await?;
    let laid_out = if out.is_terminal() { serde_json::from_slice(&answer.body).ok() } else { None };
    match laid_out {
        Some::<serde_json::Value>(value) => {
            serde_json::to_writer_pretty(&mut out, &value).map_err(std::io::Error::from)?;
        }
        None => out.write_all(&answer.body)?,
    }
    if answer.body.last().is_some_and(|byte| *byte != b'\n') {
        out.write_all(b"\n")?;
    }
    out.flush()?;
    if (200..300).contains(&answer.status) {
        return Ok(());
    }
    Err(ClientError::Refused(Box::new(answer.problem())).into())
}

fn method(typed: &str) -> Result<Method, String> {
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
    match known.contains(&typed.to_ascii_uppercase().as_str()) {
        true => typed.to_ascii_uppercase().parse().map_err(|_| format!("`{typed}` is not a method")),
        false => Err(format!("`{typed}` is not a method; use one of {}", known.join(", "))),
    }
}

/// Returns the path as the daemon expects it.
fn full(typed: &str) -> String {
    let path = if typed.starts_with('/') { typed.to_owned() } else { format!("/{typed}") };
    let begins = |with: &str| {
        path.strip_prefix(with).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
    };
    match ["/api", "/healthz", "/metrics"].into_iter().any(begins) {
        true => path,
        false => format!("{}{path}", ao_api::BASE),
    }
}

fn body(data: &str) -> Result<Vec<u8>, CommandError> {
    let unread = |from: &str, err: std::io::Error| {
        CommandError::user(format!("the body cannot be read from {from}: {err}"))
    };
    let bytes = match data.strip_prefix('@') {
        Some(file) => std::fs::read(file).map_err(|err| unread(&format!("`{file}`"), err))?,
        None if data == "-" => {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).map_err(|err| unread("stdin", err))?;
            bytes
        }
        None => data.as_bytes().to_vec(),
    };
    // Checked here, so that the error can refer to what was typed.
    serde_json::from_slice::<serde::de::IgnoredAny>(&bytes)
        .map_err(|err| CommandError::user(format!("the body is not valid JSON: {err}")))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_known_with_and_without_their_beginning() {
        assert_eq!(full("/sessions/a/message"), "/api/sessions/a/message");
        assert_eq!(full("/api/sessions"), "/api/sessions");
        assert_eq!(full("sessions?x=1"), "/api/sessions?x=1");
        assert_eq!(full("/healthz"), "/healthz");
        assert_eq!(full("/apiary"), "/api/apiary");
    }

    #[test]
    fn methods_are_known_in_small_letters_too() {
        assert_eq!(method("post"), Ok(Method::POST));
        assert!(method("FETCH").unwrap_err().contains("use one of GET"));
    }
}
