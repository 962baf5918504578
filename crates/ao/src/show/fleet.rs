//! Renders all work at a glance, starting with what waits for a person.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

use ao_api::{
    NextParty, ProgressStage, PullWork, Queue, ReviewProgress, Session, SessionState, Timestamp, WorkState,
};

use super::table::{TableCell, TextTable};
use super::{Canvas, words, work};
use crate::ui;

/// Everything to show.
#[derive(Debug, Clone, Copy)]
pub struct FleetView<'a> {
    pub sessions: &'a [Session],
    /// Open pull requests that none of the sessions owns.
    pub pulls: &'a [PullWork],
    /// Queue positions, by session id.
    pub queues: &'a BTreeMap<String, Queue>,
}

/// Maximum number of ended sessions at a glance.
const ENDED_SHOWN: usize = 5;
/// Up to this many sessions with the same need, each is shown with its commands.
const COMMANDS_EACH: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FleetGroup {
    NeedsYou,
    Idle,
    AtWork,
    OnItsWay,
    Waiting,
    /// A state that this version does not know.
    Other,
    Ended,
}

const GROUPS: [(FleetGroup, &str, &str); 7] = [
    (FleetGroup::NeedsYou, "Needs you", "needs you"),
    (FleetGroup::Idle, "Idle", "idle"),
    (FleetGroup::AtWork, "At work", "at work"),
    (FleetGroup::OnItsWay, "In checks or merge queue", "in checks or queue"),
    (FleetGroup::Waiting, "Waiting", "waiting"),
    (FleetGroup::Other, "Others", "in other states"),
    (FleetGroup::Ended, "Ended", "ended"),
];

/// A session, or a pull request without one.
#[derive(Clone, Copy)]
enum FleetMember<'a> {
    Session(&'a Session),
    Pull(&'a PullWork),
}

pub fn fleet(fleet: FleetView<'_>, canvas: Canvas) -> String {
    if fleet.sessions.is_empty() && fleet.pulls.is_empty() {
        return "no sessions yet\n\nStart one with `ao spawn ISSUE`, or with `ao new \"what is to be done\"`.\n".into();
    }
    let mut drawn = String::new();
    let mut counts = Vec::new();
    let all: Vec<FleetMember<'_>> = fleet
        .sessions
        .iter()
        .map(FleetMember::Session)
        .chain(fleet.pulls.iter().map(FleetMember::Pull))
        .collect();
    let several = all.iter().any(|member| member.project() != all[0].project());
    for (group, title, in_words) in GROUPS {
        let members = members(&fleet, &all, group);
        if members.is_empty() {
            continue;
        }
        counts.push(match (group, members.len()) {
            (FleetGroup::NeedsYou, 2..) => format!("{} need you", members.len()),
            (_, count) => format!("{count} {in_words}"),
        });
        let style = ui::TITLE;
        let _ = writeln!(drawn, "{style}{title}{style:#}");
        drawn.push_str(&rows(&fleet, group, &members, several, canvas).draw(canvas.width));
        drawn.push('\n');
    }
    let mut total = ui::count(fleet.sessions.len() as u64, "session");
    if !fleet.pulls.is_empty() {
        let _ = write!(total, ", {}", ui::count(fleet.pulls.len() as u64, "other pull request"));
    }
    let _ = writeln!(drawn, "{total}: {}", counts.join(", "));
    drawn
}

/// Returns the members of a group, longest in their state first. Of those that need a person, the one that blocks
/// most comes first; of the ended, the last to end.
fn members<'a>(fleet: &FleetView<'a>, all: &[FleetMember<'a>], group: FleetGroup) -> Vec<FleetMember<'a>> {
    let mut members: Vec<FleetMember<'_>> =
        all.iter().copied().filter(|member| member.group() == group).collect();
    members.sort_by(|a, b| (a.since(), a.name()).cmp(&(b.since(), b.name())));
    // Stable, so that equal ranks stay in the order of their age.
    match group {
        FleetGroup::NeedsYou => members.sort_by_key(|member| Reverse(member.work().unblocks)),
        FleetGroup::Waiting => {
            members.sort_by_key(|member| member.queue(fleet).map_or(0, |queue| queue.before + 1));
        }
        FleetGroup::Ended => members.reverse(),
        _ => {}
    }
    members
}

impl<'a> FleetMember<'a> {
    fn work(self) -> &'a WorkState {
        match self {
            FleetMember::Session(session) => &session.work,
            FleetMember::Pull(pull) => &pull.work,
        }
    }

    fn project(self) -> &'a str {
        match self {
            FleetMember::Session(session) => &session.project_id,
            FleetMember::Pull(pull) => &pull.project_id,
        }
    }

    fn name(self) -> &'a str {
        match self {
            FleetMember::Session(session) => &session.name,
            FleetMember::Pull(pull) => pull.work.pull.as_ref().map_or("-", |pull| pull.id.as_str()),
        }
    }

    fn since(self) -> Option<Timestamp> {
        match self {
            FleetMember::Session(session) => Some(work::since(session)),
            FleetMember::Pull(pull) => pull.work.since,
        }
    }

    fn stage(self) -> String {
        match self {
            FleetMember::Session(session) => work::stage(session),
            FleetMember::Pull(pull) => words::spaced(pull.work.stage),
        }
    }

    fn state(self) -> Option<SessionState> {
        match self {
            FleetMember::Session(session) => Some(session.status.state),
            FleetMember::Pull(_) => None,
        }
    }

    /// Returns the title of its task or its pull request.
    fn title(self) -> String {
        match self {
            FleetMember::Session(session) => words::task(session),
            FleetMember::Pull(pull) => {
                pull.work.pull.as_ref().map(|pull| pull.title.clone()).unwrap_or_default()
            }
        }
    }

    fn queue(self, fleet: &FleetView<'a>) -> Option<&'a Queue> {
        match self {
            FleetMember::Session(session) => fleet.queues.get(&session.id),
            FleetMember::Pull(_) => None,
        }
    }

    fn group(self) -> FleetGroup {
        match self.work().turn {
            NextParty::You => FleetGroup::NeedsYou,
            NextParty::Checks | NextParty::Queue => FleetGroup::OnItsWay,
            NextParty::Done => FleetGroup::Ended,
            NextParty::Wait => FleetGroup::Waiting,
            NextParty::Agent if self.work().stage == ProgressStage::Idle => FleetGroup::Idle,
            NextParty::Agent => FleetGroup::AtWork,
            NextParty::Unknown => FleetGroup::Other,
        }
    }
}

