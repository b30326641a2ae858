"""The space of texts."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from gymnasium.vector.utils import batch_space

from agentenvs.spaces import UnicodeText


def test_contains():
    space = UnicodeText(max_length=3, sample_length=2)
    assert all(text in space for text in ("", "a b", "é🙂\n", "\x00"))
    assert all(other not in space for other in ("abcd", 3, None, b"abc", ["a"]))
    assert "x" * 1_000_000 in UnicodeText()
    assert "x" * 1_000_001 not in UnicodeText()


def test_samples_are_seeded_members():
    space = UnicodeText(max_length=40, sample_length=5, seed=1)
    samples = [space.sample() for _ in range(300)]
    assert all(type(sample) is str and sample in space for sample in samples)
    assert {len(sample) for sample in samples} == {1, 2, 3, 4, 5}
    space.seed(1)
    assert [space.sample() for _ in range(300)] == samples
    space.seed(2)
    assert [space.sample() for _ in range(300)] != samples


def test_masks_are_refused():
    with pytest.raises(ValueError, match="without mask"):
        UnicodeText().sample(mask=np.ones(3))
    with pytest.raises(ValueError, match="without mask"):
        UnicodeText().sample(probability=np.ones(3))


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"max_length": 0}, "max_length must be at least 1, got 0"),
        ({"max_length": 5}, "between 1 and max_length 5, got 32"),
        ({"sample_length": 0}, "got 0"),
    ],
)
def test_wrong_lengths(kwargs, message):
    with pytest.raises(ValueError, match=message):
        UnicodeText(**kwargs)


def test_equality_and_copies():
    space = UnicodeText(max_length=50)
    assert space == UnicodeText(max_length=50, sample_length=3) != UnicodeText()
    assert hash(space) == hash(UnicodeText(max_length=50, sample_length=3))
    assert copy.deepcopy(space) == pickle.loads(pickle.dumps(space)) == space
    assert repr(space) == "UnicodeText(max_length=50)"
    assert not space.is_np_flattenable


def test_json_round_trip():
    space = UnicodeText()
    texts = ["a", "", "é🙂"]
    assert space.from_jsonable(space.to_jsonable(texts)) == texts


def test_batching():
    batch = batch_space(UnicodeText(), 3)
    assert ("a", "", "b") in batch
    assert len(set(batch.sample())) == 3
