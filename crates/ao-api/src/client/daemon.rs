//! Calls about the daemon itself and its notification channels.

use serde_json::json;

use super::{ApiCall, Client};
use crate::{ChannelTest, Daemon, NewToken, NotifyChannel, NotifyTest, Stopping, Token};

impl Client {
    pub fn daemon(&self) -> ApiCall<'_, Daemon> {
        self.get("/api/daemon")
    }

    /// Asks the daemon to exit. Agents keep running.
    pub fn stop_daemon(&self) -> ApiCall<'_, Stopping> {
        self.post("/api/daemon/stop", &json!({}))
    }

    /// Creates a code that signs one browser in.
    pub fn sign_in(&self) -> ApiCall<'_, Token> {
        self.post("/api/tokens", &NewToken { sign_in: true, ..NewToken::default() })
    }

    pub fn notify_channels(&self) -> ApiCall<'_, Vec<NotifyChannel>> {
        self.get("/api/notify")
    }

    /// Sends a test notice.
    pub fn test_notify(&self, test: &NotifyTest) -> ApiCall<'_, Vec<ChannelTest>> {
        self.post("/api/notify/test", test)
    }
}
