//! What one reads first.

use insta::assert_snapshot;

use crate::support::Home;

#[test]
fn help_says_what_it_is_and_gives_examples() {
    assert_snapshot!(Home::new().run(&["-h"]), @r#"
    exit 0
    -- stdout --
    Runs many AI coding agents at once, each in its own branch and workspace, and keeps track of what
    they really do

    Usage: ao [OPTIONS] <COMMAND>

    Begin:
      init            Write a configuration file for this repository
      start           Start the daemon, or join the one that runs, and take care of a repository
      stop            Stop sessions; or the daemon, if none is named, while agents go on
      dashboard       Open the dashboard in a browser
      service         Let the daemon start with your login
      demo            See six issues become merges at once, on a throw-away repository

    Sessions:
      new             Start a session from a title
      spawn           Start a session for an issue
      batch-spawn     Start a session for each of several issues
      list            List sessions, one a line
      status          Show all sessions, those that need you first; or one in full
      session         List, kill, restore and clean up sessions
      pause           Hold a session back: it gets no further turn until it is resumed
      resume          Let a paused session go on, with new limits if a budget was spent
      retry           Try again what failed: the set-up of a session, or the start of its agent

    Talk:
      send            Tell an agent something, and wait until it has taken it
      answer          Answer the question that an agent has open
      attach          Look into the terminal of a session, and take it over
      wait            Wait until a session is in a state

    Changes:
      issue           Write down, read, change and bring in issues
      pr              Propose, read, review and merge changes
      approve         Approve a pull request and let it land
      check           Run checks, list them and read what they say
      policy          Show what must hold before a pull request is merged, and try it
      queue           Show and steer what is going to land
      conflicts       Show which branches will not merge with each other
      review          Let an agent review a pull request
      review-check    Show pull requests with open reviews, and whether their agents were told

    Look:
      explain         Explain the state of a session: what was seen, which rule won, what to do
      why             Say in one line why a session is in its state
      plan            Show what runs, what would run next, and why the rest waits
      advise          Say what matters now and why, the most pressing first
      budget          Show what is spent of each budget, and which accounts a provider refuses
      logs            Show what the agent of a session has put out
      events          Follow what happens, or look after the event log: export, check, back up, prune
      open            Open a session in the dashboard

    Projects and configuration:
      add-project     Add a repository as a project
      remove-project  Stop looking after a repository; nothing of it is deleted
      trust-project   Confirm what was changed in a repository while agents were at work
      config          Check, show and change the configuration
      config-help     Tell what can be said in the configuration
      plugin          Show the slots and what can fill them

    Reactions:
      reactions       Show what is done when something happens, and try it without doing it
      emit            Tell of an event of your own, and have done what is configured for it
      simulate        Show what a configuration would do, with recorded or made-up events
      hooks           See which hooks there are, read what they said, and try them
      notify          See and try the channels by which people are told

    Care:
      doctor          Look for what is missing or wrong on this machine
      verify          Compare what ao believes with what is there

    For programs:
      api             Call the daemon's HTTP interface, signed in as you
      completion      Print the completion script for a shell
      man             Print a page of the manual, or write all pages to a folder

    Options for all commands:
          --data-dir <DIR>  Where ao keeps its event log and all else it remembers [default:
                            ~/.local/share/ao, or under $XDG_DATA_HOME] [env: AO_DATA_DIR]
          --config <FILE>   The configuration file [default: the next one upwards from here, then your
                            own] [env: AO_CONFIG]
          --json            Print JSON, in a shape that stays
          --color <WHEN>    Whether to use colours; NO_COLOR and CLICOLOR_FORCE are heard too [possible
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
    Follow what happens, or look after the event log: export, check, back up, prune

    Without a further word it tells what happened, one event a line: its number, your local time, the
    session and what it did, in words. `--json` has the events as the log has them, for programs. The
    words below work on the log itself, with or without a daemon.

    Usage: ao events [OPTIONS]
           ao events <COMMAND>

    Commands:
      export  Write events to stdout as JSON, one a line, oldest first
      check   Look for faults in the event log
      backup  Copy the event log to a new file, and check the copy
      prune   Remove old events that are no longer needed to start
      help    Print this message or the help of the given subcommand(s)

    Options:
      -f, --follow
              Go on showing what happens; Ctrl-C ends it

      -s, --session <SESSION>
              Only what concerns this session

          --after <N>
              Begin behind this event's number [default: the latest 50, or with -f what is to come]

      -h, --help
              Print help (see a summary with '-h')

    Options for all commands:
          --data-dir <DIR>
              Where ao keeps its event log and all else it remembers [default: ~/.local/share/ao, or
              under $XDG_DATA_HOME]

              [env: AO_DATA_DIR]

          --config <FILE>
              The configuration file [default: the next one upwards from here, then your own]

              [env: AO_CONFIG]

          --json
              Print JSON, in a shape that stays

          --color <WHEN>
              Whether to use colours; NO_COLOR and CLICOLOR_FORCE are heard too

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
    Write events to stdout as JSON, one a line, oldest first

    It can be used while ao runs, and ends where the log ended when it began. Events that cannot be read
    are left out and counted; then it exits with an error after the last line. Without a range, the
    documents that ao keeps beside the log, such as local issues and pull requests, follow behind the
    last event, one a line, each with its `shelf` and `key`.

    Usage: ao events export [OPTIONS]

    Options:
          --from <N>
              The first event's number

          --to <N>
              The last event's number

      -h, --help
              Print help (see a summary with '-h')

    Options for all commands:
          --data-dir <DIR>
              Where ao keeps its event log and all else it remembers [default: ~/.local/share/ao, or
              under $XDG_DATA_HOME]

              [env: AO_DATA_DIR]

          --config <FILE>
              The configuration file [default: the next one upwards from here, then your own]

              [env: AO_CONFIG]

          --json
              Print JSON, in a shape that stays

          --color <WHEN>
              Whether to use colours; NO_COLOR and CLICOLOR_FORCE are heard too

              [possible values: auto, always, never]

    Examples:
      ao events export > events.ndjson
      ao events export --from 1000 | jq -r .kind | sort | uniq -c
    ");
    assert_snapshot!(home.run(&["demo", "--help"]), @"
    exit 0
    -- stdout --
    See six issues become merges at once, on a throw-away repository

    Six agents work in worktrees and terminals of their own: one change merges as it is, one has a red
    check and repairs it, one is asked for more by a reviewer, one runs into a conflict and rebases, one
    has a flaky check that wakes nobody, and one touches a protected path and waits for you. Needs git,
    and neither an account nor a network. All of it happens in a temporary directory, with a daemon of
    its own, and is gone afterwards.

    Usage: ao demo [OPTIONS]

    Options:
      -y, --yes
              Let the change through that waits for you, without asking

          --keep
              Leave everything that was made, with the daemon, and say how to look around and how to
              remove it

          --agent <NAME>
              Let this agent do the work instead of a script

          --fast
              Let the scripted agents do their work without pauses

      -h, --help
              Print help (see a summary with '-h')

    Options for all commands:
          --data-dir <DIR>
              Where ao keeps its event log and all else it remembers [default: ~/.local/share/ao, or
              under $XDG_DATA_HOME]

              [env: AO_DATA_DIR]

          --config <FILE>
              The configuration file [default: the next one upwards from here, then your own]

              [env: AO_CONFIG]

          --json
              Print JSON, in a shape that stays

          --color <WHEN>
              Whether to use colours; NO_COLOR and CLICOLOR_FORCE are heard too

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
