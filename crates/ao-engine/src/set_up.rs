//! Sets a workspace up for an agent that does not see the files of this machine.

use ao_core::effect::SetUpPlan;
use ao_core::{Attempt, SessionId};
use ao_ports::{ExecEnd, ExecOrder, Runtime, Workspace, WorkspaceError};
use tokio::time::Instant;

/// Lets the workspace bring its files, and runs the project's commands where the agent will live.
pub(crate) async fn set_up_elsewhere(
    workspace: &dyn Workspace,
    runtime: &dyn Runtime,
    (session, attempt): (SessionId, Attempt),
    mut plan: SetUpPlan,
) -> Result<(), WorkspaceError> {
    let commands = std::mem::take(&mut plan.setup.post_create);
    workspace.set_up(session, attempt, &plan).await?;
    let begun = Instant::now();
    let mut environment = plan.environment;
    environment.set.extend(plan.ports.iter().map(|(name, port)| (name.clone(), port.to_string())));
    for command in commands {
        let order = ExecOrder {
            session,
            attempt,
            path: plan.path.clone(),
            command,
            environment: environment.clone(),
            timeout: plan.setup.timeout.saturating_sub(begun.elapsed()),
        };
        let failed = |err: ao_ports::RuntimeError| WorkspaceError::Failed(err.to_string());
        let outcome = runtime.exec(&order).await.map_err(failed)?;
        let how = match outcome.end {
            ExecEnd::Exited { code: Some(0) } => continue,
            ExecEnd::Exited { code: Some(code) } => format!("ended with code {code}"),
            ExecEnd::Exited { code: None } => "was ended by a signal".to_owned(),
            ExecEnd::TimedOut => format!("was not done after {} s", plan.setup.timeout.as_secs()),
        };
        let why = format!("`{}` {how}", order.command);
        return Err(WorkspaceError::SetupFailed { why, log: None, tail: outcome.output });
    }
    Ok(())
}
