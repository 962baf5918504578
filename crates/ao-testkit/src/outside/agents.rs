//! The behaviour of agents, and the reports about it.

use std::time::Duration;

use ao_core::agent_report::AgentReport;
use ao_core::ask::Ask;
use ao_core::budget::UsageTotal;
use ao_core::evidence::{Confidence, Reading, Signal, SignalSource};
use ao_core::session::ProcessRef;
use ao_core::{AskId, ConversationId};
use ao_ports::{Cancelled, Report, StartSpec};

use super::{AgentState, ProcessKey, SimDialog, SimProcess, UserTurn, WorldEvent};
use crate::trace::TraceLine;
use crate::universe::UniverseState;
use crate::watch::Invariant;

const TURN_MS: u64 = 10_000;

/// Starts a process.
pub(crate) fn start(inner: &mut UniverseState, spec: &StartSpec, name: ProcessRef) {
    let key = (spec.session, spec.attempt);
    let Some((conversation, ..)) = inner.outside.plans.get(&key) else {
        inner.broken(Invariant::CommitFirst, format!("{name:?} was started without being prepared"));
        return;
    };
    let process = SimProcess {
        swallows: inner.outside.behaviour(spec.session).swallows,
        ports: spec.ports.clone(),
        ..SimProcess::new(name, &spec.path, conversation.clone())
    };
    inner.outside.processes.insert(key, process);
    *inner.outside.starts.entry(key).or_default() += 1;
    let at = inner.elapsed() + inner.rng.u64(100..3000);
    inner.outside.plan(at, WorldEvent::Boot(key));
}

/// Performs a planned event of an agent.
pub(crate) fn perform(inner: &mut UniverseState, happening: WorldEvent) {
    match happening {
        WorldEvent::Boot(key) => boot(inner, key),
        WorldEvent::Over { key, epoch } => {
            if inner.outside.processes.get(&key).is_some_and(|process| process.epoch == epoch) {
                over(inner, key);
            }
        }
        WorldEvent::HandsOff(key) => {
            if let Some(process) = inner.outside.processes.get_mut(&key) {
                process.person_at_keyboard = false;
            }
        }
        WorldEvent::Hint(hint) => super::pass_on(inner, &hint),
        WorldEvent::Report(_) | WorldEvent::Ran(_) | WorldEvent::Post(_) | WorldEvent::Act => {}
    }
}

fn boot(inner: &mut UniverseState, key: ProcessKey) {
    let Some(process) = inner.outside.processes.get_mut(&key) else { return };
    if process.state != AgentState::Booting {
        return;
    }
    let conversation = process.conversation.clone();
    inner.outside.conversations.entry(conversation.clone()).or_default();
    if let Some(code) = inner.outside.behaviour(key.0).hopeless {
        return die(inner, key, Some(code));
    }
    let (_, prompt, delivery) = inner.outside.plans.get(&key).cloned().expect("started only when prepared");
    match prompt {
        Some(text) => {
            let turns = &inner.outside.conversations[&conversation];
            match turns.iter().position(|turn| delivery.is_some() && turn.delivery == delivery) {
                // An earlier launch delivered it: it is not taken twice, but reported.
                Some(place) => {
                    let turn = turn_name(&conversation, place);
                    report_agent(inner, key, AgentReport::taken(&turn, &text));
                    rest(inner, key);
                }
                None => take_turn(inner, key, delivery, &text),
            }
        }
        None => rest(inner, key),
    }
}

