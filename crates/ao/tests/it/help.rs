//! What one reads first.

use insta::assert_snapshot;

use crate::support::Home;

#[test]
fn help_says_what_it_is_and_gives_examples() {
    assert_snapshot!(Home::new().run(&["-h"]), @r#"
    exit 0
    -- stdout --
    Runs many AI coding agents in parallel, each in its own branch and workspace, and tracks what they
    do

    Usage: ao [OPTIONS] <COMMAND>

    Get started:
      init            Write a configuration file for this repository
      start           Start the daemon if needed, and register a repository
      stop            Stop sessions; without a name, stop the daemon and leave agents running
      dashboard       Open the dashboard in a browser
      service         Start the daemon at login
      demo            Watch six issues being worked on and merged at once, in a sample repository

    Sessions:
      new             Start a session from a title
      spawn           Start a session for an issue
      batch-spawn     Start a session for each of several issues
      list            List sessions, one per line
      status          Show all sessions, those that need you first; or one in full
      session         List, kill, restore and clean up sessions
      pause           Pause a session: it gets no further turn until it is resumed
      resume          Continue a paused session, with new limits if its budget is used up
      retry           Retry what failed: the set-up of a session, or the start of its agent

    Messages:
      send            Send a message to an agent, and wait until it is accepted
      asks            List what agents ask you
      answer          Answer what an agent asks
      attach          Attach to the terminal of a session
      wait            Wait until a session reaches a state

    Changes:
      issue           Create, read, change and import issues
      pr              Open, read, review and merge pull requests
      approve         Approve a pull request and merge it
      check           Run checks, list them and read their output
      policy          Show, check and test the rules for merging
      queue           Show and change the merge queue
      conflicts       Show branches that will not merge with each other
      review          Start an agent that reviews a pull request
      review-check    Show pull requests with open reviews, and whether their agents were notified

    Inspect:
      explain         Explain the state of a session: the signals, the rule that won, and what to do
      why             Explain in one line why a session is in its state
      plan            Show what runs, what will run next, and why the rest waits
      advise          List the most important next steps, with reasons
      budget          Show the usage of each budget, and the accounts that a provider refuses
      logs            Show the output of a session's agent
      events          Show events, or maintain the event log: export, check, back up, prune
      open            Open a session in the dashboard

    Projects and configuration:
      add-project     Add a repository as a project
      remove-project  Remove a project; nothing of it is deleted
      trust-project   Confirm changes to a repository that were made while agents were at work
      config          Check, show and change the configuration
      config-help     Describe the configuration keys
      plugin          List and manage plugins

    Reactions:
      reactions       Show reactions to events, and test them
      emit            Report a custom event, and run the reactions configured for it
      simulate        Show what a configuration would have done with recorded events
      hooks           List, test and read the output of hooks
      notify          List and test the channels for notices

    Maintenance:
      doctor          Check this machine for problems
      verify          Compare the recorded state with reality

    For programs:
      api             Call the daemon's HTTP API as yourself
      completion      Print the completion script for a shell
      man             Print a manual page, or write all pages to a folder

    Options for all commands:
          --data-dir <DIR>  The folder for the event log and other data [default: ~/.local/share/ao, or
                            under $XDG_DATA_HOME] [env: AO_DATA_DIR]
          --config <FILE>   The configuration file [default: the nearest one in this folder or above,
                            then your own] [env: AO_CONFIG]
          --json            Print JSON with a stable format
          --color <WHEN>    Colour the output; NO_COLOR and CLICOLOR_FORCE are respected [possible
                            values: auto, always, never]
      -h, --help            Print help (see more with '--help')
      -V, --version         Print version

    Examples:
      ao start                     in a repository: start the daemon and register the project
      ao spawn 42                  start an agent for issue 42
      ao status                    show all sessions, those that need you first
      ao send issue-42 "…"         send an agent a message, and wait until it is accepted
      ao attach issue-42           attach to its terminal
      ao help COMMAND              show help on a command, with examples

    Name a session by its name, its id, or a unique prefix of either.
    "#);
}

#[test]
fn exit_codes_are_told_to_those_who_want_to_know_all() {
    let said = Home::new().run(&["--help"]);
    assert!(said.contains("Exit codes:\n    0  it was done\n"), "{said}");
    assert!(said.contains("\n    6  no daemon runs\n"), "{said}");
}

#[test]
fn each_command_has_help() {
    let home = Home::new();
    assert_snapshot!(home.run(&["events", "--help"]), @"
    exit 0
    -- stdout --
    Show events, or maintain the event log: export, check, back up, prune

    Without a subcommand, prints one event per line: its number, the local time, the session and what
    happened. `--json` prints the events as stored, for programs. The subcommands work on the log
    itself, with or without a daemon.

    Usage: ao events [OPTIONS]
           ao events <COMMAND>

    Commands:
      export  Write events to stdout as JSON, one per line, oldest first
      check   Check the event log for damage
      backup  Copy the event log to a new file, and check the copy
      prune   Remove old events that are no longer needed to start
      help    Print this message or the help of the given subcommand(s)

    Options:
      -f, --follow
              Keep printing new events; Ctrl-C stops

      -s, --session <SESSION>
              Only events of this session

          --after <N>
              Start after the event with this number [default: the latest 50, or with -f new events
              only]

      -h, --help
              Print help (see a summary with '-h')

    Options for all commands:
          --data-dir <DIR>
              The folder for the event log and other data [default: ~/.local/share/ao, or under
              $XDG_DATA_HOME]

              [env: AO_DATA_DIR]

          --config <FILE>
              The configuration file [default: the nearest one in this folder or above, then your own]

              [env: AO_CONFIG]

          --json
              Print JSON with a stable format

          --color <WHEN>
              Colour the output; NO_COLOR and CLICOLOR_FORCE are respected

              [possible values: auto, always, never]

    Examples:
      ao events                       the latest
      ao events -f                    what happens, as it happens
      ao events -f --session my-app-3 --json
      ao events --after 1000
      ao events check
    ");
    assert_snapshot!(home.run(&["events", "export", "--help"]), @"
    exit 0
    -- stdout --
    Write events to stdout as JSON, one per line, oldest first

    Works while ao runs, and ends with the last event at the time of the call. Events that cannot be
    read are left out and counted, and the command then fails after the last line. Without a range, the
    documents beside the log, such as local issues and pull requests, follow the last event, one per
    line, each with its `shelf` and `key`.

    Usage: ao events export [OPTIONS]

    Options:
          --from <N>
              The number of the first event

          --to <N>
              The number of the last event

      -h, --help
              Print help (see a summary with '-h')

    Options for all commands:
          --data-dir <DIR>
              The folder for the event log and other data [default: ~/.local/share/ao, or under
              $XDG_DATA_HOME]

              [env: AO_DATA_DIR]

          --config <FILE>
              The configuration file [default: the nearest one in this folder or above, then your own]

              [env: AO_CONFIG]

          --json
              Print JSON with a stable format

          --color <WHEN>
              Colour the output; NO_COLOR and CLICOLOR_FORCE are respected

              [possible values: auto, always, never]

    Examples:
      ao events export > events.ndjson
      ao events export --from 1000 | jq -r .kind | sort | uniq -c
    ");
    assert_snapshot!(home.run(&["demo", "--help"]), @"
    exit 0
    -- stdout --
    Watch six issues being worked on and merged at once, in a sample repository

    Six agents work in their own worktrees and terminals: one change merges as it is, one has a failed
    check and fixes it, one is asked for more by a reviewer, one has a conflict and rebases, one has a
    flaky check that disturbs no agent, and one touches a protected path and waits for you. Needs git,
    but no account or network. Everything happens in a temporary directory, with its own daemon, and is
    removed afterwards.

    Usage: ao demo [OPTIONS]

    Options:
      -y, --yes
              Approve the change that waits for you, without asking

          --keep
              Keep everything, including the daemon, and print how to explore and remove it

          --agent <NAME>
              Use this agent instead of the script

          --fast
              Let the scripted agents work without pauses

      -h, --help
              Print help (see a summary with '-h')

    Options for all commands:
          --data-dir <DIR>
              The folder for the event log and other data [default: ~/.local/share/ao, or under
              $XDG_DATA_HOME]

              [env: AO_DATA_DIR]

          --config <FILE>
              The configuration file [default: the nearest one in this folder or above, then your own]

              [env: AO_CONFIG]

          --json
              Print JSON with a stable format

          --color <WHEN>
              Colour the output; NO_COLOR and CLICOLOR_FORCE are respected

              [possible values: auto, always, never]

    Examples:
      ao demo
      ao demo --yes                  lets the last one through in your place
      ao demo --keep                 leaves all of it there to play with
      ao demo --agent claude-code    real agents, which cost real money
    ");
}

#[test]
fn the_version_is_told() {
    assert_snapshot!(Home::new().run(&["--version"]), @"
    exit 0
    -- stdout --
    ao 0.0.0
    ");
}

#[test]
fn a_wrong_word_is_answered_with_the_right_one() {
    assert_snapshot!(Home::new().run(&["event", "check"]), @"
    exit 2
    -- stderr --
    error: unrecognized subcommand 'event'

      tip: some similar subcommands exist: 'review', 'events'

    Usage: ao [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
}

#[test]
fn colours_are_for_people_and_for_those_who_ask() {
    let home = Home::new();
    let coloured = |args: &[&str]| home.run(args).contains('\u{1b}');
    assert!(!coloured(&["plugin", "list"]));
    assert!(coloured(&["plugin", "list", "--color", "always"]));
    let output = home.ao(&["plugin", "list"]).env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(output.stdout.contains(&0x1b));
    let output =
        home.ao(&["plugin", "list"]).env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1").output().unwrap();
    assert!(!output.stdout.contains(&0x1b));
}
