//! Dialogs: a question, numbered choices, one of them marked.

use std::time::Instant;

use super::keys::Key;

/// What an open dialog is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum About {
    /// In a turn: may it go on?
    Permission,
    /// Before the first prompt, by name.
    FirstLaunch(String),
}

/// A dialog that is open.
#[derive(Debug, Clone)]
pub(super) struct Dialog {
    pub(super) about: About,
    pub(super) question: String,
    choices: Vec<&'static str>,
    marked: usize,
    pub(super) opened: Instant,
    pub(super) reminded: bool,
}

/// What was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// Counted from 1.
    Number(usize),
    Escape,
}

impl Dialog {
    pub(super) fn permission(question: &str) -> Dialog {
        Dialog::new(About::Permission, question, &["Yes", "No", "Exit"], 0)
    }

    /// As first launches have them: what is marked is to leave.
    pub(super) fn first_launch(name: &str) -> Dialog {
        let about = About::FirstLaunch(name.into());
        match name {
            "trust" => Dialog::new(
                about,
                "Do you trust the files in this folder?",
                &["Yes, I trust this folder", "No, exit"],
                1,
            ),
            "onboarding" => {
                Dialog::new(about, "Choose the text style", &["Dark mode", "Light mode", "Exit"], 2)
            }
            _ => Dialog::new(about, "Shall the flux be inverted?", &["Exit", "Invert it"], 0),
        }
    }

    fn new(about: About, question: &str, choices: &[&'static str], marked: usize) -> Dialog {
        let question = question.to_owned();
        let choices = choices.to_vec();
        Dialog { about, question, choices, marked, opened: Instant::now(), reminded: false }
    }

    /// What a key does. Text and pastes do nothing, digits choose at once.
    pub(super) fn press(&mut self, key: &Key) -> Option<Choice> {
        match key {
            Key::Enter => Some(Choice::Number(self.marked + 1)),
            Key::Escape => Some(Choice::Escape),
            Key::Up => {
                self.marked = self.marked.saturating_sub(1);
                None
            }
            Key::Down => {
                self.marked = (self.marked + 1).min(self.choices.len() - 1);
                None
            }
            Key::Char(digit) => {
                let number = digit.to_digit(10)? as usize;
                (1..=self.choices.len()).contains(&number).then_some(Choice::Number(number))
            }
            _ => None,
        }
    }

    /// Whether a choice is the one to leave.
    pub(super) fn exits(&self, choice: Choice) -> bool {
        match choice {
            Choice::Number(number) => self.choices[number - 1].to_lowercase().contains("exit"),
            Choice::Escape => self.about != About::Permission,
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

impl Choice {
    pub(super) fn number(self) -> usize {
        match self {
            Choice::Number(number) => number,
            Choice::Escape => 0,
        }
    }
}
