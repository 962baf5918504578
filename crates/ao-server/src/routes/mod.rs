//! The routes. Each turns a request into one input or one look, and the result into wire types.

mod advice;
mod budgets;
mod checks;
mod conflicts;
mod control;
mod daemon;
mod events;
mod hooks;
mod issues;
mod merge;
mod messages;
mod open_pull;
mod output;
mod plan;
mod policies;
mod projects;
mod pulls;
mod queue;
mod reactions;
mod reviews;
mod sessions;
mod terminal;
mod tokens;
mod webhooks;
mod workspaces;

use std::sync::Arc;

use ao_api::Problem;
use utoipa::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Content, Ref, RefOr, Required, Response};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::problem::Failure;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "ao",
        version = "1",
        description = "The API of the ao daemon, over its socket and over TCP.\n\nOver the daemon's socket, and for a program \
                       of the daemon's own user that calls from the same machine, no token is needed. Everybody else sends \
                       `Authorization: Bearer …`; browsers sign in with a code.\n\nRefusals are problem details (RFC 9457). \
                       Fields are only ever added."
    ),
    components(schemas(Problem))
)]
struct Document;

/// Returns all routes with their description.
pub(crate) fn all() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(daemon::healthz))
        .routes(routes!(daemon::metrics))
        .routes(routes!(daemon::document))
        .routes(routes!(sessions::list, sessions::spawn))
        .routes(routes!(sessions::show, control::end))
        .routes(routes!(sessions::status))
        .routes(routes!(sessions::explain))
        .routes(routes!(messages::list))
        .routes(routes!(messages::send))
        .routes(routes!(messages::answer))
        .routes(routes!(control::stop))
        .routes(routes!(control::pause))
        .routes(routes!(control::resume))
        .routes(routes!(control::retry))
        .routes(routes!(control::restore))
        .routes(routes!(output::output))
        .routes(routes!(output::setup_log))
        .routes(routes!(terminal::terminal))
        .routes(routes!(events::events, reactions::emit))
        .routes(routes!(reactions::list))
        .routes(routes!(reactions::test))
        .routes(routes!(projects::list, projects::add))
        .routes(routes!(projects::remove))
        .routes(routes!(projects::stop))
        .routes(routes!(projects::start))
        .routes(routes!(projects::trusted, projects::trust))
        .routes(routes!(checks::of_project))
        .routes(routes!(checks::flakes))
        .routes(routes!(issues::list, issues::add))
        .routes(routes!(issues::import))
        .routes(routes!(issues::show, issues::edit))
        .routes(routes!(issues::comment))
        .routes(routes!(pulls::list, open_pull::open))
        .routes(routes!(pulls::show, pulls::edit))
        .routes(routes!(pulls::diff))
        .routes(routes!(policies::of_pull))
        .routes(routes!(policies::show))
        .routes(routes!(reviews::comment))
        .routes(routes!(reviews::edit_comment))
        .routes(routes!(reviews::review))
        .routes(routes!(reviews::resolve))
        .routes(routes!(reviews::reviewer))
        .routes(routes!(merge::claim))
        .routes(routes!(merge::merge))
        .routes(routes!(checks::list, checks::run))
        .routes(routes!(checks::show))
        .routes(routes!(checks::log))
        .routes(routes!(conflicts::list))
        .routes(routes!(conflicts::between))
        .routes(routes!(hooks::list))
        .routes(routes!(hooks::logs))
        .routes(routes!(hooks::log))
        .routes(routes!(hooks::test))
        .routes(routes!(workspaces::list))
        .routes(routes!(workspaces::cleanup))
        .routes(routes!(budgets::list))
        .routes(routes!(plan::show))
        .routes(routes!(advice::list))
        .routes(routes!(queue::list, queue::add))
        .routes(routes!(queue::prioritize, queue::remove))
        .routes(routes!(queue::pause))
        .routes(routes!(queue::resume))
        .routes(routes!(daemon::about))
        .routes(routes!(daemon::stop))
        .routes(routes!(daemon::reload))
        .routes(routes!(daemon::config))
        .routes(routes!(daemon::notify_list))
        .routes(routes!(daemon::notify_test))
        .routes(routes!(tokens::make))
        .routes(routes!(tokens::rotate))
        .routes(routes!(tokens::sign_in))
        .routes(routes!(webhooks::receive))
}

/// Routes whose body is optional, because they are harmless with the defaults.
const BODY_OPTIONAL: &[&str] = &[
    "/api/sessions/{id}/stop",
    "/api/sessions/{id}/resume",
    "/api/pulls/{id}/threads/{thread}/resolve",
    "/api/pulls/{id}/reviewer",
    "/api/hooks/{id}/test",
    "/api/notify/test",
    "/api/tokens",
];

/// Returns the description of all routes, in a stable order.
pub(crate) fn document() -> String {
    let mut document = all().into_openapi();
    if let Some(components) = &mut document.components {
        let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        components.add_security_scheme("token", bearer);
    }
    // Added to every route: any of them can be refused.
    let refused = Response::builder()
        .description("A refusal or a failure")
        .content("application/problem+json", Content::new(Some(RefOr::Ref(Ref::from_schema_name("Problem")))))
        .build();
    for (name, path) in &mut document.paths.paths {
        let optional = BODY_OPTIONAL.contains(&name.as_str());
        let calls = [&mut path.get, &mut path.post, &mut path.patch, &mut path.delete];
        for call in calls.into_iter().flatten() {
            call.responses.responses.insert("default".into(), RefOr::T(refused.clone()));
            if let Some(RefOr::T(body)) = call.request_body.as_mut().filter(|_| optional) {
                body.required = Some(Required::False);
            }
            // By a token, or by the connection alone.
            call.security.get_or_insert_with(|| {
                vec![
                    SecurityRequirement::new::<_, [&str; 0], &str>("token", []),
                    SecurityRequirement::default(),
                ]
            });
        }
    }
    unsigned(&document.to_pretty_json().expect("the description is plain data"))
}

/// Removes the format of unsigned integers. It would be shown as signed, with half the range.
fn unsigned(document: &str) -> String {
    let lines: Vec<&str> = document.lines().collect();
    let deep = |line: &str| line.len() - line.trim_start().len();
    let mut text = String::with_capacity(document.len());
    for (at, line) in lines.iter().enumerate() {
        // The rest of the same object: lines with the same or deeper indentation.
        let mut rest = lines[at + 1..].iter().take_while(|next| deep(next) >= deep(line));
        let is_format = line.trim_start().starts_with("\"format\": \"int");
        if is_format && rest.any(|next| next.trim().trim_end_matches(',') == "\"minimum\": 0") {
            continue;
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

pub(crate) async fn nothing_here() -> Failure {
    Problem::new(404, "no-such-call", "there is no such call")
        .hint("`GET /api/openapi.json` lists all of them")
        .into()
}

pub(crate) async fn not_that_way() -> Failure {
    Problem::new(405, "no-such-method", "this cannot be called by that method")
        .hint("`GET /api/openapi.json` lists all calls")
        .into()
}
