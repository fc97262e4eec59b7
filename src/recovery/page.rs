//! Pages: the same blocks always fall on the same pages, cut at character borders, nothing lost
//! and nothing twice.

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

    /// Adds a block that should stay on one page. One that is longer than a page is cut; each
    /// further piece begins with `attribution`.
    pub fn push(&mut self, block: &str, attribution: &str) {
        let mut rest = block;
        let mut continued = false;
        loop {
            let prefix = if continued { attribution } else { "" };
            let prefix_len = prefix.chars().count();
            let len = prefix_len + rest.chars().count() + 1;
            if self.filled > 0 && self.filled + len > self.size {
                self.turn();
            }
            let room = self.size.saturating_sub(self.filled + prefix_len + 1).max(1);
            let cut = rest.char_indices().nth(room).map_or(rest.len(), |(at, _)| at);
            let (piece, after) = rest.split_at(cut);
            self.put(prefix);
            self.put(piece);
            if after.is_empty() {
                self.put("\n");
                return;
            }
            self.turn();
            (rest, continued) = (after, true);
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

    /// The text of the wanted page (empty past the end) and the number of pages.
    pub fn finish(self) -> (String, usize) {
        (self.text, self.page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(blocks: &[String], size: usize) -> Vec<String> {
        let page = |wanted| {
            let mut pager = Pager::new(size, wanted);
            blocks.iter().for_each(|block| pager.push(block, "> "));
            pager.finish()
        };
        (1..=page(1).1).map(|wanted| page(wanted).0).collect()
    }

    proptest! {
        #[test]
        fn pages_lose_and_repeat_nothing(blocks in prop::collection::vec("[a-z漢😀]{0,40}", 0..20), size in 4usize..50) {
            let pages = all(&blocks, size);
            let together: String = pages.iter().enumerate().map(|(at, page)| {
                // A piece that continues a block is marked.
                if at > 0 { page.strip_prefix("> ").unwrap_or(page).to_owned() } else { page.clone() }
            }).collect();
            prop_assert_eq!(together.replace('\n', ""), blocks.concat());
            for page in pages {
                prop_assert!(page.chars().count() <= size, "{} > {}", page.chars().count(), size);
            }
        }
    }
}
