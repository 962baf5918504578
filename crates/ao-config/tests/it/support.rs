//! Places that no test shares with the machine it runs on.

use std::sync::LazyLock;

use ao_config::{ConfigError, Env, Loaded, Places, parse_str};
use camino::Utf8Path;

/// A folder, a home and an environment that exist nowhere.
pub(crate) fn places() -> Places {
    places_with(&[])
}

pub(crate) fn places_with(variables: &[(&str, &str)]) -> Places {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Places { env: Env::new(variables), cwd: "/repo/here".into(), home: Some("/people/ann".into()) }
}

pub(crate) fn read(text: &str) -> Result<Loaded, ConfigError> {
    parse_str(Utf8Path::new("/repo/here/agent-orchestrator.yaml"), text, &places())
}

/// Everything that is wrong with a text, as people see it.
pub(crate) fn wrong_with(text: &str) -> String {
    match parse_str(Utf8Path::new("ao.yaml"), text, &places()) {
        Ok(_) => "nothing".to_owned(),
        Err(err) => err.to_string(),
    }
}

/// The examples of the document that says what users already know, by name and as they stand there.
pub(crate) static EXAMPLES: LazyLock<[(&str, &str); 3]> = LazyLock::new(|| {
    let document = include_str!("../../../ao/tests/fixtures/surface.md");
    let mut blocks =
        document.split("```yaml\n").skip(1).map(|block| block.split("```").next().unwrap_or(block));
    ["main", "specialists", "one-project"].map(|name| (name, blocks.next().expect("there are three")))
});
