//! Closed sets of values on the wire.

use std::fmt;

use serde::Serialize;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};

/// A closed set of values.
pub trait WireEnum: Copy + fmt::Display + Serialize + 'static {
    /// The values of this version of the API.
    const ALL: &'static [Self];
}

/// Defines an enum whose values are written in snake_case, or in the named case: `pub enum Name in "kebab-case" { … }`.
///
/// A set that only the daemon sends ends in `or Unknown`: a client reads a value of a newer daemon as `Unknown`, which no
/// daemon sends and the API's description does not list. With `and Unknown` it is a value of its own as well. Sets that
/// clients send have no such fallback: the daemon refuses other values, and lists the valid ones.
macro_rules! wire_enum {
    ($(#[doc = $doc:literal])* pub enum $name:ident { $($variants:tt)* } $($rest:tt)*) => {
        wire_enum! { $(#[doc = $doc])* pub enum $name in "snake_case" { $($variants)* } $($rest)* }
    };
    ($(#[doc = $doc:literal])* pub enum $name:ident in $case:literal { $($variants:tt)* } or Unknown) => {
        wire_enum!(@ [$($doc)*] $name $case [$($variants)*] [#[default] #[serde(other)] Unknown] [Default]);
    };
    ($(#[doc = $doc:literal])* pub enum $name:ident in $case:literal { $($variants:tt)* } and Unknown) => {
        wire_enum!(@ [$($doc)*] $name $case [$($variants)*, #[default] #[serde(other)] Unknown] [] [Default]);
    };
    ($(#[doc = $doc:literal])* pub enum $name:ident in $case:literal { $($variants:tt)* }) => {
        wire_enum!(@ [$($doc)*] $name $case [$($variants)*] [] []);
    };
    (
        @ [$($doc:literal)*] $name:ident $case:literal
        [$($(#[$attr:meta])* $variant:ident),+ $(,)?] [$($other:tt)*] [$($derive:ident)?]
    ) => {
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize $(, $derive)?)]
        #[serde(rename_all = $case)]
        pub enum $name { $($(#[$attr])* $variant,)+ $($other)* }

        impl $crate::WireEnum for $name {
            const ALL: &'static [$name] = &[$($name::$variant),+];
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                serde::Serialize::serialize(self, f)
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                $crate::wire_enum::schema::<$name>(concat!($($doc),*))
            }
        }

        impl utoipa::ToSchema for $name {}
    };
}

/// Describes a set for the API's description.
pub(crate) fn schema<T: WireEnum>(description: &str) -> RefOr<Schema> {
    let values = T::ALL.iter().map(ToString::to_string);
    let schema = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(values));
    schema.description(Some(description.trim())).into()
}

#[cfg(test)]
mod tests {
    use serde_json::{from_str, json};

    use crate::{CheckRunState, HookTrigger, QueuedState, SessionState, WireEnum};

    #[test]
    fn a_value_is_written_like_its_variant_or_its_rename() {
        assert_eq!(json!(SessionState::NeedsInput), "needs_input");
        assert_eq!(json!(HookTrigger::BeforeMerge), "before-merge");
        assert_eq!(format!("{:>8}", CheckRunState::Queued), "  queued");
    }

    #[test]
    fn a_client_reads_a_value_of_a_newer_daemon_and_a_daemon_refuses_a_wrong_one() {
        assert_eq!(from_str::<QueuedState>("\"levitating\"").unwrap(), QueuedState::Unknown);
        assert!(!QueuedState::ALL.contains(&QueuedState::Unknown), "no daemon sends it");
        assert!(SessionState::ALL.contains(&SessionState::Unknown), "it is also a state");
        let refused = from_str::<CheckRunState>("\"levitating\"").unwrap_err().to_string();
        assert!(refused.contains("`levitating`, expected one of `queued`, `running`, `passed`"), "{refused}");
    }
}
