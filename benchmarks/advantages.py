"""Time the advantages of one training batch against straightforward implementations.

The batch has 16 groups x 8 trajectories x 50 steps = 6,400 rows with states of about 500
characters, from random walks through rooms whose descriptions recur and change in details.

1. Exact keys: `gigpo.grouping.group_by_key` and `gigpo.advantages.compute_advantages`, against a
   loop that scans the batch, for each row, for the rows of its group with an equal state; and
   against the same loop sped up by a list of each group's rows made beforehand.
2. Similar keys: `gigpo.grouping.group_by_similarity`, against a loop that compares each row by
   `difflib.SequenceMatcher` with the first row of each cluster found so far.

Run ``python -m benchmarks.advantages``. All times are CPU seconds of this process; the figure of
ours is the median of several runs. The difflib loop takes minutes; ``--quick`` runs it on one group
and multiplies by the number of groups.
"""

import argparse
import difflib
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from gigpo.advantages import compute_advantages
from gigpo.grouping import group_by_key, group_by_similarity

NUM_GROUPS, GROUP_SIZE, NUM_STEPS = 16, 8, 50
GAMMA = 0.95
THRESHOLD = 0.9
ROOMS_PER_GROUP = 25

ROOMS = ["kitchen", "bedroom", "bathroom", "living room", "study", "hallway", "cellar", "attic"]
FURNITURE = [
    "a wooden countertop",
    "a tall cabinet",
    "an old fridge",
    "a marble sinkbasin",
    "a dusty armchair",
    "a side table",
    "a narrow shelf",
    "a garbage can",
    "a stove burner",
    "a leather sofa",
    "a writing desk",
    "a chest of drawers",
    "a glass coffee table",
    "a dining table",
    "a wall safe",
    "a laundry hamper",
]
OBJECTS = [
    "an apple",
    "a mug",
    "a kettle",
    "a bar of soap",
    "a candle",
    "a key chain",
    "a newspaper",
    "a pillow",
    "a remote control",
    "a spoon",
    "a spray bottle",
    "a statue",
    "a tomato",
    "a vase",
    "a watch",
    "a wine bottle",
]
DETAILS = ["nothing", "the mug", "the watch", "the candle"]


@dataclass(frozen=True)
class Rows:
    """One batch in columns; see `gigpo.advantages.compute_advantages`."""

    groups: list[int] = field(default_factory=list)
    trajectories: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    states: list[str] = field(default_factory=list)

    def of_group(self, group: int) -> list[int]:
        """Return the indices of a group's rows."""
        return [row for row, other in enumerate(self.groups) if other == group]


def describe_room(rng: np.random.Generator, number: int) -> str:
    """Return a description of about 470 characters."""
    text = f"You are in the {rng.choice(ROOMS)} number {number}. Looking around you, you see"
    while len(text) < 430:
        furniture, first, second = (
            rng.choice(FURNITURE),
            *rng.choice(OBJECTS, size=2, replace=False),
        )
        text += f" {furniture} {rng.integers(1, 9)}, and on it {first} and {second};"
    return text + f" the exits lead to {rng.choice(ROOMS)} and {rng.choice(ROOMS)}."


def make_rows(rng: np.random.Generator) -> Rows:
    """Draw a batch: random walks on a ring of rooms, carrying now and then another thing."""
    rows = Rows()
    for group in range(NUM_GROUPS):
        rooms = [describe_room(rng, number) for number in range(ROOMS_PER_GROUP)]
        for member in range(GROUP_SIZE):
            won = rng.random() < 0.4
            room, detail = 0, 0
            for step in range(NUM_STEPS):
                rows.groups.append(group)
                rows.trajectories.append(group * GROUP_SIZE + member)
                rows.steps.append(step)
                rows.rewards.append(10.0 if won and step == NUM_STEPS - 1 - member else 0.0)
                # Each row holds its own string, as texts from an environment do.
                rows.states.append(f"{rooms[room]} You are carrying {DETAILS[detail]}.")
                room = int(room + rng.integers(-2, 3)) % ROOMS_PER_GROUP
                if rng.random() < 0.15:
                    detail = int(rng.integers(len(DETAILS)))
    return rows


def standardise(value: float, values: Sequence[float]) -> float:
    """Return (value - mean) / unbiased standard deviation; 0 in a constant group."""
    mean = sum(values) / len(values)
    if max(values) - min(values) <= 1e-12:
        return 0.0
    return (value - mean) / math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1))


