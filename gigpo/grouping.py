"""Step groups: which rows of an episode group share their anchor state (equations 4 and 6)."""

from collections.abc import Hashable, Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Indel

Ints: TypeAlias = npt.NDArray[np.int64]


def dense_ids(name: str, labels: npt.ArrayLike, rows: int, keep: Ints | None = None) -> Ints:
    """Number the distinct labels of a column 0, 1, ... in sorted order.

    Args:
        name: the column's name, for the error.
        labels: (rows,) integers or strings.
        rows: the expected length.
        keep: the row indices to number. None: all.

    Returns:
        int64 of shape (rows,), or of ``keep``'s shape.

    Raises:
        ValueError: wrong length or type.
    """
    column = np.asarray(labels)
    if column.shape != (rows,) or (rows > 0 and column.dtype.kind not in "iuUO"):
        raise ValueError(f"expected {name}: {rows} integers or strings, got {describe(column)}")
    kept = column if keep is None else column[keep]
    if kept.dtype.kind == "i" and len(kept) > 0 and kept.min() >= 0 and kept.max() < 4 * rows:
        # Counting small integers gives the same ids as sorting, in a tenth of the time.
        present = np.bincount(kept) > 0
        numbers: Ints = np.cumsum(present, dtype=np.int64) - 1
        return numbers[kept]
    return np.unique(kept, return_inverse=True)[1].astype(np.int64)


def describe(column: npt.NDArray[Any]) -> str:
    """Return an array's shape and dtype in words, for errors."""
    return f"shape {column.shape} of {column.dtype}"


def group_by_key(groups: npt.ArrayLike, keys: Iterable[Hashable]) -> Ints:
    """Form step groups of equal keys within each group (equations 4 and 6).

    Args:
        groups: (rows,) integers or strings.
        keys: (rows,) hashable state keys, usually strings.

    Returns:
        (rows,) int64, dense ids: rows share an id exactly if they share group and key.

    Raises:
        ValueError: the columns differ in length.
    """
    key_list = list(keys)
    labels = dense_ids("groups", groups, len(key_list)).tolist()
    # One dictionary for each group, from a key to the first row that has it.
    first_rows: list[dict[Hashable, int]] = [{} for _ in range(max(labels, default=-1) + 1)]
    rows = [
        first_rows[label].setdefault(key, row)
        for row, (label, key) in enumerate(zip(labels, key_list, strict=True))
    ]
    return dense_ids("rows", np.array(rows, dtype=np.int64), len(rows))


def group_by_similarity(
    groups: npt.ArrayLike, texts: Iterable[str], threshold: float = 0.9
) -> Ints:
    """Form step groups of similar texts within each group.

    The similarity of texts a and b is 2 * LCS(a, b) / (len(a) + len(b)), with the length of their
    longest common subsequence in characters; two empty texts have similarity 1. It is symmetric.
    The distinct texts of a group are visited by length, then alphabetically. Each joins the first
    earlier representative it is similar to, or becomes a representative. The partition therefore
    depends neither on the order nor on the number of the rows.

    Connected components of the similarity graph would be order-independent too, but they chain:
    a text that changes by one word a step would put a whole episode into one group. Here every
    member is similar to its group's representative.

    Args:
        groups: (rows,) integers or strings.
        texts: (rows,) strings.
        threshold: the least similarity, in (0, 1]; 1 groups equal texts.

    Returns:
        (rows,) int64, dense ids.

    Raises:
        ValueError: the columns differ in length, a text is no string or the threshold is out of
            range.
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"expected threshold in (0, 1], got {threshold}")
    text_list = list(texts)
    for text in text_list:
        if not isinstance(text, str):
            raise ValueError(f"expected texts of type str, got {type(text).__name__}")
    keys = group_by_key(groups, text_list)
    # One row stands for each distinct (group, text).
    rows_of_keys = np.unique(keys, return_index=True)[1].tolist()
    labels = dense_ids("groups", groups, len(text_list)).tolist()
    visits = sorted(
        (labels[row], len(text_list[row]), text_list[row], key)
        for key, row in enumerate(rows_of_keys)
    )
    cluster_of_key = np.empty(len(visits), dtype=np.int64)
    clusters = 0
    first_cluster = 0
    representatives: list[str] = []
    current = None
    for label, _, text, key in visits:
        if label != current:
            representatives, first_cluster, current = [], clusters, label
        index = _first_similar(text, representatives, threshold)
        if index is None:
            index = len(representatives)
            representatives.append(text)
            clusters += 1
        cluster_of_key[key] = first_cluster + index
    return cluster_of_key[keys]


def _first_similar(text: str, representatives: list[str], threshold: float) -> int | None:
    for index, representative in enumerate(representatives):
        characters = len(text) + len(representative)
        if characters == 0:
            return index
        # The insertions and deletions between two texts number characters - 2 * LCS. The search
        # may stop at more than the threshold allows; the verdict is on the exact quotient.
        limit = int((1 - threshold) * characters) + 1
        distance = Indel.distance(text, representative, score_cutoff=limit)
        if (characters - distance) / characters >= threshold:
            return index
    return None
