//! Tables for each rule, and properties of all of them together.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::Commit;
use crate::policy::{
    AgentTrust, ApproverRule, ForbiddenPattern, Freeze, FreezeZone, HumanNeed, ProtectedPath, ScanFinding,
    ScanResult, TrustLimits, WeeklyFreeze,
};
use crate::pull::fixture::*;
use crate::pull::{
    AuthorStanding, ChangeSize, CheckState, ChecksVerdict, Mergeable, PullEvent, PullFacts, PullState,
    ReviewVerdict, ThreadFacts,
};

fn verdict(policy: &Policy, pull: &Pull, now: i64) -> MergeVerdict {
    judge(policy, &JudgedPull { pull, makers: &[], maker_known: false, now: Timestamp(now), broken: None })
}

fn told(verdict: &MergeVerdict) -> Vec<String> {
    verdict.against().map(|rule| format!("{}: {}", rule.rule, rule.evidence)).collect()
}

fn against(policy: &Policy, facts: PullFacts) -> Vec<String> {
    told(&verdict(policy, &pull(facts), 1_000))
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn with_files(files: &[&str]) -> PullFacts {
    PullFacts { size: ChangeSize { files: strings(files), ..ready().size }, ..ready() }
}

fn unapproved(facts: PullFacts) -> PullFacts {
    PullFacts { reviews: vec![], ..facts }
}

fn protected(glob: &str, approvers: &[&str]) -> ProtectedPath {
    ProtectedPath {
        glob: glob.into(),
        approvers: strings(approvers),
        standings: BTreeSet::new(),
        approvals: 1,
    }
}

/// acceptance: F11
#[test]
fn what_is_allowed_is_merged_unasked_only_with_auto_merge_on() {
    let off = verdict(&Policy::default(), &pull(ready()), 0);
    assert!(off.allows() && !off.merges_unasked());
    let policy = Policy { auto_merge: Some(true), ..Policy::default() };
    assert!(verdict(&policy, &pull(ready()), 0).merges_unasked());
    let moved = PullFacts { head: Commit::new("head2"), observed_at: Timestamp(2), ..ready() };
    let verdict = verdict(&policy, &after_looks(vec![ready(), moved]), 0);
    assert!(!verdict.merges_unasked());
    let told: Vec<&str> = verdict.against().map(|rule| rule.evidence.as_str()).collect();
    assert_eq!(
        told,
        ["no check has reported on head2 yet", "0 of 1 on head2; given on an older head, by bob"]
    );
}

/// acceptance: F12
#[test]
fn every_rule_is_listed_with_its_evidence_whether_it_holds_or_not() {
    let policy = Policy {
        approvals: 2,
        protected: vec![protected("src/**", &["ann"])],
        max_lines: Some(5),
        freeze: vec![Freeze { from: Timestamp(0), until: Timestamp(9_000_000), why: "release week".into() }],
        ..Policy::default()
    };
    let verdict = verdict(&policy, &pull(ready()), 1_000);
    let told: Vec<String> = verdict
        .rules
        .iter()
        .map(|rule| format!("{} {}: {}", if rule.holds { "+" } else { "-" }, rule.rule, rule.evidence))
        .collect();
    let expected = [
        "+ open: open, and no draft",
        "+ mergeable: merges into main",
        "+ checks: green on head1",
        "+ required_checks: none are named",
        "- approvals: 1 of 2 on head1, by bob",
        "+ changes_requested: none are asked for",
        "+ threads: none open",
        "+ human: nothing asks for a person",
        "+ trust: no levels are named",
        "+ policy_file: .ao/policy.yaml is not touched",
        "- size: 1 files, 12 lines of at most 5",
        "+ labels: as they should be",
        "+ patterns: none are named",
        "- freeze: release week, for another 2 h 30 min",
        "- protected: src/** touched by src/lib.rs, not approved by ann",
    ];
    assert_eq!(told, expected);
    assert!(!verdict.allows());
    assert!(verdict.against().all(|rule| rule.next.is_some()));
    assert_eq!(
        verdict.against().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        "approvals (1 of 2 on head1, by bob); size (1 files, 12 lines of at most 5); \
         freeze (release week, for another 2 h 30 min); \
         protected (src/** touched by src/lib.rs, not approved by ann)"
    );
}

#[test]
fn a_policy_that_cannot_be_read_allows_nothing() {
    let pull = pull(ready());
    let case = JudgedPull {
        pull: &pull,
        makers: &[],
        maker_known: false,
        now: Timestamp(0),
        broken: Some("line 3"),
    };
    let verdict = judge(&Policy::default(), &case);
    assert_eq!(told(&verdict), ["policy: it cannot be read: line 3"]);
}

#[test]
fn a_pull_request_must_be_open_without_conflict_and_green() {
    let spoiled = |spoil: &dyn Fn(&mut PullFacts)| {
        let mut facts = ready();
        spoil(&mut facts);
        against(&Policy::default(), facts)
    };
    assert_eq!(spoiled(&|_| {}), [""; 0]);
    assert_eq!(spoiled(&|f| f.draft = true), ["open: a draft"]);
    assert_eq!(spoiled(&|f| f.state = PullState::Closed), ["open: closed"]);
    assert_eq!(spoiled(&|f| f.mergeable = Mergeable::Unknown), [""; 0]);
    let conflict = Mergeable::Conflict { files: vec!["a.rs".into()] };
    assert_eq!(spoiled(&|f| f.mergeable = conflict.clone()), ["mergeable: conflicts with `main` in a.rs"]);
    assert_eq!(spoiled(&|f| f.checks[0] = failed("build", "E1")), ["checks: failed on head1: build"]);
    let objection = review("r2", member("ann"), ReviewVerdict::ChangesRequested, "no");
    assert_eq!(
        spoiled(&|f| f.reviews.push(objection.clone())),
        ["changes_requested: ann has asked for changes"]
    );
    let open = thread("t1", vec![comment("c1", member("ann"), "1")]);
    assert_eq!(spoiled(&|f| f.threads.push(open.clone())), ["threads: open in src/lib.rs"]);
    let plain = ThreadFacts { path: None, ..open };
    assert_eq!(spoiled(&|f| f.threads.push(plain.clone())), [""; 0]);
}

#[test]
fn a_rule_names_the_next_step_for_its_reason() {
    let policy = Policy { required_checks: strings(&["unit"]), ..Policy::default() };
    let next = |rule: MergeRule, facts: PullFacts| {
        let verdict = verdict(&policy, &pull(facts), 0);
        let found = verdict.rules.into_iter().find(|found| found.rule == rule).unwrap();
        found.next.unwrap_or_default()
    };
    let with = |state| next(MergeRule::Open, PullFacts { state, ..ready() });
    assert_eq!(with(PullState::Open), "");
    assert_eq!(with(PullState::Closed), "reopen it: `ao pr reopen`");
    assert_eq!(with(PullState::Merged { commit: Commit::new("m1") }), "", "nothing opens it again");
    let draft = next(MergeRule::Open, PullFacts { draft: true, ..ready() });
    assert_eq!(draft, "mark it as ready: `ao pr ready`");
    let unset = PullFacts { checks: vec![], no_checks: true, ..ready() };
    assert!(next(MergeRule::RequiredChecks, unset).starts_with("add them to the project's `checks`"));
    let missing = next(MergeRule::RequiredChecks, ready());
    assert_eq!(missing, "run these checks on this head until they pass");
}

#[test]
fn only_those_count_as_approvers_whom_the_policy_names() {
    let mut facts = ready();
    facts.reviews = vec![approved("r1", outsider()), approved("r2", agent()), approved("r3", bot())];
    let told = ["approvals: 0 of 1 on head1; not counted, by stranger"];
    assert_eq!(against(&Policy::default(), facts.clone()), told);
    let everyone = ApproverRule {
        standings: [AuthorStanding::Agent, AuthorStanding::Bot].into(),
        logins: strings(&["Stranger", "ao-agent"]),
    };
    let policy = Policy { approvers: everyone, approvals: 2, ..Policy::default() };
    assert_eq!(against(&policy, facts.clone()), ["approvals: 1 of 2 on head1, by stranger"]);
    facts.reviews.clear();
    let policy = Policy { approvals: 0, ..Policy::default() };
    assert_eq!(against(&policy, facts.clone()), [""; 0]);
    let policy = Policy { approvals: 0, human_always: true, ..Policy::default() };
    assert_eq!(against(&policy, facts), ["human: a person has to approve: always"]);
}

#[test]
fn a_protected_path_wants_its_own_approvers() {
    let judged = |approvers: &[&str], files: &[&str]| {
        let policy = Policy { protected: vec![protected("ci/", approvers)], ..Policy::default() };
        against(&policy, with_files(files))
    };
    assert_eq!(judged(&["ann"], &["src/ci/x"]), [""; 0]);
    assert_eq!(judged(&["ann", "Bob"], &["a", "ci/x"]), [""; 0]);
    assert_eq!(
        judged(&["ann", "eve"], &["ci/x"]),
        ["protected: ci/ touched by ci/x, not approved by ann or eve"]
    );
    assert_eq!(judged(&[], &["ci/x"]), ["protected: ci/ touched by ci/x, which no one may approve"]);
    assert_eq!(judged(&["bob"], &[]), ["protected: the changed files are not known"]);
    let two = ProtectedPath {
        standings: [AuthorStanding::Member].into(),
        approvals: 2,
        ..protected("ci/", &["eve"])
    };
    let policy = Policy { protected: vec![two], ..Policy::default() };
    assert_eq!(
        against(&policy, with_files(&["ci/x"])),
        ["protected: ci/ touched by ci/x, 1 of 2 approvals of eve, any member"]
    );
    let mut both = with_files(&["ci/x"]);
    both.reviews.push(approved("r2", member("ann")));
    assert_eq!(against(&policy, both), [""; 0]);
}

#[test]
fn some_changes_need_a_person_whatever_else_is_enough() {
    let need = HumanNeed {
        paths: strings(&["infra/"]),
        labels: ["Risky".to_owned()].into(),
        files: Some(2),
        lines: Some(50),
        authors: strings(&["codex"]),
    };
    let policy = Policy { approvals: 0, human: vec![need], ..Policy::default() };
    let judged = |facts: PullFacts| against(&policy, unapproved(facts));
    assert_eq!(judged(ready()), [""; 0]);
    let infra = with_files(&["infra/x"]);
    assert_eq!(judged(infra.clone()), ["human: a person has to approve: infra/ touched by infra/x"]);
    assert_eq!(against(&policy, infra), [""; 0], "approved by one");
    assert_eq!(
        judged(with_files(&["a", "b", "c"])),
        ["human: a person has to approve: 3 files, more than 2"]
    );
    let large = PullFacts { size: ChangeSize { added: 49, ..ready().size }, ..ready() };
    assert_eq!(judged(large), ["human: a person has to approve: 51 lines, more than 50"]);
    let labelled = PullFacts { labels: ["risky".to_owned()].into(), ..ready() };
    assert_eq!(judged(labelled), ["human: a person has to approve: label Risky"]);
    let known = pull(unapproved(ready()));
    let codex = [PullMaker { name: "codex".into(), specialist: None }];
    let case =
        JudgedPull { pull: &known, makers: &codex, maker_known: true, now: Timestamp(0), broken: None };
    assert_eq!(told(&judge(&policy, &case)), ["human: a person has to approve: made by codex"]);
}

#[test]
fn an_agent_has_what_its_trust_allows_merged_without_a_person() {
    let trust = AgentTrust {
        agents: [("claude-code", "high"), ("frontend", "low"), ("new", "unheard-of")]
            .map(|(agent, level)| (agent.to_owned(), level.to_owned()))
            .into(),
        default: "none".into(),
        levels: AgentTrust::known_levels(),
    };
    let policy = Policy { approvals: 0, trust: vec![trust], ..Policy::default() };
    let judged = |name: &str, specialist: Option<&str>, facts: PullFacts| {
        let known = pull(facts);
        let agent = [PullMaker { name: name.into(), specialist: specialist.map(Into::into) }];
        let case =
            JudgedPull { pull: &known, makers: &agent, maker_known: true, now: Timestamp(0), broken: None };
        told(&judge(&policy, &case))
    };
    let bare = || unapproved(ready());
    assert_eq!(judged("Claude-Code", None, bare()), [""; 0]);
    assert_eq!(
        judged("claude-code", Some("frontend"), bare()),
        ["trust: frontend has the trust `low`: src/lib.rs is none of docs/, **/*.md"],
        "the specialist's own word counts more"
    );
    assert_eq!(judged("claude-code", Some("frontend"), unapproved(with_files(&["docs/a.md"]))), [""; 0]);
    assert_eq!(
        judged("aider", None, bare()),
        ["trust: aider has the trust `none`: a person always has to approve"]
    );
    assert_eq!(judged("aider", None, ready()), [""; 0], "a person has");
    assert_eq!(
        judged("new", None, bare()),
        ["trust: new has the trust `unheard-of`: no such level is described"]
    );
    let by_a_person = PullFacts { author: member("ann"), ..bare() };
    assert_eq!(against(&policy, by_a_person), [""; 0]);
    assert_eq!(
        against(&policy, bare()),
        ["trust: a program that is not known has the trust `low`: src/lib.rs is none of docs/, **/*.md"],
        "whoever it was is gone"
    );
}

/// An untrusted agent must not gain trust by being anonymous or by handing its pull request to another agent.
#[test]
fn the_least_trusted_of_all_that_made_it_counts_and_an_unknown_one_is_as_little_trusted_as_any() {
    let trust = AgentTrust {
        agents: [("codex", "none"), ("claude-code", "high")]
            .map(|(agent, level)| (agent.to_owned(), level.to_owned()))
            .into(),
        default: "high".into(),
        levels: AgentTrust::known_levels(),
    };
    let need = HumanNeed { authors: vec!["Codex".into()], ..HumanNeed::default() };
    let policy = Policy { approvals: 0, trust: vec![trust], human: vec![need], ..Policy::default() };
    let known = pull(unapproved(ready()));
    let judged = |names: &[&str], maker_known: bool| {
        let makers: Vec<PullMaker> =
            names.iter().map(|name| PullMaker { name: (*name).into(), specialist: None }).collect();
        let case = JudgedPull { pull: &known, makers: &makers, maker_known, now: Timestamp(0), broken: None };
        told(&judge(&policy, &case))
    };
    assert_eq!(judged(&["claude-code"], true), [""; 0]);
    assert_eq!(
        judged(&["claude-code", "codex"], true),
        [
            "human: a person has to approve: made by Codex",
            "trust: codex has the trust `none`: a person always has to approve"
        ]
    );
    let unknown = ["trust: a program that is not known has the trust `none`: a person always has to approve"];
    assert_eq!(judged(&["claude-code"], false), unknown, "it only took it on");
    assert_eq!(judged(&[], false), unknown);
}

/// Even where nothing needs an approval. acceptance: F12
#[test]
fn a_change_of_the_policy_needs_a_person() {
    let policy = Policy { approvals: 0, ..Policy::default() };
    let touched = with_files(&["src/a.rs", ".ao/policy.yaml"]);
    assert_eq!(against(&policy, touched.clone()), [""; 0]);
    assert_eq!(
        against(&policy, unapproved(touched)),
        ["policy_file: .ao/policy.yaml is touched, which a person always has to approve"]
    );
    assert_eq!(
        against(&policy, unapproved(with_files(&[]))),
        ["policy_file: the changed files are not known"]
    );
}

#[test]
fn named_checks_must_have_run_and_labels_must_fit() {
    let mut facts = ready();
    facts.checks.push(check("e2e", CheckState::Skipped));
    facts.labels = ["WIP".to_owned()].into();
    let policy = Policy {
        required_checks: strings(&["build", "e2e", "audit"]),
        required_labels: ["reviewed".to_owned()].into(),
        forbidden_labels: ["wip".to_owned()].into(),
        ..Policy::default()
    };
    let told =
        ["required_checks: not passed on head1: e2e, audit", "labels: missing reviewed; forbidden wip"];
    assert_eq!(against(&policy, facts), told);
}

#[test]
fn a_freeze_lasts_from_its_first_moment_until_before_its_last() {
    let freeze = vec![Freeze { from: Timestamp(10), until: Timestamp(20), why: "x".into() }];
    let policy = Policy { freeze, ..Policy::default() };
    for (now, allowed) in [(9, true), (10, false), (19, false), (20, true)] {
        assert_eq!(verdict(&policy, &pull(ready()), now).allows(), allowed, "{now}");
    }
}

#[test]
fn added_lines_count_once_this_head_was_looked_through_for_this_policy() {
    let policy = Policy { secrets: true, ..Policy::default() };
    let rules = policy.looks_for().unwrap();
    let scan = |head: &str, rules: &str, found: usize, failed: Option<&str>| ScanResult {
        head: Commit::new(head),
        rules: rules.to_owned(),
        found: (1..=found)
            .map(|line| ScanFinding {
                file: "a\u{202e}.rs".into(),
                line: line as u32,
                rule: "github-pat".into(),
            })
            .collect(),
        more: false,
        failed: failed.map(str::to_owned),
    };
    let judged = |scan: Option<ScanResult>| {
        let mut known = Some(pull(ready()));
        if let Some(scan) = scan {
            let scanned = PullEvent::Scanned { scan: Box::new(scan.bounded()) };
            crate::pull::evolve(&mut known, &id(), &scanned, Timestamp(2));
        }
        told(&verdict(&policy, &known.unwrap(), 0))
    };
    let not_yet = ["patterns: the added lines of head1 have not been looked through yet"];
    assert_eq!(judged(None), not_yet);
    assert_eq!(judged(Some(scan("head0", &rules, 0, None))), not_yet);
    assert_eq!(judged(Some(scan("head1", "others", 0, None))), not_yet);
    assert_eq!(judged(Some(scan("head1", &rules, 0, None))), [""; 0]);
    assert_eq!(
        judged(Some(scan("head1", &rules, 7, None))),
        [
            "patterns: found in a.rs:1 (github-pat), a.rs:2 (github-pat), a.rs:3 (github-pat), a.rs:4 (github-pat), \
          a.rs:5 (github-pat), and 2 more"
        ]
    );
    assert_eq!(
        judged(Some(scan("head1", &rules, 0, Some("too long")))),
        ["patterns: the added lines could not be looked through: too long"]
    );
    assert_eq!(Policy::default().looks_for(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// A further restriction of a policy never allows what was forbidden before.
    #[test]
    fn a_further_restriction_never_allows_more(
        looks in looks(), base in a_policy(), further in a_policy(), which in 0..15_usize, now in 0..100_i64,
    ) {
        let known = after_looks(looks);
        let stricter = restricted(&base, &further, which);
        let (before, after) = (verdict(&base, &known, now), verdict(&stricter, &known, now));
        prop_assert!(before.allows() || !after.allows(), "{which}: {:?}", told(&before));
        prop_assert!(before.merges_unasked() || !after.merges_unasked());
    }

    /// Every pull request that a policy allows is open, without objection, and green; one of a project without checks is
    /// allowed only if the policy names none.
    #[test]
    fn no_policy_allows_what_is_not_green(looks in looks(), policy in a_policy()) {
        let known = after_looks(looks);
        if verdict(&policy, &known, 0).allows() {
            prop_assert!(known.is_open() && known.changes_requested().is_empty() && known.conflict.is_none());
            match known.green() {
                ChecksVerdict::Yes => {}
                ChecksVerdict::Unchecked => prop_assert!(known.facts.checks.is_empty() && policy.required_checks.is_empty()),
                other => prop_assert!(false, "allowed although {other:?}"),
            }
            prop_assert!(known.approvals().len() >= policy.approvals as usize);
        }
    }

    #[test]
    fn a_policy_reads_back_as_it_was_written(policy in a_policy()) {
        let json = serde_json::to_string(&policy).unwrap();
        prop_assert_eq!(serde_json::from_str::<Policy>(&json).unwrap(), policy);
    }
}

/// Adds one restriction of another policy to this one, in the way in which two layers are combined.
fn restricted(base: &Policy, further: &Policy, which: usize) -> Policy {
    let mut policy = base.clone();
    let least = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
    match which {
        0 => policy.approvals = base.approvals.max(further.approvals),
        1 => policy.protected.extend(further.protected.clone()),
        2 => policy.max_files = least(base.max_files, further.max_files),
        3 => policy.max_lines = least(base.max_lines, further.max_lines),
        4 => policy.required_checks.extend(further.required_checks.clone()),
        5 => policy.required_labels.extend(further.required_labels.clone()),
        6 => policy.forbidden_labels.extend(further.forbidden_labels.clone()),
        7 => policy.forbidden.extend(further.forbidden.clone()),
        8 => policy.secrets |= further.secrets,
        9 => policy.freeze.extend(further.freeze.clone()),
        10 => policy.weekly.extend(further.weekly.clone()),
        11 => policy.human_always |= further.human_always,
        12 => policy.human.extend(further.human.clone()),
        13 => policy.trust.extend(further.trust.clone()),
        _ => policy.auto_merge = Some(false),
    }
    policy
}

fn a_policy() -> impl Strategy<Value = Policy> {
    let paths = || prop::sample::select(vec!["src/", "**/*.rs", "docs/", "**"]);
    let maybe = |most: u64| prop::option::of(0..most);
    let protect = prop::collection::vec((paths(), prop::sample::select(vec!["bob", "ann"])), 0..2);
    let labels = || prop::collection::btree_set(prop::sample::select(vec!["urgent", "wip"]), 0..2);
    let sizes = (maybe(3), maybe(20), 0..2_u32, any::<bool>(), any::<bool>());
    let times = (0..50_i64, 50..100_i64, any::<bool>());
    let people =
        (labels(), maybe(30), prop::sample::select(vec!["none", "low", "medium", "high"]), 0..2_usize);
    (sizes, protect, labels(), labels(), times, people).prop_map(
        |(
            (files, lines, approvals, human, patterns),
            protect,
            wanted,
            unwanted,
            (from, until, on),
            people,
        )| {
            let words = |set: std::collections::BTreeSet<&str>| set.into_iter().map(str::to_owned).collect();
            let (needs, need_lines, level, trusts) = people;
            let trust = AgentTrust {
                agents: Default::default(),
                default: level.to_owned(),
                levels: [(level.to_owned(), TrustLimits { max_lines: Some(15), ..TrustLimits::default() })]
                    .into(),
            };
            let zone = FreezeZone {
                name: "UTC".into(),
                offsets: vec![(Timestamp(0), 0)],
                until: Timestamp(1_000_000),
            };
            Policy {
                approvals,
                protected: protect.iter().map(|(glob, login)| protected(glob, &[login])).collect(),
                max_files: files,
                max_lines: lines,
                required_checks: if human { vec!["build".into()] } else { vec![] },
                required_labels: words(wanted),
                forbidden_labels: words(unwanted),
                forbidden: if patterns { vec![a_pattern()] } else { vec![] },
                secrets: patterns && on,
                freeze: vec![Freeze { from: Timestamp(from), until: Timestamp(until), why: "x".into() }],
                weekly: if on {
                    vec![WeeklyFreeze { from: 0, until: 60, zone, why: "y".into() }]
                } else {
                    vec![]
                },
                human_always: human,
                human: vec![HumanNeed { labels: words(needs), lines: need_lines, ..HumanNeed::default() }],
                trust: vec![trust; trusts],
                threads_resolved: human,
                auto_merge: Some(true),
                ..Policy::default()
            }
        },
    )
}

fn a_pattern() -> ForbiddenPattern {
    ForbiddenPattern { name: "todo".into(), regex: "TODO".into(), paths: vec![], except: vec![] }
}
