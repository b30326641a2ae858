"""What the members of a group start from, and whether they did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from agentenvs.vector.host import MemberStep, Reset


class GroupMismatchError(RuntimeError):
    """Members of one group started in different states, so comparing them means nothing."""


def group_seed(seed: int, group: int) -> int:
    """Derives the seed of a group from one seed for all, by ``numpy.random.SeedSequence``."""
    return int(np.random.SeedSequence([seed, group]).generate_state(1)[0])


def reset_commands(
    num_groups: int,
    group_size: int,
    seeds: Sequence[int],
    task_ids: Sequence[str | None] | None,
    reset_mask: npt.NDArray[np.bool_] | None,
) -> dict[int, Reset]:
    """Spreads seeds and task ids over the members to reset.

    Args:
        num_groups: Number of groups.
        group_size: Members per group.
        seeds: One seed per group or one per member.
        task_ids: One task id or None per group; None for no task ids.
        reset_mask: Bool array over the members; None for all members.

    Returns:
        The command of each member to reset.

    Raises:
        ValueError: If a length, shape or type is not as described, or the mask is empty.
    """
    num_envs = num_groups * group_size
    if len(seeds) == num_groups:
        seeds = [seed for seed in seeds for _ in range(group_size)]
    elif len(seeds) != num_envs:
        raise ValueError(
            f"expected one seed for each of {num_groups} groups or of {num_envs} members, "
            f"got {len(seeds)}"
        )
    if task_ids is None:
        task_ids = [None] * num_groups
    elif isinstance(task_ids, str) or len(task_ids) != num_groups:
        raise ValueError(
            f"expected one task id or None for each of {num_groups} groups, got {task_ids!r}"
        )
    mask = np.ones(num_envs, dtype=np.bool_) if reset_mask is None else reset_mask
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (num_envs,):
        raise ValueError(f"reset_mask must be a bool array of shape ({num_envs},), got {mask!r}")
    if not mask.any():
        raise ValueError("reset_mask must hold at least one True")
    return {
        member: Reset(int(seeds[member]), task_ids[member // group_size])
        for member in np.flatnonzero(mask).tolist()
    }


def check_groups(
    first: Mapping[int, MemberStep], commands: Mapping[int, Reset], group_size: int
) -> None:
    """Checks that the members of each group started in one state.

    Args:
        first: The first step of each member that was ever started.
        commands: The resets just made; their groups are checked.
        group_size: Members per group.

    Raises:
        GroupMismatchError: If first state keys or first observations differ within a group.
    """
    for group in sorted({member // group_size for member in commands}):
        members = range(group * group_size, (group + 1) * group_size)
        steps = [first[member] for member in members if member in first]
        used = {m: commands[m] for m in members if m in commands}
        _check_equal("state key", lambda step: step.info["state_key"], group, steps, used)
        _check_equal("observation", lambda step: step.observation, group, steps, used)


def _check_equal(
    what: str,
    value_of: Callable[[MemberStep], str],
    group: int,
    steps: list[MemberStep],
    used: dict[int, Reset],
) -> None:
    found: dict[str, list[int]] = {}
    for step in steps:
        found.setdefault(value_of(step), []).append(step.member)
    if len(found) > 1:
        raise GroupMismatchError(
            f"the members of group {group} must start in one state, but their first {what} "
            "differs: "
            + ", ".join(f"{value!r} for members {members}" for value, members in found.items())
            + f"; reset with {used}"
        )
