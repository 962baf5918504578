//! Asks of agents by their ids: listed, shown whole, and each answered once, also by a daemon that was killed meanwhile.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::house::{House, Ran, until};

/// An agent by the line protocol. It asks as its messages tell it to, writes down each answer that it gets, and goes on when
/// all of its asks are answered.
const ASKER: &str = r#"
options='[{"id":"allow","label":"Yes","kind":"allow_once"},{"id":"allow_always","label":"Yes, always","kind":"allow_always"},{"id":"deny","label":"No","kind":"reject_once"}]'
permission() {
    printf '{"ao":"asking","ask":"%s","question":"Bash: make %s","details":[{"tool":{"name":"Bash"}},{"command":{"command":"make %s"}}],"options":%s}\n' "$1" "$1" "$1" "$options"
    open=$((open + 1))
}
diff() {
    awk -v options="$options" 'BEGIN {
        printf "{\"ao\":\"asking\",\"ask\":\"big\",\"question\":\"Write: big.txt\",\"details\":[{\"diff\":{\"path\":\"big.txt\",\"diff\":\""
        for (i = 0; i < 40000; i++) printf "+this is line %05d of many\\n", i
        printf "\"}}],\"options\":%s}\n", options
    }'
    open=$((open + 1))
}
open=0
echo '{"ao":"idle"}'
while read -r line; do
    case "$line" in
    *'"ao":"message"'*)
        delivery=$(printf '%s' "$line" | sed 's/.*"delivery":\([0-9]*\).*/\1/')
        text=$(printf '%s' "$line" | sed 's/.*"text":"\([^"]*\)".*/\1/')
        echo "{\"ao\":\"taken\",\"delivery\":$delivery,\"text\":\"$text\"}"
        echo '{"ao":"working"}'
        for word in $text; do
            case "$word" in
            diff) diff ;;
            ask-*) permission "$word" ;;
            esac
        done ;;
    *'"ao":"answer"'*)
        ask=$(printf '%s' "$line" | sed 's/.*"ask":"\([^"]*\)".*/\1/')
        option=$(printf '%s' "$line" | sed 's/.*"option":"\([^"]*\)".*/\1/')
        echo "$ask $option" >> "$ANSWERS"
        echo "{\"ao\":\"ask_closed\",\"ask\":\"$ask\"}"
        open=$((open - 1)) ;;
    esac
    [ "$open" -gt 0 ] || echo '{"ao":"idle"}'
done
"#;

struct Asker {
    house: House,
}

impl Asker {
    fn new() -> Asker {
        let house = House::new();
        let (script, answers) = (house.path("asker.sh"), house.path("answers"));
        fs::write(&script, ASKER).unwrap();
        let (script, answers) = (script.display(), answers.display());
        let tool =
            format!("  asker: {{ program: sh, args: [\"{script}\"], env: {{ ANSWERS: \"{answers}\" }} }}\n");
        house.configure_project("    agent: asker", &tool);
        house.start();
        Asker { house }
    }

