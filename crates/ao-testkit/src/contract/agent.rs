//! The contract of [`Agent`]: one story for each of its promises.
//!
//! An adapter provides an [`AgentBench`] and names it once:
//!
//! ```ignore
//! mod by_lines {
//!     ao_testkit::agent_contract!(crate::support::LineBench::new().await);
//! }
//! ```
//!
//! The agent of a bench understands two tags in its messages: `[[ask QUESTION]]` opens a dialog and goes on after its
//! answer, and `[[work 10m]]` makes a turn that no story waits for. Without a tag a turn ends by itself.

use std::sync::Arc;
use std::time::Duration;

use ao_core::evidence::{Reading, Signal};
use ao_core::{Attempt, SessionId};
use ao_ports::{
    Agent, AgentError, AnswerOrder, AnswerOutcome, CancelOrder, Cancelled, DeliverOrder, DeliveryOutcome,
    LookOrder, ProcessRef,
};
use async_trait::async_trait;

use crate::ReportLog;

/// Generous: it only decides how long a failing test takes.
const BOUND: Duration = Duration::from_secs(40);
/// The time between two looks at a condition.
const STEP: Duration = Duration::from_millis(20);

/// An agent that was launched, and the daemon that follows it.
#[async_trait]
pub trait AgentBench: Send + Sync {
    /// Returns the adapter, as the daemon holds it.
    fn agent(&self) -> Arc<dyn Agent>;

    /// Returns the reports to this life of the daemon.
    fn reports(&self) -> Arc<ReportLog>;

    fn process(&self) -> (SessionId, Attempt, ProcessRef);

    /// Ends the daemon without a clean shutdown, and starts the next one.
    async fn restart(&mut self);

    /// Ends the agent's process.
    async fn end(&self);

    /// Returns the texts that the agent took as its user's turns.
    async fn turns(&self) -> Vec<String>;

    /// Waits until the adapter can see that no turn is running. A report may be ahead of a screen.
    async fn rests(&self) {}

    /// Returns the number of answers that the agent got.
    async fn answers(&self) -> usize;

    /// Waits until the adapter can see that a turn is running.
    async fn works(&self) {
        let works = |reports: &[String]| {
            let last = reports.iter().rfind(|report| report.starts_with("Working") || *report == "Idle");
            last.is_some_and(|last| last != "Idle")
        };
        let reports = self.reports();
        tokio::time::timeout(BOUND, reports.when(works)).await.expect("the agent works");
    }
}

/// Expands to one test for each story, each on a bench of its own.
#[macro_export]
macro_rules! agent_contract {
    ($bench:expr) => {
        $crate::agent_contract!($bench; [
            a_message_is_one_turn_however_often_it_is_delivered,
            a_message_that_was_taken_is_not_written_again_after_a_restart,
            a_turn_is_reported_from_its_beginning_to_its_end,
            nothing_is_delivered_while_an_ask_is_open,
            an_answer_reaches_its_ask_once,
            an_answer_to_another_ask_is_not_given,
            an_ask_stays_open_over_a_restart,
            a_turn_is_cancelled_once,
            without_a_turn_nothing_is_cancelled,
            a_look_sees_the_end_of_the_process,
        ]);
    };
    ($bench:expr; [$($story:ident),* $(,)?]) => {
        $(
            #[tokio::test]
            async fn $story() {
                $crate::contract::agent::$story($bench).await;
            }
        )*
    };
}

fn message(bench: &impl AgentBench, delivery: u32, tries: u32, text: &str) -> DeliverOrder {
    let (session, attempt, process) = bench.process();
    DeliverOrder {
        session,
        attempt,
        process: Some(process),
        conversation: None,
        delivery,
        tries,
        text: text.to_owned(),
        interrupt: false,
    }
}

/// Delivers a message as the engine does: again while it is held, and until it is taken.
async fn give(bench: &impl AgentBench, delivery: u32, text: &str) {
    let given = async {
        let mut tries = 1;
        loop {
            match bench.agent().deliver(&message(bench, delivery, tries, text)).await.expect("it is written")
            {
                DeliveryOutcome::Taken { .. } => return,
                DeliveryOutcome::Written => tries += 1,
                DeliveryOutcome::Held { .. } => {}
            }
            for _ in 0..50 {
                if bench.turns().await.iter().any(|turn| turn == text) {
                    return;
                }
                tokio::time::sleep(STEP).await;
            }
        }
    };
    if tokio::time::timeout(BOUND, given).await.is_err() {
        panic!("{text:?} is not taken: {:?}", bench.reports().reports());
    }
}

/// Waits until the reports fulfil a condition.
async fn reported(bench: &impl AgentBench, what: &str, holds: impl Fn(&[String]) -> bool) {
    let reports = bench.reports();
    if tokio::time::timeout(BOUND, reports.when(holds)).await.is_err() {
        panic!("{what} is not reported: {:?}", reports.reports());
    }
}

