//! A record that almost has the form of those before it is read as if it stood alone.

use super::*;

/// What the last of the records gives: numbers, strings and, for a VarLen feature, its value.
fn last_of_block(parser: &Parser, all: &[Bytes]) -> std::result::Result<String, String> {
    let all = records(all);
    let n = all.len();
    let rows = parser.row_bytes();
    let mut plain: Vec<Vec<u8>> = rows.iter().map(|b| vec![0; b.unwrap_or(0) * n]).collect();
    let mut strings: Vec<_> = (0..rows.len()).map(|k| parser.string_column(k, &all)).collect();
    let mut values: Vec<Vec<Value>> = vec![Vec::new(); rows.len()];
    let mut dest = Vec::new();
    for (((row, plain), strings), values) in rows.iter().zip(&mut plain).zip(&mut strings).zip(&mut values) {
        dest.push(match (row, strings) {
            (Some(_), _) => ColumnDest::Plain(plain),
            (None, Some(column)) => ColumnDest::Strings(column),
            (None, None) => ColumnDest::Values(values),
        });
    }
    let (done, error) = parser.parse_block(&all, &mut dest);
    drop(dest);
    if let Some(e) = error {
        assert_eq!(done, n - 1);
        return Err(e.to_string());
    }
    let specs: Vec<_> = parser.specs().into_iter().collect();
    let mut last = Vec::new();
    for (k, column) in strings.into_iter().enumerate() {
        last.push(match (rows[k], column) {
            (Some(b), _) => {
                let shape = specs[k].shape().full().unwrap();
                Tensor::from_bytes(specs[k].dtype(), shape, &plain[k][b * (n - 1)..]).unwrap().into()
            }
            (None, Some(column)) => {
                let per = specs[k].shape().full().unwrap();
                let all = column.finish(Shape::vector(n * per.count()), &all).unwrap();
                let last = all.as_strings()[per.count() * (n - 1)..].to_vec();
                Value::from(Tensor::strings(per, last).unwrap())
            }
            (None, None) => values[k][n - 1].clone(),
        });
    }
    Ok(format!("{last:?}"))
}

/// Every bit of a record changed in turn, behind records that have taught its form.
fn every_bit(record: &Bytes, specs: &[FeatureSpec]) {
    let alone = Parser::new(specs).unwrap();
    for bit in 0..8 * record.len() {
        let mut changed = record.as_slice().to_vec();
        changed[bit / 8] ^= 1 << (bit % 8);
        let changed = Bytes::from(changed);
        let want = alone.parse_single(&changed).map(|v| format!("{v:?}")).map_err(|e| e.to_string());
        let mut all = vec![record.clone(); 8];
        all.push(changed);
        let parser = Parser::new(specs).unwrap();
        assert_eq!(last_of_block(&parser, &all), want, "bit {bit}");
        // With what the first block taught.
        assert_eq!(last_of_block(&parser, &all), want, "bit {bit}, again");
    }
}

#[test]
fn every_bit_of_a_record_changed() {
    let dense = [
        fixed("f", DType::F32, &[], None),
        fixed("i", DType::I64, &[], None),
        fixed("l", DType::String, &[2], None),
        fixed("m", DType::F32, &[2, 3], None),
        fixed("v", DType::I64, &[3], None),
        fixed("absent", DType::I64, &[2], Some(i(&[2], &[7, 8]))),
    ];
    every_bit(&r(0), &dense);
    let mixed = [
        fixed("i", DType::I64, &[], None),
        fixed("s", DType::String, &[], None),
        FeatureSpec::var_len("v", DType::I64),
        FeatureSpec::var_len("l", DType::String),
    ];
    every_bit(&r(0), &mixed);
    // Integers of several lengths, the last one at the very end of the record; unpacked ones.
    for ints in [
        "0a0d0a0b0a016912061a040a02ac02",
        "0a100a0e0a016912091a070a05ffffffff07",
        "0a0d0a0b0a016912061a040880e807",
    ] {
        every_bit(&hex(ints), &[fixed("i", DType::I64, &[], None)]);
    }
}

#[test]
fn values_of_one_form_differ() {
    let record = |n: u8, text: &str| {
        let mut bytes = hex("0a1a0a0b0a016912061a040a0280020a0b0a017312060a040a026869").as_slice().to_vec();
        bytes[14] = n;
        let at = bytes.len() - 2;
        bytes[at..].copy_from_slice(text.as_bytes());
        Bytes::from(bytes)
    };
    let specs = [fixed("i", DType::I64, &[], None), fixed("s", DType::String, &[], None)];
    let parser = Parser::new(&specs).unwrap();
    let all: Vec<Bytes> = (0..40).map(|n| record(n + 1, if n % 2 == 0 { "ab" } else { "xy" })).collect();
    for n in 1..all.len() {
        let want = format!("{:?}", parser.parse_single(&all[n - 1]).unwrap());
        assert_eq!(last_of_block(&parser, &all[..n]).unwrap(), want);
    }
}

/// A record with an integer of so many bytes, a string and two floats.
fn of_some_form(n: i64, text: &str, floats: [f32; 2]) -> Bytes {
    let field = |tag: u8, contents: &[u8]| [&[tag, contents.len() as u8], contents].concat();
    let entry =
        |key: &str, list: Vec<u8>| field(0x0a, &[field(0x0a, key.as_bytes()), field(0x12, &list)].concat());
    let mut varint = Vec::new();
    crate::wire::put_varint(&mut varint, n as u64);
    let packed: Vec<u8> = floats.iter().flat_map(|f| f.to_le_bytes()).collect();
    let entries = [
        entry("i", field(0x1a, &field(0x0a, &varint))),
        entry("s", field(0x0a, &field(0x0a, text.as_bytes()))),
        entry("f", field(0x12, &field(0x0a, &packed))),
    ];
    Bytes::from(field(0x0a, &entries.concat()))
}

#[test]
fn records_of_several_forms_in_turn() {
    let specs = [
        fixed("i", DType::I64, &[], None),
        fixed("s", DType::String, &[], None),
        fixed("f", DType::F32, &[2], None),
        fixed("absent", DType::String, &[], Some(Tensor::string(Bytes::from(b"none".to_vec())))),
    ];
    // Lengths follow each other without order, some in rows, and two forms share one length.
    let one = |k: usize| {
        let long = [0, 1, 1, 2, 0, 0, 0, 3, 2, 1][k * k / 7 % 10];
        let n = (1 << (7 * long)) + (k as i64 & 63);
        of_some_form(n, &"abcdefgh"[..(k / 90 + k % 2) % 5], [k as f32, -0.5])
    };
    let mut all: Vec<Bytes> = (0..400).map(one).collect();
    let alone = Parser::new(&specs).unwrap();
    let check = |parser: &Parser, all: &[Bytes]| {
        for n in 1..=all.len() {
            let want = alone.parse_single(&all[n - 1]).map(|v| format!("{v:?}")).map_err(|e| e.to_string());
            assert_eq!(last_of_block(parser, &all[..n]), want, "record {n}");
        }
    };
    check(&Parser::new(&specs).unwrap(), &all);
    // In the middle of a row of records one that cannot be read: those before it stay.
    all.truncate(130);
    let whole = all[129].as_slice();
    all[129] = Bytes::from(whole[..whole.len() - 1].to_vec());
    let taught = Parser::new(&specs).unwrap();
    check(&taught, &all);
    check(&taught, &all);
}
