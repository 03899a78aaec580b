//! Splitting one CSV record into fields, by TensorFlow's rules
//! (`tensorflow/core/kernels/decode_csv_op.cc`).

use gristmill_types::{Error, Result};

/// How fields are told apart.
#[derive(Clone, Debug)]
pub(crate) struct Format {
    /// Byte between fields.
    pub(crate) delimiter: u8,
    /// Whether `"` encloses fields.
    pub(crate) quotes: bool,
}

/// Calls `f` with number and contents of every field of a record.
///
/// # Errors
/// `InvalidArgument` in TensorFlow's words for quotes that do not fit.
pub(crate) fn fields(record: &[u8], format: &Format, mut f: impl FnMut(usize, &[u8])) -> Result<()> {
    let mut unquoted = Vec::new();
    let (mut at, mut number) = (0, 0);
    while at < record.len() {
        match record[at] {
            b'\n' | b'\r' => {
                at += 1;
                continue;
            }
            b'"' if format.quotes => {
                unquoted.clear();
                at = quoted(record, at + 1, format.delimiter, &mut unquoted)?;
                f(number, &unquoted);
            }
            _ => {
                let rest = &record[at..];
                let len = rest.iter().position(|&b| b == format.delimiter).unwrap_or(rest.len());
                let field = &rest[..len];
                if field.iter().any(|&b| matches!(b, b'\n' | b'\r') || (format.quotes && b == b'"')) {
                    return Err(Error::invalid("Unquoted fields cannot have quotes/CRLFs inside"));
                }
                f(number, field);
                at += len + 1;
            }
        }
        number += 1;
    }
    // A delimiter at the end has an empty field behind it.
    if record.last() == Some(&format.delimiter) {
        f(number, b"");
    }
    Ok(())
}

/// Reads a quoted field from behind its first quote; gives where the next field begins.
fn quoted(record: &[u8], mut at: usize, delimiter: u8, into: &mut Vec<u8>) -> Result<usize> {
    while let Some(&b) = record.get(at) {
        if b != b'"' {
            into.push(b);
            at += 1;
            continue;
        }
        match record.get(at + 1) {
            None => return Ok(at + 2),
            Some(&next) if next == delimiter => return Ok(at + 2),
            Some(b'"') if at + 2 < record.len() => {
                into.push(b'"');
                at += 2;
            }
            Some(b'"') => break,
            Some(_) => {
                return Err(Error::invalid("Quote inside a string has to be escaped by another quote"));
            }
        }
    }
    Err(Error::invalid("Quoted field has to end with quote followed by delim or end"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(record: &str, quotes: bool) -> Result<Vec<String>> {
        let mut out = Vec::new();
        let format = Format { delimiter: b',', quotes };
        fields(record.as_bytes(), &format, |_, f| out.push(String::from_utf8_lossy(f).into_owned()))?;
        Ok(out)
    }

    #[test]
    fn plain_quoted_and_empty() {
        assert_eq!(split("a,b", true).unwrap(), ["a", "b"]);
        assert_eq!(split(",,", true).unwrap(), ["", "", ""]);
        assert_eq!(split("", true).unwrap(), [""; 0]);
        assert_eq!(
            split("\"q,\"\"x\"\"\",z\r\n", true).unwrap_err().message(),
            "Unquoted fields cannot have quotes/CRLFs inside"
        );
        assert_eq!(split("\"q,\"\"x\"\"\",z", true).unwrap(), ["q,\"x\"", "z"]);
        assert_eq!(split("\"a\",b", false).unwrap(), ["\"a\"", "b"]);
        assert_eq!(split("\"\"", true).unwrap(), [""]);
    }

    #[test]
    fn quotes_that_do_not_fit() {
        assert!(split("a\"b", true).unwrap_err().message().contains("Unquoted fields"));
        assert!(split("\"a\"b", true).unwrap_err().message().contains("escaped by another quote"));
        assert!(split("\"a", true).unwrap_err().message().contains("has to end with quote"));
        assert!(split("\"", true).unwrap_err().message().contains("has to end with quote"));
    }
}
