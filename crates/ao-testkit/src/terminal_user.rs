//! A person at a terminal of their own, with a program in it, such as a client of tmux.

use std::io::Write;
use std::process::{Child, Command, Stdio};

/// Types into a program on a terminal of 100 columns and 30 rows, which `script` provides.
#[derive(Debug)]
pub struct TerminalUser(Child);

impl TerminalUser {
    pub fn runs(words: &[String]) -> TerminalUser {
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let command = format!("stty cols 100 rows 30; exec {}", quoted.join(" "));
        let child = Command::new("script")
            .args(["-qfc", &command, "/dev/null"])
            .env("TERM", "xterm-256color")
            .env_remove("TMUX")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("`script` is there; it is in bsdutils");
        TerminalUser(child)
    }

    /// Returns true if the program has ended.
    pub fn has_gone(&mut self) -> bool {
        self.0.try_wait().expect("it can be asked").is_some()
    }

    pub fn types(&mut self, keys: &str) {
        self.0
            .stdin
            .as_mut()
            .expect("they were given a keyboard")
            .write_all(keys.as_bytes())
            .expect("they are there");
    }
}

impl Drop for TerminalUser {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
