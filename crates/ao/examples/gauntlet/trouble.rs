//! What goes wrong with an issue, and whether a person has to hear of it.

/// The trouble of one issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trouble {
    /// None at all.
    Clean,
    /// A check fails, and its agent mends it when it hears of that.
    Red,
    /// The same, but at first the agent only claims that it is green now.
    ClaimsGreen,
    /// A reviewer asks for something.
    Comment,
    /// Several change the same line.
    Conflict,
    /// A check fails once, and passes when it is run again.
    Flaky,
    /// The agent crashes in the middle of its work.
    Crash,
    /// The agent says that it is done, and has proposed nothing.
    Lies,
    /// The provider refuses more work for a while.
    Limited,
    /// The agent asks before it works, and only a person may answer.
    Asks,
    /// The agent hangs with a screen that nobody knows, and says nothing any more.
    Stuck,
    /// The agent ends whenever it is started.
    CrashLoop,
}

impl Trouble {
    pub(crate) const ALL: [Trouble; 12] = [
        Trouble::Clean,
        Trouble::Red,
        Trouble::Comment,
        Trouble::Conflict,
        Trouble::Flaky,
        Trouble::Crash,
        Trouble::Lies,
        Trouble::ClaimsGreen,
        Trouble::Limited,
        Trouble::Asks,
        Trouble::Stuck,
        Trouble::CrashLoop,
    ];

    /// The troubles of so many issues. Every one comes up before one comes up again; their order is the seed's.
    pub(crate) fn dealt(issues: usize, seed: u64) -> Vec<Trouble> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut dealt = Vec::with_capacity(issues + Trouble::ALL.len());
        while dealt.len() < issues {
            let mut deck = Trouble::ALL;
            random.shuffle(&mut deck);
            dealt.extend(deck);
        }
        dealt.truncate(issues);
        dealt
    }

    /// The problem that a person has to hear of, if one has to.
    pub(crate) fn person_hears_of(self) -> Option<&'static str> {
        match self {
            Trouble::Asks => Some("agent-needs-input"),
            Trouble::Stuck => Some("agent-stuck"),
            Trouble::CrashLoop => Some("agent-exited"),
            _ => None,
        }
    }

    /// Whether its change lands in the end.
    pub(crate) fn merges(self) -> bool {
        !matches!(self, Trouble::Stuck | Trouble::CrashLoop)
    }

    /// The agent that works on it, if it is another one than usual. A limit holds all agents of its account, so who runs into
    /// one has an account of its own: the others are to have other troubles.
    pub(crate) fn agent(self) -> Option<&'static str> {
        match self {
            Trouble::CrashLoop => Some("crashing"),
            Trouble::Limited => Some("metered"),
            _ => None,
        }
    }

    /// What its agent does first. `helpers` has the scripts that it runs.
    pub(crate) fn prompt(self, issue: &str, helpers: &str) -> String {
        let propose = |word: &str| format!("[[tool sh {helpers}/propose.sh {issue} {word}]]");
        let first = format!("[[tool echo {issue} > \"$(git rev-parse --git-dir)/number\"]]");
        let rest = match self {
            Trouble::Clean | Trouble::Comment | Trouble::CrashLoop => propose("good"),
            Trouble::Red => propose("bad"),
            Trouble::ClaimsGreen => propose("worse"),
            Trouble::Conflict => propose("conflict"),
            Trouble::Flaky => propose("flaky"),
            Trouble::Crash => "[[crash 3]]".into(),
            Trouble::Lies => "[[say I am done, it is pushed, and everything is green.]]".into(),
            Trouble::Limited => "[[say I shall go on in a moment.]]".into(),
            Trouble::Asks => format!("[[ask May I write a file?]] {}", propose("good")),
            Trouble::Stuck => "[[set lose-hook *]] [[screen unknown]]".into(),
        };
        format!("{first} {rest}")
    }
}
