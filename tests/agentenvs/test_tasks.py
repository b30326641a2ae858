"""Task sets that are held as lists."""

from __future__ import annotations

import copy
import pickle

import pytest

from agentenvs.tasks import ListedTasks, Task

CATEGORIES = ("big", "small")
TASKS = [Task(f"t{i}", CATEGORIES[i % 2]) for i in range(10)]


def listed(tasks=TASKS, split="train", categories=CATEGORIES):
    return ListedTasks(split, tasks, categories)


def test_the_order_of_the_arguments_does_not_matter():
    one, other = listed(), listed(TASKS[::-1])
    assert list(one) == list(other) == TASKS
    assert one.content_hash == other.content_hash
    assert len(one) == 10
    assert one[3] == Task("t3", "small")


def test_find():
    tasks = listed()
    assert all(tasks.find(task.task_id) == task for task in TASKS)
    for unknown in ("", "t10", "t", "u", "T1"):
        with pytest.raises(KeyError, match=r"split 'train' has no task .*10 tasks such as 't0'"):
            tasks.find(unknown)


@pytest.mark.parametrize("index", [-1, 10, 99])
def test_index_out_of_range(index):
    with pytest.raises(IndexError, match=rf"in \[0, 10\), got {index}"):
        listed()[index]


def test_wrong_lists():
    with pytest.raises(ValueError, match="split 'valid' has no tasks"):
        listed([], split="valid")
    with pytest.raises(ValueError, match="holds task 'a' twice"):
        listed([Task("a", "big"), Task("b", "big"), Task("a", "small")])
    with pytest.raises(ValueError, match=r"expected categories .*, got also \['huge'\]"):
        listed([Task("a", "huge")])


def test_content_hash_tells_contents_apart():
    hashes = {
        listed().content_hash,
        listed(TASKS[:-1]).content_hash,
        listed([Task("t0", "small"), *TASKS[1:]]).content_hash,
        listed([Task("t00", "big"), *TASKS[1:]]).content_hash,
    }
    assert len(hashes) == 4
    assert listed(split="valid").content_hash == listed().content_hash


def names(panel):
    return [task.task_id for task in panel]


def test_panel():
    tasks = listed()
    assert names(tasks.panel(5)) == ["t0", "t2", "t4", "t6", "t8"]
    assert names(tasks.panel(5, start=1)) == ["t1", "t3", "t5", "t7", "t9"]
    assert names(tasks.panel(3)) == ["t0", "t3", "t6"]
    assert names(tasks.panel(3, start=5)) == ["t1", "t5", "t8"]
    assert names(tasks.panel(1, start=9)) == ["t9"]
    assert tasks.panel() == tasks.panel(10) == TASKS
    for size in (0, -1, 11):
        with pytest.raises(ValueError, match=f"between 1 and 10 tasks, got {size}"):
            tasks.panel(size)


def test_copies_are_equal():
    tasks = listed()
    assert list(copy.deepcopy(tasks)) == list(pickle.loads(pickle.dumps(tasks))) == TASKS
