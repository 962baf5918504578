//! Describes events for people.

use serde_json::Value;

use super::words::shorten;

/// Maximum length of a quoted text in a line.
const QUOTED: usize = 100;

/// Describes an event; nothing for a kind that this version does not know.
pub(super) fn told(kind: &str, data: &Value) -> Option<String> {
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
        "errand" => job(word, it),
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
        "ports_leased" => format!("has other ports, because {} was in use", it.text("refused")),
        "workspace_ready" => format!("has its workspace in {}", it.text("path")),
        "workspace_set_up" => "has its workspace set up".into(),
        "workspace_failed" => it.because("its workspace could not be made"),
        "setup_failed" => it.because("its workspace could not be set up"),
        "launching" if it.at("resume") == &Value::Bool(true) => {
            format!("is started again with its conversation (start {})", it.text("attempt"))
        }
        "launching" => format!("is being started (start {})", it.text("attempt")),
        "launched" => "runs".into(),
        "launch_failed" => it.because("could not be started, and is tried again"),
        "conversation_seen" => "has a conversation of its own".into(),
        "conversation_gone" => "has lost its conversation and starts afresh with its task".into(),
        "signal_seen" => signal(it),
        "rejudged" => "its state was judged again".into(),
        "look_wanted" => "is to be looked at".into(),
        "looked" => "was looked at".into(),
        "look_failed" => it.because("could not be looked at"),
        "went_astray" => format!("has left its place: {}", it.text("what")),
        "back_in_place" => "is back in its place".into(),
        "tree_lost" => {
            format!("its workspace {} was deleted; it is recreated from its branch", it.text("path"))
        }
        "stands" if it.has("stand.branch") => format!("stands on branch {}", it.text("stand.branch")),
        "stands" => "stands on no branch".into(),
        "answering" => format!("is answered by {}: {}", it.text("answer.by"), it.quoted("answer.text")),
        "answered" => "has got its answer".into(),
        "not_answered" => it.because("has not got its answer"),
        "stopping" if it.has("then.outcome") => format!("is being ended: {}", outcome(it, "then.outcome")),
        "stopping" => format!("is being ended: {}", it.text("then.why")),
        "stop_wanted" => format!("is to end: {}", outcome(it, "outcome")),
        "stop_failed" => it.because("could not be ended, and is tried again"),
        "retrying" => it.because("is started again in a moment"),
        "exited" => it.because("has exited"),
        "ended" => format!("has ended: {}", outcome(it, "outcome")),
        "delay_over" => "has waited long enough for another try".into(),
        "requeued" => it.because("is in the queue again"),
        "message_queued" => format!("message {} waits: {}", it.text("message.no"), it.quoted("message.body")),
        "message_withdrawn" => format!("message {} was taken back: it is not true any more", it.text("no")),
        "messages_dropped" => it.because("its messages were not delivered"),
        "delivery_started" => "is being told what waits for it".into(),
        "written" => "a message was written; the agent has to confirm it".into(),
        "delivery_paused" => it.because("is not told for the moment"),
        "delivery_retried" => "is told once more".into(),
        "accepted" => "has taken what it was told".into(),
        "taken_after_all" => "has taken after all what was given up".into(),
        "delivery_failed" => it.because("did not take what it was told"),
        "waited_enough" => "waits no longer for others to be out of its way".into(),
        "cleared" => "may start: no hook objects".into(),
        "held" => it.because("is held"),
        "released" => format!("is no longer held ({})", it.text("kind").replace('_', " ")),
        "resume_planned" => "goes on when the provider's limit ends".into(),
        "lingered" => "has been idle for too long, with its work not done".into(),
        "spent" => spent(it, "spend"),
        "tool_denied" => format!("was not allowed to use {}", it.text("tool")),
        "rested" => it.because("rests"),
        "last_words" => format!("said last: {}", it.quoted("text")),
        "budget_marked" => format!("its budget is nearly spent: {}", it.text("mark")),
        "limits_set" => "has new limits".into(),
        "pull_linked" => format!("answers for {}", it.text("pull")),
        "pull_unlinked" => format!("answers for {} no longer", it.text("pull")),
        "removal_wanted" if it.at("discard") == &Value::Bool(true) => {
            "its workspace is to go, with the work in it".into()
        }
        "removal_wanted" => "its workspace is to go, if nothing is lost by that".into(),
        "removal_failed" => it.because("its workspace could not be removed, and is tried again"),
        "workspace_removed" if it.has("rescue") => {
            format!("its workspace is gone; its last state is in {}", it.text("rescue"))
        }
        "workspace_removed" => "its workspace is gone".into(),
        "workspace_kept" => format!("its workspace is kept: {}", it.text("reasons").replace('_', " ")),
        "archived" => "has left the memory; the log keeps it".into(),
        _ => return None,
    })
}

