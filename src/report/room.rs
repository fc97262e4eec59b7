//! How much of each text the page holds. All texts together have a fixed room, so that the page of
//! a session of any size opens at once; short texts are whole, and the long ones share what is left.

use crate::text::{beginning, visible};

/// A text of this size is shown whatever the number of texts.
const LEAST: u64 = 160;
/// A longer one is not shown whole, whatever the room.
const MOST: u64 = 100_000;

/// The limit with which texts of these sizes take at most `room` together.
pub fn limit(mut sizes: Vec<u64>, room: u64) -> usize {
    sizes.sort_unstable();
    let mut room = room;
    let mut limit = MOST;
    for (at, size) in sizes.iter().enumerate() {
        let share = room / (sizes.len() - at) as u64;
        if *size > share {
            limit = share;
            break;
        }
        room -= size;
    }
    usize::try_from(limit.clamp(LEAST, MOST)).unwrap_or(usize::MAX)
}

/// The text as the page shows it, and the characters of the whole where that is not all of it.
pub fn fitted(text: &str, limit: usize) -> (String, usize) {
    let shown = beginning(text, limit);
    let chars = if shown.len() < text.len() { text.chars().count() } else { 0 };
    (visible(shown).into_owned(), chars)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_share_what_short_ones_leave() {
        assert_eq!(limit(vec![], 1_000), MOST as usize);
        assert_eq!(limit(vec![200, 300], 1_000), MOST as usize);
        // 200 of 1,000 are taken; 800 are left for two.
        assert_eq!(limit(vec![5_000, 200, 600], 1_000), 400);
        assert_eq!(limit(vec![5_000; 100], 1_000), LEAST as usize);
        assert_eq!(limit(vec![500_000; 2], 1 << 30), MOST as usize);
    }

    #[test]
    fn a_cut_text_names_the_size_of_the_whole() {
        assert_eq!(fitted("short", 10), ("short".to_owned(), 0));
        assert_eq!(fitted("a longer text", 8), ("a longer".to_owned(), 13));
        assert_eq!(fitted("bell\u{7}", 10), ("bell\\x07".to_owned(), 0));
    }
}