fn rows(
    fleet: &FleetView<'_>,
    group: FleetGroup,
    members: &[FleetMember<'_>],
    several: bool,
    canvas: Canvas,
) -> TextTable {
    const COLUMNS: [&str; 8] = ["session", "stage", "for", "pull", "checks", "review?", "project?", "work"];
    let mut table = TextTable::new(&COLUMNS).without_heading().indented(2);
    let most = if group == FleetGroup::Ended { ENDED_SHOWN } else { usize::MAX };
    let is_plain = |member: &FleetMember<'_>| {
        group == FleetGroup::NeedsYou && member.work().stage == ProgressStage::Review
    };
    let fold = members.iter().filter(|member| is_plain(member)).count() > COMMANDS_EACH;
    for member in members.iter().take(most) {
        let state = work_cells(*member, several, canvas);
        let queue = member.queue(fleet);
        table
            .row(state.into_iter().chain([TableCell::new(about(*member, group, queue))]).collect::<Vec<_>>());
        if group != FleetGroup::NeedsYou {
            continue;
        }
        if let Some(why) = why(*member) {
            table.line(TableCell::new(format!("  {why}")));
        }
        let folded = fold && is_plain(member);
        if let Some(next) = next_of(*member).filter(|_| !folded) {
            table.line(TableCell::styled(format!("  → {next}"), ui::FAINT));
        }
    }
    if fold {
        let each =
            "→ for each: ao pr diff PR  then  ao approve PR; `ao advise` ranks them by what they block";
        table.line(TableCell::styled(each, ui::FAINT));
    }
    if members.len() > most {
        let more = members.len() - most;
        table.line(TableCell::styled(format!("and {more} more; `ao list` shows all"), ui::FAINT));
    }
    table
}

