//! Files that a power cut or a full disk has spoilt.

use std::fs;
use std::path::PathBuf;

use ao_core::Attempt;
use ao_core::input::ProcessLife;
use ao_ports::{CensusEntry, EndOrder, ProcessIo};
use ao_testkit::contract::runtime::{RuntimeBench, Story, lives};

use crate::contract::Held;
use crate::tmux::bench::Terminal;

#[tokio::test]
async fn one_spoilt_place_does_not_keep_the_others_from_being_known() {
    let bench = Held::on(ProcessIo::Pipes);
    let root = bench.state();
    one_spoilt_place(bench, root).await;
}

#[tokio::test]
async fn one_spoilt_place_does_not_keep_the_others_from_being_known_in_tmux() {
    let bench = Terminal::new();
    let root = bench.state().join("agents");
    one_spoilt_place(bench, root).await;
}

async fn one_spoilt_place(bench: impl RuntimeBench, root: PathBuf) {
    let mut story = Story::begin(bench).await;
    let spoilt = [("record", ""), ("record", "{"), ("exit", "{"), ("ended", "{"), ("ended", "")];
    for (round, (file, text)) in spoilt.into_iter().enumerate() {
        let mut started = Vec::new();
        for number in [0, 1] {
            let mut spec = story.spec(&format!("echo $$ > pid-{round}-{number}; sleep 600"));
            (spec.session, spec.attempt) = (story.session(number), Attempt(round as u32 + 1));
            story.runtime().start(&spec).await.unwrap();
            let pid = story.until_file(&format!("pid-{round}-{number}")).await;
            started.push((spec, pid.trim().parse().unwrap()));
        }
        story.daemon_ends();
        let bad = &started[1].0;
        fs::write(root.join(format!("{}/{}/{file}", bad.session, bad.attempt)), text).unwrap();
        story.daemon_starts().await;
        let census = story.runtime().census().await.expect("a census, in spite of one");
        let life = |number: usize| {
            let spec = &started[number].0;
            let is_it = |one: &&CensusEntry| (one.session, one.attempt) == (spec.session, spec.attempt);
            census.iter().find(is_it).map(|one| one.life)
        };
        assert!(matches!(life(0), Some(ProcessLife::Alive { .. })), "{file} {text:?}: {census:?}");
        assert!(
            matches!(life(1), Some(ProcessLife::Alive { .. } | ProcessLife::Unknown)),
            "nobody has seen it end: {file} {text:?}: {census:?}"
        );
        for (spec, pid) in started {
            let order = EndOrder { session: spec.session, attempt: spec.attempt, process: None };
            story.runtime().end(&order).await.expect("it can be ended all the same");
            assert!(!lives(pid));
        }
    }
}
