//! Sends the daemon's spans to an OpenTelemetry collector over HTTP. Only built with the feature `otlp`, and idle
//! unless a variable names a collector.
//!
//! A collector is often on another machine. So spans are sent with their names, times and the few fields of [`SENT`],
//! never with log messages; what is left is masked like the log.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ao_daemon::secrets::{self, Secrets};
use ao_notifier::tls;
use opentelemetry::trace::{Status, TracerProvider};
use opentelemetry::{KeyValue, Value};
use opentelemetry_otlp::{Protocol, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanEvents, SpanExporter, SpanLinks};
use reqwest::{Url, blocking, redirect};
use tracing::subscriber::SetGlobalDefaultError;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, Registry};

/// The fields that may leave the machine.
const SENT: [&str; 7] = ["level", "session", "effect", "method", "route", "status", "ms"];

/// Time limit for one batch.
const ANSWERS: Duration = Duration::from_secs(10);
/// Time to send the last batch when the daemon exits.
const LAST_BATCH: Duration = Duration::from_secs(2);

/// Sends spans until it is dropped, which sends the last ones.
#[derive(Debug)]
pub(crate) struct TraceGuard(Option<SdkTracerProvider>);

/// Sends all traces to `lines`, and spans to the collector as well, if there is one.
///
/// An unusable collector affects neither the log nor the daemon.
pub(crate) fn install<L>(lines: L) -> Result<TraceGuard, SetGlobalDefaultError>
where
    L: Layer<Registry> + Send + Sync,
{
    let variable = |name: &str| std::env::var(name).ok();
    let (provider, problem) = match address(variable).and_then(|url| url.map(open).transpose()) {
        Ok(provider) => (provider, None),
        Err(problem) => (None, Some(problem)),
    };
    let spans = provider.as_ref().map(|provider| {
        tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("ao"))
            .with_level(true)
            .with_location(false)
            .with_target(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_filter(filter_fn(is_ours))
    });
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(lines).with(spans))?;
    if let Some(problem) = problem {
        tracing::warn!(problem, "spans are not sent to a collector");
    }
    Ok(TraceGuard(provider))
}

impl Drop for TraceGuard {
    fn drop(&mut self) {
        if let Some(Err(err)) = self.0.as_ref().map(|provider| provider.shutdown_with_timeout(LAST_BATCH)) {
            tracing::debug!(%err, "the last spans were not sent");
        }
    }
}

/// Returns true for spans of our crates: others are not known to be harmless, and the export must not trace itself.
fn is_ours(metadata: &Metadata<'_>) -> bool {
    let of = metadata.target().split("::").next().unwrap_or_default();
    metadata.is_span() && *metadata.level() <= Level::INFO && (of == "ao" || of.starts_with("ao_"))
}

/// Returns the collector's URL, if the environment names one. Errors do not repeat it: it may contain a password.
fn address(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Url>, String> {
    let set = |name| variable(name).filter(|value| !value.trim().is_empty());
    // The variable for spans is used unchanged; the general one needs the path of spans.
    let (name, address) = match set(opentelemetry_otlp::OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) {
        Some(whole) => (opentelemetry_otlp::OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, whole),
        None => match set(opentelemetry_otlp::OTEL_EXPORTER_OTLP_ENDPOINT) {
            Some(base) => (
                opentelemetry_otlp::OTEL_EXPORTER_OTLP_ENDPOINT,
                format!("{}/v1/traces", base.trim().trim_end_matches('/')),
            ),
            None => return Ok(None),
        },
    };
    let url = Url::parse(address.trim()).ok().filter(|url| ["http", "https"].contains(&url.scheme()));
    url.map(Some).ok_or_else(|| format!("{name} is not a URL that starts with http:// or https://"))
}

fn open(url: Url) -> Result<SdkTracerProvider, String> {
    let target = url.origin().ascii_serialization();
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_http()
        .with_http_client(client(&url)?)
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(url)
        .build()
        .map_err(|_| format!("{target} cannot be used; check the variables OTEL_EXPORTER_OTLP_*"))?;
    let name = std::env::var("OTEL_SERVICE_NAME").unwrap_or_else(|_| "ao".into());
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let resource = Resource::builder().with_service_name(name).with_attribute(version).build();
    // Batches are bounded, and wait on a thread of their own. Excess spans are dropped.
    let careful = MaskingExporter { exporter, secrets: secrets::known, target, told: AtomicBool::new(false) };
    Ok(SdkTracerProvider::builder().with_resource(resource).with_batch_exporter(careful).build())
}

/// Builds a client that follows no redirects.
fn client(url: &Url) -> Result<blocking::Client, String> {
    let tls = tls(url).map_err(|err| format!("TLS cannot be set up: {err}"))?;
    let mut client = blocking::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(redirect::Policy::none())
        .timeout(ANSWERS)
        .user_agent(concat!("ao/", env!("CARGO_PKG_VERSION")));
    if matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]")) {
        // No proxy can reach this machine.
        client = client.no_proxy();
    }
    // A blocking client has a runtime of its own, and must not be created within the daemon's.
    let built = thread::spawn(|| client.build()).join();
    match built {
        Ok(Ok(client)) => Ok(client),
        Ok(Err(err)) => Err(format!("there is no HTTP client: {}", err.without_url())),
        Err(_) => Err("the HTTP client could not be created".into()),
    }
}