fn work_cells(member: FleetMember<'_>, several: bool, canvas: Canvas) -> [TableCell; 7] {
    let work = member.work();
    let (checks, colour) = work::checks(work);
    [
        TableCell::styled(member.name(), ui::TITLE),
        TableCell::styled(member.stage(), work::style(work, member.state())),
        TableCell::new(member.since().map(|since| words::age(since, canvas.now)).unwrap_or_default()),
        TableCell::new(work::pull(work)),
        TableCell::styled(checks, colour),
        TableCell::new(work::review(work)),
        TableCell::new(if several { member.project() } else { "" }),
    ]
}

/// Describes the task and, if no person is needed, what happens next.
fn about(member: FleetMember<'_>, group: FleetGroup, queue: Option<&Queue>) -> String {
    let FleetMember::Session(session) = member else { return member.title() };
    let mut about = vec![member.title()];
    about.extend(remarks(session));
    match group {
        FleetGroup::NeedsYou => {}
        FleetGroup::Waiting => about.push(queue.map_or_else(|| session.work.says.clone(), place)),
        FleetGroup::OnItsWay => about.push(session.work.says.clone()),
        _ => about.push(session.status.reason.clone()),
    }
    about.retain(|part| !part.is_empty());
    about.join(" · ")
}

/// Lists problems on the way, in any state.
fn remarks(session: &Session) -> Vec<String> {
    let mut remarks = Vec::new();
    if session.messages_failed > 0 {
        remarks.push(format!("{} not accepted", ui::count(u64::from(session.messages_failed), "message")));
    }
    if session.denied_tools > 0 {
        remarks.push(format!("{} denied", ui::count(session.denied_tools, "tool call")));
    }
    if session.messages_waiting > 0 {
        let messages = ui::count(u64::from(session.messages_waiting), "message");
        let wait = if session.messages_waiting == 1 { "waits" } else { "wait" };
        remarks.push(format!("{messages} {wait}"));
    }
    remarks
}

/// Explains why it needs a person, unless the stage is enough: the question, the failure, the number of blocked
/// sessions.
fn why(member: FleetMember<'_>) -> Option<String> {
    let work = member.work();
    let says = match (member, work.stage) {
        (FleetMember::Session(session), ProgressStage::Unknown) => {
            Some(session.status.question.clone().unwrap_or_else(|| session.status.reason.clone()))
        }
        (FleetMember::Session(session), ProgressStage::Question) => {
            Some(session.status.question.clone().unwrap_or_else(|| work.says.clone()))
        }
        (_, ProgressStage::Review | ProgressStage::Merge)
            if work.pull.as_ref().is_some_and(|pull| {
                matches!(pull.review, ReviewProgress::Waiting | ReviewProgress::Approved)
            }) =>
        {
            None
        }
        _ => Some(work.says.clone()),
    };
    let parts: Vec<String> =
        says.into_iter().chain(work::blocks(work)).filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Describes a queue position.
pub(super) fn place(queue: &Queue) -> String {
    let place = match queue.before {
        0 => "next in line".to_owned(),
        before => format!("{before} before it"),
    };
    match &queue.obstacle {
        Some(obstacle) => format!("{place}; {obstacle}"),
        None => place,
    }
}

fn next_of(member: FleetMember<'_>) -> Option<String> {
    match member {
        FleetMember::Session(session) => next(session),
        FleetMember::Pull(pull) => work::commands(&pull.work),
    }
}

/// Returns the next command for a session that waits for a person.
pub(super) fn next(session: &Session) -> Option<String> {
    let name = &session.name;
    let by_state = match session.status.state {
        SessionState::NeedsInput => match session.status.question_number {
            Some(number) => format!("ao answer {name} … --ask {number}  or  ao attach {name}"),
            None => format!("ao attach {name}"),
        },
        SessionState::Blocked | SessionState::Unknown => format!("ao explain {name}  or  ao attach {name}"),
        SessionState::SetupFailed => format!("ao logs {name} --setup  then  ao retry {name}"),
        SessionState::Exited if session.can_restore => {
            format!("ao session restore {name}  or  ao stop {name}")
        }
        SessionState::Exited => format!("ao logs {name}  then  ao stop {name}"),
        SessionState::Capped => format!("ao resume {name}  shows which limit it needs"),
        _ => String::new(),
    };
    use ProgressStage::{Budget, Question, Stuck, Unknown};
    match session.work.stage {
        // The needs of the process are those of its work.
        Unknown | Question | Stuck | Budget if !by_state.is_empty() => Some(by_state),
        _ => work::commands(&session.work),
    }
}
