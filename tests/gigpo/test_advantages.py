"""The mathematics of the advantages, by hand and against an independent slow version."""

import math
import statistics
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigpo.advantages import Advantages, compute_advantages, discounted_returns, normalise
from gigpo.grouping import group_by_key

# --- discounted returns (equation 5)


def test_discounted_returns_by_hand() -> None:
    # Trajectory 7: 0, 0, 8 at gamma 1/2: 8/4, 8/2, 8. Trajectory 3: 1, 2: 1 + 2/2, 2.
    found = discounted_returns([0, 1, 0, 2, 8], [7, 3, 7, 3, 7], 0.5)
    assert found.tolist() == [2.0, 2.0, 4.0, 2.0, 8.0]


def test_discounted_returns_sort_by_step() -> None:
    found = discounted_returns([8, 2, 0, 1, 0], ["a", "b", "a", "b", "a"], 0.5, [2, 1, 0, 0, 1])
    assert found.tolist() == [8.0, 2.0, 2.0, 2.0, 4.0]


def test_missing_steps_count_as_zero_rewards() -> None:
    # Steps 0, 2 and 5: 4 at step 2 and 8 at step 5. 8/2^3 + 4 = 5 at step 2, 5/2^2 at step 0.
    assert discounted_returns([0, 4, 8], [0, 0, 0], 0.5, [0, 2, 5]).tolist() == [1.25, 5.0, 8.0]


def test_gamma_one_sums_and_no_rows_give_no_returns() -> None:
    assert discounted_returns([1, 2, 3], [0, 0, 0], 1.0).tolist() == [6.0, 5.0, 3.0]
    assert discounted_returns([], [], 0.9).shape == (0,)


# --- normalise


def test_normalise_by_hand() -> None:
    # Group 0 is 1, 2, 6: mean 3, squares 4 + 1 + 9 = 14, variance 14 / 2 = 7. Group 1 is alone.
    values, groups = [1.0, 5.0, 2.0, 6.0], [0, 1, 0, 0]
    assert normalise(values, groups, "none").tolist() == [-2.0, 0.0, -1.0, 3.0]
    expected = [-2 / math.sqrt(7), 0.0, -1 / math.sqrt(7), 3 / math.sqrt(7)]
    assert normalise(values, groups, "std") == pytest.approx(expected, abs=1e-15)
    # Leave one out: 1 - (2 + 6) / 2 = -3, 2 - (1 + 6) / 2 = -1.5, 6 - (1 + 2) / 2 = 4.5.
    assert normalise(values, groups, "none", "leave_one_out").tolist() == [-3.0, 0.0, -1.5, 4.5]


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 4)), min_size=1, max_size=8))
def test_weights_stand_for_repeated_members(pairs: list[tuple[int, int]]) -> None:
    values, weights = [float(value) for value, _ in pairs], [weight for _, weight in pairs]
    repeated = np.repeat(values, weights)
    for norm in ("std", "none"):
        for baseline in ("mean", "leave_one_out"):
            found = normalise(values, np.zeros(len(pairs), int), norm, baseline, weights)
            expected = normalise(repeated, np.zeros(len(repeated), int), norm, baseline)
            assert np.repeat(found, weights) == pytest.approx(expected, abs=1e-12)
            assert not found[np.array(weights) == 0].any()


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 300))
def test_constants_are_exactly_zero(value: float, size: int) -> None:
    for norm in ("std", "none"):
        for baseline in ("mean", "leave_one_out"):
            assert not normalise(np.full(size, value), np.zeros(size, int), norm, baseline).any()


@given(st.floats(1e-300, 1e300), st.lists(st.integers(-5, 5), min_size=1, max_size=50))
def test_constants_up_to_rounding_are_exactly_zero(value: float, ulps: list[int]) -> None:
    values = value + np.array(ulps) * np.spacing(value)
    assert not normalise(values, np.zeros(len(ulps), int), "std").any()


def test_a_spread_above_rounding_is_kept() -> None:
    # 1 and 1 + 1e-12: the deviations are -d and d, the standard deviation d * sqrt(2).
    found = normalise([1.0, 1.0 + 1e-12], [0, 0], "std")
    assert found == pytest.approx([-math.sqrt(0.5), math.sqrt(0.5)], rel=1e-3)


def test_sums_that_cancel_are_constant() -> None:
    # Ten steps of -0.1 and a box for +1 make 0, in floats 1e-16; so does an episode of zeros.
    rewards = [-0.1] * 9 + [0.9] + [0.0]
    found = compute_advantages(
        groups=[0] * 11, trajectories=[0] * 10 + [1], rewards=rewards, step_groups=None, omega=0
    )
    assert found.returns[0] != 0
    assert not found.episode.any()


