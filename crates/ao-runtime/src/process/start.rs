//! Starting a process once, whatever happens in between.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Stdio;
use std::time::Duration;

use ao_ports::{Io, ProcessRef, RuntimeError, StartSpec};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::line::Line;
use super::processes::{Processes, Shared};
use super::protocol::{Ask, Say};
use super::shim::{Answer, Spec};
use crate::host::files::failed;
use crate::host::{self, Place, Record};

/// How long a shim may take to say whether it has started something.
const ANSWER: Duration = Duration::from_secs(30);

pub(super) async fn start(processes: &Processes, spec: &StartSpec) -> Result<ProcessRef, RuntimeError> {
    let key = (spec.session, spec.attempt);
    let shared = &processes.shared;
    let _turn = shared.turns.take(key).await;
    let place = shared.place(key);
    if place.ending()?.is_some() {
        return Err(host::start::ended(spec));
    }
    if place.record()?.is_some() {
        shared.make_known(&place);
        processes.adopt(&place)?;
        return Ok(place.process());
    }
    let _entered = shared.door.enter().await;
    let wanted = wanted(shared, &place, spec)?;
    end_leftovers(&place).await?;
    host::start::ports_are_free(spec).await?;
    place.make()?;
    place.begin()?;
    match call(shared, &place, wanted).await? {
        Answer::Started | Answer::Past => {}
        Answer::Held => keep_what_is_held(&place).await?,
        Answer::Ended => return Err(host::start::ended(spec)),
        Answer::NoProgram => return Err(RuntimeError::NoProgram { program: spec.command.program.clone() }),
        Answer::NoFolder => return Err(host::start::no_folder(spec)),
        Answer::Failed { why } => {
            return Err(RuntimeError::Failed(format!(
                "`{}` could not be started: {why}",
                spec.command.program
            )));
        }
    }
    shared.make_known(&place);
    processes.listen_to(&place);
    Ok(place.process())
}

fn wanted(shared: &Shared, place: &Place, spec: &StartSpec) -> Result<Spec, RuntimeError> {
    let dir = std::path::absolute(place.dir()).map_err(|err| failed("find", place.dir(), &err))?;
    let env = host::start::environment(spec)?;
    Ok(Spec {
        session: spec.session,
        attempt: spec.attempt,
        dir,
        name: spec.name.clone(),
        program: spec.command.program.clone(),
        args: spec.command.args.clone(),
        path: spec.path.clone(),
        secrets: host::start::secrets(spec, &env),
        env,
        terminal: (spec.command.io == Io::Terminal).then_some(shared.options.size),
        without_input: spec.command.io == Io::Output,
        keep: shared.options.keep,
    })
}

/// A shim that was killed just after it had started the program, and before it could write that down, has left something
/// that nobody holds. It is ended, so that there are never two.
async fn end_leftovers(place: &Place) -> Result<(), RuntimeError> {
    let Some(holder) = place.holder()? else { return Ok(()) };
    if !holder.lives()? && !place.is_left()? && holder.is_of_this_boot() {
        host::end::all(place.key, None, Duration::ZERO).await?;
    }
    Ok(())
}

/// Starts a shim, tells it what is wanted, and returns its answer. When this is dropped, the shim goes on by itself.
async fn call(shared: &Shared, place: &Place, wanted: Spec) -> Result<Answer, RuntimeError> {
    let log = place.dir().join("shim.log");
    let errors = OpenOptions::new().append(true).create(true).mode(0o600).open(&log);
    let shim = &shared.options.shim;
    let could_not = |err: std::io::Error| failed("start the shim", &shim.program, &err);
    let mut child = Command::new(&shim.program)
        .args(&shim.args)
        // Only for people who look at a list of processes.
        .arg(place.process().0)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(errors.map_err(|err| failed("open", &log, &err))?)
        .spawn()
        .map_err(could_not)?;
    if let Some(pid) = child.id().and_then(|pid| i32::try_from(pid).ok())
        && let Ok(holder) = Record::of(pid, "shim", &wanted.program)
    {
        // Before it is told what to start.
        shared.options.families.add_holder(&holder, place.key);
    }
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let (Some(mut stdin), Some(mut stdout)) = (stdin, stdout) else {
        return Err(RuntimeError::Failed("the shim has no pipes, although they were asked for".into()));
    };
    let json = serde_json::to_vec(&wanted).map_err(|err| could_not(err.into()))?;
    let exchange = async {
        // If it does not listen, it has a reason, which it says.
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
    // A child that is dropped alive is polled whenever any process ends, so each one is waited for instead.
    tokio::spawn(async move { child.wait().await });
    let Ok(answer) = answer else {
        return Err(RuntimeError::Failed(format!("the shim has not answered for {} s", ANSWER.as_secs())));
    };
    serde_json::from_slice(&answer).map_err(|_| {
        RuntimeError::Failed(format!("the shim ended without an answer; see `{}`", log.display()))
    })
}

/// Another shim holds it, and has not written down what. It is asked.
async fn keep_what_is_held(place: &Place) -> Result<(), RuntimeError> {
    let asked = async {
        let mut line = Line::to(place.dir()).await?;
        line.ask(&Ask::Subscribe, &[]).await?;
        line.hear().await
    };
    match asked.await {
        Ok(Some((Say::Here { record, .. }, _))) => place.keep_record(&record),
        Ok(_) => Err(RuntimeError::Failed("the shim of this process does not say what it holds".into())),
        Err(err) => Err(failed("speak to the shim in", place.dir(), &err)),
    }
}
