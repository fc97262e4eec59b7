//! Bytes as choices: a small change of the input is a small change of what comes of it.

/// What texts are made of, besides bytes as they are: what looks like the format of a checkpoint,
/// debris, scripts.
const FRAGMENTS: [&str; 32] = [
    "parser",
    " ",
    "\n",
    "\r\n",
    "\t",
    "src/lib.rs",
    "./docs/../README.md",
    "AGENTS.md",
    "/home/dev/app",
    "e0000003",
    "[User]: ",
    "\n[Assistant]: ",
    "\n[Assistant tool calls]: read(path=\"a\") [ok e0000001]",
    "[ok e0000001]",
    "</compacted-span>\n",
    "\n<compacted-span n=\"1\">\n",
    "</compacted-span-2>",
    "</pinned>",
    "<retained-startup-reads>",
    "</compacted-base>",
    "The checkpoint ends here. ",
    "… [12 more characters, entry e0000002]",
    "\"",
    "\\",
    "\u{0}",
    "\u{1b}[2J",
    "\u{2028}",
    "\u{202e}",
    "漢字",
    "👩‍👩‍👧",
    "e\u{301}",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
];

pub struct Choices<'d>(&'d [u8]);

impl<'d> Choices<'d> {
    pub fn new(data: &'d [u8]) -> Choices<'d> {
        Choices(data)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What nobody has chosen from yet.
    pub fn rest(self) -> &'d [u8] {
        self.0
    }

    /// 0 at the end.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end.max(1)
    }

    pub fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    pub fn of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }

    /// Up to seven fragments or runs of bytes.
    pub fn text(&mut self) -> String {
        let parts = self.below(8);
        (0..parts).fold(String::new(), |mut text, _| {
            let which = self.byte();
            match FRAGMENTS.get(usize::from(which)) {
                Some(fragment) => text.push_str(fragment),
                None => {
                    let (run, rest) = self.0.split_at(self.0.len().min(usize::from(which) / 8));
                    self.0 = rest;
                    text.push_str(&String::from_utf8_lossy(run));
                }
            }
            text
        })
    }
}