@pytest.mark.parametrize("scale", [2.0**-1060, 1e-200, 1.0, 1e200, 2.0**1020])
def test_any_magnitude_has_the_same_standard_score(scale: float) -> None:
    found = normalise(np.array([1.0, 2.0, 6.0]) * scale, [0, 0, 0], "std")
    assert found == pytest.approx(np.array([-2, -1, 3]) / math.sqrt(7), rel=1e-3)


# --- compute_advantages, by hand


def webshop_example(norm: str) -> Advantages:
    """Return the advantages of three trajectories that start on one results page.

    1: 2nd item, back, 1st item, buy (10). 2: next page, back, next page (0). 3: next page (0).
    """
    pages = ["results", "item 2", "results", "item 1", "results", "page 2", "results", "results"]
    trajectories = [1, 1, 1, 1, 2, 2, 2, 3]
    groups = [0] * 8
    return compute_advantages(
        groups=groups,
        trajectories=trajectories,
        rewards=[0, 0, 0, 10, 0, 0, 0, 0],
        step_groups=group_by_key(groups, pages),
        gamma=0.9,
        norm=norm,  # type: ignore[arg-type]
    )


def test_webshop_example_without_std() -> None:
    found = webshop_example("none")
    # Discounted returns of trajectory 1: 10 * 0.9^3 = 7.29, 8.1, 9, 10.
    assert found.step_returns == pytest.approx([7.29, 8.1, 9.0, 10.0, 0, 0, 0, 0])
    # On the results page: 7.29, 9, 0, 0, 0 with mean 16.29 / 5 = 3.258; the rest is alone.
    step = [4.032, 0, 5.742, 0, -3.258, 0, -3.258, -3.258]
    assert found.step == pytest.approx(step, abs=1e-12)
    # Returns 10, 0, 0 with mean 10/3.
    episode = [20 / 3] * 4 + [-10 / 3] * 4
    assert found.episode == pytest.approx(episode, abs=1e-12)
    assert found.returns.tolist() == [10.0] * 4 + [0.0] * 4
    assert found.total == pytest.approx(np.add(step, episode), abs=1e-12)


def test_webshop_example_orders_the_actions() -> None:
    found = webshop_example("std")
    second_item, first_item, next_page = found.step[0], found.step[2], found.step[4]
    assert first_item > second_item > next_page
    # Squares: 4.032^2 + 5.742^2 + 3 * 3.258^2 = 81.07128, variance 81.07128 / 4 = 20.26782.
    assert first_item == pytest.approx(5.742 / math.sqrt(20.26782))
    # Returns 10, 0, 0: squares 400/9 + 2 * 100/9 = 600/9, variance 100/3, 20/3 / sqrt(100/3).
    assert found.episode[0] == pytest.approx(2 / math.sqrt(3))


def test_episode_baseline_averages_over_trajectories_not_rows() -> None:
    # A win of one step and a loss of three: mean 5 over trajectories, 2.5 over rows.
    found = compute_advantages(
        groups=[0] * 4,
        trajectories=[0, 1, 1, 1],
        rewards=[10, 0, 0, 0],
        step_groups=None,
        omega=0,
        norm="none",
    )
    assert found.episode.tolist() == [5.0, -5.0, -5.0, -5.0]


def test_rloo_by_hand() -> None:
    # Returns 10, 4, 1: 10 - 5/2 = 7.5, 4 - 11/2 = -1.5, 1 - 14/2 = -6.
    found = compute_advantages(
        groups=[0] * 4,
        trajectories=[0, 0, 1, 2],
        rewards=[9, 1, 4, 1],
        step_groups=None,
        omega=0,
        norm="none",
        baseline="leave_one_out",
    )
    assert found.total.tolist() == [7.5, 7.5, -1.5, -6.0]
    assert not found.step.any()


