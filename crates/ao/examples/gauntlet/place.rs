//! The place of the gauntlet: a repository with a check, and the scripts that agents and people run.

use std::fs;

use ao_testkit::installation::Installation;
use serde_json::{Value, json};

/// Makes the home that a run takes place in.
pub(crate) fn prepare() -> Installation {
    let home = Installation::new("ao-gauntlet-");
    fs::create_dir(home.path("luck")).expect("a folder can be made");
    for (name, text) in HELPERS {
        home.write(&format!("helpers/{name}"), text);
    }
    let helpers = home.path("helpers").display().to_string();
    home.write("app/check.sh", &CHECK.replace("HELPERS", &helpers));
    home.write("app/list.txt", "features:\n");
    home.commit_all();
    home.configure(&config(&home, &helpers));
    home
}

fn config(home: &Installation, helpers: &str) -> Value {
    let manifest = home.scripted_agent();
    json!({
        "defaults": { "runtime": "process", "agent": "scripted", "tracker": "local", "notifiers": [] },
        "projects": { "app": {
            "path": ".",
            "sessionPrefix": "app",
            "checks": [{ "name": "words", "command": "sh check.sh", "env": { "set": { "LUCK": home.path("luck") } } }],
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
        // Moves main and its checkout at once, or not at all: nothing of it is ever in the way of a merge. `git merge` reads
        // the index before it locks it, so two of them at once can undo each other's index; `git read-tree` locks first. The
        // reflog then reads as after `git merge`, by which the daemon knows a person's work.
        "by-hand.sh",
        "set -e\ntip=$(git rev-parse main)\nexport GIT_INDEX_FILE=\"$(git rev-parse --git-dir)/by-hand\"\n\
         git read-tree $tip\n\
         blob=$({ git show $tip:list.txt; echo \"by hand $1\"; } | git hash-object -w --stdin)\n\
         git update-index --cacheinfo 100644,$blob,list.txt\n\
         commit=$(git commit-tree -p $tip -m \"By hand $1\" $(git write-tree))\n\
         rm \"$GIT_INDEX_FILE\"\nunset GIT_INDEX_FILE\ngit read-tree -m -u $tip $commit\n\
         git update-ref -m \"merge by hand: Fast-forward\" HEAD $commit $tip || { git read-tree -m -u $commit $tip; exit 1; }\n",
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
