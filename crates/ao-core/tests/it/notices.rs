//! What people are told, channel by channel: tried again, held, gathered, withdrawn.

use std::time::Duration;

use ao_core::evidence::{Reading, SignalSource};
use ao_core::incident::Subject;
use ao_core::notice::{Notice, NoticeHold, NoticeInput, NoticeLevel};
use ao_core::{Effect, Input, NoticeId, Scope, Timestamp, wants};

use crate::desk::{Desk, app, asking};

impl Desk {
    fn raise(&mut self, level: NoticeLevel, key: &str, text: &str) -> NoticeId {
        let subject = Subject::Project(app());
        self.take(Input::notify(level, subject, key, text));
        *self.state.notices.keys().next_back().expect("it is raised")
    }

    fn address(&mut self, notice: NoticeId, channels: &[&str]) {
        let channels = channels.iter().map(|&channel| channel.to_owned()).collect();
        self.input(notice, NoticeInput::Addressed { tries: 0, channels });
    }

    fn input(&mut self, notice: NoticeId, input: NoticeInput) {
        self.take(Input::Notice { notice, input });
    }

    fn tries(&self, notice: NoticeId, channel: &str) -> u32 {
        self.notice(notice).ways.as_ref().unwrap()[channel].tries
    }

    fn have_told(&mut self, notice: NoticeId, channel: &str) {
        let tries = self.tries(notice, channel);
        self.input(notice, NoticeInput::Told { channel: channel.into(), tries });
    }

    fn fails(&mut self, notice: NoticeId, channel: &str, wait: Option<u64>) {
        let (tries, wait) = (self.tries(notice, channel), wait.map(Duration::from_secs));
        let channel = Some(channel.into());
        self.input(notice, NoticeInput::Failed { channel, tries, why: "it is down".into(), wait });
    }

    fn hold(&mut self, notice: NoticeId, channel: &str, seconds: u64, hold: NoticeHold) {
        let (tries, until) = (self.tries(notice, channel), self.now + Duration::from_secs(seconds));
        self.input(notice, NoticeInput::Held { channel: channel.into(), tries, until, hold });
    }

    fn notice(&self, notice: NoticeId) -> &Notice {
        &self.state.notices[&notice]
    }

    /// What is to be told now, on which channel.
    fn to_tell(&self) -> Vec<String> {
        let ids = self.state.notices.keys();
        let wanted = ids.flat_map(|id| wants(&self.state, &Scope::Notice(*id)));
        let told = wanted.map(|effect| match effect {
            Effect::Notify { notice, channel } => format!("{}: {}", channel.unwrap_or_default(), notice.text),
            other => panic!("{other:?}"),
        });
        told.collect()
    }
}

#[test]
fn a_notice_goes_its_own_way_on_each_channel() {
    let mut desk = Desk::new();
    let notice = desk.raise(NoticeLevel::Info, "a", "done");
    assert_eq!(desk.to_tell(), [": done"], "first it is asked whom it is for");
    desk.address(notice, &["desk", "ops", "team"]);
    assert_eq!(desk.to_tell(), ["desk: done", "ops: done", "team: done"]);
    desk.have_told(notice, "desk");
    desk.fails(notice, "ops", None);
    // The third one hangs, and the second is tried again in its own time.
    desk.wait(1);
    assert_eq!(desk.to_tell(), ["ops: done", "team: done"]);
    desk.have_told(notice, "ops");
    assert_eq!(desk.to_tell(), ["team: done"]);
    desk.have_told(notice, "team");
    assert!(desk.state.notices.is_empty());
    assert_eq!((desk.count("notice.told"), desk.count("notice.sent")), (3, 1));
    assert_eq!(desk.state.channels["ops"].why, "it is down");
    assert!(desk.state.channels["ops"].told_at > desk.state.channels["ops"].failed_at);
}

#[test]
fn a_channel_that_always_fails_is_given_up_and_the_others_have_it() {
    let mut desk = Desk::new();
    let notice = desk.raise(NoticeLevel::Info, "a", "done");
    desk.address(notice, &["desk", "ops"]);
    desk.have_told(notice, "desk");
    let mut tries = 0;
    while desk.state.notices.contains_key(&notice) {
        desk.fails(notice, "ops", None);
        tries += 1;
        desk.wait(60);
    }
    assert_eq!(tries, desk.state.settings.notice_tries);
    assert_eq!((desk.count("notice.missed"), desk.count("notice.given_up")), (1, 1));
}

