"""Images: resizing, cropping, flipping, colours.

An image is ``[height, width, channels]``; most functions also take batches of images.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gristmill import _trace, dtypes
from gristmill._absent import lookup as _lookup
from gristmill._image_random import (
    random_brightness,
    random_contrast,
    random_crop,
    random_flip_left_right,
    random_flip_up_down,
    random_hue,
    random_jpeg_quality,
    random_saturation,
    sample_distorted_bounding_box,
    stateless_random_brightness,
    stateless_random_contrast,
    stateless_random_crop,
    stateless_random_flip_left_right,
    stateless_random_flip_up_down,
    stateless_random_hue,
    stateless_random_jpeg_quality,
    stateless_random_saturation,
    stateless_sample_distorted_bounding_box,
)
from gristmill.convert import convert_to_tensor, shape_tensor
from gristmill.dtypes import DTypeLike
from gristmill.io._images import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
    extract_jpeg_shape,
    is_jpeg,
    jpeg_restart_index,
)
from gristmill.tensor import Tensor

__all__ = [
    "ResizeMethod",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_jpeg_quality",
    "adjust_saturation",
    "central_crop",
    "convert_image_dtype",
    "crop_and_resize",
    "crop_to_bounding_box",
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "is_jpeg",
    "jpeg_restart_index",
    "pad_to_bounding_box",
    "per_image_standardization",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_hue",
    "random_jpeg_quality",
    "random_saturation",
    "resize",
    "resize_with_crop_or_pad",
    "resize_with_pad",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rot90",
    "sample_distorted_bounding_box",
    "stateless_random_brightness",
    "stateless_random_contrast",
    "stateless_random_crop",
    "stateless_random_flip_left_right",
    "stateless_random_flip_up_down",
    "stateless_random_hue",
    "stateless_random_jpeg_quality",
    "stateless_random_saturation",
    "stateless_sample_distorted_bounding_box",
    "total_variation",
    "transpose",
]


class ResizeMethod:
    """The ways of `resize`."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


def _call(name: str, inputs: list[Any], attrs: dict[str, Any] | None = None) -> Tensor:
    return _trace.tensor(f"image.{name}", inputs, attrs or {})


def _method(method: Any) -> str:
    if isinstance(method, int):
        order = ["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5"]
        return [*order, "gaussian", "mitchellcubic"][method]
    return str(method).lower()


