//! The texts that come in with an input and that somebody else has written: what people say, agents show and commands print.
//!
//! Whoever runs the core passes them once, before they mean anything, and so before they are stored, sent or shown: to keep
//! secrets out. Names, ids and what is configured are not among them.

use crate::Input;
use crate::errand::{ErrandInput, ErrandOutcome, Order};
use crate::evidence::{Reading, Signal};
use crate::incident::IncidentInput;
use crate::notice::NoticeInput;
use crate::pull::{CheckState, PullFacts, PullInput};
use crate::queue::{QueueInput, TestResult};
use crate::session::SessionInput;

impl Input {
    /// Passes each text that others have written.
    pub fn each_text(&mut self, pass: &mut dyn FnMut(&mut String)) {
        match self {
            Input::Task { facts, .. } => pass(&mut facts.title),
            Input::Spawn(request) => {
                pass(&mut request.title);
                pass(&mut request.prompt);
            }
            Input::Session { input, .. } => of_session(input, pass),
            Input::Pull { input: PullInput::Seen(facts), .. } => facts.each_text(pass),
            Input::Queue { input, .. } => match input {
                QueueInput::Tested { result: TestResult::Red { output, between }, .. } => {
                    pass(output);
                    pass(between);
                }
                QueueInput::Verdict { objection, .. } => objection.iter_mut().for_each(pass),
                QueueInput::Remove { why, .. }
                | QueueInput::Pause { why }
                | QueueInput::LandRefused { why, .. }
                | QueueInput::EffectFailed { why, .. } => pass(why),
                _ => {}
            },
            Input::Incident { input: IncidentInput::Seen(problem), .. } => pass(&mut problem.detail),
            Input::Notice { input: NoticeInput::Failed { why, .. }, .. } => pass(why),
            Input::Errand {
                input: ErrandInput::Failed { why, .. } | ErrandInput::InTheWay { why, .. },
                ..
            } => {
                pass(why);
            }
            Input::Errand { input: ErrandInput::Done { outcome, .. }, .. } => match outcome {
                ErrandOutcome::Done { said: text } | ErrandOutcome::Refused { why: text } => pass(text),
                ErrandOutcome::BaseRed { signature, excerpt } => {
                    pass(signature);
                    pass(excerpt);
                }
                ErrandOutcome::BaseGreen {} => {}
            },
            Input::Order { order, .. } => match &mut **order {
                Order::Spawn { title, prompt, .. } => {
                    pass(title);
                    pass(prompt);
                }
                Order::Assign { why, .. } => pass(why),
                Order::Reply { text, .. } => pass(text),
                _ => {}
            },
            Input::Tell { text, .. } => pass(text),
            Input::Clear { problem, .. } => pass(problem),
            Input::Raise { problem, revision, detail, .. } => {
                pass(problem);
                pass(revision);
                pass(detail);
            }
            _ => {}
        }
    }
}

fn of_session(input: &mut SessionInput, pass: &mut dyn FnMut(&mut String)) {
    match input {
        SessionInput::Send(message) => pass(&mut message.body),
        SessionInput::Answer { text, .. }
        | SessionInput::Proof { text, .. }
        | SessionInput::LastWords { text, .. } => pass(text),
        SessionInput::Signal(signal) => of_signal(signal, pass),
        SessionInput::Looked { signals, .. } => signals.iter_mut().for_each(|signal| of_signal(signal, pass)),
        SessionInput::SetupFailed { why, .. }
        | SessionInput::NotWritten { why, .. }
        | SessionInput::NotAnswered { why, .. }
        | SessionInput::Failed { why, .. }
        | SessionInput::Stop { why, .. }
        | SessionInput::Hold { why, .. } => pass(why),
        SessionInput::Denied { call, tool, .. } => {
            pass(call);
            pass(tool);
        }
        _ => {}
    }
}

fn of_signal(signal: &mut Signal, pass: &mut dyn FnMut(&mut String)) {
    match &mut signal.reading {
        Reading::Working { doing: text }
        | Reading::Asking { question: text }
        | Reading::Blocked { on: text }
        | Reading::Unreadable { why: text } => pass(text),
        _ => {}
    }
}

impl PullFacts {
    /// Passes each text that others have written.
    pub fn each_text(&mut self, pass: &mut dyn FnMut(&mut String)) {
        pass(&mut self.title);
        self.head_title.iter_mut().for_each(&mut *pass);
        for check in &mut self.checks {
            match &mut check.state {
                CheckState::Failed { signature, excerpt, .. } => {
                    pass(signature);
                    pass(excerpt);
                }
                CheckState::Broken { why } => pass(why),
                CheckState::Pending | CheckState::Passed | CheckState::Skipped => {}
            }
        }
        self.reviews.iter_mut().for_each(|review| pass(&mut review.body));
        let comments = self.threads.iter_mut().flat_map(|thread| &mut thread.comments);
        comments.for_each(|comment| pass(&mut comment.body));
    }
}
