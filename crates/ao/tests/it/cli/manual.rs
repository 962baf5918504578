//! The manual.

use crate::support::Home;

#[test]
fn every_command_has_a_page() {
    let home = Home::new();
    let said = home.run(&["man", "--dir", "pages"]);
    assert!(said.starts_with("exit 0"), "{said}");
    let page = |name: &str| std::fs::read_to_string(home.path().join("pages").join(name));
    for name in ["ao.1", "ao-status.1", "ao-session-kill.1", "ao-events-export.1"] {
        assert!(page(name).unwrap().starts_with(".ie"), "{name}");
    }
    assert!(page("ao-hook.1").is_err(), "what is not for people has no page");
    assert!(page("ao-send.1").unwrap().contains("ao send my\\-app\\-3"), "with its examples");
}

#[test]
fn one_page_can_be_printed() {
    let home = Home::new();
    let said = home.run(&["man", "session", "cleanup"]);
    assert!(said.contains(".TH ao-session-cleanup 1"), "{said}");
    let said = home.run(&["man", "sessions"]);
    assert!(said.starts_with("exit 1\n-- stderr --\nerror: there is no command `ao sessions`"), "{said}");
}
