"""The option ``image_decode``: photos decoded smaller, within a bound, and only where it is on."""

import io
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

import gristmill as gm
from gristmill.data import Dataset, Options


def photo(height=320, width=400, seed=0, mode="RGB", **save):
    """A JPEG with smooth parts, edges and grain, as photos have them."""
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 256, (height // 40 + 2, width // 40 + 2, 3)).astype(np.uint8)
    smooth = np.asarray(image.fromarray(small).resize((width, height), 3)).astype(float)
    y, x = np.mgrid[:height, :width]
    smooth[(y + 2 * x) % 270 < 90] *= 0.6
    grainy = np.clip(smooth + rng.normal(0, 4, smooth.shape), 0, 255).astype(np.uint8)
    out = io.BytesIO()
    image.fromarray(grainy).convert(mode).save(out, "JPEG", quality=90, **save)
    return out.getvalue()


def under(dataset, image_decode):
    options = Options()
    options.image_decode = image_decode
    return dataset.with_options(options)


def values(dataset):
    """The elements, and the messages of those that fail."""
    found, iterator = [], iter(dataset)
    while True:
        try:
            found.append(next(iterator).numpy())
        except StopIteration:
            return found
        except gm.errors.OpError as error:
            found.append(str(error))


def resized(size, antialias=False, channels=3):
    def function(contents):
        image = gm.io.decode_jpeg(contents, channels=channels)
        return gm.image.resize(image, size, antialias=antialias)

    return function


def of(contents):
    return Dataset.from_tensor_slices(list(contents))


def near(fast, reference):
    """Asserts the bound of the documentation."""
    off = np.concatenate([np.abs(a - b).ravel() for a, b in zip(fast, reference, strict=True)])
    assert off.mean() <= 3.0
    assert np.percentile(off, 99) <= 16.0
    assert off.max() <= 60.0
    return off


@pytest.mark.parametrize("size", [[40, 50], [40, 33], [31, 50], [20, 25], [12, 17], [1, 1]])
@pytest.mark.parametrize("save", [{}, {"subsampling": 0}, {"progressive": True}])
def test_values_are_near_those_of_the_antialiased_resize(size, save):
    photos = [photo(seed=i, **save) for i in range(4)] + [photo(323, 407, seed=9, **save)]
    fast = values(under(of(photos).map(resized(size)), "fast"))
    exact = values(of(photos).map(resized(size)))
    antialiased = of(photos).map(resized(size, antialias=True))
    off = near(fast, values(antialiased))
    assert off.max() > 0.0
    assert all(map(np.array_equal, values(under(antialiased, "fast")), fast))
    assert not any(np.array_equal(a, b) for a, b in zip(fast, exact, strict=True))


def test_it_is_the_whole_image_that_is_told_by_its_squares():
    # Squares of one level each are what the decoder gives at an eighth, so only rounding is left.
    image = pytest.importorskip("PIL.Image")
    levels = np.random.default_rng(3).integers(0, 256, (12, 16)).astype(np.uint8)
    out = io.BytesIO()
    image.fromarray(levels.repeat(8, 0).repeat(8, 1)).save(out, "JPEG", quality=100)
    contents = [out.getvalue()]
    for size in ([12, 16], [9, 16], [5, 7]):
        fast = values(under(of(contents).map(resized(size, channels=1)), "fast"))
        reference = values(of(contents).map(resized(size, True, channels=1)))
        assert np.abs(fast[0] - reference[0]).max() < 1.5


def test_the_rule_shows_and_fires_only_under_the_option():
    plain = of([photo()]).map(resized([40, 40]))
    assert "scale_image_decode" not in plain.explain()
    assert "scale_image_decode" not in under(plain, "exact").explain()
    told = under(plain, "fast").explain()
    assert "scale_image_decode × 1" in told
    assert "image.fused reduced[io.decode_jpeg + image.resize]" in told
    assert "scale_image_decode" not in under(under(plain, "fast"), "exact").explain()
    off = Options()
    off.image_decode = "fast"
    off.experimental_optimization.apply_default_optimizations = False
    assert "scale_image_decode" not in plain.with_options(off).explain()
    assert np.array_equal(values(plain.with_options(off))[0], values(plain)[0])


def bicubic(contents):
    return gm.image.resize(gm.io.decode_jpeg(contents), [30, 30], method="bicubic")


def halved(contents):
    return gm.image.resize(gm.io.decode_jpeg(contents, ratio=2), [30, 30])


def not_resized(contents):
    return gm.cast(gm.image.central_crop(gm.io.decode_jpeg(contents), 0.5), gm.float32)


def also_returned(contents):
    image = gm.io.decode_jpeg(contents, channels=3)
    return gm.image.resize(image, [30, 30]) + gm.cast(gm.shape(image * 2)[0], gm.float32)


@pytest.mark.parametrize("function", [bicubic, halved, not_resized, also_returned])
def test_the_rule_does_not_fire(function):
    ds = of([photo()]).map(function)
    fast = under(ds, "fast")
    assert "scale_image_decode" not in fast.explain()
    assert np.array_equal(values(fast)[0], values(ds)[0])


def png(seed=1):
    image = pytest.importorskip("PIL.Image")
    out = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 256, (320, 400, 3)).astype(np.uint8)
    image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def test_each_image_goes_its_own_way():
    # Too small, one side too small, another format, CMYK: exact. Large ones in between: fast.
    contents = [photo(319, 399), photo(), photo(319, 800), png(), photo(mode="CMYK"), photo(seed=5)]
    ds = of(contents).map(resized([40, 50]))
    exact, fast = values(ds), values(under(ds, "fast"))
    same = [np.array_equal(a, b) for a, b in zip(exact, fast, strict=True)]
    assert same == [True, False, True, True, True, False]


