//! Maps by a structured key, stored as lists of their values because JSON has only strings as keys.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value that knows the key that it is found by.
pub(crate) trait Keyed {
    type Key: Ord;

    fn key(&self) -> Self::Key;
}

pub(crate) fn serialize<V: Keyed + Serialize, S: Serializer>(
    map: &BTreeMap<V::Key, V>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(map.values())
}

pub(crate) fn deserialize<'de, V: Keyed + Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<V::Key, V>, D::Error> {
    let values = Vec::<V>::deserialize(deserializer)?;
    Ok(values.into_iter().map(|value| (value.key(), value)).collect())
}
