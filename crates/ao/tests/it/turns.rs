//! Agents that run a turn at a time: what their end means, and what becomes of a turn that did not get there.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::house::{House, Ran, until};

const STAND_IN: &str = include_str!("../fixtures/stand-in.sh");

/// A home in which these programs are on the path.
struct Machine {
    house: House,
}

impl Machine {
    fn new(programs: &[&str]) -> Machine {
        let house = House::new();
        house.configure_project("    agent: claude-code\n    agentConfig: { mode: turns }", "");
        let bin = house.path("bin");
        fs::create_dir(&bin).unwrap();
        for program in programs {
            let script = STAND_IN.replace("$AO_FULL_PATH", env!("CARGO_BIN_EXE_ao"));
            fs::write(bin.join(program), script).unwrap();
            fs::set_permissions(bin.join(program), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let machine = Machine { house };
        machine.ao(&["start", "--port", "0"]).succeeds();
        machine
    }

    fn ao(&self, args: &[&str]) -> Ran {
        let mut command = self.house.command(&self.house.repository(), args);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.house.path("bin").display()));
        Ran::of(command.output().unwrap())
    }

    fn spawn(&self, name: &str, agent: &str, prompt: &str) {
        self.ao(&["new", name, "--name", name, "--agent", agent, "--prompt", prompt]).succeeds();
    }

    /// What the agent was told, run by run.
    fn prompts(&self, name: &str) -> Vec<String> {
        let id = self.house.status(name)["id"].as_str().unwrap().to_owned();
        let folder = self.house.path("stand-in/prompts");
        let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let own = files.iter().filter(|file| file.file_name().unwrap().to_str().unwrap().starts_with(&id));
        own.map(|file| fs::read_to_string(file).unwrap().trim().to_owned()).collect()
    }

    fn reason(&self, name: &str) -> String {
        self.house.status(name)["status"]["reason"].as_str().unwrap().to_owned()
    }
}

/// acceptance: J10
#[test]
fn a_turn_that_ended_well_is_idle_with_its_result_and_can_still_be_merged() {
    let machine = Machine::new(&["claude"]);
    machine.spawn("a", "claude-code", "Do it");
    machine.house.wait_for("a", "idle");
    until("its last words are there", || machine.reason("a").contains("It is done."));
    machine.ao(&["status"]).succeeds();
    let told = machine.ao(&["session", "restore", "a"]).exits(1);
    assert!(told.err.contains("ao send"), "{}", told.err);
    // Its change may still be merged, so that is waited for.
    machine.ao(&["wait", "a", "--for", "merged", "--timeout", "1"]).exits(8);
    // And the next message goes to the same conversation.
    machine.ao(&["send", "a", "One more thing"]).succeeds();
    until("it has heard it", || machine.prompts("a").len() == 2);
    machine.house.wait_for("a", "idle");
    assert_eq!(machine.prompts("a")[1], "One more thing");
    assert_eq!(fs::read_dir(machine.house.path("stand-in/conversations")).unwrap().count(), 1);
}

/// The log is words for people, whatever the agent prints for programs.
#[test]
fn the_log_of_a_turn_is_in_words() {
    let machine = Machine::new(&["codex"]);
    machine.spawn("a", "codex", "Do it");
    machine.house.wait_for("a", "idle");
    let log = machine.ao(&["logs", "a"]).succeeds().out;
    assert!(log.contains("begun\n") && log.contains("a word on stderr\n"), "{log}");
    assert!(log.contains("It is done.") && !log.contains("agent_message"), "{log}");
}

