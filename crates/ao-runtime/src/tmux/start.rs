//! Starting an agent once, whatever happens in between.
//!
//! A pane is made with the helper `launch` in it, which waits to be told what to run. What it is told it becomes, so the
//! pane's process is written down before there is anything that could be lost: without the mark `launched` nothing was
//! run, and with it the process that was written down is the agent.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use ao_ports::environment::{ATTEMPT, SESSION};
use ao_ports::{Io, ProcessRef, RuntimeError, StartSpec};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

use super::helper::{GREETING_LAUNCH, GREETING_LOG, Launch, PLAIN, Refused};
use super::names::{self, quoted};
use super::place::{self, Pane, SOCKET};
use super::runtime::{Shared, Tmux};
use super::server::Standing;
use super::{end, watch};
use crate::host::files::{self, failed, no_procfs};
use crate::host::{self, Place, Record, wait};
use crate::kept::Keep;

/// How long tmux and the helpers may take to come up.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) async fn start(tmux: &Tmux, spec: &StartSpec) -> Result<ProcessRef, RuntimeError> {
    if spec.command.io == Io::Pipes {
        let wish = "keep a program's stdin open as a pipe; choose the runtime `process` for this agent";
        return Err(RuntimeError::Unable { runtime: "tmux".into(), wish: wish.into() });
    }
    let shared = &tmux.shared;
    let key = (spec.session, spec.attempt);
    let _turn = shared.turns.take(key).await;
    let place = shared.place(key);
    if place.ending()?.is_some() {
        return Err(host::start::ended(spec));
    }
    if place.pane()?.is_some() && place.is_launched() {
        return Ok(place.process());
    }
    let launch = launch_of(spec).await?;
    let _entered = shared.door.enter().await;
    shared.open.lock().expect("nobody panics while counting").insert(key);
    if let Standing::Gone = shared.server.standing()? {
        shared.server.prepare().await?;
    }
    let is_new = !place.dir().exists();
    place.make()?;
    if !is_new {
        // A start that was cut off has left a pane in which nothing was run.
        clear(shared, &place).await?;
    }
    let pane = match start_pane(shared, &place, spec, &launch).await {
        Ok(pane) => pane,
        Err(err) => {
            clear(shared, &place).await?;
            return Err(err);
        }
    };
    watch::begin(tmux, &place, pane)?;
    Ok(place.process())
}

/// Removes what a start has left that did not come to run anything.
async fn clear(shared: &Shared, place: &Place) -> Result<(), RuntimeError> {
    // The pane first: one that is killed says nothing of its end, which would be taken for that of the next.
    if shared.server.standing()? != Standing::Gone {
        end::kill_session(shared, place.key).await?;
    }
    if let Some(pane) = place.pane()? {
        host::end::all(place.key, Some(&pane.process), Duration::ZERO).await?;
    }
    place.empty()
}

/// What is to be run, if that is possible at all.
async fn launch_of(spec: &StartSpec) -> Result<Launch, RuntimeError> {
    if !Path::new(&spec.path).is_dir() {
        return Err(host::start::no_folder(spec));
    }
    host::start::ports_are_free(spec).await?;
    let mut environment = host::start::environment(spec)?;
    // The daemon's terminal, if it has one, is not the one that the agent gets.
    if !spec.command.env.contains_key("TERM") {
        environment.retain(|(name, _)| name != "TERM");
    }
    Ok(Launch {
        program: spec.command.program.clone().into(),
        args: spec.command.args.clone(),
        secrets: host::start::secrets(spec, &environment),
        environment,
        folder: spec.path.clone(),
        without_input: spec.command.io == Io::Output,
    })
}

async fn start_pane(
    shared: &Shared,
    place: &Place,
    spec: &StartSpec,
    launch: &Launch,
) -> Result<Pane, RuntimeError> {
    let (_folder, socket) =
        files::socket(place.dir(), SOCKET).map_err(|err| failed("open", place.dir(), &err))?;
    let _ = fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket).map_err(|err| failed("listen in", place.dir(), &err))?;
    let secrets = host::start::secrets_of(spec, &launch.environment);
    let named: Vec<&str> = secrets.iter().map(|(name, _)| name.as_str()).collect();
    place::name_secrets(place.dir(), &named).map_err(|err| failed("write in", place.dir(), &err))?;
    let pane = make_pane(shared, place, spec).await?;
    // Before it is told what to run.
    shared.options.families.add_agent(&pane.process, place.key);
    let kept = pane.clone();
    place.aside(move |place| place.keep_pane(&kept)).await?;
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
            // The helper waits until it is let go, so that the pane goes before it and tells of no end.
            end::kill_session(shared, place.key).await?;
            Err(refusal.reason(launch, program))
        }
    }
}

