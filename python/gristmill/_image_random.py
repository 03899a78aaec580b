"""Random changes of images, with state and without."""

from __future__ import annotations

from typing import Any, NamedTuple

from gristmill import _trace, dtypes
from gristmill.convert import convert_to_tensor, shape_tensor
from gristmill.random import seed_attr
from gristmill.tensor import Tensor


def _random(name: str, image: Any, seed: int | None, **attrs: Any) -> Tensor:
    return _trace.tensor(
        f"image.random_{name}", [convert_to_tensor(image)], {**attrs, "seed": seed_attr(seed)}
    )


def _stateless(name: str, image: Any, seed: Any, **attrs: Any) -> Tensor:
    inputs = [convert_to_tensor(image), convert_to_tensor(seed)]
    return _trace.tensor(f"image.stateless_random_{name}", inputs, attrs)


def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """Mirrors an image left to right in half of the cases."""
    return _random("flip_left_right", image, seed)


def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """Mirrors an image upside down in half of the cases."""
    return _random("flip_up_down", image, seed)


def stateless_random_flip_left_right(image: Any, seed: Any) -> Tensor:
    """As `random_flip_left_right`; ``seed`` is two integers that decide alone."""
    return _stateless("flip_left_right", image, seed)


def stateless_random_flip_up_down(image: Any, seed: Any) -> Tensor:
    """As `random_flip_up_down`; ``seed`` is two integers that decide alone."""
    return _stateless("flip_up_down", image, seed)


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """Cuts out a box of shape ``size`` at a random place."""
    inputs = [convert_to_tensor(value), shape_tensor(size)]
    return _trace.tensor("random.random_crop", inputs, seed=seed_attr(seed))


def stateless_random_crop(value: Any, size: Any, seed: Any, name: str | None = None) -> Tensor:
    """As `random_crop`; ``seed`` is two integers that decide alone."""
    inputs = [convert_to_tensor(value), shape_tensor(size), convert_to_tensor(seed)]
    return _trace.tensor("random.stateless_random_crop", inputs)


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """Adds an amount in ``[-max_delta, max_delta)`` to every value."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return _random("brightness", image, seed, max_delta=float(max_delta))


def stateless_random_brightness(image: Any, max_delta: float, seed: Any) -> Tensor:
    """As `random_brightness`; ``seed`` is two integers that decide alone."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return _stateless("brightness", image, seed, max_delta=float(max_delta))


def _range(lower: float, upper: float) -> dict[str, float]:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return {"lower": float(lower), "upper": float(upper)}


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """Changes the contrast by a factor in ``[lower, upper)``."""
    return _random("contrast", image, seed, **_range(lower, upper))


def stateless_random_contrast(image: Any, lower: float, upper: float, seed: Any) -> Tensor:
    """As `random_contrast`; ``seed`` is two integers that decide alone."""
    return _stateless("contrast", image, seed, **_range(lower, upper))


def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """Changes the saturation by a factor in ``[lower, upper)``."""
    return _random("saturation", image, seed, **_range(lower, upper))


def stateless_random_saturation(image: Any, lower: float, upper: float, seed: Any = None) -> Tensor:
    """As `random_saturation`; ``seed`` is two integers that decide alone."""
    return _stateless("saturation", image, seed, **_range(lower, upper))


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """Turns the hue by an amount in ``[-max_delta, max_delta)``."""
    if not 0 <= max_delta <= 0.5:
        raise ValueError("max_delta must be in [0, 0.5].")
    return _random("hue", image, seed, max_delta=float(max_delta))


def stateless_random_hue(image: Any, max_delta: float, seed: Any) -> Tensor:
    """As `random_hue`; ``seed`` is two integers that decide alone."""
    if not 0 <= max_delta <= 0.5:
        raise ValueError("max_delta must be in [0, 0.5].")
    return _stateless("hue", image, seed, max_delta=float(max_delta))


def _qualities(low: int, high: int) -> dict[str, int]:
    if not 0 <= low <= 100 or not 0 <= high <= 100:
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if low >= high:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    return {"min_jpeg_quality": int(low), "max_jpeg_quality": int(high)}


def random_jpeg_quality(
    image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Tensor:
    """Encodes as JPEG of a random quality and decodes again."""
    return _random("jpeg_quality", image, seed, **_qualities(min_jpeg_quality, max_jpeg_quality))


def stateless_random_jpeg_quality(
    image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: Any
) -> Tensor:
    """As `random_jpeg_quality`; ``seed`` is two integers that decide alone."""
    return _stateless("jpeg_quality", image, seed, **_qualities(min_jpeg_quality, max_jpeg_quality))


class DistortedBoundingBox(NamedTuple):
    """A random window of an image.

    Attributes:
        begin: First row and column and 0, for `slice`.
        size: Number of rows and columns and -1, for `slice`.
        bboxes: The window as a box for drawing: float32 ``[1, 1, 4]``, in fractions of the image.
    """

    begin: Tensor
    size: Tensor
    bboxes: Tensor


def _distorted(
    name: str,
    image_size: Any,
    boxes: Any,
    min_object_covered: Any,
    more: list[Tensor],
    attrs: dict[str, Any],
) -> DistortedBoundingBox:
    inputs = [
        shape_tensor(image_size),
        convert_to_tensor(boxes, dtypes.float32),
        convert_to_tensor(min_object_covered, dtypes.float32),
        *more,
    ]
    for key in ("aspect_ratio_range", "area_range"):
        if attrs[key] is not None:
            attrs[key] = [float(v) for v in attrs[key]]
    return DistortedBoundingBox(*_trace.call_n(f"image.{name}", inputs, attrs))


def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = 0,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> DistortedBoundingBox:
    """Draws a window of random size, ratio of sides and place that shows enough of some object.

    Args:
        image_size: Height, width and channels, of an integer dtype.
        bounding_boxes: float32 ``[batch, n, 4]``: objects as top, left, bottom and right, in
            fractions of the image.
        seed: The op's seed; ``None`` or 0 draws anew in every run.
        min_object_covered: The share of some object that the window has to show.
        aspect_ratio_range: Least and largest width / height; ``(0.75, 1.33)`` if not given.
        area_range: Least and largest share of the image's area; ``(0.05, 1)`` if not given.
        max_attempts: Draws before the whole image is taken; 100 if not given.
        use_image_if_no_bounding_boxes: Whether the whole image is the object where none is given;
            otherwise that is an error.
        name: Accepted for TensorFlow's sake.

    Returns:
        ``(begin, size, bboxes)``: the first two for `slice`, of the dtype of ``image_size``.
    """
    attrs = {
        "seed": seed_attr(seed) if seed else None,
        "aspect_ratio_range": aspect_ratio_range,
        "area_range": area_range,
        "max_attempts": max_attempts,
        "use_image_if_no_bounding_boxes": use_image_if_no_bounding_boxes,
    }
    op = "sample_distorted_bounding_box"
    return _distorted(op, image_size, bounding_boxes, min_object_covered, [], attrs)


def stateless_sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: Any,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> DistortedBoundingBox:
    """As `sample_distorted_bounding_box`; ``seed`` is two integers that decide alone."""
    attrs = {
        "aspect_ratio_range": aspect_ratio_range,
        "area_range": area_range,
        "max_attempts": max_attempts,
        "use_image_if_no_bounding_boxes": use_image_if_no_bounding_boxes,
    }
    op = "stateless_sample_distorted_bounding_box"
    more = [convert_to_tensor(seed)]
    return _distorted(op, image_size, bounding_boxes, min_object_covered, more, attrs)