#[test]
fn a_channel_that_wants_to_be_left_alone_is() {
    for (wait, pause) in [(None, 1), (Some(0), 1), (Some(90), 90)] {
        let mut desk = Desk::new();
        let notice = desk.raise(NoticeLevel::Info, "a", "done");
        desk.address(notice, &["desk"]);
        desk.fails(notice, "desk", wait);
        desk.wait(pause - 1);
        assert!(desk.to_tell().is_empty(), "{wait:?}");
        desk.wait(1);
        assert_eq!(desk.to_tell(), ["desk: done"]);
    }
}

#[test]
fn with_nobody_to_tell_it_is_told() {
    let mut desk = Desk::new();
    let notice = desk.raise(NoticeLevel::Info, "a", "done");
    desk.address(notice, &[]);
    assert!(desk.state.notices.is_empty());
    assert_eq!(desk.count("notice.sent"), 1);
}

#[test]
fn a_late_word_changes_nothing() {
    let mut desk = Desk::new();
    let notice = desk.raise(NoticeLevel::Info, "a", "done");
    desk.address(notice, &["desk"]);
    desk.fails(notice, "desk", None);
    let before = desk.state.clone();
    for late in [
        NoticeInput::Addressed { tries: 0, channels: vec!["other".into()] },
        NoticeInput::Told { channel: "desk".into(), tries: 0 },
        NoticeInput::Told { channel: "stranger".into(), tries: 0 },
        NoticeInput::Failed { channel: Some("desk".into()), tries: 0, why: "late".into(), wait: None },
        NoticeInput::Failed { channel: None, tries: 0, why: "late".into(), wait: None },
        NoticeInput::Held { channel: "desk".into(), tries: 0, until: Timestamp(0), hold: NoticeHold::Quiet },
        NoticeInput::Due,
    ] {
        desk.input(notice, late);
    }
    assert_eq!(desk.state, before);
}

#[test]
fn what_is_held_waits_without_counting_and_then_comes() {
    let mut desk = Desk::new();
    let notices = ["a", "b", "c"].map(|key| desk.raise(NoticeLevel::Info, key, key));
    for notice in notices {
        desk.address(notice, &["desk", "team"]);
        desk.have_told(notice, "team");
        desk.hold(notice, "desk", 3600, NoticeHold::Quiet);
    }
    desk.wait(3599);
    assert!(desk.to_tell().is_empty());
    desk.wait(1);
    // Three are not many: each comes as itself, to the one who has not had it.
    assert_eq!(desk.to_tell(), ["desk: a", "desk: b", "desk: c"]);
    assert_eq!(desk.tries(notices[0], "desk"), 0);
}

#[test]
fn a_channel_cannot_keep_time_from_passing() {
    let mut desk = Desk::new();
    let notice = desk.raise(NoticeLevel::Info, "a", "a");
    desk.address(notice, &["desk"]);
    let until = desk.now - Duration::from_secs(60);
    desk.input(
        notice,
        NoticeInput::Held { channel: "desk".into(), tries: 0, until, hold: NoticeHold::Quiet },
    );
    assert!(desk.to_tell().is_empty());
    desk.wait(1);
    assert_eq!(desk.to_tell(), ["desk: a"]);
}

#[test]
fn many_that_were_held_come_as_one_and_each_is_in_it() {
    let mut desk = Desk::new();
    for (key, level) in [
        ("a", NoticeLevel::Info),
        ("b", NoticeLevel::Action),
        ("c", NoticeLevel::Info),
        ("d", NoticeLevel::Warning),
    ] {
        let notice = desk.raise(level, key, &format!("news {key}\nand more"));
        desk.address(notice, &["desk", "team"]);
        desk.hold(notice, "desk", 60, NoticeHold::Quiet);
    }
    desk.wait(60);
    let digest = desk.state.notices.values().next_back().unwrap().clone();
    assert_eq!(
        (digest.gathered, digest.level, digest.channel.as_deref()),
        (4, NoticeLevel::Action, Some("desk"))
    );
    assert_eq!(digest.subject, Subject::Project(app()));
    assert_eq!(
        digest.text,
        "4 notices:\n· info: news a and more\n· action: news b and more\n· info: news c and more\n· warning: \
         news d and more"
    );
    // On the other channel each goes on by itself.
    assert_eq!(desk.to_tell().len(), 5);
    desk.have_told(digest.id, "desk");
    assert_eq!(desk.to_tell().iter().filter(|told| told.starts_with("team")).count(), 4);
    assert_eq!(desk.state.notices.len(), 4);
}

