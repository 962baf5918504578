//! Starts an agent exactly once, across crashes and retries.
//!
//! A pane is created with the helper `launch` in it, which waits for the program to run and then becomes it. So the
//! pane's process is recorded before anything could be lost: without the mark `launched` nothing was run, and with it
//! the recorded process is the agent.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use ao_core::text::single_quoted;
use ao_ports::environment::{ATTEMPT, SESSION};
use ao_ports::{ProcessIo, ProcessRef, RuntimeError, StartSpec};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

use super::attempt_dir::{self, PaneRecord, SOCKET};
use super::helper::{GREETING_LAUNCH, GREETING_LOG, LaunchRefused, LaunchSpec, PLAIN};
use super::names;
use super::runtime::{NAME, SharedTmux, Tmux};
use super::server::ServerState;
use super::{end, watch};
use crate::host::files::{self, failed, no_procfs};
use crate::host::{self, AttemptDir, ProcessRecord, wait};
use crate::recording::OutputLimits;

/// Time limit for tmux and the helpers to come up.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) async fn start(tmux: &Tmux, spec: &StartSpec) -> Result<ProcessRef, RuntimeError> {
    if spec.command.io == ProcessIo::Pipes {
        let wish = "keep a program's stdin open as a pipe; choose the runtime `process` for this agent";
        return Err(RuntimeError::Unable { runtime: NAME.into(), wish: wish.into() });
    }
    let shared = &tmux.shared;
    let key = (spec.session, spec.attempt);
    let _turn = shared.host.turns.take(key).await;
    let attempt_dir = shared.attempt_dir(key);
    if attempt_dir.ending()?.is_some() {
        return Err(host::start::ended(spec));
    }
    if attempt_dir.pane()?.is_some() && attempt_dir.is_launched() {
        return Ok(attempt_dir.process(NAME));
    }
    let mut launch = launch_of(spec).await?;
    let _entered = shared.host.start_limit.enter().await;
    shared.open.lock().expect("no thread panics while counting").insert(key);
    if let ServerState::Gone = shared.server.standing()? {
        shared.server.prepare().await?;
    }
    let is_new = !attempt_dir.dir().exists();
    attempt_dir.make()?;
    if !is_new {
        // An interrupted start has left a pane in which nothing was run.
        clear(shared, &attempt_dir).await?;
    }
    launch.args = attempt_dir.place_files(&spec.command)?;
    let pane = match start_pane(shared, &attempt_dir, spec, &launch).await {
        Ok(pane) => pane,
        Err(err) => {
            clear(shared, &attempt_dir).await?;
            return Err(err);
        }
    };
    watch::begin(tmux, &attempt_dir, pane)?;
    Ok(attempt_dir.process(NAME))
}

/// Removes the leftovers of a start that did not run anything.
async fn clear(shared: &SharedTmux, attempt_dir: &AttemptDir) -> Result<(), RuntimeError> {
    // The pane first: a killed pane reports no end, which would be taken for that of the next.
    if shared.server.standing()? != ServerState::Gone {
        end::kill_session(shared, attempt_dir.key).await?;
    }
    if let Some(pane) = attempt_dir.pane()? {
        host::end::all(attempt_dir.key, Some(&pane.process), Duration::ZERO).await?;
    }
    attempt_dir.empty()
}

/// Builds the launch, if it is possible at all.
async fn launch_of(spec: &StartSpec) -> Result<LaunchSpec, RuntimeError> {
    if !Path::new(&spec.path).is_dir() {
        return Err(host::start::no_folder(spec));
    }
    host::start::ports_are_free(spec).await?;
    let mut environment = host::start::environment(spec)?;
    // The daemon's terminal, if it has one, is not the agent's.
    if !spec.command.env.contains_key("TERM") {
        environment.retain(|(name, _)| name != "TERM");
    }
    Ok(LaunchSpec {
        program: spec.command.program.clone().into(),
        args: vec![],
        secrets: host::start::secrets(spec, &environment),
        environment,
        folder: spec.path.clone(),
        without_input: spec.command.io == ProcessIo::Output,
    })
}

