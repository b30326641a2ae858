"""Step groups by equal keys and by similar texts."""

import difflib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigpo.grouping import group_by_key, group_by_similarity


def partition(ids: np.ndarray) -> set[frozenset[int]]:
    """Return which rows share an id, without the ids."""
    return {frozenset(np.flatnonzero(ids == label).tolist()) for label in ids}


def test_equal_keys_share_a_group() -> None:
    ids = group_by_key([0, 1, 0, 0, 1], ["a", "a", "b", "a", "a"])
    assert ids.dtype == np.int64
    assert partition(ids) == {frozenset({0, 3}), frozenset({1, 4}), frozenset({2})}
    assert sorted(set(ids.tolist())) == [0, 1, 2]


def test_keys_may_be_any_hashable_or_an_array() -> None:
    expected = {frozenset({0, 2}), frozenset({1})}
    assert partition(group_by_key(["x"] * 3, [("a", 1), ("a", 2), ("a", 1)])) == expected
    assert partition(group_by_key(np.zeros(3, int), np.array(["a", "b", "a"]))) == expected
    assert group_by_key([], []).tolist() == []


def test_unequal_lengths_are_an_error() -> None:
    with pytest.raises(ValueError, match="expected groups: 2 integers or strings"):
        group_by_key([0, 0, 0], ["a", "b"])
    with pytest.raises(ValueError, match="expected groups: 1 integers or strings"):
        group_by_similarity([0, 0], ["a"])


@pytest.mark.parametrize(
    ("first", "second", "threshold", "similar"),
    [
        # LCS "abcdefghi" of length 9: 18 / 19 = 0.947.
        ("abcdefghi", "abcdefghij", 0.9, True),
        # One letter replaced in ten: 18 / 20 is exactly the threshold.
        ("abcdefghij", "abcdefghiX", 0.9, True),
        ("abcdefghij", "abcdefghXY", 0.9, False),
        # A subsequence need not be contiguous: "ace" in "abcde", 6 / 8.
        ("abcde", "ace", 0.75, True),
        ("abcde", "ace", 0.76, False),
        # 2 / 20 equals 0.1, though 1 - 18 / 20 is less in floats.
        ("aXXXXXXXXX", "aYYYYYYYYY", 0.1, True),
        ("abc", "abc", 1.0, True),
        ("abc", "abd", 1.0, False),
        ("", "", 1.0, True),
        ("", "a", 0.01, False),
    ],
)
def test_similarity_by_hand(first: str, second: str, threshold: float, similar: bool) -> None:
    for texts in ([first, second], [second, first]):
        ids = group_by_similarity([0, 0], texts, threshold)
        assert (ids[0] == ids[1]) == similar


def test_similar_texts_of_other_groups_stay_apart() -> None:
    ids = group_by_similarity([0, 1, 0, 1], ["abcdefghij", "abcdefghij", "abcdefghiX", ""])
    assert partition(ids) == {frozenset({0, 2}), frozenset({1}), frozenset({3})}


def test_chains_are_cut() -> None:
    # Each text replaces one more "a" by "b": neighbours share 18 / 20, the ends nothing.
    texts = ["a" * (10 - changed) + "b" * changed for changed in range(11)]
    ids = group_by_similarity([0] * 11, texts)
    # In alphabetical order bbbbbbbbbb comes last; the first of each pair represents the second.
    assert partition(ids) == {
        *(frozenset({changed, changed + 1}) for changed in range(0, 10, 2)),
        frozenset({10}),
    }


def longest_common_subsequence(first: str, second: str) -> int:
    best = [0] * (len(second) + 1)
    for a in first:
        diagonal = 0
        for i, b in enumerate(second, 1):
            diagonal, best[i] = best[i], diagonal + 1 if a == b else max(best[i], best[i - 1])
    return best[-1]


def slow_clusters(groups: list[int], texts: list[str], threshold: float) -> list[tuple[int, str]]:
    """Return (group, representative) of each row, by the definition."""
    representatives: list[tuple[int, str]] = []
    chosen = {}
    for pair in sorted(set(zip(groups, texts, strict=True)), key=lambda p: (len(p[1]), p[1])):
        for group, other in representatives:
            total = len(pair[1]) + len(other)
            common = longest_common_subsequence(pair[1], other)
            if group == pair[0] and (total == 0 or 2 * common / total >= threshold):
                chosen[pair] = (group, other)
                break
        else:
            representatives.append(pair)
            chosen[pair] = pair
    return [chosen[pair] for pair in zip(groups, texts, strict=True)]


rows_of_texts = st.lists(st.tuples(st.integers(0, 1), st.text("abé", max_size=9)), max_size=12)


@settings(max_examples=300, deadline=None)
@given(rows_of_texts, st.sampled_from([0.1, 0.3, 0.5, 0.6, 0.75, 0.8, 0.9, 1.0]), st.randoms())
def test_similarity_agrees_with_its_definition_in_any_order(
    rows: list[tuple[int, str]], threshold: float, random: Any
) -> None:
    groups, texts = [group for group, _ in rows], [text for _, text in rows]
    expected = slow_clusters(groups, texts, threshold)
    ids = group_by_similarity(groups, texts, threshold)
    assert sorted(set(ids.tolist())) == list(range(len(set(expected))))
    assert len(set(zip(ids.tolist(), expected, strict=True))) == len(set(expected))
    # Order and repetition of the rows change nothing.
    order = list(range(len(rows))) * 2
    random.shuffle(order)
    shuffled = group_by_similarity([groups[i] for i in order], [texts[i] for i in order], threshold)
    assert len(set(zip(ids[order].tolist(), shuffled.tolist(), strict=True))) == len(set(expected))


def test_difflib_flips_where_we_do_not() -> None:
    # In a text of 200 characters or more difflib starts no match at a "popular" character, one
    # that makes up more than 1 % of the text; here that is every shared character.
    room = "go north or south, then open the door. " * 8
    first, second = room, "> " + room.replace("north", "northern", 1)
    assert difflib.SequenceMatcher(None, first, second).ratio() < 0.1
    assert difflib.SequenceMatcher(None, first, second, autojunk=False).ratio() > 0.9
    assert len(set(group_by_similarity([0, 0], [first, second]).tolist())) == 1
    assert len(set(group_by_similarity([0, 0], [second, first]).tolist())) == 1


def test_difflib_is_not_symmetric_where_we_are() -> None:
    short, long = "".join(map(chr, range(97, 117))) * 9 + "q" * 15, "q" * 30 + "abc" * 60
    forth = difflib.SequenceMatcher(None, short, long).ratio()
    back = difflib.SequenceMatcher(None, long, short).ratio()
    assert forth != back
    threshold = (forth + back) / 2
    verdicts = [
        len(set(group_by_similarity([0, 0], texts, threshold).tolist()))
        for texts in ([short, long], [long, short])
    ]
    assert verdicts[0] == verdicts[1]


def test_wrong_input_is_an_error() -> None:
    for threshold in (0.0, -0.5, 1.1, float("nan")):
        with pytest.raises(ValueError, match=r"expected threshold in \(0, 1\], got"):
            group_by_similarity([0], ["a"], threshold)
    with pytest.raises(ValueError, match="expected texts of type str, got int"):
        group_by_similarity([0], [3])  # type: ignore[list-item]
