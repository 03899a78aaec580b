//! Sources: `range`, `from_tensors`, `from_tensor_slices`, `TFRecordDataset`.

use super::{Cardinality, ElementSpec, Operand, Plan, Transformation};
use gristmill_types::{DType, Error, Kind, Result, Spec, Structure, Value};

/// The integers from `start` to before `stop` in steps of `step`.
#[derive(Clone, Debug)]
pub struct Range {
    /// First value.
    pub start: Operand,
    /// The first value that is no longer given.
    pub stop: Operand,
    /// Distance between values; may be negative.
    pub step: Operand,
    /// Dtype of the values, int64 in TensorFlow.
    pub dtype: DType,
}

impl Range {
    /// Number of values; `None` while a bound is a parameter.
    ///
    /// # Errors
    /// `InvalidArgument` for a step of 0 or bounds that are not integers.
    pub fn len(&self) -> Result<Option<u64>> {
        let (Some(start), Some(stop), Some(step)) =
            (self.start.known_int()?, self.stop.known_int()?, self.step.known_int()?)
        else {
            return Ok(None);
        };
        if step == 0 {
            return Err(Error::invalid("step must be a non-zero integer, found 0"));
        }
        let span = if step > 0 {
            i128::from(stop) - i128::from(start)
        } else {
            i128::from(start) - i128::from(stop)
        };
        let step = i128::from(step).abs();
        Ok(Some(u64::try_from((span.max(0) + step - 1) / step).unwrap_or(u64::MAX)))
    }
}

impl Transformation for Range {
    fn name(&self) -> &'static str {
        "range"
    }
    fn spec(&self, _: &[&ElementSpec]) -> Result<ElementSpec> {
        self.len()?;
        if !self.dtype.is_plain() || self.dtype == DType::Bool {
            return Err(Error::new(
                Kind::Type,
                format!("output_type must be a number, found {}", self.dtype),
            ));
        }
        Ok(Structure::Leaf(Spec::scalar(self.dtype)))
    }
    fn cardinality(&self, _: &[&Plan]) -> Cardinality {
        self.len().ok().flatten().map_or(Cardinality::Unknown, Cardinality::Known)
    }
    fn describe(&self) -> String {
        format!("{}, {}, {}", self.start, self.stop, self.step)
    }
    fn has_params(&self) -> bool {
        [&self.start, &self.stop, &self.step].iter().any(|o| o.is_param())
    }
    fn bind(&self, params: &[Value]) -> Result<Self> {
        Ok(Self {
            start: self.start.bind(params)?,
            stop: self.stop.bind(params)?,
            step: self.step.bind(params)?,
            dtype: self.dtype,
        })
    }
}

/// One element: the components themselves.
#[derive(Clone, Debug)]
pub struct Tensors {
    /// How the components nest; leaves number the components in flattening order.
    pub structure: Structure<usize>,
    /// The components.
    pub components: Vec<Operand>,
}

impl Transformation for Tensors {
    fn name(&self) -> &'static str {
        "from_tensors"
    }
    fn spec(&self, _: &[&ElementSpec]) -> Result<ElementSpec> {
        Ok(self.structure.map(|&i| self.components[i].spec()))
    }
    fn cardinality(&self, _: &[&Plan]) -> Cardinality {
        Cardinality::Known(1)
    }
    fn has_params(&self) -> bool {
        self.components.iter().any(Operand::is_param)
    }
    fn bind(&self, params: &[Value]) -> Result<Self> {
        Ok(Self {
            structure: self.structure.clone(),
            components: Operand::bind_all(&self.components, params)?,
        })
    }
}

/// An element per row of the components' outermost dimension.
#[derive(Clone, Debug)]
pub struct TensorSlices {
    /// How the components nest; leaves number the components in flattening order.
    pub structure: Structure<usize>,
    /// The components, all of one outermost size.
    pub components: Vec<Operand>,
    /// Whether the rows are paths of files (`list_files`), for messages and `explain`.
    pub paths: bool,
}

impl TensorSlices {
    /// Number of rows; `None` while unknown.
    fn rows(&self) -> Result<Option<usize>> {
        let mut rows = None;
        for c in &self.components {
            let spec = c.spec();
            if spec.shape().rank() == Some(0) {
                return Err(Error::new(
                    Kind::Value,
                    "unbatching a tensor is only supported for rank >= 1, found a scalar",
                )
                .hint("from_tensors gives the components as one element"));
            }
            if let Some(d) = spec.shape().dim(0) {
                if rows.is_some_and(|r| r != d) {
                    return Err(Error::new(
                        Kind::Value,
                        format!("Dimensions {} and {d} are not compatible", rows.unwrap_or(0)),
                    )
                    .hint("every component must have as many rows as the first"));
                }
                rows = Some(d);
            }
        }
        Ok(rows)
    }
}

impl Transformation for TensorSlices {
    fn name(&self) -> &'static str {
        if self.paths { "list_files" } else { "from_tensor_slices" }
    }
    fn spec(&self, _: &[&ElementSpec]) -> Result<ElementSpec> {
        self.rows()?;
        Ok(self.structure.map(|&i| self.components[i].spec().unbatched()))
    }
    fn cardinality(&self, _: &[&Plan]) -> Cardinality {
        self.rows().ok().flatten().map_or(Cardinality::Unknown, |n| Cardinality::Known(n as u64))
    }
    fn describe(&self) -> String {
        self.rows().ok().flatten().map_or_else(String::new, |n| format!("{n} rows"))
    }
    fn has_params(&self) -> bool {
        self.components.iter().any(Operand::is_param)
    }
    fn bind(&self, params: &[Value]) -> Result<Self> {
        Ok(Self {
            structure: self.structure.clone(),
            components: Operand::bind_all(&self.components, params)?,
            paths: self.paths,
        })
    }
}

/// How record files are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Compression {
    /// Found from the first bytes, plain tried first.
    #[default]
    Detect,
    /// Not compressed.
    None,
    /// gzip, any number of members.
    Gzip,
    /// zlib.
    Zlib,
}

/// The records of TFRecord files, file after file.
#[derive(Clone, Debug)]
pub struct TfRecord {
    /// Paths: a string tensor of any shape.
    pub files: Operand,
    /// How the files are compressed.
    pub compression: Compression,
    /// Whether checksums are checked.
    pub verify: bool,
}

impl Transformation for TfRecord {
    fn name(&self) -> &'static str {
        "TFRecordDataset"
    }
    fn spec(&self, _: &[&ElementSpec]) -> Result<ElementSpec> {
        let dtype = self.files.spec().dtype();
        if dtype != DType::String {
            return Err(Error::new(Kind::Type, format!("`filenames` must be strings, found {dtype}")));
        }
        Ok(Structure::Leaf(Spec::scalar(DType::String)))
    }
    fn cardinality(&self, _: &[&Plan]) -> Cardinality {
        Cardinality::Unknown
    }
    fn describe(&self) -> String {
        match self.files.spec().shape().full() {
            Some(shape) => format!("{} files", shape.count()),
            None => self.files.to_string(),
        }
    }
    fn has_params(&self) -> bool {
        self.files.is_param()
    }
    fn bind(&self, params: &[Value]) -> Result<Self> {
        Ok(Self { files: self.files.bind(params)?, ..self.clone() })
    }
}
