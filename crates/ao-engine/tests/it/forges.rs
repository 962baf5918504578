//! Work for a forge that is not plugged in yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ao_core::pull::{
    AuthorFacts, AuthorStanding, CheckFacts, CheckState, PullFacts, PullInput, ReviewFacts, ReviewVerdict,
};
use ao_core::queue::QueueInput;
use ao_core::{Commit, Input, ProjectId, PullId, codec};
use ao_engine::AdapterSet;
use ao_ports::{
    BaseView, MergeAbilities, MergeOrder, MergeOutcome, NewPull, Scm, ScmError, TestOrder, TestOutcome,
};
use ao_testkit::pull_facts;
use async_trait::async_trait;

use crate::house::{House, World, app, temp};

/// A daemon finds an entry of the merge queue in its log before the configuration has told it of the forge.
#[tokio::test]
async fn what_waits_to_land_waits_for_its_forge_and_uses_up_no_tries() {
    let (_keep, dir) = temp();
    let house = House::open(&dir, &Arc::new(World::default())).await;
    house.with_project().await;
    let pull = PullId { project: app(), number: 1 };
    let seen = PullInput::Seen(Box::new(approved()));
    house.handle.ask(Input::Pull { pull: pull.clone(), input: seen }).await.unwrap();
    let enqueue = QueueInput::Enqueue { pull: pull.clone(), head: Commit::new("h1"), priority: 0 };
    house.handle.ask(Input::Queue { project: app(), input: enqueue }).await.unwrap();
    house.until_event(|event| codec::encode(event).kind == "queue.test_started").await;
    let slots = AdapterSet {
        scms: BTreeMap::from([(app(), Arc::new(Green::default()) as Arc<dyn Scm>)]),
        ..AdapterSet::default()
    };
    house.handle.plug(slots).await.unwrap();
    house
        .until_event(|event| {
            let kind = codec::encode(event).kind;
            assert!(!matches!(kind.as_str(), "queue.try_failed" | "queue.rejected"), "{event:?}");
            kind == "queue.landed"
        })
        .await;
    house.stop().await.unwrap();
}

/// The forge answers the first test and the first merge with a rate limit.
#[tokio::test]
async fn a_rate_limit_uses_up_no_tries() {
    let (_keep, dir) = temp();
    let house = House::open(&dir, &Arc::new(World::default())).await;
    house.with_project().await;
    let forge = Arc::new(Green::default());
    forge.limited.lock().unwrap().extend(["test", "merge"]);
    let slots = AdapterSet {
        scms: BTreeMap::from([(app(), forge.clone() as Arc<dyn Scm>)]),
        ..AdapterSet::default()
    };
    house.handle.plug(slots).await.unwrap();
    let pull = PullId { project: app(), number: 1 };
    let seen = PullInput::Seen(Box::new(approved()));
    house.handle.ask(Input::Pull { pull: pull.clone(), input: seen }).await.unwrap();
    let enqueue = QueueInput::Enqueue { pull, head: Commit::new("h1"), priority: 0 };
    house.handle.ask(Input::Queue { project: app(), input: enqueue }).await.unwrap();
    house
        .until_event(|event| {
            let kind = codec::encode(event).kind;
            assert!(!matches!(kind.as_str(), "queue.try_failed" | "queue.rejected"), "{event:?}");
            kind == "queue.landed"
        })
        .await;
    assert!(forge.limited.lock().unwrap().is_empty());
    house.stop().await.unwrap();
}

