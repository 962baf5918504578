//! Starts a process exactly once, across crashes and retries.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Stdio;
use std::time::Duration;

use ao_ports::{ProcessIo, ProcessRef, RuntimeError, StartSpec};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::connection::ShimConnection;
use super::processes::{NAME, Processes, SharedProcesses};
use super::protocol::{ShimMessage, ShimRequest};
use super::shim::{ShimAnswer, ShimSpec};
use crate::host::files::failed;
use crate::host::{self, AttemptDir, ProcessRecord};

/// Time limit for the answer of a shim.
const ANSWER: Duration = Duration::from_secs(30);

pub(super) async fn start(processes: &Processes, spec: &StartSpec) -> Result<ProcessRef, RuntimeError> {
    let key = (spec.session, spec.attempt);
    let shared = &processes.shared;
    let _turn = shared.host.turns.take(key).await;
    let attempt_dir = shared.attempt_dir(key);
    if attempt_dir.ending()?.is_some() {
        return Err(host::start::ended(spec));
    }
    if attempt_dir.record()?.is_some() {
        shared.make_known(&attempt_dir);
        processes.adopt(&attempt_dir)?;
        return Ok(attempt_dir.process(NAME));
    }
    let _entered = shared.host.start_limit.enter().await;
    let mut wanted = wanted(shared, &attempt_dir, spec)?;
    end_leftovers(&attempt_dir).await?;
    host::start::ports_are_free(spec).await?;
    attempt_dir.make()?;
    attempt_dir.begin()?;
    wanted.args = attempt_dir.place_files(&spec.command)?;
    match call(shared, &attempt_dir, wanted).await? {
        ShimAnswer::Started | ShimAnswer::Past => {}
        ShimAnswer::Held => keep_what_is_held(&attempt_dir).await?,
        ShimAnswer::Ended => return Err(host::start::ended(spec)),
        ShimAnswer::NoProgram => {
            return Err(RuntimeError::NoProgram { program: spec.command.program.clone() });
        }
        ShimAnswer::NoFolder => return Err(host::start::no_folder(spec)),
        ShimAnswer::Failed { why } => {
            return Err(RuntimeError::Failed(format!(
                "`{}` could not be started: {why}",
                spec.command.program
            )));
        }
    }
    shared.make_known(&attempt_dir);
    processes.listen_to(&attempt_dir);
    Ok(attempt_dir.process(NAME))
}

fn wanted(
    shared: &SharedProcesses,
    attempt_dir: &AttemptDir,
    spec: &StartSpec,
) -> Result<ShimSpec, RuntimeError> {
    let dir =
        std::path::absolute(attempt_dir.dir()).map_err(|err| failed("find", attempt_dir.dir(), &err))?;
    let env = host::start::environment(spec)?;
    Ok(ShimSpec {
        session: spec.session,
        attempt: spec.attempt,
        dir,
        name: spec.name.clone(),
        program: spec.command.program.clone(),
        args: vec![],
        path: spec.path.clone(),
        secrets: host::start::secrets(spec, &env),
        env,
        terminal: (spec.command.io == ProcessIo::Terminal).then_some(shared.options.size),
        without_input: spec.command.io == ProcessIo::Output,
        keep: shared.options.keep,
    })
}

/// Ends the leftovers of a shim that was killed just after it had started the program, before it could record that.
/// Otherwise two could run at once.
async fn end_leftovers(attempt_dir: &AttemptDir) -> Result<(), RuntimeError> {
    let Some(holder) = attempt_dir.holder()? else { return Ok(()) };
    if !holder.lives()? && !attempt_dir.is_left()? && holder.is_of_this_boot() {
        host::end::all(attempt_dir.key, None, Duration::ZERO).await?;
    }
    Ok(())
}

/// Starts a shim, sends it the spec, and returns its answer. When this is dropped, the shim goes on by itself.
async fn call(
    shared: &SharedProcesses,
    attempt_dir: &AttemptDir,
    wanted: ShimSpec,
) -> Result<ShimAnswer, RuntimeError> {
    let log = attempt_dir.dir().join("shim.log");
    let errors = OpenOptions::new().append(true).create(true).mode(0o600).open(&log);
    let shim = &shared.options.shim;
    let could_not = |err: std::io::Error| failed("start the shim", &shim.program, &err);
    let mut child = Command::new(&shim.program)
        .args(&shim.args)
        // Only for people who look at a process list.
        .arg(attempt_dir.process(NAME).id)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(errors.map_err(|err| failed("open", &log, &err))?)
        .spawn()
        .map_err(could_not)?;
    if let Some(pid) = child.id().and_then(|pid| i32::try_from(pid).ok())
        && let Ok(holder) = ProcessRecord::of(pid, "shim", &wanted.program)
    {
        // Before it gets the spec.
        shared.options.families.add_holder(&holder, attempt_dir.key);
    }
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (Some(mut stdin), Some(mut stdout)) = (stdin, stdout) else {
        return Err(RuntimeError::Failed("the shim has no pipes, although they were asked for".into()));
    };
    let json = serde_json::to_vec(&wanted).map_err(|err| could_not(err.into()))?;
    let exchange = async {
        // If it does not read, it reports the reason.
        let _ = stdin.write_all(&json).await;
        drop(stdin);
        let mut answer = Vec::new();
        let mut space = [0; 1024];
        loop {
            match stdout.read(&mut space).await {
                Ok(0) | Err(_) => break,
                Ok(count) => answer.extend_from_slice(&space[..count]),
            }
            if answer.ends_with(b"\n") {
                break;
            }
        }
        answer
    };
    let answer = tokio::time::timeout(ANSWER, exchange).await;
    if answer.is_err() {
        let _ = child.start_kill();
    }
    // Tokio polls all dropped living children whenever any process ends, so each is waited for instead.
    tokio::spawn(async move { child.wait().await });
    let Ok(answer) = answer else {
        return Err(RuntimeError::Failed(format!("the shim has not answered for {} s", ANSWER.as_secs())));
    };
    serde_json::from_slice(&answer).map_err(|_| {
        RuntimeError::Failed(format!("the shim ended without an answer; see `{}`", log.display()))
    })
}

/// Asks another shim, which holds the process but has not recorded it, and stores its answer.
async fn keep_what_is_held(attempt_dir: &AttemptDir) -> Result<(), RuntimeError> {
    let asked = async {
        let mut line = ShimConnection::to(attempt_dir.dir()).await?;
        line.ask(&ShimRequest::Subscribe, &[]).await?;
        line.hear().await
    };
    match asked.await {
        Ok(Some((ShimMessage::Here { record, .. }, _))) => attempt_dir.keep_record(&record),
        Ok(_) => Err(RuntimeError::Failed("the shim of this process does not say what it holds".into())),
        Err(err) => Err(failed("speak to the shim in", attempt_dir.dir(), &err)),
    }
}
