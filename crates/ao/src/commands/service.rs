//! `ao service`: runs the daemon as a service of the user's login.

use std::io;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::json;
use tokio::process::Command as Program;

use crate::cli::context::Context;
use crate::config::initial_config::write_whole;
use crate::error::{CommandError, FailureKind};
use crate::program::ProgramError;
use crate::service::{MARK, ServiceDefinition, launchd, systemd};
use crate::{program, ui};

/// Start the daemon at login
///
/// Writes a unit for systemd's user manager, or a launch agent on macOS. Agents outlive the service: they keep
/// running when it is stopped, restarted or removed. Does not need root.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao service install
  ao service status
  ao service uninstall")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Install, enable and start the service
    #[command(after_help = "Examples:
  ao service install
  ao --data-dir ~/ao-work service install   for a daemon with a data folder of its own")]
    Install {
        /// Overwrite a file that was not written by this command
        #[arg(long)]
        force: bool,
    },
    /// Stop and remove the service; agents keep running
    #[command(after_help = "Examples:
  ao service uninstall")]
    Uninstall,
    /// Show whether the service is installed, enabled and running
    #[command(after_help = "Examples:
  ao service status
  ao service status --json | jq .running")]
    Status,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let manager = ServiceManager::here()?;
    cx.wait_for(async {
        match args.command {
            Command::Install { force } => install(&manager, force, cx).await,
            Command::Uninstall => uninstall(&manager, cx).await,
            Command::Status => status(&manager, cx).await,
        }
    })
}

/// The program of the service manager, and the file that it reads.
struct ServiceManager {
    mac: bool,
    file: Utf8PathBuf,
}

/// A service manager answers at once; starting a daemon takes a few seconds at most.
const LIMIT: Duration = Duration::from_secs(60);

impl ServiceManager {
    fn here() -> Result<ServiceManager, CommandError> {
        let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty()).map(Utf8PathBuf::from);
        let home = set("HOME")
            .ok_or_else(|| CommandError::config("the folder of services is unknown: HOME is not set"))?;
        if cfg!(target_os = "macos") {
            let file = home.join(format!("Library/LaunchAgents/{}.plist", launchd::LABEL));
            return Ok(ServiceManager { mac: true, file });
        }
        let config = set("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
        let config = config.unwrap_or_else(|| home.join(".config"));
        Ok(ServiceManager { mac: false, file: config.join("systemd/user").join(systemd::UNIT) })
    }

    fn text(&self, service: &ServiceDefinition) -> String {
        if self.mac { launchd::property_list(service) } else { systemd::unit(service) }
    }

    /// Returns the commands to run after the file was written.
    fn start(&self, now: bool) -> Vec<Vec<&str>> {
        if self.mac {
            return vec![vec!["launchctl", "load", "-w", self.file.as_str()]];
        }
        let reload = vec!["systemctl", "--user", "daemon-reload"];
        let enable = if now { vec!["enable", "--now"] } else { vec!["enable"] };
        vec![reload, [vec!["systemctl", "--user"], enable, vec![systemd::UNIT]].concat()]
    }

    fn stop(&self) -> Vec<&str> {
        match self.mac {
            true => vec!["launchctl", "unload", "-w", self.file.as_str()],
            false => vec!["systemctl", "--user", "disable", "--now", systemd::UNIT],
        }
    }

    /// Returns true if the service manager can be reached. In a container or after `su` there is none.
    async fn answers(&self) -> bool {
        let asked = if self.mac {
            ["launchctl", "version"].as_slice()
        } else {
            &["systemctl", "--user", "show-environment"]
        };
        call(asked).await.is_ok()
    }
}

async fn install(manager: &ServiceManager, force: bool, cx: &Context) -> Result<(), CommandError> {
    let program = std::env::current_exe().ok().and_then(|program| Utf8PathBuf::from_path_buf(program).ok());
    let program = program.ok_or_else(|| CommandError::environment("the path of this program is unknown"))?;
    let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".into());
    let service = ServiceDefinition { program, data_dir: cx.data_dir()?, path };
    let text = manager.text(&service);
    let there = std::fs::read_to_string(&manager.file).ok();
    if !force && there.as_ref().is_some_and(|there| !there.contains(MARK)) {
        return Err(CommandError::user(format!("`{}` was not written by ao", manager.file))
            .hint("look at it, and overwrite it with `ao service install --force`"));
    }
    let changed = there.as_ref() != Some(&text);
    if changed {
        write(&manager.file, &text)?;
    }
    // A second daemon would exit at once, and be restarted again and again.
    let running = match cx.client()?.daemon().await {
        Ok(_) => true,
        Err(err) => !err.is_absence(),
    };
    let commands = manager.start(!running);
    let asked = manager.answers().await;
    if asked {
        for command in &commands {
            let failed = |err: CommandError| err.hint(format!("`{}` was written anyway", manager.file));
            call(command).await.map_err(failed)?;
        }
    }
    if cx.json() {
        ui::json(
            &json!({ "file": manager.file, "changed": changed, "enabled": asked, "started": asked && !running }),
        )?;
        return Ok(());
    }
    let wrote = if changed { "Wrote" } else { "Kept" };
    ui::line(format_args!("{wrote} {}", manager.file))?;
    if !asked {
        ui::note("no service manager can be reached from here; once you are logged in, run");
        for command in &commands {
            ui::line(format_args!("  {}", command.join(" ")))?;
        }
    } else if running {
        ui::line("The service starts the daemon at your next login")?;
        ui::note(
            "a daemon runs already; to hand over to the service now: `ao stop && systemctl --user start ao`",
        );
    } else {
        ui::line("The daemon runs, and starts at login")?;
    }
    if !manager.mac {
        ui::note("to keep it running while you are logged out: `loginctl enable-linger`");
        ui::note(
            "tokens that the daemon needs go to ~/.config/ao/environment, one NAME=value per line, with mode 600",
        );
    }
    Ok(())
}