async fn start_pane(
    shared: &SharedTmux,
    attempt_dir: &AttemptDir,
    spec: &StartSpec,
    launch: &LaunchSpec,
) -> Result<PaneRecord, RuntimeError> {
    let (_folder, socket) =
        files::socket(attempt_dir.dir(), SOCKET).map_err(|err| failed("open", attempt_dir.dir(), &err))?;
    let _ = fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket).map_err(|err| failed("listen in", attempt_dir.dir(), &err))?;
    let secrets = host::start::secrets_of(spec, &launch.environment);
    let named: Vec<&str> = secrets.iter().map(|(name, _)| name.as_str()).collect();
    attempt_dir::name_secrets(attempt_dir.dir(), &named)
        .map_err(|err| failed("write in", attempt_dir.dir(), &err))?;
    let pane = make_pane(shared, attempt_dir, spec).await?;
    // Before it gets the program to run.
    shared.options.families.add_agent(&pane.process, attempt_dir.key);
    let kept = pane.clone();
    attempt_dir.aside(move |attempt_dir| attempt_dir.keep_pane(&kept)).await?;
    let pidfd = pane.process.unless_ended().map_err(|err| no_procfs(&err))?;
    let gone = async {
        match pidfd {
            Some(pidfd) => wait::gone(pidfd).await.map_err(|err| no_procfs(&err)),
            None => Ok(()),
        }
    };
    let program = &spec.command.program;
    let cut_off =
        |why: &str| RuntimeError::Failed(format!("`{program}` could not be started in tmux: {why}"));
    let handed = tokio::select! {
        // First, because a program may well end at once.
        biased;
        handed = hand_over(&listener, launch, program) => handed,
        _ = gone => Err(cut_off("the helper that was to become it has ended; is it installed?")),
        () = tokio::time::sleep(PATIENCE) => Err(cut_off("the helpers do not come up")),
    };
    let _ = fs::remove_file(&socket);
    match handed? {
        None => Ok(pane),
        Some(refusal) => {
            // The helper waits for the hang-up, so that the pane is removed first and reports no end.
            end::kill_session(shared, attempt_dir.key).await?;
            Err(refusal.reason(launch, program))
        }
    }
}

/// Creates the pane and starts recording its output, before there is any.
async fn make_pane(
    shared: &SharedTmux,
    attempt_dir: &AttemptDir,
    spec: &StartSpec,
) -> Result<PaneRecord, RuntimeError> {
    let (columns, rows) = shared.options.size;
    let name = names::session(&spec.name, attempt_dir.key);
    // The ids are in its environment from the first moment on, so that it is always found. `env` becomes the helper; as
    // an option of the session, the ids would be in everything that tmux runs for it, such as hooks.
    let mut words =
        vec!["env".to_owned(), format!("{SESSION}={}", spec.session), format!("{ATTEMPT}={}", spec.attempt)];
    words.extend(shared.options.helper.iter().cloned());
    words.extend(["launch".to_owned(), path_text(attempt_dir.dir())?]);
    let words: Vec<String> = words.iter().map(|word| single_quoted(word)).collect();
    let made = shared
        .control
        .ask_starting(&[format!(
            "new-session -d -P -F '#{{session_id}} #{{pane_id}} #{{pane_pid}}' -s {} -n {} -x {columns} -y {rows} -- {}",
            single_quoted(&name),
            single_quoted(&name),
            words.join(" ")
        )])
        .await?;
    let fields: Vec<&str> = made.line().split(' ').collect();
    let [session, pane, pid] = fields[..] else {
        return Err(RuntimeError::Failed(format!("tmux named the new pane oddly: `{}`", made.line())));
    };
    let pid = pid.parse().map_err(|_| RuntimeError::Failed(format!("tmux gave an odd pid: `{pid}`")))?;
    let without_input = spec.command.io == ProcessIo::Output;
    let keeping = keeping(pane, &path_text(attempt_dir.dir())?, shared.options.keep, without_input);
    shared.control.ask(&keeping).await?;
    Ok(PaneRecord {
        process: ProcessRecord::of(pid, &spec.name, &spec.command.program).map_err(|err| no_procfs(&err))?,
        server: made.server.clone(),
        id: pane.to_owned(),
        session: session.to_owned(),
        name,
        without_input,
    })
}

