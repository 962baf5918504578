//! Combines notices that have waited into one.

use std::time::Duration;

use super::{ChannelProgress, Notice, NoticeContext, NoticeEvent, NoticeHold, NoticeLevel};
use crate::event::Event;
use crate::incident::{IncidentKind, Subject};
use crate::outside::cut;
use crate::state::State;
use crate::{NoticeId, Timestamp};

/// The number of notices that are sent one by one after quiet hours; more are combined.
const ONE_BY_ONE: usize = 3;
/// The lull after which a burst is sent, and the longest delay after its first notice.
const LULL: Duration = Duration::from_secs(20);
const LULL_MOST: Duration = Duration::from_secs(120);
/// The time between two bursts on one channel.
const BETWEEN_BURSTS: Duration = Duration::from_secs(600);
/// The length of a line about one notice, and the number of lines.
const LINE: usize = 300;
const LINES: usize = 200;

/// Releases the notices that a channel has held until now: as they are, or combined into one. The new notice and the
/// end of the old ones are one step, so that none is lost and none is sent twice.
pub(super) fn release(state: &State, channel: &str, now: Timestamp, digests: &mut u64) -> Vec<Event> {
    let held = |hold: NoticeHold| {
        state.notices.values().filter(move |notice| {
            let way = notice.way(channel);
            way.is_some_and(|way| way.held == Some(hold) && way.again_at.is_some_and(|at| at <= now))
        })
    };
    let quiet: Vec<&Notice> = held(NoticeHold::Quiet).collect();
    let mut together: Vec<&Notice> = held(NoticeHold::Digest).collect();
    let mut events = Vec::new();
    if quiet.len() > ONE_BY_ONE {
        together.extend(quiet);
        together.sort_by_key(|notice| notice.id);
    } else {
        events.extend(
            quiet.iter().map(|notice| {
                Event::Notice(notice.id, NoticeEvent::Released { channel: channel.to_owned() })
            }),
        );
    }
    if !together.is_empty() {
        events.extend(gathered(state, channel, &together, digests));
    }
    events
}

/// Holds a notice that may be one of many until no more come, and until some time after the last burst.
pub(super) fn await_others(state: &State, channel: &str, now: Timestamp) -> NoticeEvent {
    let last = state.channels.get(channel).and_then(|record| record.burst_at);
    let until = last.map_or(now, |last| last + BETWEEN_BURSTS).max(now + LULL);
    NoticeEvent::Held { channel: channel.to_owned(), until, hold: NoticeHold::Burst }
}

/// Releases the notices that a channel has held because more could come, once no more do: a few one by one, many as
/// one. Notices of resolved problems are dropped. A problem that is absent for a moment may return, so its notice is
/// held until it does or is resolved.
pub(super) fn release_burst(state: &State, channel: &str, now: Timestamp, digests: &mut u64) -> Vec<Event> {
    let incident = |notice: &Notice| notice.incident.as_ref().and_then(|key| state.incidents.get(key));
    let is_away = |notice: &Notice| incident(notice).is_some_and(|incident| incident.absent.is_some());
    let all = || state.notices.values().filter(|notice| notice.awaits_others(channel));
    let held = || all().filter(|notice| !is_away(notice));
    let is_due = |notice: &&Notice| notice.way(channel).and_then(|way| way.again_at) <= Some(now);
    let away = all().filter(|notice| is_away(notice)).filter(is_due).map(|notice| {
        let (channel, until) = (channel.to_owned(), now + LULL);
        Event::Notice(notice.id, NoticeEvent::Held { channel, until, hold: NoticeHold::Burst })
    });
    let away: Vec<Event> = away.collect();
    let ways = || held().filter_map(|notice| notice.way(channel));
    let first = ways().filter_map(|way| way.held_since).min().unwrap_or(now);
    // Each waits for a lull after itself, so the newest determines the end of the burst.
    let quiet = ways().filter_map(|way| way.again_at).max().unwrap_or(now).min((first + LULL_MOST).max(now));
    let to = channel.to_owned();
    if quiet > now {
        let due = held().filter(is_due);
        let wait = |notice: &Notice| {
            Event::Notice(
                notice.id,
                NoticeEvent::Held { channel: to.clone(), until: quiet, hold: NoticeHold::Burst },
            )
        };
        return due.map(wait).chain(away).collect();
    }
    let (over, told): (Vec<&Notice>, Vec<&Notice>) = held().partition(|notice| incident(notice).is_none());
    let withdrawn = over
        .iter()
        .map(|notice| Event::Notice(notice.id, NoticeEvent::Withdrawn { why: "it is over".into() }));
    let mut events: Vec<Event> = away.into_iter().chain(withdrawn).collect();
    if told.len() > ONE_BY_ONE {
        events.extend(gathered(state, channel, &told, digests));
    } else {
        let released = |notice: &&Notice| {
            Event::Notice(notice.id, NoticeEvent::Released { channel: channel.to_owned() })
        };
        events.extend(told.iter().map(released));
    }
    events
}

