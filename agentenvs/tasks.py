"""Tasks and task sets: canonical, sorted, hashed lists with fixed splits and categories."""

from __future__ import annotations

import bisect
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from agentenvs.state_key import state_key


@dataclass(frozen=True, slots=True, order=True)
class Task:
    """One task of an environment.

    Attributes:
        task_id: Unique within the environment, the same on every machine.
        category: The category that evaluation reports by.
    """

    task_id: str
    category: str


class TaskSet(ABC):
    """The tasks of one split in canonical order.

    A set is a function of its arguments alone: never of process state, directory order or a
    random number generator. It may be large and computed on demand.

    Attributes:
        split: Name of the split.
        categories: All categories, in the order of evaluation tables.
    """

    split: str
    categories: tuple[str, ...]

    @abstractmethod
    def __len__(self) -> int:
        """Returns the number of tasks."""

    @abstractmethod
    def __getitem__(self, index: int) -> Task:
        """Returns the task at a position, 0 <= index < len(self); IndexError otherwise."""

    @abstractmethod
    def find(self, task_id: str) -> Task:
        """Returns the task of that id.

        Raises:
            KeyError: If this set has no such task; the message names the split and an example.
        """

    @property
    @abstractmethod
    def content_hash(self) -> str:
        """Digest of what the set contains: two sets with equal hashes hold equal tasks."""

    def __iter__(self) -> Iterator[Task]:
        return (self[index] for index in range(len(self)))

    def panel(self, size: int | None = None, start: int = 0) -> list[Task]:
        """Returns a fixed evaluation panel: ``size`` tasks spread evenly over the set.

        Args:
            size: Number of tasks; None for all of them.
            start: Offset of the first task, to draw another panel of the same size.

        Returns:
            ``size`` different tasks in canonical order. The choice depends on the set, ``size``
            and ``start`` alone.

        Raises:
            ValueError: If the set has fewer than ``size`` tasks.
        """
        total = len(self)
        if size is None:
            size = total
        if not 1 <= size <= total:
            raise ValueError(
                f"a panel of split {self.split!r} has between 1 and {total} tasks, got {size}"
            )
        positions = sorted((index * total // size + start) % total for index in range(size))
        return [self[position] for position in positions]

    def _unknown(self, task_id: str) -> KeyError:
        return KeyError(
            f"split {self.split!r} has no task {task_id!r}; it holds {len(self)} tasks such as "
            f"{self[0].task_id!r}"
        )


class ListedTasks(TaskSet):
    """A task set held as a list, sorted by task id.

    Args:
        split: Name of the split.
        tasks: The tasks in any order.
        categories: All categories in the order of evaluation tables.

    Raises:
        ValueError: If the list is empty, an id occurs twice or a category is unknown.
    """

    def __init__(self, split: str, tasks: Sequence[Task], categories: tuple[str, ...]) -> None:
        if not tasks:
            raise ValueError(f"split {split!r} has no tasks")
        self.split = split
        self.categories = categories
        self._tasks = sorted(tasks)
        self._ids = [task.task_id for task in self._tasks]
        for left, right in zip(self._ids, self._ids[1:], strict=False):
            if left == right:
                raise ValueError(f"split {split!r} holds task {left!r} twice")
        unknown = {task.category for task in self._tasks} - set(categories)
        if unknown:
            raise ValueError(f"expected categories {categories}, got also {sorted(unknown)}")

    def __len__(self) -> int:
        return len(self._tasks)

    def __getitem__(self, index: int) -> Task:
        if not 0 <= index < len(self._tasks):
            raise IndexError(f"task index must lie in [0, {len(self._tasks)}), got {index}")
        return self._tasks[index]

    def find(self, task_id: str) -> Task:
        """Returns the task of that id; KeyError if there is none."""
        position = bisect.bisect_left(self._ids, task_id)
        if position == len(self._ids) or self._ids[position] != task_id:
            raise self._unknown(task_id)
        return self._tasks[position]

    @cached_property
    def content_hash(self) -> str:
        """Digest of the ids and categories."""
        return state_key([[task.task_id, task.category] for task in self._tasks])
