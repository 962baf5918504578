//! Differences between a new look at a pull request and the known facts.

use super::evolve::fold;
use super::{Mergeable, PullEvent, PullFacts, PullState, ThreadFacts};

/// Returns the events of a new pull request.
pub(super) fn first_sight(seen: &PullFacts) -> Vec<PullEvent> {
    let bare = PullFacts {
        checks: vec![],
        reviews: vec![],
        threads: vec![],
        state: PullState::Open,
        mergeable: Mergeable::Unknown,
        ..seen.clone()
    };
    let opened = PullEvent::Opened { facts: Box::new(bare.clone()) };
    std::iter::once(opened).chain(news(&bare, seen)).collect()
}

/// Returns the events that turn the known facts into the new ones.
pub(super) fn news(known: &PullFacts, seen: &PullFacts) -> Vec<PullEvent> {
    let mut news = PullNews { facts: known.clone(), events: vec![] };
    match &seen.state {
        // Comments and checks on a merged pull request need no action any more.
        PullState::Merged { commit } => {
            news.of_the_head(seen);
            news.tell(PullEvent::Merged { commit: commit.clone() });
        }
        PullState::Open | PullState::Closed => {
            news.of_the_head(seen);
            news.of_the_whole(seen);
            news.of_checks(seen);
            news.of_reviews(seen);
            news.of_threads(seen);
            news.of_the_end(seen);
        }
    }
    if !news.events.is_empty() {
        news.tell_if(news.facts.observed_at != seen.observed_at, || PullEvent::Seen {
            observed_at: seen.observed_at,
        });
    }
    news.events
}

/// The events found so far, and the facts after them: an event that clears other facts (a moved head clears its
/// checks) makes those news again.
struct PullNews {
    facts: PullFacts,
    events: Vec<PullEvent>,
}

impl PullNews {
    fn tell(&mut self, event: PullEvent) {
        fold(&mut self.facts, &event);
        self.events.push(event);
    }

    fn tell_if(&mut self, changed: bool, event: impl FnOnce() -> PullEvent) {
        if changed {
            self.tell(event());
        }
    }

    fn of_the_head(&mut self, seen: &PullFacts) {
        let moved = (&self.facts.head, &self.facts.head_author) != (&seen.head, &seen.head_author);
        self.tell_if(moved, || PullEvent::HeadMoved {
            head: seen.head.clone(),
            author: seen.head_author.clone(),
            title: seen.head_title.clone(),
        });
        let renamed =
            (&self.facts.head_branch, &self.facts.head_repo) != (&seen.head_branch, &seen.head_repo);
        self.tell_if(renamed, || PullEvent::BranchRenamed {
            branch: seen.head_branch.clone(),
            repo: seen.head_repo.clone(),
        });
    }

    fn of_the_whole(&mut self, seen: &PullFacts) {
        let retitled = (&self.facts.title, &self.facts.url) != (&seen.title, &seen.url);
        self.tell_if(retitled, || PullEvent::Retitled { title: seen.title.clone(), url: seen.url.clone() });
        let retargeted =
            (&self.facts.base_branch, &self.facts.base_remote) != (&seen.base_branch, &seen.base_remote);
        self.tell_if(retargeted, || PullEvent::Retargeted {
            branch: seen.base_branch.clone(),
            remote: seen.base_remote.clone(),
        });
        // Before mergeability, because a conflict is with the present base.
        self.tell_if(self.facts.base != seen.base, || PullEvent::BaseMoved { base: seen.base.clone() });
        self.tell_if(self.facts.draft != seen.draft, || PullEvent::DraftChanged { draft: seen.draft });
        self.tell_if(self.facts.author != seen.author, || PullEvent::AuthorChanged {
            author: seen.author.clone(),
        });
        self.tell_if(self.facts.labels != seen.labels, || PullEvent::LabelsChanged {
            labels: seen.labels.clone(),
        });
        self.tell_if(self.facts.size != seen.size, || PullEvent::Resized { size: seen.size.clone() });
        let mergeable = &seen.mergeable;
        self.tell_if(self.facts.mergeable != *mergeable, || PullEvent::MergeabilitySeen {
            mergeable: mergeable.clone(),
        });
    }

    fn of_checks(&mut self, seen: &PullFacts) {
        let none = seen.no_checks;
        self.tell_if(self.facts.no_checks != none, || PullEvent::ChecksConfigured { none });
        let ListChanges { gone, new } = changes(&self.facts.checks, &seen.checks, |check| &check.name);
        for check in gone {
            self.tell(PullEvent::CheckVanished { check });
        }
        for (_, check) in new {
            self.tell(PullEvent::CheckReported { check: check.clone() });
        }
    }

    fn of_reviews(&mut self, seen: &PullFacts) {
        let ListChanges { gone, new } = changes(&self.facts.reviews, &seen.reviews, |review| &review.id);
        for review in gone {
            self.tell(PullEvent::ReviewWithdrawn { review });
        }
        for (place, review) in new {
            self.tell(PullEvent::ReviewGiven { place, review: review.clone() });
        }
    }

    fn of_threads(&mut self, seen: &PullFacts) {
        let ListChanges { gone, new } = changes(&self.facts.threads, &seen.threads, |thread| &thread.id);
        for thread in gone {
            self.tell(PullEvent::ThreadResolved { thread });
        }
        for (_, thread) in new {
            self.of_thread(thread);
        }
    }

