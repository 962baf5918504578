//! The output of an agent becomes reports, each once, and nothing else does.

use std::sync::Arc;
use std::time::Duration;

use ao_agent::turn::TurnFormat;
use ao_agent::{Options, OutputOptions, Prompt};
use ao_core::ask::AskKind;
use ao_core::input::ProcessLife;
use ao_ports::{Agent, DeliveryOutcome, FollowOrder, LookOrder};
use tokio::time::{Instant, sleep};

use crate::support::{
    ATTEMPT, Buffers, SESSION, Stage, agent, agent_with, follow, following, order, process,
};

#[tokio::test(start_paused = true)]
async fn lines_are_reported_in_order_and_other_output_is_not() {
    let buffers = Arc::new(Buffers::default());
    let Stage { agent, notebook, .. } = &agent(&buffers, Prompt::Lines, &[]);
    let task = following(agent, follow(), notebook);
    buffers.says("warming up");
    buffers.says(r#"{"ao":"idle"}"#);
    assert_eq!(notebook.until(1).await, ["Idle"]);
    buffers.says(r#"{"ao":"taken","delivery":1,"text":"go"}"#);
    buffers.says(r#"{"ao":"working","doing":"tests"} "#);
    buffers.says(r#"{"level":"info","ao":"nothing"}"#);
    buffers.says(r#"{"ao":"spent","turns":2}"#);
    let expected =
        ["Idle", "Working { doing: \"\" }", "Taken \"go\"", "Working { doing: \"tests\" }", "Spent 2"];
    assert_eq!(notebook.until(5).await, expected);
    task.abort();
    buffers.says(r#"{"ao":"idle"}"#);
    assert_eq!(notebook.until(6).await, expected, "it is not read any more");
}

/// A text that was taken before is no proof of a later message with the same words.
#[tokio::test(start_paused = true)]
async fn after_a_restart_only_the_last_word_counts() {
    let buffers = Arc::new(Buffers::default());
    for line in [
        r#"{"ao":"working"}"#,
        r#"{"ao":"taken","delivery":1,"text":"go"}"#,
        r#"{"ao":"spent","turns":1}"#,
        r#"{"ao":"idle"}"#,
    ] {
        buffers.says(line);
    }
    let Stage { agent, notebook, .. } = &agent(&buffers, Prompt::Lines, &[]);
    following(agent, follow(), notebook);
    // The total usage is reported this way too.
    assert_eq!(notebook.until(2).await, ["Idle", "Spent 1"]);
}

/// Denials that the daemon may have missed; those that it knows are recognised by their id.
///
/// acceptance: X2
#[tokio::test(start_paused = true)]
async fn denied_calls_are_reported_by_id_and_again_after_a_restart() {
    let buffers = Arc::new(Buffers::default());
    let over = r#"{"type":"result","permission_denials":[{"tool_name":"Write","tool_use_id":"toolu_7"}]}"#;
    for line in [r#"{"ao":"denied","tool":"Bash"}"#, r#"{"ao":"working"}"#, over, r#"{"ao":"idle"}"#] {
        buffers.says(line);
    }
    let expected = ["Denied Bash attempt 1 denied 1", "Denied Write toolu_7", "Idle"];
    for _ in 0..2 {
        let Stage { agent, notebook, .. } = &agent(&buffers, Prompt::Lines, &[]);
        following(agent, follow(), notebook);
        assert_eq!(notebook.until(3).await, expected);
    }
}

/// Otherwise a lost "idle" would never heal: each look would renew the claim to be working.
#[tokio::test(start_paused = true)]
async fn a_look_tells_of_the_process_and_does_not_repeat_what_was_said() {
    let buffers = Arc::new(Buffers::default());
    buffers.says(r#"{"ao":"working"}"#);
    let Stage { agent, .. } = &agent(&buffers, Prompt::Lines, &[]);
    let order =
        LookOrder { session: SESSION, attempt: ATTEMPT, process: Some(process()), conversation: None };
    for (life, expected) in [
        (ProcessLife::Alive { busy: true }, "Alive { busy: true }"),
        (ProcessLife::Gone { code: Some(1) }, "Exited { code: Some(1) }"),
        (ProcessLife::Unheld, "Unheld"),
        (ProcessLife::Unknown, "Unreadable { why: \"the runtime cannot tell\" }"),
    ] {
        *buffers.life.lock().unwrap() = Some(life);
        let seen = agent.look(&order).await.unwrap();
        assert_eq!(seen.iter().map(|seen| format!("{:?}", seen.reading)).collect::<Vec<_>>(), [expected]);
    }
}

/// It may wait for something that never comes.
#[tokio::test(start_paused = true)]
async fn that_a_program_was_started_proves_nothing_until_its_first_word() {
    let buffers = Arc::new(Buffers::default());
    let Stage { agent, notebook, .. } = &agent(&buffers, Prompt::Argument, &[]);
    let order = FollowOrder { with_launch: Some("go".into()), ..follow() };
    following(agent, order, notebook);
    sleep(HOUR).await;
    assert_eq!(notebook.reports(), Vec::<String>::new());
    buffers.says("I look at the tests.");
    let told = notebook.until(3).await;
    assert_eq!(told, ["Working { doing: \"\" }", "Taken \"go\"", "Working { doing: \"\" }"]);
}

/// By the word of its process: silent programs do their work too.
#[tokio::test(start_paused = true)]
async fn a_program_of_few_words_has_taken_its_task_if_it_ends_well() {
    for (code, expected) in [(0, vec!["Taken \"go\"", "TurnEnded Done"]), (1, vec![])] {
        let buffers = Arc::new(Buffers::default());
        let Stage { agent, notebook, .. } = &agent(&buffers, Prompt::Argument, &[]);
        *buffers.life.lock().unwrap() = Some(ProcessLife::Gone { code: Some(code) });
        let order = FollowOrder { with_launch: Some("go".into()), ..follow() };
        following(agent, order, notebook).await.unwrap();
        assert_eq!(notebook.reports(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_reports_in_json_is_heard_and_its_conversation_is_known() {
    let buffers = Arc::new(Buffers::default());
    for line in [
        "Reading additional input from stdin...",
        r#"{"type":"thread.started","thread_id":"01a1"}"#,
        r#"{"type":"turn.started"}"#,
        r#"{"type":"item.completed","item":{"type":"agent_message","text":"It works."}}"#,
    ] {
        buffers.says(line);
    }
    let output = OutputOptions { format: TurnFormat::Codex, ..OutputOptions::default() };
    let options = Options { prompt: Prompt::Argument, output, ..Options::default() };
    let Stage { agent, notebook, .. } = &agent_with(&buffers, options);
    buffers.ends();
    let order = FollowOrder { with_launch: Some("go".into()), ..follow() };
    following(agent, order, notebook).await.unwrap();
    let expected = [
        "Working { doing: \"\" }",
        "Taken \"go\"",
        "Conversation 01a1",
        "Working { doing: \"\" }",
        "Reply \"It works.\"",
        "TurnEnded Done",
    ];
    assert_eq!(notebook.reports(), expected);
}

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn output_after_a_long_silence_is_reported_without_delay() {
    let buffers = Arc::new(Buffers::default());
    let Stage { agent, notebook, .. } = &agent(&buffers, Prompt::Lines, &[]);
    following(agent, follow(), notebook);
    sleep(HOUR).await;
    assert!(buffers.asked() < 70, "{} times in an hour", buffers.asked());
    let before = Instant::now();
    for (count, line) in [(1, r#"{"ao":"working"}"#), (3, r#"{"ao":"idle"}"#)] {
        buffers.says(line);
        assert_eq!(notebook.until(count).await.len(), count, "{:?}", notebook.reports());
    }
    assert_eq!(before.elapsed(), Duration::ZERO);
}

/// A delivery reads too; the follower reports what it finds.
#[tokio::test(start_paused = true)]
async fn a_delivery_does_not_wait_for_output_and_keeps_none_of_it_back() {
    let buffers = Arc::new(Buffers::default());
    let Stage { agent, notebook, .. } = &agent(&buffers, Prompt::Lines, &[]);
    following(agent, follow(), notebook);
    sleep(HOUR).await;
    let before = Instant::now();
    assert_eq!(agent.deliver(&order(1, 1, "go")).await, Ok(DeliveryOutcome::Written));
    buffers.says(r#"{"ao":"taken","delivery":1,"text":"go"}"#);
    let taken = DeliveryOutcome::Taken { turn: "attempt 1 delivery 1".into(), text: "go".into() };
    assert_eq!(agent.deliver(&order(1, 2, "go")).await, Ok(taken));
    assert_eq!(notebook.until(2).await, ["Working { doing: \"\" }", "Taken \"go\""]);
    assert_eq!(before.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_follower_reports_the_last_words_and_ends_with_the_process() {
    let buffers = Arc::new(Buffers::default());
    let Stage { agent, notebook, .. } = &agent(&buffers, Prompt::Lines, &[]);
    following(agent, follow(), notebook);
    sleep(HOUR).await;
    buffers.says(r#"{"ao":"idle"}"#);
    buffers.ends();
    assert_eq!(notebook.until(1).await, ["Idle"]);
    let asked = buffers.asked();
    sleep(HOUR).await;
    assert_eq!(buffers.asked(), asked);
}

/// Several are open at once, each with an id: its own, or one that is the same whenever its output is read.
#[tokio::test(start_paused = true)]
async fn asks_are_reported_with_their_ids_until_they_are_closed() {
    let buffers = Arc::new(Buffers::default());
    let Stage { agent, notebook, .. } = &agent(&buffers, Prompt::Lines, &[]);
    following(agent, follow(), notebook);
    let options =
        r#"[{"id":"y","label":"Yes","kind":"allow_once"},{"id":"n","label":"No","kind":"reject_once"}]"#;
    buffers.says(&format!(r#"{{"ao":"asking","ask":"7","question":"May I?","options":{options}}}"#));
    buffers.says(r#"{"ao":"asking","question":"Which one?"}"#);
    let asked = ["Asked 7 \"May I?\"", "Asked unnamed 1 \"Which one?\""];
    assert_eq!(notebook.until(2).await, asked);
    let asks = notebook.open_asks();
    assert_eq!((asks[0].kind, asks[1].kind), (AskKind::Permission, AskKind::Text));
    assert_eq!(asks[0].option("yes").map(|option| &*option.id), Some("y"));
    buffers.says(r#"{"ao":"working"}"#);
    buffers.says(r#"{"ao":"ask_closed","ask":"7"}"#);
    let closed = ["AskClosed unnamed 1", "Working { doing: \"\" }", "AskClosed 7"];
    assert_eq!(notebook.until(5).await[2..], closed);
    assert_eq!(notebook.open_asks(), []);
}

/// An ask that was closed while no daemon was there may still be open for the next one.
#[tokio::test(start_paused = true)]
async fn after_a_restart_closed_asks_are_reported_as_closed() {
    let buffers = Arc::new(Buffers::default());
    for line in [
        r#"{"ao":"asking","ask":"7","question":"May I?"}"#,
        r#"{"ao":"asking","ask":"8","question":"And now?"}"#,
        r#"{"ao":"ask_closed","ask":"7"}"#,
        r#"{"ao":"working"}"#,
    ] {
        buffers.says(line);
    }
    let Stage { agent, notebook, .. } = &agent(&buffers, Prompt::Lines, &[]);
    following(agent, follow(), notebook);
    let expected = ["Working { doing: \"\" }", "AskClosed 7", "Asked 8 \"And now?\""];
    assert_eq!(notebook.until(3).await, expected);
}

/// An agent that opens asks without end is held to a few.
#[tokio::test(start_paused = true)]
async fn a_flood_of_asks_is_bounded() {
    let buffers = Arc::new(Buffers::default());
    let Stage { agent, notebook, .. } = &agent(&buffers, Prompt::Lines, &[]);
    following(agent, follow(), notebook);
    sleep(Duration::from_secs(1)).await;
    for number in 0..5000 {
        buffers.says(&format!(r#"{{"ao":"asking","ask":"{number}","question":"May I?"}}"#));
    }
    sleep(HOUR).await;
    assert_eq!(notebook.open_asks().len(), 16);
    for number in 0..5000 {
        buffers.says(&format!(r#"{{"ao":"asking","ask":"{number}","question":"May I?"}}"#));
        buffers.says(&format!(r#"{{"ao":"ask_closed","ask":"{number}"}}"#));
    }
    sleep(HOUR).await;
    assert_eq!(notebook.open_asks(), []);
    assert!(notebook.reports().len() < 100, "{}", notebook.reports().len());
}