/// Describes a signal of an agent.
fn signal(it: EventFields<'_>) -> String {
    let reading = it.at("signal.reading");
    let (word, detail) = match reading {
        Value::String(word) => (word.as_str(), EventFields(&Value::Null)),
        Value::Object(fields) => match fields.iter().next() {
            Some((word, detail)) => (word.as_str(), EventFields(detail)),
            None => ("", EventFields(&Value::Null)),
        },
        _ => ("", EventFields(&Value::Null)),
    };
    let source = it.text("signal.source");
    let seen = match word {
        "started" => "has come up".to_owned(),
        "working" if detail.text("doing").is_empty() => "works".to_owned(),
        "working" => format!("works: {}", detail.quoted("doing")),
        "idle" => "is at its prompt".to_owned(),
        "asking" => format!("asks {}", detail.quoted("question")),
        "blocked" => format!("cannot go on: {}", detail.quoted("on")),
        "limited" => "has met its provider's limit".to_owned(),
        "alive" if detail.at("busy") == &Value::Bool(true) => "lives and is busy".to_owned(),
        "alive" => "lives".to_owned(),
        "exited" if detail.has("code") => format!("has exited with {}", detail.text("code")),
        "exited" => "was ended by a signal".to_owned(),
        "human_typed" => "is typed on by a person".to_owned(),
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
        "head_moved" => format!("has new commits, up to {}", short(&it.text("head"))),
        "base_moved" => format!("its base is at {}", short(&it.text("base"))),
        "branch_renamed" => format!("its branch is called {}", it.text("branch")),
        "retargeted" => format!("is for the branch {}", it.text("branch")),
        "resized" => format!("adds {} lines and removes {}", it.text("size.added"), it.text("size.removed")),
        "scanned" => "its lines were scanned".into(),
        "draft_changed" if it.at("draft") == &Value::Bool(true) => "is a draft".into(),
        "draft_changed" => "is ready for review".into(),
        "labels_changed" => format!("has the labels: {}", it.text("labels")),
        "mergeability_seen" => format!("merging it is {}", it.text("mergeable")),
        "check_reported" => check(it),
        "checks_configured" if it.at("none") == &Value::Bool(true) => "has no checks to run".into(),
        "checks_configured" => "has checks to run".into(),
        "check_vanished" => format!("has no check {} any more", it.text("check")),
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
        "claimed" => format!("{} answers for it", it.text("session")),
        "released" => format!("{} answers for it no longer", it.text("session")),
        "merged" => format!("was merged as {}", short(&it.text("commit"))),
        "closed" => "was closed".into(),
        "reopened" => "was opened again".into(),
        _ => return None,
    })
}

fn check(it: EventFields<'_>) -> String {
    let state = it.at("check.state");
    let word = match state {
        Value::String(word) => word.replace('_', " "),
        Value::Object(fields) => fields.keys().next().cloned().unwrap_or_default().replace('_', " "),
        _ => String::new(),
    };
    format!("check {}: {word}", it.text("check.name"))
}

fn queue(word: &str, it: EventFields<'_>) -> Option<String> {
    let pull = it.text("pull");
    Some(match word {
        "enqueued" => match it.text("request.by") {
            by if by.is_empty() => format!("{pull} is in the merge queue"),
            by => format!("{by} wants {pull} merged at once"),
        },
        "cleared" => format!("{pull} may be merged: no hook objects"),
        "reprioritized" => format!("{pull} has the priority {}", it.text("priority")),
        "base_moved" => format!("the base is at {}", short(&it.text("base"))),
        "test_started" => format!("{pull} is being tested as it would land"),
        "test_passed" => format!("{pull} is green as it would land"),
        "test_failed" => format!("{pull} is red as it would land"),
        "land_started" => format!("{pull} is being merged"),
        "landed" => format!("{pull} was merged as {}", short(&it.text("commit"))),
        "rejected" => format!("{pull} left the merge queue"),
        "removed" => it.because(&format!("{pull} was taken out of the merge queue")),
        "held" => it.because(&format!("{pull} waits in the merge queue")),
        "voided" => it.because(&format!("the test of {pull} counts no longer")),
        "try_failed" => it.because(&format!("{pull} could not be tested or merged, and is tried again")),
        "in_the_way" => it.because(&format!("{pull} cannot be merged yet")),
        "split" => it.because(&format!("{} are tested apart", it.text("pulls"))),
        "paused" => it.because("the merge queue is paused"),
        "resumed" => "the merge queue goes on".into(),
        _ => return None,
    })
}