def test_grey_photos():
    photos = [photo(mode="L"), photo(323, 407, seed=1, mode="L")]
    for channels in (0, 1, 3):
        ds = of(photos).map(resized([40, 50], channels=channels))
        fast = values(under(ds, "fast"))
        assert fast[0].shape == (40, 50, channels or 1)
        near(fast, values(of(photos).map(resized([40, 50], True, channels))))
    colour = of([photo()]).map(resized([40, 50], channels=1))
    near(values(under(colour, "fast")), values(of([photo()]).map(resized([40, 50], True, 1))))


def test_damage_gives_the_errors_of_the_exact_way():
    whole = photo()
    damaged = [whole[: len(whole) // 2], whole[:-2], b"", b"no image", whole[:200], whole]
    ds = of(damaged).map(resized([40, 50]))
    exact, fast = values(ds), values(under(ds, "fast"))
    assert exact[:5] == fast[:5]
    assert all(isinstance(e, str) for e in exact[:5])
    assert not np.array_equal(exact[5], fast[5])


def chain(size, antialias):
    def function(contents):
        image = gm.image.convert_image_dtype(gm.io.decode_jpeg(contents, channels=3), gm.float32)
        image = gm.image.central_crop(image, 0.8)
        image = gm.image.random_flip_left_right(image, seed=4)
        image = gm.image.random_flip_up_down(image, seed=5)
        image = gm.image.resize(image, size, antialias=antialias)
        image = gm.image.random_flip_left_right(image, seed=6)
        return gm.image.resize_with_crop_or_pad(image, size[0] - 6, size[1] - 9) * 255.0

    def window(contents):
        begin, size_, _ = gm.image.sample_distorted_bounding_box(
            gm.io.extract_jpeg_shape(contents),
            gm.zeros([1, 0, 4]),
            area_range=(0.6, 1.0),
            seed=3,
            use_image_if_no_bounding_boxes=True,
        )
        image = gm.io.decode_and_crop_jpeg(
            contents, gm.concat([begin[:2], size_[:2]], 0), channels=3
        )
        image = gm.image.resize(image, size, antialias=antialias)
        return gm.image.random_flip_left_right(image, seed=1)

    def drawn(contents):
        image = gm.io.decode_image(contents, channels=3, expand_animations=False)
        image = gm.image.random_crop(image, [361, 401, 3], seed=7)
        image = gm.image.resize(image, size, antialias=antialias)
        return gm.image.random_flip_left_right(image, seed=2)

    return {"mirrored": function, "window": window, "drawn": drawn}


@pytest.mark.parametrize("name", ["mirrored", "window", "drawn"])
@pytest.mark.parametrize("size", [[20, 22], [13, 16]])
def test_windows_and_mirrors_are_drawn_as_in_exact_mode(name, size):
    photos = [photo(420 + i, 483 - i, seed=i) for i in range(8)]
    ds = of(photos).map(chain(size, False)[name])
    fast = under(ds, "fast")
    assert "scale_image_decode" in fast.explain()
    exact, got = values(ds), values(fast)
    assert sum(not np.array_equal(a, b) for a, b in zip(exact, got, strict=True)) >= 4
    # Another window or mirror would be much further away.
    reference = values(of(photos).map(chain(size, True)[name]))
    for a, b in zip(got, reference, strict=True):
        assert np.abs(a - b).mean() < 4.0


def test_batches_and_threads():
    photos = [photo(seed=i) for i in range(11)]
    ds = under(of(photos).map(resized([40, 50])), "fast")
    batches = values(under(of(photos).map(resized([40, 50])).batch(4), "fast"))
    assert np.array_equal(np.concatenate(batches), np.stack(values(ds)))


@pytest.mark.parametrize("dtype", [gm.uint8, gm.float16, gm.bfloat16])
def test_other_types(dtype):
    def cast(antialias):
        def function(contents):
            return gm.cast(resized([40, 50], antialias)(contents), dtype)

        return function

    fast = under(of([photo()]).map(cast(False)), "fast")
    assert "scale_image_decode" in fast.explain()
    reference = values(of([photo()]).map(cast(True)))
    assert values(fast)[0].dtype == reference[0].dtype
    near([values(fast)[0].astype(np.float32)], [reference[0].astype(np.float32)])


def test_a_state_goes_on_in_its_own_mode_only():
    photos = [photo(seed=i) for i in range(6)]
    # Which elements a filter lets through may depend on the mode, so places in their sequence do.
    ds = of(photos).map(resized([40, 50])).filter(lambda image: gm.reduce_mean(image) > 1.0)
    exact, fast = under(ds, "exact"), under(ds, "fast")
    for one, other in ((exact, fast), (fast, exact)):
        every, it = values(one), iter(one)
        next(it), next(it)
        rest = [t.numpy() for t in one.iterator(it.state())]
        assert len(rest) == 4
        assert all(np.array_equal(a, b) for a, b in zip(rest, every[2:], strict=True))
        with pytest.raises(gm.errors.InvalidArgumentError, match="made by another pipeline"):
            other.iterator(it.state())


@pytest.mark.parametrize("first", ["exact", "fast"])
@pytest.mark.parametrize("part", [1, 6])
def test_a_cache_holds_the_elements_of_one_mode(first, part):
    photos = [photo(seed=i) for i in range(6)]
    ds = of(photos).map(resized([40, 50]))
    every = {mode: values(under(ds, mode)) for mode in ("exact", "fast")}
    assert not np.array_equal(every["exact"][0], every["fast"][0])
    cached = ds.cache()
    second = "fast" if first == "exact" else "exact"
    it = iter(under(cached, first))
    for _ in range(part):
        next(it)
    for mode in (second, first, second):
        got = values(under(cached, mode))
        assert all(np.array_equal(a, b) for a, b in zip(got, every[mode], strict=True))


def test_a_pickled_dataset_keeps_its_mode():
    ds = of([photo()]).map(resized([40, 50]))
    for mode in ("exact", "fast"):
        copy = pickle.loads(pickle.dumps(under(ds, mode)))
        assert np.array_equal(values(copy)[0], values(under(ds, mode))[0])
    assert "scale_image_decode" in copy.explain()


def test_functions_within_interleave():
    photos = [photo(seed=i) for i in range(3)]
    ds = of(photos).interleave(lambda c: Dataset.from_tensors(c).map(resized([40, 50])))
    fast = under(ds, "fast")
    assert "scale_image_decode" in fast.explain()
    reference = values(under(of(photos).map(resized([40, 50])), "fast"))
    assert all(map(np.array_equal, values(fast), reference))


def test_options_hold_for_the_whole_dataset():
    ds = of([photo()])
    function = resized([40, 50])
    exact, fast = values(ds.map(function))[0], values(under(ds.map(function), "fast"))[0]
    assert np.array_equal(values(under(ds, "fast").map(function))[0], fast)
    one, other = under(ds.map(function), "exact"), under(ds.map(function), "fast")
    for a, b, expected in ((one, other, fast), (other, one, exact)):
        assert all(np.array_equal(image, expected) for image in values(a.concatenate(b)))


def test_other_names_are_refused_and_later_options_win():
    options = Options()
    options.image_decode = "fastest"
    with pytest.raises(ValueError, match="image_decode must be 'exact' or 'fast', found 'fastest'"):
        Dataset.range(1).with_options(options)
    fast = Options()
    fast.image_decode = "fast"
    assert Options().merge(fast).image_decode == "fast"
    assert fast.merge(Options()).image_decode == "fast"


def test_real_photos():
    root = os.environ.get("GRISTMILL_TESTDATA")
    if not root:
        pytest.skip("GRISTMILL_TESTDATA does not name a folder of photos")
    paths = sorted(Path(root, "data", "flowers").rglob("*.jpg"))[::9]
    contents = [p.read_bytes() for p in paths]
    for size in ([22, 22], [14, 20]):
        exact = values(of(contents).map(resized(size)))
        fast = values(under(of(contents).map(resized(size)), "fast"))
        reference = values(of(contents).map(resized(size, antialias=True)))
        reduced = [not np.array_equal(a, b) for a, b in zip(exact, fast, strict=True)]
        assert sum(reduced) > len(paths) // 2
        near(
            [v for v, small in zip(fast, reduced, strict=True) if small],
            [v for v, small in zip(reference, reduced, strict=True) if small],
        )