    fn of_thread(&mut self, seen: &ThreadFacts) {
        let known = self.facts.threads.iter().find(|thread| thread.id == seen.id);
        let comments = known.map(|thread| thread.comments.clone()).unwrap_or_default();
        let moved = known.is_none_or(|thread| (&thread.path, thread.line) != (&seen.path, seen.line));
        let thread = &seen.id;
        self.tell_if(moved, || PullEvent::ThreadSeen {
            thread: thread.clone(),
            path: seen.path.clone(),
            line: seen.line,
        });
        let ListChanges { gone, new } = changes(&comments, &seen.comments, |comment| &comment.id);
        for comment in gone {
            self.tell(PullEvent::CommentDeleted { thread: thread.clone(), comment });
        }
        for (place, comment) in new {
            self.tell(PullEvent::CommentSeen { thread: thread.clone(), place, comment: comment.clone() });
        }
    }

    fn of_the_end(&mut self, seen: &PullFacts) {
        match (&self.facts.state, &seen.state) {
            (PullState::Open, PullState::Closed) => self.tell(PullEvent::Closed {}),
            (PullState::Closed, PullState::Open) => self.tell(PullEvent::Reopened {}),
            _ => {}
        }
    }
}

/// Difference between two lists.
struct ListChanges<'a, T> {
    gone: Vec<String>,
    /// Each with its position; inserted one after the other, they give the list its new order.
    new: Vec<(usize, &'a T)>,
}

fn changes<'a, T: PartialEq>(known: &[T], seen: &'a [T], id: impl Fn(&T) -> &str) -> ListChanges<'a, T> {
    let (stay, go): (Vec<&T>, Vec<&T>) =
        known.iter().partition(|old| seen.iter().any(|new| id(new) == id(old)));
    let mut order = stay;
    let mut new = vec![];
    for (place, item) in seen.iter().enumerate() {
        // Up to `place`, `order` already matches `seen`.
        if order.get(place) != Some(&item) {
            order.retain(|other| id(other) != id(item));
            order.insert(place, item);
            new.push((place, item));
        }
    }
    ListChanges { gone: go.into_iter().map(|old| id(old).to_owned()).collect(), new }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Commit;
    use crate::pull::CheckState;
    use crate::pull::fixture::*;

    #[test]
    fn a_first_look_tells_everything_it_shows() {
        let mut seen = facts(1);
        seen.checks = vec![check("build", CheckState::Passed)];
        seen.reviews = vec![approved("r1", member("bob"))];
        seen.threads = vec![thread("t1", vec![comment("c1", member("bob"), "1")])];
        assert_eq!(
            last_news(&[seen]),
            "opened mergeability_seen check_reported review_given thread_seen comment_seen"
        );
    }

    #[test]
    fn each_change_is_told_by_its_own_event() {
        let change = |change: &dyn Fn(&mut PullFacts)| {
            let mut next = facts(2);
            change(&mut next);
            last_news(&[facts(1), next])
        };
        assert_eq!(change(&|_| {}), "");
        assert_eq!(change(&|f| f.head = Commit::new("x")), "head_moved mergeability_seen seen");
        assert_eq!(change(&|f| f.head_branch = "x".into()), "branch_renamed seen");
        assert_eq!(change(&|f| f.title = "x".into()), "retitled seen");
        assert_eq!(change(&|f| f.base = Commit::new("x")), "base_moved seen");
        assert_eq!(change(&|f| f.base_branch = "x".into()), "retargeted mergeability_seen seen");
        assert_eq!(change(&|f| f.draft = true), "draft_changed seen");
        assert_eq!(change(&|f| f.author = outsider()), "author_changed seen");
        assert_eq!(change(&|f| f.labels = ["x".to_owned()].into()), "labels_changed seen");
        assert_eq!(change(&|f| f.size.added += 1), "resized seen");
        assert_eq!(change(&|f| f.mergeable = Mergeable::Unknown), "mergeability_seen seen");
        assert_eq!(change(&|f| f.state = PullState::Closed), "closed seen");
        assert_eq!(change(&|f| f.state = PullState::Merged { commit: f.head.clone() }), "merged seen");
    }

    /// Each comment is news once, and once more when it is edited. acceptance: F5
    #[test]
    fn only_what_is_new_in_a_thread_is_told() {
        let look = |at, comments| PullFacts { threads: vec![thread("t1", comments)], ..facts(at) };
        let c = |id, revision| comment(id, member("bob"), revision);
        let first = look(1, vec![c("c1", "1"), c("c2", "1")]);
        assert_eq!(last_news(&[first.clone(), look(2, vec![c("c1", "1"), c("c2", "1")])]), "");
        assert_eq!(
            last_news(&[first.clone(), look(2, vec![c("c1", "2"), c("c2", "1")])]),
            "comment_seen seen"
        );
        let more = look(2, vec![c("c1", "1"), c("c2", "1"), c("c3", "1")]);
        assert_eq!(last_news(&[first.clone(), more]), "comment_seen seen");
        assert_eq!(last_news(&[first.clone(), look(2, vec![c("c2", "1")])]), "comment_deleted seen");
        let mut resolved = look(2, vec![c("c1", "1"), c("c2", "1")]);
        resolved.threads[0].resolved = true;
        assert_eq!(last_news(&[first.clone(), resolved.clone()]), "thread_resolved seen");
        let again = look(3, vec![c("c1", "1"), c("c2", "1")]);
        assert_eq!(last_news(&[first, resolved, again]), "thread_seen comment_seen comment_seen seen");
    }
}
