//! Unusual repositories and hostile text.

use ao_ports::{LandingStrategy, NewPull, Scm, ScmReviews as _};

use crate::local_support::{Desk, facts, merge, merged, new_pull, open, pull};

#[tokio::test]
async fn odd_names_of_branches_and_titles_do_no_harm() {
    let desk = Desk::new();
    let scm = desk.open().await;
    let names =
        ["feat/$(touch-x)", "-rf", "--all", "it's\"quoted\"", "日本/тест", "a;b&c|d", "`id`", "$HOME"];
    for (number, name) in (1..).zip(names) {
        desk.git(&["checkout", "--quiet", "--detach", "main"]);
        desk.write(&format!("file {number}\t'\".txt"), name);
        desk.commit(name);
        desk.git(&["update-ref", &format!("refs/heads/{name}"), "HEAD"]);
        desk.git(&["checkout", "--quiet", "main"]);
        let title = format!("{name}\nsecond line\r\n--trailer: x\u{1b}[31m");
        let new = NewPull { title, body: format!("{name}\n\n-F /etc/passwd"), ..new_pull(name, "main") };
        let id = scm.open(&new).await.unwrap();
        assert_eq!(id, pull(number));
        let seen = facts(&scm, &id).await;
        assert_eq!(seen.title, format!("{name} second line --trailer: x [31m"));
        assert_eq!(seen.size.files, [format!("file {number}\t'\".txt")]);
        let strategy =
            [LandingStrategy::Squash, LandingStrategy::Merge, LandingStrategy::Rebase][number as usize % 3];
        merged(merge(&scm, &id, strategy).await);
    }
    assert!(!desk.path().join("x").exists());
    assert_eq!(desk.git(&["status", "--porcelain"]), "");
    let message = desk.git(&["log", "--format=%B", "--grep=my-app!3"]);
    assert!(message.starts_with("--all second line --trailer: x [31m (my-app!3)"), "{message}");
}

#[tokio::test]
async fn an_odd_default_branch_is_one() {
    for name in ["прод", "release/2.x", "-main", "a'b"] {
        let mut desk = Desk::new();
        desk.git(&["update-ref", &format!("refs/heads/{name}"), "main"]);
        desk.git(&["symbolic-ref", "HEAD", &format!("refs/heads/{name}")]);
        desk.git(&["update-ref", "-d", "refs/heads/main"]);
        desk.default_branch = name.to_owned();
        let tree = desk.git(&["commit-tree", "-p", "HEAD", "-m", "same", "HEAD^{tree}"]);
        desk.git(&["update-ref", "refs/heads/x", &tree]);
        let scm = desk.open().await;
        let id = open(&scm, "x", name).await;
        let commit = merged(merge(&scm, &id, LandingStrategy::Merge).await);
        assert_eq!(desk.tip(&format!("refs/heads/{name}")), commit);
    }
}

#[tokio::test]
async fn binary_files_line_ends_links_and_submodules_land_unchanged() {
    let desk = Desk::new();
    desk.write("crlf.txt", "one\r\ntwo\r\n");
    desk.commit("crlf");
    let scm = desk.open().await;
    let other = Desk::new();
    desk.git(&["checkout", "--quiet", "-b", "x"]);
    desk.write("crlf.txt", "one\r\nTWO\r\n");
    desk.write("logo.png", b"\x89PNG\0\0\x01\n\0");
    std::os::unix::fs::symlink("../../outside", desk.path().join("link")).unwrap();
    let sub = other.path().display().to_string();
    desk.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &sub, "sub"]);
    desk.commit("all kinds");
    desk.git(&["checkout", "--quiet", "main"]);
    std::fs::remove_dir_all(desk.path().join("sub")).ok();
    let id = open(&scm, "x", "main").await;
    let diff = scm.diff(&id, 100_000).await.unwrap();
    assert!(diff.contains("-two\r\n+TWO\r\n"), "{diff:?}");
    assert!(diff.contains("Binary files /dev/null and b/logo.png differ"), "{diff}");
    assert!(diff.contains("+../../outside\n\\ No newline at end of file\n"), "{diff}");
    assert!(diff.contains(&format!("+Subproject commit {}", other.tip("main"))), "{diff}");
    merged(merge(&scm, &id, LandingStrategy::Squash).await);
    assert_eq!(desk.read("crlf.txt"), "one\r\nTWO\r\n");
    assert_eq!(std::fs::read_link(desk.path().join("link")).unwrap().to_str(), Some("../../outside"));
}

#[tokio::test]
async fn the_users_taste_for_diffs_and_programs_in_attributes_change_nothing() {
    let desk = Desk::new();
    let scm = desk.open().await;
    let ran = desk.side_path("ran");
    let program = format!("touch '{}'; false", ran.display());
    for (key, value) in [
        ("diff.noprefix", "true"),
        ("color.ui", "always"),
        ("diff.external", program.as_str()),
        ("diff.evil.command", program.as_str()),
        ("diff.evil.textconv", program.as_str()),
        ("merge.evil.driver", program.as_str()),
        ("diff.renames", "false"),
        ("log.showSignature", "true"),
        ("merge.ff", "false"),
        ("merge.autoStash", "true"),
    ] {
        desk.git(&["config", key, value]);
    }
    desk.push("x", ".gitattributes", "* diff=evil\n");
    desk.push("x", "README.md", "one\nX\nthree\nfour\nfive\n");
    let id = open(&scm, "x", "main").await;
    let diff = scm.diff(&id, 100_000).await.unwrap();
    assert!(diff.contains("diff --git a/README.md b/README.md") && !diff.contains('\u{1b}'), "{diff}");
    assert!(diff.contains("-two\n+X\n"));
    merged(merge(&scm, &id, LandingStrategy::Squash).await);
    assert!(!ran.exists());
}

