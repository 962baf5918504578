//! Where the gauntlet is run: a home, a repository, a daemon, scripted agents, and the scripts that those run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use ao_testkit::scripted;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct Place {
    dir: TempDir,
}

/// What a command came to.
pub(crate) struct Ran {
    pub(crate) ok: bool,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Place {
    pub(crate) fn new() -> Place {
        let place =
            Place { dir: tempfile::Builder::new().prefix("ao-gauntlet-").tempdir().expect("a folder") };
        for folder in ["tmp", "agents", "helpers", "luck", "app"] {
            fs::create_dir(place.path(folder)).expect("a folder can be made");
        }
        write(
            &place.path(".gitconfig"),
            "[user]\n name = Ann\n email = ann@example.org\n[gc]\n auto = 0\n[maintenance]\n auto = false\n",
        );
        for (name, text) in HELPERS {
            write(&place.path("helpers").join(name), text);
        }
        let helpers = place.path("helpers").display().to_string();
        write(&place.path("app/check.sh"), &CHECK.replace("HELPERS", &helpers));
        write(&place.path("app/list.txt"), "features:\n");
        place.git(&["init", "--quiet", "--initial-branch=main"]);
        place.git(&["add", "."]);
        place.git(&["commit", "--quiet", "-m", "begin"]);
        write(&place.path("app/.git/info/exclude"), "agent-orchestrator.yaml\n");
        let config = place.config(&helpers);
        write(
            &place.path("app/agent-orchestrator.yaml"),
            &serde_json::to_string_pretty(&config).expect("plain data"),
        );
        place
    }

    fn config(&self, helpers: &str) -> Value {
        let mut manifest: Value = serde_json::from_str(scripted::MANIFEST).expect("it is JSON");
        // The same program under two names, each with an account of its own.
        if let Some(manifest) = manifest.as_object_mut() {
            manifest.remove("name");
        }
        let agents = self.path("agents");
        manifest["program"] = scripted::program().display().to_string().into();
        manifest["conversation_file"] = format!("{}/{{conversation}}.jsonl", agents.display()).into();
        manifest["env"] =
            json!({ "SCRIPTED_HOME": agents, "SCRIPTED_HOOK": format!("{} hook", ao().display()) });
        json!({
            "defaults": { "runtime": "process", "agent": "scripted", "tracker": "local", "notifiers": [] },
            "projects": { "app": {
                "path": ".",
                "sessionPrefix": "app",
                "checks": [{ "name": "words", "command": "sh check.sh", "env": { "set": { "LUCK": self.path("luck") } } }],
            } },
            "orchestrator": { "enabled": false },
            "power": { "preventIdleSleep": false },
            "lifecycle": { "maxParallelAgents": 8, "maxParallelChecks": 4, "minFreeMemory": "1MB", "lookAfter": "3s" },
            // How often something is tried is what the product says by default; only how long is shorter.
            "reactions": {
                // A change that had to be rebased after it was queued is to be merged at its new head too.
                "approved-and-green": { "auto": true, "action": "merge", "strategy": "squash" },
                "ci-failed": { "escalateAfter": "20s" },
                "changes-requested": { "escalateAfter": "60s" },
                "merge-conflicts": {
                    "escalateAfter": "60s",
                    "message": format!("Your branch conflicts: [[tool sh {helpers}/rebase.sh]]"),
                },
                "agent-idle": {
                    "threshold": "4s", "escalateAfter": "60s",
                    "message": format!("You have stopped. [[tool sh {helpers}/finish.sh]]"),
                },
                "agent-stuck": { "threshold": "15s" },
            },
            "tools": { "scripted": manifest, "metered": manifest, "crashing": { "program": "sh", "args": ["-c", "exit 7"], "prompt": "lines" } },
        })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// `ao` as a user runs it, in the repository. The daemon may be dead, so it may fail.
    pub(crate) fn ao(&self, args: &[&str]) -> Ran {
        let mut command = Command::new(ao());
        command.args(args);
        Ran::of(&self.run(command))
    }

    /// What `ao` answers to a question, if it does.
    pub(crate) fn json(&self, args: &[&str]) -> Option<Value> {
        let ran = self.ao(args);
        if ran.ok { serde_json::from_str(&ran.out).ok() } else { None }
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(args);
        let ran = Ran::of(&self.run(command));
        assert!(ran.ok, "git {args:?}: {}", ran.err);
        ran.out.trim().to_owned()
    }

    /// Runs one of the helpers where the user works, and says whether it has done what it should.
    pub(crate) fn helps(&self, name: &str, arg: &str) -> bool {
        let mut command = Command::new("sh");
        command.arg(self.path("helpers").join(name)).arg(arg);
        Ran::of(&self.run(command)).ok
    }

    fn run(&self, mut command: Command) -> Output {
        command
            .current_dir(self.path("app"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .env("TMPDIR", self.path("tmp"))
            .env("AO_DATA_DIR", self.path("data"))
            .stdin(Stdio::null())
            .output()
            .expect("a program starts")
    }

    /// Kills the daemon, if one answers.
    pub(crate) fn kill_daemon(&self) -> bool {
        let pid = self.json(&["api", "GET", "/daemon"]).and_then(|daemon| daemon["pid"].as_i64());
        let pid = pid.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        let killed = pid.filter(|pid| kill_process(*pid, Signal::KILL).is_ok());
        // Before it is really gone it may still answer whoever wants to start another one.
        let is_there = |pid: Pid| {
            let of = format!("/proc/{}", pid.as_raw_nonzero());
            let stat = fs::read_to_string(format!("{of}/stat")).unwrap_or_default();
            let lives = stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'));
            // Its first thread may have ended before the others.
            lives || fs::read_dir(format!("{of}/task")).is_ok_and(|threads| threads.count() > 1)
        };
        let until = Instant::now() + Duration::from_secs(10);
        while killed.is_some_and(is_there) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        killed.is_some()
    }

    /// Every process that was started here and still runs.
    pub(crate) fn processes(&self) -> Vec<i32> {
        let (home, data) = (self.dir.path().display(), self.path("data"));
        let marks = [format!("HOME={home}"), format!("AO_DATA_DIR={}", data.display())];
        let entries = fs::read_dir("/proc").expect("there is a /proc").flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment
                .split(|byte| *byte == 0)
                .any(|known| marks.iter().any(|mark| known == mark.as_bytes()))
        })
        .collect()
    }

    /// Leaves the place where it is.
    pub(crate) fn keep(mut self) -> PathBuf {
        self.dir.disable_cleanup(true);
        self.dir.path().to_owned()
    }
}

/// Nothing that was started here outlives it, however it ends.
impl Drop for Place {
    fn drop(&mut self) {
        // Twice: what was being started while the first were killed.
        for _ in 0..2 {
            for pid in self.processes().into_iter().filter_map(Pid::from_raw) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

impl Ran {
    fn of(output: &Output) -> Ran {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ran { ok: output.status.success(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

/// The program under test, which is built beside this one.
fn ao() -> PathBuf {
    let own = std::env::current_exe().expect("a program knows its own path");
    let profile = own.parent().and_then(Path::parent).expect("examples lie in target/<profile>/examples");
    let ao = profile.join("ao");
    assert!(ao.exists(), "ao is not built: `cargo build -p ao --bins`");
    ao
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap_or_else(|err| panic!("{}: {err}", path.display()));
}

/// A feature that says a wrong word fails, with the script of the agent that hears of it; one that is flaky fails once.
const CHECK: &str = r#"
for file in feature-*.txt; do
  [ -e "$file" ] || continue
  n=${file#feature-}; n=${n%.txt}
  case $(head -n 1 "$file") in
    bad) echo "$file says bad [[tool sh HELPERS/mend.sh $n]]"; exit 1 ;;
    worse) echo "$file says worse [[say It is green now.]] [[tool sh HELPERS/mend-later.sh $n]]"; exit 1 ;;
    flaky)
      [ -z "$LUCK" ] || [ -e "$LUCK/$n" ] && continue
      : > "$LUCK/$n"; echo 'the connection was reset by the other side'; exit 1 ;;
  esac
done
"#;

const HELPERS: [(&str, &str); 7] = [
    (
        "propose.sh",
        "set -e\nn=$1\n[ -e feature-$n.txt ] || echo $2 > feature-$n.txt\n\
         [ $2 != conflict ] || grep -q \"^feature $n$\" list.txt || echo \"feature $n\" >> list.txt\n\
         git add .\ngit diff --cached --quiet || git commit -qm \"Feature $n\"\ngit push -q\n\
         i=0\nuntil ao pr create --title \"Feature $n\"; do i=$((i + 1)); [ $i -lt 150 ] || exit 1; sleep 0.2; done\n",
    ),
    (
        // Moves main and its checkout at once, or not at all: nothing of it is ever in the way of a merge.
        "by-hand.sh",
        "set -e\ntip=$(git rev-parse main)\nexport GIT_INDEX_FILE=\"$(git rev-parse --git-dir)/by-hand\"\n\
         git read-tree $tip\n\
         blob=$({ git show $tip:list.txt; echo \"by hand $1\"; } | git hash-object -w --stdin)\n\
         git update-index --cacheinfo 100644,$blob,list.txt\n\
         commit=$(git commit-tree -p $tip -m \"By hand $1\" $(git write-tree))\n\
         rm \"$GIT_INDEX_FILE\"\nunset GIT_INDEX_FILE\ngit merge -q --ff-only $commit\n",
    ),
    (
        "finish.sh",
        "n=$(cat \"$(git rev-parse --git-dir)/number\") && sh \"$(dirname \"$0\")/propose.sh\" $n good\n",
    ),
    (
        "mend.sh",
        "sed -i 's/bad/good/; s/worse/good/' feature-$1.txt && git commit -qam mended && git push -q\n",
    ),
    (
        "mend-later.sh",
        "said=\"$(git rev-parse --git-dir)/said\"\n[ -e \"$said\" ] || { : > \"$said\"; exit 0; }\n\
         sh \"$(dirname \"$0\")/mend.sh\" $1\n",
    ),
    (
        "polite.sh",
        "grep -q please feature-$1.txt || { echo please >> feature-$1.txt && git commit -qam please && git push -q; }\n\
         i=0\nuntil ao pr reply $2 t1 'Done, thank you.'; do i=$((i + 1)); [ $i -lt 150 ] || exit 1; sleep 0.2; done\n",
    ),
    (
        "rebase.sh",
        "git rebase --abort 2>/dev/null\ngit rebase -q main && exit 0\nfor i in 1 2 3 4 5; do\n  \
         sed -i '/^[<=>]\\{7\\}/d' list.txt\n  git add list.txt\n  git -c core.editor=true rebase --continue && exit 0\ndone\nexit 1\n",
    ),
];
