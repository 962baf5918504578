//! Finds default branches that do not exist, and required checks that no configured check provides.

use ao_config::catalog::PluginSlot;
use ao_config::names::nearest;
use ao_config::shape::CheckConfig;
use ao_config::{Effective, Loaded, Problem};
use ao_core::policy::POLICY_FILE;
use ao_daemon::policy::on_base;

use super::{ConfigFinding, FindingSeverity};
use crate::repository::GitRepository;

/// Skips projects without a usable repository: those are reported where they are used.
pub(super) async fn look(loaded: &Loaded) -> Vec<ConfigFinding> {
    let mut findings = Vec::new();
    for effective in loaded.config.projects.keys().filter_map(|name| loaded.config.effective(name)) {
        let forge = effective.forge(&loaded.catalog);
        let Effective { name, project, .. } = effective;
        let Ok(repository) = GitRepository::at(&project.path).await else { continue };
        let base = on_base(&repository.root, &project.default_branch).await;
        if base.tip.is_none() && base.policy.is_ok() {
            let (branch, other) = (&project.default_branch, &repository.default_branch);
            let what =
                format!("the repository of `{name}` has no branch `{branch}`, so no session can start");
            let hint = format!("use `{other}`: `ao config set projects.{name}.defaultBranch {other}`");
            let problem = loaded.problem(&["projects", name, "defaultBranch"], &what, Some(hint));
            findings.push(ConfigFinding { id: "project", severity: FindingSeverity::Problem, problem });
        }
        if !loaded.catalog.service(PluginSlot::Scm, &forge.plugin).runs_checks {
            continue;
        }
        let place = |n: usize| {
            loaded.problem(&["projects", name, "policy", "requiredChecks", &n.to_string()], "", None)
        };
        let file = repository.root.join(POLICY_FILE);
        let in_file = Problem { file, place: None, what: String::new(), hint: None, source: None };
        let own = project.policy.iter().flat_map(|policy| policy.required_checks.iter().enumerate());
        let on_base = base.policy.iter().flatten().flat_map(|policy| &policy.required_checks);
        let required =
            own.map(|(n, check)| (check, place(n))).chain(on_base.map(|check| (check, in_file.clone())));
        let known: Vec<String> = project.checks.iter().map(CheckConfig::name).collect();
        for (check, problem) in required.filter(|(check, _)| !known.contains(check)) {
            let what = format!(
                "`requiredChecks` names `{check}`, which is no check of `{name}`: nothing can be merged"
            );
            let hint = match nearest(check, known.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("add it to `projects.{name}.checks`, or remove it from `requiredChecks`"),
            };
            findings.push(ConfigFinding::warning("policy", Problem { what, hint: Some(hint), ..problem }));
        }
    }
    findings
}
