//! Several who look at one terminal.

use ao_core::evidence::{Reading, SignalSource};
use ao_ports::{Frame, ProcessIo, ProcessRef, Report, Runtime, ViewOptions, WriteOrder};
use ao_runtime::Attachment;

use crate::support::{BOUND, Bench, SIZE};

async fn start(bench: &Bench, script: &str) -> ProcessRef {
    let mut spec = bench.spec(script);
    spec.command.io = ProcessIo::Terminal;
    bench.runtime.start(&spec).await.unwrap()
}

/// The frames that a viewer has been shown.
struct View {
    attachment: Attachment,
    size: (u16, u16),
    /// Since the last keyframe, which is in it.
    text: Vec<u8>,
    keyframes: usize,
    at: u64,
    control: bool,
    ended: Option<Option<i32>>,
}

impl View {
    async fn new(bench: &Bench, process: &ProcessRef, options: ViewOptions) -> View {
        let attachment = bench.runtime.connect(process, options).await.unwrap();
        let (size, text) = ((0, 0), Vec::new());
        View { attachment, size, text, keyframes: 0, at: 0, control: false, ended: None }
    }

    /// Looks until a condition holds.
    async fn until(&mut self, enough: impl Fn(&View) -> bool) {
        let wait = async {
            while !enough(self) {
                match self.attachment.next().await.unwrap().expect("more to come") {
                    Frame::Keyframe { size, from, bytes } => {
                        (self.size, self.text, self.at) = (size, bytes, from);
                        self.keyframes += 1;
                    }
                    Frame::Output { from, bytes } => {
                        assert_eq!(from, self.at, "nothing is left out");
                        self.at += bytes.len() as u64;
                        self.text.extend(bytes);
                    }
                    Frame::Control { yours } => self.control = yours,
                    Frame::Ended { code } => self.ended = Some(code),
                }
            }
        };
        tokio::time::timeout(BOUND, wait).await.expect("shown in time");
    }

    async fn until_text(&mut self, text: &str) {
        self.until(|view| view.shows(text)).await;
    }

    fn shows(&self, text: &str) -> bool {
        String::from_utf8_lossy(&self.text).contains(text)
    }
}

#[tokio::test]
async fn a_newcomer_sees_the_screen_at_once_and_then_what_comes() {
    let bench = Bench::new();
    let process = start(&bench, "printf 'one\\r\\ntwo'; while read line; do echo heard $line; done").await;
    bench.until(&process, |output| output.ends_with("two")).await;
    let mut first = View::new(&bench, &process, ViewOptions::default()).await;
    first.until(|view| view.keyframes == 1).await;
    assert!(first.shows("one") && first.shows("two"));
    assert_eq!(first.size, SIZE);
    let mut second = View::new(&bench, &process, ViewOptions::default()).await;
    second.until_text("two").await;
    first.attachment.type_bytes(b"you\r").await.unwrap();
    for view in [&mut first, &mut second] {
        view.until_text("heard you").await;
    }
    bench.runtime.end(&bench.end_order()).await.unwrap();
    for view in [&mut first, &mut second] {
        view.until(|view| view.ended == Some(None)).await;
    }
}

#[tokio::test]
async fn who_asks_for_what_was_before_gets_it() {
    let bench = Bench::new();
    let process = start(&bench, "seq 1000; sleep 600").await;
    bench.until(&process, |output| output.ends_with("1000\r\n")).await;
    let mut short = View::new(&bench, &process, ViewOptions::default()).await;
    short.until_text("1000").await;
    assert!(!short.shows("\r\n500\r\n"));
    let mut long =
        View::new(&bench, &process, ViewOptions { history: 1 << 20, ..ViewOptions::default() }).await;
    long.until_text("\r\n1000\r\n").await;
    assert!(long.shows("\r\n500\r\n") && long.keyframes == 1);
    bench.runtime.end(&bench.end_order()).await.unwrap();
    let mut past =
        View::new(&bench, &process, ViewOptions { history: 1 << 20, ..ViewOptions::default() }).await;
    past.until(|view| view.ended.is_some()).await;
    assert!(past.shows("\r\n500\r\n"), "also when all is over");
    assert!(past.attachment.type_bytes(b"x").await.is_err());
}

