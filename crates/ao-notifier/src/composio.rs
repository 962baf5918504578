//! Composio: a tool of some service, run with the account that was connected there.
//!
//! By its documentation: `POST {apiUrl}/tools/execute/{tool}` with the header `x-api-key`; the answer is a success of HTTP
//! also if the tool has failed, and says so in `successful`.

use ao_core::notice::Notice;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::{Map, Value, json};

use crate::links::Link;
use crate::settings::{ChannelError, Found, Settings};
use crate::words::{as_it_is, body, fit, level, title, with_lines};

pub(crate) const KNOWN: &[&str] =
    &["apiKey", "apiUrl", "tool", "toolVersion", "userId", "connectedAccountId", "channel", "arguments"];

const API: &str = "https://backend.composio.dev/api/v3";
const TOOL: &str = "SLACK_SEND_MESSAGE";
/// What most services that have messages take.
const TEXT: usize = 3000;

/// How the tool is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    user: String,
    account: Option<String>,
    version: Option<String>,
    /// What the tool is given, with `{{text}}` and others where a notice's words go.
    arguments: Map<String, Value>,
}

/// The call, where it goes to, and the headers that let it in.
pub(crate) fn read(settings: &Settings<'_>) -> Result<(Call, Url, HeaderMap, String), ChannelError> {
    let key = settings.need("apiKey", Some("COMPOSIO_API_KEY"))?;
    let find = |name, otherwise: &str| {
        let place = settings.place(name);
        settings.find(name, None).unwrap_or_else(|| Found { value: otherwise.to_owned(), place })
    };
    let (api, tool) = (find("apiUrl", API), find("tool", TOOL));
    let is_slug = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    if !tool.value.bytes().all(is_slug) {
        return Err(tool.wrong("is not the name of a tool; it is one such as `SLACK_SEND_MESSAGE`"));
    }
    let mut url = api.secret_address()?;
    url.set_path(&format!("{}/tools/execute/{}", url.path().trim_end_matches('/'), tool.value));
    let mut arguments: Map<String, Value> = match settings.find("arguments", None) {
        None => Map::new(),
        Some(written) => serde_json::from_str(&written.value)
            .map_err(|_| written.wrong("is no mapping of names to what the tool is given"))?,
    };
    if arguments.is_empty() {
        arguments.insert("channel".into(), settings.need("channel", None)?.value.into());
        arguments.insert("text".into(), "{{text}}".into());
    } else if let Some(channel) = settings.find("channel", None) {
        arguments.insert("channel".into(), channel.value.into());
    }
    let user = settings.find("userId", Some("COMPOSIO_USER_ID"));
    let call = Call {
        user: user.map_or_else(|| "default".to_owned(), |user| user.value),
        account: settings.find("connectedAccountId", None).map(|account| account.value),
        version: settings.find("toolVersion", None).map(|version| version.value),
        arguments,
    };
    let mut value = HeaderValue::try_from(&key.value)
        .map_err(|_| key.wrong("has a value that no header can have, such as a line break"))?;
    value.set_sensitive(true);
    Ok((
        call,
        url,
        HeaderMap::from_iter([(reqwest::header::HeaderName::from_static("x-api-key"), value)]),
        key.value,
    ))
}

impl Call {
    pub(crate) fn message(&self, notice: &Notice, links: &[Link]) -> Value {
        let lines: Vec<String> = links.iter().map(Link::line).collect();
        let words = format!("{}\n{}", title(notice), body(notice));
        let text = with_lines(TEXT, &lines, |most| fit(words.trim_end(), most, as_it_is));
        let link = links.first().map(|link| link.url.to_string()).unwrap_or_default();
        let filled = |template: &str| {
            // One after the other, in one go: what a notice says is never filled in itself.
            fill(template, |name| match name {
                "text" => Some(text.clone()),
                "title" => Some(title(notice)),
                "body" => Some(fit(&body(notice), TEXT, as_it_is)),
                "level" => Some(level(notice.level).to_owned()),
                "link" => Some(link.clone()),
                _ => None,
            })
        };
        let arguments = each_text(&Value::Object(self.arguments.clone()), &filled);
        let mut message = json!({ "user_id": self.user, "arguments": arguments });
        if let Some(account) = &self.account {
            message["connected_account_id"] = account.as_str().into();
        }
        if let Some(version) = &self.version {
            message["version"] = version.as_str().into();
        }
        message
    }
}

/// Why the tool failed, if the answer says so. An answer that says nothing of it has not succeeded.
pub(crate) fn failure(answer: &[u8]) -> Option<String> {
    let Ok(answer) = serde_json::from_slice::<Value>(answer) else {
        return Some("its answer is no JSON, so it is not known whether the tool was run".to_owned());
    };
    if answer.get("successful").and_then(Value::as_bool) == Some(true) {
        return None;
    }
    let error = &answer["error"];
    let said = error.as_str().or_else(|| error["message"].as_str());
    Some(format!("the tool failed: {}", said.unwrap_or("no reason is given")))
}

/// The same value with every text in it passed; names and what is no text stay as they are.
fn each_text(value: &Value, pass: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => pass(text).into(),
        Value::Array(values) => values.iter().map(|value| each_text(value, pass)).collect(),
        Value::Object(map) => {
            map.iter().map(|(name, value)| (name.clone(), each_text(value, pass))).collect()
        }
        other => other.clone(),
    }
}

fn fill(template: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let (mut out, mut rest) = (String::new(), template);
    while let Some(open) = rest.find("{{") {
        let Some(close) = rest[open..].find("}}").map(|close| open + close) else { break };
        out.push_str(&rest[..open]);
        match value(rest[open + 2..close].trim()) {
            Some(value) => out.push_str(&value),
            None => out.push_str(&rest[open..close + 2]),
        }
        rest = &rest[close + 2..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_filled_once() {
        let value = |name: &str| (name == "text").then(|| "{{text}}".to_owned());
        assert_eq!(fill("a {{ text }} b {{other}} {{", value), "a {{text}} b {{other}} {{");
    }

    #[test]
    fn a_tool_that_failed_is_a_failure_whatever_http_says() {
        assert_eq!(failure(br#"{"successful":true,"error":null,"data":{}}"#), None);
        let failed = failure(br#"{"successful":false,"error":"channel_not_found"}"#);
        assert_eq!(failed.as_deref(), Some("the tool failed: channel_not_found"));
        assert_eq!(failure(b"{}").as_deref(), Some("the tool failed: no reason is given"));
        assert!(failure(b"<html>").is_some());
    }
}
