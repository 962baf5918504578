//! Checks the configuration and the repositories that it names.

use ao_config::Loaded;
use ao_daemon::policy::on_base;
use camino::Utf8PathBuf;

use super::finding::DoctorFinding;
use crate::config::initial_config::{InitialChoices, InitialConfig};
use crate::error::CommandError;
use crate::findings::{ConfigFinding, FindingSeverity, PROGRAM};
use crate::repository::GitRepository;
use crate::system::paths;

pub(super) async fn file(
    loaded: &Result<Loaded, CommandError>,
    found: &[ConfigFinding],
) -> Vec<DoctorFinding> {
    match loaded {
        Err(err) => vec![
            DoctorFinding::problem("config", "the configuration is invalid")
                .means(err.to_plain().replace('\n', "\n                    "))
                .fix("fix the line, then run `ao config check`"),
        ],
        Ok(loaded) if loaded.layers.is_empty() => vec![absent().await],
        Ok(loaded) => {
            let files: Vec<&str> = loaded.layers.iter().map(|layer| layer.path.as_str()).collect();
            let mut findings = vec![DoctorFinding::ok("config", files.join(", "))];
            findings.extend(found.iter().filter(|found| found.id != PROGRAM).map(convert));
            findings
        }
    }
}

/// Converts a finding that `ao config check` and `ao start` report as well.
fn convert(found: &ConfigFinding) -> DoctorFinding {
    let problem = &found.problem;
    let place = problem.place.map(|(line, _)| format!(":{line}")).unwrap_or_default();
    let what = format!("{}{place}: {}", problem.file, problem.what);
    let finding = match found.severity {
        FindingSeverity::Warning => DoctorFinding::warning(found.id, what),
        FindingSeverity::Problem | FindingSeverity::Error => DoctorFinding::problem(found.id, what),
    };
    match &problem.hint {
        Some(hint) => finding.fix(hint),
        None => finding,
    }
}

async fn absent() -> DoctorFinding {
    let here = match paths::here() {
        Ok(here) => GitRepository::at(&here).await.ok(),
        Err(_) => None,
    };
    let Some(repository) = here else {
        return DoctorFinding::warning(
            "config",
            "there is no configuration file here, and this is not a repository",
        )
        .fix("run `ao init` in a repository, or `ao start <path or address>`");
    };
    let initial =
        InitialConfig::choose(&repository, &InitialChoices::default()).await.map_err(|err| err.to_plain());
    DoctorFinding::warning("config", format!("{} has no configuration file", repository.root))
        .means("`ao start` writes one")
        .fix("ao init")
        .mended_by(move || {
            let initial = initial?;
            let file: Utf8PathBuf = initial.write(&repository.root, false).map_err(|err| err.to_plain())?;
            Ok(format!("wrote {file}"))
        })
}

/// Checks that every project is a usable repository.
pub(super) async fn projects(loaded: Option<&Loaded>) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    for (name, project) in loaded.into_iter().flat_map(|loaded| &loaded.config.projects) {
        let mut policed = None;
        findings.push(match GitRepository::at(&project.path).await {
            Ok(repository) => {
                policed = policy(name, &repository, &project.default_branch).await;
                DoctorFinding::ok("project", format!("{name} is {}", repository.root))
            }
            Err(err) => DoctorFinding::problem("project", format!("{name}: {err}"))
                .fix(format!("ao config set projects.{name}.path <folder>; or `ao remove-project {name}`")),
        });
        findings.extend(policed);
    }
    findings
}

/// Checks that the policy on the base branch can be read. A project without a policy has no finding.
async fn policy(name: &str, repository: &GitRepository, branch: &str) -> Option<DoctorFinding> {
    let on_base = on_base(&repository.root, branch).await;
    Some(match on_base.policy {
        Ok(None) => return None,
        Ok(Some(_)) => DoctorFinding::ok("policy", format!("{name} has one on {branch}")),
        Err(why) => {
            DoctorFinding::problem("policy", format!("the policy of {name} on {branch} cannot be read"))
                .means(format!(
                    "nothing is merged until it is fixed: {}",
                    why.replace('\n', "\n                    ")
                ))
                .fix("fix .ao/policy.yaml on the base branch; `ao policy check` shows the line")
        }
    })
}
