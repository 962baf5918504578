use std::fmt;

use serde::{Deserialize, Serialize};

/// Identifies a process: by the runtime that it lives in, and by the id that this runtime gave it. Only the runtime knows
/// what the id is of: a pid, a pane, a container, a pod.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct ProcessRef {
    pub runtime: String,
    pub id: String,
}

impl ProcessRef {
    pub fn new(runtime: &str, id: impl Into<String>) -> ProcessRef {
        ProcessRef { runtime: runtime.to_owned(), id: id.into() }
    }
}

impl fmt::Display for ProcessRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.runtime.as_str() {
            "" => f.write_str(&self.id),
            runtime => write!(f, "{runtime}:{}", self.id),
        }
    }
}

/// In the log it is one text.
impl From<ProcessRef> for String {
    fn from(process: ProcessRef) -> String {
        process.to_string()
    }
}

impl From<String> for ProcessRef {
    fn from(text: String) -> ProcessRef {
        match text.split_once(':') {
            Some((runtime, id)) => ProcessRef::new(runtime, id),
            None => ProcessRef::new("", text),
        }
    }
}
