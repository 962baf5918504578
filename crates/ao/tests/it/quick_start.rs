//! The quick start, run line by line as it is written, by a new user whose agent is Claude Code.
//!
//! The agent is a stand-in that behaves as `claude -p` does: its prompt is an argument, it waits for a stdin that is left open, it
//! keeps its conversations in files of its own, knows no conversation that it has not had, reports as JSON, and ends with 0.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::documents::blocks;
use crate::fleet::git;
use crate::house::{House, Ran};

const PAGE: &str = include_str!("../../../../docs/quick-start.md");

const CLAUDE: &str = r#"#!/bin/sh
id=
resumes=
before=
for arg; do
    case "$before" in
        --session-id) id=$arg ;;
        --resume) id=$arg resumes=yes ;;
    esac
    before=$arg
done
prompt=$before
timeout 3 cat > /dev/null || echo "stdin was left open" >> "$HOME/complaints"
kept="$HOME/.claude/projects/$(pwd | tr -c 'A-Za-z0-9\n' '-')"
mkdir -p "$kept"
if [ "$resumes" ] && ! [ -e "$kept/$id.jsonl" ]; then
    echo "No conversation found with session ID: $id" >&2
    exit 1
fi
echo "$prompt" >> "$kept/$id.jsonl"
says() { echo '{"type":"assistant","message":{"content":[{"type":"text","text":"'"$1"'"}]}}'; }
echo '{"type":"system","subtype":"init","session_id":"'"$id"'"}'
says "I look at it."
case "$prompt" in
    *"You are the orchestrator"*) says "I am here." && exit 0 ;;
    *README*)
        echo "$id resumes=$resumes" >> "$HOME/turns"
        echo 'Usage: sh greet.sh [NAME]' > README.md
        git add README.md && git commit -qm "Say how it is used" && git push -q ;;
    *)
        echo "$id resumes=$resumes" >> "$HOME/turns"
        printf '#!/bin/sh\necho "Hello, ${1:-world}!"\n' > greet.sh
        git commit -qam "Greet people by name" && git push -q && ao pr create > /dev/null ;;
esac || { echo "The work could not be done" >> "$HOME/complaints"; exit 1; }
says "It is done."
"#;

/// What the page and the stand-in run, on a machine that has nothing else.
const PROGRAMS: [&str; 12] =
    ["git", "sh", "make", "grep", "cat", "tr", "mkdir", "timeout", "sleep", "env", "ps", "tail"];

/// The lines that the page tells its reader to type.
fn lines() -> Vec<&'static str> {
    let typed = blocks(PAGE, "console").into_iter().flat_map(str::lines);
    typed.map(|line| line.strip_prefix("$ ").unwrap_or_else(|| panic!("no command: {line}"))).collect()
}

struct NewUser {
    house: House,
    path: String,
    folder: PathBuf,
}

impl NewUser {
    fn new(has_tmux: bool) -> NewUser {
        let house = House::bare();
        let bin = house.path("bin");
        fs::create_dir(&bin).unwrap();
        symlink(env!("CARGO_BIN_EXE_ao"), bin.join("ao")).unwrap();
        fs::write(bin.join("claude"), CLAUDE).unwrap();
        fs::set_permissions(bin.join("claude"), fs::Permissions::from_mode(0o755)).unwrap();
        let all = std::env::var("PATH").unwrap();
        let found = |program: &str| {
            let mut places = std::env::split_paths(&all).map(|folder| folder.join(program));
            places.find(|file| file.is_file()).unwrap_or_else(|| panic!("{program} is needed for this test"))
        };
        for program in PROGRAMS.into_iter().chain(has_tmux.then_some("tmux")) {
            symlink(found(program), bin.join(program)).unwrap();
        }
        NewUser { path: bin.display().to_string(), folder: house.path(""), house }
    }

    /// Types a line, wherever the lines before it have led.
    fn types(&mut self, line: &str) -> Ran {
        let left = self.house.path("tmp/left-in");
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{line}\ncode=$?; pwd > '{}'; exit $code", left.display())]);
        self.house.surround(&mut command);
        command.env("PATH", &self.path).current_dir(&self.folder).stdin(Stdio::null());
        let ran = Ran::of(command.output().unwrap());
        self.folder = fs::read_to_string(left).unwrap().trim().into();
        ran
    }

    fn said(&self, file: &str) -> String {
        fs::read_to_string(self.house.path(file)).unwrap_or_default()
    }
}

/// The page asks for a port that others of this machine may use; a file of the user's own says another one.
fn use_free_port(repository: &Path) {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    fs::write(repository.join("agent-orchestrator.local.yaml"), format!("port: {port}\n")).unwrap();
}

fn quick_start(has_tmux: bool) {
    let begun = Instant::now();
    let mut user = NewUser::new(has_tmux);
    for line in lines() {
        if line == "ao start" {
            use_free_port(&user.folder);
        }
        let ran = user.types(line);
        let complaints = user.said("complaints");
        assert_eq!(ran.code, 0, "`{line}`\nstdout:\n{}\nstderr:\n{}\n{complaints}", ran.out, ran.err);
        match line {
            // The stand-in speaks no protocol.
            "ao start" => {
                let set = user.types("ao config set projects.hello.agentConfig.mode turns");
                assert_eq!(set.code, 0, "{}", set.err);
            }
            "ao pr list" => assert!(ran.out.contains("Greet people by name"), "{}", ran.out),
            "ao pr checks 1 --watch" => assert!(ran.out.contains("passed"), "{}", ran.out),
            "ao approve 1" => assert!(ran.out.contains("merged into main"), "{}", ran.out),
            _ => {}
        }
    }
    assert!(begun.elapsed() < Duration::from_secs(300), "five minutes, and it took {:?}", begun.elapsed());
    let landed = |file: &str| git(&user.folder, &["show", &format!("main:{file}")]);
    assert!(landed("greet.sh").contains("${1:-world}"), "{}", landed("greet.sh"));
    assert!(landed("README.md").contains("Usage"), "what was asked for in the review is in it");
    assert_eq!(user.said("complaints"), "");
    let turns = user.said("turns");
    let turns: Vec<&str> = turns.lines().collect();
    let [first, second] = turns[..] else { panic!("one turn for the issue, one for the review: {turns:?}") };
    assert_eq!(second, first.replace("resumes=", "resumes=yes"), "it is one conversation");
}

#[test]
fn the_quick_start_leads_from_nothing_to_a_merge() {
    quick_start(false);
}

#[test]
fn the_quick_start_leads_there_with_tmux_too() {
    quick_start(true);
}

/// Every kind of step that a first hour has is on the page, and so is tried above.
#[test]
fn the_quick_start_has_every_step() {
    let lines = lines();
    for step in [
        "git init",
        "ao start",
        ".checks ",
        "ao issue add",
        "ao spawn",
        "ao pr checks",
        "ao pr diff",
        "ao approve",
    ] {
        assert!(lines.iter().any(|line| line.contains(step)), "`{step}` is not typed");
    }
}
