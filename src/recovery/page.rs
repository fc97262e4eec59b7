//! Pages: the same blocks always fall on the same pages, cut at line borders and, where a line is
//! longer than a page, at character borders; nothing lost and nothing twice.

/// Collects one page of a sequence of blocks and counts them all.
pub struct Pager {
    size: usize,
    wanted: usize,
    page: usize,
    /// Characters on the present page.
    filled: usize,
    text: String,
}

impl Pager {
    /// `size` in characters; pages are counted from 1.
    pub fn new(size: usize, wanted: usize) -> Pager {
        Pager { size, wanted, page: 1, filled: 0, text: String::new() }
    }

    /// Adds a block of one or more lines. Where it goes on on another page, `attribution` says of
    /// what it is the rest; inside of a line it says so too.
    pub fn push(&mut self, block: &str, attribution: &str) {
        for (number, line) in block.split('\n').enumerate() {
            let len = line.chars().count() + 1;
            if self.filled > 0 && self.filled + len > self.size {
                self.turn();
                if number > 0 && !attribution.is_empty() {
                    self.put(&format!("({attribution}, continued)\n"));
                }
            }
            self.put_line(line, attribution);
        }
    }

    /// A line that is longer than what is left of an empty page is cut.
    fn put_line(&mut self, line: &str, attribution: &str) {
        let mut rest = line;
        loop {
            let room = self.size.saturating_sub(self.filled + 1).max(1);
            let cut = rest.char_indices().nth(room).map_or(rest.len(), |(at, _)| at);
            let (piece, after) = rest.split_at(cut);
            self.put(piece);
            self.put("\n");
            if after.is_empty() {
                return;
            }
            self.turn();
            self.put(&format!("({attribution}, continued inside of a line)\n"));
            rest = after;
        }
    }

    fn turn(&mut self) {
        self.page += 1;
        self.filled = 0;
    }

    fn put(&mut self, text: &str) {
        self.filled += text.chars().count();
        if self.page == self.wanted {
            self.text.push_str(text);
        }
    }

    /// Pages so far.
    pub fn pages(&self) -> usize {
        self.page
    }

    /// The text of the wanted page (empty past the end) and the number of pages.
    pub fn finish(self) -> (String, usize) {
        (self.text, self.page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REST: &str = "(x, continued)\n";
    const REST_OF_LINE: &str = "(x, continued inside of a line)\n";

    fn all(blocks: &[String], size: usize) -> Vec<String> {
        let page = |wanted| {
            let mut pager = Pager::new(size, wanted);
            blocks.iter().for_each(|block| pager.push(block, "x"));
            pager.finish()
        };
        (1..=page(1).1).map(|wanted| page(wanted).0).collect()
    }

    proptest! {
        #[test]
        fn pages_lose_and_repeat_nothing(blocks in prop::collection::vec("[a-z漢😀\n]{0,90}", 0..20), size in 40usize..120) {
            let pages = all(&blocks, size);
            let mut together = String::new();
            for page in &pages {
                prop_assert!(page.chars().count() <= size, "{} > {}", page.chars().count(), size);
                if let Some(rest) = page.strip_prefix(REST_OF_LINE) {
                    prop_assert_eq!(together.pop(), Some('\n'), "the page before ends in the line");
                    together.push_str(rest);
                } else {
                    together.push_str(page.strip_prefix(REST).unwrap_or(page));
                }
            }
            let expected: String = blocks.iter().map(|block| format!("{block}\n")).collect();
            prop_assert_eq!(together, expected);
        }
    }
}
