"""Gymnasium's vector form of ``info``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from agentenvs.vector.host import MemberStep


def vector_infos(steps: Iterable[MemberStep], num_envs: int) -> dict[str, npt.NDArray[Any]]:
    """Arranges the infos of members as one array and one mask ``"_" + key`` per key.

    Gymnasium's own ``VectorEnv._add_info`` takes the type of an array from the first value that
    it meets; this takes all values into account and never cuts a string or rounds a number.

    Args:
        steps: Answers of different members.
        num_envs: Number of members; all arrays have shape ``(num_envs,)``.

    Returns:
        Arrays of bool where all values are bool, of float64 where all are numbers, of objects
        otherwise (strings, tuples). Besides the environments' keys there are ``"failed"``
        (bool) and, for the failed members, ``"error"`` (str).
    """
    columns: dict[str, dict[int, Any]] = {"failed": {}, "error": {}}
    for step in steps:
        columns["failed"][step.member] = step.failed
        if step.failed:
            columns["error"][step.member] = step.error
        for key, value in step.info.items():
            columns.setdefault(key, {})[step.member] = value
    infos: dict[str, npt.NDArray[Any]] = {}
    for key, values in columns.items():
        infos[key] = _array(values, num_envs)
        mask = np.zeros(num_envs, dtype=np.bool_)
        mask[list(values)] = True
        infos[f"_{key}"] = mask
    return infos


def _array(values: dict[int, Any], num_envs: int) -> npt.NDArray[Any]:
    kinds = {type(value) for value in values.values()}
    array: npt.NDArray[Any]
    if kinds == {bool}:
        array = np.zeros(num_envs, dtype=np.bool_)
    elif kinds and kinds <= {int, float}:
        array = np.zeros(num_envs, dtype=np.float64)
    else:
        array = np.full(num_envs, None, dtype=object)
    # One by one: numpy would spread a tuple over the array.
    for member, value in values.items():
        array[member] = value
    return array
