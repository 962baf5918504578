//! Submodules of a checkout, from the copies in the user's repository. Uses no network, and leaves the settings that
//! all worktrees share as they are.

use std::sync::Arc;
use std::time::Duration;

use ao_git::{Git, GitError, Settings};
use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

const LIMIT: Duration = Duration::from_secs(600);

/// Checks out the submodules of a tree, recursively, and returns the paths of those without a local copy. `modules`
/// is the folder in which git stores the user's submodule repositories.
pub(super) async fn put(
    root: &Utf8Path,
    modules: &Utf8Path,
    settings: &Settings,
) -> Result<Vec<String>, GitError> {
    let mut missing = Vec::new();
    let mut open = vec![(root.to_owned(), modules.to_owned())];
    while let Some((tree, modules)) = open.pop() {
        // A link would lead git to a file that is not of this commit; git refuses it as well.
        if !tree.join(".gitmodules").symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        let named = named(&Git::in_tree(tree.as_std_path(), settings)).await?;
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            named.into_iter().partition(|it| it.is_plain() && modules.join(&it.name).join("HEAD").exists());
        let inside = tree.strip_prefix(root).unwrap_or(&tree);
        missing.extend(elsewhere.iter().map(|it| inside.join(&it.path).to_string()));
        if here.is_empty() {
            continue;
        }
        let settings = local(settings, &modules, &here, &elsewhere);
        let git = Git::in_tree(tree.as_std_path(), &settings).shown_to_be_ours();
        git.write_within(LIMIT, &["submodule", "--quiet", "update", "--checkout"]).await?;
        for submodule in here {
            let path = tree.join(&submodule.path);
            if is_below(&path, &tree) && path.join(".git").exists() {
                open.push((path, modules.join(&submodule.name).join("modules")));
            }
        }
    }
    Ok(missing)
}

#[derive(Debug)]
struct Submodule {
    name: String,
    path: String,
}

impl Submodule {
    /// Returns true if neither name can lead outside. They come from the commit, so they may be hostile.
    fn is_plain(&self) -> bool {
        [&self.name, &self.path].into_iter().all(|text| {
            let plain =
                |part: Utf8Component<'_>| matches!(part, Utf8Component::Normal(part) if part != ".git");
            !text.is_empty() && Utf8Path::new(text).components().all(plain)
        })
    }
}

/// Returns the submodules that a tree names.
async fn named(git: &Git) -> Result<Vec<Submodule>, GitError> {
    let ask = ["config", "--null", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$"];
    let listed = git.answer(&ask).await?.unwrap_or_default();
    let named = listed.split('\0').filter_map(|entry| {
        let (key, path) = entry.split_once('\n')?;
        let name = key.strip_prefix("submodule.")?.strip_suffix(".path")?;
        Some(Submodule { name: name.to_owned(), path: path.to_owned() })
    });
    Ok(named.collect())
}

/// Returns settings by which git takes local submodules from the user's copies, and ignores the others.
fn local(settings: &Settings, modules: &Utf8Path, here: &[Submodule], elsewhere: &[Submodule]) -> Settings {
    let mut all = settings.to_vec();
    // Git guards this because a submodule's address might name any folder; this one names the user's own.
    all.push(("protocol.file.allow".into(), "always".into()));
    for Submodule { name, .. } in here {
        all.push((format!("submodule.{name}.active"), "true".into()));
        all.push((format!("submodule.{name}.url"), modules.join(name).into_string()));
    }
    for Submodule { name, .. } in elsewhere {
        all.push((format!("submodule.{name}.active"), "false".into()));
    }
    Arc::new(all)
}

/// Returns true if a path is really inside a folder, with all links followed.
fn is_below(path: &Utf8Path, folder: &Utf8Path) -> bool {
    let real = |path: &Utf8Path| path.canonicalize_utf8().unwrap_or_else(|_| Utf8PathBuf::new());
    let (path, folder) = (real(path), real(folder));
    path != folder && !folder.as_str().is_empty() && path.starts_with(&folder)
}
