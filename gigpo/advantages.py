"""Group-in-group advantages: equations 3 to 8 of the GiGPO paper on flat arrays.

Everything here is a pure function of numpy arrays, computed in float64. Data is columnar: one row
per environment step, columns of equal length, rows in any order.

Notation (paper -> here):
    tau_i, R(tau_i)      -> ``trajectories``, ``returns``: the trajectory of a row and its return
    G^E                  -> ``groups``: trajectories of one task and one initial state
    G^S(s)               -> ``step_groups``: rows of one group that share the anchor state s
    r_t, R_t             -> ``rewards``, ``step_returns``: reward and discounted return of a row
    A^E, A^S, omega      -> ``episode``, ``step``, ``omega``
    F_norm               -> ``norm``: "std" divides by the unbiased standard deviation, "none" by 1

Results do not depend on the order of the rows, to the last bit: sums run over sorted values.
"""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from gigpo.grouping import Ints, dense_ids, describe

Norm: TypeAlias = Literal["std", "none"]
Baseline: TypeAlias = Literal["mean", "leave_one_out"]
Compat: TypeAlias = Literal["verl-agent"]
Floats: TypeAlias = npt.NDArray[np.float64]
Bools: TypeAlias = npt.NDArray[np.bool_]

ROUNDING = 64 * float(np.finfo(np.float64).eps)
"""A group whose range is at most this fraction (1.4e-14) of its largest magnitude is constant.

Sums of up to a million discounted rewards differ by less when only rounding separates them.
"""


@dataclass(frozen=True)
class Advantages:
    """What `compute_advantages` returns; every array is float64 of shape (rows,)."""

    total: Floats
    """Equation 8: episode + omega * step - penalty of an invalid action."""
    episode: Floats
    """Equation 3: the trajectory's return relative to its group."""
    step: Floats
    """Equation 7: the row's discounted return relative to its step group."""
    returns: Floats
    """The undiscounted return of the row's trajectory."""
    step_returns: Floats
    """Equation 5: the discounted return from the row on."""


