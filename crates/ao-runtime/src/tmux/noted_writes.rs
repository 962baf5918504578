//! Remembers which writes were made: noted in tmux as options of the pane, and so forgotten with it.
//!
//! Each number is an option of its own, since numbers need not come in order, and its value is the order of arrival.
//! Only the last ones are kept: a write is repeated soon or never, and an agent may be used for weeks.

use std::collections::VecDeque;

/// Most writes that are remembered of each agent.
const KEPT: usize = 1000;
const NOTE: &str = "@ao_wrote_";

/// The writes noted with a pane, oldest first.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct NotedWrites {
    numbers: VecDeque<u64>,
    /// The number of all writes ever.
    count: u64,
}

/// Returns the option by which a write is noted.
pub(super) fn note(number: u64) -> String {
    format!("{NOTE}{number}")
}

impl NotedWrites {
    /// Returns the command that asks tmux for them.
    pub(super) fn question(pane: &str) -> String {
        format!("show-options -p -t {pane}")
    }

    pub(super) fn of(answer: &[String]) -> NotedWrites {
        let noted = |line: &String| {
            let (number, order) = line.strip_prefix(NOTE)?.split_once(' ')?;
            Some((order.trim_matches('"').parse::<u64>().ok()?, number.parse().ok()?))
        };
        let mut noted: Vec<(u64, u64)> = answer.iter().filter_map(noted).collect();
        noted.sort_unstable();
        let count = noted.last().map_or(0, |(order, _)| *order);
        NotedWrites { numbers: noted.into_iter().map(|(_, number)| number).collect(), count }
    }

    /// Adds a write, and returns the commands that note it and forget the oldest ones.
    pub(super) fn add(&mut self, pane: &str, number: u64) -> Vec<String> {
        self.count += 1;
        self.numbers.push_back(number);
        let mut commands = vec![format!("set-option -p -t {pane} {} {}", note(number), self.count)];
        while self.numbers.len() > KEPT
            && let Some(old) = self.numbers.pop_front()
        {
            commands.push(format!("set-option -pu -t {pane} {}", note(old)));
        }
        commands
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_kept_in_the_order_in_which_they_came() {
        let lines =
            ["@ao_place /x", "@ao_wrote_10 2", "@ao_wrote_9 \"10\"", "@ao_wrote_7 1"].map(str::to_owned);
        let mut wrote = NotedWrites::of(&lines);
        assert_eq!((Vec::from(wrote.numbers.clone()), wrote.count), (vec![7, 10, 9], 10));
        assert_eq!(wrote.add("%1", 3), ["set-option -p -t %1 @ao_wrote_3 11"]);
        for number in 1000..1996 {
            assert_eq!(wrote.add("%1", number).len(), 1);
        }
        assert_eq!(wrote.add("%1", 5)[1..], ["set-option -pu -t %1 @ao_wrote_7"]);
        assert_eq!(wrote.numbers.len(), KEPT);
    }
}
