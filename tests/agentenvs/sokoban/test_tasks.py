from __future__ import annotations

from collections import Counter

import pytest

from agentenvs.sokoban.tasks import SokobanTasks
from agentenvs.tasks import Task


def make_tasks(split: str = "test", categories: tuple[str, ...] | None = None) -> SokobanTasks:
    return SokobanTasks(split, 6, 1, 15, categories)


@pytest.mark.parametrize(("split", "count"), [("train", 300_000), ("valid", 30_000)])
def test_length(split: str, count: int) -> None:
    assert len(make_tasks(split)) == count
    assert len(make_tasks(split, ("hard",))) == count // 3


def test_categories_take_turns() -> None:
    tasks = make_tasks()
    assert [tasks[index].task_id for index in range(4)] == [
        "test-easy-000000",
        "test-medium-000000",
        "test-hard-000000",
        "test-easy-000001",
    ]
    assert tasks[29_999] == Task("test-hard-009999", "hard")
    assert make_tasks(categories=("hard", "easy"))[3] == Task("test-hard-000001", "hard")


@pytest.mark.parametrize("index", [-1, 30_000])
def test_index_is_checked(index: int) -> None:
    with pytest.raises(IndexError, match=r"\[0, 30000\)"):
        make_tasks()[index]


def test_ids_are_found() -> None:
    tasks = make_tasks("train")
    for index in range(0, len(tasks), 7_919):
        assert tasks.find(tasks[index].task_id) == tasks[index]


@pytest.mark.parametrize(
    "task_id",
    [
        "",
        "test-easy",
        "test-easy-0",
        "test-easy-0000000",
        "test-easy-00000٣",
        "test-easy-000000\n",
        "test-easy-010000",
        "train-easy-000000",
        "test-extreme-000000",
        "test-medium-000000",
    ],
)
def test_unknown_ids_are_refused(task_id: str) -> None:
    with pytest.raises(KeyError, match="test-easy-000000"):
        make_tasks(categories=("easy", "hard")).find(task_id)


@pytest.mark.parametrize("categories", [(), "easy", ("easy", "extreme")])
def test_categories_are_checked(categories: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="categories"):
        make_tasks(categories=categories)


def test_split_is_checked() -> None:
    with pytest.raises(ValueError, match="split must be one of"):
        make_tasks("dev")


# Of these, 3 and 500 divide the set into strides that are multiples of three.
@pytest.mark.parametrize("size", [1, 2, 3, 10, 500, 10_000, 30_000])
def test_panels_hold_equal_shares_of_the_categories(size: int) -> None:
    panel = make_tasks().panel(size)
    assert len({task.task_id for task in panel}) == len(panel) == size
    shares = Counter(task.category for task in panel)
    assert max(shares.values()) - min(shares[name] for name in make_tasks().categories) <= 1


def test_panels() -> None:
    tasks = make_tasks()
    assert [task.task_id for task in tasks.panel(5)] == [
        "test-easy-000000",
        "test-medium-000000",
        "test-hard-000000",
        "test-easy-005000",
        "test-medium-005000",
    ]
    other = tasks.panel(500, start=7)
    assert not set(other) & set(tasks.panel(500))
    assert len(tasks.panel()) == len(tasks)
    with pytest.raises(ValueError, match="between 1 and 30000"):
        tasks.panel(30_001)


def test_content_hash_tells_settings_apart() -> None:
    sets = [
        make_tasks(),
        make_tasks("valid"),
        make_tasks("train"),
        make_tasks(categories=("easy",)),
        SokobanTasks("test", 7, 1, 15),
        SokobanTasks("test", 6, 2, 15),
        SokobanTasks("test", 6, 1, 14),
    ]
    assert len({tasks.content_hash for tasks in sets}) == len(sets)
    every = make_tasks(categories=("hard", "medium", "easy"))
    assert every.content_hash == make_tasks().content_hash
