//! Converts the core's state to wire types, without changing it.

/// Converts an enum to one whose variants have the same names. A new variant has to be added to the list.
macro_rules! same_name {
    ($value:expr, $from:ident => $to:ident: $($variant:ident),+ $(,)?) => {
        match $value {
            $($from::$variant { .. } => $to::$variant,)+
        }
    };
}
pub(crate) use same_name;

mod advice;
mod budget;
mod check;
pub(crate) mod daemon;
mod explain;
mod issue;
mod message;
mod plan;
mod pull;
mod queue;
mod reaction;
mod session;
mod work;

use ao_api::NoticePriority;
use ao_core::Timestamp;
use ao_core::notice::NoticeLevel;

pub(crate) use advice::advice;
pub(crate) use budget::{budgets, scope};
pub(crate) use check::{check_log, check_run};
pub(crate) use explain::explanation;
pub(crate) use issue::issue;
pub(crate) use message::{find_message, messages};
pub(crate) use plan::plan;
pub(crate) use pull::{pull, pull_detail, pull_row};
pub(crate) use queue::merge_queue;
pub(crate) use reaction::{reactions, steps, tested};
pub(crate) use session::{asks, session, state_of, status, whole_ask};
pub(crate) use work::pull_work;

pub(crate) fn time(at: Timestamp) -> ao_api::Timestamp {
    ao_api::Timestamp::from_millisecond(at.0).unwrap_or(ao_api::Timestamp::UNIX_EPOCH)
}

pub(crate) fn priority(level: NoticeLevel) -> NoticePriority {
    same_name!(level, NoticeLevel => NoticePriority: Urgent, Action, Warning, Info)
}

#[cfg(test)]
mod tests {
    use ao_core::hook::HookPoint;
    use ao_core::reaction::ReactionAction;
    use ao_core::session::StatusWord;
    use serde_json::json;

    use super::*;

    /// The log and the configuration have the same names as the API.
    #[test]
    fn a_value_has_one_name_everywhere() {
        for word in StatusWord::ALL {
            assert_eq!(json!(state_of(word)), json!(word));
        }
        for point in HookPoint::ALL {
            assert_eq!(json!(daemon::trigger(point)), json!(point));
        }
        for action in [ReactionAction::SendToAgent, ReactionAction::RerunChecks, ReactionAction::Merge] {
            assert_eq!(json!(reaction::action(action)), json!(action));
        }
        for level in [NoticeLevel::Urgent, NoticeLevel::Info] {
            assert_eq!(json!(priority(level)), json!(level));
        }
    }
}