def per_row_advantages(rows: Rows, states: list[str], *, bucketed: bool) -> list[float]:
    """Compute total advantages row by row.

    Args:
        rows: The batch.
        states: Its states.
        bucketed: Look up the rows of the row's group in a list, instead of in the whole batch.
    """
    of_group = {group: rows.of_group(group) for group in range(NUM_GROUPS)} if bucketed else {}
    of_trajectory: dict[int, list[int]] = {}
    for row, trajectory in enumerate(rows.trajectories):
        of_trajectory.setdefault(trajectory, []).append(row)
    returns = {t: sum(rows.rewards[r] for r in members) for t, members in of_trajectory.items()}
    step_returns = [
        sum(
            GAMMA ** (rows.steps[later] - rows.steps[row]) * rows.rewards[later]
            for later in of_trajectory[trajectory]
            if rows.steps[later] >= rows.steps[row]
        )
        for row, trajectory in enumerate(rows.trajectories)
    ]
    totals = []
    for row, group in enumerate(rows.groups):
        members = of_group[group] if bucketed else rows.of_group(group)
        episode_values = {rows.trajectories[r]: returns[rows.trajectories[r]] for r in members}
        step_values = [step_returns[r] for r in members if states[r] == states[row]]
        episode = standardise(returns[rows.trajectories[row]], list(episode_values.values()))
        totals.append(episode + standardise(step_returns[row], step_values))
    return totals


def array_advantages(columns: dict[str, npt.NDArray[Any]], states: list[str]) -> list[float]:
    """Compute the same totals with this project's functions."""
    keys = group_by_key(columns["groups"], states)
    return compute_advantages(
        groups=columns["groups"],
        trajectories=columns["trajectories"],
        steps=columns["steps"],
        rewards=columns["rewards"],
        step_groups=keys,
        gamma=GAMMA,
    ).total.tolist()


def difflib_clusters(rows: Rows, groups: Sequence[int], *, progress: bool = True) -> int:
    """Cluster each row to the first similar cluster by difflib; return the number of clusters."""
    total = 0
    for group in groups:
        start = time.process_time()
        representatives: list[str] = []
        for row in rows.of_group(group):
            text = rows.states[row]
            for representative in representatives:
                matcher = difflib.SequenceMatcher(None, text, representative)
                if matcher.ratio() >= THRESHOLD:
                    break
            else:
                representatives.append(text)
        total += len(representatives)
        if progress:
            seconds = time.process_time() - start
            print(
                f"  difflib, group {group}: {seconds:.1f} s, {len(representatives)} clusters",
                flush=True,
            )
    return total


def fresh(states: list[str]) -> list[str]:
    """Return equal strings that no earlier run has hashed."""
    return [state.encode().decode() for state in states]


def cpu_seconds(run: Callable[[list[str]], object], states: list[str], repeats: int) -> float:
    """Return the median CPU time of a call on unhashed states."""
    times = []
    for _ in range(repeats):
        unhashed = fresh(states)
        start = time.process_time()
        run(unhashed)
        times.append(time.process_time() - start)
    return statistics.median(times)


def main() -> None:
    """Run both comparisons and print their ratios."""
    parser = argparse.ArgumentParser(description="Advantages: time against plain loops.")
    parser.add_argument(
        "--quick", action="store_true", help="difflib on one group, times the number of groups"
    )
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    rows = make_rows(np.random.default_rng(arguments.seed))
    keys = group_by_key(rows.groups, rows.states)
    recurring = int(np.sum(np.bincount(keys)[keys] > 1))
    length = statistics.mean(map(len, rows.states))
    print(
        f"{len(rows.states):,} rows, {keys.max() + 1:,} distinct states of {length:.0f} characters,"
        f" {recurring / len(rows.states):.0%} of rows share theirs"
    )

    # Each side gets its natural input: arrays here, lists in the loop.
    columns = {
        "groups": np.array(rows.groups),
        "trajectories": np.array(rows.trajectories),
        "steps": np.array(rows.steps),
        "rewards": np.array(rows.rewards),
    }
    totals = array_advantages(columns, rows.states)
    reference = per_row_advantages(rows, rows.states, bucketed=False)
    difference = np.abs(np.subtract(totals, reference)).max()
    ours = cpu_seconds(lambda states: array_advantages(columns, states), rows.states, 51)
    print(f"exact: ours {ours * 1e3:.2f} ms, largest difference of the totals {difference:.1e}")
    for bucketed, name in ((False, "per-row loop"), (True, "per-row loop over listed groups")):
        loop = cpu_seconds(
            lambda states, bucketed=bucketed: per_row_advantages(rows, states, bucketed=bucketed),
            rows.states,
            3,
        )
        print(f"exact: {name} {loop * 1e3:.0f} ms, ours is {loop / ours:.0f} times faster")

    clusters = int(group_by_similarity(rows.groups, rows.states, THRESHOLD).max()) + 1
    ours = cpu_seconds(
        lambda states: group_by_similarity(columns["groups"], states, THRESHOLD), rows.states, 5
    )
    print(f"similarity: ours {ours:.3f} s, {clusters} clusters")
    timed_groups = range(1) if arguments.quick else range(NUM_GROUPS)
    start = time.process_time()
    found = difflib_clusters(rows, timed_groups)
    loop = (time.process_time() - start) * NUM_GROUPS / len(timed_groups)
    note = " (extrapolated from one group)" if arguments.quick else f", {found} clusters"
    print(f"similarity: per-row difflib {loop:.1f} s{note}")
    print(f"similarity: {loop / ours:.0f} times faster")


if __name__ == "__main__":
    main()
