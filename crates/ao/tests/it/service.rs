//! The daemon as a service of the user's login, with a stand-in for the service manager.

use std::process::Command;

use insta::assert_snapshot;

use crate::place::Place;

const UNIT: &str = ".config/systemd/user/ao.service";

impl Place {
    /// A service manager that writes down what it is asked, and knows a service that is enabled and not running.
    fn with_systemctl(self) -> Place {
        self.link("rm");
        self.script("systemctl", r#"echo "$@" >> "$HOME/asked"; [ "$2" != is-active ]"#);
        self
    }

    fn asked(&self) -> String {
        let file = self.home.path().join("asked");
        let asked = std::fs::read_to_string(&file).unwrap_or_default();
        std::fs::remove_file(file).ok();
        asked
    }

    fn service(&self, args: &[&str]) -> String {
        self.run(self.home.path(), &[&["service"], args].concat())
    }
}

#[test]
fn a_service_is_written_enabled_and_started_and_a_second_time_changes_nothing() {
    let place = Place::new().with_systemctl();
    assert_snapshot!(place.service(&["install"]), @r"
    exit 0
    -- stdout --
    Wrote [home]/.config/systemd/user/ao.service
    The daemon runs, and starts at login
    -- stderr --
    note: to keep it running while you are logged out: `loginctl enable-linger`
    note: tokens that the daemon needs go to ~/.config/ao/environment, one NAME=value per line, with mode 600
    ");
    assert_snapshot!(place.asked(), @r"
    --user show-environment
    --user daemon-reload
    --user enable --now ao.service
    ");
    let unit = std::fs::read_to_string(place.home.path().join(UNIT)).unwrap();
    let data_dir = place.home.path().join(".local/share/ao");
    assert!(unit.contains(&format!("daemon --data-dir \"{}\"", data_dir.display())), "{unit}");
    assert!(unit.contains(&format!("Environment=\"PATH={}\"", place.bin().display())), "{unit}");

    assert!(place.service(&["install"]).contains("Kept [home]/.config/systemd/user/ao.service"));
    assert_eq!(std::fs::read_to_string(place.home.path().join(UNIT)).unwrap(), unit);
}

#[test]
fn systemd_itself_finds_nothing_wrong_with_the_unit() {
    let place = Place::new();
    place.service(&["install"]);
    let mut verify = Command::new("systemd-analyze");
    verify.args(["--user", "--man=no", "verify"]).arg(place.home.path().join(UNIT));
    let output =
        verify.env("HOME", place.home.path()).env("XDG_RUNTIME_DIR", place.home.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("ao.service:"), "{said}");
}

#[test]
fn without_a_service_manager_the_commands_are_told() {
    let place = Place::new();
    assert_snapshot!(place.service(&["install"]), @r"
    exit 0
    -- stdout --
    Wrote [home]/.config/systemd/user/ao.service
      systemctl --user daemon-reload
      systemctl --user enable --now ao.service
    -- stderr --
    note: no service manager can be reached from here; once you are logged in, run
    note: to keep it running while you are logged out: `loginctl enable-linger`
    note: tokens that the daemon needs go to ~/.config/ao/environment, one NAME=value per line, with mode 600
    ");
    assert_snapshot!(place.service(&["status"]), @r"
    exit 0
    -- stdout --
    file     [home]/.config/systemd/user/ao.service
    enabled  no
    running  no
    -- stderr --
    note: `journalctl --user -u ao` shows its last messages
    ");
    assert_snapshot!(place.service(&["uninstall"]), @r"
    exit 0
    -- stdout --
    Removed [home]/.config/systemd/user/ao.service
    -- stderr --
    note: agents keep running; `ao start` finds them again
    ");
    assert!(!place.home.path().join(UNIT).exists());
}

#[test]
fn a_service_can_be_asked_about_and_removed() {
    let place = Place::new().with_systemctl();
    assert_snapshot!(place.service(&["status"]), @r"
    exit 0
    -- stdout --
    The service is not installed; install it with `ao service install`
    ");
    place.service(&["install"]);
    place.asked();
    assert_snapshot!(place.service(&["status"]), @r"
    exit 0
    -- stdout --
    file     [home]/.config/systemd/user/ao.service
    enabled  yes
    running  no
    -- stderr --
    note: `journalctl --user -u ao` shows its last messages
    ");
    assert_snapshot!(place.service(&["status", "--json"]), @r#"
    exit 0
    -- stdout --
    {"enabled":true,"file":"[home]/.config/systemd/user/ao.service","installed":true,"running":false}
    "#);
    place.asked();
    assert_snapshot!(place.service(&["uninstall"]), @r"
    exit 0
    -- stdout --
    Removed [home]/.config/systemd/user/ao.service
    -- stderr --
    note: agents keep running; `ao start` finds them again
    ");
    assert_snapshot!(place.asked(), @r"
    --user show-environment
    --user disable --now ao.service
    --user show-environment
    --user daemon-reload
    ");
    assert!(!place.home.path().join(UNIT).exists());
    assert_snapshot!(place.service(&["uninstall"]), @r"
    exit 0
    -- stdout --
    The service is not installed
    ");
}

#[test]
fn a_unit_that_somebody_else_wrote_is_kept_unless_one_insists() {
    let place = Place::new().with_systemctl();
    let unit = place.home.path().join(UNIT);
    std::fs::create_dir_all(unit.parent().unwrap()).unwrap();
    std::fs::write(&unit, "[Service]\nExecStart=/bin/true\n").unwrap();
    assert_snapshot!(place.service(&["install"]), @r"
    exit 1
    -- stderr --
    error: `[home]/.config/systemd/user/ao.service` was not written by ao
    hint: look at it, and overwrite it with `ao service install --force`
    ");
    assert_eq!(std::fs::read_to_string(&unit).unwrap(), "[Service]\nExecStart=/bin/true\n");
    assert_eq!(place.asked(), "");
    assert!(place.service(&["install", "--force"]).starts_with("exit 0"));
}

#[test]
fn what_the_service_manager_refuses_is_told() {
    let place = Place::new();
    place.script("systemctl", r#"[ "$2" = show-environment ] && exit 0; echo "Unit is masked." >&2; exit 1"#);
    assert_snapshot!(place.service(&["install"]), @r"
    exit 3
    -- stderr --
    error: `systemctl --user daemon-reload` failed: Unit is masked.
    hint: `[home]/.config/systemd/user/ao.service` was written anyway
    ");
}