/// Waits until the agent was last seen at its prompt.
async fn at_rest(bench: &impl AgentBench) {
    let states = ["Idle", "Working", "Asking", "Asked"];
    reported(bench, "its rest", |reports| {
        let last = reports.iter().rfind(|report| states.iter().any(|state| report.starts_with(state)));
        last.is_some_and(|last| last == "Idle")
    })
    .await;
    bench.rests().await;
}

/// Waits for an ask with this question, and returns its answer.
async fn asked(bench: &impl AgentBench, number: u32, question: &str) -> AnswerOrder {
    reported(bench, question, |reports| {
        reports.iter().any(|report| report.starts_with("Ask") && report.contains(question))
    })
    .await;
    let ask = bench.reports().open_asks().pop().map(|ask| ask.id);
    if ask.is_none() {
        // A hook may report a dialog before it can be seen.
        dialog_seen(bench, question).await;
    }
    let (session, attempt, process) = bench.process();
    let (option, text) = (None, "yes".to_owned());
    AnswerOrder { session, attempt, process, number, ask, question: question.to_owned(), option, text }
}

/// Waits until a look sees the dialog with this question.
async fn dialog_seen(bench: &impl AgentBench, question: &str) {
    let shows = |signal: &Signal| match &signal.reading {
        Reading::Asking { question: shown } => shown.contains(question),
        _ => false,
    };
    let seen = async {
        while !look(bench).await.iter().any(shows) {
            tokio::time::sleep(STEP).await;
        }
    };
    tokio::time::timeout(BOUND, seen).await.expect("the dialog is seen");
}

fn cancel(bench: &impl AgentBench, number: u32) -> CancelOrder {
    let (session, attempt, process) = bench.process();
    CancelOrder { session, attempt, process, conversation: None, number }
}

async fn look(bench: &impl AgentBench) -> Vec<Signal> {
    let (session, attempt, process) = bench.process();
    let order = LookOrder { session, attempt, process: Some(process), conversation: None };
    bench.agent().look(&order).await.expect("a look at a known process")
}

/// A delivery that is repeated is the same message, and its turn has the same name each time.
pub async fn a_message_is_one_turn_however_often_it_is_delivered(bench: impl AgentBench) {
    give(&bench, 1, "go").await;
    at_rest(&bench).await;
    for tries in 2..4 {
        let delivered = bench.agent().deliver(&message(&bench, 1, tries, "go")).await;
        assert!(
            matches!(delivered, Ok(DeliveryOutcome::Taken { .. } | DeliveryOutcome::Written)),
            "{delivered:?}"
        );
    }
    give(&bench, 2, "go on").await;
    assert_eq!(bench.turns().await, ["go", "go on"]);
}

pub async fn a_message_that_was_taken_is_not_written_again_after_a_restart(mut bench: impl AgentBench) {
    give(&bench, 1, "go").await;
    at_rest(&bench).await;
    bench.restart().await;
    let delivered = bench.agent().deliver(&message(&bench, 1, 1, "go")).await;
    assert!(
        matches!(delivered, Ok(DeliveryOutcome::Taken { .. } | DeliveryOutcome::Written)),
        "{delivered:?}"
    );
    give(&bench, 2, "go on").await;
    assert_eq!(bench.turns().await, ["go", "go on"]);
}

/// Between a message that was taken and the work on it no agent looks idle.
pub async fn a_turn_is_reported_from_its_beginning_to_its_end(bench: impl AgentBench) {
    at_rest(&bench).await;
    give(&bench, 1, "go").await;
    // By its text, or by its number where the agent repeats no text.
    let is_turn = |report: &String| ["Taken \"go\"", "Taken 1"].contains(&report.as_str());
    reported(&bench, "the turn", |reports| reports.iter().any(is_turn)).await;
    at_rest(&bench).await;
    assert_eq!(bench.reports().turns().len(), 1, "{:?}", bench.reports().reports());
}

pub async fn nothing_is_delivered_while_an_ask_is_open(bench: impl AgentBench) {
    give(&bench, 1, "[[ask May I?]]").await;
    asked(&bench, 1, "May I?").await;
    let delivered = bench.agent().deliver(&message(&bench, 2, 1, "go")).await;
    assert!(matches!(delivered, Ok(DeliveryOutcome::Held { .. })), "{delivered:?}");
    assert_eq!((bench.turns().await.len(), bench.answers().await), (1, 0));
}

/// The same answer again, after a crash, is neither given twice nor to the next ask.
pub async fn an_answer_reaches_its_ask_once(bench: impl AgentBench) {
    give(&bench, 1, "[[ask May I?]] [[ask And now?]]").await;
    let first = asked(&bench, 1, "May I?").await;
    assert_eq!(bench.agent().answer(&first).await, Ok(AnswerOutcome::Given));
    let second = asked(&bench, 2, "And now?").await;
    assert_eq!(bench.agent().answer(&first).await, Ok(AnswerOutcome::Given));
    assert_eq!(bench.answers().await, 1);
    assert_eq!(bench.agent().answer(&second).await, Ok(AnswerOutcome::Given));
    at_rest(&bench).await;
    assert_eq!(bench.answers().await, 2);
    // No ask is open any more that would hold a message back.
    give(&bench, 2, "go on").await;
}