def test_penalty_is_not_normalised() -> None:
    # Twenty wins of eight steps, one invalid action: the others of the group feel nothing.
    valid = np.ones(160, bool)
    valid[17] = False
    columns: dict[str, Any] = {
        "groups": np.zeros(160, int),
        "trajectories": np.repeat(np.arange(20), 8),
        "rewards": np.tile([0, 0, 0, 0, 0, 0, 0, 10.0], 20),
        "step_groups": np.tile(np.arange(8), 20),
        "valid": valid,
        "invalid_action_penalty": 0.1,
    }
    found = compute_advantages(**columns)
    assert found.total[17] == -0.1
    assert not np.delete(found.total, 17).any()
    # In the reference the row has 9.9 among 159 times 10: deviation -0.1 * 159/160 over the
    # standard deviation 0.1 / sqrt(160), in the episode and, here over 20 rows, in the step.
    reference = compute_advantages(**columns, compat="verl-agent")
    assert reference.episode[17] == pytest.approx(-159 / 160 * math.sqrt(160), rel=1e-3)
    assert reference.step[17] == pytest.approx(-19 / 20 * math.sqrt(20), rel=1e-3)


# --- against an independent slow version


class Row(NamedTuple):
    group: int
    trajectory: int
    step: int
    reward: Fraction
    state: int
    valid: bool
    masked: bool


def slow_normalise(value: Fraction, values: list[Fraction], norm: str, baseline: str) -> float:
    if len(values) < 2 or len(set(values)) == 1:
        return 0.0
    if baseline == "mean":
        deviation = value - statistics.mean(values)
    else:
        others = list(values)
        others.remove(value)
        deviation = value - statistics.mean(others)
    return float(deviation) / (statistics.stdev(map(float, values)) if norm == "std" else 1.0)


def slow_advantages(
    rows: list[Row], gamma: Fraction, omega: float, norm: str, baseline: str, penalty: float
) -> list[tuple[float, float, float, float, float]]:
    """Compute (total, episode, step, return, step return) row by row in exact fractions."""
    rest = [row for row in rows if not row.masked]

    def total_return(trajectory: int) -> Fraction:
        return sum((r.reward for r in rest if r.trajectory == trajectory), Fraction(0))

    def step_return(row: Row) -> Fraction:
        later = [r for r in rest if r.trajectory == row.trajectory and r.step >= row.step]
        return sum((gamma ** (r.step - row.step) * r.reward for r in later), Fraction(0))

    results = []
    for row in rows:
        if row.masked:
            results.append((0.0, 0.0, 0.0, 0.0, 0.0))
            continue
        members = sorted({r.trajectory for r in rest if r.group == row.group})
        returns = [total_return(trajectory) for trajectory in members]
        episode = slow_normalise(total_return(row.trajectory), returns, norm, baseline)
        anchors = [r for r in rest if (r.group, r.state) == (row.group, row.state)]
        step = slow_normalise(step_return(row), [step_return(r) for r in anchors], norm, baseline)
        total = episode + omega * step - (0.0 if row.valid else penalty)
        own = (float(total_return(row.trajectory)), float(step_return(row)))
        results.append((total, episode, step, *own))
    return results


def columns_of(rows: list[Row]) -> dict[str, Any]:
    groups = np.array([row.group for row in rows])
    return {
        "groups": groups,
        "trajectories": np.array([row.trajectory for row in rows]),
        "steps": np.array([row.step for row in rows]),
        "rewards": np.array([float(row.reward) for row in rows]),
        "step_groups": group_by_key(groups, [row.state for row in rows]),
        "valid": np.array([row.valid for row in rows]),
        "mask": np.array([row.masked for row in rows]),
    }


def fields(found: Advantages) -> np.ndarray:
    columns = (found.total, found.episode, found.step, found.returns, found.step_returns)
    return np.stack(columns, axis=1)


# Decimal rewards, so that equal sums exist that floats miss; five steps keep differences of
# discounted returns above 1e-7, so that the comparison does not judge rounding.
steps_of_one = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 0, 1, -1, 10, 99, 100]), st.integers(0, 2), st.integers(0, 15)
    ),
    min_size=1,
    max_size=5,
)


@st.composite
def batches(draw: st.DrawFn) -> list[Row]:
    rows = []
    trajectories = draw(st.lists(st.tuples(st.integers(0, 1), steps_of_one), max_size=6))
    for trajectory, (group, steps) in enumerate(trajectories):
        for step, (reward, state, flags) in enumerate(steps):
            valid, masked = flags % 4 != 0, flags // 4 == 0
            rows.append(Row(group, trajectory, step, Fraction(reward, 10), state, valid, masked))
    return draw(st.permutations(rows))


