//! The contract of [`Records`]: one story for each of its promises.
//!
//! An adapter provides an empty implementation, and names it once:
//!
//! ```ignore
//! ao_testkit::records_contract!(MemoryRecords::default());
//! ```

use ao_ports::{RecordChange, Records};

/// Expands to one test for each story, each on documents of its own.
#[macro_export]
macro_rules! records_contract {
    ($records:expr) => {
        $crate::records_contract!($records; [
            what_was_put_is_there_until_it_is_taken_away,
            a_list_is_in_the_order_of_bytes,
            a_prefix_means_its_own_letters,
            a_list_is_read_page_by_page,
            changes_are_made_in_their_order,
            shelves_know_nothing_of_each_other,
        ]);
    };
    ($records:expr; [$($story:ident),* $(,)?]) => {
        $(
            #[tokio::test]
            async fn $story() {
                let records = $records;
                $crate::contract::records::$story(&records).await;
            }
        )*
    };
}

/// A document is stored exactly as it was put last, until it is removed; removing a missing one succeeds.
pub async fn what_was_put_is_there_until_it_is_taken_away(records: &dyn Records) {
    assert_eq!(records.get("s", "k").await.unwrap(), None);
    records.change(vec![RecordChange::put("s", "k", r#"{"a": "Grüße\n"}"#)]).await.unwrap();
    assert_eq!(records.get("s", "k").await.unwrap().as_deref(), Some(r#"{"a": "Grüße\n"}"#));
    records.change(vec![RecordChange::put("s", "k", "2")]).await.unwrap();
    assert_eq!(records.get("s", "k").await.unwrap().as_deref(), Some("2"));
    for _ in 0..2 {
        records.change(vec![RecordChange::remove("s", "k")]).await.unwrap();
        assert_eq!(records.get("s", "k").await.unwrap(), None);
    }
    records.change(vec![]).await.unwrap();
}

/// Keys are ordered by their bytes.
pub async fn a_list_is_in_the_order_of_bytes(records: &dyn Records) {
    put(records, "s", &["b", "a", "B", "é", "e\u{301}", "", "10", "9", "a/", "a0", "\u{10ffff}", "\u{e000}"])
        .await;
    let expected = ["", "10", "9", "B", "a", "a/", "a0", "b", "e\u{301}", "é", "\u{e000}", "\u{10ffff}"];
    assert_eq!(keys(records, "s", "", None, usize::MAX).await, expected);
}

/// No character of a prefix is a pattern, and only keys that begin with the prefix match.
pub async fn a_prefix_means_its_own_letters(records: &dyn Records) {
    let all = ["a%b", "a%c", "a_b", "axb", "A%b", "a", "b", "ä1", "ä2", "a*b", "a'b", "\u{10ffff}\u{10ffff}"];
    put(records, "s", &all).await;
    for (prefix, expected) in [
        ("a%", &["a%b", "a%c"][..]),
        ("a_", &["a_b"]),
        ("a*", &["a*b"]),
        ("a'", &["a'b"]),
        ("ä", &["ä1", "ä2"]),
        ("\u{10ffff}", &["\u{10ffff}\u{10ffff}"]),
        ("a", &["a", "a%b", "a%c", "a'b", "a*b", "a_b", "axb"]),
        ("c", &[]),
    ] {
        assert_eq!(keys(records, "s", prefix, None, usize::MAX).await, expected, "{prefix}");
    }
}

/// Continuing after the last key of a page returns every document once, even if some were removed meanwhile.
pub async fn a_list_is_read_page_by_page(records: &dyn Records) {
    let all: Vec<String> = (0..25).map(|n| format!("p/{n:03}")).collect();
    put(records, "s", &all.iter().map(String::as_str).collect::<Vec<_>>()).await;
    put(records, "s", &["o", "q"]).await;
    let (mut seen, mut after) = (Vec::new(), None::<String>);
    loop {
        let page = keys(records, "s", "p/", after.as_deref(), 10).await;
        let Some(last) = page.last() else { break };
        after = Some(last.clone());
        records.change(vec![RecordChange::remove("s", last)]).await.unwrap();
        seen.extend(page);
    }
    assert_eq!(seen, all);
    assert_eq!(keys(records, "s", "p/", None, 0).await, [""; 0]);
    assert_eq!(keys(records, "s", "p/", Some("a"), 1).await, ["p/000"], "in front of the prefix");
    assert_eq!(keys(records, "s", "p/", Some("z"), 1).await, [""; 0], "behind the prefix");
}

/// Of several changes to one document the last one counts.
pub async fn changes_are_made_in_their_order(records: &dyn Records) {
    let changes = vec![
        RecordChange::put("s", "kept", "1"),
        RecordChange::put("s", "gone", "1"),
        RecordChange::remove("s", "kept"),
        RecordChange::remove("s", "gone"),
        RecordChange::put("s", "kept", "2"),
    ];
    records.change(changes).await.unwrap();
    let found = records.list("s", "", None, usize::MAX).await.unwrap();
    assert_eq!(found, [("kept".to_owned(), "2".to_owned())]);
}

/// The same key on two shelves is two documents.
pub async fn shelves_know_nothing_of_each_other(records: &dyn Records) {
    put(records, "a", &["k", "l"]).await;
    put(records, "a%", &["k"]).await;
    put(records, "", &["z"]).await;
    records.change(vec![RecordChange::remove("a", "k")]).await.unwrap();
    assert_eq!(keys(records, "a", "", None, usize::MAX).await, ["l"]);
    assert_eq!(keys(records, "a%", "", None, usize::MAX).await, ["k"]);
    assert_eq!(keys(records, "", "", None, usize::MAX).await, ["z"]);
}

async fn put(records: &dyn Records, shelf: &str, keys: &[&str]) {
    records.change(keys.iter().map(|key| RecordChange::put(shelf, *key, "{}")).collect()).await.unwrap();
}

async fn keys(
    records: &dyn Records,
    shelf: &str,
    prefix: &str,
    after: Option<&str>,
    limit: usize,
) -> Vec<String> {
    let found = records.list(shelf, prefix, after, limit).await.unwrap();
    found.into_iter().map(|(key, _)| key).collect()
}