pub async fn an_answer_to_another_ask_is_not_given(bench: impl AgentBench) {
    give(&bench, 1, "[[ask May I?]] [[ask And now?]]").await;
    let first = asked(&bench, 1, "May I?").await;
    assert_eq!(bench.agent().answer(&first).await, Ok(AnswerOutcome::Given));
    asked(&bench, 2, "And now?").await;
    // A second person answers the question that is gone.
    let late = AnswerOrder { number: 2, ..first };
    let given = bench.agent().answer(&late).await;
    assert!(matches!(given, Ok(AnswerOutcome::Gone { .. })), "{given:?}");
    assert_eq!(bench.answers().await, 1);
}

pub async fn an_ask_stays_open_over_a_restart(mut bench: impl AgentBench) {
    give(&bench, 1, "[[ask May I?]]").await;
    let before = asked(&bench, 1, "May I?").await;
    bench.restart().await;
    // An ask with an id is known from the log, and may be reported again; a dialog has to be seen again.
    match before.ask {
        Some(_) => {
            assert!(bench.reports().open_asks().iter().all(|ask| before.ask.as_ref() == Some(&ask.id)));
        }
        None => dialog_seen(&bench, "May I?").await,
    }
    assert_eq!(bench.agent().answer(&before).await, Ok(AnswerOutcome::Given));
    at_rest(&bench).await;
    assert_eq!(bench.answers().await, 1);
}

/// The same cancellation again cuts no later turn, also after a restart.
pub async fn a_turn_is_cancelled_once(mut bench: impl AgentBench) {
    assert!(bench.agent().abilities().cancel, "the bench is for agents that can");
    give(&bench, 1, "one [[work 10m]]").await;
    bench.works().await;
    assert_eq!(cancelled(&bench, 1).await, Cancelled::Cut);
    at_rest(&bench).await;
    give(&bench, 2, "two [[work 10m]]").await;
    bench.works().await;
    for _ in 0..2 {
        assert_eq!(cancelled(&bench, 1).await, Cancelled::Cut);
        bench.restart().await;
    }
    assert_eq!(cancelled(&bench, 2).await, Cancelled::Cut, "the second turn was still running");
    at_rest(&bench).await;
    assert_eq!(bench.turns().await.len(), 2);
}

/// Cancels a turn, again while the adapter cannot see whether one is running.
async fn cancelled(bench: &impl AgentBench, number: u32) -> Cancelled {
    for _ in 0..100 {
        match bench.agent().cancel(&cancel(bench, number)).await {
            Ok(cancelled) => return cancelled,
            Err(_) => tokio::time::sleep(STEP).await,
        }
    }
    panic!("the turn cannot be cancelled: {:?}", bench.reports().reports());
}

pub async fn without_a_turn_nothing_is_cancelled(bench: impl AgentBench) {
    give(&bench, 1, "go").await;
    at_rest(&bench).await;
    assert_eq!(cancelled(&bench, 1).await, Cancelled::NoTurn);
    give(&bench, 2, "go on").await;
    at_rest(&bench).await;
    assert_eq!(bench.turns().await, ["go", "go on"]);
}

pub async fn a_look_sees_the_end_of_the_process(bench: impl AgentBench) {
    give(&bench, 1, "go").await;
    at_rest(&bench).await;
    let lives = |signals: &[Signal]| signals.iter().any(|it| matches!(it.reading, Reading::Alive { .. }));
    let seen = look(&bench).await;
    assert!(lives(&seen), "{seen:?}");
    bench.end().await;
    let seen = look(&bench).await;
    assert!(!lives(&seen), "{seen:?}");
    assert!(seen.iter().any(|it| matches!(it.reading, Reading::Exited { .. })), "{seen:?}");
}

/// An agent that gets its messages only with a launch holds all others, and refuses what it does not declare.
pub async fn an_agent_for_one_turn_takes_nothing_in_between(bench: impl AgentBench) {
    let abilities = bench.agent().abilities();
    assert!(abilities.one_turn && abilities.prompt_at_launch && !abilities.cancel, "{abilities:?}");
    let delivered = bench.agent().deliver(&message(&bench, 1, 1, "go")).await;
    assert!(matches!(delivered, Ok(DeliveryOutcome::Held { .. })), "{delivered:?}");
    let cancelled = bench.agent().cancel(&cancel(&bench, 1)).await;
    assert!(matches!(cancelled, Err(AgentError::Unable { .. })), "{cancelled:?}");
}

/// The message of a launch is proven by the agent's first output, and its turn ends with the process.
pub async fn the_turn_of_a_launch_is_reported_to_its_end(bench: impl AgentBench) {
    reported(&bench, "the turn", |reports| reports.iter().any(|report| report.starts_with("Taken"))).await;
    bench.end().await;
    reported(&bench, "its end", |reports| reports.contains(&"TurnEnded Done".to_owned())).await;
    assert_eq!(bench.reports().turns().len(), 1, "{:?}", bench.reports().reports());
}