#[test]
fn a_digest_is_told_together_even_if_it_is_one() {
    let mut desk = Desk::new();
    let notice = desk.raise(NoticeLevel::Info, "a", "news");
    desk.address(notice, &["desk"]);
    desk.hold(notice, "desk", 60, NoticeHold::Digest);
    desk.wait(60);
    let digest = desk.state.notices.values().next().unwrap();
    assert_eq!((digest.gathered, digest.text.as_str()), (1, "news"));
    assert_eq!(desk.to_tell(), ["desk: news"]);
}

#[test]
fn a_digest_that_is_held_in_its_turn_keeps_its_lines() {
    let mut desk = Desk::new();
    for key in ["a", "b"] {
        let notice = desk.raise(NoticeLevel::Info, key, key);
        desk.address(notice, &["desk"]);
        desk.hold(notice, "desk", 60, NoticeHold::Digest);
    }
    desk.wait(60);
    let first = *desk.state.notices.keys().next_back().unwrap();
    desk.hold(first, "desk", 60, NoticeHold::Digest);
    let late = desk.raise(NoticeLevel::Info, "c", "c");
    desk.address(late, &["desk"]);
    desk.hold(late, "desk", 60, NoticeHold::Digest);
    desk.wait(60);
    assert_eq!(desk.to_tell(), ["desk: 3 notices:\n· info: a\n· info: b\n· info: c"]);
    assert_eq!(desk.state.notices.len(), 1);
}

#[test]
fn each_channel_has_a_digest_of_its_own() {
    let mut desk = Desk::new();
    for key in ["a", "b"] {
        let notice = desk.raise(NoticeLevel::Info, key, key);
        desk.address(notice, &["desk", "team"]);
        desk.hold(notice, "desk", 60, NoticeHold::Digest);
        desk.hold(notice, "team", 60, NoticeHold::Digest);
    }
    desk.wait(60);
    let text = "2 notices:\n· info: a\n· info: b";
    assert_eq!(desk.to_tell(), [format!("desk: {text}"), format!("team: {text}")]);
}

#[test]
fn a_question_that_was_answered_in_the_night_is_not_told_in_the_morning() {
    let mut desk = Desk::new();
    desk.take(crate::budgets::no_word_about_idleness());
    let session = desk.idle("1");
    desk.sees(session, SignalSource::Hook, asking());
    let [notice] = desk.state.notices.values().cloned().collect::<Vec<_>>().try_into().unwrap();
    assert!(notice.incident.is_some());
    assert_eq!(notice.about.session.as_deref(), Some("app-1"));
    assert_eq!(notice.about.project, Some(app()));
    desk.address(notice.id, &["desk", "ops"]);
    desk.hold(notice.id, "desk", 8 * 3600, NoticeHold::Quiet);
    desk.now = desk.now + Duration::from_secs(5);
    desk.sees(session, SignalSource::Hook, Reading::Idle);
    desk.wait(3600);
    assert_eq!(desk.count("notice.withdrawn"), 1);
    // What was under way meanwhile is seen through.
    desk.have_told(notice.id, "ops");
    assert!(desk.state.notices.is_empty());
}

#[test]
fn a_question_says_how_to_answer_it() {
    for (question, answer) in [
        ("Allow `rm`?", "ao answer app-1 yes|no|TEXT --ask 1"),
        ("Do you want to proceed?\n❯ 1. Yes\n  2. No, and say why", "ao answer app-1 1|2 --ask 1"),
    ] {
        let mut desk = Desk::new();
        let session = desk.idle("1");
        desk.sees(session, SignalSource::Hook, Reading::Asking { question: question.into() });
        let told = desk.told();
        assert!(told[0].ends_with(&format!("Answer with: {answer}")), "{told:?}");
    }
}
