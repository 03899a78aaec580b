"""Names that are not here: what is said of them."""

import importlib

import pytest

import gristmill as gm
from gristmill._tf_names import NAMES


def said(space, name):
    with pytest.raises(AttributeError) as caught:
        getattr(space, name)
    return str(caught.value)


@pytest.mark.parametrize(
    ("space", "name", "words"),
    [
        (gm, "decode_jpeg", "hint: there is gm.io.decode_jpeg"),
        (gm, "resize", "hint: there is gm.image.resize"),
        (gm, "GradientTape", "tf.GradientTape is not in gristmill yet"),
        (gm, "Session", "there is no graph to run"),
        (gm.io, "read_fil", "did you mean gm.io.read_file"),
        (gm.image, "resise", "did you mean gm.image.resize"),
        (gm.train, "Checkpoint", "tf.train.Checkpoint is not in gristmill yet"),
        (gm.sparse, "cross", "tf.sparse.cross is not in gristmill yet"),
        (gm.math, "reduce_meen", "did you mean gm.math.reduce_mean"),
        (gm.io.gfile, "Gfile", "did you mean gm.io.gfile.GFile"),
        (gm.data, "TFRecordDatset", "did you mean gm.data.TFRecordDataset"),
        (gm.data.Dataset.range(3), "prefech", "did you mean gm.data.Dataset.prefetch"),
        (gm.data.Dataset.range(3), "output_shapes", "hint: element_spec"),
        (gm.distribute, "TPUStrategy", "distribute.TPUStrategy does not exist"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_a_hint_says_what_there_is(space, name, words):
    text = said(space, name)
    assert name in text and words in text
    assert not hasattr(space, name)


def test_what_nobody_knows_has_no_hint():
    text = said(gm, "qqqqqqq")
    assert text == "module 'gristmill' has no attribute 'qqqqqqq'"


@pytest.mark.parametrize("key", [key for key in NAMES if key != "data.Dataset"])
def test_every_name_of_tensorflow_is_there_or_answered(key):
    space = importlib.import_module(f"gristmill.{key}".rstrip("."))
    for name in NAMES[key].split():
        if not hasattr(space, name):
            assert f"tf.{key}.{name} is not in gristmill yet".replace("tf..", "tf.") in said(
                space, name
            )


def test_python_itself_gets_a_plain_answer():
    assert "hint" not in said(gm.image, "__wrapped__")
    assert "hint" not in said(gm.data.Dataset.range(3), "__array__")
