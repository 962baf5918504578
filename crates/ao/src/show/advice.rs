//! Renders advice, each with its reason and a command.

use std::fmt::Write;

use ao_api::AdviceList;

use super::{Canvas, words};
use crate::ui;

/// Renders a list of advice: what, why, and the command.
pub fn advice(list: &AdviceList, _: Canvas) -> String {
    if list.advice.is_empty() {
        return "Nothing needs you now. `ao status` shows all sessions, `ao plan` what comes next.\n".into();
    }
    let (title, faint, hint) = (ui::TITLE, ui::FAINT, ui::HINT);
    let mut drawn = String::new();
    for one in &list.advice {
        let (what, why) = (words::plain(&one.what), words::plain(&one.why));
        let _ = writeln!(drawn, "{title}{:>2}. {what}{title:#}", one.rank);
        let _ = writeln!(drawn, "    {faint}{why}{faint:#}");
        if !one.command.is_empty() {
            let _ = writeln!(drawn, "    {hint}{}{hint:#}", words::plain(&one.command));
        }
    }
    drawn
}

#[cfg(test)]
mod tests {
    use ao_api::{Advice, AdviceTopic};

    use super::*;

    #[test]
    fn advice_says_what_why_and_what_to_do() {
        let one = Advice {
            rank: 1,
            kind: AdviceTopic::Merge,
            project_id: Some("app".into()),
            subject: "app!7".into(),
            what: "app!7 is approved and green, one command away: \u{1b}[31mred".into(),
            why: "nothing stands in the way of its merge; 3 others wait for it".into(),
            unblocks: 3,
            command: "ao pr merge 'app!7'".into(),
        };
        let drawn = advice(&AdviceList { advice: vec![one] }, Canvas::here());
        let drawn = anstream::adapter::strip_str(&drawn).to_string();
        assert!(drawn.starts_with(" 1. app!7 is approved and green"), "{drawn}");
        assert!(drawn.contains("\n    ao pr merge 'app!7'\n") && !drawn.contains('\u{1b}'), "{drawn}");
        let nothing = advice(&AdviceList { advice: vec![] }, Canvas::here());
        assert!(nothing.contains("`ao plan`"), "{nothing}");
    }
}
