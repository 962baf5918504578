//! The model APIs: each reads a request, and writes an answer whole or as a stream of events.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use serde_json::{Value, json};

use super::decide::ModelAnswer;

/// A model API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelProtocol {
    Anthropic,
    Responses,
    Chat,
    Gemini,
}

/// The parts of a request that decide the answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ModelRequest {
    /// The instructions before the conversation.
    pub(super) system: String,
    /// The texts of the user, oldest first, without those that the agent added.
    pub(super) turns: Vec<String>,
    /// The newest text of the user that has tags, of those after the last answer.
    pub(super) prompt: String,
    /// The number of tool results after the newest text.
    pub(super) results: usize,
    pub(super) tools: Vec<OfferedTool>,
}

/// A tool in a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct OfferedTool {
    pub(super) name: String,
    /// The JSON schema of its arguments.
    pub(super) schema: Value,
    /// The group that it belongs to, which a call has to repeat (OpenAI responses).
    pub(super) namespace: Option<String>,
}

/// An event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StreamEvent {
    pub(super) name: Option<&'static str>,
    pub(super) data: String,
    /// `true` for a piece of the text, which a slow stream waits for.
    pub(super) piece: bool,
}

/// An answer with the request that it belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnswerFrame<'a> {
    pub(super) body: &'a Value,
    pub(super) answer: &'a ModelAnswer,
}

impl ModelProtocol {
    /// Returns the API of a path, at any base URL.
    pub(super) fn of(path: &str) -> Option<ModelProtocol> {
        if path.ends_with("/messages") {
            Some(ModelProtocol::Anthropic)
        } else if path.ends_with("/responses") {
            Some(ModelProtocol::Responses)
        } else if path.ends_with("/chat/completions") {
            Some(ModelProtocol::Chat)
        } else if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") {
            Some(ModelProtocol::Gemini)
        } else {
            None
        }
    }

    pub(super) fn read(self, body: &Value) -> ModelRequest {
        match self {
            ModelProtocol::Anthropic => anthropic::read(body),
            ModelProtocol::Responses => responses::read(body),
            ModelProtocol::Chat => chat::read(body),
            ModelProtocol::Gemini => gemini::read(body),
        }
    }

    /// Returns `true` if the request wants a stream.
    pub(super) fn streams(self, path: &str, body: &Value) -> bool {
        match self {
            ModelProtocol::Gemini => path.ends_with(":streamGenerateContent"),
            _ => body["stream"] == true,
        }
    }

    pub(super) fn whole(self, frame: AnswerFrame<'_>) -> Value {
        match self {
            ModelProtocol::Anthropic => anthropic::whole(frame),
            ModelProtocol::Responses => responses::whole(frame),
            ModelProtocol::Chat => chat::whole(frame),
            ModelProtocol::Gemini => gemini::whole(frame),
        }
    }

    pub(super) fn stream(self, frame: AnswerFrame<'_>) -> Vec<StreamEvent> {
        match self {
            ModelProtocol::Anthropic => anthropic::stream(frame),
            ModelProtocol::Responses => responses::stream(frame),
            ModelProtocol::Chat => chat::stream(frame),
            ModelProtocol::Gemini => gemini::stream(frame),
        }
    }

    /// Returns the body of a refusal.
    pub(super) fn refusal(self, status: u16, message: &str) -> Value {
        let kind = match status {
            400 => "invalid_request_error",
            401 => "authentication_error",
            403 => "permission_error",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            _ => "api_error",
        };
        match self {
            ModelProtocol::Gemini => {
                let status_name = match status {
                    400 => "INVALID_ARGUMENT",
                    401 => "UNAUTHENTICATED",
                    403 => "PERMISSION_DENIED",
                    429 => "RESOURCE_EXHAUSTED",
                    _ => "UNAVAILABLE",
                };
                json!({ "error": { "code": status, "message": message, "status": status_name } })
            }
            _ => {
                let error = json!({ "type": kind, "message": message, "code": status.to_string() });
                json!({ "type": "error", "error": error })
            }
        }
    }
}

impl ModelRequest {
    /// Adds instructions that the agent sent for the system or as the developer.
    fn add_system<'a>(&mut self, texts: impl IntoIterator<Item = &'a str>) {
        for text in texts {
            if !self.system.is_empty() {
                self.system.push('\n');
            }
            self.system.push_str(text);
        }
    }

    /// Adds the texts of a message of the user. Those that the agent added around the prompt do not count.
    fn add_texts<'a>(&mut self, texts: impl IntoIterator<Item = &'a str>) {
        let texts: Vec<String> =
            texts.into_iter().map(without_context).filter(|text| !text.is_empty()).collect();
        if texts.is_empty() {
            return;
        }
        let tagged = texts.iter().rev().find(|text| text.contains("[["));
        self.prompt = tagged.cloned().unwrap_or_else(|| texts.join("\n"));
        self.results = 0;
        self.turns.extend(texts);
    }
}

impl OfferedTool {
    pub(super) fn property(&self, name: &str) -> Option<&Value> {
        self.schema["properties"].get(name)
    }

    /// Reads a tool whose schema is in the given field.
    fn read(tool: &Value, schema: &str) -> Option<OfferedTool> {
        let name = tool["name"].as_str()?.to_owned();
        Some(OfferedTool { name, schema: tool[schema].clone(), namespace: None })
    }
}

impl StreamEvent {
    fn new(name: Option<&'static str>, data: &Value) -> StreamEvent {
        StreamEvent { name, data: data.to_string(), piece: false }
    }

    fn named(name: &'static str, data: &Value) -> StreamEvent {
        StreamEvent::new(Some(name), data)
    }

    fn piece(self) -> StreamEvent {
        StreamEvent { piece: true, ..self }
    }

    /// Formats the event for the wire.
    pub(super) fn encoded(&self) -> String {
        let name = self.name.map(|name| format!("event: {name}\n")).unwrap_or_default();
        format!("{name}data: {}\n\n", self.data)
    }
}

impl AnswerFrame<'_> {
    fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or("stand-in")
    }

    /// Returns the tokens of the request and of `output`: a quarter of the characters.
    fn tokens(&self, output: &Value) -> (usize, usize) {
        let count = |value: &Value| (value.to_string().len() / 4).max(1);
        (count(self.body), count(output))
    }
}

/// Removes what agents add to a prompt.
fn without_context(text: &str) -> String {
    const CONTEXT: &[&str] =
        &["system-reminder", "environment_context", "user_instructions", "info-msg", "session_context"];
    let mut text = text.to_owned();
    for tag in CONTEXT {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        while let Some(start) = text.find(&open)
            && let Some(length) = text[start..].find(&close)
        {
            text.replace_range(start..start + length + close.len(), "");
        }
    }
    text.trim().to_owned()
}

/// Splits a text behind each word.
fn pieces(text: &str) -> Vec<&str> {
    if text.is_empty() { vec![""] } else { text.split_inclusive(char::is_whitespace).collect() }
}

/// Returns the texts of a content that is a text or a list of parts.
fn content_texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        parts => parts.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str()).collect(),
    }
}

/// Returns a fresh id. Ids of a restarted stand-in differ, because agents count an answer with a known id only once.
fn fresh_id(prefix: &str) -> String {
    format!("{prefix}{:016x}", fastrand::u64(..))
}

/// Returns the elements of a list, if it is one.
fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests;
