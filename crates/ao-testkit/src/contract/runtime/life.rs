//! Liveness: observed, counted, and never guessed.

use ao_core::Attempt;
use ao_core::input::ProcessLife;
use ao_ports::{CensusEntry, EndOrder, ProcessRef, StartSpec};
use rustix::process::{Pid, Signal, kill_process};

use super::story::{RuntimeBench, Story, lives, number, until};

fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).expect("a pid"), Signal::KILL).expect("it is ours");
}

pub async fn an_exit_is_reported_with_its_code<B: RuntimeBench>(mut story: Story<B>) {
    let spec = story.lasting();
    let process = story.start_lasting(&spec).await;
    story.bench().exit(&spec, 7).await;
    assert_eq!(story.exit().await, (story.session(0), Attempt(1), Some(7)));
    assert_eq!(story.runtime().look(&process).await, ProcessLife::Gone { code: Some(7) });
    story.restart().await;
    assert_eq!(
        story.runtime().look(&process).await,
        ProcessLife::Gone { code: Some(7) },
        "another daemon knows too"
    );
    story.end().await;
}

/// Only the program is killed; its shim may live on.
///
/// acceptance: S3
pub async fn a_killed_program_is_seen<B: RuntimeBench>(mut story: Story<B>) {
    let process = story.start("echo $$ > pid; sleep 600").await;
    kill(number(&story.until_file("pid").await));
    assert_eq!(story.exit().await, (story.session(0), Attempt(1), None));
    assert_eq!(story.runtime().look(&process).await, ProcessLife::Gone { code: None });
    story.end().await;
}

pub async fn an_exit_that_no_daemon_saw_is_counted_with_its_code<B: RuntimeBench>(mut story: Story<B>) {
    let spec = story.lasting();
    let process = story.start_lasting(&spec).await;
    story.daemon_ends();
    story.bench().exit(&spec, 5).await;
    story.daemon_starts().await;
    let gone = ProcessLife::Gone { code: Some(5) };
    let counted = CensusEntry {
        process: process.clone(),
        session: story.session(0),
        attempt: Attempt(1),
        life: gone,
        folder: None,
    };
    // Between the exit and its record the life is unknown, and not reported as anything else.
    until("the record of the exit", async || {
        let census = story.runtime().census().await.expect("a census");
        assert_eq!((census.len(), census[0].session), (1, counted.session));
        (census[0].life != ProcessLife::Unknown).then(|| assert_eq!(census[0], counted))
    })
    .await;
    assert_eq!(story.runtime().look(&process).await, gone);
    story.end().await;
}

pub async fn a_look_tells_work_from_waiting<B: RuntimeBench>(story: Story<B>) {
    let script = "while [ ! -e go ]; do sleep 0.2; done; sh -c 'while :; do :; done' & wait";
    let process = story.start(script).await;
    let is = async |life| {
        until("the look", async || (story.runtime().look(&process).await == life).then_some(())).await;
    };
    is(ProcessLife::Alive { busy: false }).await;
    std::fs::write(story.folder().join("go"), "").expect("a file");
    is(ProcessLife::Alive { busy: true }).await;
    story.end().await;
}

/// A build is many short programs, none of which is seen at work twice. Some agents start theirs in a session of
/// their own.
///
/// acceptance: S4
pub async fn a_child_that_comes_and_goes_is_work<B: RuntimeBench>(story: Story<B>) {
    let work = "while :; do head -c 100000000 /dev/zero | cksum >/dev/null; sleep 0.3; done";
    let scripts = [work.to_owned(), format!("setsid -w sh -c '{work}'")];
    for (number, script) in scripts.iter().enumerate() {
        let mut spec = story.spec(&format!("echo up; {script}"));
        spec.session = story.session(number as u64);
        let process = story.runtime().start(&spec).await.expect("it starts");
        story.until_output(&process, "up").await;
        // Far enough apart that many programs come and go between two looks.
        let mut busy = 0;
        until("work at three looks in a row", async || {
            tokio::time::sleep(std::time::Duration::from_millis(1200)).await;
            match story.runtime().look(&process).await {
                ProcessLife::Alive { busy: true } => busy += 1,
                _ => busy = 0,
            }
            (busy == 3).then_some(())
        })
        .await;
        let order = EndOrder { session: spec.session, attempt: spec.attempt, process: Some(process) };
        story.runtime().end(&order).await.expect("it ends");
    }
}

pub async fn what_is_not_known_is_not_dead<B: RuntimeBench>(story: Story<B>) {
    let nonsense = ProcessRef::new(story.runtime().name(), "what is this; $HOME/..");
    assert_eq!(story.runtime().look(&nonsense).await, ProcessLife::Unknown);
    assert!(story.runtime().output(&nonsense, 0, 10, std::time::Duration::ZERO).await.is_err());
    assert_eq!(story.runtime().folder(&nonsense).await, None);
}

pub async fn the_folder_follows_the_program<B: RuntimeBench>(story: Story<B>) {
    if !story.abilities().shares_files {
        return;
    }
    let folder = story.folder().join("deeper");
    std::fs::create_dir(&folder).expect("the folder is made");
    let process = story.start("cd deeper && echo up && sleep 600").await;
    story.until_output(&process, "up").await;
    let expected = folder.canonicalize().expect("it is there").display().to_string();
    assert_eq!(story.runtime().folder(&process).await.as_ref(), Some(&expected));
    let census = story.runtime().census().await.expect("a census");
    assert_eq!(census[0].folder, Some(expected), "a census has the folders too");
    story.end().await;
}

/// acceptance: L1
pub async fn programs_outlive_the_daemon<B: RuntimeBench>(mut story: Story<B>) {
    let script = "echo $$ > pid; while read line; do echo \"<$line>\"; done";
    let process = story.start(&story.heard(script)).await;
    let pid = number(&story.until_file("pid").await);
    for round in 1..=3 {
        story.restart().await;
        assert!(lives(pid));
        assert!(matches!(story.runtime().look(&process).await, ProcessLife::Alive { .. }));
        story.tell(&process, round, format!("round {round}\n").as_bytes()).await;
        story.until_output(&process, &format!("<round {round}>")).await;
    }
    let output = story.output(&process).await;
    assert_eq!(output.matches("<round").count(), 3, "nothing was sent again: {output}");
    kill(pid);
    assert_eq!(story.exit().await.2, None, "its end is reported, though it was started by another");
    story.end().await;
}

pub async fn a_census_knows_all_after_a_restart<B: RuntimeBench>(mut story: Story<B>) {
    let specs: Vec<StartSpec> =
        (0..4).map(|number| StartSpec { session: story.session(number), ..story.lasting() }).collect();
    for spec in &specs {
        story.start_lasting(spec).await;
    }
    story.bench().exit(&specs[2], 3).await;
    story.exit().await;
    story.end_spec(&specs[3]).await;
    story.restart().await;
    let mut census = story.runtime().census().await.expect("a census");
    census.sort_by_key(|counted| counted.session);
    let life = |number: u64| {
        let session = story.session(number);
        census.iter().find(|counted| counted.session == session).map(|counted| counted.life)
    };
    assert!(matches!(life(0), Some(ProcessLife::Alive { .. })), "{census:?}");
    assert!(matches!(life(1), Some(ProcessLife::Alive { .. })), "{census:?}");
    assert_eq!(life(2), Some(ProcessLife::Gone { code: Some(3) }));
    assert!(matches!(life(3), None | Some(ProcessLife::Gone { .. })), "what was ended may be forgotten");
    for spec in &specs[..3] {
        story.end_spec(spec).await;
    }
}
