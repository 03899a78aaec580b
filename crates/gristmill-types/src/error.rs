//! The one public error: what is wrong, where, and what to try.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Result with gristmill's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The class of an error, named as in `tf.errors`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A value, argument or element breaks a rule.
    InvalidArgument,
    /// Stored data are damaged.
    DataLoss,
    /// A file or name does not exist.
    NotFound,
    /// The system refuses access.
    PermissionDenied,
    /// The target exists already.
    AlreadyExists,
    /// The state of the system does not allow the call.
    FailedPrecondition,
    /// Memory or disk is used up.
    ResourceExhausted,
    /// A position lies past the end.
    OutOfRange,
    /// Not supported.
    Unimplemented,
    /// The iterator was stopped.
    Cancelled,
    /// A Python type is not accepted.
    Type,
    /// A Python value is not accepted, found while the pipeline is built.
    Value,
    /// A broken invariant of gristmill itself.
    Internal,
    /// Anything that the system reports and no other kind covers.
    Unknown,
}

impl Kind {
    /// What the first line of a message begins with.
    pub const fn label(self) -> &'static str {
        match self {
            Self::InvalidArgument => "invalid argument",
            Self::DataLoss => "data loss",
            Self::NotFound => "not found",
            Self::PermissionDenied => "permission denied",
            Self::AlreadyExists => "already exists",
            Self::FailedPrecondition => "failed precondition",
            Self::ResourceExhausted => "resource exhausted",
            Self::OutOfRange => "out of range",
            Self::Unimplemented => "unimplemented",
            Self::Cancelled => "cancelled",
            Self::Type => "type error",
            Self::Value => "value error",
            Self::Internal => "internal error",
            Self::Unknown => "unknown error",
        }
    }
}

/// One place in which an error happened; frames are listed innermost first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Frame {
    /// A file.
    File {
        /// Path or URI as the user gave it.
        uri: String,
    },
    /// A record of a record file.
    Record {
        /// Position among the file's records, from 0.
        index: u64,
        /// Byte offset of the record's header.
        offset: u64,
    },
    /// A feature of an Example.
    Feature {
        /// The feature's key.
        key: String,
    },
    /// An op of a traced function.
    Op {
        /// The op's name (`io.decode_jpeg`).
        name: String,
        /// `file.py:41`, where the user called it, if known.
        site: Option<String>,
    },
    /// An element of a stage.
    Element {
        /// Position among the stage's outcomes, from 0.
        index: u64,
    },
    /// The component of the element at hand, where it is a short text such as a path.
    Input {
        /// The text.
        text: String,
    },
    /// A transformation of the plan.
    Stage {
        /// Its name (`batch`).
        name: String,
    },
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { uri } => write!(f, "in {uri}"),
            Self::Record { index, offset } => write!(f, "in record {index} at byte {offset}"),
            Self::Feature { key } => write!(f, "in feature '{key}'"),
            Self::Op { name, site: Some(site) } => write!(f, "while running {name} ({site})"),
            Self::Op { name, site: None } => write!(f, "while running {name}"),
            Self::Element { index } => write!(f, "at element {index}"),
            Self::Input { text } => write!(f, "for the element '{text}'"),
            Self::Stage { name } => write!(f, "in {name}"),
        }
    }
}

#[derive(Clone, Debug)]
struct Inner {
    kind: Kind,
    message: String,
    context: Vec<Frame>,
    hint: Option<String>,
    raised: Option<Arc<dyn Any + Send + Sync>>,
    cause: Option<Arc<dyn Any + Send + Sync>>,
}

/// What went wrong, where, and what to try.
///
/// Displayed as `kind: message`, then one indented line per frame, innermost first, then
/// `hint: …`.
#[derive(Clone)]
pub struct Error(Box<Inner>);

