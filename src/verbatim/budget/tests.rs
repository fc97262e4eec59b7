use super::*;

fn span(n: usize, items: &[(ItemKind, &str)]) -> (SpanMeta, Vec<Item>) {
    let meta = SpanMeta { n, at: "T".into(), trigger: "manual".into(), ..SpanMeta::default() };
    let item = |(kind, text): &(ItemKind, &str)| Item {
        kind: *kind,
        entry: format!("e{n}"),
        text: (*text).to_owned(),
    };
    (meta, items.iter().map(item).collect())
}

fn refs(spans: &[(SpanMeta, Vec<Item>)]) -> Vec<SpanRef<'_>> {
    spans.iter().map(|(meta, items)| (meta, items.as_slice())).collect()
}

const LONG: &str = "[User]: 0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";

#[test]
fn other_lines_go_before_user_messages_and_those_are_cut_before_they_go() {
    let prose = "[Assistant]: ".to_owned() + &"x".repeat(600);
    let spans = [
        span(1, &[(ItemKind::User, LONG), (ItemKind::Assistant, &prose)]),
        span(2, &[(ItemKind::User, LONG), (ItemKind::Assistant, &prose)]),
    ];
    let refs = refs(&spans);
    let over = |size| trim(&refs, 0, Limit { size, measure: Measure::Chars }, 100.0);
    let Piece::Trimmed(0, lines) = &over(1700)[0] else { panic!() };
    assert_eq!(lines, &[Cow::Borrowed(LONG)]);
    assert_eq!(over(1700)[1], Piece::Whole(1));
    let Piece::Trimmed(0, lines) = &over(1000)[0] else { panic!() };
    assert_eq!(lines, &[Cow::Borrowed(LONG)]);
    // Below the floor of 500 nothing more goes.
    let Piece::Trimmed(0, lines) = &over(1)[0] else { panic!() };
    assert!(lines[0].ends_with("… [138 more characters, entry e1]"), "{}", lines[0]);
}

fn chars(size: u64) -> Limit {
    Limit { size, measure: Measure::Chars }
}

#[test]
fn spans_without_a_line_become_one_and_only_what_changed_is_marked() {
    let prose = "[Assistant]: ".to_owned() + &"x".repeat(400);
    let spans: Vec<_> = (1..=8)
        .map(|n| if n == 3 { span(n, &[]) } else { span(n, &[(ItemKind::Assistant, &prose)]) })
        .collect();
    let pieces = trim(&refs(&spans), 0, chars(1500), 100.0);
    let Piece::Emptied(emptied) = &pieces[0] else { panic!("{pieces:?}") };
    let text = emptied.to_string();
    assert!(text.starts_with("<compacted-span n=\"1-6\" "), "{text}");
    assert!(text.contains(" trimmed=\"true\">\n("), "{text}");
    assert!(text.contains("entries e1 to e6."), "{text}");
    assert_eq!(pieces[1..], [Piece::Whole(6), Piece::Whole(7)]);
}

#[test]
fn empty_spans_make_room_before_any_line_goes() {
    let mut spans: Vec<_> = (1..=40).map(|n| span(n, &[])).collect();
    spans.push(span(41, &[(ItemKind::User, LONG)]));
    assert!(!is_over(&refs(&spans), 0, chars(1000)));
    let pieces = trim(&refs(&spans), 0, chars(1000), 100.0);
    let Piece::Emptied(emptied) = &pieces[0] else { panic!("{pieces:?}") };
    assert!(!emptied.to_string().contains("trimmed"), "nothing was taken from them");
    assert_eq!(pieces[1..], [Piece::Whole(40)]);
    assert_eq!(trim(&refs(&spans), 0, chars(100_000), 100.0), whole(&refs(&spans)));
}

#[test]
fn many_small_spans_do_not_live_on_their_floor() {
    let spans: Vec<_> = (1..=45).map(|n| span(n, &[(ItemKind::User, "[User]: go")])).collect();
    let pieces = trim(&refs(&spans), 0, chars(1), 100.0);
    let tags: usize = pieces.len() - 1;
    assert!((2..=12).contains(&tags), "the newest few spans stay: {pieces:?}");
}

#[test]
fn with_room_to_spare_later_compactions_leave_the_text_alone() {
    let prose = "[Assistant]: ".to_owned() + &"x".repeat(200);
    let spans: Vec<_> =
        (1..=40).map(|n| span(n, &[(ItemKind::Assistant, prose.as_str())])).collect();
    let refs = refs(&spans);
    let changes = |trim_to| {
        let texts: Vec<String> = (20..=40)
            .map(|count| {
                let pieces = trim(&refs[..count], 0, chars(4000), trim_to);
                crate::verbatim::render::conversation(&refs[..count], &pieces)
            })
            .collect();
        texts.windows(2).filter(|pair| !pair[1].starts_with(&pair[0])).count()
    };
    assert_eq!(changes(100.0), 20, "each compaction begins anew");
    assert!(changes(50.0) <= 4, "{} of 20 compactions begin anew", changes(50.0));
}
