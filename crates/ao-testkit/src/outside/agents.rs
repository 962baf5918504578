//! What agents do, and what they let be seen of it.

use std::time::Duration;

use ao_core::ConversationId;
use ao_core::budget::Spend;
use ao_core::evidence::{Confidence, Reading, Signal, Source};
use ao_core::session::ProcessRef;
use ao_ports::{Report, StartSpec};

use super::{Happening, Key, Mind, Process, Turn};
use crate::trace::Line;
use crate::universe::Inner;
use crate::watch::Invariant;

const TURN_MS: u64 = 10_000;

/// A process comes into the world.
pub(crate) fn start(inner: &mut Inner, spec: &StartSpec, name: ProcessRef) {
    let key = (spec.session, spec.attempt);
    let Some((conversation, ..)) = inner.outside.plans.get(&key) else {
        inner.broken(Invariant::CommitFirst, format!("{name:?} was started without being prepared"));
        return;
    };
    let process = Process {
        name,
        path: spec.path.clone(),
        conversation: conversation.clone(),
        mind: Mind::Booting,
        epoch: 0,
        draft: None,
        person_at_keyboard: false,
        swallows: inner.outside.temper(spec.session).swallows,
        ports: spec.ports.clone(),
        answered: 0,
        turns: 0,
        held: true,
    };
    inner.outside.processes.insert(key, process);
    let at = inner.elapsed() + inner.rng.u64(100..3000);
    inner.outside.plan(at, Happening::Boot(key));
}

/// Carries out what was going to happen to an agent.
pub(crate) fn perform(inner: &mut Inner, happening: Happening) {
    match happening {
        Happening::Boot(key) => boot(inner, key),
        Happening::Over { key, epoch } => {
            if inner.outside.processes.get(&key).is_some_and(|process| process.epoch == epoch) {
                over(inner, key);
            }
        }
        Happening::HandsOff(key) => {
            if let Some(process) = inner.outside.processes.get_mut(&key) {
                process.person_at_keyboard = false;
            }
        }
        Happening::Report(_) | Happening::Ran(_) | Happening::Act => {}
    }
}

fn boot(inner: &mut Inner, key: Key) {
    let Some(process) = inner.outside.processes.get_mut(&key) else { return };
    if process.mind != Mind::Booting {
        return;
    }
    let conversation = process.conversation.clone();
    inner.outside.conversations.entry(conversation.clone()).or_default();
    if let Some(code) = inner.outside.temper(key.0).hopeless {
        return die(inner, key, Some(code));
    }
    let (_, prompt, delivery) = inner.outside.plans.get(&key).cloned().expect("started only when prepared");
    match prompt {
        Some(text) => {
            let turns = &inner.outside.conversations[&conversation];
            match turns.iter().position(|turn| delivery.is_some() && turn.delivery == delivery) {
                // An earlier launch got it through: it is not said twice, but it is told.
                Some(place) => {
                    let turn = turn_name(&conversation, place);
                    send(inner, Report::Taken { session: key.0, attempt: key.1, turn, text });
                    rest(inner, key);
                }
                None => take_turn(inner, key, delivery, &text),
            }
        }
        None => rest(inner, key),
    }
}

/// The agent takes a text as a user's turn and sets to work.
pub(crate) fn take_turn(inner: &mut Inner, key: Key, delivery: Option<u32>, text: &str) {
    let Some(process) = inner.outside.processes.get_mut(&key) else { return };
    let conversation = process.conversation.clone();
    let turns = inner.outside.conversations.entry(conversation.clone()).or_default();
    let turn = turn_name(&conversation, turns.len());
    let again = delivery.is_some() && turns.iter().any(|turn| turn.delivery == delivery);
    turns.push(Turn { delivery, text: text.to_owned() });
    inner.must(!again, Invariant::AcceptedOnce, || {
        format!("delivery {} is a second turn of {}: {text:?}", delivery.unwrap_or(0), key.0)
    });
    inner.note(|| Line::Note(format!("{} attempt {} takes {text:?}", key.0, key.1)));
    send(inner, Report::Taken { session: key.0, attempt: key.1, turn, text: text.to_owned() });
    let temper = inner.outside.temper(key.0).clone();
    let silent = inner.rng.u16(..1000) < temper.silent;
    set(inner, key, Mind::Working { silent });
    if !silent {
        report_hook(inner, key, Reading::Working { doing: "thinking".into() });
    }
    let longest = if temper.turn_ms == 0 { TURN_MS } else { temper.turn_ms };
    let lasts = if silent { longest * 10 } else { inner.rng.u64(longest / 4..=longest) };
    plan_over(inner, key, lasts);
}

/// A person answers the dialog that is open, if one is.
pub(crate) fn answer(inner: &mut Inner, key: Key) {
    if inner.outside.processes.get(&key).is_some_and(|process| process.mind == Mind::Asking) {
        over(inner, key);
    }
}

/// What the agent was doing is over: a turn, a dialog, a limit.
fn over(inner: &mut Inner, key: Key) {
    let temper = inner.outside.temper(key.0).clone();
    let process = inner.outside.processes.get_mut(&key).expect("its epoch was looked at");
    match process.mind.clone() {
        Mind::Asking => {
            // Somebody answered. No hook says so.
            set(inner, key, Mind::Working { silent: false });
            report(inner, key, Source::Terminal, Confidence::Low, Reading::Working { doing: "again".into() });
            plan_over(inner, key, TURN_MS);
        }
        Mind::Working { .. } => turn_over(inner, key, &temper),
        Mind::Limited { .. } | Mind::Blocked => rest(inner, key),
        Mind::Booting | Mind::Idle | Mind::Dead { .. } => {}
    }
}

