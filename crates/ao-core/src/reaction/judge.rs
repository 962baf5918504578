//! The judge of reactions' conditions.

use std::fmt;

use serde_json::Value;

/// Says whether an expression holds in a context. The language is plugged in, because its parser is larger than all of the
/// core; what is asked of it is that the same question always has the same answer.
#[derive(Clone, Copy)]
pub struct Judge(pub fn(expression: &str, context: &Value) -> Result<bool, String>);

/// Nobody can judge: every condition is an error, so that nothing is done by mistake.
impl Default for Judge {
    fn default() -> Judge {
        Judge(|_, _| Err("conditions cannot be judged here".into()))
    }
}

/// Two states that know the same are the same, whoever judges.
impl PartialEq for Judge {
    fn eq(&self, _: &Judge) -> bool {
        true
    }
}

impl Eq for Judge {}

impl fmt::Debug for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Judge")
    }
}
