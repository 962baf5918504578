//! Webhooks of forges. The adapter that parses one checks its signature.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};

use crate::app::App;
use crate::extract::{Part, Raw};
use crate::problem::Failure;

/// Receives a webhook of a forge.
#[utoipa::path(
    post, path = "/api/webhooks/{scm}", tag = "webhooks", security(()),
    params(("scm" = String, Path, description = "The forge, by its name in the configuration")),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "As the forge sends it"),
    responses((status = 202, description = "It was taken")),
)]
pub(super) async fn receive(
    State(app): State<Arc<App>>,
    Part(scm): Part,
    headers: HeaderMap,
    Raw(body): Raw,
) -> Result<StatusCode, Failure> {
    app.host.webhook(&scm, &headers, &body).await?;
    Ok(StatusCode::ACCEPTED)
}