def compute_advantages(
    *,
    groups: npt.ArrayLike,
    trajectories: npt.ArrayLike,
    rewards: npt.ArrayLike,
    step_groups: npt.ArrayLike | None,
    steps: npt.ArrayLike | None = None,
    valid: npt.ArrayLike | None = None,
    mask: npt.ArrayLike | None = None,
    gamma: float = 0.95,
    omega: float = 1.0,
    norm: Norm = "std",
    baseline: Baseline = "mean",
    invalid_action_penalty: float = 0.0,
    compat: Compat | None = None,
) -> Advantages:
    """Compute the advantage of every step (equations 3, 5, 7 and 8 of the GiGPO paper).

    GRPO is ``omega=0``; RLOO is ``omega=0, norm="none", baseline="leave_one_out"``.

    Args:
        groups: (rows,) integers or strings, the episode group of each row.
        trajectories: (rows,) integers or strings, unique over all groups.
        rewards: (rows,) finite floats, the reward of each step.
        step_groups: (rows,) integers or strings, from `group_by_key` or `group_by_similarity`;
            may be None when ``omega`` is 0, and ``step`` is then 0.
        steps: (rows,) integers, the time index of each row in its trajectory. None: rows of a
            trajectory appear in time order.
        valid: (rows,) bool, whether the step's action was valid. None: all were.
        mask: (rows,) bool, True for rows that do not count (padding, duplicates, failed episodes).
            They enter no return and no statistic, and all their results are 0.
        gamma: discount factor in (0, 1].
        omega: weight of the step advantage, >= 0.
        norm: F_norm of equations 3 and 7.
        baseline: "mean" of the group, or the mean of its other members ("leave_one_out").
        invalid_action_penalty: subtracted from ``total`` where ``valid`` is False, >= 0; it is not
            normalised.
        compat: "verl-agent" reproduces that implementation in float32: the episode baseline
            averages over rows, the penalty is part of the scores, 1e-6 is added to the standard
            deviation, and a group of a single row keeps its raw score as episode advantage.

    Returns:
        The advantages and the returns they were computed from, one value per row.

    Raises:
        ValueError: a column has the wrong length, type or values; a setting is out of range; a
            trajectory lies in two groups or a step group spans two; a (trajectory, step) pair
            occurs twice among the unmasked rows.
    """
    _check_settings(gamma, omega, norm, baseline, invalid_action_penalty, compat)
    if step_groups is None and omega > 0:
        raise ValueError(f"expected step_groups since omega is {omega}, got None")
    rows = np.asarray(rewards).size
    keep = np.flatnonzero(~_flags("mask", mask, rows, default=False))
    invalid = ~_flags("valid", valid, rows, default=True)[keep]
    group = dense_ids("groups", groups, rows, keep)
    trajectory = dense_ids("trajectories", trajectories, rows, keep)
    _check_nested("trajectory", trajectory, group)
    reward = _floats("rewards", rewards, rows, keep)
    time, order = _time_order(steps, trajectory, rows, keep)

    step_return, step_magnitude = _discount(reward, trajectory, time, order, gamma)
    starts = _starts(trajectory[order])
    first = order[starts]
    with np.errstate(over="ignore", invalid="ignore"):
        return_ = np.add.reduceat(reward[order], starts)
        return_magnitude = np.add.reduceat(np.abs(reward[order]), starts)
    _check_sums(return_magnitude)

    if compat is None:
        per_trajectory = _relative(return_, group[first], norm, baseline, return_magnitude)
        episode = per_trajectory[trajectory]
        penalty = invalid_action_penalty * invalid
    else:
        scores = return_[trajectory] - invalid_action_penalty * invalid
        episode = _verl_agent(scores, group, norm, keep_singletons=True)
        penalty = np.zeros(len(keep))

    if step_groups is None:
        step = np.zeros(len(keep))
    else:
        anchor = dense_ids("step_groups", step_groups, rows, keep)
        _check_nested("step group", anchor, group)
        if compat is None:
            step = _relative(step_return, anchor, norm, baseline, step_magnitude)
        else:
            scores = step_return - invalid_action_penalty * invalid
            step = _verl_agent(scores, anchor, norm, keep_singletons=False)

    def spread(values: Floats) -> Floats:
        column = np.zeros(rows)
        column[keep] = values
        return column

    return Advantages(
        total=spread(episode + omega * step - penalty),
        episode=spread(episode),
        step=spread(step),
        returns=spread(return_[trajectory]),
        step_returns=spread(step_return),
    )


def discounted_returns(
    rewards: npt.ArrayLike,
    trajectories: npt.ArrayLike,
    gamma: float,
    steps: npt.ArrayLike | None = None,
) -> Floats:
    """Sum each row's discounted rewards to the end of its trajectory (equation 5).

    R_t = sum over k >= t of gamma^(k - t) * r_k. Time indices that are missing between two rows
    count as rewards of 0.

    Args:
        rewards: (rows,) finite floats.
        trajectories: (rows,) integers or strings.
        gamma: discount factor in (0, 1].
        steps: (rows,) integers, the time index of each row in its trajectory. None: rows of a
            trajectory appear in time order; other trajectories may be interleaved.

    Returns:
        (rows,) float64.

    Raises:
        ValueError: wrong length, type or value; a (trajectory, step) pair occurs twice.
    """
    _check_gamma(gamma)
    rows = np.asarray(rewards).size
    keep = np.arange(rows)
    trajectory = dense_ids("trajectories", trajectories, rows)
    time, order = _time_order(steps, trajectory, rows, keep)
    return _discount(_floats("rewards", rewards, rows, keep), trajectory, time, order, gamma)[0]


