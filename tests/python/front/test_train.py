"""Messages of record files."""

import copy
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


def test_lists_as_a_whole_are_checked_like_their_values():
    floats = [
        0.1,
        1,
        True,
        np.float32(2.5),
        np.float64(0.3),
        np.int64(7),
        1e39,
        -1e300,
        float("nan"),
    ]
    one_by_one = train.FloatList()
    for value in floats:
        one_by_one.value.append(value)
    for given in (floats, tuple(floats), iter(floats)):
        made = train.FloatList(value=given)
        np.testing.assert_array_equal(list(made.value), list(one_by_one.value))
    plain = [0.1, 2, 1e39]
    assert list(train.FloatList(value=plain).value) == [float(np.float32(0.1)), 2.0, np.inf]
    for dtype in (np.float16, np.float32, np.float64, np.int8, np.uint64, np.int64):
        array = np.array([0, 1, 100, np.iinfo(np.int8).max], dtype)
        assert list(train.FloatList(value=array).value) == [0, 1, 100, 127]
    # Rounded twice, as protobuf does: to float64, then to float32.
    twice = np.array([(1 << 60) + (1 << 36) + 1])
    assert list(train.FloatList(value=twice).value) == [float(np.float32(float(twice[0])))]
    for dtype in (np.int8, np.int64, np.uint64):
        made = train.Int64List(value=np.array([0, 1, 127], dtype))
        assert [type(v) for v in made.value] == [int] * 3
        assert list(made.value) == [0, 1, 127]
    assert list(train.Int64List(value=[-(2**63), 2**63 - 1]).value) == [-(2**63), 2**63 - 1]
    with pytest.raises(ValueError, match="Value out of range: 9223372036854775808"):
        train.Int64List(value=[1, 2**63])
    with pytest.raises(ValueError, match="Value out of range: 18446744073709551615"):
        train.Int64List(value=np.array([2**64 - 1], np.uint64))
    for make, values in [
        (train.FloatList, [1.0, "x"]),
        (train.FloatList, np.ones((2, 2))),
        (train.Int64List, [1, 2.0]),
        (train.Int64List, np.ones(2)),
        (train.BytesList, [b"a", "b"]),
    ]:
        with pytest.raises(TypeError, match="but expected one of"):
            make(value=values)


def test_copies_are_independent():
    values = train.Int64List(value=[1])
    feature = train.Feature(int64_list=values)
    values.value.append(2)
    features = train.Features(feature={"a": feature, "b": feature})
    feature.int64_list.value.append(3)
    example = train.Example(features=features)
    features.feature["a"].int64_list.value.append(4)
    again = train.Example()
    again.CopyFrom(example)
    again.features.feature["a"].int64_list.value.append(5)
    example.features.feature["b"].int64_list.value[:] = [6]

    def of(features, key):
        return list(features.feature[key].int64_list.value)

    assert [of(features, "a"), of(features, "b")] == [[1, 4], [1]]
    assert [of(example.features, "a"), of(example.features, "b")] == [[1], [6]]
    assert [of(again.features, "a"), of(again.features, "b")] == [[1, 5], [1]]
    assert of(train.Example.FromString(again.SerializeToString()).features, "a") == [1, 5]


def test_writing_to_a_list_makes_it_the_one_that_is_set():
    feature = train.Feature()
    ints, floats = feature.int64_list, feature.float_list
    assert feature.WhichOneof("kind") is None
    ints.value.append(1)
    assert feature.WhichOneof("kind") == "int64_list"
    floats.value.extend([0.5])
    assert feature.WhichOneof("kind") == "float_list"
    assert list(feature.int64_list.value) == []
    feature.ClearField("float_list")
    assert not feature.HasField("float_list")
    example = train.Example()
    assert not example.HasField("features")
    assert "x" not in example.features.feature
    assert not example.HasField("features")
    example.features.feature["x"].bytes_list.value.append(b"y")
    assert example.HasField("features")
    example.ClearField("features")
    assert (example.HasField("features"), example.SerializeToString()) == (False, b"")


def test_an_empty_list_is_not_none():
    message = train.Example()
    message.features.feature["a"].int64_list.value.extend([])
    assert message.SerializeToString() == bytes.fromhex("0a090a070a016112021a00")
    for change in (
        lambda f: f.float_list.value.extend([]),
        lambda f: f.float_list.value.__delitem__(slice(None)),
        lambda f: f.float_list.SetInParent(),
        lambda f: f.float_list.CopyFrom(train.FloatList()),
    ):
        feature = train.Feature()
        change(feature)
        assert feature.WhichOneof("kind") == "float_list"
    empty = train.Features()
    message = train.Example()
    message.features.MergeFrom(empty)
    assert message.SerializeToString() == bytes.fromhex("0a00")


