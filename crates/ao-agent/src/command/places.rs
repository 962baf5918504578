//! Paths of this machine that agents need.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The paths that every agent of a daemon gets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentPlaces {
    /// Our own program, by its full path: an agent's shell may have another `PATH`.
    pub ao: String,
    /// The folder of the logs of checks, which messages refer to.
    pub check_logs: String,
}

/// The values of `{ao}`, `{check_logs}`, `{git_dir}`, `{git_common}` and `{secret}` for one launch in a workspace.
pub(super) struct PlaceValues(BTreeMap<&'static str, String>);

impl PlaceValues {
    /// A workspace whose files this machine does not see is a clone, with one git folder.
    pub(super) fn of(places: &AgentPlaces, workspace: &str, shares_files: bool) -> io::Result<PlaceValues> {
        let dot_git = || Path::new(workspace).join(".git");
        let (own, common) =
            if shares_files { git_dirs(Path::new(workspace)) } else { (dot_git(), dot_git()) };
        Ok(PlaceValues(BTreeMap::from([
            ("{ao}", places.ao.clone()),
            ("{check_logs}", places.check_logs.clone()),
            ("{git_dir}", own.to_string_lossy().into_owned()),
            ("{git_common}", common.to_string_lossy().into_owned()),
            ("{secret}", secret()?),
        ])))
    }

    /// Replaces the placeholders in a text.
    pub(super) fn fill(&self, text: &str) -> String {
        // Inside JSON a path is part of a string.
        let is_json = text.starts_with('{') && serde_json::from_str::<serde_json::Value>(text).is_ok();
        let mut text = text.to_owned();
        for (word, value) in self.0.iter().filter(|(_, value)| !value.is_empty()) {
            let quoted = serde_json::to_string(value).unwrap_or_default();
            let inside = quoted.trim_start_matches('"').trim_end_matches('"');
            text = text.replace(word, if is_json { inside } else { value });
        }
        text
    }
}

/// Returns a password that no other launch has.
fn secret() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns the git folder of a workspace, and the one that it shares with its repository. The same for a clone.
fn git_dirs(workspace: &Path) -> (PathBuf, PathBuf) {
    let dot_git = workspace.join(".git");
    let own = fs::read_to_string(&dot_git)
        .ok()
        .and_then(|link| link.strip_prefix("gitdir:").map(|path| workspace.join(path.trim())))
        .unwrap_or(dot_git);
    let common = fs::read_to_string(own.join("commondir")).map(|path| own.join(path.trim()));
    let common = common.ok().and_then(|path| path.canonicalize().ok()).unwrap_or_else(|| own.clone());
    (own, common)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linked_worktree_has_a_folder_of_its_own_and_a_shared_one() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let (own, tree) = (root.join("repo/.git/worktrees/fix"), root.join("fix"));
        fs::create_dir_all(&own).unwrap();
        fs::create_dir_all(&tree).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(tree.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
        assert_eq!(git_dirs(&tree), (own, root.join("repo/.git")));
        fs::create_dir_all(root.join("clone/.git")).unwrap();
        assert_eq!(git_dirs(&root.join("clone")).1, root.join("clone/.git"));
    }

    #[test]
    fn a_place_is_quoted_where_it_stands_in_json() {
        let places = AgentPlaces { ao: r#"/opt/a "b"/ao"#.into(), check_logs: "/logs".into() };
        let values = PlaceValues::of(&places, "/nowhere", true).unwrap();
        assert_eq!(values.fill("{ao} pr"), r#"/opt/a "b"/ao pr"#);
        let json = values.fill(r#"{"allow":["Bash({ao}:*)","Read(/{check_logs}/**)"]}"#);
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(read["allow"][0], r#"Bash(/opt/a "b"/ao:*)"#);
        assert_eq!(read["allow"][1], "Read(//logs/**)");
    }
}
