//! What can go wrong.

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an image could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are no such image, or an argument does not fit; TensorFlow's `InvalidArgumentError`.
    #[error("{0}")]
    InvalidArgument(String),
    /// The format is known and not read here; TensorFlow's `UnimplementedError`.
    #[error("{0}")]
    Unsupported(String),
    /// The supplier of the output refused the shape; its own words.
    #[error("{0}")]
    Output(String),
}

impl Error {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::InvalidArgument(message.into())
    }
}
