//! A message arrives once, and never in a dialog.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ao_agent::{Options, Prompt};
use ao_core::AskId;
use ao_ports::{Agent, AnswerOrder, AnswerOutcome, DeliveryOutcome};

use crate::support::{
    ATTEMPT, Buffers, SESSION, Stage, agent, agent_over, follow, following, order, process,
};

#[tokio::test(start_paused = true)]
async fn a_message_is_one_line_with_its_number() {
    let buffers = Arc::new(Buffers::default());
    let Stage { agent, .. } = &agent(&buffers, Prompt::Lines, &[]);
    let text = "one\n\"two\"\u{7}\r\n";
    assert_eq!(agent.deliver(&order(3, 1, text)).await, Ok(DeliveryOutcome::Written));
    let told = buffers.told();
    assert_eq!(told[0].matches('\n').count(), 1);
    let read: serde_json::Value = serde_json::from_str(&told[0]).unwrap();
    assert_eq!((&read["ao"], &read["delivery"]), (&"message".into(), &3.into()));
    assert_eq!(read["text"], text);
}

/// The daemon dies between written and accepted: the next one looks before it writes.
///
/// acceptance: M6
#[tokio::test(start_paused = true)]
async fn a_taken_message_is_not_written_again_by_a_new_daemon() {
    let buffers = Arc::new(Buffers::default());
    let Stage { agent: first, .. } = &agent(&buffers, Prompt::Lines, &[]);
    first.deliver(&order(1, 1, "go")).await.unwrap();
    buffers.says(r#"{"ao":"taken","delivery":1,"text":"go"}"#);
    for tries in [1, 2] {
        let Stage { agent: next, .. } = &agent(&buffers, Prompt::Lines, &[]);
        let taken = DeliveryOutcome::Taken { turn: "attempt 1 delivery 1".into(), text: "go".into() };
        assert_eq!(next.deliver(&order(1, tries, "go")).await, Ok(taken));
    }
    assert_eq!(buffers.told().len(), 1);

    // The same words with another number are another message.
    let Stage { agent: next, .. } = &agent(&buffers, Prompt::Lines, &[]);
    assert_eq!(next.deliver(&order(2, 1, "go")).await, Ok(DeliveryOutcome::Written));
}

#[tokio::test(start_paused = true)]
async fn an_untaken_message_is_written_again_on_a_new_line() {
    let buffers = Arc::new(Buffers::default());
    let Stage { agent, .. } = &agent(&buffers, Prompt::Lines, &[]);
    agent.deliver(&order(1, 1, "go")).await.unwrap();
    agent.deliver(&order(1, 2, "go")).await.unwrap();
    let told = buffers.told();
    assert_eq!(told[1], format!("\n{}", told[0]));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_while_a_question_is_open_but_the_answer() {
    let buffers = Arc::new(Buffers::default());
    let Stage { agent, notebook, .. } = &agent(&buffers, Prompt::Lines, &[]);
    buffers.says(r#"{"ao":"asking","question":"May I?"}"#);
    following(agent, follow(), notebook);
    notebook.until(1).await;
    let Ok(DeliveryOutcome::Held { why, .. }) = agent.deliver(&order(1, 1, "go")).await else {
        panic!("it is held")
    };
    assert_eq!(why, "a question is open: May I?");
    assert_eq!(buffers.told(), [""; 0]);
    let answer = AnswerOrder {
        session: SESSION,
        attempt: ATTEMPT,
        process: process(),
        number: 1,
        ask: Some(AskId::new("unnamed 1")),
        question: "May I?".into(),
        option: None,
        text: "yes".into(),
    };
    let another = AnswerOrder { ask: Some(AskId::new("unnamed 2")), ..answer.clone() };
    assert!(matches!(agent.answer(&another).await, Ok(AnswerOutcome::Gone { .. })));
    assert_eq!(agent.answer(&answer).await, Ok(AnswerOutcome::Given));
    assert_eq!(buffers.told(), ["{\"ao\":\"answer\",\"ask\":\"unnamed 1\",\"text\":\"yes\"}\n"]);
    buffers.says(r#"{"ao":"idle"}"#);
    notebook.until(2).await;
    assert_eq!(agent.deliver(&order(1, 1, "go")).await, Ok(DeliveryOutcome::Written));
}

/// The daemon dies between deciding to write an answer and writing it.
#[tokio::test(start_paused = true)]
async fn an_answer_that_was_not_written_is_written_once_by_a_new_daemon() {
    let buffers = Arc::new(Buffers::default());
    buffers.remembers_writes.store(true, Ordering::Relaxed);
    let stage = agent(&buffers, Prompt::Lines, &[]);
    buffers.says(r#"{"ao":"asking","ask":"7","question":"May I?"}"#);
    let answer = AnswerOrder {
        session: SESSION,
        attempt: ATTEMPT,
        process: process(),
        number: 1,
        ask: Some(AskId::new("7")),
        question: "May I?".into(),
        option: None,
        text: "yes".into(),
    };
    buffers.fails_writes.store(true, Ordering::Relaxed);
    assert!(stage.agent.answer(&answer).await.is_err());
    buffers.fails_writes.store(false, Ordering::Relaxed);
    for _ in 0..3 {
        let options = Options { prompt: Prompt::Lines, ..Options::default() };
        let next = agent_over(&buffers, options, stage.folder());
        assert_eq!(next.answer(&answer).await, Ok(AnswerOutcome::Given));
    }
    assert_eq!(buffers.told(), ["{\"ao\":\"answer\",\"ask\":\"7\",\"text\":\"yes\"}\n"]);
}

#[tokio::test(start_paused = true)]
async fn a_program_with_its_task_as_argument_is_not_written_to() {
    let buffers = Arc::new(Buffers::default());
    let Stage { agent, .. } = &agent(&buffers, Prompt::Argument, &[]);
    assert!(matches!(agent.deliver(&order(1, 1, "go")).await, Ok(DeliveryOutcome::Held { .. })));
    assert_eq!(buffers.told(), [""; 0]);
}
