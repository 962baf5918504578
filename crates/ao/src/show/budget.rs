//! Renders budgets as a table and in short. Unknown usage is shown as such, never as zero.

use std::fmt::Write;

use ao_api::{Budget, BudgetKind, Budgets, Limits};

use super::table::{TableCell, TextTable};
use super::{Canvas, words};
use crate::ui;

/// Renders the usage of all budgets, and refused accounts.
pub fn budgets(budgets: &Budgets, canvas: Canvas) -> String {
    let mut table = TextTable::new(&["BUDGET", "COST", "TOKENS", "TURNS", "TIME", "STATE"]);
    for budget in &budgets.budgets {
        let [cost, tokens, turns, time] = counters(budget);
        let (state, style) = match (&budget.capped, budget.marked) {
            (Some(_), _) => ("spent", ui::BUSY),
            (None, true) => ("nearly spent", ui::HINT),
            (None, false) => ("", ui::FAINT),
        };
        let row = [TableCell::new(words::plain(&whose(budget))), cost, tokens, turns, time];
        table.row(row.into_iter().chain([TableCell::styled(state, style)]).collect::<Vec<_>>());
    }
    let mut drawn = table.draw(canvas.width);
    for account in &budgets.accounts {
        let left = u64::try_from(account.until.as_second() - canvas.now.as_second()).unwrap_or(0);
        let _ = write!(
            drawn,
            "\nThe provider's limit of {} holds for {} more, until {}",
            words::plain(&account.account),
            words::span(left),
            account.until
        );
        let _ = match account.sessions.is_empty() {
            true => writeln!(drawn),
            false => writeln!(drawn, "; it holds {}", words::plain(&account.sessions.join(", "))),
        };
    }
    drawn
}

/// Renders a budget in one line: `$1.20 of $2.00, 3 turns`.
pub(super) fn line(budget: &Budget) -> String {
    let Limits { usd, tokens: most_tokens, turns, seconds } = budget.limits;
    let parts = [
        usd.map(|most| format!("{} of ${most:.2}", cost(budget))),
        most_tokens.map(|most| format!("{} of {most} tokens", tokens(budget))),
        turns.map(|most| format!("{} of {most} turns", budget.spend.turns)),
        seconds.map(|most| format!("{} of {}", words::span(budget.spend.seconds), words::span(most))),
    ];
    let told = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    match (&budget.capped, budget.marked) {
        (Some(_), _) => format!("{told}; spent"),
        (None, true) => format!("{told}; nearly used up"),
        (None, false) => told,
    }
}

/// Describes the owner of a budget.
pub(super) fn whose(budget: &Budget) -> String {
    match (budget.scope, budget.of.as_deref()) {
        (BudgetKind::Day, _) => "all, today".into(),
        (BudgetKind::ProjectDay, Some(project)) => format!("{project}, today"),
        (BudgetKind::Project, Some(project)) => format!("{project}, ever"),
        (_, Some(of)) => of.into(),
        (scope, None) => scope.to_string(),
    }
}

fn counters(budget: &Budget) -> [TableCell; 4] {
    let Limits { usd, tokens: most_tokens, turns, seconds } = budget.limits;
    let of = |spent: String, most: Option<String>| match most {
        Some(most) => TableCell::new(format!("{spent} of {most}")),
        None => TableCell::new(spent),
    };
    [
        of(cost(budget), usd.map(|usd| format!("${usd:.2}"))),
        of(tokens(budget), most_tokens.map(|most| most.to_string())),
        of(budget.spend.turns.to_string(), turns.map(|turns| turns.to_string())),
        of(words::span(budget.spend.seconds), seconds.map(words::span)),
    ]
}

fn cost(budget: &Budget) -> String {
    reported_usage(budget, budget.spend.usd.map(|usd| format!("${usd:.2}")))
}

fn tokens(budget: &Budget) -> String {
    reported_usage(budget, budget.spend.tokens.map(|tokens| tokens.to_string()))
}

/// Describes the reported usage. Without a turn there is nothing to report; usage without a report is unknown.
fn reported_usage(budget: &Budget, spent: Option<String>) -> String {
    match spent {
        Some(spent) if budget.partly_unknown => format!("at least {spent}"),
        Some(spent) => spent,
        None if budget.spend.turns == 0 => "-".into(),
        None => "unknown".into(),
    }
}

#[cfg(test)]
mod tests {
    use ao_api::Spend;

    use super::*;

    fn budget(usd: Option<f64>, turns: u64, partly_unknown: bool) -> Budget {
        Budget {
            scope: BudgetKind::ProjectDay,
            of: Some("app".into()),
            spend: Spend { usd, tokens: None, turns, seconds: 90 },
            partly_unknown,
            limits: Limits { usd: Some(2.0), turns: Some(9), ..Limits::default() },
            marked: true,
            capped: None,
            until: None,
        }
    }

    /// acceptance: B3
    #[test]
    fn what_is_not_known_of_a_budget_is_called_so() {
        assert_eq!(line(&budget(None, 3, true)), "unknown of $2.00, 3 of 9 turns; nearly used up");
        assert_eq!(
            line(&budget(Some(1.2), 3, true)),
            "at least $1.20 of $2.00, 3 of 9 turns; nearly used up"
        );
        let spent = Budget { capped: Some("spent".into()), ..budget(Some(1.2), 3, false) };
        assert_eq!(line(&spent), "$1.20 of $2.00, 3 of 9 turns; spent");
        let drawn =
            budgets(&Budgets { budgets: vec![budget(None, 3, true)], accounts: vec![] }, Canvas::here());
        assert!(drawn.contains("unknown") && !drawn.contains("$0"), "{drawn}");
        assert_eq!(tokens(&budget(None, 3, false)), "unknown");
        assert_eq!(
            (cost(&budget(None, 0, false)), tokens(&budget(None, 0, false))),
            ("-".into(), "-".into())
        );
    }
}
