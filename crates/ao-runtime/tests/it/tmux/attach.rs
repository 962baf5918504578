//! A person at an agent's terminal, with a client of their own.

use std::sync::Arc;

use ao_core::evidence::Reading;
use ao_ports::{EndOrder, Report, Runtime, StartSpec, WriteOrder, WriteOutcome};
use ao_runtime::tmux::Tmux;
use ao_testkit::contract::runtime::{Story, until};
use ao_testkit::{ReportLog, TerminalUser};

use super::bench::Terminal;

/// acceptance: S6
#[tokio::test]
async fn a_person_who_comes_and_types_is_noticed() {
    let story = Story::begin(Terminal::new()).await;
    let reports = Arc::<ReportLog>::default();
    let tmux: Arc<Tmux> = Arc::new(story.bench().tmux(reports.clone()).await);
    let mut spec = story.spec("echo up; while read line; do echo \"<$line>\"; done");
    spec.name = "odd: name.with = $signs #{pid} 'and' \"quotes\"".into();
    let process = tmux.start(&spec).await.unwrap();
    let clients = || story.bench().ask(&["list-clients", "-F", "#{client_control_mode}"]);

    let mut person = TerminalUser::runs(&tmux.attach_command(&process).unwrap());
    until("the person", async || clients().contains('0').then_some(())).await;
    let size = async || tmux.screen(&process).await.unwrap().size;
    until("the person's size", async || (size().await == (100, 30)).then_some(())).await;
    // tmux counts in seconds, and does not distinguish typing from attaching within the first one.
    let typed = async || tmux.screen(&process).await.unwrap().typed;
    let came = until("the coming, which counts as typing", async || typed().await).await;
    until("the typing", async || {
        person.types("x");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        typed().await.filter(|typed| *typed > came)
    })
    .await;
    let seen = until("the report", async || {
        reports.unread().into_iter().find_map(|report| match report {
            Report::Signal { session, signal } if signal.reading == Reading::HumanTyped => Some(session),
            _ => None,
        })
    })
    .await;
    assert_eq!(seen, spec.session);
    let order = EndOrder { session: spec.session, attempt: spec.attempt, process: Some(process) };
    tmux.end(&order).await.unwrap();
}

/// They may have typed, and tmux knows nothing of one who has gone.
///
/// acceptance: S6
#[tokio::test]
async fn a_person_who_has_gone_again_at_once_is_noticed() {
    let story = Story::begin(Terminal::new()).await;
    let reports = Arc::<ReportLog>::default();
    let tmux: Arc<Tmux> = Arc::new(story.bench().tmux(reports.clone()).await);
    let spec = story.spec("echo up; sleep 600");
    let process = tmux.start(&spec).await.unwrap();
    let _neighbour = tmux.start(&StartSpec { session: story.session(1), ..spec.clone() }).await.unwrap();
    let typed = async || tmux.screen(&process).await.unwrap().typed;
    assert_eq!(typed().await, None);
    let mut words = tmux.attach_command(&process).unwrap();
    words.extend([";", "detach-client"].map(str::to_owned));
    let mut person = TerminalUser::runs(&words);
    until("the coming", async || typed().await).await;
    until("the going", async || person.has_gone().then_some(())).await;
    for session in [story.session(0), story.session(1)] {
        tmux.end(&EndOrder { session, attempt: spec.attempt, process: None }).await.unwrap();
    }
    for report in reports.unread() {
        let Report::Signal { session, signal } = report else { continue };
        assert!(session == spec.session || signal.reading != Reading::HumanTyped, "not at the neighbour's");
    }
}

/// A long talk does not fill tmux, and what was written lately is still known after a restart.
#[tokio::test]
async fn only_the_last_thousand_writes_are_noted() {
    let mut story = Story::begin(Terminal::new()).await;
    let process = story.start("echo up; cat > /dev/null").await;
    story.until_output(&process, "up").await;
    for number in 0..1005 {
        story.write(&process, number * 7 % 1009, b"").await;
        if number == 600 {
            story.restart().await;
        }
    }
    let panes = story.bench().ask(&["list-panes", "-a", "-F", "#{pane_id} #{@ao_place}"]);
    let pane = panes.lines().find_map(|line| line.split_once(" /").map(|(pane, _)| pane)).unwrap();
    let options = story.bench().ask(&["show-options", "-p", "-t", pane]);
    let noted = |number: u64| options.lines().any(|line| line.starts_with(&format!("@ao_wrote_{number} ")));
    assert_eq!(options.matches("@ao_wrote_").count(), 1000);
    assert!(!noted(0) && !noted(4 * 7) && noted(5 * 7), "those that came first are forgotten");
    let again = WriteOrder { process, number: 5 * 7, bytes: b"".to_vec() };
    assert_eq!(story.runtime().write(&again).await, Ok(WriteOutcome::AlreadyWritten));
    story.end().await;
}

/// A person may have scrolled back, where keys mean something else.
#[tokio::test]
async fn writes_arrive_although_a_person_has_scrolled_back() {
    let story = Story::begin(Terminal::new()).await;
    let process = story.start("echo up; while read line; do echo \"<$line>\"; done").await;
    story.until_output(&process, "up").await;
    let panes = story.bench().ask(&["list-panes", "-a", "-F", "#{pane_id} #{@ao_place}"]);
    let pane =
        panes.lines().find(|line| line.contains("ses_")).and_then(|line| line.split(' ').next()).unwrap();
    story.bench().ask(&["copy-mode", "-t", pane]);
    assert_eq!(story.bench().ask(&["display-message", "-p", "-t", pane, "#{pane_in_mode}"]), "1");
    story.write(&process, 1, b"q hello\n").await;
    story.until_output(&process, "<q hello>").await;
    story.end().await;
}
