//! Threads at lines, and how they follow them.

use ao_core::pull::{AuthorStanding, PullFacts, ThreadFacts};
use ao_ports::{CommentPlace, DiffSide, NewComment, ScmReviews as _, ThreadReply};

use crate::local_support::{Desk, at_line, facts, open, person, why};

const TEXT: &str = "alpha\nbeta\ngamma\ndelta\nepsilon\nzeta\neta\ntheta\n";

fn place(facts: &PullFacts, thread: &str) -> (Option<String>, Option<u32>) {
    let thread = thread_of(facts, thread);
    (thread.path.clone(), thread.line)
}

fn thread_of<'a>(facts: &'a PullFacts, thread: &str) -> &'a ThreadFacts {
    facts.threads.iter().find(|found| found.id == thread).unwrap()
}

#[tokio::test]
async fn a_thread_follows_its_line_as_commits_arrive() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "src/a b.txt", TEXT);
    let id = open(&scm, "x", "main").await;
    for (line, thread) in [(4, "t1"), (6, "t2"), (8, "t3")] {
        assert_eq!(scm.comment(&at_line(&id, "src/a b.txt", line, "hm")).await.unwrap(), thread);
    }
    let at = |path: &str, line| (Some(path.to_owned()), line);

    // Lines above, and the one of the second thread changed.
    let text = format!("new\nnew\n{}", TEXT.replace("zeta", "ZETA"));
    desk.push("x", "src/a b.txt", &text);
    let seen = facts(&scm, &id).await;
    assert_eq!(place(&seen, "t1"), at("src/a b.txt", Some(6)));
    assert_eq!(place(&seen, "t2"), at("src/a b.txt", None));
    assert_eq!(place(&seen, "t3"), at("src/a b.txt", Some(10)));
    let detail = scm.show(&id).await.unwrap().threads;
    assert!(detail["t2"].outdated && !detail["t1"].outdated);
    assert_eq!((detail["t2"].begun_line, detail["t2"].context.as_deref()), (Some(6), Some("zeta")));

    // The file gets another name, and the line is put back as it was.
    desk.git(&["checkout", "--quiet", "x"]);
    desk.git(&["mv", "src/a b.txt", "moved.txt"]);
    desk.write("moved.txt", format!("new\n{TEXT}"));
    desk.commit("moved");
    desk.git(&["checkout", "--quiet", "main"]);
    let seen = facts(&scm, &id).await;
    assert_eq!(place(&seen, "t1"), at("moved.txt", Some(5)));
    assert_eq!(place(&seen, "t2"), at("moved.txt", Some(7)), "what is there again is found again");

    // The line is taken away, then the whole file.
    desk.push("x", "moved.txt", &TEXT.replace("delta\n", ""));
    let seen = facts(&scm, &id).await;
    assert_eq!((place(&seen, "t1").1, place(&seen, "t2").1), (None, Some(5)));
    desk.git(&["checkout", "--quiet", "x"]);
    desk.git(&["rm", "--quiet", "moved.txt"]);
    desk.write("other", "x");
    desk.commit("gone");
    desk.git(&["checkout", "--quiet", "main"]);
    let seen = facts(&scm, &id).await;
    assert_eq!(place(&seen, "t3"), at("src/a b.txt", None));
}

#[tokio::test]
async fn a_thread_survives_a_rewritten_history_and_a_cleaned_repository() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "a", TEXT);
    let id = open(&scm, "x", "main").await;
    scm.comment(&at_line(&id, "a", 3, "hm")).await.unwrap();
    desk.git(&["update-ref", "refs/heads/x", "main"]);
    desk.push("x", "a", &format!("top\n{TEXT}"));
    desk.git(&["reflog", "expire", "--expire=now", "--all"]);
    desk.git(&["gc", "--quiet", "--prune=now"]);
    assert_eq!(place(&facts(&scm, &id).await, "t1").1, Some(4));
}

#[tokio::test]
async fn a_thread_on_the_old_side_is_about_what_was_there_before() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "README.md", "one\n");
    let id = open(&scm, "x", "main").await;
    let at = CommentPlace::Line { path: "README.md".into(), line: Some(4), side: DiffSide::Old };
    let comment = NewComment { at, ..at_line(&id, "", 1, "why is this gone?") };
    scm.comment(&comment).await.unwrap();
    assert_eq!(place(&facts(&scm, &id).await, "t1").1, Some(4));
    assert_eq!(scm.show(&id).await.unwrap().threads["t1"].context.as_deref(), Some("four"));
    desk.push("x", "x", "x");
    assert_eq!(place(&facts(&scm, &id).await, "t1").1, Some(4));
}