def normalise(
    values: npt.ArrayLike,
    groups: npt.ArrayLike,
    norm: Norm,
    baseline: Baseline = "mean",
    weights: npt.ArrayLike | None = None,
) -> Floats:
    """Subtract each group's baseline and divide by its F_norm (equations 3 and 7).

    Groups with fewer than two members, and groups that are constant up to rounding (`ROUNDING`),
    get exactly 0. No epsilon enters the quotient.

    Args:
        values: (rows,) finite floats.
        groups: (rows,) integers or strings.
        norm: "std" divides by the unbiased standard deviation (N - 1), "none" by 1.
        baseline: "mean" of the group, or the mean of its other members ("leave_one_out").
        weights: (rows,) integers >= 0, how many members each row stands for. A row of weight 0
            enters no statistic and gets 0. None: every row counts once.

    Returns:
        (rows,) float64.

    Raises:
        ValueError: wrong length, type or value, or an unknown norm or baseline.
    """
    _check_choice("norm", norm, Norm)
    _check_choice("baseline", baseline, Baseline)
    rows = np.asarray(values).size
    counts = np.ones(rows, dtype=np.int64) if weights is None else np.asarray(weights)
    if counts.shape != (rows,) or counts.dtype.kind not in "iub" or (counts < 0).any():
        raise ValueError(f"expected weights: {rows} integers >= 0, got {describe(counts)}")
    used = np.flatnonzero(counts)
    column = _floats("values", values, rows, used)
    ids = dense_ids("groups", groups, rows, used)
    result = np.zeros(rows)
    result[used] = _relative(column, ids, norm, baseline, np.abs(column), counts[used])
    return result


def _relative(
    values: Floats,
    ids: Ints,
    norm: Norm,
    baseline: Baseline,
    magnitudes: Floats,
    counts: npt.NDArray[Any] | None = None,
) -> Floats:
    """Normalise ``values`` in the groups ``ids`` (dense).

    ``magnitudes`` bounds the terms that were added up to each value, and with them its rounding
    error: 1 - 10 * 0.1 should be 0 and is 1e-16, a spread only if one forgets that its terms are 1.
    """
    if len(values) == 0:
        return np.zeros(0)
    if counts is None:
        order = np.lexsort((values, ids))
        count = np.ones(len(values))
    else:
        order = np.lexsort((counts, values, ids))
        count = counts[order].astype(np.float64)
    group = ids[order]
    starts = _starts(group)
    ends = np.append(starts[1:], len(group)) - 1
    top = np.maximum.reduceat(magnitudes[order], starts)
    # Scaling by a power of two is exact and keeps sums and squares of any float in range.
    scaled_top, exponent = np.frexp(top)
    x = np.ldexp(values[order], -exponent[group])
    size = np.bincount(group, count)
    deviation = x - (np.bincount(group, count * x) / size)[group]
    flat = (size < 2) | (x[ends] - x[starts] <= ROUNDING * scaled_top)
    deviation[flat[group]] = 0.0
    others = np.where(flat, 1.0, size - 1)
    if norm == "std":
        variance = np.bincount(group, count * deviation**2) / others
        scale = np.sqrt(np.where(flat, 1.0, variance))
        deviation /= scale[group]
    else:
        deviation = np.ldexp(deviation, exponent[group])
    if baseline == "leave_one_out":
        # x - mean of the others = (x - mean of all) * size / (size - 1)
        deviation *= (np.where(flat, 1.0, size) / others)[group]
    result = np.empty(len(values))
    result[order] = deviation
    return result


def _verl_agent(scores: Floats, ids: Ints, norm: Norm, *, keep_singletons: bool) -> Floats:
    """Normalise over rows in float32 with an epsilon, rounding noise included."""
    if len(scores) == 0:
        return np.zeros(0)
    order = np.argsort(ids, kind="stable")
    group, x = ids[order], scores[order].astype(np.float32)
    starts = _starts(group)
    size = np.diff(np.append(starts, len(group))).astype(np.float32)
    single = size == 1
    mean = np.add.reduceat(x, starts) / size
    if keep_singletons:
        mean[single] = 0.0
    deviation = x - mean[group]
    if norm == "std":
        variance = np.add.reduceat(deviation**2, starts) / np.maximum(size - 1, 1)
        scale = np.where(single, np.float32(1.0), np.sqrt(variance)) + np.float32(1e-6)
        deviation /= scale[group]
    result = np.empty(len(scores))
    result[order] = deviation
    return result


def _discount(
    reward: Floats, trajectory: Ints, time: Ints, order: Ints, gamma: float
) -> tuple[Floats, Floats]:
    """Return each row's sum of discounted rewards, and of their absolute values."""
    owner, when = trajectory[order], time[order]
    sums = np.stack([reward[order], np.abs(reward[order])])
    # After each pass a row's sum covers twice as many rows of its trajectory, so the rounding
    # error grows with the logarithm of the length.
    shift = 1
    with np.errstate(over="ignore", invalid="ignore"):
        while (same := owner[shift:] == owner[:-shift]).any():
            gap = np.where(same, when[shift:] - when[:-shift], shift)
            # Without holes in the time indices all rows share one factor.
            factor = gamma**shift if (gap == shift).all() else gamma**gap
            sums[:, :-shift] += np.where(same, factor * sums[:, shift:], 0.0)
            shift *= 2
    _check_sums(sums[1])
    result = np.empty_like(sums)
    result[:, order] = sums
    return result[0], result[1]


