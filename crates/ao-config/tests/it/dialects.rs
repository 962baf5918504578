//! All three dialects are read into the same shape.

use std::time::Duration;

use ao_config::shape::EscalateAfter;
use ao_core::incident::IncidentKind;
use ao_core::queue::LandingStrategy;
use ao_core::reaction::ReactionAction;

use super::support::{EXAMPLES, read};

#[test]
fn the_main_dialect_means_what_it_says() {
    let loaded = read(EXAMPLES[0].1).unwrap_or_else(|err| panic!("{err}"));
    let config = &loaded.config;
    assert_eq!(config.port, 3000);
    assert_eq!(config.defaults.runtime.plugin, "tmux");
    assert_eq!(config.defaults.notifiers, ["desktop", "slack"]);
    assert!(config.power.prevent_idle_sleep);
    let app = &config.projects["my-app"];
    assert_eq!((app.repo.as_deref(), app.path.as_str()), (Some("owner/my-app"), "/people/ann/my-app"));
    assert_eq!(config.effective("my-app").unwrap().session_prefix, "app");

    let settings = config.settings();
    let ci = settings.reaction(&IncidentKind::CiFailed);
    assert_eq!((ci.auto, ci.action, ci.attempts), (true, ReactionAction::SendToAgent, 2));
    assert_eq!(ci.message.as_deref(), Some("CI failed with the following errors: {{errors}}"));
    let review = settings.reaction(&IncidentKind::ChangesRequested);
    assert_eq!((review.attempts, review.escalate_after), (3, Duration::from_secs(1800)));
    let merge = settings.reaction(&IncidentKind::ApprovedAndGreen);
    assert_eq!((merge.auto, merge.action), (true, ReactionAction::Merge));
    let merge = &config.reactions.0[&IncidentKind::ApprovedAndGreen];
    assert_eq!((merge.strategy, merge.delete_after), (Some(LandingStrategy::Squash), Some(true)));
    let label = settings.reaction(&IncidentKind::LabelAdded);
    assert_eq!((label.action, label.attempts), (ReactionAction::SendToAgent, 1));
}

#[test]
fn specialists_and_handlers_mean_what_they_say() {
    let config = read(EXAMPLES[1].1).unwrap_or_else(|err| panic!("{err}")).config;
    assert_eq!(config.lifecycle.max_parallel_agents, 5);
    assert_eq!(config.settings().max_live, 5);
    assert!(config.orchestrator.auto_assign);
    let names: Vec<_> = config.agents.iter().map(|agent| (agent.id.as_str(), agent.tool.as_str())).collect();
    assert_eq!(names, [("frontend-specialist", "claude-code"), ("backend-specialist", "aider")]);
    let filters = &config.agents[0].config.filters;
    assert!(filters.admit("any", ["ui"]));
    assert!(!filters.admit("any", ["ui", "backend"]));
    assert!(!filters.admit("any", ["docs"]));

    let ci = config.settings().reaction(&IncidentKind::CiFailed);
    assert_eq!(config.reactions.0[&IncidentKind::CiFailed].retries, Some(3));
    assert_eq!(ci.attempts, 2, "somebody else is asked after two of the three");
    let review = &config.reactions.0[&IncidentKind::ChangesRequested];
    assert_eq!((review.auto, review.escalate_after), (Some(true), Some(EscalateAfter::Attempts(2))));
}

#[test]
fn a_file_for_one_project_is_a_project() {
    let config = read(EXAMPLES[2].1).unwrap_or_else(|err| panic!("{err}")).config;
    let names: Vec<_> = config.projects.keys().collect();
    assert_eq!(names, ["your-repo"]);
    let project = &config.projects["your-repo"];
    assert_eq!((project.repo.as_deref(), project.path.as_str()), (Some("your-org/your-repo"), "/repo/here"));
    let effective = config.effective("your-repo").unwrap();
    assert_eq!(
        (effective.agent, effective.runtime.plugin.as_str(), effective.scm.unwrap().plugin.as_str()),
        ("claude-code", "tmux", "github")
    );
    assert_eq!(effective.notifiers, ["desktop"]);

    let ci = config.settings().reaction(&IncidentKind::CiFailed);
    assert_eq!((ci.auto, ci.action, ci.attempts), (true, ReactionAction::SpawnAgent, 3));
    assert_eq!(
        ci.message.as_deref(),
        Some("CI failed on this PR. Read the failure logs and fix the issues.")
    );
    let approved = &config.reactions.0[&IncidentKind::ApprovedAndGreen];
    assert_eq!(approved.channel.as_deref(), Some("slack"));
    assert_eq!(config.settings().reaction(&IncidentKind::ApprovedAndGreen).action, ReactionAction::Notify);
}

/// Dialect b as it is written, with a project beside it: each issue goes to the matching specialist.
#[test]
fn specialists_get_the_issues_that_their_filters_mean() {
    let text = format!(
        "projects: {{ shop: {{ path: /shop }}, wiki: {{ path: /wiki, autoAssign: false }} }}\n{}",
        EXAMPLES[1].1
    );
    let config = read(&text).unwrap_or_else(|err| panic!("{err}")).config;
    let (auto, specialists) = config.assignment_of("shop");
    let auto = auto.expect("the orchestrator says so for all");
    let chosen = |labels: &[&str]| {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        let choice =
            ao_core::assign::choose(&auto, &specialists, &labels, |_| Some(1)).expect("somebody does it");
        choice.id().unwrap_or("own").to_owned()
    };
    assert_eq!(chosen(&["ui"]), "frontend-specialist");
    assert_eq!(chosen(&["api", "bug"]), "backend-specialist");
    assert_eq!(chosen(&["frontend", "backend"]), "backend-specialist", "excluded from the other");
    assert_eq!(chosen(&["docs"]), "own");
    let accounts: Vec<&str> = specialists.iter().map(|one| one.account.as_str()).collect();
    assert_eq!(accounts, ["claude-code", "aider"]);
    assert_eq!(config.assignment_of("wiki").0, None, "a project can say otherwise for itself");
}

#[test]
fn a_project_says_which_of_its_issues_are_picked_up() {
    let text = "agents: [{ id: one, tool: codex, maxParallel: 2, config: { filters: { projects: [shop] } } }]\n\
                projects:\n  shop:\n    path: /shop\n    agentConfig: { account: work }\n    autoAssign: { labels: [agents], \
                exclude_labels: [later], approvalLabel: ok, specialistsOnly: true }\n  wiki: { path: /wiki, autoAssign: true }\n";
    let config = read(text).unwrap_or_else(|err| panic!("{err}")).config;
    let (auto, specialists) = config.assignment_of("shop");
    let auto = auto.unwrap();
    assert!(auto.wants(&["agents".to_owned()].into()) && !auto.wants(&["other".to_owned()].into()));
    assert!(!auto.wants(&["agents".to_owned(), "Later".to_owned()].into()));
    assert!(auto.approves(&["OK".to_owned()].into()) && auto.specialists_only);
    assert_eq!(auto.account, "work");
    assert_eq!((specialists[0].named, specialists[0].max_parallel), (true, Some(2)));
    let (auto, specialists) = config.assignment_of("wiki");
    assert!(auto.is_some_and(|auto| auto.labels.is_empty()) && specialists.is_empty());
    let wrong = read("projects: { shop: { path: /shop, autoAssign: sometimes } }\n").unwrap_err().to_string();
    assert!(wrong.contains("autoAssign") || wrong.contains("enabled"), "{wrong}");
}