@settings(max_examples=1000, deadline=None)
@given(
    rows=batches(),
    gamma=st.sampled_from(["1", "0.95", "0.9", "0.5"]),
    omega=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    norm=st.sampled_from(["std", "none"]),
    baseline=st.sampled_from(["mean", "leave_one_out"]),
    penalty=st.sampled_from([0.0, 0.1]),
)
def test_agrees_with_a_slow_version(
    rows: list[Row], gamma: str, omega: float, norm: Any, baseline: Any, penalty: float
) -> None:
    found = compute_advantages(
        **columns_of(rows),
        gamma=float(gamma),
        omega=omega,
        norm=norm,
        baseline=baseline,
        invalid_action_penalty=penalty,
    )
    expected = slow_advantages(rows, Fraction(gamma), omega, norm, baseline, penalty)
    assert fields(found) == pytest.approx(np.array(expected).reshape(-1, 5), abs=1e-7)


# --- invariances


def random_rows(seed: int, size: int = 24) -> list[Row]:
    rng = np.random.default_rng(seed)
    return [
        Row(
            t // 8,
            t,
            s,
            Fraction(int(rng.integers(-20, 100)), 10),
            int(rng.integers(6)),
            True,
            False,
        )
        for t in range(size)
        for s in range(int(rng.integers(1, 12)))
    ]


@pytest.mark.parametrize("compat", [None, "verl-agent"])
@pytest.mark.parametrize("norm", ["std", "none"])
def test_row_order_does_not_matter(norm: Any, compat: Any) -> None:
    rows = random_rows(0)
    whole = fields(compute_advantages(**columns_of(rows), norm=norm, compat=compat))
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(rows))
        shuffled = [rows[i] for i in order]
        found = fields(compute_advantages(**columns_of(shuffled), norm=norm, compat=compat))
        if compat is None:
            assert found.tobytes() == whole[order].tobytes()
        else:
            assert found == pytest.approx(whole[order], abs=1e-4)


def test_labels_do_not_matter() -> None:
    columns = columns_of(random_rows(1))
    expected = fields(compute_advantages(**columns))
    for name in ("groups", "trajectories", "step_groups"):
        renamed = {**columns, name: np.array([f"{name} {i}" for i in columns[name]])}
        assert fields(compute_advantages(**renamed)) == pytest.approx(expected, abs=1e-12)
        renamed = {**columns, name: 10**15 - columns[name]}
        assert fields(compute_advantages(**renamed)) == pytest.approx(expected, abs=1e-12)


def test_scaling_rewards_leaves_standard_scores() -> None:
    columns = columns_of(random_rows(2))
    scaled = {**columns, "rewards": 3 * columns["rewards"]}
    expected, found = compute_advantages(**columns), compute_advantages(**scaled)
    assert found.total == pytest.approx(expected.total, abs=1e-12)
    expected = compute_advantages(**columns, norm="none")
    found = compute_advantages(**scaled, norm="none")
    assert found.total == pytest.approx(3 * expected.total, abs=1e-9)


@pytest.mark.parametrize("norm", ["std", "none"])
@pytest.mark.parametrize("baseline", ["mean", "leave_one_out"])
def test_adding_a_constant_changes_nothing(norm: Any, baseline: Any) -> None:
    rng = np.random.default_rng(3)
    values, groups = rng.normal(size=200), rng.integers(0, 20, size=200)
    expected = normalise(values, groups, norm, baseline)
    found = normalise(values + 7.0, groups, norm, baseline)
    assert found == pytest.approx(expected, abs=1e-11)


def test_omega_zero_is_grpo_to_the_bit() -> None:
    columns = columns_of(random_rows(4))
    columns["valid"] = np.arange(len(columns["valid"])) % 5 != 0
    with_groups = compute_advantages(**columns, omega=0, invalid_action_penalty=0.1)
    without = compute_advantages(
        **{**columns, "step_groups": None}, omega=0, invalid_action_penalty=0.1
    )
    gigpo = compute_advantages(**columns, omega=1, invalid_action_penalty=0.1)
    grpo = gigpo.episode - 0.1 * ~columns["valid"]
    assert with_groups.total.tobytes() == without.total.tobytes() == grpo.tobytes()
    assert gigpo.step.any()


def test_masked_rows_change_no_other_row() -> None:
    columns = columns_of(random_rows(5))
    rows = len(columns["rewards"])
    expected = fields(compute_advantages(**columns))
    # Duplicates of the first 30 rows, with rewards that would be an error if anyone read them.
    copies: dict[str, Any] = {
        name: np.concatenate([column, column[:30]]) for name, column in columns.items()
    }
    copies["rewards"][rows:] = np.nan
    copies["mask"][rows:] = True
    found = fields(compute_advantages(**copies))
    assert found[:rows].tobytes() == expected.tobytes()
    assert not found[rows:].any()
    everything = compute_advantages(**{**copies, "mask": np.ones(rows + 30, bool)})
    assert not fields(everything).any()
