//! Facts of many kinds in eight rounds of work that were all compacted since: one call finds them.
//! `cargo bench --bench recovery -- facts` prints the figures of other seeds, beside ripgrep's.

use crate::support::facts::finding::ask_for_all;
use crate::support::facts::write_story;

#[test]
fn one_call_finds_a_fact_again() {
    let folder = tempfile::tempdir().expect("a folder");
    for seed in [11] {
        let file = folder.path().join("story.jsonl");
        let facts = write_story(&file, seed, 400_000).expect("room for the session");
        let kinds: std::collections::BTreeSet<_> = facts.iter().map(|fact| fact.kind).collect();
        assert!(facts.len() > 140 && kinds.len() > 15, "{} facts, {kinds:?}", facts.len());
        let found = ask_for_all(&file, &facts, seed, 3, false, true);
        for (way, count, of, percent) in [
            ("two words", found.two_words, found.facts, 99),
            ("two words as terms", found.two_terms, found.facts, 98),
            ("one word", found.one_word, found.with_one_word, 75),
            ("one word as terms", found.one_term, found.with_one_word, 75),
        ] {
            assert!(count * 100 >= of * percent, "seed {seed}: {way} finds {count} of {of}");
        }
    }
}
