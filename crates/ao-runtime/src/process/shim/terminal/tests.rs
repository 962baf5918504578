//! Tests that a keyframe is exact.

use std::fmt::Debug;

use alacritty_terminal::grid::Grid;
use alacritty_terminal::term::cell::Cell;
use proptest::prelude::*;

use super::*;

const SIZE: TerminalSize = TerminalSize(20, 6);

/// All that can be asked of a terminal, as text.
fn state(terminal: &EmulatedTerminal) -> impl PartialEq + Debug + use<> {
    let screen = &terminal.screen;
    let text = |grid: &Grid<Cell>| {
        let cells = grid.display_iter().map(|cell| {
            let mut cell = cell.cell.clone();
            // A tab is kept as such, to be copied; it looks like a space.
            cell.c = if cell.c == '\t' { ' ' } else { cell.c };
            cell
        });
        let cells: Vec<_> = cells.collect();
        (cells, grid.cursor.clone(), grid.saved_cursor.clone())
    };
    // While the alternate screen is shown, what is saved there is with its grid.
    let alternate_saved = screen.main.is_none().then(|| screen.alternate_saved.clone());
    let rest = (screen.region.clone(), screen.tabs.clone(), screen.charset, alternate_saved);
    let term = &screen.term;
    let colors: Vec<_> = (0..=258).map(|index| term.colors()[index]).collect();
    (text(term.grid()), screen.main.as_ref().map(text), *term.mode(), term.cursor_style(), colors, rest)
}

fn fed(pieces: &[&[u8]]) -> EmulatedTerminal {
    let mut terminal = EmulatedTerminal::new(SIZE);
    pieces.iter().for_each(|piece| terminal.feed(piece));
    terminal
}

/// The one state of the cells that no output brings about at once.
fn waits_in_a_line_that_goes_on(grid: &Grid<Cell>) -> bool {
    grid.cursor.input_needs_wrap && grid[grid.cursor.point].flags.contains(Flags::WRAPLINE)
}

/// Regardless of its earlier content, a viewer's terminal shows the same as ours after the keyframe and the rest of the
/// output.
fn check(before: &[u8], after: &[u8], dirt: &[u8]) {
    let ours = fed(&[before]);
    let screen = &ours.screen;
    if waits_in_a_line_that_goes_on(screen.term.grid())
        || screen.main.as_ref().is_some_and(waits_in_a_line_that_goes_on)
    {
        return;
    }
    let frame = ours.keyframe();
    for theirs in [fed(&[&frame]), fed(&[dirt, b"\x1b\\", &frame])] {
        let told = || format!("{}\n{}", before.escape_ascii(), frame.escape_ascii());
        assert_eq!(format!("{:#?}", state(&theirs)), format!("{:#?}", state(&ours)), "{}", told());
    }
    let whole = fed(&[before, after]);
    let newcomer = fed(&[&frame, after]);
    assert_eq!(
        format!("{:#?}", state(&newcomer)),
        format!("{:#?}", state(&whole)),
        "{}",
        before.escape_ascii()
    );
}

#[test]
fn a_keyframe_says_it_all() {
    let cases: [&[u8]; 12] = [
        b"",
        b"plain\r\n\x1b[1;31mred\x1b[0m and \x1b[48;5;7mgrey",
        b"\x1b[4:3;58;2;1;2;3mwavy\x1b]8;id=a;http://x\x1b\\link",
        b"a long line that is wrapped around the edge twice or so",
        b"exactly twenty wide!",
        "wide 世界世界世界世界世界世界世界".as_bytes(),
        b"\x1b[2;4r\x1b[?6hin the region\n\n\n\nhere\x1b7\x1b[Hthere",
        b"main\x1b7\x1b[?1049h\x1b[2J\x1b[3;3Halternate\x1b[?25l\x1b[?2004h\x1b[?1003h\x1b[?1006h",
        b"\x1b(0lqqk\x1b)0\x0e\x1b[5 q\x1b[?1h\x1b=\x1b[4h",
        b"\x1b[3g\x1b[5G\x1bH\x1b]4;1;rgb:11/22/33\x1b\\\x1b]11;rgb:00/00/01\x1b\\",
        b"half a sequence \x1b[3",
        b"wrapped into the next line\x1b[H\x1bM\x1bM\x1bM\x1bM\x1bM",
    ];
    for before in cases {
        for dirt in [
            "\x1b[?1049h\x1b[?6h\x1b[2;3r\x1b[7mdirt\x1b(0\x1b[?7l\x1b[3g",
            "a\x1b[?1049hsaved on the other screen\x1b7",
        ] {
            check(before, b"1mnext\tone\r\n\x1b8two", dirt.as_bytes());
        }
    }
}

