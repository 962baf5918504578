//! The four states that clients of the original know: working, waiting, idle, error.

use super::StatusWord;

/// One of the four classic states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassicState {
    /// The agent works, or `ao` is preparing it.
    Working,
    /// It waits for an answer, a decision, a slot, or the end of a limit.
    Waiting,
    /// It has nothing to do at the moment, or has ended.
    Idle,
    /// It cannot continue, or nothing is known of it: a person has to look.
    Error,
}

impl StatusWord {
    /// Returns the classic state.
    pub fn classic(self) -> ClassicState {
        use StatusWord::*;
        match self {
            SettingUp | Starting | Working | Retrying | Stopping => ClassicState::Working,
            Queued | NeedsInput | Blocked | RateLimited | Capped | Paused => ClassicState::Waiting,
            Idle | Stopped | Merged => ClassicState::Idle,
            SetupFailed | Unknown | Exited => ClassicState::Error,
        }
    }

    /// Returns true if a filter's word lets the state through: its own word, or `waiting` and `error` of the classic four.
    /// `working` and `idle` are words of both, and mean the one state.
    pub fn is_meant_by(self, filter: &str) -> bool {
        match filter {
            "waiting" => self.classic() == ClassicState::Waiting,
            "error" => self.classic() == ClassicState::Error,
            word => self.word() == word,
        }
    }

    /// Parses a name.
    pub fn of_word(word: &str) -> Option<StatusWord> {
        StatusWord::ALL.into_iter().find(|state| state.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_one_of_the_four_and_is_found_by_its_own_word() {
        for state in StatusWord::ALL {
            assert_eq!(StatusWord::of_word(state.word()), Some(state));
            assert!(state.is_meant_by(state.word()));
            let (waiting, error) = (state.is_meant_by("waiting"), state.is_meant_by("error"));
            assert!(!(waiting && error), "{state:?}");
            assert_eq!(waiting, state.classic() == ClassicState::Waiting);
        }
        assert!(!StatusWord::Starting.is_meant_by("working"), "a filter's own words are exact");
        assert!(
            StatusWord::NeedsInput.is_meant_by("waiting") && StatusWord::SetupFailed.is_meant_by("error")
        );
    }
}
