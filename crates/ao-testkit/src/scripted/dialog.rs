//! Dialogs: a question, numbered choices, one of them marked.

use std::time::Instant;

use super::keys::PressedKey;

/// The kind of a dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DialogKind {
    /// Asks for permission in a turn.
    Permission,
    /// Before the first prompt, by name.
    FirstLaunch(String),
}

/// An open dialog.
#[derive(Debug, Clone)]
pub(super) struct OpenDialog {
    pub(super) about: DialogKind,
    pub(super) question: String,
    choices: Vec<&'static str>,
    marked: usize,
    pub(super) opened: Instant,
    pub(super) reminded: bool,
}

/// The choice in a dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DialogChoice {
    /// Counted from 1.
    Number(usize),
    Escape,
}

impl OpenDialog {
    pub(super) fn permission(question: &str) -> OpenDialog {
        OpenDialog::new(DialogKind::Permission, question, &["Yes", "No", "Exit"], 0)
    }

    /// Like a real first launch: the marked choice is to exit.
    pub(super) fn first_launch(name: &str) -> OpenDialog {
        let about = DialogKind::FirstLaunch(name.into());
        match name {
            "trust" => OpenDialog::new(
                about,
                "Do you trust the files in this folder?",
                &["Yes, I trust this folder", "No, exit"],
                1,
            ),
            "onboarding" => {
                OpenDialog::new(about, "Choose the text style", &["Dark mode", "Light mode", "Exit"], 2)
            }
            _ => OpenDialog::new(about, "Shall the flux be inverted?", &["Exit", "Invert it"], 0),
        }
    }

    fn new(about: DialogKind, question: &str, choices: &[&'static str], marked: usize) -> OpenDialog {
        let question = question.to_owned();
        let choices = choices.to_vec();
        OpenDialog { about, question, choices, marked, opened: Instant::now(), reminded: false }
    }

    /// Handles a key. Text and pastes do nothing, digits choose at once.
    pub(super) fn press(&mut self, key: &PressedKey) -> Option<DialogChoice> {
        match key {
            PressedKey::Enter => Some(DialogChoice::Number(self.marked + 1)),
            PressedKey::Escape => Some(DialogChoice::Escape),
            PressedKey::Up => {
                self.marked = self.marked.saturating_sub(1);
                None
            }
            PressedKey::Down => {
                self.marked = (self.marked + 1).min(self.choices.len() - 1);
                None
            }
            PressedKey::Char(digit) => {
                let number = digit.to_digit(10)? as usize;
                (1..=self.choices.len()).contains(&number).then_some(DialogChoice::Number(number))
            }
            _ => None,
        }
    }

    /// Returns true if a choice exits.
    pub(super) fn exits(&self, choice: DialogChoice) -> bool {
        match choice {
            DialogChoice::Number(number) => self.choices[number - 1].to_lowercase().contains("exit"),
            DialogChoice::Escape => self.about != DialogKind::Permission,
        }
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("│ {}", self.question)];
        for (number, choice) in self.choices.iter().enumerate() {
            let mark = if number == self.marked { '❯' } else { ' ' };
            lines.push(format!("│ {mark} {}. {choice}", number + 1));
        }
        lines
    }
}

impl DialogChoice {
    pub(super) fn number(self) -> usize {
        match self {
            DialogChoice::Number(number) => number,
            DialogChoice::Escape => 0,
        }
    }
}
