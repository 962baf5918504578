//! Files that change without us are noticed as they are saved.

use std::fs;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ao_core::TaskId;
use ao_ports::{HintReceiver, LookHint, Tracker};

use crate::support::Bench;

const BOUND: Duration = Duration::from_secs(20);

#[tokio::test]
async fn each_way_of_saving_is_noticed() {
    let bench = Bench::files();
    bench.write("1.md", "---\ntitle: one\n---\n");
    bench.write("2.md", "---\ntitle: two\nblockedBy: [1]\n---\n");
    watching(&bench, async |heard| {
        // In place, as a shell does.
        heard.after(&bench, &[1, 2], || drop(bench.write("1.md", "---\ntitle: one, again\n---\n"))).await;
        // By a new file under the old name, as most editors do.
        heard
            .after(&bench, &[1, 2], || {
                bench.write(".1.md.swp", "---\ntitle: by an editor\n---\n");
                fs::rename(bench.folder().join(".1.md.swp"), bench.folder().join("1.md")).unwrap();
            })
            .await;
        heard.after(&bench, &[3], || drop(bench.write("3-new.md", "---\ntitle: three\n---\n"))).await;
        heard.after(&bench, &[3], || fs::remove_file(bench.folder().join("3-new.md")).unwrap()).await;
    })
    .await;
}

#[tokio::test]
async fn a_folder_that_comes_goes_and_comes_again_is_followed() {
    let bench = Bench::files();
    watching(&bench, async |heard| {
        for _ in 0..2 {
            heard.after(&bench, &[1], || drop(bench.write("1.md", "---\ntitle: one\n---\n"))).await;
            heard.after(&bench, &[1], || fs::remove_dir_all(bench.root().join(".ao")).unwrap()).await;
        }
        // Put together elsewhere and moved into place, as git does with a folder.
        let elsewhere = bench.beside("elsewhere");
        fs::create_dir_all(elsewhere.join("issues")).unwrap();
        fs::write(elsewhere.join("issues/5.md"), "---\ntitle: five\n---\n").unwrap();
        heard.after(&bench, &[5], || fs::rename(&elsewhere, bench.root().join(".ao")).unwrap()).await;
        heard.after(&bench, &[6], || drop(bench.write("6.md", "---\ntitle: six\n---\n"))).await;
    })
    .await;
}

#[tokio::test]
async fn a_burst_is_reported_once_and_an_equal_text_not_at_all() {
    let bench = Bench::files();
    bench.write("1.md", "---\ntitle: one\n---\n");
    watching(&bench, async |heard| {
        heard
            .after(&bench, &[2], || {
                for n in 0..200 {
                    bench.write("2.md", format!("---\ntitle: draft {n}\n---\n"));
                }
                bench.write("notes.txt", "not an issue");
                let touched = Command::new("touch").arg(bench.folder().join("1.md")).status().unwrap();
                assert!(touched.success());
            })
            .await;
        // Everything that was still on its way has been reported by now.
        heard.after(&bench, &[3], || drop(bench.write("3.md", "---\ntitle: three\n---\n"))).await;
        let of = |number| heard.all().iter().filter(|task| **task == bench.id(number)).count();
        assert_eq!(of(1), 0, "it says what it said");
        assert!((1..=20).contains(&of(2)), "{} hints for one burst", of(2));
    })
    .await;
}

#[tokio::test]
async fn an_edit_of_ours_is_reported_once() {
    let bench = Bench::files();
    let tracker = bench.local();
    let heard = Heard::default();
    let story = async {
        heard.begun(&bench).await;
        let id = tracker.create(&bench.new_task("ours")).await.unwrap();
        heard.of(&id).await;
        tracker.close(&id).await.unwrap();
        // When a later save by hand is reported, the folder's events of our own change have come too.
        heard.after(&bench, &[5], || drop(bench.write("5.md", "---\ntitle: later\n---\n"))).await;
        let told = heard.all().iter().filter(|task| **task == id).count();
        assert_eq!(told, 2, "one for each change");
    };
    tokio::select! {
        () = tracker.watch(Arc::new(heard.clone())) => panic!("it does not watch any more"),
        () = story => {}
    }
}

/// Runs a test while a watch is active.
async fn watching(bench: &Bench, story: impl AsyncFnOnce(&Heard)) {
    let tracker = bench.local();
    let heard = Heard::default();
    let story = async {
        heard.begun(bench).await;
        story(&heard).await;
    };
    tokio::select! {
        () = tracker.watch(Arc::new(heard.clone())) => panic!("it does not watch any more"),
        () = story => {}
    }
}

#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<TaskId>>>);

impl HintReceiver for Heard {
    fn hint(&self, hint: LookHint) {
        let LookHint::Task(task) = hint else { panic!("{hint:?}") };
        self.0.lock().unwrap().push(task);
    }
}

impl Heard {
    fn all(&self) -> Vec<TaskId> {
        self.0.lock().unwrap().clone()
    }

    /// Waits until the watch is active, by changing something until that is reported. Restores the state.
    async fn begun(&self, bench: &Bench) {
        let had_folder = bench.folder().exists();
        let probe = bench.id(999);
        let told = tokio::time::timeout(BOUND, async {
            for n in 0.. {
                bench.write("999.md", format!("---\ntitle: probe {n}\n---\n"));
                tokio::time::sleep(Duration::from_millis(150)).await;
                if self.all().contains(&probe) {
                    break;
                }
            }
        });
        told.await.expect("the watch begins");
        self.0.lock().unwrap().clear();
        fs::remove_file(bench.folder().join("999.md")).unwrap();
        self.of(&probe).await;
        if !had_folder {
            fs::remove_dir_all(bench.root().join(".ao")).unwrap();
        }
        self.0.lock().unwrap().clear();
    }

    /// Runs an action, and waits until these issues are reported.
    async fn after(&self, bench: &Bench, numbers: &[u64], change: impl FnOnce()) {
        let before = self.all().len();
        change();
        for number in numbers {
            self.behind(before, &bench.id(*number)).await;
        }
    }

    async fn of(&self, task: &TaskId) {
        self.behind(0, task).await;
    }

    /// Waits for a hint behind those that were there before.
    async fn behind(&self, before: usize, task: &TaskId) {
        let told = tokio::time::timeout(BOUND, async {
            while !self.all()[before..].contains(task) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        assert!(told.await.is_ok(), "nothing was told of {task}, only of {:?}", self.all());
    }
}
