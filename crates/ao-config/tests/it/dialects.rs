//! The three ways in which documents write a configuration come to one shape.

use std::time::Duration;

use ao_config::shape::{EscalateAfter, MergeStrategy};
use ao_core::incident::IncidentKind;
use ao_core::reaction::Action;

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
    assert_eq!((ci.auto, ci.action, ci.attempts), (true, Action::SendToAgent, 2));
    assert_eq!(ci.message.as_deref(), Some("CI failed with the following errors: {{errors}}"));
    let review = settings.reaction(&IncidentKind::ChangesRequested);
    assert_eq!((review.attempts, review.escalate_after), (3, Duration::from_secs(1800)));
    let merge = settings.reaction(&IncidentKind::ApprovedAndGreen);
    assert_eq!((merge.auto, merge.action), (true, Action::Merge));
    let merge = &config.reactions.0[&IncidentKind::ApprovedAndGreen];
    assert_eq!((merge.strategy, merge.delete_after), (Some(MergeStrategy::Squash), Some(true)));
    let label = settings.reaction(&IncidentKind::LabelAdded);
    assert_eq!((label.action, label.attempts), (Action::SendToAgent, 1));
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
        (effective.agent, effective.runtime.plugin.as_str(), effective.scm.plugin.as_str()),
        ("claude-code", "tmux", "github")
    );
    assert_eq!(effective.notifiers, ["desktop"]);

    let ci = config.settings().reaction(&IncidentKind::CiFailed);
    assert_eq!((ci.auto, ci.action, ci.attempts), (true, Action::SpawnAgent, 3));
    assert_eq!(
        ci.message.as_deref(),
        Some("CI failed on this PR. Read the failure logs and fix the issues.")
    );
    let approved = &config.reactions.0[&IncidentKind::ApprovedAndGreen];
    assert_eq!(approved.channel.as_deref(), Some("slack"));
    assert_eq!(config.settings().reaction(&IncidentKind::ApprovedAndGreen).action, Action::Notify);
}
