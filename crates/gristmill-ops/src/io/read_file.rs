//! `io.read_file`: the bytes of a whole file.

use super::decoding::{check_contents, contents};
use crate::image::common::{MadeKernel, Specs, kernel_of};
use gristmill_plan::{Arg, ArgDef, Attrs, Class, OpDef};
use gristmill_storage::{Source, StoreError, StoreErrorKind, Stores};
use gristmill_types::{Buffer, Bytes, DType, Error, Result, Spec, Tensor};
use std::ffi::OsStr;
use std::sync::Arc;

pub(crate) static OP: OpDef = OpDef {
    name: "io.read_file",
    doc: "Reads a whole file.\n\nString scalar. NotFound for a file that is not there.",
    inputs: &[ArgDef { name: "filename", doc: "string scalar: path or URL" }],
    attrs: &[],
    class: Class::Effect,
    total: false,
    elementwise: false,
    infer,
    kernel,
};

fn infer(args: &[Arg], _: &Attrs) -> Specs {
    check_contents(&args[0], "filename")?;
    Ok(vec![Spec::scalar(DType::String)])
}

fn kernel(_: &[Arg], _: &Attrs) -> MadeKernel {
    let stores = Stores::default();
    kernel_of(move |_, inputs, out| {
        let name = contents(&inputs[0], "filename")?;
        let path = os_path(name)?;
        let bytes = stores.of(path).and_then(|store| store.open(path)).map_err(store_error);
        let bytes = bytes.and_then(|mut source| {
            read(&mut *source).map_err(|e| store_error(StoreError::from_io(path, &e)))
        })?;
        out.put(0, Tensor::string(bytes));
        Ok(())
    })
}

#[cfg(unix)]
fn os_path(name: &[u8]) -> Result<&OsStr> {
    Ok(std::os::unix::ffi::OsStrExt::from_bytes(name))
}

#[cfg(not(unix))]
fn os_path(name: &[u8]) -> Result<&OsStr> {
    std::str::from_utf8(name).map(OsStr::new).map_err(|_| Error::invalid("the path is no UTF-8"))
}

/// The file's bytes in a shared buffer, without a copy where its size is known.
fn read(source: &mut dyn Source) -> std::io::Result<Bytes> {
    let size = usize::try_from(source.size()).map_err(|_| std::io::ErrorKind::FileTooLarge)?;
    let mut buffer = Buffer::recycled(size);
    let mut filled = 0;
    while filled < size {
        match source.read(&mut buffer.as_mut_slice()[filled..])? {
            0 => break,
            n => filled += n,
        }
    }
    // Some files (of /proc, pipes) do not know their size, others grow.
    let mut rest = Vec::new();
    if filled == size && source.read_to_end(&mut rest)? > 0 {
        let mut all = buffer.as_slice().to_vec();
        all.append(&mut rest);
        return Ok(all.into());
    }
    buffer.truncate(filled);
    Ok(if filled == 0 { Bytes::EMPTY } else { Bytes::slice_of(&Arc::new(buffer), 0, filled) })
}

/// The error of a store as the one of ops, in its file.
fn store_error(e: StoreError) -> Error {
    let directory = e.kind == StoreErrorKind::IsDirectory;
    let told = Error::from(e);
    if directory { told.hint("list_files lists the files of a directory") } else { told }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::eval;
    use gristmill_types::Kind;

    fn run(path: &str) -> Result<Tensor> {
        eval(&OP, &[Tensor::string(path).into()], Attrs::default()).map(|v| v[0].tensor().unwrap().clone())
    }

    #[test]
    fn files_and_what_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.bin");
        std::fs::write(&path, b"\x00bytes").unwrap();
        assert_eq!(run(path.to_str().unwrap()).unwrap(), Tensor::string(&b"\x00bytes"[..]));
        std::fs::write(&path, b"").unwrap();
        assert_eq!(run(path.to_str().unwrap()).unwrap(), Tensor::string(""));
        let e = run("/no/such.jpg").unwrap_err();
        assert_eq!((e.kind(), e.message()), (Kind::NotFound, "/no/such.jpg; No such file or directory"));
        assert_eq!(e.path(), Some("/no/such.jpg"));
        let e = run(dir.path().to_str().unwrap()).unwrap_err();
        assert!(e.kind() == Kind::FailedPrecondition && e.message().ends_with("; Is a directory"), "{e}");
    }
}
