//! Fingerprints the files that decide which programs git runs in a repository, and where its objects and branches come
//! from: settings, hooks, attributes, grafts, borrowed objects.
//!
//! All worktrees share them, so an agent can change them for every other user of the repository. Only what matters is
//! examined: settings of branches and of people change during ordinary work.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use sha2::{Digest, Sha256};

use crate::guard::{self, Setting};

/// Files that are compared by their contents.
const FILES: [&str; 3] = ["info/attributes", "info/grafts", "objects/info/alternates"];
/// Repository settings that name places, and what is read besides it.
const SAY_WHERE: [&str; 5] = [
    "core.worktree",
    "core.bare",
    "core.attributesfile",
    "extensions.partialclone",
    "core.alternaterefsprefixes",
];
/// Most bytes that are read of a file.
const MOST: usize = 1 << 20;

/// The fingerprint of a repository's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfigFingerprint {
    /// A digest of each part by its name, such as `hooks/pre-commit` or `core.sshcommand in config`.
    pub parts: BTreeMap<String, String>,
    /// The settings that name programs.
    pub programs: Vec<Setting>,
}

impl ConfigFingerprint {
    /// Reads a repository by its common git directory.
    pub async fn of(common_dir: &Path) -> io::Result<ConfigFingerprint> {
        let settings = guard::own_settings(common_dir).await?;
        let mut parts: BTreeMap<String, String> = BTreeMap::new();
        let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (key, value) in settings.iter().filter(|(key, value)| matters(key, value)) {
            values.entry(key).or_default().push(value);
        }
        for (key, values) in values {
            parts.insert(format!("`{key}` in config"), digest(values.join("\0").as_bytes()));
        }
        for name in FILES {
            if let Some(bytes) = bytes(&common_dir.join(name))? {
                parts.insert(name.to_owned(), digest(&bytes));
            }
        }
        // A fetch may extend or remove this file, but must not truncate a history that was complete.
        if common_dir.join("shallow").exists() {
            parts.insert("shallow".to_owned(), String::new());
        }
        for hook in fs::read_dir(common_dir.join("hooks")).into_iter().flatten().flatten() {
            let name = hook.file_name().to_string_lossy().into_owned();
            if name.ends_with(".sample") {
                continue;
            }
            if let Some(bytes) = bytes(&hook.path())? {
                parts.insert(format!("hooks/{name}"), digest(&bytes));
            }
        }
        let programs = settings.into_iter().filter(|(key, _)| guard::is_program(key)).collect();
        Ok(ConfigFingerprint { parts, programs })
    }

    /// Returns the names of the parts that are new, different or gone compared with `before`.
    pub fn changed_since(&self, before: &BTreeMap<String, String>) -> Vec<String> {
        let new = self.parts.iter().filter(|(name, digest)| before.get(*name) != Some(digest));
        let gone = before.keys().filter(|name| !self.parts.contains_key(*name) && *name != "shallow");
        new.map(|(name, _)| name).chain(gone).cloned().collect()
    }
}

fn matters(key: &str, value: &str) -> bool {
    // `git submodule init` copies a keyword, and not a command.
    if key.starts_with("submodule.") && key.ends_with(".update") {
        return value.starts_with('!');
    }
    guard::is_program(key)
        || SAY_WHERE.contains(&key)
        || key.starts_with("include")
        || key.starts_with("url.")
        || key.starts_with("remote.") && (key.ends_with(".url") || key.ends_with(".promisor"))
}

/// Reads the beginning of a file; `None` if there is no such file.
fn bytes(file: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::metadata(file) {
        Ok(found) if !found.is_file() => return Ok(None),
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
        _ => {}
    }
    match fs::read(file) {
        Ok(mut bytes) => {
            bytes.truncate(MOST);
            Ok(Some(bytes))
        }
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(err) => Err(err),
    }
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn git(dir: &Path, args: &[&str]) {
        assert!(Command::new("git").args(args).current_dir(dir).status().unwrap().success(), "{args:?}");
    }

    /// acceptance: G2
    #[tokio::test]
    async fn shared_changes_are_noticed_and_ordinary_work_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        git(dir, &["init", "--quiet"]);
        git(dir, &["config", "filter.lfs.clean", "git-lfs clean -- %f"]);
        let common_dir = dir.join(".git");
        let look = async || ConfigFingerprint::of(&common_dir).await.unwrap();
        let before = look().await;
        assert_eq!(before.programs, [("filter.lfs.clean".to_owned(), "git-lfs clean -- %f".to_owned())]);
        for args in [
            &["config", "branch.x.remote", "origin"][..],
            &["config", "user.name", "Ann"],
            &["config", "extensions.worktreeConfig", "true"],
            &["config", "submodule.x.update", "rebase"],
            &["config", "push.default", "current"],
        ] {
            git(dir, args);
            assert_eq!(look().await.changed_since(&before.parts), [""; 0], "{args:?}");
        }
        let write = |name: &str, text: &str| {
            let file = common_dir.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        for (name, change) in [
            ("`core.sshcommand` in config", &(|| git(dir, &["config", "core.sshCommand", "x"])) as &dyn Fn()),
            ("`core.hookspath` in config", &|| git(dir, &["config", "core.hooksPath", "x"])),
            ("`filter.lfs.clean` in config", &|| git(dir, &["config", "filter.lfs.clean", "x"])),
            ("`merge.y.driver` in config", &|| git(dir, &["config", "merge.y.driver", "x"])),
            ("`submodule.x.update` in config", &|| git(dir, &["config", "submodule.x.update", "!x"])),
            ("`remote.origin.url` in config", &|| git(dir, &["config", "remote.origin.url", "x"])),
            ("`url.a.insteadof` in config", &|| git(dir, &["config", "url.a.insteadOf", "b"])),
            ("info/attributes", &|| write("info/attributes", "* filter=x\n")),
            ("info/grafts", &|| write("info/grafts", "x\n")),
            ("objects/info/alternates", &|| write("objects/info/alternates", "/x\n")),
            ("shallow", &|| write("shallow", "x\n")),
            ("hooks/post-checkout", &|| write("hooks/post-checkout", "x\n")),
        ] {
            let before = look().await;
            change();
            assert_eq!(look().await.changed_since(&before.parts), [name]);
        }
        let before = look().await;
        git(dir, &["config", "--unset", "core.sshCommand"]);
        assert_eq!(look().await.changed_since(&before.parts), ["`core.sshcommand` in config"]);
    }
}
