//! The requests that a stand-in received.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A request, without its headers: they hold keys.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RecordedRequest {
    pub method: String,
    pub path: String,
    pub model: String,
    /// The system prompt.
    pub system: String,
    /// The newest prompt, which is the script.
    pub prompt: String,
    /// The texts of the user in this conversation, oldest first, without those that the agent added.
    pub turns: Vec<String>,
    /// The number of tool results after the newest prompt.
    pub results: usize,
    /// The names of the tools that the agent offered. A request for a title or a summary has none.
    pub tools: Vec<String>,
    /// The text, or the name of the tool that was called.
    pub answer: String,
    pub status: u16,
    /// The whole request. Not in the log file.
    #[serde(skip)]
    pub body: Value,
}

/// Returns the number of user turns that contain `marker`, in the request that has most. A message that was delivered
/// twice is in the conversation twice.
pub fn turns_with(requests: &[RecordedRequest], marker: &str) -> usize {
    let count = |request: &RecordedRequest| request.turns.iter().filter(|turn| turn.contains(marker)).count();
    requests.iter().filter(|request| !request.tools.is_empty()).map(count).max().unwrap_or(0)
}