/// Combines many notices into one.
fn gathered(state: &State, channel: &str, notices: &[&Notice], digests: &mut u64) -> Vec<Event> {
    let id = NoticeId(state.next_notice().0.saturating_add(*digests));
    *digests += 1;
    let raised = Event::Notice(id, NoticeEvent::Raised { notice: digest(id, channel, notices) });
    let into = |notice: &&Notice| {
        Event::Notice(notice.id, NoticeEvent::Gathered { channel: channel.to_owned(), into: id })
    };
    std::iter::once(raised).chain(notices.iter().map(into)).collect()
}

fn digest(id: NoticeId, channel: &str, notices: &[&Notice]) -> Notice {
    let level = notices.iter().map(|notice| notice.level).max().unwrap_or(NoticeLevel::Info);
    let count: u32 = notices.iter().map(|notice| notice.gathered.max(1)).sum();
    let (subject, text) = match notices {
        [only] => (only.subject.clone(), only.text.clone()),
        _ => (common(notices), words(notices, count)),
    };
    let about = match notices {
        [first, rest @ ..] if rest.iter().all(|notice| notice.about == first.about) => first.about.clone(),
        [first, ..] => {
            let project = first.about.project.clone();
            let shared = notices.iter().all(|notice| notice.about.project == project);
            NoticeContext { project: project.filter(|_| shared), ..NoticeContext::default() }
        }
        [] => NoticeContext::default(),
    };
    Notice {
        channel: Some(channel.to_owned()),
        about,
        gathered: count,
        ways: Some([(channel.to_owned(), ChannelProgress::default())].into()),
        ..Notice::new(id, level, subject, &format!("digest {channel} {id}"), &text)
    }
}

/// Returns the common subject of all of them.
fn common(notices: &[&Notice]) -> Subject {
    let first = &notices[0];
    if notices.iter().all(|notice| notice.subject == first.subject) {
        return first.subject.clone();
    }
    match &first.about.project {
        Some(project) if notices.iter().all(|notice| notice.about.project.as_ref() == Some(project)) => {
            Subject::Project(project.clone())
        }
        _ => Subject::Host,
    }
}

fn words(notices: &[&Notice], count: u32) -> String {
    let mut lines: Vec<String> = notices
        .iter()
        .flat_map(|notice| match notice.gathered {
            // For a notice that was combined before: its lines, without the heading.
            2.. => notice.text.lines().skip(1).map(str::to_owned).collect(),
            _ => vec![line(notice)],
        })
        .collect();
    let more = lines.len().saturating_sub(LINES);
    lines.truncate(LINES);
    if more > 0 {
        lines.push(format!("… and {more} more; `ao events` has them"));
    }
    let what = match notices.iter().all(|notice| notice.comes_in_bursts()) {
        true => "pull requests wait for you",
        false => "notices",
    };
    format!("{count} {what}:\n{}", lines.join("\n"))
}

fn line(notice: &Notice) -> String {
    if notice.comes_in_bursts() {
        // The heading covers the rest.
        let said = notice.text.lines().next().unwrap_or_default();
        let said = said.replacen(IncidentKind::ReviewNeeded.default_message(), "", 1);
        return format!("· {}", cut(&said.split_whitespace().collect::<Vec<_>>().join(" "), LINE));
    }
    let words: Vec<&str> = notice.text.split_whitespace().collect();
    let words = words.join(" ");
    let mut short: String = words.chars().take(LINE).collect();
    if short.len() < words.len() {
        short.push('…');
    }
    format!("· {}: {short}", notice.level.word())
}
