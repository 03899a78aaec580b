use super::*;
use proptest::prelude::*;

fn table(text: &str, format: Format) -> Table {
    read(text.as_bytes(), format, &|| false).unwrap()
}

fn words(text: &[u8], format: Format) -> String {
    read(text, format, &|| false).unwrap_err().to_string()
}

fn kinds(table: &Table) -> Vec<(&str, CellKind, Option<u64>, bool)> {
    table.cells.columns().iter().map(|c| (c.name.as_str(), c.kind(), c.length(), c.optional())).collect()
}

#[test]
fn kinds_hold_for_whole_columns() {
    let t = table(
        "\u{feff}path,label,i,f,s,zip,gap,nan,big\n\
         a.jpg,cat,1,1,x,00420,3,nan,99999999999999999999\n\
         \"b,c.jpg\",dog,-5,2.5,,10115,,nan,1\n",
        Format::Csv,
    );
    assert_eq!(
        kinds(&t),
        [
            ("i", CellKind::Int, Some(1), false),
            ("f", CellKind::Float, Some(1), false),
            ("s", CellKind::Bytes, Some(1), false),
            ("zip", CellKind::Bytes, Some(1), false),
            ("gap", CellKind::Int, Some(1), true),
            ("nan", CellKind::Bytes, Some(1), false),
            ("big", CellKind::Float, Some(1), false),
        ]
    );
    assert_eq!((t.labels.as_slice(), t.integers), (&["cat".to_owned(), "dog".to_owned()][..], false));
    assert_eq!(&t.paths, b"a.jpgb,c.jpg");
    assert_eq!(t.cells.get(1, 0).unwrap().int(), Some(-5));
    assert_eq!(t.cells.get(0, 1).unwrap().float(), Some(1.0));
    assert_eq!(t.cells.get(1, 2).unwrap().text(), Some(&b""[..]));
    assert_eq!(t.cells.get(0, 3).unwrap().text(), Some(&b"00420"[..]));
    assert!(t.cells.get(1, 4).is_none());
    assert_eq!(t.cells.get(0, 4).unwrap().int(), Some(3));
}

#[test]
fn json_lines_have_kinds_of_their_own() {
    let t = table(
        "{\"path\":\"a\",\"label\":3,\"box\":[1,2.5],\"ok\":true,\"id\":\"7\"}\n\n\
         {\"label\":-1,\"path\":\"b\",\"box\":[4,5],\"ok\":false,\"id\":\"8\",\"late\":1,\"tags\":[\"x\"]}\n\
         {\"label\":3,\"path\":\"c\",\"box\":null,\"id\":\"9\",\"tags\":[]}\n",
        Format::JsonLines,
    );
    assert!(t.integers);
    let mut found = kinds(&t);
    found.sort();
    assert_eq!(
        found,
        [
            ("box", CellKind::Float, Some(2), true),
            ("id", CellKind::Bytes, Some(1), false),
            ("late", CellKind::Int, Some(1), true),
            ("ok", CellKind::Int, Some(1), true),
            ("tags", CellKind::Bytes, None, true),
        ]
    );
    let at = |name: &str| t.cells.columns().iter().position(|c| c.name == name).unwrap();
    let mut cell = t.cells.get(0, at("box")).unwrap();
    assert_eq!((cell.count(), cell.float(), cell.float(), cell.float()), (2, Some(1.0), Some(2.5), None));
    assert_eq!(t.cells.get(0, at("ok")).unwrap().int(), Some(1));
    assert!(t.cells.get(0, at("late")).is_none());
    assert_eq!(t.cells.get(2, at("tags")).unwrap().count(), 0);
    let mut listing = Listing::default();
    assert_eq!(listing_classes(&t, &mut listing), [1, 0]);
    let labels: Vec<_> = listing.classes.iter().map(|c| (c.label, c.name.as_slice())).collect();
    assert_eq!(labels, [(-1, &b"-1"[..]), (3, b"3")]);
}

#[test]
fn text_labels_are_numbered_in_sorted_order() {
    let t = table("label\tpath\nrose\ta\ndaisy\tb\nrose\tc\n007\td\n", Format::Tsv);
    let mut listing = Listing::default();
    let numbers = listing_classes(&t, &mut listing);
    let classes: Vec<_> = t.label_of.iter().map(|&l| numbers[l as usize]).collect();
    assert_eq!(classes, [2, 1, 2, 0]);
    assert_eq!(listing.classes[2], Class { label: 2, name: b"rose".to_vec() });
}

#[test]
fn mistakes_are_named_with_their_line() {
    let csv = |text: &str| words(text.as_bytes(), Format::Csv);
    assert!(csv("").contains("line 1 of the manifest: there is no column 'path'"), "{}", csv(""));
    assert!(csv("path,class\na,b\n").contains("there is no column 'label', only: path, class"));
    assert!(csv("path,label\na,b\nc\n").contains("line 3 of the manifest: 1 cells where the header has 2"));
    assert!(csv("path,label,path\n").contains("'path' is there twice"));
    assert!(csv("path,label,x,x\n").contains("'x' is there twice"));
    assert!(csv("path,label,image\n").contains("the name of a feature that pack makes itself"));
    assert!(csv("path,label\n,b\n").contains("line 2 of the manifest: the path is empty"));
    assert!(csv("path,label\na,\n").contains("line 2 of the manifest: the label is empty"));
    assert!(words(b"path,label\na,\xff\n", Format::Csv).contains("no UTF-8"));
    let json = |text: &str| words(text.as_bytes(), Format::JsonLines);
    assert!(json("\n[1]\n").contains("line 2 of the manifest: expected a JSON object"));
    assert!(json("{\"path\":").contains("line 1 of the manifest: it is no JSON"));
    assert!(json("{\"path\":1,\"label\":1}").contains("'path' must be a string"));
    assert!(json("{\"path\":\"a\",\"label\":1.5}").contains("'label' must be a string or an integer"));
    assert!(json("{\"path\":\"a\"}").contains("there is no 'label', only: path"));
    assert!(json("{\"path\":\"a\",\"label\":1,\"x\":{}}").contains("'x' must be a scalar"));
    assert!(
        json(&format!("{{\"path\":\"a\",\"label\":1,\"x\":{}}}", "[".repeat(100_000))).contains("no JSON")
    );
}

proptest! {
    #[test]
    fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for format in [Format::Csv, Format::Tsv, Format::JsonLines] {
            let _ = check(&bytes, format);
        }
        let mut headed = b"path,label,x\n".to_vec();
        headed.extend(&bytes);
        let _ = check(&headed, Format::Csv);
    }
}

#[test]
fn too_many_columns_are_refused_at_once() {
    let names = |n: usize| (0..n).map(|i| format!(",c{i}")).collect::<String>();
    let csv = |n| format!("path,label{}\na,1{}\n", names(n), ",2".repeat(n));
    assert_eq!(table(&csv(4096), Format::Csv).cells.columns().len(), 4096);
    assert!(words(csv(100_000).as_bytes(), Format::Csv).contains("more than 4096 columns"));
    let row: String = (0..100_000).map(|i| format!(",\"c{i}\":1")).collect();
    let row = format!("{{\"path\":\"a\",\"label\":1{row}}}\n");
    assert!(words(row.as_bytes(), Format::JsonLines).contains("more than 4096 columns"));
}