def _time_order(
    steps: npt.ArrayLike | None, trajectory: Ints, rows: int, keep: Ints
) -> tuple[Ints, Ints]:
    """Return the time index of each kept row and the order by (trajectory, time)."""
    if steps is None:
        order = np.argsort(trajectory, kind="stable")
        starts = _starts(trajectory[order])
        time = np.empty(len(keep), dtype=np.int64)
        time[order] = np.arange(len(keep)) - starts[trajectory[order]]
        return time, order
    column = np.asarray(steps)
    if column.shape != (rows,) or (rows > 0 and column.dtype.kind not in "iu"):
        raise ValueError(f"expected steps: {rows} integers, got {describe(column)}")
    time = column[keep].astype(np.int64)
    order = np.lexsort((time, trajectory))
    owner, when = trajectory[order], time[order]
    twice = np.flatnonzero((owner[1:] == owner[:-1]) & (when[1:] == when[:-1]))
    if len(twice) > 0:
        pair = keep[order[twice[0] : twice[0] + 2]].tolist()
        raise ValueError(
            f"expected each (trajectory, step) once, got step {when[twice[0]]} in rows {pair}"
        )
    return time, order


def _starts(sorted_ids: Ints) -> Ints:
    return np.flatnonzero(np.diff(sorted_ids, prepend=-1))


def _floats(name: str, values: npt.ArrayLike, rows: int, keep: Ints) -> Floats:
    column = np.asarray(values)
    if column.shape != (rows,) or (rows > 0 and column.dtype.kind not in "iuf"):
        raise ValueError(f"expected {name}: {rows} numbers, got {describe(column)}")
    kept = column[keep].astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(kept))
    if len(bad) > 0:
        raise ValueError(f"expected finite {name}, got {kept[bad[0]]} in row {keep[bad[0]]}")
    return kept


def _flags(name: str, flags: npt.ArrayLike | None, rows: int, *, default: bool) -> Bools:
    if flags is None:
        return np.full(rows, default)
    column = np.asarray(flags)
    if column.shape != (rows,) or (rows > 0 and column.dtype.kind != "b"):
        raise ValueError(f"expected {name}: {rows} booleans, got {describe(column)}")
    return column.astype(np.bool_)


def _check_sums(magnitudes: Floats) -> None:
    if not np.isfinite(magnitudes).all():
        raise ValueError(
            "expected rewards whose absolute values sum to a finite number in each trajectory"
        )


def _check_nested(name: str, inner: Ints, group: Ints) -> None:
    owner = np.zeros(len(inner), dtype=np.int64)
    owner[inner] = group
    astray = np.flatnonzero(owner[inner] != group)
    if len(astray) > 0:
        raise ValueError(f"expected each {name} in one group, got one that spans two")


def _check_settings(
    gamma: float, omega: float, norm: str, baseline: str, penalty: float, compat: str | None
) -> None:
    _check_gamma(gamma)
    _check_choice("norm", norm, Norm)
    _check_choice("baseline", baseline, Baseline)
    for name, value in (("omega", omega), ("invalid_action_penalty", penalty)):
        if not 0 <= value < float("inf"):
            raise ValueError(f"expected {name} >= 0 and finite, got {value}")
    if compat is not None:
        _check_choice("compat", compat, Compat)
        if baseline != "mean":
            raise ValueError(f"expected baseline 'mean' with compat={compat!r}, got {baseline!r}")


def _check_gamma(gamma: float) -> None:
    if not 0 < gamma <= 1:
        raise ValueError(f"expected gamma in (0, 1], got {gamma}")


def _check_choice(name: str, value: str, choices: Any) -> None:
    if value not in get_args(choices):
        raise ValueError(f"expected {name} in {get_args(choices)}, got {value!r}")
