//! Commands that run where agents live.

use std::time::Duration;

use ao_core::Attempt;
use ao_core::setup::Environment;
use ao_ports::{ExecEnd, ExecOrder, RuntimeError};

use super::story::{BOUND, RuntimeBench, Story, lives, number, until};

impl<B: RuntimeBench> Story<B> {
    fn exec(&self, command: &str) -> ExecOrder {
        ExecOrder {
            session: self.session(0),
            attempt: Attempt(1),
            path: self.folder().display().to_string(),
            command: command.to_owned(),
            environment: Environment::default(),
            timeout: BOUND,
        }
    }
}

pub async fn a_command_runs_to_its_end_in_its_folder<B: RuntimeBench>(story: Story<B>) {
    let mut order = story.exec("pwd -P; echo \"to $WHOM\" >&2; echo made > made; exit 7");
    order.environment.set.insert("WHOM".into(), "you".into());
    let outcome = story.runtime().exec(&order).await.expect("it runs");
    assert_eq!(outcome.end, ExecEnd::Exited { code: Some(7) });
    let folder = story.folder().canonicalize().expect("it is there");
    assert_eq!(outcome.output, format!("{}\nto you\n", folder.display()), "both streams, in their order");
    assert!(story.folder().join("made").exists());
    order.path = story.folder().join("nowhere").display().to_string();
    let err = story.runtime().exec(&order).await.expect_err("there is no such folder");
    assert!(matches!(err, RuntimeError::NoFolder { .. }), "{err}");
}

pub async fn what_a_command_starts_ends_with_it<B: RuntimeBench>(story: Story<B>) {
    let server =
        "setsid sh -c 'echo $$ > pid; exec sleep 600' & until test -s pid; do sleep 0.01; done; echo up";
    let outcome = story.runtime().exec(&story.exec(server)).await.expect("it runs");
    assert_eq!((outcome.end, outcome.output.trim()), (ExecEnd::Exited { code: Some(0) }, "up"));
    assert!(!lives(number(&story.until_file("pid").await)), "the server has ended");

    let slow = ExecOrder { timeout: Duration::from_millis(300), ..story.exec("echo $$ > slow; sleep 600") };
    assert_eq!(story.runtime().exec(&slow).await.expect("it runs").end, ExecEnd::TimedOut);
    assert!(!lives(number(&story.until_file("slow").await)));

    let dropped = story.exec("echo $$ > dropped; sleep 600");
    let pid = tokio::select! {
        _ = story.runtime().exec(&dropped) => panic!("it does not end by itself"),
        pid = story.until_file("dropped") => number(&pid),
    };
    until("the end of a dropped command", async || (!lives(pid)).then_some(())).await;
}

pub async fn the_files_of_a_command_are_placed_and_go_with_it<B: RuntimeBench>(story: Story<B>) {
    use ao_ports::CommandFile;
    if !story.abilities().places_files {
        return;
    }
    let file = CommandFile { name: "task.md".into(), contents: "fix `it`, and $that\n".into() };
    let mut spec = story.spec("echo \"$1\" > path; cat \"$1\"; sleep 600");
    spec.command.args.extend(["sh".to_owned(), file.placeholder()]);
    spec.command.files.push(file);
    let process = story.runtime().start(&spec).await.expect("it starts");
    story.until_output(&process, "fix `it`, and $that").await;
    let path = story.until_file("path").await;
    story.end().await;
    if story.abilities().shares_files {
        assert!(!std::path::Path::new(path.trim()).exists(), "it is gone with the process");
    }
}
