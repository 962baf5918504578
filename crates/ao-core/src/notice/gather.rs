//! Notices that have waited, told as one.

use super::{About, Hold, Level, Notice, NoticeEvent, Way};
use crate::event::Event;
use crate::incident::Subject;
use crate::state::State;
use crate::{NoticeId, Timestamp};

/// So many that waited for the end of quiet hours are told one by one; more would be a flood.
const ONE_BY_ONE: usize = 3;
/// What a line says of one notice, and how many lines there are.
const LINE: usize = 300;
const LINES: usize = 200;

/// Lets go what a channel has held until now: as it is, or gathered into one notice. That and the end of those it was made
/// from are one step, so that none is lost and none is told twice.
pub(super) fn release(state: &State, channel: &str, now: Timestamp, digests: &mut u64) -> Vec<Event> {
    let held = |hold: Hold| {
        state.notices.values().filter(move |notice| {
            let way = notice.way(channel);
            way.is_some_and(|way| way.held == Some(hold) && way.again_at.is_some_and(|at| at <= now))
        })
    };
    let quiet: Vec<&Notice> = held(Hold::Quiet).collect();
    let mut gathered: Vec<&Notice> = held(Hold::Digest).collect();
    let mut events = Vec::new();
    if quiet.len() > ONE_BY_ONE {
        gathered.extend(quiet);
        gathered.sort_by_key(|notice| notice.id);
    } else {
        events.extend(
            quiet.iter().map(|notice| {
                Event::Notice(notice.id, NoticeEvent::Released { channel: channel.to_owned() })
            }),
        );
    }
    if !gathered.is_empty() {
        let id = NoticeId(state.next_notice().0.saturating_add(*digests));
        *digests += 1;
        events.push(Event::Notice(id, NoticeEvent::Raised { notice: digest(id, channel, &gathered) }));
        let into = |notice: &&Notice| {
            Event::Notice(notice.id, NoticeEvent::Gathered { channel: channel.to_owned(), into: id })
        };
        events.extend(gathered.iter().map(into));
    }
    events
}

fn digest(id: NoticeId, channel: &str, notices: &[&Notice]) -> Notice {
    let level = notices.iter().map(|notice| notice.level).max().unwrap_or(Level::Info);
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
            About { project: project.filter(|_| shared), ..About::default() }
        }
        [] => About::default(),
    };
    Notice {
        channel: Some(channel.to_owned()),
        about,
        gathered: count,
        ways: Some([(channel.to_owned(), Way::default())].into()),
        ..Notice::new(id, level, subject, &format!("digest {channel} {id}"), &text)
    }
}

/// What all of them are about, if it is one thing.
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
            // Of one that was gathered before, the lines, without what stands above them.
            2.. => notice.text.lines().skip(1).map(str::to_owned).collect(),
            _ => vec![line(notice)],
        })
        .collect();
    let more = lines.len().saturating_sub(LINES);
    lines.truncate(LINES);
    if more > 0 {
        lines.push(format!("… and {more} more; `ao events` has them"));
    }
    format!("{count} notices:\n{}", lines.join("\n"))
}

fn line(notice: &Notice) -> String {
    let words: Vec<&str> = notice.text.split_whitespace().collect();
    let words = words.join(" ");
    let mut short: String = words.chars().take(LINE).collect();
    if short.len() < words.len() {
        short.push('…');
    }
    format!("· {}: {short}", level(notice.level))
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Info => "info",
        Level::Warning => "warning",
        Level::Action => "action",
        Level::Urgent => "urgent",
    }
}
