//! Which result belongs to which call: by id, tool name and order. What is not certain is not
//! paired.

use std::collections::HashMap;

/// How a call ended, as its result says. `Ok` is no proof that tests passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Ok,
    Error,
    /// No result, no error flag on it, or more than one call it could belong to.
    Unknown,
}

impl Outcome {
    pub fn label(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Error => "error",
            Outcome::Unknown => "unknown",
        }
    }
}

/// The number of a call in the order the calls were met.
pub type CallNo = usize;

/// Meets calls and results in branch order and pairs them.
pub struct Pairing<R> {
    open: HashMap<String, Open>,
    paired: Vec<Option<(Outcome, R)>>,
}

struct Open {
    /// The first call with this id that has no result yet, and its tool.
    call: CallNo,
    tool: String,
    /// Calls with this id that have no result yet.
    count: usize,
    /// While two calls with one id were open, none of their results is certain.
    ambiguous: bool,
}

impl<R> Default for Pairing<R> {
    fn default() -> Pairing<R> {
        Pairing { open: HashMap::new(), paired: Vec::new() }
    }
}

impl<R> Pairing<R> {
    pub fn call(&mut self, id: &str, tool: &str) -> CallNo {
        let number = self.paired.len();
        self.paired.push(None);
        if !id.is_empty() {
            let first = || Open { call: number, tool: tool.to_owned(), count: 0, ambiguous: false };
            let open = self.open.entry(id.to_owned()).or_insert_with(first);
            open.ambiguous |= open.count > 0;
            open.count += 1;
        }
        number
    }

    /// `result` is what the caller wants to find again with the call, such as the result's entry.
    pub fn result(
        &mut self,
        id: &str,
        tool: &str,
        is_error: Option<bool>,
        result: R,
    ) -> Option<CallNo> {
        let open = self.open.get_mut(id)?;
        if open.ambiguous {
            // As many results as calls: whatever comes later under this id is certain again.
            open.count -= 1;
            if open.count == 0 {
                self.open.remove(id);
            }
            return None;
        }
        if open.tool != tool {
            return None;
        }
        let number = open.call;
        self.open.remove(id);
        let outcome = match is_error {
            Some(true) => Outcome::Error,
            Some(false) => Outcome::Ok,
            None => Outcome::Unknown,
        };
        *self.paired.get_mut(number)? = Some((outcome, result));
        Some(number)
    }

    pub fn outcome(&self, call: CallNo) -> Outcome {
        self.pair(call).map_or(Outcome::Unknown, |(outcome, _)| *outcome)
    }

    /// The result of a call, if it has a certain one.
    pub fn pair(&self, call: CallNo) -> Option<&(Outcome, R)> {
        self.paired.get(call)?.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_find_their_calls_in_any_order() {
        let mut pairing = Pairing::default();
        let (a, b) = (pairing.call("1", "bash"), pairing.call("2", "bash"));
        pairing.result("2", "bash", Some(true), "rb");
        pairing.result("1", "bash", Some(false), "ra");
        assert_eq!(pairing.pair(a), Some(&(Outcome::Ok, "ra")));
        assert_eq!(pairing.pair(b), Some(&(Outcome::Error, "rb")));
    }

    #[test]
    fn an_id_used_again_later_is_a_new_call() {
        let mut pairing = Pairing::default();
        let a = pairing.call("1", "bash");
        pairing.result("1", "bash", Some(false), 1);
        let b = pairing.call("1", "bash");
        pairing.result("1", "bash", Some(true), 2);
        assert_eq!((pairing.outcome(a), pairing.outcome(b)), (Outcome::Ok, Outcome::Error));
    }

    #[test]
    fn what_is_not_certain_is_unknown() {
        let mut pairing = Pairing::default();
        let unfinished = pairing.call("1", "bash");
        let unflagged = pairing.call("2", "bash");
        pairing.result("2", "bash", None, 0);
        let misnamed = pairing.call("3", "bash");
        pairing.result("3", "read", Some(false), 0);
        pairing.result("4", "bash", Some(false), 0);
        let after_its_result = pairing.call("4", "bash");
        let without_id = pairing.call("", "bash");
        let (twin_a, twin_b) = (pairing.call("5", "bash"), pairing.call("5", "bash"));
        pairing.result("5", "bash", Some(false), 0);
        pairing.result("5", "bash", Some(false), 0);
        for call in [unfinished, unflagged, misnamed, after_its_result, without_id, twin_a, twin_b]
        {
            assert_eq!(pairing.outcome(call), Outcome::Unknown);
        }
        let later = pairing.call("5", "bash");
        pairing.result("5", "bash", Some(false), 0);
        assert_eq!(pairing.outcome(later), Outcome::Ok);
    }
}