def resize(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Resizes images, with TensorFlow's values.

    Args:
        images: ``[height, width, channels]`` or ``[batch, height, width, channels]``.
        size: New height and width.
        method: A name of `ResizeMethod`.
        preserve_aspect_ratio: Whether to keep the ratio of the sides and stay within ``size``.
        antialias: Whether to smooth when making smaller.
        name: Accepted for TensorFlow's sake.

    Returns:
        float32, not rescaled; for ``"nearest"`` the dtype of ``images``.
    """
    attrs = {
        "method": _method(method),
        "preserve_aspect_ratio": preserve_aspect_ratio,
        "antialias": antialias,
    }
    return _call("resize", [convert_to_tensor(images), shape_tensor(size)], attrs)


def _box(
    name: str, image: Any, offset_height: Any, offset_width: Any, height: Any, width: Any
) -> Tensor:
    bounds = [convert_to_tensor(v) for v in (offset_height, offset_width, height, width)]
    return _call(name, [convert_to_tensor(image), *bounds])


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Cuts out a box.

    Args:
        image: An image or a batch.
        offset_height: First row.
        offset_width: First column.
        target_height: Number of rows.
        target_width: Number of columns.
    """
    return _box(
        "crop_to_bounding_box", image, offset_height, offset_width, target_height, target_width
    )


def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Puts an image into a larger one of zeros.

    Args:
        image: An image or a batch.
        offset_height: Rows of zeros above.
        offset_width: Columns of zeros on the left.
        target_height: Height of the result.
        target_width: Width of the result.
    """
    return _box(
        "pad_to_bounding_box", image, offset_height, offset_width, target_height, target_width
    )


def resize_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """Crops or pads an image evenly on both sides to a size."""
    size = [convert_to_tensor(v) for v in (target_height, target_width)]
    return _call("resize_with_crop_or_pad", [convert_to_tensor(image), *size])


def resize_with_pad(
    image: Any,
    target_height: Any,
    target_width: Any,
    method: Any = ResizeMethod.BILINEAR,
    antialias: bool = False,
) -> Tensor:
    """Resizes an image into a box, keeping the ratio of its sides, and pads the rest with zeros."""
    size = [convert_to_tensor(v) for v in (target_height, target_width)]
    attrs = {"method": _method(method), "antialias": antialias}
    return _call("resize_with_pad", [convert_to_tensor(image), *size], attrs)


def central_crop(image: Any, central_fraction: float) -> Tensor:
    """Cuts out the centre: that fraction of each side."""
    fraction = float(central_fraction)
    if not 0.0 < fraction <= 1.0:
        raise ValueError("central_fraction must be within (0, 1]")
    return _call("central_crop", [convert_to_tensor(image)], {"central_fraction": fraction})


def crop_and_resize(
    image: Any,
    boxes: Any,
    box_indices: Any,
    crop_size: Any,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Cuts boxes out of a batch of images and resizes them.

    Args:
        image: ``[batch, height, width, channels]``.
        boxes: float32 ``[n, 4]``: top, left, bottom, right as fractions of the image.
        box_indices: int32 ``[n]``: the image of each box.
        crop_size: Height and width of the results.
        method: ``"bilinear"`` or ``"nearest"``.
        extrapolation_value: What stands outside the image.
        name: Accepted for TensorFlow's sake.
    """
    inputs = [
        convert_to_tensor(image),
        convert_to_tensor(boxes, dtypes.float32),
        convert_to_tensor(box_indices, dtypes.int32),
        shape_tensor(crop_size),
    ]
    attrs = {"method": method, "extrapolation_value": float(extrapolation_value)}
    return _call("crop_and_resize", inputs, attrs)


def convert_image_dtype(
    image: Any, dtype: DTypeLike, saturate: bool = False, name: str | None = None
) -> Tensor:
    """Converts to another dtype and its range: 0 to 1 for floats, 0 to the maximum for integers."""
    from gristmill.data._facts import floats_converted

    source = convert_to_tensor(image)
    target = dtypes.as_dtype(dtype)
    floats_converted(source, target)
    if source.dtype is target:
        return source
    return _call("convert_image_dtype", [source], {"dtype": target, "saturate": saturate})


def flip_left_right(image: Any) -> Tensor:
    """Mirrors images left to right."""
    return _call("flip_left_right", [convert_to_tensor(image)])


def flip_up_down(image: Any) -> Tensor:
    """Mirrors images upside down."""
    return _call("flip_up_down", [convert_to_tensor(image)])


def rot90(image: Any, k: int = 1, name: str | None = None) -> Tensor:
    """Turns images ``k`` times by 90 degrees against the clock."""
    return _call("rot90", [convert_to_tensor(image)], {"k": int(k)})


def transpose(image: Any, name: str | None = None) -> Tensor:
    """Exchanges height and width."""
    return _call("transpose", [convert_to_tensor(image)])


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """Converts RGB to one channel of luma."""
    return _call("rgb_to_grayscale", [convert_to_tensor(images)])


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Repeats the one channel three times."""
    return _call("grayscale_to_rgb", [convert_to_tensor(images)])


def rgb_to_hsv(images: Any, name: str | None = None) -> Tensor:
    """Converts RGB in 0 to 1 to hue, saturation and value in 0 to 1."""
    return _call("rgb_to_hsv", [convert_to_tensor(images)])


def hsv_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Converts hue, saturation and value in 0 to 1 to RGB."""
    return _call("hsv_to_rgb", [convert_to_tensor(images)])


def _adjust(name: str, image: Any, amount: Any) -> Tensor:
    if not isinstance(amount, Tensor):
        amount = convert_to_tensor(amount, dtypes.float32)
    return _call(name, [convert_to_tensor(image), amount])


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """Adds ``delta`` (as a fraction of the range) to every value."""
    return _adjust("adjust_brightness", image, delta)


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """Multiplies the distance from each channel's mean by a factor."""
    return _adjust("adjust_contrast", images, contrast_factor)


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """Multiplies the saturation by a factor."""
    return _adjust("adjust_saturation", image, saturation_factor)


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """Turns the hue by ``delta`` of the full circle."""
    return _adjust("adjust_hue", image, delta)


def adjust_gamma(image: Any, gamma: float = 1, gain: float = 1) -> Tensor:
    """Returns ``gain * image ** gamma`` with the image in 0 to 1."""
    attrs = {"gamma": float(gamma), "gain": float(gain)}
    return _call("adjust_gamma", [convert_to_tensor(image)], attrs)


def adjust_jpeg_quality(image: Any, jpeg_quality: Any, name: str | None = None) -> Tensor:
    """Encodes an image as JPEG of that quality (0 to 100) and decodes it again."""
    quality = convert_to_tensor(jpeg_quality)
    return _call("adjust_jpeg_quality", [convert_to_tensor(image), quality])


def per_image_standardization(image: Any) -> Tensor:
    """Scales each image to mean 0 and variance 1, float32."""
    return _call("per_image_standardization", [convert_to_tensor(image)])


def total_variation(images: Any, name: str | None = None) -> Tensor:
    """Returns the sum of the absolute differences of neighbouring pixels of each image."""
    return _call("total_variation", [convert_to_tensor(images)])


if not TYPE_CHECKING:
    __getattr__ = _lookup("image", __name__)
