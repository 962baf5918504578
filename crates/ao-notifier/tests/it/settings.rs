//! The settings of a channel, valid and invalid.

use insta::assert_snapshot;

use crate::support::{channel, channel_in};

fn refusal(plugin: &str, settings: &[(&str, &str)]) -> String {
    channel(plugin, settings).unwrap_err().to_string()
}

#[test]
fn a_missing_setting_is_named_with_its_path() {
    assert_snapshot!(refusal("slack", &[]), @"notifier `team` has no `webhookUrl`; set `notifiers.team.webhookUrl` or the variable `SLACK_WEBHOOK_URL`");
    assert_snapshot!(refusal("discord", &[("webhookUrl", " ")]), @"notifier `team` has no `webhookUrl`; set `notifiers.team.webhookUrl` or the variable `DISCORD_WEBHOOK_URL`");
    assert_snapshot!(refusal("telegram", &[("chatId", "1")]), @"notifier `team` has no `botToken`; set `notifiers.team.botToken` or the variable `TELEGRAM_BOT_TOKEN`");
    assert_snapshot!(refusal("telegram", &[("botToken", "1:a")]), @"notifier `team` has no `chatId`; set `notifiers.team.chatId` or the variable `TELEGRAM_CHAT_ID`");
    assert_snapshot!(refusal("webhook", &[]), @"notifier `team` has no `url`; set `notifiers.team.url`");
}

#[test]
fn a_wrong_setting_is_named_without_its_value() {
    assert_snapshot!(refusal("slack", &[("webhookURL", "https://hush.example")]), @"`webhookURL` is not a setting of notifier `team`; a `slack` takes `webhookUrl`");
    assert_snapshot!(refusal("slack", &[("webhookUrl", "hush")]), @"`notifiers.team.webhookUrl` is not an address; it has to begin with `https://`");
    assert_snapshot!(refusal("slack", &[("webhookUrl", "ftp://hush.example")]), @"`notifiers.team.webhookUrl` is not an address; it has to begin with `https://`");
    assert_snapshot!(refusal("slack", &[("webhookUrl", "http://hush.example/services/x")]), @"`notifiers.team.webhookUrl` would send its secret in the open; it has to begin with `https://`");
    assert_snapshot!(refusal("telegram", &[("botToken", "hush/../x"), ("chatId", "1")]), @"`notifiers.team.botToken` is not the token of a bot; @BotFather gives one such as `123456:ABC-def`");
    assert_snapshot!(refusal("webhook", &[("url", "https://hush.example"), ("headers.a b", "hush")]), @"`notifiers.team.headers.a b` is not the name of a header");
    assert_snapshot!(refusal("webhook", &[("url", "https://hush.example"), ("headers.A", "hu\nsh")]), @"`notifiers.team.headers.A` has a value that no header can have, such as a line break");
    assert_snapshot!(refusal("webhook", &[("url", "https://hush.example"), ("headers.X-Ao-Notice", "1")]), @"`notifiers.team.headers.X-Ao-Notice` is set by `ao` itself; take it out");
    assert_snapshot!(refusal("desktop", &[("sound", "hush")]), @"`sound` is not a setting of notifier `team`; a `desktop` takes `opener`");
    let from_variable = channel_in("slack", &[], &[("SLACK_WEBHOOK_URL", "hush")]).unwrap_err();
    assert_snapshot!(from_variable, @"the variable `SLACK_WEBHOOK_URL` is not an address; it has to begin with `https://`");
}

#[test]
fn plugins_that_are_not_there_say_what_is() {
    assert_snapshot!(refusal("pigeon", &[]), @"`pigeon`, which notifier `team` is to be, does not exist; there are `desktop`, `slack`, `discord`, `composio`, `webhook`, `openclaw`, `telegram`");
}

#[test]
fn missing_settings_of_composio_and_openclaw_are_named() {
    let slug = [("apiKey", "hush"), ("channel", "#ops"), ("tool", "../evil")];
    assert_snapshot!(refusal("composio", &[]), @"notifier `team` has no `apiKey`; set `notifiers.team.apiKey` or the variable `COMPOSIO_API_KEY`");
    assert_snapshot!(refusal("composio", &[("apiKey", "hush")]), @"notifier `team` has no `channel`; set `notifiers.team.channel`");
    assert_snapshot!(refusal("composio", &slug), @"`notifiers.team.tool` is not the name of a tool; it is one such as `SLACK_SEND_MESSAGE`");
    assert_snapshot!(refusal("composio", &[("apiKey", "hu\nsh"), ("channel", "#ops")]), @"`notifiers.team.apiKey` has a value that no header can have, such as a line break");
    assert_snapshot!(refusal("openclaw", &[]), @"notifier `team` has no `token`; set `notifiers.team.token` or the variable `OPENCLAW_HOOKS_TOKEN`");
    assert_snapshot!(refusal("openclaw", &[("token", "hush"), ("url", "http://gateway.example")]), @"`notifiers.team.url` would send its secret in the open; it has to begin with `https://`");
    assert_snapshot!(refusal("openclaw", &[("token", "hush"), ("mode", "shout")]), @"`notifiers.team.mode` is neither `agent` nor `wake`");
    assert_snapshot!(refusal("openclaw", &[("token", "hush"), ("deliver", "perhaps")]), @"`notifiers.team.deliver` is neither `true` nor `false`");
}

#[test]
fn variables_fill_in_what_is_not_written() {
    let address = "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXab12";
    let slack = channel_in("slack", &[], &[("SLACK_WEBHOOK_URL", address)]).unwrap();
    assert_eq!(
        (slack.plugin(), slack.target().as_str()),
        ("slack", "https://hooks.slack.com/services/…ab12")
    );

    let address = "https://discord.com/api/webhooks/123456789012/abcdefghijklmnopqrstcd34";
    let discord = channel_in("discord", &[], &[("DISCORD_WEBHOOK_URL", address)]).unwrap();
    assert_eq!(discord.target(), "https://discord.com/api/…cd34?…");

    let bot = [("TELEGRAM_BOT_TOKEN", "123:ABC"), ("TELEGRAM_CHAT_ID", "123456789")];
    assert_eq!(channel_in("telegram", &[], &bot).unwrap().target(), "@chat 1234…");
    assert_eq!(channel_in("telegram", &[("chatId", "@my_team")], &bot).unwrap().target(), "@chat @my_…");
}