    /// The answers that the agent got, in order.
    fn answers(&self) -> Vec<String> {
        let text = fs::read_to_string(self.house.path("answers")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn asks(&self) -> Vec<Value> {
        self.house.ao(&["asks", "--json"]).succeeds().json()["asks"].as_array().unwrap().clone()
    }

    fn until_asked(&self, most: usize) {
        until("it asks", || self.asks().len() == most);
    }

    fn kill_daemon(&self) {
        kill_process(Pid::from_raw(self.house.daemon_pid()).unwrap(), Signal::KILL).unwrap();
    }
}

#[test]
fn several_asks_are_listed_and_each_answer_reaches_its_own() {
    let asker = Asker::new();
    let house = &asker.house;
    house.ao(&["asks"]).succeeds().says("no agent asks anything");
    let session = house.session("Ask", "ask-a and ask-b");
    asker.until_asked(2);
    let listed = house.ao(&["asks", &session]).succeeds();
    for text in ["ask 1", "ask 2", "make ask-a", "make ask-b", "allow_always", "--ask 1"] {
        assert!(listed.out.contains(text), "{text}: {}", listed.out);
    }
    // What is unclear is refused, with the way out.
    house.ao(&["answer", &session, "yes"]).exits(1).says("asks several things").says("--ask 1");
    house.ao(&["answer", &session]).exits(2).says("OPTION");
    house.ao(&["answer", &session, "perhaps", "--ask", "1"]).exits(1).says("`allow`, `allow_always`, `deny`");
    house.ao(&["answer", &session, "yes", "--ask", "nothing"]).exits(5).says("2 (`ask-b`)");
    house.ao(&["answer", &session, "no", "--always", "--ask", "1"]).exits(1).says("`deny`");

    house.ao(&["answer", &session, "--always", "--ask", "1"]).succeeds();
    house.ao(&["answer", &session, "no", "--ask", "ask-b"]).succeeds();
    until("both are given", || asker.answers().len() == 2);
    assert_eq!(asker.answers(), ["ask-a allow_always", "ask-b deny"]);
    house.wait_for(&session, "idle");
    assert_eq!(asker.asks(), [Value::Null; 0]);
    let late = house.ao(&["answer", &session, "no", "--ask", "ask-a"]).exits(1);
    assert!(
        late.err.contains("has already answered question 1") && late.err.contains("allow_always"),
        "{late:?}"
    );
    let events = house.ao(&["events", "export"]).succeeds();
    for kind in ["session.asked", "session.answering", "session.answered"] {
        assert!(events.out.contains(kind), "{kind}: {}", events.out);
    }
    assert_eq!(asker.answers().len(), 2);
}

#[test]
fn a_diff_of_a_megabyte_is_stored_once_shown_in_part_and_shown_whole() {
    let asker = Asker::new();
    let house = &asker.house;
    let session = house.session("Write", "get ready");
    house.wait_for(&session, "idle");
    let before = resident_kb(house);
    house.ao(&["send", &session, "diff"]).succeeds();
    asker.until_asked(1);
    let listed = house.ao(&["asks"]).succeeds().says("shows all of it");
    assert!(listed.out.contains("+this is line 00000 of many") && listed.out.len() < 4000, "{}", listed.out);
    let shown = house.status(&session).to_string();
    assert!(shown.len() < 20_000, "{}", shown.len());
    let grown = resident_kb(house).saturating_sub(before);
    assert!(grown < 16_000, "the daemon has grown by {grown} kB");

    // A daemon that starts anew reads the whole request again.
    asker.kill_daemon();
    house.ao(&["start"]).succeeds();
    for ask in ["1", "big"] {
        let whole = house.ao(&["asks", &session, "--ask", ask]).succeeds();
        assert!(whole.out.contains("+this is line 39999 of many"), "{} bytes", whole.out.len());
        assert!(!whole.out.contains("shortened"));
        assert_eq!(whole.out.lines().filter(|line| line.contains("+this is line ")).count(), 40_000);
    }
    let stored: Vec<_> = walk(&house.path("data/asks"));
    assert_eq!(stored.len(), 1, "{stored:?}");
    house.ao(&["answer", &session, "yes"]).succeeds();
    until("it is given", || asker.answers() == ["big allow"]);
    house.wait_for(&session, "idle");
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

fn resident_kb(house: &House) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", house.daemon_pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_daemon_that_is_killed_with_an_ask_open_gives_each_answer_once() {
    const ROUNDS: u64 = 12;
    let asker = Asker::new();
    let house = &asker.house;
    let session = house.session("Ask", "get ready");
    house.wait_for(&session, "idle");
    for round in 1..=ROUNDS {
        let ask = format!("ask-{round}");
        house.ao(&["send", &session, &format!("now {ask}"), "--no-wait"]).succeeds();
        asker.until_asked(1);
        let number = asker.asks()[0]["ask"]["number"].clone();
        let mut answering = match round % 3 {
            // Killed with the ask open, and answered after.
            0 => None,
            // Killed while the answer is stored and given, sooner or later.
            _ => {
                let mut answer =
                    house.command(&house.repository(), &["answer", &session, "yes", "--ask", &ask]);
                Some(answer.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
            }
        };
        thread::sleep(Duration::from_millis(round * 7 % 60));
        asker.kill_daemon();
        let first = answering.take().map(|child| Ran::of(child.wait_with_output().unwrap()));
        house.ao(&["start"]).succeeds();
        // A person looks, and answers what is still asked. An answer that was stored is given without that.
        let open = asker.asks();
        if let [open] = &open[..] {
            assert_eq!((&open["ask"]["id"], &open["ask"]["number"]), (&Value::from(ask.clone()), &number));
            let again = house.ao(&["answer", &session, "yes", "--ask", &ask]);
            let taken = again.code == 0;
            let known = again.err.contains("already answered") || again.err.contains("withdrawn");
            assert!(taken || known, "{again:?}");
        } else {
            assert!(first.is_some(), "an ask is lost in round {round}");
        }
        until("it is given", || asker.answers().len() as u64 >= round);
        house.wait_for(&session, "idle");
    }
    let expected: Vec<String> = (1..=ROUNDS).map(|round| format!("ask-{round} allow")).collect();
    assert_eq!(asker.answers(), expected);
}
