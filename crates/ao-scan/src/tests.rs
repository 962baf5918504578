//! Diffs that contain what a policy forbids. Tokens are assembled here, so that no file contains a whole one.

use ao_core::policy::{ForbiddenPattern, Policy};
use proptest::prelude::*;

use super::*;

fn diff(file: &str, lines: &[&str]) -> String {
    let added: String = lines.iter().map(|line| format!("+{line}\n")).collect();
    format!("--- /dev/null\n+++ b/{file}\n@@ -0,0 +1,{} @@\n{added}", lines.len())
}

fn look(policy: &Policy, diff: &str) -> Vec<String> {
    let scan = scan(policy, &Commit::new("head"), diff, true).unwrap();
    assert_eq!(scan.failed, None);
    scan.found.iter().map(|found| format!("{}:{} {}", found.file, found.line, found.rule)).collect()
}

fn secrets() -> Policy {
    Policy { secrets: true, ..Policy::default() }
}

fn github() -> String {
    format!("{}_{}", "ghp", "x7Kq2mZp9Lw4Vt8RbN3cYdF6hJ1sGa5QeU0o")
}

fn pattern(regex: &str, paths: &[&str], except: &[&str]) -> ForbiddenPattern {
    let strings = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    ForbiddenPattern {
        name: "own".into(),
        regex: regex.into(),
        paths: strings(paths),
        except: strings(except),
    }
}

#[test]
fn findings_name_file_line_and_rule_and_never_the_secret() {
    let aws = format!("{}{}", "AKIA", "QYLPMN5HFIQR7BBA");
    let token = github();
    let lines = ["fn main() {", &format!("    let token = \"{token}\";"), "", &format!("aws = {aws}")];
    let found = look(&secrets(), &diff("src/a.rs", &lines));
    assert!(found.contains(&"src/a.rs:2 github-pat".to_owned()), "{found:?}");
    assert!(found.contains(&"src/a.rs:4 aws-access-token".to_owned()), "{found:?}");
    let scan = scan(&secrets(), &Commit::new("head"), &diff("src/a.rs", &lines), true).unwrap();
    let kept = serde_json::to_string(&scan).unwrap() + &format!("{scan:?}");
    assert!(!kept.contains(&token) && !kept.contains(&aws), "{kept}");
}

#[test]
fn a_key_over_several_lines_is_one() {
    let (begin, end) = ("-----BEGIN RSA PRIVATE ", "-----END RSA PRIVATE ");
    let body = "MIIEpAIBAAKCAQEA7bq0Xf2m9Lw4Vt8RbN3cYdF6hJ1sGa5QeU0okZpK";
    let (first, last) = (format!("{begin}KEY-----"), format!("{end}KEY-----"));
    let found = look(&secrets(), &diff("key.pem", &["# ours", &first, body, body, &last]));
    assert_eq!(found, ["key.pem:2 private-key"]);
}

#[test]
fn removed_and_unchanged_lines_are_not_scanned() {
    let token = github();
    let text = format!("+++ b/a\n@@ -1,2 +1,2 @@\n-{token}\n {token}\n+clean\n");
    assert_eq!(look(&secrets(), &text), [""; 0]);
    let example = format!("key = {}{}EXAMPLE", "AKIA", "IOSFODNN7");
    assert_eq!(look(&secrets(), &diff("docs/a.md", &[&example, "password = hunter2"])), [""; 0]);
}

#[test]
fn own_patterns_are_tried_on_each_added_line_of_their_files() {
    let policy =
        Policy { forbidden: vec![pattern("^\\s*TODO$", &["src/"], &["src/gen/"])], ..Policy::default() };
    assert_eq!(look(&policy, &diff("src/a.rs", &["fine", "  TODO", "TODO later"])), ["src/a.rs:2 own"]);
    assert_eq!(look(&policy, &diff("src/gen/a.rs", &["TODO"])), [""; 0]);
    assert_eq!(look(&policy, &diff("docs/a.md", &["TODO"])), [""; 0]);
}

#[test]
fn an_incomplete_scan_is_reported() {
    let scan_of = |policy: &Policy, whole| scan(policy, &Commit::new("head"), "", whole);
    assert!(scan_of(&secrets(), false).unwrap().failed.unwrap().contains("longer"));
    let broken = Policy { forbidden: vec![pattern("(", &[], &[])], ..Policy::default() };
    assert!(scan_of(&broken, true).unwrap().failed.unwrap().contains("not a valid regular expression"));
    assert_eq!(scan_of(&Policy::default(), true), None);
}

#[test]
fn findings_are_capped() {
    let line = github();
    let lines: Vec<&str> = (0..200).map(|_| line.as_str()).collect();
    let scan = scan(&secrets(), &Commit::new("head"), &diff("a", &lines), true).unwrap();
    assert!(scan.more);
    assert_eq!(scan.found.len(), MOST_FINDINGS);
}

#[test]
fn megabytes_in_one_line_take_a_moment() {
    let line = "token key secret api ".repeat(100_000);
    let began = std::time::Instant::now();
    look(&secrets(), &diff("min.js", &[&line]));
    assert!(began.elapsed() < std::time::Duration::from_secs(60), "{:?}", began.elapsed());
}

/// Regression: lines before each finding were counted anew, and findings were collected without a limit.
#[test]
fn endless_findings_are_cut_short() {
    let line = github();
    let text = diff("a", &vec![line.as_str(); 200_000]);
    let own = Policy { forbidden: vec![pattern("ghp", &[], &[])], ..secrets() };
    let began = std::time::Instant::now();
    let scan = scan(&own, &Commit::new("head"), &text, true).unwrap();
    assert!(scan.more && scan.failed.is_none());
    assert_eq!(scan.found.iter().map(|found| found.line).max(), Some(25), "two rules, line by line");
    assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
}

#[test]
fn a_scan_past_its_time_limit_is_cut_short_and_reported() {
    let text = diff("a", &["clean"]) + &diff("b", &["clean"]);
    let scan = scan_until(&secrets(), &Commit::new("head"), &text, true, Instant::now()).unwrap();
    assert_eq!(scan.failed.as_deref(), Some("it took too long to look through the diff"));
}

#[test]
fn zero_bytes_between_letters_hide_nothing() {
    let line: String = github().chars().flat_map(|letter| [letter, '\0']).collect();
    assert_eq!(look(&secrets(), &diff("a.txt", &[&line])), ["a.txt:1 github-pat"]);
}

proptest! {
    #[test]
    fn no_diff_makes_it_fail(text in "(\\+\\+\\+ |@@ -|\\+|-|[0-9]|,| |@@|\\n|\"|\\\\|b/|é){0,80}") {
        let policy = Policy { secrets: true, forbidden: vec![pattern("x", &[], &[])], ..Policy::default() };
        scan(&policy, &Commit::new("head"), &text, true).unwrap();
    }
}
