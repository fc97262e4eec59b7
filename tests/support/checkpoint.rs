//! Reads a checkpoint the way a person would. Knows its format, nothing of how it is made.

/// One `<compacted-span>`.
#[derive(Debug, Clone, PartialEq)]
pub struct Span<'c> {
    /// The number as it stands: `3`, or `1-4` for spans that the cap emptied.
    pub n: &'c str,
    /// The opening line without its brackets.
    pub tag: &'c str,
    pub text: &'c str,
    /// Byte position behind its closing line.
    pub end: usize,
}

impl<'c> Span<'c> {
    pub fn attribute(&self, name: &str) -> Option<&'c str> {
        let (_, rest) = self.tag.split_once(&format!(" {name}=\""))?;
        // Quotes inside a value are escaped.
        let end =
            rest.match_indices('"').map(|(at, _)| at).find(|at| !rest[..*at].ends_with('\\'))?;
        Some(&rest[..end])
    }
}

/// The spans, in their order. A base is passed over: what it holds is opaque.
pub fn spans(summary: &str) -> Vec<Span<'_>> {
    let mut spans = Vec::new();
    let mut at = 0;
    while at < summary.len() {
        let line_end = summary[at..].find('\n').map_or(summary.len(), |end| at + end);
        let line = &summary[at..line_end];
        let Some(tag) = line.strip_prefix("<compacted-").and_then(|rest| rest.strip_suffix('>'))
        else {
            at = line_end + 1;
            continue;
        };
        let name = format!("compacted-{}", tag.split(' ').next().unwrap_or_default());
        let close = format!("</{name}>\n");
        let start = line_end + 1;
        let body = &summary[start..];
        // An empty span closes at once; else the closing tag stands on a line of its own.
        let (text, end) = match body.strip_prefix(close.as_str()) {
            Some(_) => ("", start + close.len()),
            None => {
                let len = body
                    .find(&format!("\n{close}"))
                    .unwrap_or_else(|| panic!("{name} is not closed"));
                (&body[..len], start + len + 1 + close.len())
            }
        };
        if name.starts_with("compacted-span") {
            let span = Span { n: "", tag, text, end };
            spans.push(Span { n: span.attribute("n").expect("a span has a number"), ..span });
        }
        at = end;
    }
    spans
}

/// The part of a checkpoint that the next one must begin with: up to the end of its last span.
pub fn stable_part(summary: &str) -> &str {
    let end = spans(summary).last().expect("a checkpoint has a span").end;
    &summary[..end]
}

/// The text of the last span.
pub fn last_span(summary: &str) -> &str {
    spans(summary).last().expect("a checkpoint has a span").text
}

/// The lines of a block such as `read-files`, without its tags.
pub fn block<'c>(summary: &'c str, tag: &str) -> Option<Vec<&'c str>> {
    let mut lines = summary.lines().skip_while(|line| !line.starts_with(&format!("<{tag} ")));
    lines.next()?;
    Some(lines.take_while(|line| *line != format!("</{tag}>")).collect())
}
