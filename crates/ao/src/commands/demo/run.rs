//! The course of the demo: issues are created, agents work on them, and the people play their part.
//!
//! ```text
//!  events ──► history ─┐
//!  sessions, pulls ────┴─► states ──► view
//!                       └─► the reviewer: requests changes once, approves green changes
//!                       └─► the person: approves the protected change
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal};
use std::time::Duration;

use ao_api::client::{Client, EventStream, PullQuery};
use ao_api::{
    Pull, PullChecks, PullMergeability, PullReview, PullStateFilter, PullStatus, Session, SessionState,
};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use super::environment::DemoEnvironment;
use super::history::EventHistory;
use super::sample::{DemoIssue, PROTECTED};
use super::view::{IssueState, LiveView, StateTone};
use super::{Args, failed, summary};
use crate::error::CommandError;

/// Time limit: scripts are quick, models are not.
const SCRIPTS: Duration = Duration::from_secs(150);
const MODELS: Duration = Duration::from_secs(45 * 60);
/// Time for a green change to be merged by its rules alone before the reviewer looks at it.
const UNASKED: Duration = Duration::from_secs(2);
/// Interval of looks without events.
const LOOK: Duration = Duration::from_millis(400);

const RUN_AGAIN: &str = "has a red check; it is run again first";
const REPAIRED: &str = "has a red check; its agent repairs it";
const ASKED: &str = "is asked for more by a reviewer; its agent answers";
const REBASED: &str = "conflicts with main; its agent rebases it";

/// States worth showing even if they have passed by the next look.
const MOMENTS: [(&str, &str); 4] = [
    ("incident.doubted ci-failed", RUN_AGAIN),
    ("incident.acted ci-failed", REPAIRED),
    ("incident.acted changes-requested", ASKED),
    ("incident.acted merge-conflicts", REBASED),
];

/// One issue, with its session and pull request.
#[derive(Debug, Clone, Default)]
pub(super) struct IssueProgress {
    pub(super) session: Option<Session>,
    pub(super) pull: Option<Pull>,
    /// Seconds from the start to the merge.
    pub(super) merged_after: Option<f64>,
}

pub(super) struct DemoRun<'a> {
    stage: &'a DemoEnvironment,
    client: Client,
    events: EventStream,
    pub(super) history: EventHistory,
    pub(super) view: LiveView,
    /// In the order of [`DemoIssue::ALL`].
    pub(super) parts: Vec<IssueProgress>,
    pub(super) person: PersonState,
    /// The reviewer has requested changes.
    asked_for_more: bool,
    pub(super) reviews: usize,
    /// The time since which a head is green, by pull request.
    green: BTreeMap<(String, String), Instant>,
    /// The moments that were shown, by pull request.
    shown: BTreeSet<(String, &'static str)>,
}

/// The state of the person's approval.
#[derive(Debug)]
pub(super) enum PersonState {
    NotAskedYet,
    Thinks(Option<oneshot::Receiver<bool>>),
    /// There is no terminal, so the person cannot be asked.
    Away,
    LetThrough,
}

pub(super) async fn run(stage: &DemoEnvironment, args: &Args) -> Result<(), CommandError> {
    let client = stage.set_up().await?;
    for tale in DemoIssue::ALL {
        stage.ao(&["issue", "add", tale.title(), "--body", tale.body()]).await?;
    }
    let events = client.events(Some(0), None).await?;
    let mut story = DemoRun {
        stage,
        client,
        events,
        history: EventHistory::default(),
        view: LiveView::new(),
        parts: vec![IssueProgress::default(); DemoIssue::ALL.len()],
        person: PersonState::NotAskedYet,
        asked_for_more: false,
        reviews: 0,
        green: BTreeMap::new(),
        shown: BTreeSet::new(),
    };
    story.view.say("Six issues, six agents, one repository. From here on `ao` does the rest.\n")?;
    let numbers: Vec<String> = (1..=DemoIssue::ALL.len()).map(|number| number.to_string()).collect();
    let numbers = numbers.iter().map(String::as_str);
    stage.ao(&std::iter::once("batch-spawn").chain(numbers).collect::<Vec<_>>()).await?;
    story.goes_on(args).await?;
    summary::sum_up(&mut story, stage).await
}

