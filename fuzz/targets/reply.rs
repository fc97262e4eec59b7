//! What holds for every reply.

use serde_json::Value;

/// The reply to an envelope as a host reads it; `None` where it was no envelope.
pub fn of(envelope: &[u8]) -> Option<Value> {
    let reply = match pi_stet::hook::answer(envelope) {
        Ok(reply) => reply,
        Err(error) => {
            assert!(["bad-envelope", "wrong-protocol"].contains(&error.code()), "{error}");
            assert_eq!(error.exit_code(), 2);
            says_something(&error.told(), error.hint(), envelope);
            return None;
        }
    };
    let text = serde_json::to_string(&reply).expect("a reply is JSON");
    let reply: Value = serde_json::from_str(&text).expect("which can be read");
    assert_eq!(reply["protocol"], 1);
    let answers = ["result", "ask", "complete", "error"];
    assert!(answers.iter().filter(|key| reply.get(**key).is_some()).count() <= 1, "{reply}");
    if let Some(error) = reply.get("error") {
        let text = |key: &str| error[key].as_str().expect("a text").to_owned();
        assert_ne!(text("code"), "defect", "{reply}");
        says_something(&text("message"), &text("hint"), envelope);
    }
    Some(reply)
}

/// One line says what is wrong, another what to do; neither speaks of our own types.
fn says_something(message: &str, hint: &str, envelope: &[u8]) {
    for text in [message, hint] {
        assert!(!text.is_empty() && !text.contains('\n'), "{text:?}");
    }
    assert!(message.chars().count() <= 601, "{message}");
    for word in ["struct ", "RawValue", "pi_stet", "::"] {
        // It may have been sent.
        let was_sent = envelope.windows(word.len()).any(|sent| sent == word.as_bytes());
        assert!(was_sent || !message.contains(word), "{message}");
    }
}
