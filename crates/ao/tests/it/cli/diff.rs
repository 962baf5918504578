//! `ao pr diff`: what people see of a change.

use ao::show::diff::{DiffOptions, draw, parse, stat, steers};
use ao_api::Diff;
use insta::assert_snapshot;
use portable_pty::CommandBuilder;

use super::standin::{StandIn, json};
use super::window::Window;
use super::wire::{canvas, plain, pull};

const DIFF: &str = "\
diff --git a/src/login.rs b/src/login.rs
index 1111111..2222222 100644
--- a/src/login.rs
+++ b/src/login.rs
@@ -2,5 +2,6 @@ fn login() {
 fn login() {
-\tlet user = load(file);
+\tlet user = load(cache);
+    remember(user);
     done()
 }
 // a long line that goes on and on and on and on and on and on and on, longer than the window
diff --git a/old name.txt b/new name.txt
similarity index 95%
rename from old name.txt
rename to new name.txt
index 1111111..2222222 100644
--- a/old name.txt\t
+++ b/new name.txt\t
@@ -1 +1 @@
-one\r
+one
\\ No newline at end of file
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/logo.png b/logo.png
new file mode 100644
index 0000000..1111111
Binary files /dev/null and b/logo.png differ
diff --git \"a/h\\303\\266stile\\033[2J\" \"b/h\\303\\266stile\\033[2J\"
deleted file mode 100644
index 1111111..0000000
--- \"a/h\\303\\266stile\\033[2J\"
+++ /dev/null
@@ -1,2 +0,0 @@ \u{1b}]0;section\u{7}
-\u{1b}[31mred\u{202e} \u{9b}2J\u{8}
-漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字
";

#[test]
fn a_diff_is_shown_with_numbers_words_and_nothing_that_steers() {
    let files = parse(DIFF, false).unwrap();
    let drawn = draw(&files, DiffOptions { threads: &[], canvas: canvas(60) });
    assert_snapshot!(plain(&drawn), @"
    src/login.rs  +2 -1
    @@ -2,5 +2,6 @@ fn login() {
      2   2 │  fn login() {
      3     │ -    let user = load(file);
          3 │ +    let user = load(cache);
          4 │ +    remember(user);
      4   5 │      done()
      5   6 │  }
      6   7 │  // a long line that goes on and on and on and on 
            │  and on and on and on, longer than the window

    old name.txt → new name.txt  +1 -1  renamed
    @@ -1,1 +1,1 @@
      1     │ -one␍
          1 │ +one (no line end)

    run.sh  made executable

    logo.png  new, binary

    höstile^[[2J  +0 -2  deleted
    @@ -1,2 +0,0 @@ ^[]0;section^G
      1     │ -^[[31mred<U+202E> <U+009B>2J^H
      2     │ -漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字
            │  漢字漢字漢字
    ");
    // The words that changed are marked, and those alone.
    assert!(drawn.contains("\u{1b}[1m\u{1b}[7m\u{1b}[32mcache"), "{drawn:?}");
    let stripped = plain(&drawn);
    assert!(!stripped.chars().any(|c| c != '\n' && steers(c)), "{stripped:?}");
}

#[test]
fn threads_stand_at_their_lines() {
    let threads = pull(7).threads;
    let files = parse(DIFF, false).unwrap();
    let drawn = plain(&draw(&files[..1], DiffOptions { threads: &threads, canvas: canvas(70) }));
    assert_snapshot!(drawn, @"
    src/login.rs  +2 -1
    @@ -2,5 +2,6 @@ fn login() {
      2   2 │  fn login() {
      3     │ -    let user = load(file);
          3 │ +    let user = load(cache);
          4 │ +    remember(user);
            t1 src/login.rs:4
              │     let user = load();
              c1 anna (member), 20m ago
                What if there is none?
              c2 app-1 (agent), 20m ago
                Then it is new.
      4   5 │      done()
      5   6 │  }
      6   7 │  // a long line that goes on and on and on and on and on and
            │   on and on, longer than the window
    Elsewhere in this file
      t2 src/login.rs outdated resolved by anna
        │     let user = load();
        c3 anna (member), 20m ago
          Typo
    ");
}

#[test]
fn how_much_changed_where_is_told_in_short() {
    let files = parse(DIFF, false).unwrap();
    assert_snapshot!(plain(&stat(&files, canvas(80))), @"
    src/login.rs                 3       ++  -
    old name.txt → new name.txt  2       +   -
    run.sh                       0
    logo.png                     binary
    höstile^[[2J                 2           --
    5 files, +3 -4
    ");
}

const LINE: &str = "GET /api/pulls/my-app%217/diff?limit=16777216";

fn daemon(diff: &str) -> StandIn {
    let daemon = StandIn::new();
    daemon.on(LINE, json(&Diff { diff: diff.into(), cut: false }));
    daemon.on("GET /api/pulls/my-app%217", json(&pull(7)));
    daemon
}

#[test]
fn a_program_gets_the_diff_as_git_wrote_it() {
    let daemon = daemon(DIFF);
    let output = daemon.home.ao(&["pr", "diff", "my-app!7"]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), DIFF);
    let said = daemon.ao(&["pr", "diff", "my-app!7", "--name-only"]);
    assert_snapshot!(said, @"
    exit 0
    -- stdout --
    src/login.rs
    new name.txt
    run.sh
    logo.png
    höstile^[[2J
    ");
    let said = daemon.ao(&["pr", "diff", "my-app!7", "--comments"]);
    assert!(said.contains("What if there is none?") && !said.contains("Typo"), "{said}");
    assert!(daemon.ao(&["pr", "diff", "my-app!7", "--comments", "--all"]).contains("Typo"));
}

/// Half of a change that is applied would be a change that nobody proposed.
#[test]
fn a_program_hears_if_the_diff_is_not_all_there() {
    let daemon = StandIn::new();
    daemon.on(LINE, json(&Diff { diff: DIFF[..200].into(), cut: true }));
    let output = daemon.home.ao(&["pr", "diff", "my-app!7"]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), DIFF[..200]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("only its beginning was printed"));
}

fn window(daemon: &StandIn, args: &[&str], pager: &str) -> Window {
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_ao"));
    command.args(args);
    command.env_clear();
    command.env("PATH", std::env::var("PATH").unwrap());
    command.env("HOME", daemon.home.path());
    command.env("TERM", "xterm");
    command.env("PAGER", pager);
    command.cwd(daemon.home.path());
    Window::open(command)
}

/// The pager of this test shows only that it was asked.
#[test]
fn what_is_longer_than_the_screen_goes_through_the_pager() {
    let long: String = (1..=60).map(|line| format!("+line {line}\n")).collect();
    let long = format!("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1,60 @@\n{long}");
    let (long, paged) = (daemon(&long), "echo paged $(grep -c line)");
    let mut shown = window(&long, &["pr", "diff", "my-app!7"], paged);
    shown.until(|screen| screen.contains("paged 60"));
    assert_eq!(shown.code(), 0);
    let mut shown = window(&long, &["pr", "diff", "my-app!7", "--no-pager"], paged);
    shown.until(|screen| screen.contains("+line 60") && !screen.contains("paged"));
    assert_eq!(shown.code(), 0);
    let short = daemon("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+one\n");
    window(&short, &["pr", "diff", "my-app!7"], paged).until(|screen| screen.contains("+one"));
}

/// Even if it is nothing that git would write.
#[test]
fn what_is_not_understood_is_shown_safely_as_it_is() {
    let daemon = daemon("nonsense \u{1b}[2J\u{202e}\n");
    let mut shown = window(&daemon, &["pr", "diff", "my-app!7"], "cat");
    let screen = shown.until(|screen| screen.contains("nonsense"));
    assert!(screen.contains("nonsense ^[[2J<U+202E>"), "{screen}");
    assert_eq!(shown.code(), 0);
}
