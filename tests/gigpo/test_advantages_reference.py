"""Errors of the advantages, and the reference implementation's values."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gigpo.advantages import compute_advantages, discounted_returns, normalise
from gigpo.grouping import group_by_key

GOOD: dict[str, Any] = {
    "groups": [0, 0, 0, 1],
    "trajectories": [0, 0, 1, 2],
    "rewards": [0.0, 1.0, 2.0, 3.0],
    "step_groups": [0, 1, 0, 2],
    "steps": [0, 1, 0, 0],
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rewards": [0.0, np.nan, 2.0, 3.0]}, "expected finite rewards, got nan in row 1"),
        ({"rewards": [0.0, 1.0, -np.inf, 3.0]}, "expected finite rewards, got -inf in row 2"),
        ({"rewards": [1e308, 1e308, 0.0, 0.0]}, "sum to a finite number"),
        ({"rewards": [[0.0, 1.0], [2.0, 3.0]]}, "expected"),
        ({"rewards": ["a", "b", "c", "d"]}, "expected rewards: 4 numbers"),
        ({"groups": [0, 0, 0]}, r"expected groups: 4 integers or strings, got shape \(3,\)"),
        ({"groups": [0.0, 0.0, 0.0, 1.0]}, "expected groups: 4 integers or strings"),
        ({"trajectories": [0, 0, 1]}, "expected trajectories: 4"),
        ({"step_groups": [0, 1, 0]}, "expected step_groups: 4"),
        ({"step_groups": None}, "expected step_groups since omega is 1.0, got None"),
        ({"steps": [0, 1, 0]}, "expected steps: 4 integers"),
        ({"steps": [0.0, 1.0, 0.0, 0.0]}, "expected steps: 4 integers"),
        ({"steps": [1, 1, 0, 0]}, r"\(trajectory, step\) once, got step 1 in rows \[0, 1\]"),
        ({"valid": [1, 1, 1, 0]}, "expected valid: 4 booleans"),
        ({"mask": [True, False]}, "expected mask: 4 booleans"),
        ({"groups": [0, 1, 0, 1]}, "expected each trajectory in one group"),
        ({"step_groups": [0, 1, 0, 0]}, "expected each step group in one group"),
        ({"gamma": 0.0}, r"expected gamma in \(0, 1\], got 0.0"),
        ({"gamma": 1.01}, "expected gamma in"),
        ({"gamma": float("nan")}, "expected gamma in"),
        ({"omega": -1.0}, "expected omega >= 0 and finite, got -1.0"),
        ({"omega": float("inf")}, "expected omega >= 0"),
        ({"invalid_action_penalty": -0.1}, "expected invalid_action_penalty >= 0"),
        ({"norm": "l2"}, r"expected norm in \('std', 'none'\), got 'l2'"),
        ({"baseline": "median"}, "expected baseline in"),
        ({"compat": "verl"}, "expected compat in"),
        ({"compat": "verl-agent", "baseline": "leave_one_out"}, "expected baseline 'mean'"),
    ],
)
def test_wrong_input_is_an_error(change: dict[str, Any], message: str) -> None:
    compute_advantages(**GOOD)
    with pytest.raises(ValueError, match=message):
        compute_advantages(**{**GOOD, **change})


def test_other_functions_check_their_input() -> None:
    with pytest.raises(ValueError, match="expected gamma"):
        discounted_returns([1.0], [0], 0.0)
    with pytest.raises(ValueError, match="expected trajectories: 1"):
        discounted_returns([1.0], [0, 1], 0.5)
    with pytest.raises(ValueError, match="once"):
        discounted_returns([1.0, 1.0], [0, 0], 0.5, [3, 3])
    with pytest.raises(ValueError, match="expected norm"):
        normalise([1.0], [0], "l1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected finite values"):
        normalise([np.inf], [0], "std")
    for weights in ([1], [-1, 1], [0.5, 1.0]):
        with pytest.raises(ValueError, match="expected weights: 2 integers >= 0"):
            normalise([1.0, 2.0], [0, 0], "std", weights=weights)


def test_no_rows() -> None:
    found = compute_advantages(groups=[], trajectories=[], rewards=[], step_groups=[])
    assert found.total.shape == found.step_returns.shape == (0,)


def test_reference_singletons_and_noise() -> None:
    # A group of one row keeps its raw score; a step group of one gets 0.
    one: dict[str, Any] = {"groups": [0], "trajectories": [0], "rewards": [7.0], "step_groups": [0]}
    found = compute_advantages(**one, norm="none", compat="verl-agent")
    assert (found.episode[0], found.step[0], found.total[0]) == (7.0, 0.0, 7.0)
    assert compute_advantages(**one, norm="none").total[0] == 0.0
    # Equal returns of 9.9: the float32 mean is off by an ulp of 1e-6 for some sizes.
    noise, ours = [], []
    for size in range(2, 200):
        group: dict[str, Any] = {
            "groups": np.zeros(size, int),
            "trajectories": np.arange(size),
            "rewards": np.full(size, 9.9),
            "step_groups": np.zeros(size, int),
        }
        noise.append(np.abs(compute_advantages(**group, compat="verl-agent").episode).max())
        ours.append(np.abs(compute_advantages(**group).total).max())
    assert max(noise) > 0.3
    assert max(ours) == 0.0


@pytest.fixture(scope="module")
def reference_batches() -> list[dict[str, Any]]:
    root = os.environ.get("AGENTENVS_TEST_DATA")
    if root is None:
        pytest.skip("AGENTENVS_TEST_DATA is not set")
    with gzip.open(Path(root) / "advantages" / "reference.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


def columns_of(batch: dict[str, Any]) -> dict[str, Any]:
    rows = batch["rows"]
    groups = [row["group"] for row in rows]
    return {
        "groups": groups,
        "trajectories": [row["traj"] for row in rows],
        "rewards": [row["reward"] for row in rows],
        "step_groups": group_by_key(groups, [row["state"] for row in rows]),
        "valid": [not row["invalid"] for row in rows],
        "gamma": batch["gamma"],
        "omega": batch["omega"],
        "invalid_action_penalty": batch["penalty"],
    }


# Scores near 10 carry float32 errors of 1e-6; a standard deviation of 0.04, from one penalty in
# a group of wins, makes them 5e-5.
@pytest.mark.parametrize(
    ("mode", "norm", "tolerance"), [("mean_norm", "none", 1e-5), ("mean_std_norm", "std", 1e-4)]
)
def test_compat_agrees_with_the_reference(
    reference_batches: list[dict[str, Any]], mode: str, norm: Any, tolerance: float
) -> None:
    assert len(reference_batches) == 200
    for batch in reference_batches:
        found = compute_advantages(**columns_of(batch), norm=norm, compat="verl-agent")
        expected = batch["reference"][mode]
        assert found.episode == pytest.approx(np.array(expected["episode_rows"]), abs=tolerance)
        assert found.step == pytest.approx(np.array(expected["step"]), abs=tolerance)
        assert found.total == pytest.approx(np.array(expected["total"]), abs=tolerance)
        assert found.step_returns == pytest.approx(np.array(batch["step_returns"]), abs=1e-5)


@pytest.mark.parametrize(("mode", "norm"), [("mean_norm", "none"), ("mean_std_norm", "std")])
def test_default_agrees_with_the_reference_over_trajectories(
    reference_batches: list[dict[str, Any]], mode: str, norm: Any
) -> None:
    compared = 0
    for batch in reference_batches:
        columns = columns_of(batch)
        found = compute_advantages(**columns, norm=norm)
        expected = np.array(batch["reference"][mode]["episode_trajectories"])
        groups, trajectories = np.array(columns["groups"]), np.array(columns["trajectories"])
        for group in np.unique(groups):
            inside = groups == group
            alone = len(np.unique(trajectories[inside])) == 1
            # The documented differences: penalties in the scores and groups of one. The epsilon of
            # 1e-6 makes 1.4e-5 of the least standard deviation here, 0.07.
            if alone or not np.array(columns["valid"])[inside].all():
                continue
            compared += 1
            assert found.episode[inside] == pytest.approx(expected[inside], abs=3e-5)
    assert compared > 50
