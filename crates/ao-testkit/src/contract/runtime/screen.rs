//! Screens: the visible content of a terminal.

use ao_ports::{ProcessIo, RuntimeError, Screen};

use super::story::{RuntimeBench, Story, until, until_ok};

impl<B: RuntimeBench> Story<B> {
    async fn until_screen(&self, process: &ao_ports::ProcessRef, seen: impl Fn(&Screen) -> bool) -> Screen {
        let look = async || match self.runtime().screen(process).await {
            Ok(screen) if seen(&screen) => Ok(screen),
            other => Err(format!("{other:?}")),
        };
        until_ok("the screen", look).await
    }
}

pub async fn a_screen_shows_what_a_person_would_see<B: RuntimeBench>(mut story: Story<B>) {
    if story.io() != ProcessIo::Terminal {
        return;
    }
    let script =
        "stty size > size; printf 'gone\\033[2J\\033[Hone\\r\\n  two ü\\r\\n\\033[31mthree'; sleep 600";
    let process = story.start(script).await;
    let shown = |screen: &Screen| screen.lines.get(2).is_some_and(|line| line.trim_end() == "three");
    let screen = story.until_screen(&process, shown).await;
    let lines: Vec<&str> = screen.lines.iter().map(|line| line.trim_end()).collect();
    assert_eq!(lines[..3], ["one", "  two ü", "three"]);
    assert!(lines[3..].iter().all(|line| line.is_empty()), "{lines:?}");
    assert_eq!(screen.cursor, (2, 5));
    let (columns, rows) = screen.size;
    assert_eq!(
        story.until_file("size").await.trim(),
        format!("{rows} {columns}"),
        "the program sees the same"
    );
    assert_eq!(lines.len(), usize::from(rows), "all of them are there");
    assert!(columns >= 80 && rows >= 24, "agents need room");
    assert!(!screen.alternate && !screen.bracketed_paste);
    assert_eq!(screen.typed, None);
    until("the offset to be that of all it has put out", async || {
        let all = story.runtime().output(&process, 0, 1 << 20, std::time::Duration::ZERO).await.ok()?;
        let screen = story.runtime().screen(&process).await.ok()?;
        (all.from + all.bytes.len() as u64 == screen.offset && screen.offset > 0).then_some(())
    })
    .await;
    story.restart().await;
    assert_eq!(story.until_screen(&process, shown).await.lines, screen.lines, "another daemon sees the same");
    story.end().await;
}

pub async fn a_screen_knows_what_the_program_has_asked_for<B: RuntimeBench>(mut story: Story<B>) {
    if story.io() != ProcessIo::Terminal {
        return;
    }
    let script = "printf up; read l; printf '\\033[?2004h'; read l; printf '\\033[?1049h\\033[Hwhole'; read l; \
        printf '\\033[?1049l\\033[?2004l'; sleep 600";
    let process = story.start(script).await;
    story.until_output(&process, "up").await;
    story.write(&process, 1, b"\n").await;
    story.until_screen(&process, |screen| screen.bracketed_paste && !screen.alternate).await;
    story.write(&process, 2, b"\n").await;
    let screen = story.until_screen(&process, |screen| screen.bracketed_paste && screen.alternate).await;
    assert!(screen.lines[0].starts_with("whole"));
    story.restart().await;
    story.until_screen(&process, |screen| screen.bracketed_paste && screen.alternate).await;
    story.write(&process, 3, b"\n").await;
    let screen = story.until_screen(&process, |screen| !screen.bracketed_paste && !screen.alternate).await;
    assert!(screen.lines[0].starts_with("up"), "what was there before is there again");
    assert_eq!(screen.typed, None, "what we write is not a person's typing");
    story.end().await;
}

pub async fn a_program_on_pipes_has_no_screen<B: RuntimeBench>(story: Story<B>) {
    if story.io() != ProcessIo::Pipes {
        return;
    }
    let process = story.start("sleep 600").await;
    let err = story.runtime().screen(&process).await.expect_err("it has none");
    assert!(matches!(err, RuntimeError::Unable { .. }), "{err}");
    story.end().await;
}
