//! The summary of `cargo xtask test`: the output of failed steps, then one table, then the number of tests.

use std::fmt::Write as _;

use super::{StepVerdict, SummaryRow, TestCount};

/// The number of lines of a failed step's output that are shown again.
const TAIL: usize = 60;

/// Renders the summary. The last line counts tests and stands alone, so that people and CI both find it.
pub(super) fn render(rows: &[SummaryRow]) -> String {
    let mut out = String::new();
    for row in rows.iter().filter(|row| row.outcome.verdict == StepVerdict::Failed) {
        let lines = &row.outcome.lines;
        let skipped = lines.len().saturating_sub(TAIL);
        let _ = writeln!(out, "── {} failed ──", row.step);
        if skipped > 0 {
            let _ = writeln!(out, "… {skipped} lines above");
        }
        for line in &lines[skipped..] {
            let _ = writeln!(out, "{line}");
        }
        out.push('\n');
    }

    let _ = writeln!(out, "── summary ──\n{:<12} {:>8}  verdict", "step", "seconds");
    for row in rows {
        let _ = writeln!(out, "{:<12} {:>8.1}  {}", row.step, row.took.as_secs_f64(), verdict(row));
    }

    let failed: Vec<_> =
        rows.iter().filter(|row| row.outcome.verdict == StepVerdict::Failed).map(|row| row.step).collect();
    if !failed.is_empty() {
        let again: Vec<_> = failed.iter().map(|step| format!("--only {step}")).collect();
        let _ = writeln!(out, "\nfailed: {}", failed.join(", "));
        let _ = writeln!(out, "again:  cargo xtask test {}", again.join(" "));
    }
    if let Some(total) = total(rows) {
        let _ = writeln!(out, "\n{} passed, {} failed", total.passed, total.failed);
    }
    out
}

fn verdict(row: &SummaryRow) -> String {
    let verdict = match &row.outcome.verdict {
        StepVerdict::Passed => "ok".to_owned(),
        StepVerdict::Failed => "FAILED".to_owned(),
        StepVerdict::Skipped(reason) => format!("skipped: {reason}"),
    };
    let tests = row.outcome.tests.map(|count| match count.failed {
        0 => format!("{} tests", count.passed),
        failed => format!("{} tests, {failed} failed", count.passed + failed),
    });
    let note = Some(row.outcome.note.clone()).filter(|note| !note.is_empty());
    [Some(verdict), tests, note].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Adds up the tests of all steps, or returns `None` if no step has any.
fn total(rows: &[SummaryRow]) -> Option<TestCount> {
    let counts = rows.iter().filter_map(|row| row.outcome.tests);
    counts.reduce(|a, b| TestCount { passed: a.passed + b.passed, failed: a.failed + b.failed })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::StepOutcome;
    use super::*;

    fn row(step: &'static str, outcome: StepOutcome) -> SummaryRow {
        SummaryRow { step, outcome, took: Duration::from_millis(1230) }
    }

    fn tested(passed: usize, failed: usize) -> StepOutcome {
        StepOutcome {
            tests: Some(TestCount { passed, failed }),
            ..StepOutcome::new(failed == 0, vec!["why".to_owned()])
        }
    }

    #[test]
    fn all_is_well() {
        let rows = [
            row("fmt", StepOutcome::new(true, Vec::new())),
            row("nextest", tested(34, 0)),
            row("doctest", tested(2, 0)),
        ];
        let expected = "\
── summary ──
step          seconds  verdict
fmt               1.2  ok
nextest           1.2  ok, 34 tests
doctest           1.2  ok, 2 tests

36 passed, 0 failed
";
        assert_eq!(render(&rows), expected);
    }

    #[test]
    fn a_failure_is_shown_again_and_counted() {
        let rendered = render(&[row("nextest", tested(3, 1))]);
        assert!(rendered.starts_with("── nextest failed ──\nwhy\n"), "{rendered}");
        assert!(rendered.contains("nextest           1.2  FAILED, 4 tests, 1 failed\n"), "{rendered}");
        assert!(
            rendered.ends_with("again:  cargo xtask test --only nextest\n\n3 passed, 1 failed\n"),
            "{rendered}"
        );
    }

    #[test]
    fn a_skipped_step_says_why() {
        let rendered = render(&[row("advisories", StepOutcome::skipped("advisory database unreachable"))]);
        assert!(
            rendered.contains("advisories        1.2  skipped: advisory database unreachable\n"),
            "{rendered}"
        );
    }

    #[test]
    fn a_long_output_is_shown_from_its_end() {
        let lines = (1..=100).map(|n| format!("line {n}")).collect();
        let rendered = render(&[row("clippy", StepOutcome::failed(lines))]);
        assert!(rendered.contains("… 40 lines above\nline 41\n"), "{rendered}");
    }

    #[test]
    fn steps_without_tests_claim_none() {
        assert!(!render(&[row("fmt", StepOutcome::new(true, Vec::new()))]).contains("passed"));
    }
}