#[tokio::test]
async fn a_test_that_no_longer_counts_is_broken_off() {
    let (_keep, dir) = temp();
    let house = House::open(&dir, &Arc::new(World::default())).await;
    house.with_project().await;
    let slow = Arc::new(Green::default());
    *slow.hangs_on.lock().unwrap() = vec![Commit::new("b1")];
    let slots =
        AdapterSet { scms: BTreeMap::from([(app(), slow.clone() as Arc<dyn Scm>)]), ..AdapterSet::default() };
    house.handle.plug(slots).await.unwrap();
    let pull = PullId { project: app(), number: 1 };
    let seen = PullInput::Seen(Box::new(approved()));
    house.handle.ask(Input::Pull { pull: pull.clone(), input: seen }).await.unwrap();
    let enqueue = QueueInput::Enqueue { pull: pull.clone(), head: Commit::new("h1"), priority: 0 };
    house.handle.ask(Input::Queue { project: app(), input: enqueue }).await.unwrap();
    slow.until(|slow| slow.under_way() == 1).await;
    let pause = |input| house.handle.ask(Input::Queue { project: app(), input });
    pause(QueueInput::Pause { why: "release".into() }).await.unwrap();
    assert_eq!(slow.under_way(), 1, "a pause begins nothing and ends nothing");
    pause(QueueInput::Resume {}).await.unwrap();
    pause(QueueInput::BaseMoved { base: Commit::new("b2"), branch: None }).await.unwrap();
    slow.until(|slow| slow.under_way() == 0).await;
    house.until_event(|event| codec::encode(event).kind == "queue.landed").await;
    house.stop().await.unwrap();
}

fn approved() -> PullFacts {
    let commit = Commit::new("h1");
    let (name, state) = ("test".to_owned(), CheckState::Passed);
    let author = AuthorFacts { login: "ann".into(), standing: AuthorStanding::Owner };
    let review = ReviewFacts {
        id: "r1".into(),
        author,
        verdict: ReviewVerdict::Approved,
        commit: commit.clone(),
        body: String::new(),
        revision: "1".into(),
    };
    let check = CheckFacts { name, commit, required: true, state, run: None };
    PullFacts { checks: vec![check], reviews: vec![review], ..pull_facts("feat") }
}

/// A forge on which everything is green and lands, but for tests on some bases, which have no end.
#[derive(Default)]
struct Green {
    hangs_on: Mutex<Vec<Commit>>,
    hanging: Arc<()>,
    /// Calls that meet a rate limit the next time.
    limited: Mutex<BTreeSet<&'static str>>,
}

impl Green {
    fn under_way(&self) -> usize {
        Arc::strong_count(&self.hanging) - 1
    }

    fn limit(&self, call: &str) -> Result<(), ScmError> {
        let limited = self.limited.lock().unwrap().remove(call);
        if limited { Err(ScmError::Limited { after: Duration::from_millis(1) }) } else { Ok(()) }
    }

    async fn until(&self, is_so: impl Fn(&Green) -> bool) {
        let waiting = async {
            while !is_so(self) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("it never came to that");
    }
}

#[async_trait]
impl Scm for Green {
    fn merge_abilities(&self) -> MergeAbilities {
        MergeAbilities::ALL
    }

    async fn open(&self, _: &NewPull) -> Result<PullId, ScmError> {
        unreachable!("nobody opens one")
    }

    async fn pulls(&self, _: &[PullId]) -> Result<Vec<(PullId, PullFacts)>, ScmError> {
        Ok(vec![])
    }

    async fn open_pulls(&self, _: &ProjectId) -> Result<Vec<PullId>, ScmError> {
        Ok(vec![])
    }

    async fn base(&self, _: &ProjectId) -> Result<BaseView, ScmError> {
        Ok(BaseView::default())
    }

    async fn file_at(
        &self,
        _: &ProjectId,
        _: &Commit,
        _: &str,
        _: usize,
    ) -> Result<Option<Vec<u8>>, ScmError> {
        Ok(None)
    }

    async fn test(&self, order: &TestOrder) -> Result<TestOutcome, ScmError> {
        self.limit("test")?;
        if self.hangs_on.lock().unwrap().contains(&order.base) {
            let _under_way = self.hanging.clone();
            std::future::pending::<()>().await;
        }
        Ok(TestOutcome::Green { tree: "t1".into() })
    }

    async fn merge(&self, _: &MergeOrder) -> Result<MergeOutcome, ScmError> {
        self.limit("merge")?;
        let commit = Commit::new("m1");
        Ok(MergeOutcome::Merged { tip: commit.clone(), commit, branch_left: None, with: vec![] })
    }
}