/// Starting is no proof, and neither is dying.
#[test]
fn the_task_outlives_failed_starts_and_cut_turns() {
    let machine = Machine::new(&["claude", "codex", "aider"]);
    machine.spawn("a", "claude-code", "Do [[fail 2]]");
    machine.spawn("b", "codex", "Do [[die]]");
    machine.spawn("c", "aider", "Do [[die]]");
    for name in ["a", "b", "c"] {
        machine.house.wait_for(name, "idle");
    }
    for name in ["a", "b"] {
        until("its last words are there", || machine.reason(name).contains("It is done."));
    }
    // Nothing was taken, so it is all said again; once more because no conversation was begun that could be resumed.
    assert_eq!(machine.prompts("a"), ["Do [[fail 2]]"; 4]);
    let again = "Your last turn was cut off before its end. See what is done already, and go on.";
    assert_eq!(machine.prompts("b"), ["Do [[die]]", again], "its conversation knows the task");
    assert_eq!(machine.prompts("c"), ["Do [[die]]"; 2], "it forgets, so it hears all of it again");
}

/// acceptance: B1
#[test]
fn a_limit_that_ends_a_turn_is_waited_for_and_the_turn_goes_on() {
    let machine = Machine::new(&["claude"]);
    machine.spawn("a", "claude-code", "Do [[limit]]");
    machine.house.wait_for("a", "rate_limited");
    machine.house.wait_for("a", "idle");
    let over = "The provider's limit is over. Go on where you were stopped.";
    assert_eq!(machine.prompts("a"), ["Do [[limit]]", over]);
}

/// An agent that reports in plain text may quote anything.
///
/// acceptance: B1
#[test]
fn a_limit_in_plain_text_counts_only_if_it_ends_the_turn() {
    let machine = Machine::new(&["aider"]);
    machine.spawn("a", "aider", "Write [[quote]]");
    machine.house.wait_for("a", "idle");
    machine.spawn("b", "aider", "Do [[limit]]");
    machine.house.wait_for("b", "rate_limited");
}

/// acceptance: L2
#[test]
fn a_conversation_that_is_gone_is_begun_anew_and_that_is_said() {
    for (agent, program) in [
        ("claude-code", "claude"),
        ("codex", "codex"),
        ("opencode", "opencode"),
        ("gemini", "gemini"),
        ("qwen", "qwen"),
    ] {
        let machine = Machine::new(&[program]);
        machine.spawn("a", agent, "Do it");
        machine.house.wait_for("a", "idle");
        fs::remove_dir_all(machine.house.path("stand-in/conversations")).unwrap();
        machine.ao(&["send", "a", "One more thing"]).succeeds();
        until(agent, || machine.prompts("a").len() >= 3);
        machine.house.wait_for("a", "idle");
        // Its change is proposed by then, so it is told where it stands and not its task once more.
        let told = &machine.prompts("a")[2];
        let stands = told.contains("is proposed already: my-app!1") && told.ends_with("\n\nOne more thing");
        assert!(stands && !told.contains("Do it"), "{agent}: {told}");
        machine.ao(&["events", "--json"]).succeeds().says("starts afresh with the task");
    }
}

/// A process that merely runs is no claim of work.
///
/// acceptance: S1
#[test]
fn an_agent_that_hangs_leaves_working_within_a_minute_and_says_why() {
    let machine = Machine::new(&["claude"]);
    machine.spawn("a", "claude-code", "Do [[hang]]");
    machine.house.wait_for("a", "working");
    let waited = ["wait", "a", "--for", "unknown", "--timeout", "60"];
    machine.ao(&waited).succeeds().says("no sign of work for a while");
}

/// A paid turn is not spent unless somebody wants it.
#[test]
fn no_orchestrator_that_ends_with_each_turn_is_started_unless_it_is_configured() {
    let house = House::new();
    let config = fs::read_to_string(house.config_file()).unwrap();
    let config = config.replace("agent: scripted", "agent: claude-code");
    let unset = config.replace("orchestrator: { enabled: false }\n", "");
    fs::write(house.config_file(), &unset).unwrap();
    let started = house.ao(&["start", "--port", "0", "--json"]).succeeds().json();
    assert!(started["orchestrator"].is_null(), "{started}");
    let listed = house.ao(&["list", "--json"]).succeeds().json();
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(0), "{listed}");
}
