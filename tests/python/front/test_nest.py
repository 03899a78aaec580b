"""Nested structures."""

import collections

import pytest

import gristmill as gm

Point = collections.namedtuple("Point", ["x", "y"])


def test_flatten_sorts_dict_keys_and_pack_keeps_their_order():
    structure = {"b": 1, "a": (2, [3, Point(4, 5)])}
    assert gm.nest.flatten(structure) == [2, 3, 4, 5, 1]
    packed = gm.nest.pack_sequence_as(structure, "vwxyz")
    assert packed == {"b": "z", "a": ("v", ["w", Point("x", "y")])}
    assert list(packed) == ["b", "a"]


def test_map_structure_takes_several():
    assert gm.nest.map_structure(lambda a, b: a + b, {"x": (1, 2)}, {"x": (10, 20)}) == {
        "x": (11, 22)
    }


def test_none_is_a_leaf():
    assert gm.nest.flatten((None, 1)) == [None, 1]


def test_mismatches_are_named():
    with pytest.raises(ValueError, match="number of elements"):
        gm.nest.assert_same_structure((1, 2), (1, 2, 3))
    with pytest.raises(TypeError, match="sequence type"):
        gm.nest.assert_same_structure((1, 2), [1, 2])
    with pytest.raises(ValueError, match="Structure had 2 atoms"):
        gm.nest.pack_sequence_as((1, 2), [1])