def test_lists_that_are_held():
    feature = train.Feature()
    values = feature.int64_list.value
    feature.int64_list.value.append(1)
    values.append(2)
    assert list(feature.int64_list.value) == [1, 2]
    feature = train.Feature()
    values = feature.int64_list.value
    feature.CopyFrom(ints(1, 2, 3))
    values.append(4)
    assert list(feature.int64_list.value) == [1, 2, 3, 4]
    feature = ints(1)
    held = feature.int64_list
    feature.float_list.value.append(0.5)
    held.value.append(2)
    assert feature.WhichOneof("kind") == "float_list"
    feature = ints(1)
    held = feature.int64_list
    feature.ClearField("int64_list")
    held.value.append(2)
    assert feature.WhichOneof("kind") is None
    message = example(a=ints(1))
    features = message.features
    message.Clear()
    features.feature["b"].int64_list.value.append(1)
    assert message.SerializeToString() == b""


def test_equality_and_merging_of_parts():
    nan = train.Feature(float_list=train.FloatList(value=[1.0, float("nan")]))
    assert nan == train.Feature(float_list=train.FloatList(value=[1.0, float("nan")]))
    assert nan != train.Feature(float_list=train.FloatList(value=[2.0, float("nan")]))
    message = example(a=nan)
    assert train.Example.FromString(message.SerializeToString()) == message
    assert message != example(b=nan)
    assert message != train.Example()
    steps = train.FeatureList(feature=[ints(1), ints(2)])
    assert steps.feature == train.FeatureList(feature=[ints(1), ints(2)]).feature
    assert steps != train.FeatureList(feature=[ints(1)])
    with pytest.raises(TypeError):
        steps.feature.append("x")
    steps.feature.insert(0, ints(0))
    del steps.feature[1]
    assert [list(f.int64_list.value) for f in steps.feature] == [[0], [2]]
    steps.MergeFrom(train.FeatureList(feature=[ints(3)]))
    assert list(steps.feature.pop().int64_list.value) == [3]
    feature = ints(1)
    feature.MergeFrom(ints(2))
    assert list(feature.int64_list.value) == [1, 2]
    feature.MergeFrom(nan)
    assert feature.WhichOneof("kind") == "float_list"
    with pytest.raises(TypeError):
        train.Features().MergeFrom(train.FeatureLists())
    values = ints(1).int64_list
    other = copy.copy(values)
    other.value.append(2)
    assert list(values.value) == [1]
    with pytest.raises(AttributeError):
        message.label = 1
    assert train.Features(feature={"a": {"int64_list": {"value": [1]}}}) == train.Features(
        feature={"a": ints(1)}
    )


def test_floats_are_shown_as_protobuf_shows_them():
    shown = {
        1.0: "1",
        0.1: "0.1",
        1 / 3: "0.333333343",
        1e20: "1e+20",
        1e-5: "1e-05",
        float("-inf"): "-inf",
        123456789.0: "123456792",
        1e6: "1e+06",
        123456.7: "123456.703",
        3.4028235e38: "3.40282347e+38",
        1e-45: "1.4013e-45",
        -0.0: "-0",
    }
    text = repr(train.FloatList(value=list(shown)))
    assert text == "".join(f"value: {v}\n" for v in shown.values())
    assert repr(train.FloatList(value=[float("nan")])) == "value: nan\n"


def test_the_last_of_several_lists_stays():
    ints, floats = train.Int64List(value=[1]), train.FloatList(value=[2.0])
    assert train.Feature(int64_list=ints, float_list=floats).WhichOneof("kind") == "float_list"
    assert train.Feature(float_list=floats, int64_list=ints).WhichOneof("kind") == "int64_list"
    left = train.Feature(float_list=floats, int64_list=None)
    assert left.WhichOneof("kind") == "float_list"


@pytest.mark.parametrize(
    "name",
    [
        "BytesList",
        "FloatList",
        "Int64List",
        "Feature",
        "Features",
        "FeatureList",
        "FeatureLists",
        "Example",
        "SequenceExample",
    ],
)
def test_a_field_that_is_not_there_is_refused_by_name(name):
    with pytest.raises(ValueError, match=f'Protocol message {name} has no "values" field'):
        getattr(train, name)(values=[1])