fn incident(word: &str, it: EventFields<'_>, key: EventFields<'_>) -> Option<String> {
    let what = key.text("kind");
    Some(match word {
        "opened" => format!("{what}: {}", it.quoted("detail")),
        "recorded" => format!("{what}, noted"),
        "revised" => format!("{what}, with news: {}", it.quoted("detail")),
        "waiting" => format!("{what}: it is waited for a moment"),
        "doubted" => format!("{what}: it is found out whether that is real"),
        "believed" => it.because(&format!("{what} is real")),
        "acted" => format!("{what}: {} was done about it", it.text("action").replace('-', " ")),
        "noted" => format!("{what}: {}", it.quoted("said")),
        "answered" => format!("{what}: it was answered"),
        "failed" => it.because(&format!("{what}: what was tried did not help")),
        "escalated" => it.because(&format!("{what} is brought to the {}", it.text("to"))),
        "vanished" => format!("{what} seems to be over"),
        "returned" | "reopened" => format!("{what} is there again"),
        "unsaid" => format!("{what}: what was to be said is not true any more"),
        "closed" => format!("{what} is over"),
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
        "released" => format!("the notice goes to {channel} now"),
        "gathered" => format!("the notice goes to {channel} with others"),
        "told" => format!("the notice was told on {channel}"),
        "missed" => it.because(&format!("the notice could not be told on {channel}")),
        "delayed" => it.because("the notice is tried again later"),
        "retried" => "the notice is tried again".into(),
        "sent" => "the notice is done with".into(),
        "given_up" => it.because("the notice was given up"),
        "withdrawn" => it.because("the notice was withdrawn"),
        _ => return None,
    })
}

fn job(word: &str, it: EventFields<'_>) -> Option<String> {
    let what = || match it.at("errand.order") {
        Value::Object(fields) => fields.keys().next().cloned().unwrap_or_default().replace('_', " "),
        other => plain(other).replace('_', " "),
    };
    Some(match word {
        "wanted" => format!("job to do: {}", what()),
        "delayed" => it.because("the job is tried again later"),
        "retried" => "the job is tried again".into(),
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
        "work_started" => format!("its work was started again by {}", it.text("by")),
        "policy_changed" => "has another policy".into(),
        "policy_broken" => it.because("its policy cannot be read"),
        "repository_suspected" if it.at("suspicions").as_array().is_some_and(Vec::is_empty) => {
            "the changes of its repository are confirmed or undone".into()
        }
        "repository_suspected" => "its repository was changed by an agent or by an unknown program".into(),
        "freeze_turned" if it.at("frozen") == &Value::Bool(true) => "is frozen: nothing is merged".into(),
        "freeze_turned" => "is no longer frozen".into(),
        "capped" => it.because("its budget is spent"),
        "uncapped" => "has a budget again".into(),
        "flaked" => format!("check {} failed by chance", it.text("check")),
        "base_asked" => format!("check {} is run on {}", it.text("check"), it.text("branch")),
        "base_found" => format!("check {} was run on {}", it.text("check"), it.text("branch")),
        "completed" => format!(
            "all work is done: {} merged, {} stopped",
            it.text("finished.merged"),
            it.text("finished.stopped")
        ),
        "foreseen" => "it was looked at which branches will not merge with each other".into(),
        _ => return None,
    })
}

fn budget(word: &str, it: EventFields<'_>) -> Option<String> {
    Some(match word {
        "marked" => format!("the budget is nearly spent: {}", it.text("mark")),
        "capped" | "overdrawn" => it.because("the budget is spent"),
        "uncapped" => "there is a budget again".into(),
        "raised" => "the budget was raised".into(),
        "spared" => "the budget was not spent after all".into(),
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
        "stray_found" => format!("a process of {} was found that nobody waits for", it.text("session")),
        "stray_ended" => format!("a process of {} that nobody waited for was ended", it.text("session")),
        "census_doubted" => format!(
            "{} of {} agents vanished at the same time, so the probe is taken to have failed",
            it.text("missing"),
            it.text("expected")
        ),
        _ => return None,
    })
}

/// Shortens a commit.
fn short(commit: &str) -> String {
    commit.chars().take(10).collect()
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
            let said = told(kind, &stored["body"]).unwrap_or_else(|| panic!("`{kind}` has no words"));
            assert!(
                !said.is_empty() && !said.contains(['{', '}']) && !said.contains("null"),
                "{kind}: {said}"
            );
            assert!(!said.ends_with([':', ' ']), "{kind}: {said}");
        }
        assert_eq!(told("weather.changed", &Value::Null), None);
    }
}