/// The agent takes a text as a user's turn and starts to work.
pub(crate) fn take_turn(inner: &mut UniverseState, key: ProcessKey, delivery: Option<u32>, text: &str) {
    let Some(process) = inner.outside.processes.get_mut(&key) else { return };
    let conversation = process.conversation.clone();
    let turns = inner.outside.conversations.entry(conversation.clone()).or_default();
    let turn = turn_name(&conversation, turns.len());
    let again = delivery.is_some() && turns.iter().any(|turn| turn.delivery == delivery);
    turns.push(UserTurn { delivery, text: text.to_owned() });
    inner.must(!again, Invariant::AcceptedOnce, || {
        format!("delivery {} is a second turn of {}: {text:?}", delivery.unwrap_or(0), key.0)
    });
    inner.note(|| TraceLine::Note(format!("{} attempt {} takes {text:?}", key.0, key.1)));
    report_agent(inner, key, AgentReport::taken(&turn, text));
    let behaviour = inner.outside.behaviour(key.0).clone();
    let silent = inner.rng.u16(..1000) < behaviour.silent;
    set(inner, key, AgentState::Working { silent });
    if !silent {
        report_hook(inner, key, Reading::Working { doing: "thinking".into() });
    }
    let longest = if behaviour.turn_ms == 0 { TURN_MS } else { behaviour.turn_ms };
    let lasts = if silent { longest * 10 } else { inner.rng.u64(longest / 4..=longest) };
    if let Some(process) = inner.outside.processes.get_mut(&key) {
        process.planned_asks = tags(text, "ask");
        process.planned_asks.reverse();
    }
    // Only the contract's texts have tags.
    if tags(text, "work").is_empty() {
        plan_over(inner, key, lasts);
    }
}

/// Returns the arguments of the tags of one kind in a text, such as `[[ask May I?]]`. The scripted agent has the same ones.
fn tags(text: &str, kind: &str) -> Vec<String> {
    let open = format!("[[{kind} ");
    let argument = |part: &str| part.split_once("]]").map(|(argument, _)| argument.to_owned());
    text.split(&open).skip(1).filter_map(argument).collect()
}

/// A person answers the open dialog, if there is one.
pub(crate) fn answer(inner: &mut UniverseState, key: ProcessKey) {
    if inner.outside.processes.get(&key).is_some_and(|process| process.state == AgentState::Asking) {
        over(inner, key);
    }
}

/// Closes one of the open dialogs. The agent goes on after the last one.
pub(crate) fn answer_one(inner: &mut UniverseState, key: ProcessKey, serial: u32) {
    let Some(process) = inner.outside.processes.get_mut(&key) else { return };
    if process.dialogs.len() == 1 {
        return answer(inner, key);
    }
    let closed: Vec<SimDialog> = process.dialogs.extract_if(.., |dialog| dialog.serial == serial).collect();
    report_closed(inner, key, closed);
}

/// Ends the running turn without its result, if there is one.
pub(crate) fn cancel_turn(inner: &mut UniverseState, key: ProcessKey) -> Cancelled {
    let Some(process) = inner.outside.processes.get_mut(&key) else { return Cancelled::NoTurn };
    match process.state {
        AgentState::Working { .. } | AgentState::Asking => {
            process.planned_asks.clear();
            close_dialogs(inner, key);
            rest(inner, key);
            Cancelled::Cut
        }
        _ => Cancelled::NoTurn,
    }
}

/// Ends the current activity of an agent: a turn, a dialog, a limit.
fn over(inner: &mut UniverseState, key: ProcessKey) {
    let behaviour = inner.outside.behaviour(key.0).clone();
    let process = inner.outside.processes.get_mut(&key).expect("its epoch was looked at");
    match process.state.clone() {
        AgentState::Asking => {
            // All dialogs were answered. No hook reports that.
            close_dialogs(inner, key);
            set(inner, key, AgentState::Working { silent: false });
            report(
                inner,
                key,
                SignalSource::Terminal,
                Confidence::Low,
                Reading::Working { doing: "again".into() },
            );
            plan_over(inner, key, TURN_MS);
        }
        AgentState::Working { .. } => turn_over(inner, key, &behaviour),
        AgentState::Limited { .. } | AgentState::Blocked => rest(inner, key),
        AgentState::Booting | AgentState::Idle | AgentState::Dead { .. } => {}
    }
}

