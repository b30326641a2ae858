"""Canonical digests."""

from __future__ import annotations

import enum
import os
import random
import re
import subprocess
import sys
import unicodedata
from collections import OrderedDict, deque
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenvs.state_key import canonical_bytes, digest, observation_key, state_key

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
)
HASHABLE = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3)
)
STATES = st.recursive(
    HASHABLE,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(SCALARS, inner, max_size=4),
    max_leaves=12,
)


def model(value: Any) -> Any:
    """A slow, independent notion of equality: nested tuples with type names."""
    if isinstance(value, list | tuple):
        return ("list", *(model(item) for item in value))
    if isinstance(value, set | frozenset):
        return ("set", frozenset(model(item) for item in value))
    if isinstance(value, dict):
        return ("dict", frozenset((model(key), model(item)) for key, item in value.items()))
    return (type(value).__name__, value)


@given(STATES, STATES)
def test_equal_bytes_mean_equal_values(left, right):
    assert (canonical_bytes(left) == canonical_bytes(right)) == (model(left) == model(right))


@given(st.lists(SCALARS, max_size=3), st.lists(SCALARS, max_size=3))
def test_a_boundary_between_lists_matters(left, right):
    joined = canonical_bytes([left, right])
    assert joined == canonical_bytes([(*left,), [*right]])
    assert joined != canonical_bytes([left + right])


@given(st.dictionaries(HASHABLE, SCALARS, max_size=6), st.integers(0))
def test_insertion_order_does_not_matter(mapping, seed):
    items = list(mapping.items())
    random.Random(seed).shuffle(items)
    expected = canonical_bytes(mapping)
    assert canonical_bytes(dict(items)) == expected
    assert canonical_bytes(OrderedDict(items)) == expected
    assert canonical_bytes(MappingProxyType(mapping)) == expected
    members = canonical_bytes(set(mapping))
    assert canonical_bytes(frozenset(key for key, _ in items)) == members
    assert canonical_bytes(mapping.keys()) == members


def test_serialisation():
    assert canonical_bytes(None) == b"n"
    assert canonical_bytes(True) == b"t"
    assert canonical_bytes(False) == b"f"
    assert canonical_bytes(-12) == b"i3:-12"
    assert canonical_bytes("é") == b"s2:\xc3\xa9"
    assert canonical_bytes(b"ab") == b"b2:ab"
    assert canonical_bytes(1.0) == b"d\x3f\xf0\0\0\0\0\0\0"
    assert canonical_bytes([1, "a"]) == canonical_bytes((1, "a")) == b"l8:i1:1s1:a"
    assert canonical_bytes({"b", "a"}) == b"e8:s1:as1:b"
    assert canonical_bytes({"b": 1, "a": None}) == b"m13:s1:ans1:bi1:1"


def test_types_and_sizes_are_told_apart():
    values = [
        None, False, True, 0, 1, 0.0, 1.0, "", "0", "1", b"", b"1", "None", "n", [], set(), {},
        [[]], [0], [False], {0}, {0: None}, [0, None], ["ab"], ["a", "b"], ["a", ["b"]], "ab",
        float("inf"), float("-inf"), {"a": {"b": 1}}, {"a": 1, "b": 1},
    ]  # fmt: skip
    assert len({canonical_bytes(value) for value in values}) == len(values)


def test_floats():
    assert canonical_bytes(-0.0) == canonical_bytes(0.0)
    assert canonical_bytes(0.1 + 0.2) != canonical_bytes(0.3)
    for nan in (float("nan"), [1.0, float("nan")], {"a": float("nan")}, np.float64("nan")):
        with pytest.raises(ValueError, match="NaN"):
            canonical_bytes(nan)


class Colour(int, enum.Enum):
    RED = 1


class Name(enum.StrEnum):
    ANN = "ann"


def test_subclasses_count_as_the_value_that_they_equal():
    assert canonical_bytes(np.float64(0.5)) == canonical_bytes(0.5)
    assert canonical_bytes(np.str_("a")) == canonical_bytes("a")
    assert canonical_bytes(Name.ANN) == canonical_bytes("ann")
    assert canonical_bytes(enum.IntEnum("Number", {"ONE": 1})(1)) == canonical_bytes(1)
    assert canonical_bytes(Colour.RED) == canonical_bytes(1)


def test_lone_surrogates_and_long_numbers():
    assert canonical_bytes("\ud800") == b"s3:\xed\xa0\x80"
    assert canonical_bytes(10**4000) == b"i4001:1" + b"0" * 4000


@pytest.mark.parametrize(
    "value", [object(), 1j, np.int64(1), np.bool_(True), np.zeros(2), deque([1]), range(3), len]
)
def test_other_types_are_refused(value):
    for state in (value, [value], {"a": value}, (1, [value])):
        with pytest.raises(TypeError, match=f"got {type(value).__name__}"):
            canonical_bytes(state)


def test_digest():
    # blake2b-128 of nothing.
    assert digest(b"") == "cae66941d9efbd404e4d88758ea67670"
    assert state_key("ab") == digest(b"s2:ab")
    assert re.fullmatch("[0-9a-f]{32}", state_key({"a": [1]}))


def test_keys_do_not_depend_on_the_hash_seed():
    code = (
        "from agentenvs.state_key import state_key\n"
        "words = [chr(97 + i) * j for i in range(20) for j in range(5)]\n"
        "print(state_key({'set': set(words), 'map': {w: frozenset(words) for w in words}}))\n"
    )
    root = str(Path(__file__).parents[2])
    keys = {
        subprocess.check_output(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": root, "PYTHONHASHSEED": seed},
            text=True,
        )
        for seed in ("1", "2", "3")
    }
    words = [chr(97 + i) * j for i in range(20) for j in range(5)]
    expected = state_key({"set": set(words), "map": {w: frozenset(words) for w in words}})
    assert keys == {expected + "\n"}


def test_observation_key_ignores_blanks_and_unicode_forms():
    key = observation_key("a b")
    for text in ("a  b", " a\nb ", "a\r\n\tb", "\n\na b"):
        assert observation_key(text) == key
    for text in ("ab", "a b.", "A b", "a b b"):
        assert observation_key(text) != key
    assert observation_key("caf\u00e9") == observation_key("cafe\u0301")
    assert observation_key("") == observation_key(" \n") == digest(b"")


@given(st.text())
def test_observation_key_of_normalised_text_is_the_same(text):
    assert observation_key(unicodedata.normalize("NFC", text)) == observation_key(text)
    assert observation_key(" ".join(text.split())) == observation_key(text)
