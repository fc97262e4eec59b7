//! Any bytes on stdin: one reply, whatever they are.

use super::reply;

pub fn run(data: &[u8]) {
    // A host may let us read and write files; a fuzzer may not.
    if [&b"agentDir"[..], b"file", b"lookupSessionFile"]
        .iter()
        .any(|word| data.windows(word.len()).any(|window| window == *word))
        || data.windows(2).any(|window| window == b"\\u")
    {
        return;
    }
    reply::of(data);
}
