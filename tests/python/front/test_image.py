"""Images: windows drawn as TensorFlow draws them, and chains of ops that run as one."""

import io

import numpy as np
import pytest

import gristmill as gm
from gristmill.data import Dataset

NO_BOXES = np.zeros([1, 0, 4], np.float32)


def photo(height=61, width=83, seed=0, **save):
    """A JPEG of smooth noise."""
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 256, (height // 6 + 2, width // 6 + 2, 3)).astype(np.uint8)
    out = io.BytesIO()
    image.fromarray(small).resize((width, height)).save(out, "JPEG", quality=80, **save)
    return out.getvalue()


def test_stateless_windows_are_tensorflows():
    drawn = gm.image.stateless_sample_distorted_bounding_box(
        [40, 60, 3], NO_BOXES, seed=[1, 2], use_image_if_no_bounding_boxes=True
    )
    assert drawn.begin.numpy().tolist() == [0, 3, 0]
    assert drawn.size.numpy().tolist() == [39, 48, -1]
    assert drawn.bboxes.numpy().tolist() == [[np.float32([0, 0.05, 0.975, 0.85]).tolist()]]
    begin, size, _ = gm.image.stateless_sample_distorted_bounding_box(
        image_size=np.array([40, 60, 3], np.int64),
        bounding_boxes=[[[0.1, 0.2, 0.6, 0.7], [0, 0, 0.1, 0.1]]],
        seed=[7, 8],
        min_object_covered=0.5,
        max_attempts=3,
    )
    assert (begin.dtype, begin.numpy().tolist()) == (gm.int64, [2, 7, 0])
    assert size.numpy().tolist() == [33, 26, -1]


def test_windows_by_an_op_seed_are_tensorflows():
    try:
        gm.random.set_seed(5)
        begin, size, boxes = gm.image.sample_distorted_bounding_box(
            [40, 60, 3], NO_BOXES, seed=3, use_image_if_no_bounding_boxes=True
        )
        assert (begin.numpy().tolist(), size.numpy().tolist()) == ([2, 36, 0], [22, 20, -1])
        assert boxes.shape == (1, 1, 4)
        # Without a seed of its own the op takes none from the global seed, as in TensorFlow.
        after = gm.random.uniform([2]).numpy().tolist()
        gm.random.set_seed(5)
        gm.image.sample_distorted_bounding_box(
            [40, 60, 3], NO_BOXES, use_image_if_no_bounding_boxes=True
        )
        assert gm.random.uniform([2]).numpy().tolist() == after
    finally:
        gm.random.set_seed(None)


def test_windows_that_cannot_be_drawn_say_why():
    def draw(boxes=NO_BOXES, **more):
        gm.image.stateless_sample_distorted_bounding_box([40, 60, 3], boxes, [1, 2], **more)

    with pytest.raises(gm.errors.InvalidArgumentError, match="use_image_if_no_bounding_boxes"):
        draw()
    with pytest.raises(gm.errors.InvalidArgumentError, match=r"must be in \[0.0, 1.0\]: 1.5"):
        draw([[[0, 0, 1, 1.5]]])
    with pytest.raises(gm.errors.InvalidArgumentError, match="must specify 2 dimensions"):
        draw(aspect_ratio_range=[1.0], use_image_if_no_bounding_boxes=True)
    with pytest.raises(gm.errors.InvalidArgumentError, match="Max attempts must be non-negative"):
        draw(max_attempts=0, use_image_if_no_bounding_boxes=True)


def outcomes(dataset, optimize):
    """The elements of one pass, and the messages of those that fail."""
    options = gm.data.Options()
    options.experimental_optimization.apply_default_optimizations = optimize
    iterator = iter(dataset.with_options(options))
    found = []
    while True:
        try:
            found.append([t.numpy() for t in gm.nest.flatten(next(iterator))])
        except StopIteration:
            return found
        except gm.errors.OpError as error:
            found.append(str(error))


def train(contents):
    """Random resized crop by the shape in the header, flip, normalise."""
    begin, size, _ = gm.image.sample_distorted_bounding_box(
        gm.io.extract_jpeg_shape(contents),
        gm.zeros([1, 0, 4]),
        seed=4,
        min_object_covered=0.1,
        use_image_if_no_bounding_boxes=True,
    )
    image = gm.slice(gm.io.decode_jpeg(contents, channels=3), begin, size)
    image = gm.image.random_flip_left_right(gm.image.resize(image, [24, 20]), seed=9)
    mean, std = gm.constant([123.68, 116.78, 103.94]), gm.constant([58.4, 57.12, 57.38])
    return gm.cast((image - mean) / std, gm.bfloat16)


def middle(contents):
    image = gm.io.decode_jpeg(contents, channels=3)
    height, width = gm.shape(image)[0], gm.shape(image)[1]
    return image[height // 4 : height - height // 4, width // 3 : width - 4]


def evaluate(contents):
    image = gm.image.convert_image_dtype(gm.io.decode_jpeg(contents, channels=3), gm.float32)
    return gm.image.resize_with_crop_or_pad(gm.image.resize(image, [40, 44]), 32, 32) * 2.0 - 1.0


@pytest.mark.parametrize(
    ("function", "fused"),
    [
        (train, "io.decode_jpeg + slice + image.resize + image.random_flip_left_right"),
        (middle, "image.fused[io.decode_jpeg + shape]"),
        (evaluate, "image.resize + image.resize_with_crop_or_pad + math.multiply + math.subtract]"),
    ],
)
def test_fused_chains_give_the_values_and_errors_of_their_ops(function, fused):
    good = [photo(seed=1), photo(40, 90, subsampling=0), photo(33, 50, progressive=True)]
    whole = good[0]
    damaged = [whole[: len(whole) // 2], whole[:-2], b"", b"no image", good[1][:300]]
    ds = Dataset.from_tensor_slices([*good, *damaged, whole]).map(function)
    assert "fuse_image_chain" in ds.explain()
    assert fused in ds.explain()
    plain, optimized = outcomes(ds, False), outcomes(ds, True)
    assert len(plain) == len(optimized) == 9
    for a, b in zip(plain, optimized, strict=True):
        if isinstance(a, str):
            assert a == b
        else:
            assert all(
                np.array_equal(x, y) and x.dtype == y.dtype for x, y in zip(a, b, strict=True)
            )
    assert sum(isinstance(a, str) for a in plain) == 5


def random_crop(content, **more):
    begin, size, _ = gm.image.sample_distorted_bounding_box(
        gm.io.extract_jpeg_shape(content),
        gm.zeros([1, 0, 4]),
        area_range=(0.08, 1.0),
        seed=3,
        use_image_if_no_bounding_boxes=True,
    )
    window = gm.concat([begin[:2], size[:2]], 0)
    image = gm.io.decode_and_crop_jpeg(content, window, channels=3, **more)
    return gm.image.random_flip_left_right(gm.image.resize(image, [32, 32]), seed=1)


@pytest.mark.parametrize("dtype", [gm.float32, gm.bfloat16, gm.float16])
def test_a_fused_chain_writes_into_its_batch(dtype):
    contents = [photo(50 + i, 70 - i, seed=i, subsampling=i % 3) for i in range(11)]

    def function(content):
        image = random_crop(content)
        return gm.cast((image - [123.68, 116.78, 103.94]) / 57.0, dtype)

    ds = Dataset.from_tensor_slices(contents).map(function).batch(4)
    assert "fuse_image_chain" in ds.explain()
    (plain, optimized) = (outcomes(ds, False), outcomes(ds, True))
    assert [b[0].shape for b in optimized] == [(4, 32, 32, 3), (4, 32, 32, 3), (3, 32, 32, 3)]
    for a, b in zip(plain, optimized, strict=True):
        assert np.array_equal(a[0], b[0])
        assert a[0].dtype == b[0].dtype == dtype.as_numpy_dtype


@pytest.mark.parametrize(
    "more",
    [
        lambda ds: ds.take(3),
        lambda ds: ds.skip(2).shard(2, 1),
        lambda ds: ds.ignore_errors().take(4),
        lambda ds: ds.filter(lambda x: gm.shape(x)[0] > 0).take(2).repeat(2),
        lambda ds: ds.shuffle(4, seed=3, reshuffle_each_iteration=False).take(3),
        lambda ds: ds.map(lambda x: gm.gather([x], 0)).take(3).batch(2),
    ],
)
def test_a_fused_chain_below_what_drops_elements(more):
    contents = [photo(20 + i, 30 - i, seed=i) for i in range(6)] + [b"no image", photo(9, 9)]
    ds = more(Dataset.from_tensor_slices(contents).map(evaluate))
    assert "fuse_image_chain" in ds.explain()
    plain, optimized = outcomes(ds, False), outcomes(ds, True)
    assert len(plain) == len(optimized) > 0
    for a, b in zip(plain, optimized, strict=True):
        assert a == b if isinstance(a, str) else np.array_equal(a[0], b[0])


def test_a_restart_index_changes_no_value():
    contents = photo(300, 400, subsampling=2)
    index = gm.io.jpeg_restart_index(contents)
    assert (index.dtype, index.shape) == (gm.string, ())
    assert 20 < len(index.numpy()) < len(contents) / 50
    other = gm.io.jpeg_restart_index(photo(300, 400, seed=1, subsampling=2)).numpy()
    changed = bytearray(index.numpy())
    changed[len(changed) // 2] ^= 4
    for window in [(250, 310, 30, 40), (0, 0, 10, 10), (120, 7, 100, 390), (0, 0, 300, 400)]:
        for more in [{}, {"channels": 1, "dct_method": "INTEGER_ACCURATE"}]:
            plain = gm.io.decode_and_crop_jpeg(contents, window, **more).numpy()
            for given in [index, index.numpy(), b"", other, bytes(changed), b"no index", None]:
                got = gm.io.decode_and_crop_jpeg(contents, window, restart_index=given, **more)
                assert np.array_equal(got.numpy(), plain)
    half = gm.io.decode_and_crop_jpeg(contents, (100, 20, 50, 60), ratio=2, restart_index=index)
    assert np.array_equal(
        half.numpy(), gm.io.decode_and_crop_jpeg(contents, (100, 20, 50, 60), ratio=2).numpy()
    )
    assert gm.io.jpeg_restart_index(photo(300, 400, progressive=True)).numpy() == b""
    with pytest.raises(gm.errors.InvalidArgumentError, match="look like text"):
        gm.io.jpeg_restart_index(b"no image")
    with pytest.raises(gm.errors.InvalidArgumentError, match="Invalid JPEG data"):
        gm.io.jpeg_restart_index(contents[: len(contents) // 2])
    with pytest.raises(gm.errors.InvalidArgumentError, match="restart_index must be scalar"):
        gm.io.decode_and_crop_jpeg(contents, (0, 0, 9, 9), restart_index=[index])


@pytest.mark.parametrize("image_decode", ["exact", "fast"])
def test_a_fused_chain_carries_its_restart_index(image_decode):
    contents = [photo(250 + 9 * i, 370 - 9 * i, seed=i, subsampling=i % 3) for i in range(9)]
    contents[4] = photo(260, 300, progressive=True)
    indexes = [gm.io.jpeg_restart_index(c).numpy() for c in contents]
    assert [bool(index) for index in indexes].count(False) == 1
    # One of another file.
    indexes[7] = indexes[6]

    def crop(content, **more):
        image = random_crop(content, **more)
        return (image - [123.68, 116.78, 103.94]) / 57.0

    options = gm.data.Options()
    options.image_decode = image_decode
    given = Dataset.from_tensor_slices((contents, indexes))
    with_index = given.map(lambda c, i: crop(c, restart_index=i)).repeat(3).with_options(options)
    without = given.map(lambda c, i: crop(c)).repeat(3).with_options(options)
    assert "fuse_image_chain" in with_index.explain()
    elements = [e.numpy() for e in with_index]
    assert len(elements) == 27
    for a, b in zip(elements, without, strict=True):
        assert np.array_equal(a, b.numpy())
    iterator = iter(with_index)
    for _ in range(10):
        next(iterator)
    state = iterator.state()
    rest = [e.numpy() for e in iterator]
    resumed = [e.numpy() for e in with_index.iterator(state)]
    assert len(rest) == 17
    assert all(np.array_equal(a, b) for a, b in zip(rest, resumed, strict=True))
