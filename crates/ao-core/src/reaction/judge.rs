//! The judge of reactions' conditions.

use std::fmt;

use serde_json::Value;

/// Evaluates an expression in a context. The language is plugged in, because its parser is larger than all of the
/// core. It must be deterministic.
#[derive(Clone, Copy)]
pub struct ConditionJudge(pub fn(expression: &str, context: &Value) -> Result<bool, String>);

/// No evaluator: every condition is an error, so that nothing is done by mistake.
impl Default for ConditionJudge {
    fn default() -> ConditionJudge {
        ConditionJudge(|_, _| Err("conditions cannot be judged here".into()))
    }
}

/// Always equal: states with the same facts are equal, regardless of the evaluator.
impl PartialEq for ConditionJudge {
    fn eq(&self, _: &ConditionJudge) -> bool {
        true
    }
}

impl Eq for ConditionJudge {}

impl fmt::Debug for ConditionJudge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Judge")
    }
}
