//! Numbers as people read them.

/// Bytes with a decimal unit: `12 bytes`, `3.40 MB`.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if count < 1000 {
        return self::count(count, "byte");
    }
    let mut value = count as f64 / 1000.0;
    let mut unit = 0;
    // 999.95 and more would be shown as 1000.
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {}", UNITS[unit])
}

/// A number with its noun: `1 record`, `2 records`, `1,234 records`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", grouped(number))
}

/// A number with commas between its thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `5`, or `1 to 5`.
pub(crate) fn extent(min: u64, max: u64) -> String {
    if min == max { min.to_string() } else { format!("{min} to {max}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(999), "999 bytes");
        assert_eq!(bytes(1000), "1.00 kB");
        assert_eq!(bytes(12_345), "12.3 kB");
        assert_eq!(bytes(123_456), "123 kB");
        assert_eq!(bytes(999_960), "1.00 MB");
        assert_eq!(bytes(u64::MAX), "18447 PB");
        assert_eq!(count(1, "record"), "1 record");
        assert_eq!(count(1_234_567, "record"), "1,234,567 records");
        assert_eq!(extent(1, 1), "1");
        assert_eq!(extent(0, 3), "0 to 3");
    }
}
