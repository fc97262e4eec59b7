//! Whatever happens in a conversation, its requests keep the rules.

use proptest::prelude::*;

use super::conversation::{Conversation, Message};

/// Something that happens. Where Pi would ask the model afterwards, a request is made first.
#[derive(Debug, Clone)]
enum Event {
    /// A run begins; its first request gets a plain answer.
    Run,
    /// A run begins and its first request fails: Pi omits the failure and asks again, or not.
    Fails { repeated: bool },
    /// The run goes on with calls.
    Works { calls: usize },
    /// Another extension says something.
    Note,
    /// Between two turns, with so many entries kept. `saved_late`: our message is saved after the
    /// next answer, as it is where something else was queued.
    CompactInRun { keep: usize, saved_late: bool },
    /// While nothing runs.
    CompactIdle { keep: usize },
    /// Another copy of our message appears.
    Duplicate,
    /// The clock moves, perhaps back.
    Clock { by: i64 },
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        4 => Just(Event::Run),
        1 => any::<bool>().prop_map(|repeated| Event::Fails { repeated }),
        4 => (1..4usize).prop_map(|calls| Event::Works { calls }),
        1 => Just(Event::Note),
        2 => (1..12usize, any::<bool>()).prop_map(|(keep, saved_late)| Event::CompactInRun { keep, saved_late }),
        2 => (1..12usize).prop_map(|keep| Event::CompactIdle { keep }),
        1 => Just(Event::Duplicate),
        2 => (-3..4i64).prop_map(|by| Event::Clock { by }),
    ];
    prop::collection::vec(event, 1..16)
}

/// A conversation with what was sent since its latest compaction.
#[derive(Default)]
struct Play {
    conversation: Conversation,
    compaction: Option<String>,
    sent: Vec<Vec<Message>>,
    save_after_answer: bool,
}

impl Play {
    fn happens(&mut self, event: &Event) {
        match *event {
            Event::Run => {
                self.prompt();
                self.request();
                self.conversation.answer();
                self.answered();
            }
            Event::Fails { repeated } => {
                self.prompt();
                self.request();
                let failed = self.conversation.answer();
                if repeated {
                    self.conversation.omit(&failed);
                    self.request();
                    self.conversation.answer();
                }
                self.answered();
            }
            Event::Works { calls } => {
                self.prompt();
                self.request();
                self.conversation.work(calls);
                self.answered();
                self.request();
                self.conversation.answer();
            }
            Event::Note => {
                self.conversation.note("note", serde_json::json!({}));
            }
            Event::CompactInRun { keep, saved_late } => {
                self.prompt();
                self.request();
                self.conversation.work(2);
                self.answered();
                let id = self.compact(keep);
                if saved_late {
                    self.save_after_answer = true;
                } else {
                    self.conversation.ours(&id);
                }
                self.request();
                self.conversation.work(1);
                self.answered();
                self.request();
                self.conversation.answer();
            }
            Event::CompactIdle { keep } => {
                self.compact(keep);
            }
            Event::Duplicate => {
                if let Some(id) = &self.compaction {
                    self.conversation.ours(&id.clone());
                }
            }
            Event::Clock { by } => self.conversation.clock += by,
        }
    }

    fn prompt(&mut self) {
        let added = self.conversation.added_to_a_run();
        self.conversation.user("Question");
        if let Some(id) = added["details"]["compactionId"].as_str() {
            self.conversation.ours(id);
        }
    }

    fn answered(&mut self) {
        if let (true, Some(id)) = (self.save_after_answer, &self.compaction) {
            self.conversation.ours(&id.clone());
        }
        self.save_after_answer = false;
    }

    /// Cuts at the last message from which at least `keep` entries are left, never at a result.
    fn compact(&mut self, keep: usize) -> String {
        let entries = &self.conversation.entries;
        let can_cut = |entry: &&serde_json::Value| {
            entry["type"] == "custom_message"
                || (entry["type"] == "message" && entry["message"]["role"] != "toolResult")
        };
        let kept = entries.iter().rev().skip(keep).find(can_cut).or(entries.first());
        let kept = kept.map_or(String::new(), |entry| entry["id"].as_str().unwrap().to_owned());
        let id = self.conversation.compact("stet.verbatim", &kept);
        self.compaction = Some(id.clone());
        self.sent.clear();
        id
    }

    fn request(&mut self) {
        let transcript = self.conversation.transcript();
        let (sent, _) = self.conversation.send(&transcript);
        let others = |messages: &[Message]| -> Vec<Message> {
            messages.iter().filter(|message| !message.is_ours()).cloned().collect()
        };
        assert_eq!(others(&sent), others(&transcript), "the rest is as it was");
        assert_eq!(self.conversation.send(&sent), (sent.clone(), false), "nothing is left to do");

        let ours: Vec<usize> = (0..sent.len()).filter(|at| sent[*at].is_ours()).collect();
        assert_eq!(ours.len(), usize::from(self.compaction.is_some()));
        if let Some(&at) = ours.first() {
            let next_is_result = sent.get(at + 1).is_some_and(|next| next.role() == "toolResult");
            assert!(!next_is_result, "between a call and its result");
            match self.sent.last() {
                None => assert_eq!(at, sent.len() - 1, "last on the first request"),
                Some(before) => {
                    assert_eq!(bodies(&sent)[..before.len()], bodies(before), "a prefix")
                }
            }
        }
        self.sent.push(sent);
    }
}

/// What a model gets; a failed answer that was not omitted is dropped on the way to it, but counts
/// here.
fn bodies(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.body.as_str()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn requests_keep_the_rules(events in events()) {
        let mut play = Play::default();
        for event in &events {
            play.happens(event);
        }
    }
}