fn turn_over(inner: &mut Inner, key: Key, temper: &super::Temper) {
    let process = inner.outside.processes.get_mut(&key).expect("its turn is over");
    process.turns += 1;
    let (turns, path) = (process.turns, process.path.clone());
    let spend = Spend {
        micros: temper.cost.map(|cost| cost * turns),
        turns,
        seconds: turns * 10,
        ..Spend::default()
    };
    send(inner, Report::Spent { session: key.0, attempt: key.1, spend });
    if inner.rng.u16(..1000) < temper.messy
        && let Some(tree) = inner.outside.trees.get_mut(&path)
    {
        tree.uncommitted = true;
    }
    let fate = inner.rng.u16(..1000);
    let mut limit = 0;
    let mut falls = |rate: u16| {
        limit += rate;
        fate < limit
    };
    if falls(temper.asks) {
        set(inner, key, Mind::Asking);
        report_hook(inner, key, Reading::Asking { question: "Allow `rm`?".into() });
        if !temper.unanswered {
            let patience = inner.rng.u64(5_000..90_000);
            plan_over(inner, key, patience);
        }
    } else if falls(temper.blocks) {
        set(inner, key, Mind::Blocked);
        report_hook(inner, key, Reading::Blocked { on: "a missing key".into() });
        plan_over(inner, key, 60_000);
    } else if falls(temper.limited) {
        let until = inner.wall() + Duration::from_secs(60);
        set(inner, key, Mind::Limited { until });
        report_hook(inner, key, Reading::Limited { until: Some(until) });
        plan_over(inner, key, 60_000);
    } else if falls(temper.crashes) {
        die(inner, key, Some(1));
    } else if falls(temper.leaves) || temper.one_turn {
        die(inner, key, Some(0));
    } else {
        rest(inner, key);
    }
}

/// The agent is at its prompt.
fn rest(inner: &mut Inner, key: Key) {
    if inner.outside.temper(key.0).one_turn {
        return die(inner, key, Some(0));
    }
    set(inner, key, Mind::Idle);
    report_hook(inner, key, Reading::Idle);
}

fn die(inner: &mut Inner, key: Key, code: Option<i32>) {
    kill(inner, key, code);
    report(inner, key, Source::Process, Confidence::High, Reading::Exited { code });
}

/// The process is gone, and nobody says so.
pub(crate) fn kill(inner: &mut Inner, key: Key, code: Option<i32>) {
    inner.note(|| Line::Note(format!("{} attempt {} ends with {code:?}", key.0, key.1)));
    if let Some(process) = inner.outside.processes.get_mut(&key) {
        process.die(code);
    }
}

/// What holds the agent's terminal is killed, and the agent lives on. Sometimes that is told.
pub(crate) fn lose_holder(inner: &mut Inner, key: Key) {
    inner.note(|| Line::Note(format!("the holder of {} attempt {} is killed", key.0, key.1)));
    let Some(process) = inner.outside.processes.get_mut(&key) else { return };
    process.held = false;
    if inner.rng.bool() {
        report(inner, key, Source::Process, Confidence::High, Reading::Unheld);
    }
}

/// The agent swallows every Enter from now on, so that messages to it are given up.
pub(crate) fn grow_deaf(inner: &mut Inner, key: Key) {
    inner.note(|| Line::Note(format!("{} attempt {} takes no message any more", key.0, key.1)));
    if let Some(process) = inner.outside.processes.get_mut(&key) {
        process.swallows = u8::MAX;
    }
}

/// A person types into the agent's terminal, leaves a draft for a while, and takes it back.
pub(crate) fn human_types(inner: &mut Inner, key: Key) {
    if let Some(process) = inner.outside.processes.get_mut(&key).filter(|process| process.held) {
        process.person_at_keyboard = true;
        let at = inner.elapsed() + 4_000;
        inner.outside.plan(at, Happening::HandsOff(key));
        report(inner, key, Source::Terminal, Confidence::Low, Reading::HumanTyped);
    }
}

fn set(inner: &mut Inner, key: Key, mind: Mind) {
    if let Some(process) = inner.outside.processes.get_mut(&key) {
        process.mind = mind;
        process.epoch += 1;
    }
}

fn plan_over(inner: &mut Inner, key: Key, after: u64) {
    let at = inner.elapsed() + after;
    let epoch = inner.outside.processes.get(&key).map_or(0, |process| process.epoch);
    inner.outside.plan(at, Happening::Over { key, epoch });
}

// ── what is seen of it ──

/// The name of a turn: the same from whoever tells of it.
pub(crate) fn turn_name(conversation: &ConversationId, place: usize) -> String {
    format!("{conversation} {place}")
}

fn report_hook(inner: &mut Inner, key: Key, reading: Reading) {
    let lost = inner.outside.temper(key.0).loses_hooks;
    if inner.rng.u16(..1000) >= lost {
        report(inner, key, Source::Hook, Confidence::High, reading);
    }
}

fn report(inner: &mut Inner, key: Key, source: Source, confidence: Confidence, reading: Reading) {
    let signal = Signal { attempt: key.1, source, at: inner.wall(), confidence, reading };
    send(inner, Report::Signal { session: key.0, signal });
}

/// Puts a report on the line, where it may be lost, doubled, or overtaken.
fn send(inner: &mut Inner, report: Report) {
    let now = inner.elapsed();
    let bad = inner.outside.bad_line;
    let mut odd = || inner.rng.u16(..1000) < bad;
    let (lost, doubled, late) = (odd(), odd(), odd());
    if lost {
        return;
    }
    let delay = if late { inner.rng.u64(1_000..40_000) } else { 0 };
    if doubled {
        let again = now + inner.rng.u64(0..60_000);
        inner.outside.plan(again, Happening::Report(report.clone()));
    }
    inner.outside.plan(now + delay, Happening::Report(report));
}
