use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;

use super::*;

#[test]
fn a_change_is_read_with_the_numbers_of_its_lines() {
    let text = "diff --git a/src/a b.rs b/src/a b.rs\nindex 1..2 100644\n--- a/src/a b.rs\t\n+++ b/src/a b.rs\t\n\
                @@ -3,2 +3,3 @@ fn main() {\n one\n-two\r\n+zwei\n+drei\n\\ No newline at end of file\n";
    let files = parse(text, false).unwrap();
    let [file] = &files[..] else { panic!("{files:?}") };
    assert_eq!((file.path(), file.change, file.counts()), ("src/a b.rs", FileChange::Modified, (2, 1)));
    let hunk = &file.hunks[0];
    assert_eq!((hunk.old, hunk.new, hunk.section), ((3, 2), (3, 3), "fn main() {"));
    let lines: Vec<_> = hunk.lines.iter().map(|line| (line.old, line.new, line.text)).collect();
    let right = [
        (Some(3), Some(3), "one"),
        (Some(4), None, "two\r"),
        (None, Some(4), "zwei"),
        (None, Some(5), "drei"),
    ];
    assert_eq!(lines, right);
    assert!(hunk.lines[3].no_newline && !hunk.lines[2].no_newline);
}

#[test]
fn what_git_does_not_write_is_refused_with_its_line() {
    for (text, line) in [
        ("hello\n", 1),
        ("diff --git a/x b/x\nnonsense\n", 2),
        ("diff --git a/x b/x\n@@ -1 +1 @\n", 2),
        ("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n", 5),
        ("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n-b\n+c\n", 6),
        ("diff --git a/x b/x\n@@ -0,0 +0,0 @@\n\\ No\n", 3),
        ("diff --git a/x b/y\nold mode 100644\n", 2),
    ] {
        assert_eq!(parse(text, false).unwrap_err().line, line, "{text}");
    }
    let short = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n+b\n";
    assert_eq!(parse(short, true).unwrap()[0].counts(), (1, 1), "one that was cut may end anywhere");
}

/// Names and files of the kind that people make in anger, through git itself.
#[test]
fn what_git_really_writes_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    git(folder.path(), &["init", "-q", "-b", "main"]);
    for name in ["with space", "tab\tand\nline", "quote\"d", "ümlaut", "mode", "gone", "bin", "crlf", "-dash"]
    {
        std::fs::write(at(name), format!("one\ntwo\n{name}\n")).unwrap();
    }
    let long: String = (0..50).fold(String::new(), |all, line| all + &format!("line {line}\n"));
    std::fs::write(at("moved from"), &long).unwrap();
    git(folder.path(), &["add", "-A"]);
    git(folder.path(), &["commit", "-qm", "one"]);
    for name in ["with space", "tab\tand\nline", "quote\"d", "ümlaut", "-dash"] {
        std::fs::write(at(name), "one\n--- not a head\n+++ nor this\n@@ -1 +1 @@\n").unwrap();
    }
    std::fs::write(at("crlf"), "one\r\ntwo\r\ncrlf\r\n").unwrap();
    std::fs::write(at("bin"), b"\0\x01\x02").unwrap();
    std::fs::remove_file(at("gone")).unwrap();
    std::fs::rename(at("moved from"), at("moved to")).unwrap();
    std::fs::write(at("empty"), "").unwrap();
    std::fs::write(at("new"), "no end").unwrap();
    git(folder.path(), &["add", "-A"]);
    git(folder.path(), &["update-index", "--chmod=+x", "mode"]);
    for options in [&["diff", "--cached", "-M"][..], &["diff", "--cached", "-M", "--binary"]] {
        let text = git(folder.path(), options);
        let files = parse(&text, false).unwrap();
        let mut told: Vec<_> = files
            .iter()
            .map(|file| format!("{:?} {:?} {:?} {}", file.change, file.path(), file.counts(), file.binary))
            .collect();
        told.sort();
        let right = [
            r#"Added "empty" (0, 0) false"#,
            r#"Added "new" (1, 0) false"#,
            r#"Deleted "gone" (0, 3) false"#,
            r#"Modified "-dash" (3, 2) false"#,
            r#"Modified "bin" (0, 0) true"#,
            r#"Modified "crlf" (3, 3) false"#,
            r#"Modified "mode" (0, 0) false"#,
            r#"Modified "quote\"d" (3, 2) false"#,
            r#"Modified "tab\tand\nline" (3, 3) false"#,
            r#"Modified "with space" (3, 2) false"#,
            r#"Modified "ümlaut" (3, 2) false"#,
            r#"Renamed "moved to" (0, 0) false"#,
        ];
        assert_eq!(told, right);
        let moved = files.iter().find(|file| file.change == FileChange::Renamed).unwrap();
        assert_eq!(moved.old, "moved from");
        let mode = files.iter().find(|file| file.path() == "mode").unwrap();
        assert_eq!((mode.old_mode, mode.new_mode), (Some("100644"), Some("100755")));
    }
}

fn git(folder: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.autocrlf=false"])
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A line of a hunk: its sign and its text.
fn hunk_line() -> impl Strategy<Value = (char, String)> {
    (prop::sample::select(vec![' ', '+', '-']), "[ -~\\t\\rüé漢]{0,12}")
}

proptest! {
    #[test]
    fn whatever_is_written_as_git_does_is_read_back(
        name in "[a-z][a-z /.]{0,10}[a-z]",
        hunks in prop::collection::vec(prop::collection::vec(hunk_line(), 1..12), 0..4),
    ) {
        let mut text = format!("diff --git a/{name} b/{name}\nindex 1..2 100644\n--- a/{name}\t\n+++ b/{name}\t\n");
        for (at, lines) in hunks.iter().enumerate() {
            let count = |not| lines.iter().filter(|(sign, _)| *sign != not).count();
            let start = at * 100 + 1;
            writeln!(text, "@@ -{start},{} +{start},{} @@ x", count('+'), count('-')).unwrap();
            for (sign, line) in lines {
                writeln!(text, "{sign}{line}").unwrap();
            }
        }
        let files = parse(&text, false).unwrap();
        prop_assert_eq!(files.len(), 1);
        prop_assert_eq!(files[0].path(), name);
        let read: Vec<Vec<(char, String)>> = files[0].hunks.iter().map(|hunk| {
            hunk.lines.iter().map(|line| {
                let sign = match line.kind {
                    LineKind::Context => ' ',
                    LineKind::Added => '+',
                    LineKind::Removed => '-',
                };
                (sign, line.text.to_owned())
            }).collect()
        }).collect();
        prop_assert_eq!(read, hunks);
    }

    #[test]
    fn no_text_makes_it_panic(text in "(diff --git [\"ab/ \\\\]{0,9}\n|@@ -[0-9]{0,11},?[0-9]* \\+[0-9,]* @@\n|[-+ \\\\][ -~]{0,5}\n|\\PC{0,5}\n){0,12}", cut: bool) {
        let _ = parse(&text, cut);
    }

    /// Wherever it is cut, what stands before is still read.
    #[test]
    fn a_diff_may_be_cut_between_any_two_lines_of_a_hunk(at in 4usize..9) {
        let text = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n";
        let short: String = text.split_inclusive('\n').take(at).collect();
        prop_assert!(parse(&short, true).is_ok());
    }
}
