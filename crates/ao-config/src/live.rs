//! A configuration that follows its files. A file with a mistake in it changes nothing, and is told of.

use crate::error::ConfigError;
use crate::find::{Layer, Places, find};
use crate::load::{Loaded, load_files};
use crate::watch::{self, WatchError, Watcher};

/// The configuration as it is now, and the watch over its files.
#[derive(Debug)]
pub struct Live {
    places: Places,
    loaded: Loaded,
    watcher: Watcher,
    /// What was last told to be wrong, so that it is told once.
    wrong: Option<ConfigError>,
}

/// What became of a change.
#[derive(Debug)]
pub enum Reload {
    /// There is a new configuration.
    New,
    /// What the files say now is wrong; the configuration is the one before.
    Kept(ConfigError),
    /// The files are right again, and say what they said before.
    Mended,
}

impl Live {
    /// Watches the files of a configuration that was loaded from these places.
    pub fn new(places: Places, loaded: Loaded) -> Result<Live, WatchError> {
        let watcher = watch_over(&loaded.layers, &places)?;
        Ok(Live { places, loaded, watcher, wrong: None })
    }

    pub fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// Waits until the files say something else. Can be given up at any time without missing anything.
    ///
    /// Changes that change nothing, such as those of comments, are not told of.
    pub async fn reloaded(&mut self) -> Reload {
        loop {
            self.watcher.changed().await;
            if let Some(reload) = self.reload() {
                return reload;
            }
        }
    }

    /// Reads the files now, and says what became of it if there is anything to say.
    pub fn reload(&mut self) -> Option<Reload> {
        // A file that has just been made joins the others, and its folder may be a new one.
        let layers = match find(&self.places) {
            Ok(layers) => layers,
            Err(err) => return self.keep(err),
        };
        if layers != self.loaded.layers
            && let Ok(watcher) = watch_over(&layers, &self.places)
        {
            self.watcher = watcher;
        }
        match load_files(layers, &self.places) {
            Ok(loaded) => {
                let mended = self.wrong.take().is_some();
                let new = loaded.config != self.loaded.config;
                self.loaded = loaded;
                match (new, mended) {
                    (true, _) => Some(Reload::New),
                    (false, true) => Some(Reload::Mended),
                    (false, false) => None,
                }
            }
            Err(err) => self.keep(err),
        }
    }

    fn keep(&mut self, err: ConfigError) -> Option<Reload> {
        let news = self.wrong.as_ref() != Some(&err);
        self.wrong = Some(err.clone());
        news.then_some(Reload::Kept(err))
    }
}

fn watch_over(layers: &[Layer], places: &Places) -> Result<Watcher, WatchError> {
    Watcher::new(&watch::files(layers, places))
}