fn turn_over(inner: &mut UniverseState, key: ProcessKey, behaviour: &super::AgentBehaviour) {
    let process = inner.outside.processes.get_mut(&key).expect("its turn is over");
    process.turns += 1;
    let (turns, path) = (process.turns, process.path.clone());
    let spend = UsageTotal {
        micros: behaviour.cost.map(|cost| cost * turns),
        turns,
        seconds: turns * 10,
        ..UsageTotal::default()
    };
    report_agent(inner, key, AgentReport::Usage { spend });
    if inner.rng.u16(..1000) < behaviour.messy
        && let Some(tree) = inner.outside.trees.get_mut(&path)
    {
        tree.facts.uncommitted = Some(true);
    }
    let fate = inner.rng.u16(..1000);
    let mut limit = 0;
    let mut falls = |rate: u16| {
        limit += rate;
        fate < limit
    };
    let planned = inner.outside.processes.get_mut(&key).and_then(|process| process.planned_asks.pop());
    if let Some(question) = planned {
        ask(inner, key, question);
    } else if falls(behaviour.asks) {
        ask_at_random(inner, key, "Allow `rm`?");
        if !behaviour.unanswered {
            let patience = inner.rng.u64(5_000..90_000);
            plan_over(inner, key, patience);
        }
    } else if falls(behaviour.blocks) {
        set(inner, key, AgentState::Blocked);
        report_hook(inner, key, Reading::Blocked { on: "a missing key".into() });
        plan_over(inner, key, 60_000);
    } else if falls(behaviour.limited) {
        let until = inner.wall() + Duration::from_secs(60);
        set(inner, key, AgentState::Limited { until });
        report_hook(inner, key, Reading::Limited { until: Some(until) });
        plan_over(inner, key, 60_000);
    } else if falls(behaviour.crashes) {
        die(inner, key, Some(1));
    } else if falls(behaviour.leaves) || behaviour.one_turn {
        die(inner, key, Some(0));
    } else {
        rest(inner, key);
    }
}

/// Opens a dialog, and at times several at once, as subagents do.
fn ask_at_random(inner: &mut UniverseState, key: ProcessKey, question: &str) {
    ask(inner, key, question.to_owned());
    let epoch = inner.outside.processes.get(&key).map_or(0, |process| process.epoch);
    // Not by the world's own numbers: more dialogs must not change what else happens.
    let more = if has_ids(key) { (key.0.0 / 2 + u64::from(epoch)) % 3 } else { 0 };
    for number in 0..more {
        let question = format!("{question} ({number})");
        // A hook reports the same dialog first, without its id.
        let reading = Reading::Asking { question: format!("Bash: {question}") };
        report(inner, key, SignalSource::Hook, Confidence::High, reading);
        open_dialog(inner, key, question);
    }
}

/// Opens a dialog.
fn ask(inner: &mut UniverseState, key: ProcessKey, question: String) {
    set(inner, key, AgentState::Asking);
    open_dialog(inner, key, question);
}

/// Returns true if an agent reports its dialogs by ids. Every second session's does.
fn has_ids(key: ProcessKey) -> bool {
    key.0.0.is_multiple_of(2)
}

fn open_dialog(inner: &mut UniverseState, key: ProcessKey, question: String) {
    let Some(process) = inner.outside.processes.get_mut(&key) else { return };
    process.dialogs_opened += 1;
    let serial = process.dialogs_opened;
    let id = has_ids(key).then(|| AskId::new(&format!("ask {serial}")));
    process.dialogs.push(SimDialog { serial, id: id.clone(), question: question.clone() });
    match id {
        Some(id) => report_agent(inner, key, AgentReport::Asked { ask: Ask::question(id, &question) }),
        None => report_hook(inner, key, Reading::Asking { question }),
    }
}

fn close_dialogs(inner: &mut UniverseState, key: ProcessKey) {
    let closed = inner.outside.processes.get_mut(&key).map(|process| std::mem::take(&mut process.dialogs));
    report_closed(inner, key, closed.unwrap_or_default());
}

fn report_closed(inner: &mut UniverseState, key: ProcessKey, closed: Vec<SimDialog>) {
    for ask in closed.into_iter().filter_map(|dialog| dialog.id) {
        report_agent(inner, key, AgentReport::AskClosed { ask });
    }
}

/// The agent is at its prompt.
fn rest(inner: &mut UniverseState, key: ProcessKey) {
    if inner.outside.behaviour(key.0).one_turn {
        return die(inner, key, Some(0));
    }
    set(inner, key, AgentState::Idle);
    report_hook(inner, key, Reading::Idle);
}

/// Kills a process, and reports its exit.
pub(crate) fn die(inner: &mut UniverseState, key: ProcessKey, code: Option<i32>) {
    kill(inner, key, code);
    report(inner, key, SignalSource::Process, Confidence::High, Reading::Exited { code });
}

