//! What one reads first.

use insta::assert_snapshot;

use crate::support::Home;

#[test]
fn help_says_what_it_is_and_gives_examples() {
    assert_snapshot!(Home::new().run(&["--help"]), @r"
    exit 0
    -- stdout --
    Runs many AI coding agents at once, each in its own branch and workspace, and keeps track of what
    they really do

    Usage: ao <COMMAND>

    Commands:
      demo    See the life of one session, on a throw-away repository
      events  Look after the event log: export, check, back up, prune
      help    Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help
      -V, --version  Print version

    Examples:
      ao demo                            see the life of one session, on a throw-away repository
      ao events check                    look for faults in the event log
      ao events export > events.ndjson   all that ever happened, one event a line
    ");
}

#[test]
fn each_command_has_help() {
    let home = Home::new();
    assert_snapshot!(home.run(&["events", "--help"]), @r"
    exit 0
    -- stdout --
    Look after the event log: export, check, back up, prune

    Usage: ao events <COMMAND>

    Commands:
      export  Write events to stdout as JSON, one a line, oldest first
      check   Look for faults in the event log
      backup  Copy the event log to a new file, and check the copy
      prune   Remove old events that are no longer needed to start
      help    Print this message or the help of the given subcommand(s)

    Options:
      -h, --help  Print help
    ");
    assert_snapshot!(home.run(&["events", "export", "--help"]), @r"
    exit 0
    -- stdout --
    Write events to stdout as JSON, one a line, oldest first

    It can be used while ao runs, and ends where the log ended when it began. Events that cannot be read
    are left out and counted; then it exits with an error after the last line.

    Usage: ao events export [OPTIONS]

    Options:
          --data-dir <DIR>
              Where ao keeps its event log [default: ~/.local/share/ao, or under $XDG_DATA_HOME]

              [env: AO_DATA_DIR]

          --from <N>
              The first event's number

          --to <N>
              The last event's number

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      ao events export > events.ndjson
      ao events export --from 1000 | jq -r .kind | sort | uniq -c
    ");
    assert_snapshot!(home.run(&["demo", "--help"]), @r"
    exit 0
    -- stdout --
    See the life of one session, on a throw-away repository

    A scripted agent takes a task in its own worktree, outlives a restart of the daemon, gets a message,
    asks a question, and is stopped; its work is kept until it is safe elsewhere. Needs git, and neither
    an account nor a network. All of it happens in a temporary directory.

    Usage: ao demo [OPTIONS]

    Options:
          --keep
              Leave everything that was made, and say where

          --fast
              Let the agent do its work without pauses

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      ao demo
      ao demo --keep   leaves the repository and the event log there to look at
    ");
}

#[test]
fn the_version_is_told() {
    assert_snapshot!(Home::new().run(&["--version"]), @r"
    exit 0
    -- stdout --
    ao 0.0.0
    ");
}

#[test]
fn a_wrong_word_is_answered_with_the_right_one() {
    assert_snapshot!(Home::new().run(&["event", "check"]), @r"
    exit 2
    -- stderr --
    error: unrecognized subcommand 'event'

      tip: a similar subcommand exists: 'events'

    Usage: ao <COMMAND>

    For more information, try '--help'.
    ");
}