/// Returns the commands that record a pane's output and report its end. For a program without input, which does not
/// know that it has a terminal, line ends are kept as it wrote them.
pub(super) fn keeping(pane: &str, attempt_dir: &str, keep: OutputLimits, without_input: bool) -> [String; 2] {
    let OutputLimits { segment, total } = keep;
    let plain = if without_input { format!(" {PLAIN}") } else { String::new() };
    [
        format!("set-option -p -t {pane} @ao_place {}", single_quoted(attempt_dir)),
        // tmux assembles the command from its options, which are taken literally.
        format!("pipe-pane -t {pane} 'exec #{{@ao_helper}} log #{{q:@ao_place}} {segment} {total}{plain}'"),
    ]
}

/// The answer of a helper that cannot become the agent, and the helper itself, which waits for the hang-up.
struct LaunchRefusal {
    word: Vec<u8>,
    _helper: UnixStream,
}

impl LaunchRefusal {
    fn reason(&self, launch: &LaunchSpec, program: &str) -> RuntimeError {
        match serde_json::from_slice(&self.word) {
            Ok(LaunchRefused::NoProgram) => RuntimeError::NoProgram { program: program.to_owned() },
            Ok(LaunchRefused::NoFolder(why)) => {
                RuntimeError::Failed(format!("the folder `{}` cannot be used: {why}", launch.folder))
            }
            Ok(LaunchRefused::Failed(why)) => {
                RuntimeError::Failed(format!("`{program}` could not be started: {why}"))
            }
            Err(err) => RuntimeError::Failed(format!(
                "`{program}` could not be started, for an unknown reason: {err}"
            )),
        }
    }
}

/// Sends the helper the program to run, once the output is recorded, and waits until it has become that or reports why
/// it cannot.
async fn hand_over(
    listener: &UnixListener,
    launch: &LaunchSpec,
    program: &str,
) -> Result<Option<LaunchRefusal>, RuntimeError> {
    let io =
        |err: std::io::Error| RuntimeError::Failed(format!("`{program}` could not be handed to tmux: {err}"));
    let (mut kept, mut waiting): (bool, Option<UnixStream>) = (false, None);
    let mut helper = loop {
        let (mut caller, _) = listener.accept().await.map_err(io)?;
        let mut greeting = [0];
        caller.read_exact(&mut greeting).await.map_err(io)?;
        match &greeting[..] {
            GREETING_LOG => {
                let secrets = serde_json::to_vec(&launch.secrets).map_err(|err| io(err.into()))?;
                caller.write_all(&secrets).await.map_err(io)?;
                kept = true;
            }
            GREETING_LAUNCH => waiting = Some(caller),
            _ => {}
        }
        if kept && let Some(helper) = waiting.take() {
            break helper;
        }
    };
    let json = serde_json::to_vec(launch).map_err(|err| io(err.into()))?;
    helper.write_all(&json).await.map_err(io)?;
    helper.shutdown().await.map_err(io)?;
    // A line, or the end of file that the exec causes.
    let mut word = Vec::new();
    BufReader::new(&mut helper).read_until(b'\n', &mut word).await.map_err(io)?;
    Ok((!word.is_empty()).then_some(LaunchRefusal { word, _helper: helper }))
}

pub(super) fn path_text(path: &Path) -> Result<String, RuntimeError> {
    OsString::from(path).into_string().map_err(|path| {
        RuntimeError::Failed(format!(
            "the path `{}` is not UTF-8; choose another state folder",
            path.display()
        ))
    })
}
