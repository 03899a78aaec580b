//! Dense, sparse and ragged values in Python's hands.

use crate::error::{guarded, invalid, to_py};
use crate::{array_struct, dlpack, memory, spec, string_view};
use gristmill_types::{Bytes, DType, PartialShape, Ragged, Shape, Sparse, Tensor, Value};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use std::sync::Arc;

/// A value. Views of its memory keep it alive.
#[pyclass(frozen, module = "gristmill._native", name = "Value")]
pub(crate) struct PyValue(pub(crate) Value);

impl PyValue {
    fn dense(&self) -> PyResult<&Tensor> {
        self.0.tensor().map_err(|e| to_py(&e))
    }
}

/// Whether nobody else holds the tensor's memory, so that it may be written through a view.
pub(crate) fn exclusive(t: &Tensor) -> bool {
    t.shared().is_none_or(|(buffer, _)| Arc::strong_count(buffer) == 1)
}

/// Whether NumPy's view of it is an array, of the dtype that NumPy has by that name.
fn is_plain_array(t: &Tensor) -> bool {
    !t.dims().is_empty() && !matches!(t.dtype(), DType::String | DType::BF16)
}

/// A value on its way to NumPy: a scalar string is `bytes`, or a `memoryview` with `views`; what NumPy has as an array
/// is a `ReadOnly` for it to look at; anything else stays a `Value`.
pub(crate) fn for_numpy(py: Python<'_>, value: Value, views: bool) -> PyResult<Bound<'_, PyAny>> {
    match value {
        Value::Tensor(t) if t.dims().is_empty() && t.dtype() == DType::String => match views {
            true => string_view::view_of(py, t.string_bytes(0)),
            false => Ok(PyBytes::new(py, t.string_at(0)).into_any()),
        },
        Value::Tensor(t) if is_plain_array(&t) => Ok(Bound::new(py, array_struct::ReadOnly(t))?.into_any()),
        other => Ok(Bound::new(py, PyValue(other))?.into_any()),
    }
}

#[pymethods]
impl PyValue {
    /// A copy of a C-contiguous NumPy array in native byte order.
    #[staticmethod]
    fn from_array(array: &Bound<'_, PyAny>, dtype: &str) -> PyResult<Self> {
        Ok(Self(memory::tensor_of(array, spec::dtype(dtype)?)?.into()))
    }

    /// A value over the memory of a C-contiguous NumPy array, which nobody may write to until `owner` is let go:
    /// that happens when nobody looks at the memory any more.
    #[staticmethod]
    fn over(array: &Bound<'_, PyAny>, dtype: &str, owner: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(memory::tensor_over(array, spec::dtype(dtype)?, owner)?.into()))
    }

    /// A value over the raw bytes of its elements.
    #[staticmethod]
    fn from_bytes(dtype: &str, shape: Vec<usize>, data: &[u8]) -> PyResult<Self> {
        let dtype = spec::dtype(dtype)?;
        guarded(|| Ok(Self(Tensor::from_bytes(dtype, Shape::new(&shape)?, data)?.into())))
    }

    /// An int32 or int64 scalar or vector.
    #[staticmethod]
    fn ints(dtype: &str, shape: Vec<usize>, values: Vec<i64>) -> PyResult<Self> {
        let dtype = spec::dtype(dtype)?;
        guarded(|| {
            let shape = Shape::new(&shape)?;
            Ok(Self(match dtype {
                DType::I32 => {
                    Tensor::from_vec(shape, &values.iter().map(|&v| v as i32).collect::<Vec<_>>())?.into()
                }
                _ => Tensor::from_vec(shape, &values)?.into(),
            }))
        })
    }

    /// A string tensor.
    #[staticmethod]
    fn from_strings(shape: Vec<usize>, items: Vec<Bound<'_, PyBytes>>) -> PyResult<Self> {
        guarded(|| {
            let shape = Shape::new(&shape)?;
            if shape.rank() == 0 && items.len() == 1 {
                return Ok(Self(Tensor::string(Bytes::copy_from(items[0].as_bytes())).into()));
            }
            let items = items.iter().map(|b| Bytes::copy_from(b.as_bytes())).collect();
            Ok(Self(Tensor::strings(shape, items)?.into()))
        })
    }

    /// A sparse tensor: int64 indices `[n, rank]`, values `[n]`, int64 dense shape `[rank]`.
    #[staticmethod]
    fn from_sparse(indices: &Self, values: &Self, dense_shape: &Self) -> PyResult<Self> {
        let (i, v, s) = (indices.dense()?, values.dense()?, dense_shape.dense()?);
        let fits = i.dtype() == DType::I64
            && s.dtype() == DType::I64
            && i.dims().len() == 2
            && v.dims() == [i.dims()[0]]
            && s.dims() == [i.dims()[1]];
        if !fits {
            return Err(invalid(format!(
                "a sparse tensor needs int64 indices [n, rank], values [n] and an int64 dense_shape [rank], found {} {}, {} and {} {}",
                i.dtype(),
                i.shape(),
                v.shape(),
                s.dtype(),
                s.shape()
            )));
        }
        Ok(Self(Sparse { indices: i.clone(), values: v.clone(), dense_shape: s.clone() }.into()))
    }

    /// A ragged tensor: flat values under int64 row splits, outermost first.
    #[staticmethod]
    fn from_ragged(flat_values: &Self, row_splits: Vec<PyRef<'_, Self>>) -> PyResult<Self> {
        let flat = flat_values.dense()?.clone();
        let splits = row_splits.iter().map(|s| s.dense().cloned()).collect::<PyResult<Vec<_>>>()?;
        let mut outer = None;
        for s in &splits {
            let ok = s.as_slice::<i64>().is_ok_and(|v| {
                s.dims().len() == 1
                    && v.first() == Some(&0)
                    && v.windows(2).all(|w| w[0] <= w[1])
                    && outer.is_none_or(|last: i64| v.len() as i64 == last + 1)
            });
            if !ok {
                return Err(invalid(
                    "row splits must be int64 vectors that begin with 0, do not fall, and fit the level above",
                ));
            }
            outer = s.as_slice::<i64>().ok().and_then(|v| v.last().copied());
        }
        if outer.is_none() || flat.dims().first().map(|&n| n as i64) != outer {
            return Err(invalid(format!(
                "the last row split must be the number of values, found {outer:?} and shape {}",
                flat.shape()
            )));
        }
        Ok(Self(Ragged { flat_values: flat, row_splits: splits }.into()))
    }

    /// `"dense"`, `"sparse"` or `"ragged"`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind_name()
    }

    /// Name of the dtype.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.0.dtype().name()
    }

    /// The sizes; ragged dimensions are `None`.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.0 {
            Value::Tensor(t) => Ok(PyTuple::new(py, t.dims())?.into_any()),
            other => spec::shape_to_py(py, other.spec().shape()),
        }
    }

    /// The spec tuple of this very value.
    #[getter]
    fn spec<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        spec::to_py(py, &self.0.spec())
    }

    /// Bytes of all parts.
    #[getter]
    fn nbytes(&self) -> usize {
        self.0.byte_len()
    }

    /// Whether a view of the memory may be written: nobody else holds it.
    #[getter]
    fn exclusive(&self) -> bool {
        self.0.tensor().is_ok_and(exclusive)
    }

    /// The raw bytes of a plain tensor.
    fn tobytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, self.dense()?.bytes()))
    }

    /// The elements of a string tensor in row-major order.
    fn strings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.dense()?.string_slices().map(|s| PyBytes::new(py, s)))
    }

    /// The only element of a string tensor.
    fn string<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut all = self.dense()?.string_slices();
        match (all.next(), all.next()) {
            (Some(one), None) => Ok(PyBytes::new(py, one)),
            _ => Err(invalid(format!("expected one string, found shape {}", self.shape_text()))),
        }
    }

    /// A `memoryview` of each element of a string tensor in row-major order.
    fn string_views<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        string_view::views_of(py, self.dense()?)
    }

    /// Writes the elements of a string tensor into a C-contiguous NumPy array of objects of the same size.
    fn strings_into(&self, array: &Bound<'_, PyAny>) -> PyResult<()> {
        let t = self.dense()?;
        memory::fill_objects(array, t.string_slices())
    }

    /// Row `i` of the outermost dimension.
    fn row(&self, i: usize) -> PyResult<Self> {
        if self.0.outer_len().is_none_or(|n| i >= n) {
            return Err(invalid(format!("there is no row {i}")));
        }
        guarded(|| Ok(Self(self.0.unstack(i)?)))
    }

    /// The same elements under another shape.
    fn reshaped(&self, shape: Vec<usize>) -> PyResult<Self> {
        let t = self.dense()?;
        guarded(|| Ok(Self(t.reshaped(Shape::new(&shape)?)?.into())))
    }

    /// A copy in memory of its own.
    fn copy(&self) -> PyResult<Self> {
        let t = self.dense()?;
        if t.dtype() == DType::String {
            return Ok(Self(t.clone().into()));
        }
        guarded(|| Ok(Self(Tensor::from_bytes(t.dtype(), *t.shape(), t.bytes())?.into())))
    }

    /// Joins values along a new outermost dimension, as `batch` does.
    #[staticmethod]
    fn stack(rows: Vec<PyRef<'_, Self>>) -> PyResult<Self> {
        let rows: Vec<Value> = rows.iter().map(|r| r.0.clone()).collect();
        guarded(|| Ok(Self(Value::stack(&rows)?)))
    }

    /// Indices, values, dense shape of a sparse tensor.
    fn sparse_parts(&self) -> PyResult<(Self, Self, Self)> {
        let s = self.0.sparse().map_err(|e| to_py(&e))?;
        let wrap = |t: &Tensor| Self(t.clone().into());
        Ok((wrap(&s.indices), wrap(&s.values), wrap(&s.dense_shape)))
    }

    /// Flat values and row splits, outermost first, of a ragged tensor.
    fn ragged_parts(&self) -> PyResult<(Self, Vec<Self>)> {
        let r = self.0.ragged().map_err(|e| to_py(&e))?;
        let wrap = |t: &Tensor| Self(t.clone().into());
        Ok((wrap(&r.flat_values), r.row_splits.iter().map(wrap).collect()))
    }

    /// NumPy's array interface, as a C structure; bfloat16 appears as uint16. The view may be written only where nobody
    /// else holds the memory.
    #[getter]
    fn __array_struct__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let t = self.dense()?;
        array_struct::of(py, t, exclusive(t))
    }

    /// Always the CPU.
    fn __dlpack_device__(&self) -> (i32, i32) {
        dlpack::DEVICE
    }

    /// A DLPack capsule: the versioned kind if `max_version` allows it, the older one otherwise.
    /// Memory that somebody else holds is copied first.
    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if stream.is_some_and(|s| !s.is_none()) || dl_device.is_some_and(|d| d != dlpack::DEVICE) {
            return Err(pyo3::exceptions::PyBufferError::new_err(
                "the tensor is in main memory: no stream, no other device",
            ));
        }
        let t = self.dense()?;
        let mut copied = copy == Some(true) || !exclusive(t);
        if copied && copy == Some(false) {
            return Err(pyo3::exceptions::PyBufferError::new_err(
                "the memory is shared: it can only be handed over as a copy",
            ));
        }
        let mut out = t.clone();
        if copied {
            out = guarded(|| Tensor::from_bytes(t.dtype(), *t.shape(), t.bytes()))?;
        }
        copied |= out.shared().is_none();
        dlpack::capsule(py, out.pinned(), max_version.is_some_and(|v| v.0 >= 1), copied)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    /// Pickled as its parts.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let class = slf.get_type();
        let wrap = |t: &Tensor| Py::new(py, Self(t.clone().into()));
        Ok(match &slf.get().0 {
            Value::Sparse(s) => (
                class.getattr("from_sparse")?,
                (wrap(&s.indices)?, wrap(&s.values)?, wrap(&s.dense_shape)?).into_pyobject(py)?,
            ),
            Value::Ragged(r) => {
                let splits = r.row_splits.iter().map(wrap).collect::<PyResult<Vec<_>>>()?;
                (class.getattr("from_ragged")?, (wrap(&r.flat_values)?, splits).into_pyobject(py)?)
            }
            Value::Tensor(t) if t.dtype() == DType::String => {
                let items = PyList::new(py, t.string_slices().map(|s| PyBytes::new(py, s)))?;
                (class.getattr("from_strings")?, (t.dims().to_vec(), items).into_pyobject(py)?)
            }
            Value::Tensor(t) => (
                class.getattr("from_bytes")?,
                (t.dtype().name(), t.dims().to_vec(), PyBytes::new(py, t.bytes())).into_pyobject(py)?,
            ),
            other => {
                return Err(invalid(format!("a {} value cannot be pickled", other.kind_name())));
            }
        })
    }

    fn __repr__(&self) -> String {
        format!("<{} {} value of shape {}>", self.0.kind_name(), self.0.dtype(), self.shape_text())
    }
}

impl PyValue {
    fn shape_text(&self) -> String {
        match &self.0 {
            Value::Tensor(t) => PartialShape::from(t.shape()).to_string(),
            other => other.spec().shape().to_string(),
        }
    }
}
