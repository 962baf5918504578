//! The contract of the notifier port, on every plugin and the routing.

use std::sync::Arc;

use ao_core::notice::NoticeLevel;
use ao_notifier::{Audience, Pace, Routed};
use ao_ports::Notifier;
use ao_testkit::contract::notifier::NotifierBench;
use async_trait::async_trait;

use crate::server::{Answer, Server};
use crate::support::channel;

/// A plugin that posts to a server. The server accepts what it answers with success.
struct PostBench {
    server: Server,
    notifier: Arc<dyn Notifier>,
    success: Answer,
    secrets: &'static [&'static str],
    /// The number of notices that were accepted before it failed, and of posts that were not.
    before: Option<usize>,
    failed: usize,
}

impl PostBench {
    async fn start(
        plugin: &str,
        (key, path): (&str, &str),
        more: &[(&str, &str)],
        secrets: &'static [&'static str],
    ) -> PostBench {
        let success = Answer::said(200, r#"{"successful":true,"error":null,"data":{}}"#);
        let server = Server::start(success.clone()).await;
        let url = server.url(path);
        let settings = [&[(key, url.as_str())], more].concat();
        let notifier = Arc::new(channel(plugin, &settings).unwrap());
        PostBench { server, notifier, success, secrets, before: None, failed: 0 }
    }

    fn routed(self) -> PostBench {
        let levels = [NoticeLevel::Info, NoticeLevel::Warning, NoticeLevel::Action, NoticeLevel::Urgent];
        let notifier = Arc::new(Routed::new(self.notifier, Audience::of(levels), Pace::default()));
        PostBench { notifier, ..self }
    }
}

#[async_trait]
impl NotifierBench for PostBench {
    fn notifier(&self) -> Arc<dyn Notifier> {
        self.notifier.clone()
    }

    async fn accepted(&self) -> usize {
        self.before.unwrap_or_else(|| self.server.posted().len() - self.failed)
    }

    async fn set_working(&mut self, works: bool) {
        let accepted = self.accepted().await;
        self.before = (!works).then_some(accepted);
        self.failed = self.server.posted().len() - accepted;
        self.server.answer(if works { self.success.clone() } else { Answer::said(500, "no") });
    }

    fn secrets(&self) -> Vec<String> {
        self.secrets.iter().map(|secret| (*secret).to_owned()).collect()
    }
}

mod slack {
    use super::*;
    ao_testkit::notifier_contract!(
        PostBench::start("slack", ("webhookUrl", "/services/T0/B0/hushhush"), &[], &["hushhush"]).await
    );
}

mod discord {
    use super::*;
    ao_testkit::notifier_contract!(
        PostBench::start("discord", ("webhookUrl", "/api/webhooks/7/hushhush"), &[], &["hushhush"]).await
    );
}

mod telegram {
    use super::*;
    const BOT: &[(&str, &str)] = &[("botToken", "123:ABC-def_4"), ("chatId", "-100123456")];
    ao_testkit::notifier_contract!(
        PostBench::start("telegram", ("apiUrl", ""), BOT, &["ABC-def_4", "-100123456"]).await
    );
}

mod webhook {
    use super::*;
    const KEYS: &[(&str, &str)] = &[("secret", "s3cret"), ("headers.Authorization", "Bearer t0ken")];
    ao_testkit::notifier_contract!(
        PostBench::start("webhook", ("url", "/hook"), KEYS, &["s3cret", "t0ken"]).await
    );
}

mod composio {
    use super::*;
    const KEYS: &[(&str, &str)] = &[("apiKey", "ck_hushhush"), ("channel", "#ops")];
    ao_testkit::notifier_contract!(
        PostBench::start("composio", ("apiUrl", "/api/v3"), KEYS, &["ck_hushhush"]).await
    );
}

mod openclaw {
    use super::*;
    ao_testkit::notifier_contract!(
        PostBench::start("openclaw", ("url", ""), &[("token", "hook-hush")], &["hook-hush"]).await
    );
}

mod routed {
    use super::*;
    ao_testkit::notifier_contract!(PostBench::start("webhook", ("url", "/hook"), &[], &[]).await.routed());
}
