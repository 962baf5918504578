//! Every way to change a file is noticed.

use std::time::Duration;

use ao_config::watch::{ConfigWatcher, files};
use ao_config::{Layer, LayerKind, edit, load_files};
use camino::Utf8PathBuf;
use tokio::time::timeout;

use super::support::places;

const SOON: Duration = Duration::from_secs(20);

struct Watched {
    _folder: tempfile::TempDir,
    path: Utf8PathBuf,
    watcher: ConfigWatcher,
}

fn watched(text: &str) -> Watched {
    let folder = tempfile::tempdir().unwrap();
    let path =
        Utf8PathBuf::try_from(folder.path().canonicalize().unwrap()).unwrap().join("agent-orchestrator.yaml");
    std::fs::write(&path, text).unwrap();
    let layers = [Layer { kind: LayerKind::Project, path: path.clone() }];
    let watcher = ConfigWatcher::new(&files(&layers, &places())).unwrap();
    Watched { _folder: folder, path, watcher }
}

impl Watched {
    async fn changed(&mut self) -> Vec<Utf8PathBuf> {
        timeout(SOON, self.watcher.changed()).await.expect("a change is heard of")
    }

    fn port(&self) -> Result<u16, String> {
        let layer = Layer { kind: LayerKind::Project, path: self.path.clone() };
        load_files(vec![layer], &places()).map(|loaded| loaded.config.port).map_err(|err| err.to_string())
    }
}

#[tokio::test]
async fn a_file_that_is_written_or_replaced_is_heard_of() {
    let mut watched = watched("port: 1\n");
    std::fs::write(&watched.path, "port: 2\n").unwrap();
    assert_eq!(watched.changed().await, [watched.path.clone()]);
    assert_eq!(watched.port(), Ok(2));
    for port in 3..6 {
        edit::write(&watched.path.clone(), &format!("port: {port}\n")).unwrap();
        assert_eq!(watched.changed().await, [watched.path.clone()]);
        assert_eq!(watched.port(), Ok(port));
    }
}

#[tokio::test]
async fn a_local_file_that_is_made_is_heard_of_and_other_files_are_not() {
    let mut watched = watched("port: 1\n");
    let folder = watched.path.parent().unwrap().to_path_buf();
    std::fs::write(folder.join("README.md"), "not ours").unwrap();
    let local = folder.join("agent-orchestrator.local.yaml");
    std::fs::write(&local, "port: 2\n").unwrap();
    assert_eq!(watched.changed().await, [local]);
}

#[tokio::test]
async fn a_file_behind_a_link_is_heard_of() {
    let home = tempfile::tempdir().unwrap();
    let real = Utf8PathBuf::try_from(home.path().canonicalize().unwrap()).unwrap().join("dotfiles.yaml");
    std::fs::write(&real, "port: 1\n").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let link = Utf8PathBuf::try_from(folder.path().join("agent-orchestrator.yaml")).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let mut watcher = ConfigWatcher::new(&[link]).unwrap();
    std::fs::write(&real, "port: 2\n").unwrap();
    assert_eq!(timeout(SOON, watcher.changed()).await.unwrap(), [real]);
}