#[tokio::test]
async fn only_who_has_control_says_how_large_it_is() {
    let bench = Bench::new();
    let process = start(&bench, "trap 'stty size' WINCH; echo up; while :; do sleep 0.05; done").await;
    bench.until(&process, |output| output.contains("up")).await;
    let mut first =
        View::new(&bench, &process, ViewOptions { size: Some((40, 10)), ..ViewOptions::default() }).await;
    first.until_text("up").await;
    first.attachment.resize((50, 12)).await.unwrap();
    let mut second =
        View::new(&bench, &process, ViewOptions { size: Some((100, 30)), control: true, history: 0 }).await;
    second.until_text("30 100").await;
    assert!(second.control);
    first.until(|view| view.size == (100, 30)).await;
    assert!(!first.shows("12 50"), "it had no say");
    first.attachment.take_control().await.unwrap();
    first.attachment.resize((60, 20)).await.unwrap();
    first.until_text("20 60").await;
    assert!(first.control);
    second.until(|view| !view.control && view.size == (60, 20)).await;
    second.attachment.resize((70, 21)).await.unwrap();
    second.attachment.type_bytes(b"\r").await.unwrap();
    assert_eq!(bench.runtime.screen(&process).await.unwrap().size, (60, 20));
    bench.runtime.end(&bench.end_order()).await.unwrap();
}

/// It takes nothing while megabytes pass, and then sees the screen as it is.
#[tokio::test]
async fn a_slow_viewer_delays_no_other() {
    let mut bench = Bench::new();
    let process = start(&bench, "read go; seq 1000000; printf finished; read go").await;
    let mut slow = View::new(&bench, &process, ViewOptions::default()).await;
    slow.until(|view| view.keyframes == 1).await;
    let mut fast = View::new(&bench, &process, ViewOptions::default()).await;
    fast.attachment.type_bytes(b"\r").await.unwrap();
    fast.until_text("finished").await;
    slow.until_text("finished").await;
    assert!(slow.keyframes > 1, "it was dropped back to the state as it is");
    let order = WriteOrder { process, number: 1, bytes: b"\n".to_vec() };
    bench.runtime.write(&order).await.unwrap();
    assert!(
        matches!(bench.report().await, Report::Signal { signal, .. } if signal.reading == Reading::HumanTyped)
    );
    assert_eq!(bench.exit().await, Some(0));
}

#[tokio::test]
async fn typing_of_a_person_is_reported_and_writes_of_the_daemon_are_not() {
    let mut bench = Bench::new();
    let process = start(&bench, "while read line; do echo heard $line; done").await;
    let order = WriteOrder { process: process.clone(), number: 1, bytes: b"daemon\n".to_vec() };
    bench.runtime.write(&order).await.unwrap();
    bench.until(&process, |output| output.contains("heard daemon")).await;
    assert_eq!(bench.runtime.screen(&process).await.unwrap().typed, None);
    let mut view = View::new(&bench, &process, ViewOptions::default()).await;
    // An answer of the viewer's terminal is not typing, and does not reach the program a second time.
    view.attachment.type_bytes(b"\x1b[?62;c").await.unwrap();
    for _ in 0..20 {
        view.attachment.type_bytes(b"p").await.unwrap();
    }
    view.attachment.type_bytes(b"\r").await.unwrap();
    view.until_text(&format!("heard {}", "p".repeat(20))).await;
    match bench.report().await {
        Report::Signal { session, signal } => {
            assert_eq!((session, signal.source), (bench.session, SignalSource::Terminal));
            assert_eq!(signal.reading, Reading::HumanTyped);
            assert!(bench.runtime.screen(&process).await.unwrap().typed.unwrap() >= signal.at);
        }
        other => panic!("{other:?}"),
    }
    bench.runtime.end(&bench.end_order()).await.unwrap();
    // At most one a second.
    let mut more = 0;
    while matches!(bench.report().await, Report::Signal { signal, .. } if signal.reading == Reading::HumanTyped)
    {
        more += 1;
    }
    assert!(more < 20, "{more}");
}

#[tokio::test]
async fn typing_is_noticed_even_if_the_viewer_leaves_at_once() {
    let bench = Bench::new();
    // It prints all the while, so that a viewer that has left is written to.
    let script = "stty -echo; (while :; do echo tick; sleep 0.001; done) & \
                  n=0; while [ $n -lt 60 ] && read -r line; do n=$((n+1)); echo \"got $line\"; done; kill $!; echo over";
    let process = start(&bench, script).await;
    bench.until(&process, |text| text.contains("tick")).await;
    for n in 0..60 {
        let options = ViewOptions { size: None, control: false, history: 0 };
        let mut attachment = bench.runtime.connect(&process, options).await.unwrap();
        attachment.type_bytes(format!("line {n}\n").as_bytes()).await.unwrap();
    }
    let text = bench.until(&process, |text| text.contains("over")).await;
    let heard = text.lines().filter(|line| line.starts_with("got line")).count();
    assert_eq!(heard, 60);
}
