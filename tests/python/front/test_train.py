"""Messages of record files."""

import pickle

import numpy as np
import pytest

from gristmill import train

# features { feature { key: "a" value { int64_list { value: [1, 2] } } } }
ONE_FEATURE = bytes.fromhex("0a0d0a0b0a016112061a040a020102")


def example(**lists):
    return train.Example(features=train.Features(feature=lists))


def ints(*values):
    return train.Feature(int64_list=train.Int64List(value=values))


def test_bytes_are_protobufs():
    assert example(a=ints(1, 2)).SerializeToString() == ONE_FEATURE
    assert train.Example().SerializeToString() == b""
    assert train.Example(features=train.Features()).SerializeToString() == b"\n\x00"


def test_bytes_come_back():
    message = example(
        image=train.Feature(bytes_list=train.BytesList(value=[b"\xff\x00", b""])),
        size=ints(3, -4),
        weight=train.Feature(float_list=train.FloatList(value=[0.1, 2])),
        nothing=train.Feature(),
    )
    again = train.Example.FromString(message.SerializeToString())
    assert again == message
    feature = again.features.feature
    assert list(feature["image"].bytes_list.value) == [b"\xff\x00", b""]
    assert feature["size"].int64_list.value[1] == -4
    assert feature["weight"].float_list.value[0] == np.float32(0.1)
    assert feature["nothing"].WhichOneof("kind") is None
    assert sorted(feature) == ["image", "nothing", "size", "weight"]
    assert pickle.loads(pickle.dumps(message)) == message


def test_maps_and_lists_grow_in_place():
    message = train.Example()
    assert not message.HasField("features")
    message.features.feature["label"].int64_list.value.append(7)
    assert message.HasField("features")
    message.features.feature["label"].int64_list.value.extend([8, 9])
    assert message.features.feature["label"].int64_list.value == [7, 8, 9]
    assert message.features.feature["label"].HasField("int64_list")
    message.features.feature["label"].float_list.value.append(1.5)
    assert message.features.feature["label"].WhichOneof("kind") == "float_list"
    with pytest.raises(ValueError, match="Direct assignment"):
        message.features.feature["label"] = train.Feature()


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: train.BytesList(value=["text"]), TypeError, "has type str"),
        (lambda: train.BytesList(value=b"abc"), TypeError, "has type int"),
        (lambda: train.Int64List(value=[1.5]), TypeError, "has type float"),
        (lambda: train.Int64List(value=[2**63]), ValueError, "out of range"),
        (lambda: train.FloatList(value=["x"]), TypeError, "has type str"),
        (lambda: train.Feature(int64_list=train.FloatList()), TypeError, "Int64List"),
        (lambda: train.Features(feature={"a": 1}), TypeError, "Feature"),
    ],
)
def test_wrong_values_are_refused_as_protobuf_does(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_numpy_values_are_taken():
    assert train.Int64List(value=np.array([1, 2], np.int32)).value == [1, 2]
    assert train.Int64List(value=[np.uint8(3), True]).value == [3, 1]
    assert train.FloatList(value=np.float64([0.5])).value == [0.5]
    assert train.BytesList(value=[np.bytes_(b"x")]).value == [b"x"]


def test_text_form():
    assert repr(example(a=ints(1))) == (
        'features {\n  feature {\n    key: "a"\n    value {\n      int64_list {\n'
        "        value: 1\n      }\n    }\n  }\n}\n"
    )


def test_merging():
    message = example(a=ints(1), b=ints(2))
    message.MergeFromString(example(b=ints(5), c=ints(6)).SerializeToString())
    found = {k: list(v.int64_list.value) for k, v in message.features.feature.items()}
    assert found == {"a": [1], "b": [5], "c": [6]}


def test_sequence_examples_come_back():
    message = train.SequenceExample(
        context=train.Features(feature={"length": ints(2)}),
        feature_lists=train.FeatureLists(
            feature_list={"words": train.FeatureList(feature=[ints(1), ints(2, 3)])}
        ),
    )
    again = train.SequenceExample.FromString(message.SerializeToString())
    assert again == message
    steps = again.feature_lists.feature_list["words"].feature
    assert [list(s.int64_list.value) for s in steps] == [[1], [2, 3]]


def test_damaged_bytes_are_data_loss():
    with pytest.raises(ValueError, match="Error parsing message"):
        train.Example.FromString(b"\x0a\xff")