impl DemoRun<'_> {
    async fn goes_on(&mut self, args: &Args) -> Result<(), CommandError> {
        let patience = if self.stage.agent.is_some() { MODELS } else { SCRIPTS };
        let mut until = Instant::now() + patience;
        loop {
            self.hear().await?;
            self.look().await?;
            self.show_moments()?;
            let scenes = DemoIssue::ALL.into_iter().map(|tale| self.scene(tale)).collect();
            self.view.show(scenes)?;
            self.review().await?;
            self.ask_the_person(args).await?;
            if self.is_over() {
                return Ok(());
            }
            if let Some(what) = self.came_to_nothing() {
                return Err(failed(what));
            }
            // A person may take any time.
            if matches!(self.person, PersonState::Thinks(_)) {
                until = Instant::now() + patience;
            }
            if Instant::now() > until {
                let left: Vec<String> = DemoIssue::ALL
                    .into_iter()
                    .filter(|tale| !self.is_merged(*tale))
                    .map(|tale| format!("{} ({})", tale.title(), self.scene(tale).words))
                    .collect();
                let what = format!("not done after {} s: {}", patience.as_secs(), left.join("; "));
                return Err(failed(what));
            }
        }
    }

    /// Reads new events, waiting for one only briefly.
    async fn hear(&mut self) -> Result<(), CommandError> {
        let latest = Instant::now() + LOOK;
        let mut quiet = LOOK;
        while let Ok(heard) = timeout(quiet, self.events.next()).await {
            match heard? {
                Some(event) => self.history.take(&event),
                None => return Err(failed("the daemon has gone away".into())),
            }
            // Events come in bursts; one look after a burst is enough.
            quiet = Duration::from_millis(30);
            if Instant::now() > latest {
                break;
            }
        }
        Ok(())
    }

    async fn look(&mut self) -> Result<(), CommandError> {
        let sessions = self.client.sessions().await?.sessions;
        let pulls = self
            .client
            .pulls(&PullQuery { state: Some(PullStateFilter::All), ..PullQuery::default() })
            .await?
            .pulls;
        let elapsed = self.view.elapsed();
        for (number, part) in (1..).zip(&mut self.parts) {
            let issue = number.to_string();
            if let Some(session) = sessions.iter().find(|session| session.issue.as_deref() == Some(&issue)) {
                part.session = Some(session.clone());
            }
            let Some(session) = &part.session else { continue };
            let known = part.pull.as_ref().map(|pull| pull.id.as_str());
            let its = |pull: &&Pull| known == Some(&pull.id) || session.pulls.contains(&pull.id);
            if let Some(pull) = pulls.iter().find(its) {
                if pull.state == PullStatus::Merged && part.merged_after.is_none() {
                    part.merged_after = Some(elapsed);
                }
                part.pull = Some(pull.clone());
            }
        }
        Ok(())
    }

    pub(super) fn part(&self, tale: DemoIssue) -> &IssueProgress {
        let at = DemoIssue::ALL.iter().position(|it| *it == tale).unwrap_or_default();
        &self.parts[at]
    }

    pub(super) fn is_merged(&self, tale: DemoIssue) -> bool {
        self.part(tale).pull.as_ref().is_some_and(|pull| pull.state == PullStatus::Merged)
    }

    /// Returns true if everything has landed, except what needs an absent person.
    fn is_over(&self) -> bool {
        let away = matches!(self.person, PersonState::Away);
        DemoIssue::ALL.into_iter().all(|tale| self.is_merged(tale) || (away && tale == DemoIssue::Protected))
    }

    /// Returns an issue that cannot proceed: its agent has exited for good without a pull request.
    fn came_to_nothing(&self) -> Option<String> {
        let gone = |part: &&IssueProgress| {
            let state = part.session.as_ref().map(|session| session.status.state);
            part.pull.is_none() && matches!(state, Some(SessionState::Exited | SessionState::SetupFailed))
        };
        let session = self.parts.iter().find(gone)?.session.as_ref()?;
        Some(format!("nothing came of `{}`: {}", session.title, session.status.reason))
    }

    /// Counts the events of a kind for an issue's pull request.
    pub(super) fn times(&self, tale: DemoIssue, kind: &str) -> u32 {
        self.part(tale).pull.as_ref().map_or(0, |pull| self.history.count(&pull.id, kind))
    }

    /// Counts the turns of an issue's agent.
    pub(super) fn turns(&self, tale: DemoIssue) -> u32 {
        let session = self.part(tale).session.as_ref();
        session.map_or(0, |session| self.history.count(&session.id, "session.accepted"))
    }

    /// Shows the events since the last look, however brief.
    fn show_moments(&mut self) -> Result<(), CommandError> {
        for tale in DemoIssue::ALL {
            let Some(id) = self.part(tale).pull.as_ref().map(|pull| pull.id.clone()) else { continue };
            for (kind, words) in MOMENTS {
                if self.times(tale, kind) > 0 && self.shown.insert((id.clone(), kind)) {
                    let scene = IssueState { tone: StateTone::Busy, words: format!("{id} {words}") };
                    self.view.moment(tale, scene)?;
                }
            }
        }
        Ok(())
    }

    /// Describes the state of an issue in a few words.
    fn scene(&self, tale: DemoIssue) -> IssueState {
        let scene = |tone, words: &str| IssueState { tone, words: words.to_owned() };
        let part = self.part(tale);
        let Some(session) = &part.session else { return scene(StateTone::Quiet, "not begun") };
        let works = session.status.state == SessionState::Working;
        let Some(pull) = &part.pull else {
            let words = match session.status.state {
                SessionState::Working => format!("{} works on it in {}", session.name, session.branch),
                state => state.to_string().replace('_', " "),
            };
            return scene(StateTone::Quiet, &words);
        };
        let id = &pull.id;
        if pull.state == PullStatus::Merged {
            return scene(StateTone::Good, &format!("merged as {id}"));
        }
        if pull.mergeable == PullMergeability::Conflict {
            return scene(StateTone::Busy, &format!("{id} {REBASED}"));
        }
        match (pull.checks, pull.review) {
            (PullChecks::Failed, _) if self.times(tale, "incident.acted ci-failed") > 0 => {
                scene(StateTone::Busy, &format!("{id} {REPAIRED}"))
            }
            (PullChecks::Failed, _) => scene(StateTone::Busy, &format!("{id} {RUN_AGAIN}")),
            (_, PullReview::ChangesRequested) => scene(StateTone::Busy, &format!("{id} {ASKED}")),
            (PullChecks::Passed, PullReview::Approved) => {
                scene(StateTone::Quiet, &format!("{id} is green and in the merge queue"))
            }
            (PullChecks::Passed, _) if tale == DemoIssue::Protected => {
                scene(StateTone::Busy, &format!("{id} is green, touches {PROTECTED}, and waits for you"))
            }
            (PullChecks::Passed, _) => scene(StateTone::Quiet, &format!("{id} is green")),
            _ if works => scene(StateTone::Quiet, &format!("{id}: its agent works on it")),
            _ => scene(StateTone::Quiet, &format!("{id} is being checked")),
        }
    }

    /// Plays the reviewer: requests changes once, and approves green changes that do not merge by themselves, unless
    /// the person has to.
    async fn review(&mut self) -> Result<(), CommandError> {
        for tale in DemoIssue::ALL {
            let Some(pull) = self.part(tale).pull.clone().filter(|pull| pull.state == PullStatus::Open)
            else {
                continue;
            };
            let number = pull.number.to_string();
            if tale == DemoIssue::Review && !self.asked_for_more {
                let detail = self.client.pull(&pull.id.as_str().into()).await?;
                let Some(file) = detail.files.first() else { continue };
                let (at, ask) =
                    (format!("{file}:2"), "What if no number is given? It should greet once then.");
                let ask = ["pr", "review", &number, "--request-changes", "--at", &at, ask];
                // If the head has just moved, it is reviewed at the next look.
                self.asked_for_more = self.stage.try_ao(&ask).await?.status.success();
                self.reviews += usize::from(self.asked_for_more);
                continue;
            }
            let ready =
                pull.checks == PullChecks::Passed && !pull.draft && pull.review != PullReview::Approved;
            if !ready {
                continue;
            }
            let green = self.green.entry((pull.id.clone(), pull.head.clone())).or_insert_with(Instant::now);
            // The reviewer who requested changes approves them. Changes that the rules merge need no reviewer.
            let waits = tale == DemoIssue::Review || green.elapsed() > UNASKED;
            if waits && tale != DemoIssue::Protected && pull.mergeable != PullMergeability::Conflict {
                if tale == DemoIssue::Review {
                    self.stage.try_ao(&["pr", "resolve", &number, "t1"]).await?;
                }
                let approved = self.stage.try_ao(&["pr", "approve", &number, "--head", &pull.head]).await?;
                self.reviews += usize::from(approved.status.success());
            }
        }
        Ok(())
    }

    /// Asks the person at the terminal once, when everything else is done.
    async fn ask_the_person(&mut self, args: &Args) -> Result<(), CommandError> {
        let Some(pull) = self.part(DemoIssue::Protected).pull.clone() else { return Ok(()) };
        let others_merged =
            DemoIssue::ALL.into_iter().all(|tale| tale == DemoIssue::Protected || self.is_merged(tale));
        if pull.state != PullStatus::Open || pull.checks != PullChecks::Passed || !others_merged {
            return Ok(());
        }
        match &mut self.person {
            PersonState::NotAskedYet if args.yes => self.let_through(&pull).await,
            PersonState::NotAskedYet => {
                let command = self.stage.typed(&format!("approve {}", pull.id));
                let watched = io::stdin().is_terminal() && io::stdout().is_terminal();
                let words = format!(
                    "\n{} changes {PROTECTED}, which needs your approval. To approve it:\n  {command}",
                    pull.id
                );
                self.view.say(&words)?;
                self.person = match watched {
                    true => {
                        self.view.say("or press Enter here.\n")?;
                        PersonState::Thinks(Some(a_key()))
                    }
                    false => PersonState::Away,
                };
                Ok(())
            }
            PersonState::Thinks(key) => match key.as_mut().map(oneshot::Receiver::try_recv) {
                Some(Ok(true)) => self.let_through(&pull).await,
                // The input has ended; the person can use another terminal.
                Some(Ok(false) | Err(oneshot::error::TryRecvError::Closed)) => {
                    *key = None;
                    Ok(())
                }
                _ => Ok(()),
            },
            PersonState::Away | PersonState::LetThrough => Ok(()),
        }
    }

    async fn let_through(&mut self, pull: &Pull) -> Result<(), CommandError> {
        self.stage.ao(&["approve", &pull.id]).await?;
        self.person = PersonState::LetThrough;
        Ok(())
    }
}

/// Waits for Enter, in a thread that is not joined.
fn a_key() -> oneshot::Receiver<bool> {
    let (pressed, waits) = oneshot::channel();
    std::thread::spawn(move || {
        let read = io::stdin().read_line(&mut String::new());
        let _ = pressed.send(read.is_ok_and(|bytes| bytes > 0));
    });
    waits
}
