//! Budgets and providers' limits, as those see them who pay.

use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::house::{House, until};

/// An agent by the line protocol whose every turn costs 60 cents.
const METER: &str = r#"
echo '{"ao":"idle"}'
turns=0
while read -r line; do
    case "$line" in *'"ao":"message"'*) ;; *) continue ;; esac
    delivery=$(printf '%s' "$line" | sed 's/.*"delivery":\([0-9]*\).*/\1/')
    text=$(printf '%s' "$line" | sed 's/.*"text":\("[^"]*"\).*/\1/')
    turns=$((turns + 1))
    echo "{\"ao\":\"taken\",\"delivery\":$delivery,\"text\":$text}"
    echo '{"ao":"working","doing":"it"}'
    echo "{\"ao\":\"spent\",\"micros\":$((turns * 600000)),\"turns\":$turns}"
    echo '{"ao":"idle"}'
done
"#;

/// The texts of all turns of a session but its task.
fn told(house: &House, session: &str) -> Vec<String> {
    house.turns(session).into_iter().skip(1).collect()
}

fn budget_of<'a>(status: &'a Value, scope: &str) -> &'a Value {
    let budgets = status["budgets"].as_array().expect("a session has budgets");
    budgets.iter().find(|budget| budget["scope"] == scope).unwrap_or_else(|| panic!("{scope}: {status}"))
}

/// acceptance: B2
#[test]
fn a_dollar_that_is_spent_in_a_turn_allows_no_further_turn_reaction_or_start_until_there_is_another() {
    let house = House::new();
    let meter = house.path("meter.sh");
    std::fs::write(&meter, METER).unwrap();
    let tool = format!("  meter: {{ program: sh, args: [\"{}\"] }}\n", meter.display());
    house.configure_project("    agent: meter\n    taskBudget: { usd: 1 }", &tool);
    house.start();
    house.ao(&["issue", "add", "Spend a dollar"]).succeeds();
    let first = house.ao(&["spawn", "1", "--prompt", "first", "--json"]).succeeds();
    let first = first.json()["session"]["name"].as_str().unwrap().to_owned();
    house.wait_for(&first, "idle");
    assert_eq!(house.status(&first)["spend"]["usd"], 0.6);
    house.ao(&["send", &first, "second"]).succeeds();
    house.wait_for(&first, "capped");
    house.ao(&["why", &first]).succeeds().says("the budget of my-app#1 is spent: cost $1.20 of $1.00");
    let status = house.status(&first);
    assert_eq!(budget_of(&status, "task")["spend"]["usd"], 1.2);
    assert_eq!(budget_of(&status, "task")["limits"]["usd"], 1.0);

    // No further turn.
    house.ao(&["send", &first, "third", "--no-wait"]).succeeds();
    // No further start: another session for the same issue gets no fresh dollar.
    house.ao(&["stop", &first]).succeeds();
    house.wait_for(&first, "stopped");
    let second = house.ao(&["spawn", "1", "--prompt", "fourth", "--json"]).succeeds().json();
    let second = second["session"]["name"].as_str().unwrap().to_owned();
    assert_eq!(house.state(&second), "capped");
    assert_eq!(house.status(&second)["attempt"], 0);
    assert_eq!(house.status(&first)["spend"]["turns"], 2);

    // What to type is said, and does it.
    house.ao(&["resume", &second]).exits(1).says(&format!("ao resume {second} --of task --usd 2.40"));
    house.ao(&["resume", &second, "--of", "task", "--usd", "2.40"]).succeeds();
    house.wait_for(&second, "idle");
}

