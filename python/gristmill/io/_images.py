"""Decoding and encoding of images."""

from __future__ import annotations

from typing import Any

from gristmill import _trace, dtypes
from gristmill.convert import convert_to_tensor, shape_tensor
from gristmill.dtypes import DTypeLike
from gristmill.tensor import Tensor


def _bytes(contents: Any) -> Tensor:
    return convert_to_tensor(contents, dtypes.string)


def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Decodes a JPEG image (PNG and one-frame GIF are recognised too).

    Args:
        contents: The bytes of the file, a string scalar.
        channels: 0 takes the file's, 1 grey, 3 RGB.
        ratio: Makes the image smaller while decoding: 1, 2, 4 or 8.
        fancy_upscaling: Whether colour planes are enlarged smoothly.
        try_recover_truncated: Whether a file that ends early gives what there is of it.
        acceptable_fraction: Least part of the rows that must be there.
        dct_method: ``"INTEGER_FAST"`` (also meant by ``""``) or ``"INTEGER_ACCURATE"``.
        name: Accepted for TensorFlow's sake.

    Returns:
        uint8 ``[height, width, channels]``.

    Raises:
        InvalidArgumentError: If the bytes are no such image.
    """
    attrs = _jpeg(
        channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method
    )
    return _trace.tensor("io.decode_jpeg", [_bytes(contents)], attrs)


def _jpeg(
    channels: int, ratio: int, fancy: bool, recover: bool, fraction: float, dct: str
) -> dict[str, Any]:
    return {
        "channels": int(channels),
        "ratio": int(ratio),
        "fancy_upscaling": bool(fancy),
        "try_recover_truncated": bool(recover),
        "acceptable_fraction": float(fraction),
        "dct_method": dct,
    }


def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
    *,
    restart_index: Any = None,
) -> Tensor:
    """Decodes a part of a JPEG image.

    Args:
        contents: The bytes of the file, a string scalar.
        crop_window: First row, first column, height, width.
        channels: As in `decode_jpeg`, like all that follow.
        ratio: As in `decode_jpeg`.
        fancy_upscaling: As in `decode_jpeg`.
        try_recover_truncated: As in `decode_jpeg`.
        acceptable_fraction: As in `decode_jpeg`.
        dct_method: As in `decode_jpeg`.
        name: Accepted for TensorFlow's sake.
        restart_index: What `jpeg_restart_index` gave for the same bytes, a string scalar. An
            addition of gristmill's: it saves the work for the rows above the part and for what is
            right of it, and changes no value. An empty string, or an index of other bytes, is
            ignored.

    Returns:
        uint8 ``[height, width, channels]``.
    """
    attrs = _jpeg(
        channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method
    )
    inputs = [_bytes(contents), shape_tensor(crop_window)]
    if restart_index is not None:
        inputs.append(_bytes(restart_index))
    return _trace.tensor("io.decode_and_crop_jpeg", inputs, attrs)


def extract_jpeg_shape(
    contents: Any, output_type: DTypeLike = dtypes.int32, name: str | None = None
) -> Tensor:
    """Returns height, width and channels of a JPEG image without decoding it."""
    attrs = {"output_type": dtypes.as_dtype(output_type)}
    return _trace.tensor("io.extract_jpeg_shape", [_bytes(contents)], attrs)


def jpeg_restart_index(contents: Any, name: str | None = None) -> Tensor:
    """Makes an index of where the rows of a JPEG image begin, for `decode_and_crop_jpeg`.

    An addition of gristmill's, not in TensorFlow. It is made once, by reading the whole file, and
    kept beside it: `gm.pack` does so with ``restart_index=True``.

    Args:
        contents: The bytes of the file, a string scalar.
        name: Accepted as elsewhere.

    Returns:
        A string scalar, about a hundredth of the file at most; empty where an index would be of no
        use (progressive and small files, and those with restart markers).

    Raises:
        InvalidArgumentError: If the bytes are no JPEG image, or a baseline one that is damaged.
    """
    return _trace.tensor("io.jpeg_restart_index", [_bytes(contents)])


def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Returns whether bytes begin like a JPEG image."""
    return _trace.tensor("io.is_jpeg", [_bytes(contents)])


def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """Encodes an image as JPEG, byte for byte as TensorFlow does.

    Args:
        image: uint8 ``[height, width, 1 or 3]``.
        format: ``"grayscale"`` or ``"rgb"``; by the number of channels if empty.
        quality: 0 to 100.
        progressive: Whether to write a progressive file.
        optimize_size: Whether to spend time on a smaller file.
        chroma_downsampling: Whether colours are stored at half the size.
        density_unit: ``"in"`` or ``"cm"``.
        x_density: Pixels per unit.
        y_density: Pixels per unit.
        xmp_metadata: XMP to put into the file.
        name: Accepted for TensorFlow's sake.

    Returns:
        The bytes of the file, a string scalar.
    """
    attrs = {
        "format": format,
        "quality": int(quality),
        "progressive": progressive,
        "optimize_size": optimize_size,
        "chroma_downsampling": chroma_downsampling,
        "density_unit": density_unit,
        "x_density": x_density,
        "y_density": y_density,
        "xmp_metadata": xmp_metadata,
    }
    return _trace.tensor("io.encode_jpeg", [convert_to_tensor(image)], attrs)


def decode_png(
    contents: Any, channels: int = 0, dtype: DTypeLike = dtypes.uint8, name: str | None = None
) -> Tensor:
    """Decodes a PNG image to uint8 or uint16 ``[height, width, channels]``.

    Args:
        contents: The bytes of the file, a string scalar.
        channels: 0 takes the file's; 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha.
        dtype: uint8 or uint16.
        name: Accepted for TensorFlow's sake.
    """
    attrs = {"channels": int(channels), "dtype": dtypes.as_dtype(dtype)}
    return _trace.tensor("io.decode_png", [_bytes(contents)], attrs)


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """Encodes a uint8 or uint16 image as PNG."""
    attrs = {"compression": int(compression)}
    return _trace.tensor("io.encode_png", [convert_to_tensor(image)], attrs)


def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """Decodes the frames of a GIF to uint8 ``[frames, height, width, 3]``."""
    return _trace.tensor("io.decode_gif", [_bytes(contents)])


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    """Decodes a BMP image to uint8 ``[height, width, channels]``."""
    return _trace.tensor("io.decode_bmp", [_bytes(contents)], channels=int(channels))


def decode_image(
    contents: Any,
    channels: int = 0,
    dtype: DTypeLike = dtypes.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """Decodes a JPEG, PNG, GIF or BMP image.

    Args:
        contents: The bytes of the file, a string scalar.
        channels: 0 takes the file's.
        dtype: uint8, uint16 or float32 (0 to 1).
        name: Accepted for TensorFlow's sake.
        expand_animations: Whether a GIF gives all frames in four dimensions, not the first one in
            three. Without it the result has three dimensions in any case.
    """
    attrs = {
        "channels": int(channels or 0),
        "dtype": dtypes.as_dtype(dtype),
        "expand_animations": bool(expand_animations),
    }
    return _trace.tensor("io.decode_image", [_bytes(contents)], attrs)