#[tokio::test]
async fn missing_lines_and_files_cannot_be_commented() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "dir/a", "1\n2\n");
    desk.git(&["checkout", "--quiet", "x"]);
    desk.write("logo.png", b"\x89PNG\0\0\x01\n\0");
    std::os::unix::fs::symlink("/etc/passwd", desk.path().join("link")).unwrap();
    desk.commit("binary");
    desk.git(&["checkout", "--quiet", "main"]);
    let id = open(&scm, "x", "main").await;
    for (path, line, told) in [
        ("dir/a", 3, "has 2 lines"),
        ("dir/a", 0, "no line 0"),
        ("nope", 1, "there is no file `nope`"),
        ("dir", 1, "is a folder"),
        ("dir/*", 1, "there is no file"),
        ("../a", 1, "is not the path"),
        ("/etc/passwd", 1, "is not the path"),
        ("logo.png", 1, "is binary"),
        ("link", 2, "has 1 lines"),
    ] {
        let told_instead = why(scm.comment(&at_line(&id, path, line, "hm")).await);
        assert!(told_instead.contains(told), "{path}:{line}: {told_instead}");
    }
    assert!(why(scm.comment(&at_line(&id, "dir/a", 1, "  \n")).await).contains("empty"));
    let whole = CommentPlace::Line { path: "logo.png".into(), line: None, side: DiffSide::New };
    scm.comment(&NewComment { at: whole, ..at_line(&id, "", 1, "nice") }).await.unwrap();
    assert_eq!(place(&facts(&scm, &id).await, "t1"), (Some("logo.png".into()), None));
}

/// Comments of all kinds come with path, line, author, body and address, each once. acceptance: F5
#[tokio::test]
async fn comments_on_lines_on_the_whole_and_in_threads_are_added_once_each() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "a", TEXT);
    let id = open(&scm, "x", "main").await;
    let on_line = NewComment { key: Some("k1".into()), ..at_line(&id, "a", 2, "rename this") };
    assert_eq!(scm.comment(&on_line).await.unwrap(), "t1");
    assert_eq!(scm.comment(&on_line).await.unwrap(), "t1");
    let bot = ao_core::pull::AuthorFacts { login: "lint".into(), standing: AuthorStanding::Bot };
    let on_all = NewComment { at: CommentPlace::Pull, by: bot, ..at_line(&id, "", 1, "three warnings") };
    assert_eq!(scm.comment(&on_all).await.unwrap(), "t2");
    let in_thread = NewComment { at: CommentPlace::Thread("t1".into()), ..at_line(&id, "", 1, "and this") };
    assert_eq!(scm.comment(&in_thread).await.unwrap(), "t1");
    let seen = facts(&scm, &id).await;
    let mut told = vec![];
    for thread in &seen.threads {
        for comment in &thread.comments {
            let place = format!("{}:{}", thread.path.as_deref().unwrap_or("-"), thread.line.unwrap_or(0));
            told.push(format!(
                "{} {place} {}: {} {}",
                thread.id, comment.author.login, comment.body, comment.url
            ));
        }
    }
    assert_eq!(
        told,
        [
            "t1 a:2 bob: rename this ao://my-app/pulls/1#c1",
            "t1 a:2 bob: and this ao://my-app/pulls/1#c3",
            "t2 -:0 lint: three warnings ao://my-app/pulls/1#c2",
        ]
    );
    let nowhere = NewComment { at: CommentPlace::Thread("t9".into()), ..at_line(&id, "", 1, "x") };
    assert!(scm.comment(&nowhere).await.unwrap_err().to_string().contains("t9"));
}

/// Our own answer is marked as ours, is left once, and settles the thread if wanted. acceptance: F6
#[tokio::test]
async fn the_daemons_answer_is_left_once_and_settles_the_thread() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "a", TEXT);
    let id = open(&scm, "x", "main").await;
    scm.comment(&at_line(&id, "a", 2, "rename this")).await.unwrap();
    let reply = ThreadReply {
        pull: id.clone(),
        thread: "t1".into(),
        text: "Done in 1234.".into(),
        resolve: true,
        key: "reply-1".into(),
    };
    scm.reply(&reply).await.unwrap();
    drop(scm);
    let scm = desk.open().await;
    scm.reply(&reply).await.unwrap();
    let seen = facts(&scm, &id).await;
    let thread = thread_of(&seen, "t1");
    assert_eq!((thread.comments.len(), thread.resolved), (2, true));
    assert_eq!(thread.comments[1].author.standing, AuthorStanding::Agent);
    assert_eq!(thread.comments[1].author.login, "ao");

    scm.resolve(&id, "t1", &person("bob"), false).await.unwrap();
    assert!(!thread_of(&facts(&scm, &id).await, "t1").resolved);
    scm.resolve(&id, "t1", &person("bob"), true).await.unwrap();
    assert_eq!(scm.show(&id).await.unwrap().threads["t1"].resolved_by.as_deref(), Some("bob"));
    assert!(scm.resolve(&id, "t7", &person("bob"), true).await.is_err());
}

#[tokio::test]
async fn in_a_file_that_has_changed_beyond_measure_no_line_is_followed() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "a", "first\nsecond\n");
    let id = open(&scm, "x", "main").await;
    scm.comment(&at_line(&id, "a", 1, "here")).await.unwrap();
    let filler = "a line of some length that is there many times\n".repeat(100);
    desk.push("x", "a", &format!("first\nsecond\n{filler}"));
    assert_eq!(facts(&scm, &id).await.threads[0].line, Some(1));
    desk.push("x", "a", &format!("first\nsecond\n{}", filler.repeat(2000)));
    assert_eq!(facts(&scm, &id).await.threads[0].line, None);
    assert!(scm.show(&id).await.unwrap().threads["t1"].outdated);
}
