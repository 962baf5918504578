//! Offers the checks that fit a repository, before its first configuration is written.

use std::io::{self, BufRead, IsTerminal, Write};

use ao_scm::checks::ProposedCheck;

use crate::error::CommandError;
use crate::show;

/// Returns true if there is a terminal to ask at.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Shows the checks and asks whether to run them. Enter is a yes; the end of the input is a no.
pub(crate) fn accepted(checks: &[ProposedCheck]) -> Result<bool, CommandError> {
    let failed = |err: io::Error| CommandError::environment(format!("the terminal cannot be read: {err}"));
    let (mut input, mut output) = (io::stdin().lock(), io::stderr().lock());
    ask(checks, &mut input, &mut output).map_err(failed)
}

fn ask(checks: &[ProposedCheck], input: &mut impl BufRead, output: &mut impl Write) -> io::Result<bool> {
    let width = checks.iter().map(|check| check.name.len()).max().unwrap_or_default();
    writeln!(output, "These checks fit this repository:")?;
    for ProposedCheck { name, command, because } in checks {
        let because = show::plain(because);
        writeln!(output, "  {:<width$}  {}   ({because})", show::plain(name), show::plain(command))?;
    }
    loop {
        write!(output, "Run them on every pull request, before it is merged? [Y/n] ")?;
        output.flush()?;
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            writeln!(output)?;
            return Ok(false);
        }
        match line.trim().to_lowercase().as_str() {
            "" | "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => writeln!(output, "Please answer `y` or `n`.")?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_asked_for_until_it_is_one() {
        let check = ProposedCheck {
            name: "go-test".into(),
            command: "go test ./...".into(),
            because: "there is a `go.mod`".into(),
        };
        for (typed, expected, times) in
            [("\n", true, 1), ("Yes\n", true, 1), ("n\n", false, 1), ("", false, 1), ("what\ny\n", true, 2)]
        {
            let mut told = Vec::new();
            let answer = ask(std::slice::from_ref(&check), &mut typed.as_bytes(), &mut told).unwrap();
            let told = String::from_utf8(told).unwrap();
            assert_eq!((answer, told.matches("[Y/n]").count()), (expected, times), "{typed:?}");
            assert!(told.contains("go-test  go test ./..."), "{told}");
        }
    }
}
