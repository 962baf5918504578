//! Allowed dependencies between crates. Arrows point one way: core ← ports ← (adapters, engine) ← binary.

use super::TidyFinding;
use super::sources::PackageGraph;

/// Each of our crates with those it may depend on. Tests may use any.
///
/// A new arrow is a decision about the whole design, so it is made here, where a reviewer sees it.
const ARROWS: &[(&str, AllowedArrows)] = &[
    ("ao-core", AllowedArrows::Use(&[])),
    ("ao-ports", AllowedArrows::Use(&["ao-core"])),
    ("ao-engine", AllowedArrows::Use(&["ao-core", "ao-ports"])),
    ("ao-store", AllowedArrows::Use(&["ao-core", "ao-ports"])),
    ("ao-git", AllowedArrows::Use(&[])),
    ("ao-process", AllowedArrows::Use(&[])),
    ("ao-runtime", SLOT),
    ("ao-agent", SLOT),
    ("ao-workspace", SLOT),
    ("ao-tracker", SLOT),
    ("ao-scan", AllowedArrows::Use(&["ao-core"])),
    ("ao-scm", SLOT),
    ("ao-notifier", SLOT),
    ("ao-config", AllowedArrows::Use(&["ao-core"])),
    ("ao-api", AllowedArrows::Use(&[])),
    (
        "ao-daemon",
        AllowedArrows::Use(&[
            "ao-agent",
            "ao-config",
            "ao-core",
            "ao-engine",
            "ao-git",
            "ao-notifier",
            "ao-ports",
            "ao-process",
            "ao-runtime",
            "ao-scan",
            "ao-scm",
            "ao-store",
            "ao-tracker",
            "ao-workspace",
        ]),
    ),
    ("ao-server", AllowedArrows::Use(&["ao-api", "ao-core", "ao-daemon", "ao-engine", "ao-ports"])),
    ("ao-testkit", AllowedArrows::Use(&["ao-core", "ao-ports", "ao-engine", "ao-api"])),
    ("ao", AllowedArrows::UseAll),
    ("xtask", AllowedArrows::Use(&[])),
];

/// An adapter depends on its port, never on other adapters or the engine; also on the shared crates that drive git and
/// run commands.
const SLOT: AllowedArrows = AllowedArrows::Use(&["ao-core", "ao-ports", "ao-git", "ao-process"]);

#[derive(Debug, Clone, Copy)]
enum AllowedArrows {
    Use(&'static [&'static str]),
    /// The binary may depend on everything but the testkit, which is for tests.
    UseAll,
}

pub(super) fn check(packages: &PackageGraph) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for name in &packages.ours {
        let Some((_, may)) = ARROWS.iter().find(|(known, _)| known == name) else {
            findings.push(TidyFinding::new(
                format!("crate {name}"),
                "is not in the table of which crate may know which",
                "add it to ARROWS in xtask/src/tidy/arrows.rs, with as few arrows as it can live with",
            ));
            continue;
        };
        let uses = packages.dependencies.get(name).into_iter().flatten();
        for used in uses.filter(|used| packages.ours.contains(*used)) {
            let fix = match may {
                _ if used == "ao-testkit" => {
                    "move it to [dev-dependencies]: the testkit is for tests".to_owned()
                }
                AllowedArrows::Use(allowed) if !allowed.contains(&used.as_str()) => {
                    let allowed = if allowed.is_empty() {
                        "none of our crates".to_owned()
                    } else {
                        allowed.join(" and ")
                    };
                    format!("it may use {allowed}; move what is shared down, or pass it in through a port")
                }
                _ => continue,
            };
            findings.push(TidyFinding::new(format!("crate {name}"), format!("depends on {used}"), fix));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(dependencies: &[(&str, &[&str])]) -> Vec<String> {
        let findings = check(&PackageGraph::of(dependencies));
        findings.iter().map(|finding| format!("{} {}", finding.place, finding.what)).collect()
    }

    #[test]
    fn the_intended_shape_is_fine() {
        let found = found(&[
            ("ao-core", &["serde"]),
            ("ao-ports", &["ao-core"]),
            ("ao-scm", &["ao-core", "ao-ports", "tokio"]),
            ("ao-engine", &["ao-core", "ao-ports"]),
            ("ao-testkit", &["ao-core", "ao-engine"]),
            ("ao", &["ao-core", "ao-scm", "ao-engine"]),
        ]);
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn the_core_knows_nobody() {
        let found = found(&[("ao-core", &["ao-ports"]), ("ao-ports", &[])]);
        assert_eq!(found, ["crate ao-core depends on ao-ports"]);
    }

    #[test]
    fn slots_know_neither_each_other_nor_the_engine() {
        let found =
            found(&[("ao-scm", &["ao-engine", "ao-tracker"]), ("ao-engine", &[]), ("ao-tracker", &[])]);
        assert_eq!(found, ["crate ao-scm depends on ao-engine", "crate ao-scm depends on ao-tracker"]);
    }

    #[test]
    fn the_testkit_is_for_tests() {
        for user in ["ao-store", "ao"] {
            let findings = check(&PackageGraph::of(&[(user, &["ao-testkit"]), ("ao-testkit", &[])]));
            assert_eq!(findings.len(), 1, "{user}");
            assert!(findings[0].fix.contains("dev-dependencies"), "{findings:?}");
        }
    }

    #[test]
    fn a_new_crate_has_to_be_placed() {
        assert_eq!(
            found(&[("ao-new", &[])]),
            ["crate ao-new is not in the table of which crate may know which"]
        );
    }
}
