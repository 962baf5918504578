//! Composio: runs a tool of some service, with the account that was connected there.
//!
//! As documented: `POST {apiUrl}/tools/execute/{tool}` with the header `x-api-key`; the HTTP status is a success even
//! if the tool has failed, and `successful` shows which.

use ao_core::notice::Notice;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::{Map, Value, json};

use crate::links::NoticeLink;
use crate::settings::{ChannelError, ChannelSettings, FoundSetting};
use crate::text::{as_it_is, body, fit, title, with_lines};

pub(crate) const KNOWN: &[&str] =
    &["apiKey", "apiUrl", "tool", "toolVersion", "userId", "connectedAccountId", "channel", "arguments"];

const API: &str = "https://backend.composio.dev/api/v3";
const TOOL: &str = "SLACK_SEND_MESSAGE";
/// A limit that most messaging services accept.
const TEXT: usize = 3000;

/// The parameters of the tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolCall {
    user: String,
    account: Option<String>,
    version: Option<String>,
    /// The arguments of the tool, with `{{text}}` and other placeholders for the text of a notice.
    arguments: Map<String, Value>,
}

/// Reads the call, its URL, and its authentication headers.
pub(crate) fn read(
    settings: &ChannelSettings<'_>,
) -> Result<(ToolCall, Url, HeaderMap, String), ChannelError> {
    let key = settings.need("apiKey", Some("COMPOSIO_API_KEY"))?;
    let find = |name, otherwise: &str| {
        let place = settings.place(name);
        settings.find(name, None).unwrap_or_else(|| FoundSetting { value: otherwise.to_owned(), place })
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
    let call = ToolCall {
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

impl ToolCall {
    pub(crate) fn message(&self, notice: &Notice, links: &[NoticeLink]) -> Value {
        let lines: Vec<String> = links.iter().map(NoticeLink::line).collect();
        let words = format!("{}\n{}", title(notice), body(notice));
        let text = with_lines(TEXT, &lines, |most| fit(words.trim_end(), most, as_it_is));
        let link = links.first().map(|link| link.url.to_string()).unwrap_or_default();
        let filled = |template: &str| {
            // In a single pass: placeholders in the text of a notice are not expanded.
            fill(template, |name| match name {
                "text" => Some(text.clone()),
                "title" => Some(title(notice)),
                "body" => Some(fit(&body(notice), TEXT, as_it_is)),
                "level" => Some(notice.level.word().to_owned()),
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

/// Returns why the tool failed, if it did. An answer without `successful` counts as a failure.
pub(crate) fn failure(answer: &[u8]) -> Option<String> {
    let Ok(answer) = serde_json::from_slice::<Value>(answer) else {
        return Some("its answer is no JSON, so it is not known whether the tool was run".to_owned());
    };
    if answer.get("successful").and_then(Value::as_bool) == Some(true) {
        return None;
    }
    let error = &answer["error"];
    let reason = error.as_str().or_else(|| error["message"].as_str());
    Some(format!("the tool failed: {}", reason.unwrap_or("no reason is given")))
}

/// Maps every string in a value; keys and other values stay as they are.
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
