//! Calls of tools that an agent was not allowed to make.
//!
//! An agent that nobody watches goes on without them and may well report success, so how many there were is shown with it.
//! Nothing here judges which of them mattered, and no person is notified of one.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Session, SessionEvent};
use crate::outside::one_line;
use crate::{Attempt, Timestamp};

/// Number of calls that are remembered. One is reported again at once, or after a restart of the daemon as one of the last.
const CALLS_KEPT: usize = 64;
/// The length of a tool's name that is shown.
const TOOL_MOST: usize = 80;
/// The length of a call's name that is compared. A longer one is identified by its beginning.
const CALL_MOST: usize = 200;

/// Count of the denied calls, and the last of them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeniedCalls {
    pub count: u64,
    /// The tool of the last call.
    pub tool: String,
    pub at: Timestamp,
    /// The names of the last calls, so that none is counted twice.
    calls: VecDeque<String>,
}

impl DeniedCalls {
    pub(super) fn record(&mut self, call: &str, tool: &str, at: Timestamp) {
        self.count = self.count.saturating_add(1);
        self.tool = tool.to_owned();
        self.at = at;
        self.calls.push_back(call.to_owned());
        if self.calls.len() > CALLS_KEPT {
            self.calls.pop_front();
        }
    }
}

/// Counts a denied call. One of an earlier attempt counts as well: its hook may be read after the next began.
pub(super) fn denied(session: &Session, attempt: Attempt, call: &str, tool: &str) -> Vec<SessionEvent> {
    let begin = |text: &str, most: usize| text[..text.floor_char_boundary(most)].to_owned();
    let call = begin(&one_line(call), CALL_MOST);
    if attempt > session.attempt || session.denied.calls.contains(&call) {
        return vec![];
    }
    let tool = match begin(one_line(tool).trim(), TOOL_MOST) {
        tool if tool.is_empty() => "a tool".into(),
        tool => tool,
    };
    vec![SessionEvent::ToolDenied { call, tool }]
}
