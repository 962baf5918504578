//! Webhooks of forges. None of the built-in forges sends any, so every call is refused.

use ao_api::Problem;
use axum::http::StatusCode;

use crate::extract::{DroppedBody, Part};
use crate::problem::Failure;

/// Receives a webhook of a forge.
#[utoipa::path(
    post, path = "/api/webhooks/{scm}", tag = "webhooks", security(()),
    params(("scm" = String, Path, description = "The forge, by its name in the configuration")),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "As the forge sends it"),
    responses((status = 202, description = "It was taken")),
)]
pub(super) async fn receive(Part(scm): Part, _: DroppedBody) -> Result<StatusCode, Failure> {
    let shown: String = scm.chars().take(100).collect();
    let title = format!("no forge `{shown}` is configured to send anything here; there is none");
    Err(Problem::new(404, "no-such-scm", title).into())
}