async fn uninstall(manager: &ServiceManager, cx: &Context) -> Result<(), CommandError> {
    let there = manager.file.symlink_metadata().is_ok();
    if there && std::fs::read_to_string(&manager.file).is_ok_and(|text| !text.contains(MARK)) {
        return Err(CommandError::user(format!("`{}` was not written by ao", manager.file))
            .hint("look at it, and remove it manually"));
    }
    if there && manager.answers().await {
        // It may have been stopped or disabled by hand already.
        call(&manager.stop()).await.ok();
    }
    match std::fs::remove_file(&manager.file) {
        Err(err) if err.kind() != io::ErrorKind::NotFound => {
            return Err(CommandError::environment(format!("`{}` could not be removed: {err}", manager.file)));
        }
        _ => {}
    }
    if there && !manager.mac && manager.answers().await {
        call(&["systemctl", "--user", "daemon-reload"]).await?;
    }
    if cx.json() {
        ui::json(&json!({ "file": manager.file, "changed": there }))?;
    } else if there {
        ui::line(format_args!("Removed {}", manager.file))?;
        ui::note("agents keep running; `ao start` finds them again");
    } else {
        ui::line("The service is not installed")?;
    }
    Ok(())
}

async fn status(manager: &ServiceManager, cx: &Context) -> Result<(), CommandError> {
    let installed = manager.file.is_file();
    let (enabled, running) = match (installed, manager.mac) {
        (false, _) => (false, false),
        (true, true) => {
            let loaded = call(&["launchctl", "list", launchd::LABEL]).await;
            (loaded.is_ok(), loaded.is_ok_and(|said| said.contains("\"PID\"")))
        }
        (true, false) => (
            call(&["systemctl", "--user", "is-enabled", systemd::UNIT]).await.is_ok(),
            call(&["systemctl", "--user", "is-active", systemd::UNIT]).await.is_ok(),
        ),
    };
    if cx.json() {
        let file = &manager.file;
        ui::json(&json!({ "file": file, "installed": installed, "enabled": enabled, "running": running }))?;
        return Ok(());
    }
    if !installed {
        ui::line("The service is not installed; install it with `ao service install`")?;
        return Ok(());
    }
    let word = |yes| if yes { "yes" } else { "no" };
    ui::line(format_args!("file     {}", manager.file))?;
    ui::line(format_args!("enabled  {}", word(enabled)))?;
    ui::line(format_args!("running  {}", word(running)))?;
    if !running && !manager.mac {
        ui::note("`journalctl --user -u ao` shows its last messages");
    }
    Ok(())
}

fn write(file: &Utf8Path, text: &str) -> Result<(), CommandError> {
    let folder = file.parent().unwrap_or(Utf8Path::new("/"));
    std::fs::create_dir_all(folder)
        .and_then(|()| write_whole(file, text, true))
        .map_err(|err| CommandError::environment(format!("`{file}` could not be written: {err}")))
}

/// Runs a command and returns its output.
async fn call(words: &[&str]) -> Result<String, CommandError> {
    let mut command = Program::new(words[0]);
    command.args(&words[1..]);
    let output = program::ask(command, LIMIT).await.map_err(|err| {
        let kind = if matches!(err, ProgramError::Missing(_)) {
            FailureKind::MissingProgram
        } else {
            FailureKind::Environment
        };
        CommandError::new(kind, err)
    })?;
    if output.status.success() {
        return Ok(program::text(&output.stdout));
    }
    let said = match program::text(&output.stderr) {
        said if said.is_empty() => output.status.to_string(),
        said => said,
    };
    Err(CommandError::environment(format!("`{}` failed: {said}", words.join(" "))))
}
