//! The messages of `gristmill.train` as plain Python values: a feature map is a dict from key to
//! `None`, `("bytes", [...])`, `("float", [...])` or `("int64", [...])`.

use crate::error::guarded;
use gristmill::example::{Example, Feature, FeatureMap, SequenceExample};
use gristmill_types::Bytes;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

fn feature(obj: &Bound<'_, PyAny>) -> PyResult<Feature> {
    if obj.is_none() {
        return Ok(Feature::Unset);
    }
    let (kind, list): (String, Bound<'_, PyList>) = obj.extract()?;
    Ok(match kind.as_str() {
        "bytes" => {
            let items = list.iter().map(|b| Ok(Bytes::copy_from(b.cast::<PyBytes>()?.as_bytes())));
            Feature::Bytes(items.collect::<PyResult<_>>()?)
        }
        "float" => Feature::Floats(list.extract()?),
        _ => Feature::Ints(list.extract()?),
    })
}

fn feature_to_py<'py>(py: Python<'py>, f: &Feature) -> PyResult<Bound<'py, PyAny>> {
    Ok(match f {
        Feature::Unset => py.None().into_bound(py),
        Feature::Bytes(v) => {
            ("bytes", PyList::new(py, v.iter().map(|b| PyBytes::new(py, b)))?).into_pyobject(py)?.into_any()
        }
        Feature::Floats(v) => ("float", v.clone()).into_pyobject(py)?.into_any(),
        Feature::Ints(v) => ("int64", v.clone()).into_pyobject(py)?.into_any(),
    })
}

fn map(obj: &Bound<'_, PyDict>) -> PyResult<FeatureMap> {
    obj.iter().map(|(k, v)| Ok((k.extract::<String>()?, feature(&v)?))).collect()
}

fn map_to_py<'py>(py: Python<'py>, map: &FeatureMap) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    for (k, v) in map {
        out.set_item(k, feature_to_py(py, v)?)?;
    }
    Ok(out)
}

/// The bytes of an Example, keys ascending; `None` leaves the submessage out.
#[pyfunction]
fn encode_example<'py>(
    py: Python<'py>,
    features: Option<Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let features = features.as_ref().map(map).transpose()?;
    Ok(PyBytes::new(py, &Example { features }.encode()))
}

/// The feature map of an Example; `None` if there is none.
#[pyfunction]
fn decode_example<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Option<Bound<'py, PyDict>>> {
    let example = guarded(|| Example::decode(&Bytes::copy_from(data)))?;
    example.features.as_ref().map(|m| map_to_py(py, m)).transpose()
}

/// The bytes of a SequenceExample; `None` leaves a submessage out.
#[pyfunction]
fn encode_sequence_example<'py>(
    py: Python<'py>,
    context: Option<Bound<'py, PyDict>>,
    feature_lists: Option<Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let context = context.as_ref().map(map).transpose()?;
    let lists = feature_lists.map(|d| {
        let entries = d.iter().map(|(k, v)| {
            let steps = v.cast::<PyList>()?.iter().map(|f| feature(&f)).collect::<PyResult<Vec<_>>>()?;
            Ok((k.extract::<String>()?, steps))
        });
        entries.collect::<PyResult<_>>()
    });
    let message = SequenceExample { context, feature_lists: lists.transpose()? };
    Ok(PyBytes::new(py, &message.encode()))
}

/// Context and feature lists of a SequenceExample.
#[pyfunction]
fn decode_sequence_example<'py>(
    py: Python<'py>,
    data: &[u8],
) -> PyResult<(Option<Bound<'py, PyDict>>, Option<Bound<'py, PyDict>>)> {
    let message = guarded(|| SequenceExample::decode(&Bytes::copy_from(data)))?;
    let context = message.context.as_ref().map(|m| map_to_py(py, m)).transpose()?;
    let lists = message.feature_lists.as_ref().map(|lists| {
        let out = PyDict::new(py);
        for (k, steps) in lists {
            out.set_item(k, steps.iter().map(|f| feature_to_py(py, f)).collect::<PyResult<Vec<_>>>()?)?;
        }
        PyResult::Ok(out)
    });
    Ok((context, lists.transpose()?))
}

/// Adds the functions to the module.
pub(crate) fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(encode_example, m)?)?;
    m.add_function(wrap_pyfunction!(decode_example, m)?)?;
    m.add_function(wrap_pyfunction!(encode_sequence_example, m)?)?;
    m.add_function(wrap_pyfunction!(decode_sequence_example, m)?)
}
