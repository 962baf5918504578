//! The protocols of the makers, over restarts of the daemon at any point of the output.

use std::sync::Arc;
use std::time::Duration;

use ao_agent::{CommandAgent, Options, ProtocolKind};
use ao_ports::{Agent, AnswerOrder, CancelOrder, Cancelled, DeliveryOutcome};
use ao_testkit::ReportLog;
use tokio::time::timeout;

use crate::support::{
    self, ATTEMPT, Buffers, SESSION, agent_over, agent_with, follow, following, order, process,
};

const KINDS: [ProtocolKind; 3] = [ProtocolKind::Claude, ProtocolKind::Codex, ProtocolKind::Acp];
/// The time between two tries. The clock is paused.
const STEP: Duration = Duration::from_millis(500);
/// The life of a daemon that sees only the beginning of the output.
const FIRST_LIFE: Duration = Duration::from_secs(20);
const SECOND_LIFE: Duration = Duration::from_secs(600);

#[tokio::test(start_paused = true)]
async fn a_conversation_goes_on_after_a_restart_anywhere_in_the_output() {
    for kind in KINDS {
        let output = converse(kind, None).await;
        let ends = output.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
        // Before and behind the end of each line, and within the next one.
        let cuts: Vec<usize> = ends.flat_map(|at| [at, at + 1, at + 9]).collect();
        assert!(cuts.len() > 20, "{kind:?}: {}", String::from_utf8_lossy(&output));
        for cut in [0, 1].into_iter().chain(cuts) {
            let again = converse(kind, Some(cut)).await;
            assert_eq!(again.len(), output.len(), "{kind:?} cut at {cut}");
        }
    }
}

/// Has a conversation with an agent: a message with an ask, and one whose turn is cancelled. With `cut`, a first daemon sees
/// only so many bytes of the output and ends. Returns the output.
async fn converse(kind: ProtocolKind, cut: Option<usize>) -> Vec<u8> {
    let buffers = Arc::new(Buffers::speaking(kind));
    let options = Options { protocol: Some(kind), ..Options::default() };
    let stage = agent_with(&buffers, options.clone());
    stage.agent.prepare(SESSION, ATTEMPT, &support::plan()).await.unwrap();
    if let Some(cut) = cut {
        buffers.show(Some(cut));
        let follower = following(&stage.agent, follow(), &stage.notebook);
        let _ = timeout(FIRST_LIFE, work(&stage.agent, &stage.notebook, &buffers)).await;
        follower.abort();
        let _ = follower.await;
        buffers.show(None);
    }
    let agent = agent_over(&buffers, options, stage.folder());
    let notebook = Arc::<ReportLog>::default();
    let follower = following(&agent, follow(), &notebook);
    let done = timeout(SECOND_LIFE, work(&agent, &notebook, &buffers)).await;
    let context = || format!("{kind:?} cut at {cut:?}: {:?} {:#?}", notebook.reports(), buffers.told());
    assert!(done.is_ok(), "{}", context());
    assert_eq!(buffers.turns(), ["one [[ask May I?]]", "two [[work 10m]]"], "{}", context());
    assert_eq!(buffers.answers(), 1, "{}", context());
    assert!(notebook.reports().iter().any(|report| report.starts_with("Conversation talk")), "{}", context());
    follower.abort();
    buffers.output()
}

/// Does what the engine does with a session, from its first message on. All of it may have happened already.
async fn work(agent: &Arc<CommandAgent>, notebook: &ReportLog, buffers: &Buffers) {
    give(agent, 1, "one [[ask May I?]]").await;
    while !rests(notebook) && buffers.turns().len() < 2 {
        if let Some(ask) = notebook.open_asks().pop() {
            let answer = AnswerOrder {
                session: SESSION,
                attempt: ATTEMPT,
                process: process(),
                number: 1,
                ask: Some(ask.id),
                question: "May I?".into(),
                option: None,
                text: "yes".into(),
            };
            agent.answer(&answer).await.unwrap();
        }
        tokio::time::sleep(STEP).await;
    }
    give(agent, 2, "two [[work 10m]]").await;
    let cancel =
        CancelOrder { session: SESSION, attempt: ATTEMPT, process: process(), conversation: None, number: 1 };
    assert_eq!(agent.cancel(&cancel).await, Ok(Cancelled::Cut));
    while !rests(notebook) {
        tokio::time::sleep(STEP).await;
    }
}

/// Delivers a message until its turn has begun.
async fn give(agent: &Arc<CommandAgent>, delivery: u32, text: &str) {
    for tries in 1.. {
        match agent.deliver(&order(delivery, tries, text)).await.unwrap() {
            DeliveryOutcome::Taken { .. } => return,
            DeliveryOutcome::Written | DeliveryOutcome::Held { .. } => tokio::time::sleep(STEP).await,
        }
    }
}

/// Returns true if the agent was last seen at its prompt.
fn rests(notebook: &ReportLog) -> bool {
    let reports = notebook.reports();
    let states = ["Idle", "Working", "Asked", "Taken"];
    let last = reports.iter().rfind(|report| states.iter().any(|state| report.starts_with(state)));
    last.is_some_and(|last| last == "Idle")
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_refuses_to_open_is_reported_and_gets_nothing() {
    let buffers = Arc::new(Buffers::default());
    let options = Options { protocol: Some(ProtocolKind::Acp), ..Options::default() };
    let stage = agent_with(&buffers, options);
    stage.agent.prepare(SESSION, ATTEMPT, &support::plan()).await.unwrap();
    buffers.says(
        r#"{"jsonrpc":"2.0","id":"initialize","error":{"code":-32000,"message":"Authentication required"}}"#,
    );
    let delivered = stage.agent.deliver(&order(1, 1, "go")).await;
    let why = delivered.unwrap_err().to_string();
    assert!(why.contains("Authentication required"), "{why}");
    assert!(!buffers.told().iter().any(|line| line.contains("session/prompt")), "{:?}", buffers.told());
}
