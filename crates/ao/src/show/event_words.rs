//! Describes events for people.

use serde_json::Value;

use super::words::{short_commit, shorten};

/// Maximum length of a quoted text in a line.
const QUOTED: usize = 100;

/// Describes an event; nothing for a kind that this version does not know.
pub(super) fn describe(kind: &str, data: &Value) -> Option<String> {
    let (aggregate, word) = kind.split_once('.')?;
    let body = data.get("body").unwrap_or(data);
    // The events of an incident come with its subject.
    let (body, about) = match body.as_array() {
        Some(both) => (both.first()?, both.get(1)),
        None => (body, None),
    };
    let it = EventFields(body.get(word).unwrap_or(body));
    match aggregate {
        "session" => session(word, it),
        "pull" => pull(word, it),
        "queue" => queue(word, it),
        "incident" => incident(word, it, EventFields(about.unwrap_or(&Value::Null))),
        "notice" => notice(word, it),
        "job" => job(word, it),
        "project" => project(word, it),
        "budget" => budget(word, it),
        "task" => task(word, it),
        "account" => account(word, it),
        "host" => host(word, it),
        _ => None,
    }
}

/// The fields of an event, as text.
#[derive(Debug, Clone, Copy)]
struct EventFields<'a>(&'a Value);

impl<'a> EventFields<'a> {
    fn at(self, path: &str) -> &'a Value {
        path.split('.').fold(self.0, |value, name| value.get(name).unwrap_or(&Value::Null))
    }

    fn has(self, path: &str) -> bool {
        !self.at(path).is_null()
    }

    fn is(self, path: &str) -> bool {
        self.at(path) == &Value::Bool(true)
    }

    /// Returns a field as text: without underscores, lists with commas.
    fn text(self, path: &str) -> String {
        plain(self.at(path))
    }

    /// Returns a quoted text in one short line.
    fn quoted(self, path: &str) -> String {
        let text = self.text(path);
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("“{}”", shorten(&line, QUOTED))
    }

    /// Returns the name of an enum's variant, and its fields.
    fn variant(self, path: &str) -> (&'a str, EventFields<'a>) {
        const NONE: EventFields<'static> = EventFields(&Value::Null);
        match self.at(path) {
            Value::String(name) => (name.as_str(), NONE),
            Value::Object(fields) => {
                fields.iter().next().map_or(("", NONE), |(name, fields)| (name.as_str(), EventFields(fields)))
            }
            _ => ("", NONE),
        }
    }

    /// Appends the reason.
    fn because(self, what: &str) -> String {
        match self.text("why") {
            why if why.is_empty() => what.to_owned(),
            why => format!("{what}: {why}"),
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let named = fields.iter().map(|(name, value)| format!("{name} {}", plain(value)));
            named.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

fn session(word: &str, it: EventFields<'_>) -> Option<String> {
    Some(match word {
        "queued" => format!("is in the queue: {}", it.quoted("spec.title")),
        "admitted" => "has a slot".into(),
        "ports_leased" => format!("got other ports, because {} was in use", it.text("refused")),
        "workspace_ready" => format!("has its workspace in {}", it.text("path")),
        "workspace_set_up" => "has its workspace set up".into(),
        "workspace_failed" => it.because("its workspace could not be created"),
        "setup_failed" => it.because("its workspace could not be set up"),
        "launching" if it.is("resume") => {
            format!("is restarted with its conversation (attempt {})", it.text("attempt"))
        }
        "launching" => format!("is being started (attempt {})", it.text("attempt")),
        "launched" => "runs".into(),
        "launch_failed" => it.because("could not be started; retrying"),
        "conversation_seen" => "has its own conversation".into(),
        "conversation_gone" => "lost its conversation and starts over with its task".into(),
        "signal_seen" => signal(it),
        "rejudged" => "its state was derived again".into(),
        "look_wanted" => "will be checked".into(),
        "looked" => "was looked at".into(),
        "look_failed" => it.because("could not be checked"),
        "drifted" => format!("its workspace has drifted: {}", it.text("what")),
        "drift_ended" => "its workspace is back in place".into(),
        "tree_lost" => {
            format!("its workspace {} was deleted; it is recreated from its branch", it.text("path"))
        }
        "checkout_changed" if it.has("checked_out.branch") => {
            format!("is on branch {}", it.text("checked_out.branch"))
        }
        "checkout_changed" => "is on no branch".into(),
        "asked" => format!("asks (question {}): {}", it.text("open.number"), it.quoted("open.ask.title")),
        "dialog_described" => format!("its hook reports the subject of {}", it.quoted("subject.question")),
        "ask_closed" => "its question was closed without an answer of ours".into(),
        "cancelling" => format!("its turn is being cancelled: {}", it.text("cancel.why")),
        "turn_cancelled" if it.is("cut") => "its turn was cancelled".into(),
        "turn_cancelled" => "its turn had ended by itself".into(),
        "answering" => format!("is answered by {}: {}", it.text("answer.by"), it.quoted("answer.text")),
        "answered" => "received its answer".into(),
        "not_answered" => it.because("did not receive its answer"),
        "stopping" if it.has("then.outcome") => format!("is being stopped: {}", outcome(it, "then.outcome")),
        "stopping" => format!("is being stopped: {}", it.text("then.why")),
        "stop_wanted" => format!("will be stopped: {}", outcome(it, "outcome")),
        "stop_failed" => it.because("could not be stopped; retrying"),
        "retrying" => it.because("will be restarted in a moment"),
        "exited" => it.because("has exited"),
        "ended" => format!("has ended: {}", outcome(it, "outcome")),
        "delay_over" => "is due for another attempt".into(),
        "requeued" => it.because("is in the queue again"),
        "message_queued" => format!("message {} waits: {}", it.text("message.no"), it.quoted("message.body")),
        "message_withdrawn" => format!("message {} was withdrawn: it no longer applies", it.text("no")),
        "messages_dropped" => it.because("its messages were not delivered"),
        "delivery_started" => "its messages are being delivered".into(),
        "written" => "a message was written; the agent has to accept it".into(),
        "delivery_paused" => it.because("delivery is deferred"),
        "delivery_retried" => "delivery is retried".into(),
        "accepted" => "accepted the message".into(),
        "taken_after_all" => "accepted a message that was given up".into(),
        "delivery_failed" => it.because("did not accept the message"),
        "waited_enough" => "no longer waits for a clashing session".into(),
        "cleared" => "may start: no hook refused it".into(),
        "held" => it.because("is held"),
        "released" => format!("is no longer held ({})", it.text("kind").replace('_', " ")),
        "resume_planned" => "continues when the provider's limit ends".into(),
        "lingered" => "has been idle for too long with unfinished work".into(),
        "spent" => spent(it, "spend"),
        "tool_denied" => format!("was not allowed to use {}", it.text("tool")),
        "rested" => it.because("rests"),
        "replied" => format!("replied: {}", it.quoted("text")),
        "turn_ended" => match it.variant("end") {
            ("failed", end) => end.because("its turn failed"),
            ("limited", _) => "its turn ended at its provider's limit".into(),
            ("cancelled", _) => "its turn was cancelled".into(),
            _ => "its turn is over".into(),
        },
        "plan_changed" => match it.at("steps").as_array().map_or(0, Vec::len) {
            1 => "has a plan of 1 step".into(),
            steps => format!("has a plan of {steps} steps"),
        },
        "budget_marked" => format!("its budget is nearly used up: {}", it.text("mark")),
        "limits_set" => "has new limits".into(),
        "pull_linked" => format!("owns {} now", it.text("pull")),
        "pull_unlinked" => format!("no longer owns {}", it.text("pull")),
        "removal_wanted" if it.is("discard") => "its workspace will be removed, with unsaved work".into(),
        "removal_wanted" => "its workspace will be removed, if no work is lost".into(),
        "removal_failed" => it.because("its workspace could not be removed; retrying"),
        "workspace_removed" if it.has("rescue") => {
            format!("its workspace was removed; its last state is in {}", it.text("rescue"))
        }
        "workspace_removed" => "its workspace was removed".into(),
        "workspace_kept" => format!("its workspace is kept: {}", it.text("reasons").replace('_', " ")),
        "archived" => "was dropped from memory; the log keeps it".into(),
        _ => return None,
    })
}

/// Describes a signal of an agent.
fn signal(it: EventFields<'_>) -> String {
    let (word, detail) = it.variant("signal.reading");
    let source = it.text("signal.source");
    let seen = match word {
        "started" => "has started".to_owned(),
        "working" if detail.text("doing").is_empty() => "works".to_owned(),
        "working" => format!("works: {}", detail.quoted("doing")),
        "idle" => "is at its prompt".to_owned(),
        "asking" => format!("asks {}", detail.quoted("question")),
        "blocked" => format!("cannot continue: {}", detail.quoted("on")),
        "logged_out" => "is logged out".to_owned(),
        "limited" => "reached its provider's limit".to_owned(),
        "alive" if detail.is("busy") => "is alive and busy".to_owned(),
        "alive" => "lives".to_owned(),
        "exited" if detail.has("code") => format!("has exited with {}", detail.text("code")),
        "exited" => "was ended by a signal".to_owned(),
        "human_typed" => "a person is typing".to_owned(),
        "unreadable" => detail.because("cannot be read"),
        other => other.replace('_', " "),
    };
    format!("{seen} ({source})")
}

fn outcome(it: EventFields<'_>, path: &str) -> String {
    let outcome = EventFields(it.at(path));
    match outcome.text("how").as_str() {
        "merged" => format!("its change was merged as {}", outcome.text("pull")),
        "stopped" => outcome.because(&format!("stopped by {}", outcome.text("by"))),
        how => how.replace('_', " "),
    }
}

fn spent(it: EventFields<'_>, path: &str) -> String {
    let spend = EventFields(it.at(path));
    let cost = match spend.at("micros").as_f64() {
        Some(micros) => format!("${:.2}", micros / 1e6),
        None => "cost unknown".to_owned(),
    };
    format!("has used {cost}, {} turns, {} s", spend.text("turns"), spend.text("seconds"))
}

fn pull(word: &str, it: EventFields<'_>) -> Option<String> {
    Some(match word {
        "opened" => format!("was opened by {}: {}", it.text("facts.author.login"), it.quoted("facts.title")),
        "seen" => "was looked at".into(),
        "retitled" => format!("is called {}", it.quoted("title")),
        "author_changed" => format!("is of {}", it.text("author.login")),
        "head_moved" => format!("has new commits, up to {}", short_commit(&it.text("head"))),
        "base_moved" => format!("its base is at {}", short_commit(&it.text("base"))),
        "branch_renamed" => format!("its branch is {}", it.text("branch")),
        "retargeted" => format!("targets the branch {}", it.text("branch")),
        "resized" => format!("adds {} lines and removes {}", it.text("size.added"), it.text("size.removed")),
        "scanned" => "its lines were scanned".into(),
        "draft_changed" if it.is("draft") => "is a draft".into(),
        "draft_changed" => "is ready for review".into(),
        "labels_changed" => format!("has the labels: {}", it.text("labels")),
        "mergeability_seen" => format!("merging it is {}", it.text("mergeable")),
        "check_reported" => {
            format!("check {}: {}", it.text("check.name"), it.variant("check.state").0.replace('_', " "))
        }
        "checks_configured" if it.is("none") => "has no checks to run".into(),
        "checks_configured" => "has checks to run".into(),
        "check_vanished" => format!("no longer has the check {}", it.text("check")),
        "review_given" => {
            format!("{} by {}", it.text("review.verdict").replace('_', " "), it.text("review.author.login"))
        }
        "review_withdrawn" => format!("the review {} was withdrawn", it.text("review")),
        "thread_seen" => format!("has the thread {}", it.text("thread")),
        "thread_resolved" => format!("the thread {} is resolved", it.text("thread")),
        "comment_seen" => {
            format!("{} says {}", it.text("comment.author.login"), it.quoted("comment.body"))
        }
        "comment_deleted" => format!("the comment {} was deleted", it.text("comment")),
        "claimed" => format!("{} owns it", it.text("session")),
        "released" => format!("{} no longer owns it", it.text("session")),
        "merged" => format!("was merged as {}", short_commit(&it.text("commit"))),
        "closed" => "was closed".into(),
        "reopened" => "was reopened".into(),
        _ => return None,
    })
}

fn queue(word: &str, it: EventFields<'_>) -> Option<String> {
    let pull = it.text("pull");
    Some(match word {
        "enqueued" => match it.text("request.by") {
            by if by.is_empty() => format!("{pull} is in the merge queue"),
            by => format!("{by} asked to merge {pull} at once"),
        },
        "cleared" => format!("{pull} may be merged: no hook refused it"),
        "reprioritized" => format!("{pull} has the priority {}", it.text("priority")),
        "base_moved" => format!("the base is at {}", short_commit(&it.text("base"))),
        "test_started" => format!("{pull} is being tested"),
        "test_passed" => format!("the result of {pull} is green"),
        "test_failed" => format!("the result of {pull} is red"),
        "land_started" => format!("{pull} is being merged"),
        "landed" => format!("{pull} was merged as {}", short_commit(&it.text("commit"))),
        "rejected" => format!("{pull} left the merge queue"),
        "removed" => it.because(&format!("{pull} was taken out of the merge queue")),
        "held" => it.because(&format!("{pull} waits in the merge queue")),
        "voided" => it.because(&format!("the test of {pull} is stale")),
        "try_failed" => it.because(&format!("{pull} could not be tested or merged; retrying")),
        "in_the_way" => it.because(&format!("{pull} cannot be merged yet")),
        "test_resumed" => format!("{pull} is being tested again"),
        "split" => it.because(&format!("{} are tested separately", it.text("pulls"))),
        "paused" => it.because("the merge queue is paused"),
        "resumed" => "the merge queue is resumed".into(),
        _ => return None,
    })
}

fn incident(word: &str, it: EventFields<'_>, key: EventFields<'_>) -> Option<String> {
    let what = key.text("kind");
    Some(match word {
        "opened" => format!("{what}: {}", it.quoted("detail")),
        "recorded" => format!("{what}, noted"),
        "revised" => format!("{what}, update: {}", it.quoted("detail")),
        "waiting" => format!("{what}: waiting for a moment"),
        "doubted" => format!("{what}: checking whether it is flaky"),
        "believed" => it.because(&format!("{what} is confirmed")),
        "acted" => format!("{what}: the reaction was {}", it.text("action").replace('-', " ")),
        "noted" => format!("{what}: {}", it.quoted("said")),
        "answered" => format!("{what}: answered"),
        "failed" => it.because(&format!("{what}: the reaction did not help")),
        "escalated" => it.because(&format!("{what} is escalated to the {}", it.text("to"))),
        "vanished" => format!("{what} seems resolved"),
        "returned" | "reopened" => format!("{what} is back"),
        "unsaid" => format!("{what}: the message no longer applies"),
        "closed" => format!("{what} is resolved"),
        _ => return None,
    })
}

fn notice(word: &str, it: EventFields<'_>) -> Option<String> {
    let channel = it.text("channel");
    Some(match word {
        "raised" => format!("{} notice: {}", it.text("notice.level"), it.quoted("notice.text")),
        "addressed" if it.text("channels").is_empty() => "the notice goes to no channel".into(),
        "addressed" => format!("the notice goes to {}", it.text("channels")),
        "held" => format!("the notice waits for {channel}"),
        "released" => format!("the notice is being sent to {channel}"),
        "gathered" => format!("the notice is sent to {channel} with others"),
        "told" => format!("the notice was sent to {channel}"),
        "missed" => it.because(&format!("the notice could not be sent to {channel}")),
        "delayed" => it.because("the notice will be retried later"),
        "retried" => "the notice is retried".into(),
        "sent" => "the notice is done".into(),
        "given_up" => it.because("the notice was given up"),
        "withdrawn" => it.because("the notice was withdrawn"),
        _ => return None,
    })
}

fn job(word: &str, it: EventFields<'_>) -> Option<String> {
    Some(match word {
        "wanted" => format!("job: {}", it.variant("job.order").0.replace('_', " ")),
        "delayed" => it.because("the job will be retried later"),
        "retried" => "the job is retried".into(),
        "done" if it.has("outcome.done.said") => {
            format!("the job is done: {}", it.quoted("outcome.done.said"))
        }
        "done" => "the job is done".into(),
        "failed" => it.because("the job failed"),
        _ => return None,
    })
}

fn project(word: &str, it: EventFields<'_>) -> Option<String> {
    Some(match word {
        "configured" => "is configured".into(),
        "removed" => "was removed".into(),
        "work_stopped" => format!("its work was stopped by {}", it.text("by")),
        "work_started" => format!("its work was resumed by {}", it.text("by")),
        "policy_changed" => "has another policy".into(),
        "policy_broken" => it.because("its policy cannot be read"),
        "repository_suspected" if it.at("suspicions").as_array().is_some_and(Vec::is_empty) => {
            "the changes to its repository were confirmed or undone".into()
        }
        "repository_suspected" => "its repository was changed by an agent or by an unknown program".into(),
        "freeze_turned" if it.is("frozen") => "is frozen: nothing is merged".into(),
        "freeze_turned" => "is no longer frozen".into(),
        "capped" => it.because("its budget is used up"),
        "uncapped" => "has budget again".into(),
        "flaked" => format!("check {} is flaky", it.text("check")),
        "base_asked" => format!("check {} is run on {}", it.text("check"), it.text("branch")),
        "base_found" => format!("check {} was run on {}", it.text("check"), it.text("branch")),
        "completed" => format!(
            "all work is done: {} merged, {} stopped",
            it.text("finished.merged"),
            it.text("finished.stopped")
        ),
        "foreseen" => "the conflict forecast was updated".into(),
        _ => return None,
    })
}

fn budget(word: &str, it: EventFields<'_>) -> Option<String> {
    Some(match word {
        "marked" => format!("the budget is nearly used up: {}", it.text("mark")),
        "capped" | "overdrawn" => it.because("the budget is used up"),
        "uncapped" => "the budget is available again".into(),
        "raised" => "the budget was raised".into(),
        "spared" => "the budget was not used up after all".into(),
        _ => return None,
    })
}

fn task(word: &str, it: EventFields<'_>) -> Option<String> {
    Some(match word {
        "seen" => format!("was read: {}", it.quoted("facts.title")),
        "closed" => "was closed".into(),
        _ => return None,
    })
}

fn account(word: &str, _: EventFields<'_>) -> Option<String> {
    Some(match word {
        "limited" => "the provider's limit is in force".into(),
        "reset" => "the provider's limit is over".into(),
        _ => return None,
    })
}

fn host(word: &str, it: EventFields<'_>) -> Option<String> {
    Some(match word {
        "configured" => "the settings are in force".into(),
        "memory_scarce" => format!("only {} MB of memory are free", it.text("free_mb")),
        "memory_enough" => format!("{} MB of memory are free again", it.text("free_mb")),
        "stray_found" => format!("an orphaned process of {} was found", it.text("session")),
        "stray_ended" => format!("an orphaned process of {} was ended", it.text("session")),
        "census_doubted" => format!(
            "{} of {} agents vanished at the same time, so the probe is taken to have failed",
            it.text("missing"),
            it.text("expected")
        ),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One event of each kind that was ever stored.
    const STORED: &str = include_str!("../../../ao-core/tests/fixtures/events-v1.jsonl");

    #[test]
    fn every_kind_of_event_has_words_without_a_machine_s_marks() {
        for line in STORED.lines() {
            let stored: Value = serde_json::from_str(line).unwrap();
            let kind = stored["kind"].as_str().unwrap();
            let said = describe(kind, &stored["body"]).unwrap_or_else(|| panic!("`{kind}` has no words"));
            assert!(
                !said.is_empty() && !said.contains(['{', '}']) && !said.contains("null"),
                "{kind}: {said}"
            );
            assert!(!said.ends_with([':', ' ']), "{kind}: {said}");
        }
        assert_eq!(describe("weather.changed", &Value::Null), None);
    }
}
