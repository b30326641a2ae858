"""The tasks of Sokoban: splits and categories of numbered levels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from agentenvs.sokoban.generator import CATEGORIES, SPLITS
from agentenvs.state_key import state_key
from agentenvs.tasks import Task, TaskSet

TASKS_PER_CATEGORY: dict[str, int] = {"train": 100_000, "valid": 10_000, "test": 10_000}

_TASK_ID = re.compile(r"([a-z]+)-([a-z]+)-([0-9]{6})")


def parse_task_id(task_id: str) -> tuple[str, str, int] | None:
    """Splits ``"test-easy-000042"`` into split, category and index; None if it has another form."""
    match = _TASK_ID.fullmatch(task_id)
    return None if match is None else (match[1], match[2], int(match[3]))


class SokobanTasks(TaskSet):
    """The levels of one split, the categories taking turns.

    Levels are numbered, not stored: a task id names the arguments that generate its level.

    Args:
        split: "train", "valid" or "test".
        size: Rows and columns of the board, outer walls included.
        num_boxes: Number of boxes.
        max_solution_steps: Every level can be solved in this many moves.
        categories: The categories to use, any of "easy", "medium" and "hard"; None for all.

    Raises:
        ValueError: If the split or a category is unknown, or none is chosen.
    """

    def __init__(
        self,
        split: str,
        size: int,
        num_boxes: int,
        max_solution_steps: int,
        categories: Sequence[str] | None = None,
    ) -> None:
        if split not in SPLITS:
            raise ValueError(f"split must be one of {SPLITS}, got {split!r}")
        chosen = CATEGORIES if categories is None else categories
        if isinstance(chosen, str) or not chosen or not set(chosen) <= set(CATEGORIES):
            raise ValueError(
                f"categories must be None or a sequence of some of {CATEGORIES}, got {chosen!r}"
            )
        self.split = split
        self.categories = tuple(name for name in CATEGORIES if name in chosen)
        self._per_category = TASKS_PER_CATEGORY[split]
        self._settings = (size, num_boxes, max_solution_steps)

    def __len__(self) -> int:
        return self._per_category * len(self.categories)

    def __getitem__(self, index: int) -> Task:
        if not 0 <= index < len(self):
            raise IndexError(f"task index must lie in [0, {len(self)}), got {index}")
        number, turn = divmod(index, len(self.categories))
        category = self.categories[turn]
        return Task(f"{self.split}-{category}-{number:06d}", category)

    def find(self, task_id: str) -> Task:
        """Returns the task of that id; KeyError if there is none."""
        parsed = parse_task_id(task_id)
        if parsed is None:
            raise self._unknown(task_id)
        split, category, number = parsed
        if split != self.split or category not in self.categories or number >= self._per_category:
            raise self._unknown(task_id)
        return Task(task_id, category)

    def panel(self, size: int | None = None, start: int = 0) -> list[Task]:
        """Returns a fixed evaluation panel with equal shares of the categories.

        Args:
            size: Number of tasks; None for all of them.
            start: Offset of the first task of each category, to draw another panel.

        Returns:
            ``size`` different tasks in canonical order, spread evenly over each category. The
            shares differ by at most one task.

        Raises:
            ValueError: If the set has fewer than ``size`` tasks.
        """
        # Spread over the whole set, a stride that is a multiple of the number of categories
        # would meet one category only.
        total = len(self)
        if size is None:
            size = total
        if not 1 <= size <= total:
            raise ValueError(
                f"a panel of split {self.split!r} has between 1 and {total} tasks, got {size}"
            )
        turns = len(self.categories)
        positions = []
        for turn in range(turns):
            share = (size + turns - 1 - turn) // turns
            for index in range(share):
                number = (index * self._per_category // share + start) % self._per_category
                positions.append(number * turns + turn)
        return [self[position] for position in sorted(positions)]

    @cached_property
    def content_hash(self) -> str:
        """Digest of everything that the levels of the set are generated from."""
        return state_key(
            ["agentenvs/Sokoban-v0", self.split, self.categories, len(self), self._settings]
        )