#[tokio::test]
async fn a_huge_diff_is_bounded_and_the_reader_knows() {
    let desk = Desk::new();
    let scm = desk.open().await;
    let text: String = (0..150_000).map(|line| format!("line {line:08} of a rather long file\n")).collect();
    assert!(text.len() > 5_000_000);
    desk.push("x", "big.txt", &text);
    let id = open(&scm, "x", "main").await;
    assert_eq!(facts(&scm, &id).await.size.added, 150_000);
    let diff = scm.diff(&id, 65_536).await.unwrap();
    assert_eq!(diff.len(), 65_536);
    assert!(diff.trim_end().ends_with("\\ the diff is longer, and is cut here"));
    let whole = scm.diff(&id, 50_000_000).await.unwrap();
    assert!(whole.len() > 5_000_000 && whole.ends_with("+line 00149999 of a rather long file\n"));
}

#[tokio::test]
async fn a_name_that_is_no_text_is_no_obstacle() {
    use std::os::unix::ffi::OsStrExt;
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.git(&["checkout", "--quiet", "-b", "x"]);
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.txt");
    std::fs::write(desk.path().join(name), b"caf\xe9\n").unwrap();
    desk.commit("latin");
    desk.git(&["checkout", "--quiet", "main"]);
    let id = open(&scm, "x", "main").await;
    assert_eq!(facts(&scm, &id).await.size.files.len(), 1);
    assert!(scm.diff(&id, 10_000).await.unwrap().contains("+caf"));
    merged(merge(&scm, &id, LandingStrategy::Rebase).await);
    assert!(desk.path().join(name).exists());
}

#[tokio::test]
async fn a_folder_without_a_repository_is_refused() {
    let desk = Desk::new();
    std::fs::rename(desk.path().join(".git"), desk.side_path("away")).unwrap();
    let options = ao_scm::local::Options {
        project: crate::local_support::project(),
        repository: desk.path().try_into().unwrap(),
        default_branch: "main".into(),
        checks: vec![],
        strategy: LandingStrategy::Squash,
        queues: Default::default(),
        settings: Default::default(),
        witness: None,
    };
    let (records, checks) = (desk.records.clone(), desk.checks.clone());
    let clock = std::sync::Arc::new(ao_testkit::ManualClock::ticking());
    let err = ao_scm::local::LocalScm::open(options, records, checks, clock).await.unwrap_err();
    assert!(err.to_string().contains("is not a git repository"), "{err}");
}

#[tokio::test]
async fn refs_in_tables_are_refs() {
    let desk = Desk::made_by(&["init", "--quiet", "--ref-format=reftable"]);
    desk.push("old", "x", "1");
    let scm = desk.open().await;
    let id = open(&scm, "old", "main").await;
    desk.git(&["branch", "-m", "old", "new"]);
    assert_eq!(facts(&scm, &id).await.head_branch, "new");
    merged(merge(&scm, &id, LandingStrategy::Squash).await);
    assert_eq!(desk.read("x"), "1");
}

/// One byte, or a line in a file that the change brings itself, makes a file binary for git.
#[tokio::test]
async fn binary_files_are_counted_and_can_be_scanned() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "keys.txt", "zero\0\ntoken one\n");
    desk.push("x", ".gitattributes", "hidden.rs -diff\n");
    desk.push("x", "hidden.rs", "token two\n\n\n");
    // Attributes count as they are in the tree, once they have landed.
    desk.push("main", ".gitattributes", "hidden.rs -diff\n");
    let id = open(&scm, "x", "main").await;
    let seen = facts(&scm, &id).await;
    assert_eq!((seen.size.added, seen.size.removed), (6, 0), "{:?}", seen.size);
    let diff = scm.diff_at(&id, &seen.head, &seen.base, 100_000).await.unwrap();
    assert!(diff.contains("+token one\n") && diff.contains("+token two\n"), "{diff}");
}

#[tokio::test]
async fn a_diff_is_of_the_head_and_base_that_were_looked_at_or_there_is_none() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "a.txt", "one\n");
    let id = open(&scm, "x", "main").await;
    let seen = facts(&scm, &id).await;
    desk.push("x", "a.txt", "two\n");
    let now = facts(&scm, &id).await;
    let refused = scm.diff_at(&id, &seen.head, &seen.base, 10_000).await.unwrap_err();
    assert!(refused.to_string().contains("has moved on"), "{refused}");
    assert!(scm.diff_at(&id, &now.head, &now.base, 10_000).await.unwrap().contains("+two"));
    assert!(scm.diff_at(&id, &now.head, &seen.head, 10_000).await.is_err(), "another base");
}
