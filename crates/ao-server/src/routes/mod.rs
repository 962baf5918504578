//! The routes. Each turns a request into one input or one look, and the result into wire types.

mod advice;
mod asks;
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
mod workspaces;

use std::sync::Arc;

use ao_api::Problem;
use axum::Router;
use axum::routing::{MethodFilter, on};
use pastey::paste;
use utoipa::openapi::path::HttpMethod;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, Required, Response};
use utoipa::{OpenApi as _, Path as _};
use utoipa_axum::PathItemExt as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::problem::Failure;

#[derive(utoipa::OpenApi)]
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

/// Defines the routes and their description by one list. The calls of one row share a path.
macro_rules! calls {
    ($($($module:ident::$call:ident),+;)+) => {
        paste! {
            /// Returns all routes.
            pub(crate) fn all() -> Router<Arc<App>> {
                Router::new()
                    $($(.route(
                        &$module::[<__path_ $call>]::path(),
                        on(methods(&$module::[<__path_ $call>]::methods()), $module::$call),
                    ))+)+
            }

            /// Returns the description of all routes. The daemon serves it from a file: the code that builds it takes more
            /// room than all routes.
            fn described() -> OpenApi {
                OpenApiRouter::<Arc<App>>::with_openapi(Document::openapi())
                    $(.routes(routes!($($module::$call),+)))+
                    .into_openapi()
            }
        }
    };
}

calls! {
    daemon::healthz;
    daemon::metrics;
    daemon::document;
    sessions::list, sessions::spawn;
    sessions::show, control::end;
    sessions::status;
    sessions::explain;
    messages::list;
    messages::send;
    asks::all;
    asks::list;
    asks::show;
    asks::answer;
    control::stop;
    control::pause;
    control::resume;
    control::retry;
    control::restore;
    output::output;
    output::setup_log;
    terminal::terminal;
    events::events, reactions::emit;
    reactions::list;
    reactions::test;
    projects::list, projects::add;
    projects::remove;
    projects::stop;
    projects::start;
    projects::trusted, projects::trust;
    checks::of_project;
    checks::flakes;
    issues::list, issues::add;
    issues::import;
    issues::show, issues::edit;
    issues::comment;
    pulls::list, open_pull::open;
    pulls::show, pulls::edit;
    pulls::diff;
    policies::of_pull;
    policies::show;
    reviews::comment;
    reviews::edit_comment;
    reviews::review;
    reviews::resolve;
    reviews::reviewer;
    merge::claim;
    merge::merge;
    checks::list, checks::run;
    checks::show;
    checks::log;
    conflicts::list;
    conflicts::between;
    hooks::list;
    hooks::logs;
    hooks::log;
    hooks::test;
    workspaces::list;
    workspaces::cleanup;
    budgets::list;
    plan::show;
    advice::list;
    queue::list, queue::add;
    queue::prioritize, queue::remove;
    queue::pause;
    queue::resume;
    daemon::about;
    daemon::stop;
    daemon::reload;
    daemon::config;
    daemon::notify_list;
    daemon::notify_test;
    tokens::make;
    tokens::rotate;
    tokens::sign_in;
}

/// Returns a filter for any of the methods.
fn methods(methods: &[HttpMethod]) -> MethodFilter {
    let filters = methods.iter().map(HttpMethod::to_method_filter);
    filters.reduce(MethodFilter::or).expect("a call has a method")
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
    let mut document = described();
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