impl Error {
    /// An error of that kind. The message is lower case, without a full stop, with what was found
    /// and what was expected.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        let (message, context) = (message.into(), Vec::new());
        Self(Box::new(Inner { kind, message, context, hint: None, raised: None, cause: None }))
    }

    /// An error of kind [`Kind::InvalidArgument`].
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Kind::InvalidArgument, message)
    }

    /// An error of kind [`Kind::Internal`]: a fault of gristmill, not of its user.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Kind::Internal, message).hint("this is a fault in gristmill: please report it")
    }

    /// The error that stands for a caught panic: out of memory, or a fault of gristmill.
    pub fn from_panic(payload: &(dyn std::any::Any + Send)) -> Self {
        if let Some(crate::buffer::OutOfMemory { bytes }) = payload.downcast_ref() {
            return Self::new(Kind::ResourceExhausted, format!("cannot allocate {bytes} bytes"))
                .hint("use a smaller batch, shape or buffer");
        }
        let text = payload
            .downcast_ref::<&str>()
            .map(|s| (*s).to_string())
            .or_else(|| payload.downcast_ref::<String>().cloned())
            .unwrap_or_default();
        Self::internal(format!("a panic: {text}"))
    }

    /// The same error with one more place, outside those it has.
    #[must_use]
    pub fn frame(mut self, frame: Frame) -> Self {
        self.0.context.push(frame);
        self
    }

    /// The same error inside that file.
    #[must_use]
    pub fn in_file(self, uri: impl Into<String>) -> Self {
        self.frame(Frame::File { uri: uri.into() })
    }

    /// The same error with advice: one option or command to try. A hint already there stays.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// The same error as the carrier of what a user's function raised to end the program: it ends the pass in
    /// which it happens, and whoever asked for the element gets what was raised.
    #[must_use]
    pub fn raising(mut self, raised: Arc<dyn Any + Send + Sync>) -> Self {
        self.0.raised = Some(raised);
        self
    }

    /// What a user's function raised to end the program, if this error stands for that.
    pub fn raised(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        self.0.raised.as_ref()
    }

    /// The same error with what a user's function raised, for whoever can show that. The message stands alone.
    #[must_use]
    pub fn caused_by(mut self, cause: Arc<dyn Any + Send + Sync>) -> Self {
        self.0.cause = Some(cause);
        self
    }

    /// What a user's function raised, if that is where the error comes from.
    pub fn cause(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        self.0.cause.as_ref()
    }

    /// The class of the error.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// What is wrong, without places and hint.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The places, innermost first.
    pub fn context(&self) -> &[Frame] {
        &self.0.context
    }

    /// The advice, if there is any.
    pub fn advice(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The file in which it happened.
    pub fn path(&self) -> Option<&str> {
        self.0.context.iter().find_map(|f| match f {
            Frame::File { uri } => Some(uri.as_str()),
            _ => None,
        })
    }

    /// Position of the record in its file, from 0.
    pub fn record_index(&self) -> Option<u64> {
        self.0.context.iter().find_map(|f| match f {
            Frame::Record { index, .. } => Some(*index),
            _ => None,
        })
    }

    /// Byte offset of the record in its file.
    pub fn offset(&self) -> Option<u64> {
        self.0.context.iter().find_map(|f| match f {
            Frame::Record { offset, .. } => Some(*offset),
            _ => None,
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.kind.label(), self.0.message)?;
        for frame in &self.0.context {
            write!(f, "\n  {frame}")?;
        }
        if let Some(hint) = &self.0.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

impl PartialEq for Error {
    /// Two errors are equal when their kind, words and places are.
    fn eq(&self, other: &Self) -> bool {
        self.0.kind == other.0.kind && self.0.message == other.0.message && self.0.context == other.0.context
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_has_what_where_and_what_to_try() {
        let e = Error::new(Kind::DataLoss, "payload checksum is 0x1, file says 0x2")
            .frame(Frame::Record { index: 7, offset: 99 })
            .in_file("a.tfrec")
            .frame(Frame::Op { name: "io.parse_single_example".into(), site: Some("t.py:4".into()) })
            .hint("on_error=\"skip\" drops bad records");
        assert_eq!(
            e.to_string(),
            "data loss: payload checksum is 0x1, file says 0x2\n  in record 7 at byte 99\n  in a.tfrec\n  \
             while running io.parse_single_example (t.py:4)\n  hint: on_error=\"skip\" drops bad records"
        );
        assert_eq!((e.path(), e.record_index(), e.offset()), (Some("a.tfrec"), Some(7), Some(99)));
    }
}