/// Kills a process without a report.
pub(crate) fn kill(inner: &mut UniverseState, key: ProcessKey, code: Option<i32>) {
    inner.note(|| TraceLine::Note(format!("{} attempt {} ends with {code:?}", key.0, key.1)));
    if let Some(process) = inner.outside.processes.get_mut(&key) {
        process.die(code);
    }
}

/// Kills the holder of an agent's terminal; the agent lives on. Sometimes that is reported.
pub(crate) fn lose_holder(inner: &mut UniverseState, key: ProcessKey) {
    inner.note(|| TraceLine::Note(format!("the holder of {} attempt {} is killed", key.0, key.1)));
    let Some(process) = inner.outside.processes.get_mut(&key) else { return };
    process.held = false;
    if inner.rng.bool() {
        report(inner, key, SignalSource::Process, Confidence::High, Reading::Unheld);
    }
}

/// The agent swallows every Enter from now on, so that messages to it are given up.
pub(crate) fn stop_accepting(inner: &mut UniverseState, key: ProcessKey) {
    inner.note(|| TraceLine::Note(format!("{} attempt {} takes no message any more", key.0, key.1)));
    if let Some(process) = inner.outside.processes.get_mut(&key) {
        process.swallows = u8::MAX;
    }
}

/// A person types into the agent's terminal, leaves a draft for a while, and deletes it.
pub(crate) fn human_types(inner: &mut UniverseState, key: ProcessKey) {
    if let Some(process) = inner.outside.processes.get_mut(&key).filter(|process| process.held) {
        process.person_at_keyboard = true;
        let at = inner.elapsed() + 4_000;
        inner.outside.plan(at, WorldEvent::HandsOff(key));
        report(inner, key, SignalSource::Terminal, Confidence::Low, Reading::HumanTyped);
    }
}

fn set(inner: &mut UniverseState, key: ProcessKey, state: AgentState) {
    if let Some(process) = inner.outside.processes.get_mut(&key) {
        process.state = state;
        process.epoch += 1;
    }
}

fn plan_over(inner: &mut UniverseState, key: ProcessKey, after: u64) {
    let at = inner.elapsed() + after;
    let epoch = inner.outside.processes.get(&key).map_or(0, |process| process.epoch);
    inner.outside.plan(at, WorldEvent::Over { key, epoch });
}

// ── reports ──

/// Returns the name of a turn, which is the same in every report.
pub(crate) fn turn_name(conversation: &ConversationId, place: usize) -> String {
    format!("{conversation} {place}")
}

fn report_hook(inner: &mut UniverseState, key: ProcessKey, reading: Reading) {
    let lost = inner.outside.behaviour(key.0).loses_hooks;
    if inner.rng.u16(..1000) >= lost {
        report(inner, key, SignalSource::Hook, Confidence::High, reading);
    }
}

fn report(
    inner: &mut UniverseState,
    key: ProcessKey,
    source: SignalSource,
    confidence: Confidence,
    reading: Reading,
) {
    let signal = Signal { attempt: key.1, source, at: inner.wall(), confidence, reading };
    send(inner, WorldEvent::Report(Report::Signal { session: key.0, signal }));
}

fn report_agent(inner: &mut UniverseState, key: ProcessKey, report: AgentReport) {
    let (session, attempt) = key;
    let (source, at) = (SignalSource::Protocol, inner.wall());
    send(inner, WorldEvent::Report(Report::Agent { session, attempt, source, at, report }));
}

/// Sends a report or a hint, which may be lost, doubled, or overtaken.
pub(crate) fn send(inner: &mut UniverseState, report: WorldEvent) {
    let now = inner.elapsed();
    let bad = inner.outside.lossy_reports;
    let mut odd = || inner.rng.u16(..1000) < bad;
    let (lost, doubled, late) = (odd(), odd(), odd());
    if lost {
        return;
    }
    let delay = if late { inner.rng.u64(1_000..40_000) } else { 0 };
    if doubled {
        let again = now + inner.rng.u64(0..60_000);
        inner.outside.plan(again, report.clone());
    }
    inner.outside.plan(now + delay, report);
}
