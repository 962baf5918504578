//! What an agent hears of a check that has failed.

use std::fs;
use std::process::Command;

use crate::house::{House, until};

/// Five megabytes of a test run, of which one line in the middle matters, and what it says at its end.
const NOISY: &str = r#"
    checks:
      - name: unit tests
        command: sh noisy.sh
"#;

const SCRIPT: &str = r#"echo "::group::cargo test --workspace"
awk 'BEGIN {
  for (i = 0; i < 45000; i++) printf "test some_module::some_tests::case_number_%d_passes ... ok\n", i
  print "test parser::tests::an_empty_name_is_refused ... FAILED"
  for (i = 45000; i < 90000; i++) printf "test some_module::some_tests::case_number_%d_passes ... ok\n", i
  print "\nfailures:\n\n---- parser::tests::an_empty_name_is_refused stdout ----\n"
  print "thread '"'"'parser::tests::an_empty_name_is_refused'"'"' panicked at src/parser.rs:42:9:"
  print "assertion `left == right` failed\n  left: Ok(\"\")\n right: Err(Empty)\n\n"
  print "failures:\n    parser::tests::an_empty_name_is_refused\n"
  print "test result: FAILED. 89999 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.02s"
}'
echo "error: test failed, to rerun pass \`--lib\`" >&2
exit 101
"#;

/// acceptance: F1
#[test]
fn of_a_log_of_five_megabytes_the_agent_gets_what_matters_and_the_path_of_the_rest() {
    let house = House::new();
    house.configure_project(NOISY, "");
    house.start();
    fs::write(house.path("noisy.sh"), SCRIPT).unwrap();
    let whole = Command::new("sh").arg(house.path("noisy.sh")).output().unwrap();
    let whole = [whole.stdout, whole.stderr].concat();
    assert!(whole.len() > 5_000_000, "{}", whole.len());
    let session = house.session(
        "Refuse empty names",
        &format!(
            "[[tool cp {} . && git add noisy.sh && git commit -qm Noisy && git push -q && ao pr create --title Noisy]]",
            house.path("noisy.sh").display()
        ),
    );
    until("the agent to hear of it", || house.turns(&session).len() > 1);
    let turns = house.turns_until_now(&session);
    assert_eq!(turns.len(), 3, "one task, one piece of news, one marker: {turns:#?}");
    let told = &turns[1];
    assert!(told.len() <= 16 * 1024, "{} bytes", told.len());
    let pull = house.pull("1");
    let log = pull["checkRuns"][0]["log"].as_str().unwrap();
    for part in [
        "`unit tests`",
        "parser::tests::an_empty_name_is_refused",
        "src/parser.rs:42",
        "assertion `left == right` failed",
        "right: Err(Empty)",
        "in step `cargo test --workspace`",
        pull["head"].as_str().unwrap(),
        log,
    ] {
        assert!(told.contains(part), "`{part}` is not told:\n{told}");
    }
    assert!(!told.contains("case_number_44"), "what has passed is not told:\n{told}");
    let kept = fs::read(log).unwrap();
    assert!(kept == whole, "{} of {} bytes are in the file", kept.len(), whole.len());
}