/// An exporter that passes on only what may leave the machine, and reports its errors once.
struct MaskingExporter<E> {
    exporter: E,
    /// The secrets known at the time of sending.
    secrets: fn() -> Secrets,
    /// The target for messages, without secrets.
    target: String,
    told: AtomicBool,
}

impl<E: SpanExporter> SpanExporter for MaskingExporter<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let sent = self.exporter.export(batch.into_iter().map(|span| self.clean(span)).collect()).await;
        if let Err(err) = &sent
            && !self.told.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(collector = self.target, %err, "spans do not reach their collector; this is logged only once");
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn shutdown(&self) -> OTelSdkResult {
        self.exporter.shutdown()
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

impl<E> MaskingExporter<E> {
    fn clean(&self, mut span: SpanData) -> SpanData {
        let secrets = (self.secrets)();
        span.name = secrets.mask(&span.name).into();
        span.attributes.retain(|field| SENT.contains(&field.key.as_str()));
        for field in &mut span.attributes {
            if let Value::String(text) = &field.value {
                field.value = secrets.mask(text.as_str()).into();
            }
        }
        // Log messages and errors stay in the log of this machine.
        span.events = SpanEvents::default();
        span.links = SpanLinks::default();
        if let Status::Error { .. } = span.status {
            span.status = Status::error("");
        }
        span
    }
}

/// Headers and URLs of exporters contain secrets.
impl<E> fmt::Debug for MaskingExporter<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaskingExporter").field("target", &self.target).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Records what it is given.
    #[derive(Debug, Clone, Default)]
    struct RecordingExporter(Arc<Mutex<Vec<SpanData>>>);

    impl SpanExporter for RecordingExporter {
        async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
            self.0.lock().unwrap().extend(batch);
            Ok(())
        }
    }

    /// acceptance: X5 (over OTLP)
    #[test]
    fn a_span_is_sent_without_what_may_be_secret() {
        let kept = RecordingExporter::default();
        let secrets: fn() -> Secrets =
            || Secrets::new([("GITHUB_TOKEN", b"ghp_abcdefgh".as_slice())].into_iter());
        let careful = MaskingExporter {
            exporter: kept.clone(),
            secrets,
            target: String::new(),
            told: AtomicBool::new(false),
        };
        let provider = SdkTracerProvider::builder().with_simple_exporter(careful).build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("ao"));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let span = tracing::info_span!("effect", effect = "push to ghp_abcdefgh", prompt = "private");
            let _entered = span.enter();
            tracing::error!(body = "private", "private");
        });
        let spans = kept.0.lock().unwrap();
        let said = format!("{spans:?}");
        assert!(said.contains("push to [secret GITHUB_TOKEN]"), "{said}");
        assert!(!said.contains("private") && !said.contains("ghp_"), "{said}");
    }

    #[test]
    fn the_address_comes_from_the_usual_variables_and_is_never_repeated() {
        let set = |general: &'static str, traces: &'static str| {
            address(move |name| {
                Some(if name.ends_with("TRACES_ENDPOINT") { traces } else { general }.to_owned())
            })
        };
        let found = |general, traces| set(general, traces).unwrap().map(String::from);
        assert_eq!(found("", ""), None);
        assert_eq!(found("http://localhost:4318/", "").as_deref(), Some("http://localhost:4318/v1/traces"));
        assert_eq!(found("http://a", "https://b/own").as_deref(), Some("https://b/own"));
        let refused = set("grpc://me:hunter22@c", "").unwrap_err();
        assert!(refused.contains("OTEL_EXPORTER_OTLP_ENDPOINT") && !refused.contains("hunter22"));
    }
}
