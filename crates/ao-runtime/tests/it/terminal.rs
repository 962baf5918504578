//! A terminal of one's own: what the program gets, and what it shows.

use std::time::Duration;

use ao_ports::{ProcessIo, ProcessRef, Runtime, RuntimeError, Screen, WriteOrder};

use crate::support::{BOUND, Bench, SIZE};

async fn start(bench: &Bench, script: &str) -> ProcessRef {
    let mut spec = bench.spec(script);
    spec.command.io = ProcessIo::Terminal;
    bench.runtime.start(&spec).await.unwrap()
}

async fn screen_with(bench: &Bench, process: &ProcessRef, enough: impl Fn(&Screen) -> bool) -> Screen {
    let wait = async {
        loop {
            let screen = bench.runtime.screen(process).await.unwrap();
            if enough(&screen) {
                return screen;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(BOUND, wait).await.expect("the screen in time")
}

#[tokio::test]
async fn the_program_has_a_terminal_of_its_own() {
    let mut bench = Bench::new();
    let process = start(
        &bench,
        "tty; stty size; echo $TERM; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo all; : > /dev/tty && echo mine",
    )
    .await;
    assert_eq!(bench.exit().await, Some(0));
    let output = bench.output(&process).await;
    let lines: Vec<&str> = output.split("\r\n").collect();
    assert!(lines[0].starts_with("/dev/pts/"), "{output}");
    assert_eq!(lines[1..], ["24 80", "xterm-256color", "all", "mine", ""]);
}

#[tokio::test]
async fn the_screen_is_what_a_person_would_see() {
    let bench = Bench::new();
    let script = r"printf 'one\r\n\033[31mtwo\033[0m \344\270\226\r\n\033[?2004h> draft'; sleep 600";
    let process = start(&bench, script).await;
    let screen = screen_with(&bench, &process, |screen| screen.lines[2] == "> draft").await;
    assert_eq!(screen.lines[..3], ["one", "two \u{4e16}", "> draft"]);
    assert_eq!((screen.lines.len(), screen.size), (usize::from(SIZE.1), SIZE));
    assert_eq!(screen.cursor, (2, 7));
    assert!(screen.bracketed_paste && !screen.alternate && screen.typed.is_none());
    bench.runtime.end(&bench.end_order()).await.unwrap();
}

#[tokio::test]
async fn a_program_that_takes_the_whole_screen_gives_it_back() {
    let bench = Bench::new();
    let script = r"printf before; printf '\033[?1049h\033[Hfull'; read line; printf '\033[?1049l'; sleep 600";
    let process = start(&bench, script).await;
    let screen = screen_with(&bench, &process, |screen| screen.alternate && screen.lines[0] == "full").await;
    assert_eq!(screen.cursor, (0, 4));
    let order = WriteOrder { process: process.clone(), number: 1, bytes: b"\n".to_vec() };
    bench.runtime.write(&order).await.unwrap();
    screen_with(&bench, &process, |screen| !screen.alternate && screen.lines[0] == "before").await;
    bench.runtime.end(&bench.end_order()).await.unwrap();
}

/// Full-screen programs ask before they draw, and wait for the answer.
#[tokio::test]
async fn a_terminal_query_is_answered_without_a_viewer() {
    let bench = Bench::new();
    let script =
        r"stty raw -echo; printf 'ab\033[6n'; dd bs=6 count=1 2>/dev/null | od -An -c | tr -d ' '; sleep 600";
    let process = start(&bench, script).await;
    let screen = screen_with(&bench, &process, |screen| screen.lines[0].contains("R")).await;
    assert!(screen.lines[0].contains(r"033[1;3R"), "{:?}", screen.lines[0]);
    bench.runtime.end(&bench.end_order()).await.unwrap();
}

#[tokio::test]
async fn a_process_on_pipes_has_no_screen() {
    let bench = Bench::new();
    let process = bench.start("sleep 600").await;
    assert!(matches!(bench.runtime.screen(&process).await, Err(RuntimeError::Unable { .. })));
    assert_eq!(
        bench.runtime.folder(&process).await,
        Some(bench.path().canonicalize().unwrap().display().to_string())
    );
    bench.runtime.end(&bench.end_order()).await.unwrap();
}

#[tokio::test]
async fn the_current_folder_is_reported() {
    let bench = Bench::new();
    let process = start(&bench, "cd /usr; echo there; exec sleep 600").await;
    bench.until(&process, |output| output.contains("there")).await;
    assert_eq!(bench.runtime.folder(&process).await, Some("/usr".into()));
    bench.runtime.end(&bench.end_order()).await.unwrap();
    assert_eq!(bench.runtime.folder(&process).await, None);
}

#[tokio::test]
async fn a_port_in_use_is_found_before_anything_is_started() {
    let bench = Bench::new();
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let mut spec = bench.spec("touch started");
    spec.ports = vec![port];
    assert_eq!(bench.runtime.start(&spec).await, Err(RuntimeError::PortTaken { port }));
    drop(taken);
    bench.runtime.start(&spec).await.unwrap();
}