/// acceptance: B2, B3
#[test]
fn a_capped_session_is_called_so_and_never_done_and_an_unknown_cost_is_unknown() {
    let house = House::new();
    house.configure_project("    budget: { turns: 1, usd: 5 }", "dailyBudget: { turns: 100 }\n");
    house.start();
    let session = house.session("Say hello", "[[say hello]]");
    house.wait_for(&session, "capped");
    house.ao(&["wait", &session, "--for", "idle", "--timeout", "60"]).exits(1).says("capped");
    house
        .ao(&["status", &session])
        .succeeds()
        .says("capped")
        .says("cost unknown")
        .says("1 of 1 turns; spent");
    let status = house.status(&session);
    assert_eq!(status["status"]["state"], "capped");
    assert_eq!(status["spend"]["usd"], Value::Null);
    assert_eq!(budget_of(&status, "session")["capped"], "its budget is spent: turns 1 of 1");

    let shown = house.ao(&["budget"]).succeeds().says("all, today").says("unknown").says("1 of 100");
    assert!(!shown.out.contains("$0"), "{}", shown.out);
    let budgets = house.ao(&["budget", "--json"]).succeeds().json();
    let day = budgets["budgets"].as_array().unwrap().iter().find(|it| it["scope"] == "day").unwrap().clone();
    assert_eq!((&day["spend"]["usd"], &day["spend"]["turns"]), (&Value::Null, &Value::from(1)));

    house.ao(&["resume", &session]).exits(1).says(&format!("ao resume {session} --turns 2"));
    house.ao(&["resume", &session, "--turns", "2"]).succeeds();
    house.wait_for(&session, "idle");
}

/// So many seconds from now, as the agent's screen tells it.
pub(crate) fn clock(seconds: u64) -> String {
    let then = SystemTime::now() + Duration::from_secs(seconds);
    let then = jiff::Timestamp::try_from(then).unwrap().to_zoned(jiff::tz::TimeZone::system());
    then.strftime("%H:%M:%S").to_string()
}

/// acceptance: B1
#[test]
fn a_providers_limit_holds_its_account_until_the_reset_and_then_the_same_session_goes_on() {
    let house = House::with("lifecycle: { lookAfter: 1s }\n");
    house.start();
    let limited = house.session("Fix it", &format!("[[limit {}]]", clock(12)));
    house.wait_for(&limited, "rate_limited");
    let second = house.session("Another", "[[say hello]]");
    let stopped = house.session("A third", "[[say hello]]");
    assert_eq!(
        (house.state(&second).as_str(), &house.status(&second)["attempt"]),
        ("rate_limited", &Value::from(0))
    );
    house.ao(&["why", &second]).succeeds().says("the provider's limit for `scripted` holds until");
    house.ao(&["budget"]).succeeds().says("The provider's limit of scripted holds for");
    let budgets = house.ao(&["budget", "--json"]).succeeds().json();
    assert_eq!(budgets["accounts"][0]["account"], "scripted");
    assert_eq!(budgets["accounts"][0]["sessions"].as_array().unwrap().len(), 3);
    // Whoever is stopped meanwhile stays so.
    house.ao(&["stop", &stopped]).succeeds();

    house.wait_for(&second, "idle");
    until("the agent whose turn was cut short is told to go on", || {
        told(&house, &limited) == ["The provider's limit is over. Go on where you were stopped."]
    });
    house.wait_for(&limited, "idle");
    assert_eq!(house.status(&limited)["attempt"], 1, "it is the same process");
    assert_eq!((house.state(&stopped).as_str(), house.turns(&stopped).len()), ("stopped", 0));
}

/// acceptance: B1, L4
#[test]
fn after_a_limit_nobody_goes_on_unasked_if_that_is_switched_off_or_the_work_is_done() {
    let house = House::with("lifecycle: { lookAfter: 1s, auto_resume: false }\n");
    house.start();
    let session = house.session("Fix it", &format!("[[limit {}]]", clock(6)));
    house.wait_for(&session, "rate_limited");
    house.wait_for(&session, "paused");
    house.ao(&["why", &session]).succeeds().says("autoResume is off");
    assert_eq!(told(&house, &session), Vec::<String>::new());
    house.ao(&["resume", &session]).succeeds();
    house.wait_for(&session, "idle");

    // The same for work that somebody else has done meanwhile.
    house.configure("lifecycle: { lookAfter: 1s }\n");
    house.ao(&["issue", "add", "Broken", "--json"]).succeeds();
    let prompt = format!("[[limit {}]]", clock(14));
    let spawned = house.ao(&["spawn", "1", "--prompt", &prompt, "--json"]).succeeds().json();
    let wanted = spawned["session"]["name"].as_str().unwrap().to_owned();
    house.wait_for(&wanted, "rate_limited");
    house.ao(&["issue", "close", "1"]).succeeds();
    house.wait_for(&wanted, "paused");
    house.ao(&["why", &wanted]).succeeds().says("my-app#1 is closed");
    house.ao(&["stop", &wanted]).succeeds();
    house.wait_for(&wanted, "stopped");
    house.ao(&["session", "restore", &wanted]).exits(1).says("my-app#1 is closed");
}
