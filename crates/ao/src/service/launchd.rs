//! A launch agent for launchd on macOS.

use super::{MARK, ServiceDefinition};

/// The name of the launch agent.
pub const LABEL: &str = "ao.daemon";

/// Renders the property list.
///
/// Agents are children of the daemon and must outlive it, so launchd leaves them alone (`AbandonProcessGroup`).
pub fn property_list(service: &ServiceDefinition) -> String {
    let ServiceDefinition { program, data_dir, path } = service;
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- {MARK}; `ao service uninstall` removes it. -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>{LABEL}</string>
  <key>ProgramArguments</key>
  <array>
    <string>{program}</string>
    <string>daemon</string>
    <string>--data-dir</string>
    <string>{data_dir}</string>
  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>PATH</key>
    <string>{path}</string>
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>10</integer>
  <key>AbandonProcessGroup</key>
  <true/>
  <key>Umask</key>
  <integer>63</integer>
  <key>StandardErrorPath</key>
  <string>{data_dir}/service.log</string>
</dict>
</plist>
"#,
        program = text(program.as_str()),
        data_dir = text(data_dir.as_str()),
        path = text(path),
    )
}

/// Escapes text for XML.
fn text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use plist::Value;

    use super::*;

    #[test]
    fn the_launch_agent_lets_agents_outlive_the_daemon() {
        let service = ServiceDefinition {
            program: "/Applications/R&D/ao".into(),
            data_dir: "/Users/me/Library/<ao>".into(),
            path: "/opt/homebrew/bin:/usr/bin".into(),
        };
        let read = Value::from_reader_xml(property_list(&service).as_bytes()).unwrap();
        let read = read.as_dictionary().unwrap();
        assert_eq!(read["AbandonProcessGroup"].as_boolean(), Some(true));
        assert_eq!(read["KeepAlive"].as_dictionary().unwrap()["SuccessfulExit"].as_boolean(), Some(false));
        let arguments: Vec<&str> =
            read["ProgramArguments"].as_array().unwrap().iter().filter_map(Value::as_string).collect();
        assert_eq!(arguments, ["/Applications/R&D/ao", "daemon", "--data-dir", "/Users/me/Library/<ao>"]);
        assert_eq!(
            read["EnvironmentVariables"].as_dictionary().unwrap()["PATH"].as_string(),
            Some("/opt/homebrew/bin:/usr/bin")
        );
        assert_eq!(read["Umask"].as_signed_integer(), Some(0o077));
    }
}
