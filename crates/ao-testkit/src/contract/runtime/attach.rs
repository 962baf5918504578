//! Views of terminals.

use ao_ports::{Frame, ProcessIo, ProcessRef, RuntimeError, TerminalView, ViewOptions};

use super::story::{BOUND, RuntimeBench, Story, until};

const WINDOW: (u16, u16) = (91, 29);

/// A view, and all that it has shown.
struct Viewer {
    view: Box<dyn TerminalView>,
    shown: String,
    control: bool,
    ended: Option<Option<i32>>,
}

impl Viewer {
    async fn new<B: RuntimeBench>(story: &Story<B>, process: &ProcessRef, options: ViewOptions) -> Viewer {
        let view = story.runtime().attach(process, options).await.expect("it is shown");
        Viewer { view, shown: String::new(), control: false, ended: None }
    }

    async fn until(&mut self, what: &str, seen: impl Fn(&Viewer) -> bool) {
        let all = async {
            while !seen(self) {
                match self.view.next().await.expect("the view goes on") {
                    Some(Frame::Keyframe { bytes, .. } | Frame::Output { bytes, .. }) => {
                        self.shown.push_str(&String::from_utf8_lossy(&bytes));
                    }
                    Some(Frame::Control { yours }) => self.control = yours,
                    Some(Frame::Ended { code }) => self.ended = Some(code),
                    None => return,
                }
            }
        };
        tokio::time::timeout(BOUND, all).await.ok();
        assert!(seen(self), "{what}: {:?}", self.shown);
    }
}

pub async fn a_viewer_sees_what_is_put_out_before_and_after<B: RuntimeBench>(story: Story<B>) {
    let process =
        story.start("echo before; while [ ! -e go ]; do sleep 0.05; done; echo after; exit 3").await;
    story.until_output(&process, "before").await;
    let mut viewer = Viewer::new(&story, &process, ViewOptions { history: 1000, ..Default::default() }).await;
    if story.io() == ProcessIo::Terminal {
        viewer.until("what came before", |viewer| viewer.shown.contains("before")).await;
    }
    let typed = viewer.view.type_bytes(b"x").await;
    assert_eq!(typed, Err(RuntimeError::NoControl), "a viewer without control types nothing");
    std::fs::write(story.folder().join("go"), "").expect("a file");
    viewer.until("what comes after", |viewer| viewer.shown.contains("after")).await;
    viewer.until("the end", |viewer| viewer.ended == Some(Some(3))).await;
    let mut late = Viewer::new(&story, &process, ViewOptions { history: 1000, ..Default::default() }).await;
    late.until("the end of what has ended", |late| late.ended == Some(Some(3))).await;
    assert!(late.shown.contains("after"), "{:?}", late.shown);
    story.end().await;
}

pub async fn one_viewer_at_a_time_has_control<B: RuntimeBench>(story: Story<B>) {
    if story.io() != ProcessIo::Terminal {
        return;
    }
    let process = story.start("echo up; while read line; do echo \"<$line>\"; done").await;
    story.until_output(&process, "up").await;
    let size = async || story.runtime().screen(&process).await.expect("a screen").size;
    let natural = size().await;
    let is = async |wanted| {
        until("the size", async || (size().await == wanted).then_some(())).await;
    };
    let options = ViewOptions { size: Some(WINDOW), control: true, history: 0 };
    let mut first = Viewer::new(&story, &process, options).await;
    first.until("control", |first| first.control).await;
    is(WINDOW).await;
    first.view.type_bytes(b"one\n").await.expect("it types");
    first.until("what it typed", |first| first.shown.contains("<one>")).await;

    let mut second = Viewer::new(&story, &process, ViewOptions { size: Some((70, 20)), ..options }).await;
    second.until("control", |second| second.control).await;
    first.until("its loss of control", |first| !first.control).await;
    assert_eq!(first.view.type_bytes(b"x").await, Err(RuntimeError::NoControl));
    is((70, 20)).await;
    drop(second);
    is(natural).await;
    story.end().await;
}
