//! The page: one file that draws the data and loads nothing.

use super::data::Report;
use crate::error::{Error, Result};

const TEMPLATE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/app.js");

/// What the page's policy allows to run and to be applied, and nothing else: the two files above,
/// by their SHA-256.
const SCRIPT_HASH: &str = "sha256-KQXzdlfJPTYzDD3NqSpxqhBwpTS0KFlB8kkNAIkEXMk=";
const STYLE_HASH: &str = "sha256-SpF9x+WZJbdFnJ2LfIMq/LJwRlM4hJIXQJbuzg4iIPI=";

/// The page of a report.
///
/// Errors: only where the report is no JSON, which would be a defect.
pub fn render(report: &Report) -> Result<Vec<u8>> {
    let data = serde_json::to_vec(report).map_err(|error| Error::Defect(error.to_string()))?;
    let mut page = Vec::with_capacity(data.len() + data.len() / 8 + (64 << 10));
    let mut rest = TEMPLATE;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, after)) = after.split_once("}}") else { break };
        page.extend_from_slice(before.as_bytes());
        match name {
            "script-hash" => page.extend_from_slice(SCRIPT_HASH.as_bytes()),
            "style-hash" => page.extend_from_slice(STYLE_HASH.as_bytes()),
            "script" => page.extend_from_slice(SCRIPT.as_bytes()),
            "style" => page.extend_from_slice(STYLE.as_bytes()),
            _ => push_inert(&mut page, &data),
        }
        rest = after;
    }
    page.extend_from_slice(rest.as_bytes());
    Ok(page)
}

/// Whether a file begins like a page of ours.
pub fn is_ours(beginning: &[u8]) -> bool {
    let marked = TEMPLATE.split_once("{{").map_or(TEMPLATE, |(before, _)| before);
    beginning.starts_with(marked.as_bytes())
}

/// JSON that no parser of HTML or JavaScript takes for anything else: without `<` and without the
/// two line separators that are no white space in JSON. All of them can only stand inside strings.
fn push_inert(page: &mut Vec<u8>, json: &[u8]) {
    let mut from = 0;
    for at in memchr::memchr2_iter(b'<', 0xE2, json) {
        let (escape, len): (&[u8], usize) = match &json[at..] {
            [b'<', ..] => (b"\\u003c", 1),
            [0xE2, 0x80, 0xA8, ..] => (b"\\u2028", 3),
            [0xE2, 0x80, 0xA9, ..] => (b"\\u2029", 3),
            _ => continue,
        };
        page.extend_from_slice(&json[from..at]);
        page.extend_from_slice(escape);
        from = at + len;
    }
    page.extend_from_slice(&json[from..]);
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    /// As policies write it.
    fn sha256(text: &str) -> String {
        let script = "import base64,hashlib,sys;print(base64.b64encode(hashlib.sha256(sys.stdin.buffer.read()).digest()).decode(),end='')";
        let mut python = Command::new("python3")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        python.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
        let output = python.wait_with_output().expect("it ends");
        format!("sha256-{}", String::from_utf8(output.stdout).expect("ASCII"))
    }

    #[test]
    fn the_policy_names_the_files_as_they_are() {
        assert_eq!(SCRIPT_HASH, sha256(SCRIPT), "SCRIPT_HASH must be the right one");
        assert_eq!(STYLE_HASH, sha256(STYLE), "STYLE_HASH must be the right one");
    }

    #[test]
    fn what_could_end_a_script_is_escaped_in_json() {
        let mut page = Vec::new();
        push_inert(&mut page, "[\"</script> \u{2028}\u{2029} — é\"]".as_bytes());
        let text = String::from_utf8(page).expect("UTF-8");
        assert_eq!(text, "[\"\\u003c/script> \\u2028\\u2029 — é\"]");
        let read: Vec<String> = serde_json::from_str(&text).expect("JSON");
        assert_eq!(read, ["</script> \u{2028}\u{2029} — é"]);
    }
}
