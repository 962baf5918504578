//! A unit for systemd's user manager.

use super::{ALLOCATOR_SETTINGS, MARK, ServiceDefinition};

/// The name of the unit.
pub const UNIT: &str = "ao.service";

/// Renders the unit.
///
/// Agents are children of the daemon and must outlive it, so only the daemon itself is ended (`KillMode=process`),
/// and one agent that takes too much memory does not end the others (`OOMPolicy=continue`). Restarting does not help
/// against an invalid setting, a missing program, or a port in use.
pub fn unit(service: &ServiceDefinition) -> String {
    let ServiceDefinition { program, data_dir, path } = service;
    format!(
        "\
# {MARK}; `ao service uninstall` removes it.
[Unit]
Description=ao, which runs AI coding agents and keeps track of them

[Service]
Type=exec
ExecStart={program} daemon --data-dir {data_dir}
Environment={path}
Environment={allocator}
# Tokens for the daemon, one NAME=value per line. Only you should be able to read that file.
EnvironmentFile=-%E/ao/environment
Restart=on-failure
RestartSec=2
RestartPreventExitStatus=2 13 14
KillMode=process
OOMPolicy=continue
TimeoutStopSec=30
UMask=0077

[Install]
WantedBy=default.target
",
        program = word(program.as_str()).replace('$', "$$"),
        data_dir = word(data_dir.as_str()).replace('$', "$$"),
        path = word(&format!("PATH={path}")),
        allocator = ALLOCATOR_SETTINGS.map(|(name, value)| format!("{name}={value}")).join(" "),
    )
}

/// Quotes a word for systemd: `%` is doubled, and quotes keep spaces.
fn word(text: &str) -> String {
    let escaped = text.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n").replace('%', "%%");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    #[test]
    fn the_unit_lets_agents_outlive_the_daemon() {
        let service = ServiceDefinition {
            program: "/srv/me/.cargo/bin/ao".into(),
            data_dir: "/srv/me/.local/share/ao".into(),
            path: "/srv/me/.npm/bin:/usr/bin:/bin".into(),
        };
        assert_snapshot!(unit(&service), @r#"
        # Written by `ao service install`; `ao service uninstall` removes it.
        [Unit]
        Description=ao, which runs AI coding agents and keeps track of them

        [Service]
        Type=exec
        ExecStart="/srv/me/.cargo/bin/ao" daemon --data-dir "/srv/me/.local/share/ao"
        Environment="PATH=/srv/me/.npm/bin:/usr/bin:/bin"
        Environment=MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=131072
        # Tokens for the daemon, one NAME=value per line. Only you should be able to read that file.
        EnvironmentFile=-%E/ao/environment
        Restart=on-failure
        RestartSec=2
        RestartPreventExitStatus=2 13 14
        KillMode=process
        OOMPolicy=continue
        TimeoutStopSec=30
        UMask=0077

        [Install]
        WantedBy=default.target
        "#);
    }

    #[test]
    fn odd_characters_stay_what_they_are() {
        assert_eq!(word(r#"/a b/100%/"x"\y"#), r#""/a b/100%%/\"x\"\\y""#);
        let service = ServiceDefinition {
            program: "/a $b/ao".into(),
            data_dir: "/d".into(),
            path: "/usr/bin:/$HOME/bin".into(),
        };
        let unit = unit(&service);
        assert!(unit.contains("ExecStart=\"/a $$b/ao\" daemon"), "{unit}");
        assert!(unit.contains("Environment=\"PATH=/usr/bin:/$HOME/bin\""), "{unit}");
    }
}