/// Makes the pane and has its output kept, before anything is put out.
async fn make_pane(shared: &Shared, place: &Place, spec: &StartSpec) -> Result<Pane, RuntimeError> {
    let (columns, rows) = shared.options.size;
    let name = names::session(&spec.name, place.key);
    // With ids in the environment from its first moment on, so that it is found whatever happens. `env` becomes the
    // helper; as an option of the session, the ids would be in everything that tmux runs for it, such as hooks.
    let mut words =
        vec!["env".to_owned(), format!("{SESSION}={}", spec.session), format!("{ATTEMPT}={}", spec.attempt)];
    words.extend(shared.options.helper.iter().cloned());
    words.extend(["launch".to_owned(), path_text(place.dir())?]);
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let made = shared
        .control
        .ask_starting(&[format!(
            "new-session -d -P -F '#{{session_id}} #{{pane_id}} #{{pane_pid}}' -s {} -n {} -x {columns} -y {rows} -- {}",
            quoted(&name),
            quoted(&name),
            words.join(" ")
        )])
        .await?;
    let fields: Vec<&str> = made.line().split(' ').collect();
    let [session, pane, pid] = fields[..] else {
        return Err(RuntimeError::Failed(format!("tmux named the new pane oddly: `{}`", made.line())));
    };
    let pid = pid.parse().map_err(|_| RuntimeError::Failed(format!("tmux gave an odd pid: `{pid}`")))?;
    let without_input = spec.command.io == Io::Output;
    let keeping = keeping(pane, &path_text(place.dir())?, shared.options.keep, without_input);
    shared.control.ask(&keeping).await?;
    Ok(Pane {
        process: Record::of(pid, &spec.name, &spec.command.program).map_err(|err| no_procfs(&err))?,
        server: made.server.clone(),
        id: pane.to_owned(),
        session: session.to_owned(),
        name,
        without_input,
    })
}

/// The commands by which a pane's output is kept, and its end told. Of a program without input, which does not know that it
/// has a terminal, the line ends are kept as it wrote them.
pub(super) fn keeping(pane: &str, place: &str, keep: Keep, without_input: bool) -> [String; 2] {
    let Keep { segment, total } = keep;
    let plain = if without_input { format!(" {PLAIN}") } else { String::new() };
    [
        format!("set-option -p -t {pane} @ao_place {}", quoted(place)),
        // The command is put together by tmux from what it has as options: those are taken as they are.
        format!("pipe-pane -t {pane} 'exec #{{@ao_helper}} log #{{q:@ao_place}} {segment} {total}{plain}'"),
    ]
}

/// What a helper that cannot become the agent has said, and the helper, which waits to be let go.
struct Refusal {
    word: Vec<u8>,
    _helper: UnixStream,
}

impl Refusal {
    fn reason(&self, launch: &Launch, program: &str) -> RuntimeError {
        match serde_json::from_slice(&self.word) {
            Ok(Refused::NoProgram) => RuntimeError::NoProgram { program: program.to_owned() },
            Ok(Refused::NoFolder(why)) => {
                RuntimeError::Failed(format!("the folder `{}` cannot be used: {why}", launch.folder))
            }
            Ok(Refused::Failed(why)) => {
                RuntimeError::Failed(format!("`{program}` could not be started: {why}"))
            }
            Err(err) => {
                RuntimeError::Failed(format!("`{program}` could not be started, and nobody says why: {err}"))
            }
        }
    }
}

/// Tells the helper what to run, once the output is kept, and waits until it has become that or says why it cannot.
async fn hand_over(
    listener: &UnixListener,
    launch: &Launch,
    program: &str,
) -> Result<Option<Refusal>, RuntimeError> {
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
    // A line, or the end that the exec brings.
    let mut word = Vec::new();
    BufReader::new(&mut helper).read_until(b'\n', &mut word).await.map_err(io)?;
    Ok((!word.is_empty()).then_some(Refusal { word, _helper: helper }))
}

pub(super) fn path_text(path: &Path) -> Result<String, RuntimeError> {
    OsString::from(path).into_string().map_err(|path| {
        RuntimeError::Failed(format!(
            "the path `{}` is not UTF-8; choose another state folder",
            path.display()
        ))
    })
}