#[test]
fn a_flood_of_lines_ends_in_the_same_state_as_line_by_line() {
    let starts = [
        "",
        "\x1b[3;3Hx",
        "\x1b[31m\x1b[?7l",
        "\x1b[4h",
        "\x1b[?1049h",
        "\x1b[2;4r",
        "\x1b(0\x1b[44m",
        "full line to the edge!",
    ];
    for start in starts {
        let lines: String =
            (0..3000).map(|line| format!("line {line} that is\twrapped or not\r\n")).collect();
        let all = format!("{start}{lines}and a rest");
        let at_once = fed(&[start.as_bytes(), &all.as_bytes()[start.len()..]]);
        let pieces: Vec<&[u8]> = all.as_bytes()[start.len()..].chunks(1000).collect();
        let mut slowly = fed(&[start.as_bytes()]);
        pieces.iter().for_each(|piece| slowly.feed(piece));
        assert_eq!(format!("{:?}", state(&at_once)), format!("{:?}", state(&slowly)), "{start:?}");
    }
}

#[test]
fn queries_are_answered_without_a_viewer() {
    let mut terminal = EmulatedTerminal::new(SIZE);
    terminal.feed(b"ab\x1b[6n\x1b[c\x1b]11;?\x1b\\\x1b[18t");
    let answers = String::from_utf8(terminal.answers()).unwrap();
    assert!(answers.starts_with("\x1b[1;3R\x1b[?6c\x1b]11;rgb:0000/0000/0000\x1b\\"), "{answers:?}");
    assert!(answers.ends_with("\x1b[8;6;20t"), "{answers:?}");
    assert!(terminal.answers().is_empty());
}

/// Pieces that programs write. Wide characters come apart from what could cut them in halves, as a keyframe does not
/// keep halves.
fn pieces() -> impl Strategy<Value = Vec<String>> {
    let wide = prop_oneof![
        "[a-z]{1,7}",
        "[\u{4e16}\u{754c}]{1,9}",
        Just("\r\n".to_owned()),
        Just("\x1b[32m".to_owned())
    ];
    prop_oneof![4 => prop::collection::vec(piece(), 0..40), 1 => prop::collection::vec(wide, 0..40)]
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z ]{1,30}",
        1 => "e\u{301}",
        2 => prop::sample::select(vec!["\r\n", "\n", "\r", "\t", "\x08", "\x0e", "\x0f"]).prop_map(str::to_owned),
        4 => (prop::sample::select(vec!['A', 'B', 'C', 'D', 'G', 'd', 'J', 'K', 'S', 'T', 'I', 'X']), 0..9u8)
            .prop_map(|(what, number)| format!("\x1b[{number}{what}")),
        3 => (1..8u8, 1..22u8).prop_map(|(line, column)| format!("\x1b[{line};{column}H")),
        3 => prop::sample::select(vec![
            "0", "1", "2", "3", "4", "4:3", "7", "8", "9", "22", "27", "31", "44", "97", "105", "38;5;200", "48;2;1;2;3",
            "58;5;9", "39", "49",
        ])
        .prop_map(|what| format!("\x1b[{what}m")),
        2 => (1..4u8, 3..7u8).prop_map(|(top, bottom)| format!("\x1b[{top};{bottom}r")),
        3 => prop::sample::select(vec![
            "\x1b7", "\x1b8", "\x1bM", "\x1bD", "\x1bE", "\x1bH", "\x1b[g", "\x1b[3g", "\x1b(0", "\x1b(B", "\x1b)0", "\x1bc",
            "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25l", "\x1b[?25h", "\x1b[?1h", "\x1b[?7l", "\x1b[?7h", "\x1b[?2004h",
            "\x1b[?1000h", "\x1b[?1002h", "\x1b[?1006h", "\x1b[4h", "\x1b[4l", "\x1b=", "\x1b>", "\x1b[3 q", "\x1b#8",
            "\x1b]2;title\x07", "\x1b]4;3;rgb:01/02/03\x07", "\x1b]104\x07", "\x1b]8;id=a;http://x\x07", "\x1b]8;;\x07",
        ])
        .prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_newcomer_sees_exactly_what_those_see_who_were_there_from_the_beginning(
        pieces in pieces(),
        cut in 0.0..1.0f64,
        dirt in prop::collection::vec(piece(), 0..10),
    ) {
        let all = pieces.concat().into_bytes();
        let (before, after) = all.split_at((all.len() as f64 * cut) as usize);
        check(before, after, dirt.concat().as_bytes());
    }

    #[test]
    fn a_newcomer_sees_the_same_after_a_change_of_size(
        pieces in pieces(),
        columns in 2..40u16,
        rows in 2..12u16,
    ) {
        let mut ours = fed(&[pieces.concat().as_bytes()]);
        ours.screen.resize(TerminalSize(columns, rows));
        let mut theirs = EmulatedTerminal::new(TerminalSize(columns, rows));
        theirs.feed(&ours.keyframe());
        prop_assert_eq!(theirs.see(), ours.see());
    }
}
